"""`adjourn cancel`: what it would do comes first, and nothing is cancelled that nobody agreed to."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
from tests.cli import shop
from tests.cli.conftest import AtTerminal, Run, advance, begin

from adjourn import Agent
from adjourn.testing import ScriptedModel, call


def paid() -> Agent[str]:
    """It has refunded and shipped, and asks."""
    turn = [call("refund", order_id="1", cents=1), call("ship", order_id="1"), call("ask_human", question="On?")]
    return Agent("paid", model=ScriptedModel(turn), tools=[shop.refund, shop.ship, shop.ask_human])


@pytest.fixture
def run() -> str:
    """A run that waits and has something to undo."""
    return asyncio.run(begin(paid()))[0]


def records() -> int:
    """How many there are in all journals."""
    with closing(sqlite3.connect("adjourn.db")) as db, db:
        return int(db.execute("select sum(seq) from run").fetchone()[0])


def test_a_dry_run_says_what_would_happen_and_changes_nothing(adjourn: Run, run: str) -> None:
    before = records()
    said = adjourn("cancel", run[:6], "--dry-run")
    assert said.code == 0 and said.out.splitlines() == [
        f"A cancel of {run} would:",
        '  undo  refund "1", 1',
        '  stays ship "1": it has no undo',
    ]
    found = adjourn("cancel", run, "--dry-run", "--json").json
    assert (found["run_id"], found["dry_run"], len(found["preview"]["undo"])) == (run, True, 1)
    assert records() == before


def test_at_a_terminal_it_shows_what_would_be_undone_and_asks(terminal: AtTerminal, run: str) -> None:
    before = records()
    pty = terminal("cancel", run, "--by", "ana")
    pty.see("undo  refund")
    pty.answer(f"Cancel {run} and undo 1?", "no")
    pty.see("was not changed")
    assert pty.end() == 2 and records() == before
    pty = terminal("cancel", run, "--by", "ana")
    pty.answer(f"Cancel {run} and undo 1?", "yes")
    pty.see("cancelling")
    assert pty.end() == 0


def test_with_yes_it_does_not_ask_and_wants_the_whole_id(terminal: AtTerminal, adjourn: Run, run: str) -> None:
    said = adjourn("cancel", run[:6], "--yes")
    assert said.code == 2 and f"adjourn cancel {run} --yes" in said.err
    pty = terminal("cancel", run, "--yes")
    pty.see("cancelling")
    assert pty.end() == 0 and "Cancel " not in pty.plain


def test_what_has_changed_while_a_person_read_is_shown_and_asked_again(
    terminal: AtTerminal, adjourn: Run, run: str
) -> None:
    pty = terminal("cancel", run)
    pty.see(f"Cancel {run} and undo 1?")
    assert adjourn("cancel", run).code == 0
    pty.see("› ")
    pty.type("yes")
    pty.see("cancelling")
    assert pty.end() == 0, "it is already being cancelled, so nothing is left to ask"


def test_an_erasure_and_a_retry_can_be_tried_dry(adjourn: Run) -> None:
    [failed] = asyncio.run(begin(shop.failing))
    [ended] = asyncio.run(begin(Agent("clerk", model=ScriptedModel("done"))))
    before = records()
    said = adjourn("erase", ended, "--reason", "y", "--dry-run")
    assert said.code == 0 and said.out.startswith(f"Would erase {ended}")
    said = adjourn("retry", failed, "--all", "--dry-run")
    assert said.code == 0 and said.out.startswith("Would retry 1: ")
    assert adjourn("retry", failed, "--dry-run", "--json").json["count"] == 1
    assert records() == before and adjourn("show", ended, "--json").json["status"] == "completed"


def test_what_nobody_had_answered_is_told_as_past_after_a_cancel(adjourn: Run, run: str) -> None:
    assert "…" in adjourn("show", run).out, "else it does not wait here"
    assert adjourn("cancel", run, "--yes", "--by", "ana").code == 0
    asyncio.run(advance(paid(), run=run))
    [line] = [line for line in adjourn("show", run).out.splitlines() if "ask_human" in line]
    assert "not answered when the run was cancelled" in line
    assert "…" not in line and " asks " not in line
