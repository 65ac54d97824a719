"""A worker's commit as a table: what of it is written, by what has happened meanwhile; and which intents people stand behind."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.stores.plain_rows import FINANCE, LEGAL, NOW, OPENED_AT, ROW, SEQ, I, appended, opening, read, worked

from adjourn.core.action_digest import action_digest
from adjourn.core.authority import shown_digest
from adjourn.core.record_codec import dump
from adjourn.core.records import (
    Asked,
    Checked,
    Closed,
    Decided,
    Fact,
    Intended,
    Late,
    Move,
    Parked,
    Returned,
    Said,
    Suspended,
)
from adjourn.core.status import Status
from adjourn.errors import AdjournError
from adjourn.stores.protocol import Lease
from adjourn.stores.rules.commit import committing
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.transaction import StoreRule

LEASE = Lease("r", "w", 3, SEQ, [], frozenset())
READY = replace(ROW, status=Status.READY, opens=0)
DONE = Returned(call="1.0", value=1)
SAID = Said(text="wait", by="ann", at=NOW - 1)
PAY, PARK = Intended(call="2.0", tool="pay"), Parked()
LATE = Late(call="1.0")

# What is different about the run, whether somebody has said something since, halts, facts, moves; then the classes of what is
# written and whether the moves are among it, or what it is refused as.
Row = tuple[dict[str, Any], bool, list[str], list[Fact], list[Move], list[str], bool | str]
TABLE: dict[str, Row] = {
    "facts and moves": ({}, False, [], [DONE], [PAY], ["Returned", "Intended"], True),
    "nothing": ({}, False, [], [], [], [], True),
    "somebody was faster: facts alone": ({}, True, [], [DONE], [PAY], ["Returned"], False),
    "somebody was faster, and there are no facts": ({}, True, [], [], [PARK], [], False),
    "a move is halted: facts alone": ({}, False, ["tool:pay"], [DONE], [PAY], ["Returned"], False),
    "one of two moves is halted: neither": ({}, False, ["tool:pay"], [], [replace(PAY, tool="mail"), PAY], [], False),
    "everything is halted, and no move begins anything": ({}, False, ["*"], [DONE], [PARK], ["Returned", "Parked"], True),
    "something else is halted": ({}, False, ["tool:mail"], [DONE], [PAY], ["Returned", "Intended"], True),
    "another worker has it": ({"epoch": 4}, False, [], [DONE], [], [], "LeaseLost"),
    "it is shorter than what was seen": ({"seq": SEQ - 1}, False, [], [DONE], [], [], "LeaseLost"),
    "it was erased": ({"erased": NOW}, False, [], [DONE], [], [], "RunErased"),
    "it has ended": ({"status": Status.CANCELLED}, False, [], [DONE], [], [], "Refused"),
    "it has ended, and a body comes to its end": ({"status": Status.CANCELLED}, False, [], [LATE], [], ["Late"], True),
    "it has ended, and two bodies do": ({"status": Status.CANCELLED}, False, [], [LATE, LATE], [], ["Late", "Late"], True),
    "it has ended, and not all is late": ({"status": Status.CANCELLED}, False, [], [LATE, DONE], [], [], "Refused"),
    "it has ended, with a move": ({"status": Status.CANCELLED}, False, [], [LATE], [PARK], [], "Refused"),
    "it has ended, with nothing": ({"status": Status.CANCELLED}, False, [], [], [], [], "Refused"),
    "it was completed, and a body comes to its end": ({"status": Status.COMPLETED}, False, [], [LATE], [], [], "Refused"),
    "a name with a NUL": ({}, False, [], [], [Asked(i="a\0b", kind="approval")], [], "Invalid"),
    "a question with a NUL in its name": ({}, False, [], [Suspended(call="1.0", i="a\0b")], [], [], "Invalid"),
}  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_every_row(row: str) -> None:
    of_row, is_behind, halts, facts, moves, written, outcome = TABLE[row]
    seen = read(replace(READY, **of_row), halts=halts)
    if is_behind:
        assert seen.row is not None
        seen.row.seq += 1
        seen.tail = [(SEQ + 1, dump(SAID))]
    rule = commit(facts, moves)
    if isinstance(outcome, str):
        with pytest.raises(AdjournError) as refused:
            worked(rule, seen)
        assert type(refused.value).__name__ == outcome
        return
    done, sheet = worked(rule, seen)
    assert [json.loads(line.body)["t"] for line in sheet.writes.journal] == [tag(name) for name in written]
    assert done.size == sum(len(line.body) for line in sheet.writes.journal) + sum(len(body) for _, body in seen.tail)
    assert (done.clean, done.records, done.seq) == (
        outcome, [(SEQ + 1, SAID)] if is_behind else [], SEQ + is_behind + len(written),
    )  # fmt: skip


def commit(facts: Sequence[Fact], moves: Sequence[Move]) -> StoreRule:
    """A commit of copies: what is written gets its time."""
    return committing(LEASE, [replace(fact) for fact in facts], [replace(move) for move in moves], SEQ)


def tag(name: str) -> str:
    kinds = (Returned, Intended, Parked, Late)
    return next(str(kind.__struct_config__.tag) for kind in kinds if kind.__name__ == name)


# The commit whose answer was lost: what of it stands in the tail already, and what its worker is told.
HERE, THERE = replace(DONE, at=NOW - 1), replace(PAY, at=NOW - 1)
LANDED: dict[str, tuple[list[Any], int, int, bool]] = {
    "all of it": ([HERE, THERE], SEQ + 2, 0, True),
    "all of it, and more behind it": ([HERE, THERE, SAID], SEQ + 2, 0, True),
    "its facts behind what somebody said": ([SAID, HERE], SEQ + 2, 1, False),
    "all of it, behind what somebody said": ([SAID, HERE, THERE], SEQ + 3, 1, False),
    "its facts": ([HERE], SEQ + 1, 0, False),
}


@pytest.mark.parametrize("row", LANDED)
def test_a_commit_that_is_made_again_is_not_written_twice(row: str) -> None:
    there, last, unseen, clean = LANDED[row]
    seen = read(replace(READY, seq=SEQ + len(there)))
    seen.tail = [(SEQ + n, dump(record)) for n, record in enumerate(there, 1)]
    done, sheet = worked(commit([HERE], [THERE]), seen)
    assert (appended(sheet), done.seq, len(done.records), done.clean) == ([], last, unseen, clean)


def test_what_has_no_time_yet_has_not_landed() -> None:
    seen = read(replace(READY, seq=SEQ + 1))
    seen.tail = [(SEQ + 1, dump(DONE))]
    done, sheet = worked(commit([DONE], []), seen)
    assert (appended(sheet), done.clean) == ([SEQ + 2], False)


def test_what_has_a_time_and_is_not_there_has_not_landed() -> None:
    seen = read(replace(READY, seq=SEQ + 1))
    seen.tail = [(SEQ + 1, dump(SAID))]
    done, sheet = worked(commit([HERE], []), seen)
    assert (appended(sheet), done.clean, done.records) == ([SEQ + 2], False, [(SEQ + 1, SAID)])


# An intent that people stand behind, or not.
ARGS = {"cents": 5}
ACTION = action_digest("r", "1.0", "pay", "", ARGS)
MADE = Asked(i=I, kind="approval", call="1.0", tool="pay", args=ARGS, effect="unsafe", action=ACTION, gate=(FINANCE,))
ASKED = replace(MADE, digest=shown_digest("r", MADE))
YES = Decided(i=I, verdict="approve", by="bob", groups=("finance",), digest=ASKED.digest, at=NOW - 1)
INTENT = Intended(call="1.0", tool="pay", digest=ACTION, gate=(FINANCE,), grant=I)
DECIDED = {"state": "decided"}
AGAIN = {**DECIDED, "lives": "1.0"}
ALIVE = replace(ASKED, effect="idempotent", digest=shown_digest("r", replace(MADE, effect="idempotent")))

# The interrupt, what was asked, who agreed, the intent, and a word of why not: "" if it is written.
Authority = tuple[dict[str, Any] | None, Any, list[Decided], Intended, str]
AUTHORITY: dict[str, Authority] = {
    "agreed to": (DECIDED, ASKED, [YES], INTENT, ""),
    "nobody was asked": (None, ASKED, [], INTENT, "no person was asked"),
    "no grant": (DECIDED, ASKED, [YES], replace(INTENT, grant=""), "no person was asked"),
    "no gate and no grant": (None, ASKED, [], replace(INTENT, grant="", gate=()), ""),
    "a grant without a gate": (DECIDED, ASKED, [], replace(INTENT, gate=()), "no person has agreed"),
    "something else was asked": (DECIDED, opening("question"), [], INTENT, "asked something else"),
    "nobody agreed": (DECIDED, ASKED, [], INTENT, "no person has agreed"),
    "still open": ({}, ASKED, [YES], INTENT, "its question is open"),
    "still open, and nobody agreed": ({}, ASKED, [], INTENT, "no person has agreed"),
    "void": ({"state": "void"}, ASKED, [YES], INTENT, "its question is void"),
    "by one of another group": (DECIDED, ASKED, [replace(YES, groups=("legal",))], INTENT, "has not agreed"),
    "to other arguments": (DECIDED, ASKED, [YES], replace(INTENT, digest="x"), "differs from what was agreed to"),
    "a rule that nobody was asked about": (DECIDED, ASKED, [YES], replace(INTENT, gate=(FINANCE, LEGAL)), "far"),
    "used": (AGAIN, ASKED, [YES], INTENT, "already been used"),
    "used by another call": ({**DECIDED, "lives": "9.0"}, ASKED, [YES], INTENT, "already been used"),
    "used, and for the whole run": (AGAIN, ASKED, [replace(YES, scope="run")], INTENT, ""),
    "used by the same, which may run again": (
        AGAIN, ALIVE, [replace(YES, digest=ALIVE.digest)], replace(INTENT, effect="idempotent"), "",
    ),
    "used by another, which may run again": (
        {**DECIDED, "lives": "9.0"}, ALIVE, [replace(YES, digest=ALIVE.digest)], replace(INTENT, effect="idempotent"), "used",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", AUTHORITY)
def test_every_intent(row: str) -> None:
    of_interrupt, asked, votes, intent, why = AUTHORITY[row]
    interrupt = None if of_interrupt is None else InterruptRow(I, OPENED_AT, "approval", **of_interrupt)
    seen = read(READY, interrupt, asked, votes)
    rule = commit([], [intent])
    if why:
        with pytest.raises(AdjournError, match=why) as refused:
            worked(rule, seen)
        assert type(refused.value).__name__ == "Unauthorised"
    else:
        _, sheet = worked(rule, seen)
        assert appended(sheet) == [SEQ + 1]


def test_where_decisions_are_signed_a_worker_that_knows_no_deciders_runs_nothing() -> None:
    seen = read(READY, InterruptRow(I, OPENED_AT, "approval", state="decided"), ASKED, [YES], signed=True)
    with pytest.raises(AdjournError, match="no deciders to verify them with"):
        worked(commit([], [INTENT]), seen)


ALONE: dict[str, tuple[Checked | Closed | Asked, str]] = {
    "an expiry": (Closed(i=I, why="expired"), "expire"),
    "an event that came": (Closed(i=I, why="event"), ""),
    "a question that others get": (Asked(i="1.0?1", kind="approval", escalated=True), "escalate"),
    "a question": (Asked(i="1.0?1", kind="approval"), ""),
    "a veto": (Checked(step="1.0", verdict="veto", hooks=("h",)), "veto"),
    "no veto": (Checked(step="1.0", hooks=("h",)), ""),
}


@pytest.mark.parametrize("row", ALONE)
def test_what_no_person_decided_is_in_the_audit(row: str) -> None:
    record, verb = ALONE[row]
    rule = commit([record], []) if isinstance(record, Checked) else commit([], [record])
    _, sheet = worked(rule, read(replace(READY, opens=1), InterruptRow(I, OPENED_AT, "approval"), ASKED))
    assert [json.loads(line.body)["verb"] for line in sheet.writes.audit] == ([verb] if verb else [])
