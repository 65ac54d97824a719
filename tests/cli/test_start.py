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


def test_a_dry_run_refuses_what_the_start_would(adjourn: Run) -> None:
    words = ("start", f"{SHOP}:refunds", "x", "--dry-run")
    for id, code in (("", "invalid"), ("@x", "invalid"), ("a\x00b", "invalid")):
        said = adjourn(*words, "--id", id)
        assert said.code == 2 and f"{code} · 422" in said.err and said.out == "", (id, said)
    assert adjourn(*words, "--after", "gone").code == 2
    assert not Path("adjourn.db").exists(), "a dry run makes no database"
    assert adjourn("start", f"{SHOP}:refunds", "x", "--id", "order-1").code == 0
    assert adjourn(*words, "--id", "order-1").out == "order-1 was already started with the same input.\n"
    assert adjourn(*words, "--id", "order-1", "--json").json["new"] is False
    assert adjourn(*words, "--id", "order-2").out == 'Would start refunds as order-2 with "x"\n'
    other = adjourn("start", f"{SHOP}:refunds", "y", "--id", "order-1", "--dry-run")
    assert other.code == 1 and "run_exists" in other.err and other.out == ""
    assert adjourn(*words, "--after", "order-1").code == 1, "it has not ended"
    assert len(adjourn("runs", "--json").json) == 1


def test_a_dry_run_knows_what_was_erased_and_pruned(adjourn: Run) -> None:
    for id in ("erased", "pruned"):
        assert adjourn("start", f"{SHOP}:make", "x", "--id", id).code == 0
        asyncio.run(advance(shop.make(), run=id))
    assert adjourn("erase", "erased", "--reason", "y", "--yes", "--by", "ana").code == 0
    assert adjourn("db", "prune", "--older", "0m").code == 0
    for id in ("erased", "pruned"):
        for more in ((), ("--dry-run",)):
            said = adjourn("start", f"{SHOP}:make", "x", "--id", id, *more)
            assert said.code == 1 and id in said.err and said.out == "", said
