"""The command line lets run only what it showed: a line that was cut is not all of it."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli import shop, yard
from tests.cli.conftest import SECONDS, AtTerminal, Run, advance, begin

from adjourn import Agent, Completed, InDoubt, Policy, Runtime, pause_for, tool
from adjourn.cli.last_list import ShownItem, look, recall, remember
from adjourn.cli.terminal.format import BRIEF, arguments, exact
from adjourn.cli.terminal.interrupt import list_line
from adjourn.core.interrupt import Interrupt, PendingToolCall
from adjourn.testing import ScriptedModel, call

HARMLESS = "select 1; -- " + "a long comment " * 30
EVIL = HARMLESS + "\nDROP TABLE orders"
YARD = str(Path(yard.__file__))


@tool(effect="unsafe")
def sql(statement: str) -> str:
    """Run a statement."""
    shop._write(f"sql {len(statement)}")
    return "ok"


@tool(effect="read")
def enquire(question: str, more: Any = None) -> Any:
    """Ask."""
    pause_for("question", {"question": question, **({"more": more} if more else {})})


@tool(effect="unsafe", policy="allow")
def lost(statement: str) -> str:
    """Nobody knows whether it happened."""
    raise InDoubt("no answer")


def wiper(text: str = EVIL) -> Agent[Any]:
    every = Policy([], default="ask")
    return Agent("wiper", model=ScriptedModel([call("sql", statement=text)], "Done."), tools=[sql], policy=every)


def asker(text: str, more: Any = None) -> Agent[Any]:
    return Agent("asker", model=ScriptedModel([call("enquire", question=text, more=more)], "Done."), tools=[enquire])


def doubter(text: str) -> Agent[Any]:
    return Agent("doubter", model=ScriptedModel([call("lost", statement=text)], "Done."), tools=[lost])


YES: dict[str, tuple[Agent[Any], list[str]]] = {
    "approve": (wiper(), ["approve"]),
    "approve for the run": (wiper(), ["approve", "--scope", "run"]),
    "approve with an edit": (wiper(), ["approve", "--edit", json.dumps({"statement": EVIL})]),
    "answer": (asker("May I? " + "yes " * 99), ["answer", "true"]),
    "approve a question": (asker("May I? " + "yes " * 99), ["approve"]),
    "answer a question with more to it": (asker("May I?", "no " * 99), ["answer", "true"]),
    "run what is in doubt": (doubter(EVIL), ["answer", "run"]),
}
"""Every way to say yes to something that does not fit into a line."""


def said_yes(adjourn: Run, words: list[str], item: str, *more: str) -> Any:
    verb, *rest = words
    return adjourn(verb, item, *rest, *more, "--by", "ana")


@pytest.mark.parametrize("way", YES)
@pytest.mark.parametrize("listed", [True, False], ids=["a number", "a ref"])
def test_what_was_cut_is_not_agreed_to_before_it_was_seen(
    way: str, listed: bool, adjourn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    program, words = YES[way]
    [run] = asyncio.run(begin(program))
    if listed:
        shown = adjourn("inbox").out
        assert "…" in shown and "DROP" not in shown
    item = "1" if listed else adjourn("show", run, "--json").json["interrupts"][0]["ref"]
    refused = said_yes(adjourn, words, item)
    assert refused.code == 2 and "only part of it was shown" in refused.err and "not_shown · 422" in refused.err
    assert f"Look first  adjourn inbox '{run}:" in refused.err
    assert adjourn("inbox", "--json", "--run", run).json, "it still waits"
    assert not Path("ledger").exists()


@pytest.mark.parametrize("way", YES)
def test_it_is_agreed_to_after_a_look(way: str, adjourn: Run) -> None:
    program, words = YES[way]
    asyncio.run(begin(program))
    adjourn("inbox")
    assert said_yes(adjourn, words, "1").code == 2
    assert adjourn("inbox", "1").code == 3
    assert said_yes(adjourn, words, "1").code == 0


@pytest.mark.parametrize("way", YES)
def test_it_is_agreed_to_by_its_digest(way: str, adjourn: Run) -> None:
    program, words = YES[way]
    [run] = asyncio.run(begin(program))
    adjourn("inbox")
    digest = adjourn("show", run, "--json").json["interrupts"][0]["digest"]
    assert said_yes(adjourn, words, "1", "--digest", "0" * 16).code == 1, "that is something else"
    assert said_yes(adjourn, words, "1", "--digest", digest[:16]).code == 0


def test_no_needs_no_look(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    [run] = asyncio.run(begin(wiper()))
    adjourn("inbox")
    assert adjourn("deny", "1", "--by", "ana").code == 0
    assert isinstance(asyncio.run(advance(wiper(), run=run)), Completed) and not Path("ledger").exists()


def test_a_retry_and_a_limit_need_no_look(adjourn: Run) -> None:
    failing = Agent("failing", model=ScriptedModel(ValueError("no such model " * 99), "Well again."))
    [run] = asyncio.run(begin(failing))
    adjourn("inbox")
    assert adjourn("answer", "1", "retry", "--by", "ana").code == 0
    assert asyncio.run(advance(failing, run=run)).output == "Well again."


def test_a_list_as_data_shows_everything(adjourn: Run) -> None:
    asyncio.run(begin(wiper()))
    [item] = adjourn("inbox", "--json").json
    assert item["call"]["arguments"]["statement"] == EVIL
    assert adjourn("approve", "1", "--by", "ana").code == 0


@pytest.mark.parametrize(("columns", "code"), [(70, 2), (200, 0)])
def test_a_line_that_is_whole_in_a_pipe_may_be_cut_on_a_terminal(columns: int, code: int, terminal: AtTerminal) -> None:
    text = "select name, price, amount from orders where id = 4417 -- and more"
    asyncio.run(begin(wiper(text)))
    assert terminal(script="adjourn inbox; adjourn approve 1 --by ana", columns=columns).end() == code


@pytest.mark.parametrize("look", ["inbox", "inbox --json", "inbox 1", "inbox 1 --json"])
def test_what_another_terminal_has_shown_counts_for_nothing_here(look: str, terminal: AtTerminal, adjourn: Run) -> None:
    [run] = asyncio.run(begin(wiper("select 1")))
    there = terminal(script=f"adjourn {look} < /dev/null")
    assert there.end() in (0, 3)
    for item in ("1", run):
        said = adjourn("approve", item, "--by", "ana")
        assert said.code == 2 and "was not shown to you" in said.err and f"adjourn approve '{run}:" in said.err
    assert adjourn("inbox").code == 0 and adjourn("approve", "1", "--by", "ana").code == 0


def test_a_list_of_another_terminal_gives_no_number_another_meaning(terminal: AtTerminal, adjourn: Run) -> None:
    first, second = asyncio.run(begin(wiper("select 1"), wiper("select 2")))
    adjourn("inbox")
    there = terminal("inbox", "--run", second)
    there.see("select 2")
    assert there.end() == 0
    assert adjourn("approve", "1", "--by", "ana", "--json").json["interrupt_id"].startswith(first)


CUT = {
    "a pipe that is cut": "adjourn inbox | head -n 1",
    "a pipe that nobody sees": "adjourn inbox | grep -q sql",
    "data into a pipe": "adjourn inbox --json | grep -q sql",
    "a file": "adjourn inbox > file",
    "a pipe, one item": "adjourn inbox RUN | grep -q sql",
    "data of one item": "adjourn inbox RUN --json | grep -q sql",
}


@pytest.mark.parametrize("way", CUT)
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_what_a_person_sends_into_a_pipe_was_not_shown_to_them(
    way: str, verb: str, terminal: AtTerminal, adjourn: Run
) -> None:
    [run] = asyncio.run(begin(wiper("select 1")))
    for item in (run, "1"):
        pty = terminal(script=f"{CUT[way].replace('RUN', run)}; adjourn {verb} {item}")
        pty.see("was not shown to you")
        assert pty.end() == 2
    assert adjourn("inbox", "--json").json, "it still waits"


def test_a_number_never_means_the_list_before_the_one_that_was_cut(terminal: AtTerminal, adjourn: Run) -> None:
    first, second = asyncio.run(begin(wiper("select 1"), wiper("select 2")))
    pty = terminal(script=f"adjourn inbox; adjourn inbox --run {second} | grep -q sql; adjourn approve 1")
    pty.see("select 2")
    assert pty.end() == 2
    assert len(adjourn("inbox", "--json").json) == 2 and first != second


def test_a_list_whose_reader_is_gone_was_not_shown(adjourn: Run) -> None:
    """Nobody is at a terminal, and the program that reads ends early."""
    [run] = asyncio.run(begin(wiper("select 1")))
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "adjourn", "inbox"],
            stdin=subprocess.DEVNULL, stdout=gone, stderr=subprocess.PIPE, timeout=SECONDS, check=False,
        )  # fmt: skip
    assert done.returncode
    assert adjourn("approve", run).code == 2 and adjourn("approve", "1").code == 2
    adjourn("inbox")
    assert adjourn("approve", run).code == 0


def test_what_was_seen_of_another_database_counts_for_nothing(adjourn: Run) -> None:
    for db in ("adjourn.db", "other.db"):
        asyncio.run(begin(wiper(), db=db))
    adjourn("inbox", "--db", "other.db")
    adjourn("inbox", "1", "--db", "other.db")
    adjourn("inbox")
    assert adjourn("approve", "1", "--by", "ana").code == 2
    assert adjourn("approve", "1", "--by", "ana", "--db", "other.db").code == 0


def test_another_item_in_its_place_is_not_the_one_that_was_seen(adjourn: Run) -> None:
    """The file was made anew: the same run id, the same call, another statement."""

    async def start(text: str) -> None:
        async with Runtime("sqlite:///adjourn.db", [wiper(text)]) as rt:
            await (await rt.start(wiper(text), "go", run_id="r1", by="shop")).wait(SECONDS)

    asyncio.run(start("select 1"))
    adjourn("inbox", "r1")
    for file in Path().glob("adjourn.db*"):
        file.unlink()
    asyncio.run(start("DROP TABLE orders"))
    said = adjourn("approve", "r1", "--by", "ana")
    assert said.code == 1 and "stale_decision · 409" in said.err
    adjourn("inbox")  # now it was shown
    assert adjourn("approve", "r1", "--by", "ana").code == 0


def test_where_nothing_can_be_remembered_the_digest_is_needed(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("state").write_text("not a folder")
    [run] = asyncio.run(begin(wiper()))
    adjourn("inbox")
    adjourn("inbox", run)
    assert adjourn("approve", run, "--by", "ana").code == 2
    digest = adjourn("inbox", run, "--json").json["digest"]
    assert adjourn("approve", run, "--by", "ana", "--digest", digest).code == 0


def test_a_checkpoint_is_answered_only_with_what_was_seen(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    Path("prog.py").write_text("from tests.cli.test_shown import wiper\nwiper = wiper()\n")
    [run] = asyncio.run(begin(wiper()))
    Path("saved.json").write_text(adjourn("show", run, "--checkpoint").out)
    digest = adjourn("checkpoint", "show", "saved.json", "--json").json["interrupts"][0]["digest"]
    words = ["checkpoint", "resume", "saved.json", "prog.py:wiper", "--approve"]
    assert adjourn(*words).code == 2 and not Path("ledger").exists()
    assert adjourn(*words, "--digest", "0" * 64).code == 1 and not Path("ledger").exists()
    done = adjourn(*words, "--digest", digest[:16])
    assert done.code == 0 and Path("ledger").read_text() == f"sql {len(EVIL)}\n"


def test_a_prompt_in_the_foreground_shows_the_whole_before_it_asks(terminal: AtTerminal) -> None:
    Path("prog.py").write_text("from tests.cli.test_shown import wiper\nwiper = wiper()\n")
    pty = terminal("run", "prog.py:wiper", "go", columns=80, PYTHONPATH=str(Path(__file__).parents[2]))
    pty.see("DROP TABLE orders")
    pty.answer("ater  ?", "d")
    pty.answer("The agent reads it", "-")
    assert pty.end() == 0


# The line, and the memory


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_a_line_that_claims_to_be_whole_has_every_value(args: dict[str, Any]) -> None:
    made = PendingToolCall("1.0", "pay", args)
    line = list_line(Interrupt("r:1.0?0", "r", "approval", "approval", call=made))
    assert line.whole == (f"pay {arguments(args)}".rstrip() == line.text)
    assert len(line.text) <= BRIEF + 1
    asked = list_line(Interrupt("q", "r", "question", "question", payload=args))
    if asked.whole and args:
        shown = {exact(v) for k, v in args.items() if k not in ("question", "error", "condition")}
        assert all(one in asked.text for one in shown)


def test_memory_keeps_the_last_list_and_what_was_looked_at() -> None:
    address = "sqlite:///adjourn.db"
    assert recall(address) is None
    look(address, "r:a", "1")
    shown = recall(address)
    assert shown is not None and shown.items is None and shown.of("r:a") == ShownItem("r:a", "1", True)
    remember(address, [ShownItem("r:a", "1", False), ShownItem("r:b", "2", False)])
    shown = recall(address)
    assert shown is not None and shown.of("r:a") == ShownItem("r:a", "1", True), "it was seen whole, before"
    assert shown.of("r:b") == ShownItem("r:b", "2", False) == shown.numbered(2)
    assert shown.numbered(0) is None and shown.numbered(3) is None and shown.of("r:c") is None
    remember(address, [ShownItem("r:a", "9", False)])
    shown = recall(address)
    assert shown is not None and shown.of("r:a") == ShownItem("r:a", "9", False), "it is another one now"


@pytest.mark.parametrize(
    "text", ["", "[]", "7", "null", '{"items": 7}', '[["a", "b"]]', '{"items": [], "looked": []}', "{"]
)
def test_a_memory_that_is_not_one_is_none(text: str) -> None:
    address = "sqlite:///adjourn.db"
    remember(address, [])
    [file] = Path("state/adjourn").iterdir()
    file.write_text(text)
    assert recall(address) is None
    assert remember(address, [ShownItem("r:a", "1", True)]) and recall(address) is not None


def test_what_closed_terminals_have_shown_is_removed() -> None:
    remember("sqlite:///adjourn.db", [])
    [file] = Path("state/adjourn").iterdir()
    old = file.with_name("inbox-of-a-terminal.json")
    old.write_text("{}")
    os.utime(old, (0, 0))
    remember("sqlite:///adjourn.db", [])
    assert list(Path("state/adjourn").iterdir()) == [file]
