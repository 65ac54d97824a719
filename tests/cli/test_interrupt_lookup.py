"""Which run, at the terminal: the beginning of an id where only one fits, and then the whole id is shown."""

import asyncio
from typing import Any

import pytest
from tests.cli import shop
from tests.cli.conftest import SECONDS, AtTerminal, Run

from adjourn import Runtime


@pytest.fixture
def orders() -> dict[str, str]:
    """Three runs that wait; two of them begin alike."""

    async def start() -> None:
        async with Runtime("sqlite:///adjourn.db", [shop.refunds]) as rt:
            for id in ("order-12", "order-130", "invoice-7"):
                await (await rt.start(shop.refunds, "go", run_id=id, by="shop")).wait(SECONDS)

    asyncio.run(start())
    return {"order-12": "order-12", "order-130": "order-130", "invoice-7": "invoice-7"}


CHANGING: dict[str, list[str]] = {
    "pause": ["pause", "RUN"], "say": ["say", "RUN", "hello"], "approve": ["approve", "RUN"], "deny": ["deny", "RUN"],
    "approve by a ref": ["approve", "RUN:2.0?0"], "approve by a call": ["approve", "RUN/2.0"],
}  # fmt: skip
LOOKING: dict[str, list[str]] = {
    "show": ["show", "RUN"], "inbox": ["inbox", "RUN"], "inbox of a run": ["inbox", "--run", "RUN"], "watch": ["watch", "RUN", "--rest"],
    "audit": ["audit", "RUN"], "fork": ["fork", "RUN"], "runs": ["runs", "--after", "RUN"],
}  # fmt: skip


def journals() -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        async with Runtime("sqlite:///adjourn.db") as rt:
            return {row.id: await rt.store.load(row.id) for row in await rt.runs()}

    return asyncio.run(read())


def naming(words: list[str], id: str) -> list[str]:
    return [word.replace("RUN", id) for word in words]


@pytest.mark.parametrize("verb", CHANGING)
@pytest.mark.usefixtures("orders")
def test_a_verb_that_changes_something_shows_the_whole_id(verb: str, adjourn: Run) -> None:
    before = journals()
    said = adjourn(*naming(CHANGING[verb], "order-13"))
    assert said.code == 0 and "order-130" in said.out + said.err
    after = journals()
    assert [id for id in after if after[id] != before[id]] == ["order-130"]


@pytest.mark.parametrize("verb", LOOKING)
@pytest.mark.usefixtures("orders")
def test_a_verb_that_looks_takes_a_beginning(verb: str, adjourn: Run) -> None:
    assert adjourn(*naming(LOOKING[verb], "inv")).code in (0, 3)


@pytest.mark.parametrize("verb", CHANGING | LOOKING)
@pytest.mark.usefixtures("orders")
def test_where_several_fit_they_are_listed_and_nothing_happens(verb: str, adjourn: Run) -> None:
    before = journals()
    said = adjourn(*naming((CHANGING | LOOKING)[verb], "order-1"))
    assert said.code == 2 and "several runs have an id that begins with 'order-1'" in said.err
    assert "'order-12'" in said.err and "'order-130'" in said.err and "invoice" not in said.err
    assert journals() == before


@pytest.mark.parametrize("verb", CHANGING | LOOKING)
@pytest.mark.usefixtures("orders")
def test_where_none_fits_the_like_ones_are_named(verb: str, adjourn: Run) -> None:
    before = journals()
    said = adjourn(*naming((CHANGING | LOOKING)[verb], "ordr-12"))
    assert said.code == 2 and "order-12" in said.err.partition("Did you mean")[2], said.err
    assert journals() == before


@pytest.mark.usefixtures("orders")
def test_many_that_fit_are_listed_up_to_a_number(adjourn: Run) -> None:
    async def more() -> None:
        async with Runtime("sqlite:///adjourn.db", [shop.refunds], work=False) as rt:
            for n in range(40):
                await rt.start(shop.refunds, "go", run_id=f"order-2{n:02}")

    asyncio.run(more())
    said = adjourn("show", "order-2")
    assert said.err.count("'order-2") == 11 and "and more" in said.err  # ten, and what was asked for


@pytest.mark.usefixtures("orders")
def test_a_cancel_by_a_beginning_is_refused_without_a_terminal(adjourn: Run) -> None:
    before = journals()
    said = adjourn("cancel", "order-13")
    assert said.code == 2 and said.err.rstrip().splitlines()[-2].endswith("adjourn cancel order-130")
    assert journals() == before
    assert adjourn("cancel", "order-130").code == 0


@pytest.mark.usefixtures("orders")
def test_a_cancel_by_a_beginning_asks_at_a_terminal(terminal: AtTerminal, adjourn: Run) -> None:
    before = journals()
    for typed in ("no", "\x04"):
        pty = terminal("cancel", "order-13", "--by", "ana")
        pty.answer("Cancel order-130 and undo 0?", typed)
        pty.see("was left as it is")
        assert pty.end() == 2 and journals() == before
    pty = terminal("cancel", "order-13", "--by", "ana")
    pty.answer("Cancel order-130 and undo 0?", "yes")
    pty.see("order-130")
    assert pty.end() == 0
    assert [id for id, records in journals().items() if records != before[id]] == ["order-130"]


@pytest.mark.usefixtures("orders")
def test_a_number_of_the_list_wins_over_an_id(adjourn: Run) -> None:
    async def more() -> None:
        async with Runtime("sqlite:///adjourn.db", [shop.refunds]) as rt:
            await (await rt.start(shop.refunds, "go", run_id="2", by="shop")).wait(SECONDS)

    asyncio.run(more())
    listed = [i["run_id"] for i in adjourn("inbox", "--json").json]
    assert adjourn("deny", "2", "--by", "ana", "--json").json["run_id"] == listed[1] != "2"
    assert adjourn("deny", "2:2.0?0", "--by", "ana", "--json").json["run_id"] == "2"
