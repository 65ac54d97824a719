"""People's words: whether a command still applies, and its record."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, cast

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.approval_votes import Vote, adds, fits, gate_of, is_filled, seated
from adjourn.core.authority import may_edit, may_replace
from adjourn.core.codec import legible
from adjourn.core.decision import INSTEAD, chosen, is_instead, says_yes, word_of
from adjourn.core.files import MARK
from adjourn.core.ids import local_event, public_id
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE, OF_CALLS, TROUBLE
from adjourn.core.person_name import is_known
from adjourn.core.record_codec import dump, parse
from adjourn.core.record_effects import Commands, Together
from adjourn.core.record_parts import ApprovalSlot, stamped
from adjourn.core.records import (
    Accepted,
    Asked,
    CancelAsked,
    Command,
    Decided,
    Emitted,
    Forked,
    PauseAsked,
    Resumed,
    Revoked,
    Said,
    Started,
)
from adjourn.core.requesters import check_outsider
from adjourn.core.signatures import SEALED
from adjourn.core.standing_decision import stands
from adjourn.core.status import CANCELS, ENDED, Status, after
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    AlreadyResumed,
    InterruptClosed,
    Invalid,
    InvalidAnswer,
    NotAllowed,
    Refused,
    RequestReused,
    RunErased,
    StaleDecision,
    UnknownInterrupt,
    UnknownRun,
    bare,
)
from adjourn.stores.rules.audit_lines import LISTED, NAMED
from adjourn.stores.rules.halts import admit_under_halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.journal import VERBS, append, keep_files
from adjourn.stores.rules.names import check_names, check_record
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.signatures import check_sealed
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule
from adjourn.stores.rules.votes import votes_of
from adjourn.stores.run_row import RunRow, keyed_digest

NOTHING_TO_DO = "there was nothing to do"


def delivering(run: str, given: Commands, request: str, origin: str, at: int) -> StoreRule:
    """See `Store.deliver`."""
    whole = given if isinstance(given, Together) else Together((given,))
    ask = ReadRequest(run, request=request, audit=(run,))
    for command in whole.commands or (whole.asked,):
        if command is not None:
            ask = _looking_at(ask, command)
    work = partial(deliver, run=run, whole=whole, request=request, origin=origin, at=at)
    return StoreRule(ask, work)


def _looking_at(ask: ReadRequest, command: Command) -> ReadRequest:
    """With what a command looks at as well."""
    match command:
        case Decided():
            return msgspec.structs.replace(
                ask,
                named=(*ask.named, command.i),
                otherwise_opens=True,
                openings=True,
                records=(1,),
                halts=True,
                signed=True,
            )
        case Emitted():
            return msgspec.structs.replace(ask, opens=True, signed=True)
        case Forked():
            return msgspec.structs.replace(ask, all_interrupts=True)
        case Revoked():
            return msgspec.structs.replace(ask, named=(*ask.named, command.i))
        case Said() if command.abandon:
            return msgspec.structs.replace(ask, opens=True)
        case _:
            return ask


def deliver(
    sheet: Sheet, run: str, whole: Together, request: str, origin: str, at: int
) -> int | RecordedRefusal:
    """See `Store.deliver`."""
    if not whole.commands:
        assert whole.asked is not None
        return _deliver(sheet, run, whole.asked, Request(request, whole, origin, at))
    first, *others = whole.commands
    is_again = bool(request) and sheet.request(request) is not None
    if others and not is_again and (refused := _refused_behind(sheet, run, whole, origin, at)):
        return refused
    done = _deliver(sheet, run, first, Request(request, whole, origin, at))
    if is_again or isinstance(done, RecordedRefusal):
        return done
    for command in others:
        found = _deliver(sheet, run, command, Request("", whole, origin, 0))
        assert not isinstance(found, RecordedRefusal)  # it was tried before
    return done


def _refused_behind(
    sheet: Sheet, run: str, whole: Together, origin: str, at: int
) -> RecordedRefusal | None:
    """If one that is not the first is refused behind those before it, none is recorded: that is
    seen on a copy of what was read."""
    trial = sheet.copy()
    for place, command in enumerate(whole.commands):
        done = _deliver(trial, run, command, Request("", whole, origin, 0 if place else at))
        if not isinstance(done, RecordedRefusal):
            continue
        if not place:
            return None  # as if it came alone
        row = sheet.row
        for other in whole.commands[: place + 1]:
            verb = VERBS[type(other).__name__].split()[0]
            told = {"verb": verb, "by": other.by, "from": origin, **_told(sheet, row, other)}
            sheet.audited(run, {**told, "refused": str(done.error)})
        return done
    return None


class Request(msgspec.Struct, frozen=True, gc=False):
    """How a command comes: the id of its request, with what it came, from where, and behind which
    record."""

    id: str
    whole: Together
    origin: str
    at: int


def _deliver(sheet: Sheet, run: str, command: Command, request: Request) -> int | RecordedRefusal:
    """One command."""
    name = VERBS[type(command).__name__].split()[0]
    row = sheet.row
    what = {"verb": name, "by": command.by, "from": request.origin, **_told(sheet, row, command)}
    if row is None:
        sheet.audited("", {**what, "refused": f"no run {run!r:.80}"})
        return RecordedRefusal(UnknownRun(run))
    if row.erased:
        sheet.audited(run, {**what, "refused": "it was erased"})
        return RecordedRefusal(RunErased(run, row.title))
    given = command
    # a copy: the caller's may be sent again; and what is acknowledged must be readable for ever
    try:
        body = dump(msgspec.structs.replace(command, at=0.0))
        command = cast(Command, parse(body))
        check_record(command)
        check_names(request_id=request.id)
    except (msgspec.MsgspecError, TypeError, ValueError, Invalid) as e:
        sheet.audited(
            run, {"verb": name, "from": request.origin, "refused": "it cannot be recorded"}
        )
        return RecordedRefusal(Invalid(f"the command cannot be recorded: {e}"))
    wanted = keyed_digest(row.salt, _wanted(request.whole)) if request.id else ""
    if request.id and (old := sheet.request(request.id)) is not None:
        if old[1] != wanted:
            sheet.audited(
                run, {**what, "refused": "the request id was used for a different command"}
            )
            return RecordedRefusal(RequestReused(request.id))
        return old[0]
    try:
        seq = _place(sheet, row, command, request)
    except AdjournError as e:
        sheet.audited(run, {**what, "refused": str(e)})
        return RecordedRefusal(e)
    if request.id:
        sheet.put_request(request.id, seq, wanted)
    if seq <= row.seq:  # twice is once, and nobody did it a second time
        why = f"it is {row.status} already" if seq else NOTHING_TO_DO
        sheet.audited(run, {**what, "refused": why})
    else:
        sheet.audited(run, {**what, "seq": seq})
        append(sheet, row, 0, stamped(command, sheet.now))
        if MARK in body:  # the copy does not carry them
            keep_files(sheet, given)
    sheet.save(row)
    return seq


def _place(sheet: Sheet, row: RunRow, command: Command, request: Request) -> int:
    """The number that its record gets; the last one's if it has happened, 0 if there is nothing to
    do. Raises with the reason if it does not apply."""
    if request.at and row.seq != request.at:
        raise AlreadyResumed(row.id, request.at, row.seq, row.status.value)
    if not request.whole.commands:
        return 0
    if isinstance(command, CancelAsked) and row.status in CANCELS:
        return row.seq
    admit(sheet, row, command)
    return row.seq + 1


def _wanted(whole: Together) -> str:
    """What a request with an id is recognised by, if it comes again."""
    commands = whole.commands
    if whole.asked is not None:
        commands = (whole.asked,)
    bodies = [dump(msgspec.structs.replace(_unsealed(command), at=0.0)) for command in commands]
    return digest(*bodies)


def _unsealed(command: Command) -> Command:
    """As it was wanted: the same again is the same request, whenever it was signed."""
    if isinstance(command, SEALED):
        return msgspec.structs.replace(command, seal=None)
    return command


def _told(sheet: Sheet, row: RunRow | None, command: Command) -> dict[str, Any]:
    """What of a command belongs in the audit: what was decided and why, not what was said."""
    match command:
        case Decided():
            told = {
                "interrupt": command.i,
                "verdict": word_of(command),
                "note": command.note,
                "digest": command.digest,
            }
            if tool := _tool_of(sheet, row, command):
                told["tool"] = tool
            if says := stands(command):
                told["stands"] = says.text
            if command.seal is None:
                return told
            return {**told, "kid": command.seal.kid}
        case Revoked():
            return {"interrupt": command.i, "note": command.note}
        case PauseAsked() | CancelAsked():
            return {"reason": command.reason}
        case Accepted():
            return {"changes": [what[:NAMED] for what in command.changes[:LISTED]]}
        case Emitted():
            if row:
                answers = [waiting.i for waiting in _awaiting(sheet, command)]
            else:
                answers = []
            return {"event": legible(str(command.event))[:NAMED], "answers": answers}
        case _:
            return {}


def _tool_of(sheet: Sheet, row: RunRow | None, command: Decided) -> str:
    """The tool whose call is decided; "" if it is about something else."""
    if row is None or row.erased:
        return ""
    found = sheet.interrupt(command.i)
    if found is None:
        return ""
    opening = sheet.opening(found.seq)
    if isinstance(opening, Asked):
        return opening.tool
    return ""


def _awaiting(sheet: Sheet, command: Emitted) -> list[InterruptRow]:
    """The open interrupts that wait for this event."""
    found: list[InterruptRow] = []
    for interrupt in sheet.open_interrupts():
        if interrupt.event and local_event(interrupt.event) == command.event:
            found.append(interrupt)
    return found


def admit(sheet: Sheet, row: RunRow, command: Command) -> None:
    """Whether a person's command still applies, from rows alone; raises with the reason if not."""
    name = VERBS[type(command).__name__]
    if isinstance(command, Decided):
        _admit_decision(sheet, row, command)
    if isinstance(command, Emitted):
        _admit_event(sheet, row, command)
    if isinstance(command, Revoked):
        from adjourn.stores.rules.standing_decisions import admit_revocation

        admit_revocation(sheet, row, command)
    if isinstance(command, Accepted):
        why = "only a person can accept a changed agent"
        check_outsider(command.by, (row.id, row.program), why)
    if after(row.status, command) is None:
        resuming = isinstance(command, Resumed)
        if resuming and row.status == Status.WAITING:
            advice = "answer its interrupts instead"
        else:
            advice = ""
        if resuming and row.status == Status.READY:
            why = "it is not paused"
        else:
            why = ""
        raise Refused(row.id, name, row.status.value, why, advice=advice)


