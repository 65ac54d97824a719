"""The tour: unattended it checks itself, over HTTP and with a runtime alone; at a terminal a person decides."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import AtTerminal, Run

from adjourn.demo.checks import CheckFailed, DemoChecks
from adjourn.demo.ledger import LedgerEntry, entries

BOTH = (
    "a refund of 48250 is waiting for approval",
    "of three simultaneous decisions one was recorded",
    "exactly what was approved ran, once: a refund of 39900",
    "text is streamed before the reply is complete",
    "paused and resumed, it followed the instruction",
    "three actions were undone, the last one first, each once",
    "one action was not undone, and is listed",
    "kill -9",
    "the unsafe call pay_supplier was not repeated: a person is asked",
    "the idempotent call book_courier ran again with the same key and took effect once",
    "the recorded call get_order did not run again",
    "pay_supplier took effect once",
    "each has one key and one result",
    "ran adjourn approve for its own payment: refused",
    "not signed, so nothing ran",
    "approved with a signature, it was paid, once",
    "all journals and the audit verify",
)
OVER_HTTP = ("the console is served", "its page runs only its own scripts", "the card has ticked the task worker")


def written(tool: str) -> list[LedgerEntry]:
    return [entry for entry in entries(Path("tour/ledger.jsonl")) if entry.tool == tool]


@pytest.mark.parametrize("terminal", [False, True], ids=["over HTTP", "with a runtime alone"])
def test_unattended_it_does_everything_that_it_claims_and_checks_it(process: Run, terminal: bool) -> None:
    options = ("--terminal",) if terminal else ()
    said = process("demo", "--dir", "tour", *options)
    assert said.code == 0, said.out + said.err
    claims = BOTH if terminal else (*BOTH, *OVER_HTTP)
    assert not [claim for claim in claims if claim not in said.out]
    assert said.out.count("the card has ticked the task") == (0 if terminal else 4)
    assert "checks passed in" in said.out and "\x1b" not in said.out
    runs = process("runs", "--json", "--db", "tour/demo.db").json
    assert {run["run_id"]: run["status"] for run in runs} == {
        "DEMO-1": "completed", "DEMO-2": "completed", "DEMO-3": "cancelled", "DEMO-4": "completed", "DEMO-5": "waiting",
        "DEMO-6": "completed", "DEMO-7": "completed",
    }  # fmt: skip
    assert process("demo", "--dir", "tour", *options).code == 2, "another demo does not write over this one"


def test_as_json_the_claims_are_talk_and_the_result_is_data(process: Run) -> None:
    said = process("demo", "--json")
    result: dict[str, Any] = json.loads(said.out)
    assert said.code == 0 and result["checks"] > 20 and "kill -9" in said.err
    assert [entry["args"]["cents"] for entry in result["ledger"] if entry["tool"] == "refund"] == [39900]


def test_a_person_approves_at_the_prompt(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--terminal", "--dir", "tour")
    pty.see("refund needs approval")
    pty.answer("ater  ?", "approve")
    pty.answer("Approve refund once, exactly as shown? ", "yes")
    pty.see("pay_supplier may have happened")
    pty.answer("?  ", "happened")
    pty.answer("Its result", "null")
    pty.answer("is that right?", "yes")
    pty.see("checks passed in")
    assert pty.end() == 0
    assert [entry.args["cents"] for entry in written("refund")] == [48250]
    assert len(written("pay_supplier")) == 1


def test_a_person_edits_the_amount_and_insists_that_a_payment_did_not_happen(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--terminal", "--dir", "tour")
    pty.answer("ater  ?", "edit")
    pty.answer("or done", "cents=100")
    pty.answer("or done", "done")
    pty.answer("Approve the edited action", "yes")
    pty.see("Refunded 1.00 for order 4417")
    pty.see("pay_supplier may have happened")
    pty.answer("?  ", "run")
    pty.answer("is that right?", "yes")
    pty.see("because a person said that it had not happened")
    assert pty.end() == 0
    assert len(written("pay_supplier")) == 2


def test_a_person_denies_and_gives_up(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--terminal", "--dir", "tour")
    pty.answer("ater  ?", "deny")
    pty.answer("The agent reads it", "-")
    pty.see("The refund was not made: denied by")
    pty.see("pay_supplier may have happened")
    pty.answer("?  ", "cancel")
    pty.answer("is that right?", "yes")
    pty.see("checks passed in")
    assert pty.end() == 0
    assert not written("refund")


def test_a_claim_that_does_not_hold_ends_the_tour() -> None:
    told = list[str]()
    nothing: Any = None
    checks = DemoChecks(nothing, nothing, told.append)
    checks.check(True, "one thing")
    with pytest.raises(CheckFailed, match="check failed: nothing ran twice"):
        checks.check(False, "nothing ran twice")
    assert checks.count == 1 and told == ["✓ one thing"]


async def test_what_does_not_come_ends_the_tour_with_its_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjourn.demo.checks.PATIENCE", 0.01)
    nothing: Any = None

    async def never() -> bool:
        await asyncio.sleep(0)
        return False

    with pytest.raises(CheckFailed, match=r"timed out after 0\.01 s: the run ends"):
        await DemoChecks(nothing, nothing, print).until(never, bool, "the run ends")
