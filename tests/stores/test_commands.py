"""People's commands as a table: which still applies to which run, from rows alone, and what a refusal leaves behind."""

import json
from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.stores.plain_rows import FINANCE, LATER, LEGAL, NOW, OTHER, ROW, SEQ, I, appended, opening, read, worked

from adjourn.core.action_digest import digest
from adjourn.core.interrupt import Kind
from adjourn.core.record_codec import dump
from adjourn.core.record_effects import Together
from adjourn.core.record_parts import DecisionSeal
from adjourn.core.records import (
    Accepted,
    CancelAsked,
    Command,
    Decided,
    Emitted,
    PauseAsked,
    Resumed,
    Said,
)
from adjourn.core.signatures import LEEWAY
from adjourn.core.status import Status
from adjourn.stores.rules.commands import delivering
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import ReadResult
from adjourn.stores.rules.transaction import RecordedRefusal


def yes(by: str = "bob", groups: str = "", **more: Any) -> Decided:
    return replace(Decided(i=I, verdict="approve", by=by, groups=tuple(groups.split()), digest="d"), **more)


def no(by: str = "bob", **more: Any) -> Decided:
    return Decided(i=I, verdict="deny", by=by, **more)


def says(value: Any, by: str = "bob", **more: Any) -> Decided:
    return Decided(i=I, verdict="value", value=value, by=by, **more)


def choice(word: str, by: str = "bob", **more: Any) -> Decided:
    return says({"choice": word}, by, **more)


INSTEAD = {"instead": "paid by hand"}
DISMISSED = {"dismissed": True}
SEAL = DecisionSeal(kid="k", nonce="n", at=NOW, sig="s")
EDIT = {"cents": 1}

