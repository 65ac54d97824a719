"""Which run, at the terminal: the beginning of an id where only one fits, and then the whole id is shown."""

import asyncio
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli import shop
from tests.cli.conftest import SECONDS, AtTerminal, Run, advance, begin

from adjourn import Agent, Policy, Runtime
from adjourn.core.records import Decided
from adjourn.testing import ScriptedModel, call


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
    adjourn("inbox")
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
        pty.answer("Cancel order-130 and undo nothing?", typed)
        pty.see("was not changed")
        assert pty.end() == 2 and journals() == before
    pty = terminal("cancel", "order-13", "--by", "ana")
    pty.answer("Cancel order-130 and undo nothing?", "yes")
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


# A run asks about something else once it was answered


@pytest.fixture
def payments() -> str:
    """A run that pays twice, and asks before each."""
    return asyncio.run(begin(two_payments()))[0]


def two_payments() -> Agent[Any]:
    model = ScriptedModel(
        [call("refund", order_id="1", cents=100)], [call("refund", order_id="2", cents=90_000)], "Done."
    )
    return Agent("payments", model=model, tools=[shop.refund], policy=Policy([], default="ask"))


PLACES = {"the run": "RUN", "its beginning": "BEGINNING", "its call": "RUN/1.0", "a number of no list": "1"}
DECIDING: dict[str, list[str]] = {
    "approve": ["approve", "ITEM"], "deny": ["deny", "ITEM"], "instead": ["answer", "ITEM", "paid", "--instead"],
    "approve edited": ["approve", "ITEM", "--edit", '{"order_id": "1", "cents": 7, "memo": "it\'s less"}'],
    "approve standing": ["approve", "ITEM", "--where", "order_id=1*", "--where", "cents<=100", "--times", "3"],
}  # fmt: skip


def typed(words: list[str], place: str, run: str) -> list[str]:
    item = PLACES[place].replace("RUN", run).replace("BEGINNING", run[:6])
    return [item if word == "ITEM" else word for word in words] + ["--by", "ana", "--note", "agreed: it's fine"]


@pytest.mark.parametrize(
    ("way", "place"), [*(("approve", place) for place in PLACES), *((way, "the run") for way in list(DECIDING)[1:])]
)
def test_what_was_neither_named_nor_shown_is_not_decided_and_the_refusal_says_how(
    way: str, place: str, adjourn: Run, payments: str
) -> None:
    before = journals()
    said = adjourn(*typed(DECIDING[way], place, payments))
    assert said.code == 2 and "was not shown to you: refund " in said.err and "not_named · 422" in said.err
    assert journals() == before
    hint = next(line for line in said.err.splitlines() if "adjourn " in line).partition("adjourn ")[2]
    assert adjourn(*shlex.split(hint)).code == 0, hint
    [decided] = [record for _, record in journals()[payments] if isinstance(record, Decided)]
    assert decided.by == "ana" and decided.note == "agreed: it's fine"
    if way == "approve edited":
        assert decided.edit == {"order_id": "1", "cents": 7, "memo": "it's less"}


@pytest.mark.parametrize("look", [["inbox"], ["inbox", "RUN"], ["inbox", "--json"]], ids=["list", "item", "data"])
def test_the_same_command_again_never_decides_what_is_asked_next(
    look: list[str], adjourn: Run, payments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    adjourn(*naming(look, payments))
    for item in (payments, f"{payments}/1.0"):
        said = adjourn("approve", item, "--by", "ana")
        assert said.code == (0 if item == payments else 1), said.err
    asyncio.run(advance(two_payments(), run=payments))
    for item in (payments, f"{payments}/2.0"):
        said = adjourn("approve", item, "--by", "ana")
        assert said.code == 2 and '"2", 90000' in said.err, said.err
    asyncio.run(advance(two_payments(), run=payments))
    assert Path("ledger").read_text() == "refund 100\n"


def test_the_same_command_again_at_a_terminal_decides_nothing_either(terminal: AtTerminal, payments: str) -> None:
    again = f"adjourn approve {payments} --by ana"
    pty = terminal(script=f"adjourn inbox; {again}; read next; {again}")
    pty.see("1 item.")
    pty.see("Approved")
    asyncio.run(advance(two_payments(), run=payments))
    pty.type("")
    pty.see("was not shown to you")
    assert pty.end() == 2


def test_what_waits_somewhere_is_decided_by_its_digest(adjourn: Run, payments: str) -> None:
    digest = adjourn("show", payments, "--json").json["interrupts"][0]["digest"]
    assert adjourn("approve", payments, "--digest", digest[:16], "--by", "ana").code == 0
    asyncio.run(advance(two_payments(), run=payments))
    stale = adjourn("approve", payments, "--digest", digest[:16], "--by", "ana")
    assert stale.code == 1 and "stale_decision · 409" in stale.err


def test_errors_of_a_run_that_were_not_shown_are_not_retried(adjourn: Run) -> None:
    [run] = asyncio.run(begin(shop.failing))
    for words in (["retry", run], ["retry", run, "--all"], ["answer", run, "retry"], ["dismiss", run]):
        said = adjourn(*words, "--by", "ana")
        assert said.code == 2 and "not_named · 422" in said.err, said.err
    assert adjourn("retry", run, "--dry-run").code == 0, "it only looks"
    hint = next(line for line in adjourn("retry", run, "--all").err.splitlines() if "adjourn " in line)
    assert adjourn(*shlex.split(hint.partition("adjourn ")[2])).code == 0


def test_where_the_refusal_cannot_show_all_of_it_one_looks_first(adjourn: Run) -> None:
    model = ScriptedModel([call("refund", order_id="1", cents=1, memo="long " * 99)], "Done.")
    agent = Agent("long", model=model, tools=[shop.refund], policy=Policy([], default="ask"))
    [run] = asyncio.run(begin(agent))
    said = adjourn("approve", run)
    assert said.code == 2 and f"Look first  adjourn inbox '{run}:" in said.err and "--digest" not in said.err
