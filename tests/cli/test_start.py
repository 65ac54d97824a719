"""`adjourn start`: the run is there, and whoever works takes it."""

import asyncio
from pathlib import Path

from tests.cli import shop
from tests.cli.conftest import Run, advance

SHOP = str(Path(shop.__file__))


def test_it_prints_the_id_and_leaves_the_run_to_the_workers(adjourn: Run) -> None:
    said = adjourn("start", f"{SHOP}:refunds", "Order 4417 arrived broken", "--by", "ana", "--label", "shop=oslo")
    assert said.code == 0
    [run] = said.out.split()
    assert f"adjourn watch {run}" in said.err and f"adjourn worker {SHOP}:refunds" in said.err
    [listed] = adjourn("runs", "--label", "shop=oslo", "--json").json
    assert (listed["run_id"], listed["status"], listed["agent"]) == (run, "ready", "refunds")
    assert asyncio.run(advance(shop.refunds, run=run)).status == "waiting"
    assert "by ana" in adjourn("show", run).out


def test_the_same_id_and_input_start_it_once(adjourn: Run) -> None:
    for _ in range(2):
        assert adjourn("start", f"{SHOP}:refunds", "x", "--id", "order-1").out == "order-1\n"
    assert len(adjourn("runs", "--json").json) == 1
    other = adjourn("start", f"{SHOP}:refunds", "y", "--id", "order-1")
    assert other.code == 1 and "run_exists" in other.err and other.out == ""


def test_its_data_is_json_and_its_input_may_be(adjourn: Run) -> None:
    made = adjourn("start", f"{SHOP}:refunds", '{"order": 1}', "--data", "--json").json
    [listed] = adjourn("runs", "--json").json
    assert made == {"run_id": listed["run_id"], "agent": "refunds"}
    assert adjourn("start", f"{SHOP}:refunds", "{order", "--data").code == 2


def test_a_dry_run_starts_nothing(adjourn: Run) -> None:
    said = adjourn("start", f"{SHOP}:refunds", "x", "--dry-run")
    assert said.code == 0 and said.out == 'Would start refunds with "x"\n'
    assert not Path("adjourn.db").exists()