# What is waited for, what else holds, the command, and what it is refused as: "" if it is recorded.
Row = tuple[str, dict[str, Any], Command, str]
DECISIONS: dict[str, Row] = {
    "an approval of what was shown": ("approval", {}, yes(), ""),
    "an approval of nothing": ("approval", {}, yes(digest=""), "StaleDecision"),
    "an approval of something else": ("approval", {}, yes(digest="e"), "StaleDecision"),
    "a denial of nothing": ("approval", {}, no(), ""),
    "a denial of something else": ("approval", {}, no(digest="e"), "StaleDecision"),
    "a result in its place": ("approval", {}, no(value=INSTEAD, digest="d"), ""),
    "a result in the place of nothing": ("approval", {}, no(value=INSTEAD), "StaleDecision"),
    "a result and more": ("approval", {}, no(value={**INSTEAD, "amount": 1}, digest="d"), "InvalidAnswer"),
    "a result and an edit": ("approval", {}, no(value=INSTEAD, edit=EDIT, digest="d"), "InvalidAnswer"),
    "a result where a rule forbids it": ("approval", {"schema": False}, no(value=INSTEAD, digest="d"), "InvalidAnswer"),
    "an approval where a rule forbids a result": ("approval", {"schema": False}, yes(), ""),
    "a result where no argument may change": ("approval", {"schema": {"const": {}}}, no(value=INSTEAD, digest="d"), ""),
    "a value for an approval": ("approval", {}, says(1), "InvalidAnswer"),
    "a dismissal of an approval": ("approval", {}, no(value=DISMISSED), "InvalidAnswer"),
    "what was never asked": ("approval", {}, replace(yes(), i="2.0?0"), "UnknownInterrupt"),
    "what is decided": ("approval", {"state": "decided"}, yes(), "AlreadyDecided"),
    "what came as an event": ("approval", {"state": "event"}, yes(), "InterruptClosed"),
    "what no longer applies": ("approval", {"state": "void"}, yes(), "InterruptClosed"),
    "at its deadline": ("approval", {"expires": NOW}, yes(), "InterruptClosed"),
    "before its deadline": ("approval", {"expires": LATER}, yes(), ""),
    "the run itself": ("approval", {}, yes("R "), "NotAllowed"),
    "its agent": ("approval", {}, yes("shop"), "NotAllowed"),
    "an agent above it": ("approval", {"under": ("boss",)}, yes("boss"), "NotAllowed"),
    "a rule of the runtime": ("approval", {}, yes("@expiry"), "NotAllowed"),
    "the second time by the same": ("approval", {"votes": [yes()], "gate": (FINANCE, LEGAL)}, yes("BOB"), "AlreadyDecided"),
    "a denial by one who has agreed": ("approval", {"votes": [yes()], "gate": (FINANCE, LEGAL)}, no("BOB"), ""),
    "under a halt of its tool": ("approval", {"halts": ["tool:pay"]}, yes(), "Halted"),
    "under a halt of its agent": ("approval", {"halts": ["agent:shop"]}, yes(), "Halted"),
    "under a halt of an agent above": ("approval", {"halts": ["agent:boss"], "under": ("boss",)}, yes(), "Halted"),
    "under a halt of another tool": ("approval", {"halts": ["tool:mail"]}, yes(), ""),
    "a denial under a halt": ("approval", {"halts": ["*"]}, no(), ""),
    "a result under a halt": ("approval", {"halts": ["*"]}, no(value=INSTEAD, digest="d"), "Halted"),
    "an edit": ("approval", {}, yes(edit=EDIT), ""),
    "an edit of what is fixed": ("approval", {"schema": {"const": {}}}, yes(edit=EDIT), "InvalidAnswer"),
    "an edit where two must agree": ("approval", {"approvers": 2}, yes(edit=EDIT), "InvalidAnswer"),
    "no edit where two must agree": ("approval", {"approvers": 2}, yes(), ""),
    "an edit by one where two seats are empty": (
        "approval", {"gate": (FINANCE, LEGAL)}, yes(groups="finance", edit=EDIT), "InvalidAnswer",
    ),
    "an edit by one who fills every seat": ("approval", {"gate": (FINANCE, LEGAL)}, yes(groups="finance legal", edit=EDIT), ""),
    "one of the group": ("approval", {"gate": (FINANCE,)}, yes(groups="finance"), ""),
    "one of another group": ("approval", {"gate": (FINANCE,)}, yes(groups="legal"), "NotAllowed"),
    "a denial by one of another group": ("approval", {"gate": (FINANCE,)}, no(), ""),
    "a result by one of another group": ("approval", {"gate": (FINANCE,)}, no(value=INSTEAD, digest="d"), "NotAllowed"),
    "who asked for the run": ("approval", {"gate": (OTHER,)}, yes("ana"), "NotAllowed"),
    "who did not ask for the run": ("approval", {"gate": (OTHER,)}, yes(), ""),
    "a run for which nobody asked": ("approval", {"gate": (OTHER,), "requesters": ()}, yes(), "NotAllowed"),
    "the seat that is left": (
        "approval", {"gate": (FINANCE, LEGAL), "votes": [yes("ann", "finance")]}, yes(groups="legal"), "",
    ),
    "a seat that is taken": (
        "approval", {"gate": (FINANCE, LEGAL), "votes": [yes("ann", "finance")]}, yes(groups="finance"), "NotAllowed",
    ),
    "without a seal where seals are required": ("approval", {"signed": True}, yes(), "NotAllowed"),
    "with a seal": ("approval", {"signed": True}, yes(seal=SEAL), ""),
    "with a seal of another hour": ("approval", {}, yes(seal=replace(SEAL, at=NOW - LEEWAY - 1)), "Invalid"),
    "while it is being cancelled": ("approval", {"status": Status.CANCELLING}, yes(), "Refused"),
    "about its undo while it is being cancelled": ("approval", {"status": Status.CANCELLING, "undoing": True}, yes(), ""),
    "about its undo when it is stuck": ("undo", {"status": Status.STUCK, "undoing": True}, choice("retry"), ""),
    "while it is paused": ("approval", {"status": Status.PAUSED}, yes(), ""),
    "an answer": ("question", {}, says(1), ""),
    "an answer with a digest": ("question", {}, says(1, digest="e"), ""),
    "an answer under a halt": ("question", {"halts": ["*"]}, says(1), ""),
    "no answer": ("question", {}, no(value=DISMISSED), ""),
    "an approval of a question": ("question", {}, yes(digest=""), "InvalidAnswer"),
    "an answer to a timer": ("timer", {}, says(1), "InvalidAnswer"),
    "an answer to a wait for an event": ("event", {}, says(1), "InvalidAnswer"),
    "that it runs again": ("in_doubt", {}, choice("run", digest="d"), ""),
    "that it runs again, unseen": ("in_doubt", {}, choice("run"), "StaleDecision"),
    "that it happened, unseen": ("in_doubt", {}, choice("happened"), ""),
    "that it happened, of another group": ("in_doubt", {"gate": (FINANCE,)}, choice("happened"), "NotAllowed"),
    "that it did not happen, of another group": ("in_doubt", {"gate": (FINANCE,)}, choice("failed"), ""),
    "that it happened, under a halt": ("in_doubt", {"halts": ["tool:pay"]}, choice("happened"), "Halted"),
    "a choice without one": ("error", {}, says({"amount": 1}), "InvalidAnswer"),
    "a choice that is no choice": ("error", {}, says("retry"), "InvalidAnswer"),
    "a word that is no choice": ("error", {}, says(["choice"]), "InvalidAnswer"),
    "a retry": ("error", {}, choice("retry"), ""),
    "a retry under a halt": ("error", {"halts": ["*"]}, choice("retry"), "Halted"),
    "a denial of an error": ("error", {}, no(), "InvalidAnswer"),
    "more steps": ("limit", {}, says({"choice": "extend", "amount": 1}), ""),
    "more steps under a halt": ("limit", {"halts": ["*"]}, choice("extend"), "Halted"),
    "so many steps": ("limit", {}, says({"choice": "extend", "amount": "many"}), "InvalidAnswer"),
    "an event that answers": ("question", {"event": "e"}, Emitted(event="e", by="bob"), ""),
    "an event that answers, of the run itself": ("question", {"event": "e"}, Emitted(event="e", by="shop"), "NotAllowed"),
    "an event of one who cannot decide": ("question", {"event": "e"}, Emitted(event="e", decides=False), "NotAllowed"),
    "an event that answers nothing, of one who cannot decide": (
        "question", {"event": "e"}, Emitted(event="x", decides=False), "",
    ),
    "an event that is only waited for": ("event", {"event": "e"}, Emitted(event="e", decides=False), ""),
    "an event that answers too late": (
        "question", {"event": "e", "expires": NOW}, Emitted(event="e", by="bob"), "InterruptClosed",
    ),
    "an event that answers in time": ("question", {"event": "e", "expires": LATER}, Emitted(event="e", by="bob"), ""),
    "an event that answers without a seal": (
        "question", {"event": "e", "signed": True}, Emitted(event="e", by="bob"), "NotAllowed",
    ),
}  # fmt: skip