def _admit_decision(sheet: Sheet, row: RunRow, command: Decided) -> None:
    found = sheet.interrupt(command.i)
    if found is None:
        raise UnknownInterrupt(
            public_id(row.id, command.i), [public_id(row.id, x.i) for x in sheet.open_interrupts()]
        )
    shown = public_id(row.id, command.i)
    machines = (row.id, row.program, *getattr(sheet.opening(found.seq), "under", ()))
    check_outsider(command.by, machines)
    if found.state == "decided":
        raise AlreadyDecided(shown, found.by)
    if found.state != "open":
        raise InterruptClosed(shown, _why_closed(row, found))
    if found.expires and sheet.now >= found.expires:
        raise InterruptClosed(shown, "it expired")
    agrees = command.verdict == "approve" or (
        found.kind == "in_doubt" and command.value == {"choice": "run"}
    )
    looked = agrees or is_instead(command)
    if (command.digest or looked) and found.digest and command.digest != found.digest:
        raise StaleDecision(shown, command.digest, found.digest)
    _admit_shape(shown, found, command)
    check_sealed(sheet, row.id, command)
    if agrees and is_known(command.by, found.votes):
        raise AlreadyDecided(shown, command.by, "approved")
    if row.status in (Status.CANCELLING, Status.STUCK) and not found.undoing:
        raise Refused(row.id, "answer", row.status.value, advice="only its undo can be decided")
    if found.kind in OF_CALLS:
        _admit_approver(sheet, row, found, command)
    if found.kind == "approval" and command.value is not None:
        from adjourn.stores.rules.standing_decisions import admit_terms

        admit_terms(sheet, row, found, command)
    goes_on = command.verdict == "approve" or is_instead(command)
    if goes_on or found.kind in TROUBLE:
        admit_under_halt(sheet, row, found)


