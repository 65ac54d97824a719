"""`adjourn compare`: where two runs part, step by step."""

import asyncio
from pathlib import Path

from tests.cli import shop
from tests.cli.conftest import Run, advance, begin

SHOP = str(Path(shop.__file__))


def test_it_prints_what_differs_and_which_run_alone_has_a_step(adjourn: Run) -> None:
    first, second = asyncio.run(begin(shop.refunds, shop.refunds))
    adjourn("approve", f"{first}:2.0?0", "--by", "ana")
    asyncio.run(advance(shop.refunds, run=first))
    said = adjourn("compare", first, second)
    assert said.code == 0, said.err
    assert f"- {first}" in said.out and f"+ {second}" in said.out and "then they differ" in said.out
    assert "~ " in said.out and "status: completed → waiting" in said.out
    assert "get_order" not in said.out and "get_order" in adjourn("compare", first, second, "--all").out
    assert adjourn("compare", first, second, "--json").json["left"]["run_id"] == first
    new = adjourn("again", first, f"{SHOP}:refunds", "--input", "another").out.strip()
    assert 'input: "Order 4417 arrived broken" → "another"' in adjourn("compare", first, new).out
    assert "No step differs." in adjourn("compare", first, first).out


def test_a_run_that_is_not_there_is_refused(adjourn: Run, waiting: str) -> None:
    said = adjourn("compare", waiting, "gone")
    assert said.code == 2 and "Not compared" in said.err