READY, PAUSED = {"status": Status.READY}, {"status": Status.PAUSED}
ENDED, CANCELLING = {"status": Status.COMPLETED}, {"status": Status.CANCELLING}
STEERING: dict[str, Row] = {
    "a pause": ("", READY, PauseAsked(by="bob"), ""),
    "a pause of what has ended": ("", ENDED, PauseAsked(by="bob"), "Refused"),
    "a resume": ("", PAUSED, Resumed(by="bob"), ""),
    "a resume of what is not paused": ("", READY, Resumed(by="bob"), "Refused"),
    "a resume of what waits": ("approval", {}, Resumed(by="bob"), "Refused"),
    "a cancel": ("", READY, CancelAsked(by="bob"), ""),
    "a word": ("", READY, Said(text="more", by="bob"), ""),
    "a word while it is being cancelled": ("", CANCELLING, Said(text="more", by="bob"), "Refused"),
    "an event after the end": ("", ENDED, Emitted(event="e"), "Refused"),
    "an agent that is accepted by itself": ("", READY, Accepted(by="shop"), "NotAllowed"),
    "an agent that a person accepts": ("", READY, Accepted(by="bob"), ""),
    "a name with a NUL": ("", READY, PauseAsked(by="b\0b"), "Invalid"),
    "what was erased": ("", {"erased": NOW}, PauseAsked(by="bob"), "RunErased"),
}  # fmt: skip
TABLE = DECISIONS | STEERING