def _why_closed(row: RunRow, found: InterruptRow) -> str:
    if found.state == "event":
        sender = f", from {found.by!r}" if found.by else ""
        return f"the event it was waiting for arrived{sender}"
    if found.state != "void":
        return found.state
    if row.status in ENDED:
        return f"the run is {row.status.value}"
    return "it no longer applies"


_TAKES: dict[str, tuple[str, ...]] = {
    "approval": ("approve", "deny", "instead"),
    "question": ("value", "dismiss"),
}
"""The decisions that a kind of interrupt takes; every other kind takes a choice."""


def _admit_shape(shown: str, found: InterruptRow, command: Decided) -> None:
    """What no fold could take in is not recorded. Whether an answer fits its schema is for its
    sender to check."""
    if found.kind in NOT_FOR_PEOPLE:
        raise InvalidAnswer(
            f"interrupt {bare(shown)} is waiting for {'time' if found.kind == 'timer' else 'an event'}"
        )
    if word_of(command) not in _TAKES.get(found.kind, ("value",)):
        wants = "an approval or a denial" if found.kind == "approval" else "a value"
        raise InvalidAnswer(
            f"interrupt {bare(shown)} ({found.kind}) must be answered with {wants}, got {command.verdict!r}"
        )
    if is_instead(command) and (set(chosen(command)) != {INSTEAD} or command.edit is not None):
        raise InvalidAnswer(
            f"interrupt {bare(shown)}: a result instead of the call must be given alone, "
            "without an edit or other fields"
        )
    if command.edit is not None and found.approvers > 1:
        raise InvalidAnswer(
            f"interrupt {shown!r} needs {found.approvers} approvers, who must agree to the same arguments: "
            "approve them as they are, or deny with a note"
        )
    if found.kind in ("approval", "question"):
        return
    value = command.value
    if not isinstance(value, dict) or "choice" not in value:
        raise InvalidAnswer(
            f"interrupt {shown!r} ({found.kind}) takes {{'choice': …}}, not {value!r:.80}"
        )
    if type(value.get("amount", 0)) not in (int, float):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        raise InvalidAnswer(
            f"interrupt {shown!r}: amount must be a number, got {value['amount']!r:.80}"
        )