OF_THE_ROW = ("status", "requesters", "erased")
OF_THE_STORE = ("votes", "halts", "signed", "request")
OF_THE_QUESTION = ("gate", "schema", "under")


def situation(kind: str, given: dict[str, Any]) -> ReadResult:
    """What is read; each field that is given changes what it is a field of."""
    of_row = {name: given[name] for name in OF_THE_ROW if name in given}
    of_store = {name: given[name] for name in OF_THE_STORE if name in given}
    of_question = {name: given[name] for name in OF_THE_QUESTION if name in given}
    others = {name: given[name] for name in given if name not in (*OF_THE_ROW, *OF_THE_STORE, *OF_THE_QUESTION)}
    if not kind:
        return read(replace(ROW, opens=0, **of_row), **of_store)
    shown = {"digest": "d"} if kind in ("approval", "in_doubt") else {}
    interrupt = InterruptRow(I, 0, cast("Kind", kind), **shown, **others)
    return read(replace(ROW, **of_row), interrupt, opening(kind, **shown, **of_question), **of_store)


@pytest.mark.parametrize("row", TABLE)
def test_every_row(row: str) -> None:
    kind, given, command, refused = TABLE[row]
    done, sheet = worked(delivering("r", command, "", "http", 0), situation(kind, given))
    [line] = [json.loads(line.body) for line in sheet.writes.audit]
    assert ("refused" in line, line["from"]) == (bool(refused), "http")
    if refused:
        assert isinstance(done, RecordedRefusal)
        assert type(done.error).__name__ == refused, done.error
        assert appended(sheet) == []
    else:
        assert (done, appended(sheet), line["seq"]) == (SEQ + 1, [SEQ + 1], SEQ + 1), getattr(done, "error", "")


WHY = {
    "what came as an event": "the event it was waiting for arrived",
    "what no longer applies": "it no longer applies",
    "at its deadline": "it expired",
    "an answer to a timer": "is waiting for time",
    "an answer to a wait for an event": "is waiting for an event",
    "an approval of a question": "must be answered with a value",
    "a value for an approval": "must be answered with an approval or a denial",
    "one of another group": "'bob' is not in a group that can approve this: finance",
    "who asked for the run": "'ana' started this run",
    "a run for which nobody asked": "the requester of this run is unknown",
    "a seat that is taken": "still needed: legal",
    "a resume of what is not paused": "it is not paused",
    "a resume of what waits": "answer its interrupts instead",
}


@pytest.mark.parametrize("row", WHY)
def test_a_refusal_says_why(row: str) -> None:
    kind, given, command, _ = TABLE[row]
    done, _ = worked(delivering("r", command, "", "", 0), situation(kind, given))
    assert WHY[row] in f"{done.error}; {done.error.advice}"


TOLD: dict[str, tuple[str, Command, dict[str, Any]]] = {
    "a decision": ("approval", yes(note="ok"), {"interrupt": I, "verdict": "approve", "note": "ok", "digest": "d", "tool": "pay"}),
    "a sealed decision": ("approval", yes(seal=SEAL), {"interrupt": I, "verdict": "approve", "digest": "d", "tool": "pay", "kid": "k"}),
    "an answer": ("question", says("a secret"), {"interrupt": I, "verdict": "value"}),
    "a pause": ("", PauseAsked(by="bob", reason="wait"), {"reason": "wait"}),
    "a word": ("", Said(text="a secret", by="bob"), {}),
    "an event": ("question", Emitted(event="e", value="a secret", by="bob"), {"event": "e", "answers": [I]}),
    "another event": ("question", Emitted(event="x", by="bob"), {"event": "x", "answers": []}),
    "an agent that is accepted": ("", Accepted(by="bob", changes=("tool pay",)), {"changes": ["tool pay"]}),
}  # fmt: skip


@pytest.mark.parametrize("row", TOLD)
def test_the_audit_tells_what_was_decided_and_not_what_was_said(row: str) -> None:
    kind, command, told = TOLD[row]
    given: dict[str, Any] = {"event": "e"} if kind == "question" else {} if kind else READY
    _, sheet = worked(delivering("r", command, "", "", 0), situation(kind, given))
    line = json.loads(sheet.writes.audit[0].body)
    around = ("at", "run", "agent", "by", "from", "verb", "seq")
    assert {name: value for name, value in line.items() if name not in around and value != ""} == told


def test_every_kind_of_interrupt_has_rows_that_are_recorded_and_that_are_not() -> None:
    kinds = {(kind, bool(refused)) for kind, _, _, refused in DECISIONS.values()} - {("timer", True), ("undo", False)}
    assert kinds == {
        (kind, no) for kind in ("approval", "question", "event", "in_doubt", "error", "limit") for no in (True, False)
    }


def recognised(*commands: Command) -> str:
    """What a request is known again by: the commands, without the time at which each was made."""
    return digest(*(dump(replace(command, at=0.0)) for command in commands))


# A request that may be known, the commands that come with it, behind which record, and what comes of it.
PAUSE, WORD, CANCEL = PauseAsked(by="bob"), Said(text="more", by="bob"), CancelAsked(by="bob")
KNOWN = (7, recognised(PAUSE))
REQUESTS: dict[str, tuple[tuple[int, str] | None, tuple[Command, ...], str, int, int | str, list[int]]] = {
    "a new one": (None, (PAUSE,), "q", 0, SEQ + 1, [SEQ + 1]),
    "the same again": (KNOWN, (PAUSE,), "q", 0, 7, []),
    "the same again, signed another time": (KNOWN, (replace(PAUSE, at=NOW),), "q", 0, 7, []),
    "another one under its id": (KNOWN, (WORD,), "q", 0, "RequestReused", []),
    "without an id": (None, (PAUSE,), "", 0, SEQ + 1, [SEQ + 1]),
    "behind the last record": (None, (PAUSE,), "q", SEQ, SEQ + 1, [SEQ + 1]),
    "behind an earlier record": (None, (PAUSE,), "q", SEQ - 1, "AlreadyResumed", []),
    "two": (None, (PAUSE, WORD), "q", SEQ, SEQ + 1, [SEQ + 1, SEQ + 2]),
    "two, again": ((7, recognised(PAUSE, WORD)), (PAUSE, WORD), "q", SEQ, 7, []),
    "two, of which the second does not apply": (None, (CANCEL, WORD), "q", 0, "Refused", []),
    "two, of which the first does not apply": (None, (Resumed(by="bob"), WORD), "q", 0, "Refused", []),
    "nothing to do": (None, (), "q", 0, 0, []),
}  # fmt: skip


@pytest.mark.parametrize("row", REQUESTS)
def test_every_request(row: str) -> None:
    known, commands, request, at, result, numbers = REQUESTS[row]
    whole = Together(commands, None if commands else PAUSE)
    done, sheet = worked(
        delivering("r", whole, request, "", at), read(replace(ROW, status=Status.READY), request=known)
    )
    assert (type(done.error).__name__ if isinstance(done, RecordedRefusal) else done) == result
    assert appended(sheet) == numbers
    kept = (request, result, recognised(*commands or (PAUSE,)))
    assert sheet.writes.request == (kept if request and known is None and isinstance(result, int) else None)
    if row.endswith("again") or "signed another" in row:
        assert sheet.writes.audit == []


@pytest.mark.parametrize("status", [Status.CANCELLING, Status.STUCK, Status.CANCELLED])
def test_a_cancel_of_what_is_being_cancelled_is_acknowledged_and_not_recorded(status: Status) -> None:
    done, sheet = worked(delivering("r", CANCEL, "", "", 0), read(replace(ROW, status=status)))
    assert (done, appended(sheet)) == (SEQ, [])
    assert json.loads(sheet.writes.audit[0].body)["refused"] == f"it is {status} already"


def test_a_command_for_a_run_that_there_is_not_is_in_the_audit_of_the_store() -> None:
    done, sheet = worked(delivering("r", PAUSE, "", "", 0), read(None))
    assert type(done.error).__name__ == "UnknownRun"
    assert [(line.scope, json.loads(line.body)["refused"]) for line in sheet.writes.audit] == [("", "no run 'r'")]