def _admit_approver(sheet: Sheet, row: RunRow, found: InterruptRow, command: Decided) -> None:
    """Who may agree: whoever fills a seat that is empty. That something happened, and what a result
    is, is for one of them to say; anybody may refuse."""
    asked = sheet.opening(found.seq)
    assert isinstance(asked, Asked)
    if command.edit is not None and not may_edit(asked):
        raise InvalidAnswer(
            f"interrupt {public_id(row.id, found.i)!r}: these arguments cannot be changed: a "
            "rule says so, or the call has begun",
            advice="approve it as it is, or deny it with a note",
        )
    if is_instead(command) and not may_replace(asked):
        raise InvalidAnswer(
            f"interrupt {public_id(row.id, found.i)!r}: a rule does not allow a result instead "
            "of this call",
            advice="approve it as it is, or deny it with a note",
        )
    happened = chosen(command).get("choice") == "happened" or is_instead(command)
    gate, agrees = gate_of(asked), says_yes(asked, command)
    if not gate or not (agrees or happened):
        return
    vote, shaped = Vote(command.by, command.groups), frozenset(row.requesters)
    if not any(fits(slot, vote, shaped) for slot in gate):
        raise NotAllowed(_why_not(sheet, row, gate, vote, shaped))
    if not agrees:
        return
    votes = votes_of(sheet, found)
    if not adds(gate, votes, vote, shaped):
        empty: list[str] = []
        for slot, by in seated(gate, votes, shaped):
            if by is None:
                empty.append(" or ".join(slot.groups) or "any other person")
        free = ", ".join(empty)
        raise NotAllowed(f"{command.by!r} has no open place to fill; still needed: {free}")
    if command.edit is not None and not is_filled(gate, [vote], shaped):
        raise InvalidAnswer(
            f"interrupt {public_id(row.id, found.i)!r} needs several approvers for the same "
            "arguments: approve them as they are, or deny with a note"
        )


def _why_not(
    sheet: Sheet, row: RunRow, gate: Sequence[ApprovalSlot], vote: Vote, shaped: frozenset[str]
) -> str:
    groups = sorted(set(chain.from_iterable(slot.groups for slot in gate)))
    if groups and not set(groups) & set(vote.groups):
        return f"{vote.by!r} is not in a group that can approve this: {', '.join(groups)}"
    if not shaped:
        return (
            "the requester of this run is unknown, so it cannot be checked that the approver "
            "is another person: start the run with by="
        )
    first = parse(sheet.record(1))
    if isinstance(first, Started) and first.by == vote.by:
        did = "started"
    else:
        did = "shaped (by a message, an answer or an edit)"
    return f"{vote.by!r} {did} this run and cannot approve it; another approver must decide"


def _admit_event(sheet: Sheet, row: RunRow, command: Emitted) -> None:
    """An event that answers a question is somebody's answer to it."""
    for found in _awaiting(sheet, command):
        if found.kind != "question":
            continue
        shown = public_id(row.id, found.i)
        if not command.decides:
            raise NotAllowed(
                f"the event {command.event!r} answers {bare(shown)}: only a person who can "
                "decide can send it"
            )
        check_outsider(command.by, (row.id, row.program))
        if found.expires and sheet.now >= found.expires:
            raise InterruptClosed(shown, "it expired")
        check_sealed(sheet, row.id, command)
