"""The rules of every store, written once over a few row primitives, so that no two stores can differ."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from adjourn.core.digest import digest
from adjourn.core.halt import check_scope, halted, scopes
from adjourn.core.interrupt import Interrupt, local_event, public_id, view
from adjourn.core.records import (
    AnyRecord,
    Asked,
    CancelAsked,
    Cancelled,
    Claimed,
    Closed,
    Command,
    Completed,
    Decided,
    Emitted,
    Fact,
    Intended,
    Move,
    Parked,
    PauseAsked,
    Replied,
    Resumed,
    Returned,
    Said,
    Started,
    Suspended,
    dump,
    parse,
)
from adjourn.core.state import input_text
from adjourn.core.status import CANCELS, ENDED, Status, after
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    AlreadyResumed,
    Halted,
    InterruptClosed,
    Invalid,
    InvalidAnswer,
    LeaseBusy,
    LeaseLost,
    NotAllowed,
    Refused,
    RequestReused,
    RunExists,
    StaleDecision,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.stores.audit import audited, chain
from adjourn.stores.outbox import OutboxTx, tell, tell_halt
from adjourn.stores.store import Committed, Filter, Halt, Lease, RunRow

R = TypeVar("R", bound=AnyRecord)

VERBS: dict[str, str] = {
    "Decided": "answer", "PauseAsked": "pause", "Resumed": "resume", "CancelAsked": "cancel", "Said": "say to", "Emitted": "emit to",
}  # fmt: skip


@dataclass(slots=True)
class InterruptRow:
    """An interrupt as a row: people's compare-and-set point and the inbox's index."""

    i: str
    seq: int
    kind: str
    state: str = "open"
    digest: str = ""
    event: str = ""
    expires: float = 0.0
    undoing: bool = False
    approvers: int = 1
    by: str = ""
    votes: list[str] = field(default_factory=list[str])


class Tx(OutboxTx, Protocol):
    """The primitives a store supplies, inside one transaction. Writes are undone if the transaction's function raises."""

    def run(self, id: str) -> RunRow | None: ...
    def insert(self, row: RunRow) -> None: ...
    def save(self, row: RunRow) -> None: ...
    def append(self, row: RunRow, seq: int, epoch: int, body: str, head: bytes) -> None: ...
    def tail(self, row: RunRow, after: int) -> list[tuple[int, str]]: ...
    def record(self, row: RunRow, seq: int) -> str: ...
    def interrupt(self, row: RunRow, i: str) -> InterruptRow | None: ...
    def open_interrupts(self, row: RunRow) -> list[InterruptRow]: ...
    def put_interrupt(self, row: RunRow, interrupt: InterruptRow) -> None: ...
    def request(self, row: RunRow, id: str) -> tuple[int, str] | None: ...
    def put_request(self, row: RunRow, id: str, seq: int, body: str) -> None: ...
    def halts(self) -> list[Halt]: ...
    def put_halt(self, halt: Halt) -> None: ...
    def drop_halt(self, scope: str) -> None: ...


def stamped(record: R, now: float) -> R:
    """The record with its time, if it has none yet."""
    if not record.at:
        force_setattr(record, "at", round(now, 3))  # ours alone until it is appended
    return record


def need(tx: Tx, run: str) -> RunRow:
    """The row, or `UnknownRun`."""
    row = tx.run(run)
    if row is None:
        raise UnknownRun(run)
    return row


def create(tx: Tx, now: float, started: Started, rest: Sequence[AnyRecord] = (), origin: str = "") -> bool:
    """See `Store.create`."""
    same = digest(started.kind, started.program, started.input)
    old = tx.run(started.run)
    if old is not None:
        if old.input_digest != same:
            raise RunExists(started.run)
        return False
    started = stamped(msgspec.structs.replace(started), now)
    title = input_text(started.input)[:200]
    row = RunRow(
        started.run, started.kind, started.program, started.session, dict(started.labels), title, same,
        created_at=started.at, updated_at=started.at,
    )  # fmt: skip
    tx.insert(row)
    verb = "fork" if started.forked_from else "import" if rest else "start"
    of = {"of": started.forked_from} if started.forked_from else {}
    audited(tx, now, row.id, {"verb": verb, "by": started.by, "from": origin, "seq": 1 + len(rest), **of})
    for record in (started, *rest):
        _append(tx, row, 0, record if record.at else stamped(msgspec.structs.replace(record), now))
    if rest:  # an imported journal belongs to nobody here, and its epochs are over
        row.worker, row.lease_until = "", 0.0
        row.epoch = max([0, *(x.epoch for x in rest if isinstance(x, Claimed))])
    tx.save(row)
    if rest and tx.endpoints():  # what happened was told elsewhere, but what is open waits for people here
        tell(tx, row, [opened_by(tx, row, x) for x in tx.open_interrupts(row)])
    return True


def _append(tx: Tx, row: RunRow, epoch: int, record: AnyRecord) -> int:
    """Append, move the status by the table, and keep the rows equal to the fold."""
    status = after(row.status if row.seq else None, record)
    if status is None:
        raise Refused(row.id, VERBS.get(type(record).__name__, f"record {type(record).__name__} in"), row.status.value)
    body = dump(record)
    row.seq += 1
    row.status = status
    row.head = chain(row.head, body)
    row.updated_at = record.at
    tx.append(row, row.seq, epoch, body, row.head)
    _index(tx, row, record)
    return row.seq


def _index(tx: Tx, row: RunRow, record: AnyRecord) -> None:
    kind = type(record)
    if kind is Replied or kind is Intended or (isinstance(record, Returned) and not record.emits):
        return  # most records, and they change no row
    match record:
        case Asked() | Suspended():
            if isinstance(record, Suspended) and record.emits:
                _resolve(tx, row, {e[0] for e in record.emits})
            tx.put_interrupt(row, _opened(row.seq, record))
            row.opens += 1
            row.errors += record.kind == "error"
        case Decided():
            _vote(tx, row, record)
        case Closed():
            if found := tx.interrupt(row, record.i):
                _close(tx, row, found, record.why)
        case Said():
            if record.abandon:
                for found in tx.open_interrupts(row):
                    if found.kind == "question":
                        _close(tx, row, found, "abandoned", record.by)
        case Returned():
            _resolve(tx, row, {e[0] for e in record.emits})
        case Emitted():
            closing = row.kind == "flow" and record.event == "@close" and record.value == {"cancel": True}
            for found in tx.open_interrupts(row):
                if closing or (found.event and local_event(found.event) == record.event):
                    _close(tx, row, found, "void" if closing else "event", record.by)
        case Parked():
            row.wake_at, row.blocked = record.wake_at, record.blocked
            row.worker, row.lease_until = "", 0.0
        case Claimed() | PauseAsked():
            row.wake_at, row.blocked = 0.0, ()
        case Completed() | Cancelled():
            for found in tx.open_interrupts(row):
                _close(tx, row, found, "void")
            row.stopped = isinstance(record, Completed) and bool(record.stopped)
            row.worker, row.lease_until, row.wake_at, row.blocked = "", 0.0, 0.0, ()
        case _:
            pass


def _opened(seq: int, record: Asked | Suspended) -> InterruptRow:
    asked = isinstance(record, Asked)
    return InterruptRow(
        record.i, seq, record.kind,
        digest=record.digest if asked else "",
        event="" if asked else record.event,
        expires=record.expires,
        undoing=asked and record.undoing,
        approvers=record.approvers if asked else 1,
    )  # fmt: skip


def _resolve(tx: Tx, row: RunRow, events: set[str]) -> None:
    """Close what waits for these events of the run's own."""
    for found in tx.open_interrupts(row) if events else []:
        if found.event and found.event in events:
            _close(tx, row, found, "event")


def _vote(tx: Tx, row: RunRow, record: Decided) -> None:
    found = tx.interrupt(row, record.i)
    if found is None:
        return
    if record.verdict == "approve" and record.by not in found.votes:
        found.votes.append(record.by)
        if len(found.votes) < found.approvers:
            tx.put_interrupt(row, found)
            return
    _close(tx, row, found, "decided", record.by)


def _close(tx: Tx, row: RunRow, found: InterruptRow, state: str, by: str = "") -> None:
    if found.state == "open":
        row.opens -= 1
        row.errors -= found.kind == "error"
    found.state, found.by = state, by
    tx.put_interrupt(row, found)


def acquire(tx: Tx, now: float, run: str, worker: str, ttl: float, after: int = 0, replaces: str = "") -> Lease | None:
    """See `Store.acquire`."""
    row = need(tx, run)
    halts = frozenset(h.scope for h in tx.halts())
    if row.worker and row.lease_until > now and row.worker != replaces:
        raise LeaseBusy(f"run {run!r} is being advanced by {row.worker!r}")
    if not row.due(now, halts):
        return None
    row.epoch += 1
    row.worker, row.lease_until = worker, now + ttl
    _append(tx, row, row.epoch, stamped(Claimed(epoch=row.epoch, worker=worker), now))
    tx.save(row)
    records = [(seq, parse(body)) for seq, body in tx.tail(row, after)]
    return Lease(run, worker, row.epoch, row.seq, records, halts)


def _held(tx: Tx, lease: Lease) -> RunRow:
    row = need(tx, lease.run)
    if row.epoch != lease.epoch:
        raise LeaseLost(f"run {lease.run!r} is at epoch {row.epoch}; {lease.worker!r} had {lease.epoch}")
    return row


def renew(tx: Tx, now: float, lease: Lease, ttl: float) -> None:
    """See `Store.renew`."""
    row = _held(tx, lease)
    if row.worker == lease.worker:
        row.lease_until = now + ttl
        tx.save(row)


def release(tx: Tx, lease: Lease) -> None:
    """See `Store.release`."""
    row = tx.run(lease.run)
    if row is not None and row.epoch == lease.epoch and row.worker == lease.worker:
        row.worker, row.lease_until = "", 0.0
        tx.save(row)


def commit(
    tx: Tx, now: float, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], seen: int, ttl: float
) -> Committed:
    """See `Store.commit`."""
    row = _held(tx, lease)
    if row.status in ENDED:
        raise Refused(lease.run, "commit to", row.status.value)
    unseen = [(seq, parse(body)) for seq, body in tx.tail(row, seen)] if row.seq > seen else []
    halts = frozenset(h.scope for h in tx.halts())
    clean = not unseen and not (halts and any(halted(m, row.program, halts) for m in moves))
    if row.worker == lease.worker:
        row.lease_until = now + ttl
    appended = (*facts, *moves) if clean else facts
    for record in appended:
        _append(tx, row, lease.epoch, stamped(record, now))
    tx.save(row)
    tell(tx, row, appended)
    return Committed(unseen, row.seq, clean, halts)


class Failed(msgspec.Struct, frozen=True):
    """A refusal that is itself recorded: the transaction commits, then the error is raised."""

    error: AdjournError


def deliver(
    tx: Tx, now: float, run: str, command: Command, request: str = "", origin: str = "", at: int = 0
) -> int | Failed:
    """See `Store.deliver`."""
    name = VERBS[type(command).__name__].split()[0]
    what = {"verb": name, "by": command.by, "from": origin, **_told(command)}
    row = tx.run(run)
    if row is None:
        audited(tx, now, "", {**what, "refused": f"no run {run!r:.80}"})
        return Failed(UnknownRun(run))
    try:  # a copy: the caller's may be sent again; and what is acknowledged must be readable for ever
        body = dump(msgspec.structs.replace(command, at=0.0))
        command = cast(Command, parse(body))
    except (msgspec.MsgspecError, TypeError, ValueError) as e:
        audited(tx, now, run, {"verb": name, "from": origin, "refused": "it cannot be recorded"})
        return Failed(Invalid(f"the command cannot be recorded: {e}"))
    if request and (old := tx.request(row, request)) is not None:
        if old[1] != digest(body):
            audited(tx, now, run, {**what, "refused": "the request id was used for another command"})
            return Failed(RequestReused(request))
        return old[0]
    try:
        if at and row.seq != at:
            raise AlreadyResumed(run, at, row.seq, row.status.value)
        if isinstance(command, CancelAsked) and row.status in CANCELS:
            seq = row.seq
        else:
            admit(tx, row, command, now)
            seq = row.seq + 1
    except AdjournError as e:
        audited(tx, now, run, {**what, "refused": str(e)})
        return Failed(e)
    if request:
        tx.put_request(row, request, seq, digest(body))
    audited(tx, now, run, {**what, "seq": seq})
    if seq > row.seq:
        _append(tx, row, 0, stamped(command, now))
        tx.save(row)
    return seq


def _told(command: Command) -> dict[str, Any]:
    """What of a command belongs in the audit: what was decided and why, not what was said."""
    match command:
        case Decided():
            return {"interrupt": command.i, "verdict": command.verdict, "note": command.note, "digest": command.digest}
        case PauseAsked() | CancelAsked():
            return {"reason": command.reason}
        case _:
            return {}


def admit(tx: Tx, row: RunRow, command: Command, now: float) -> None:
    """Whether a person's command still applies, from rows alone; raises with the reason if not."""
    name = VERBS[type(command).__name__]
    if isinstance(command, Decided):
        _admit_decision(tx, row, command, now)
    if after(row.status, command) is None:
        hints = {
            Status.WAITING: "answer its interrupts instead" if isinstance(command, Resumed) else "",
            Status.READY: "it is not paused" if isinstance(command, Resumed) else "",
            Status.CANCELLING: "it is being cancelled",
            Status.STUCK: "its cancel waits for a person",
        }
        hint = "it has ended" if row.status in ENDED else hints.get(row.status, "")
        raise Refused(row.id, name, row.status.value, hint)


def _admit_decision(tx: Tx, row: RunRow, command: Decided, now: float) -> None:
    found = tx.interrupt(row, command.i)
    if found is None:
        raise UnknownInterrupt(public_id(row.id, command.i), [public_id(row.id, x.i) for x in tx.open_interrupts(row)])
    shown = public_id(row.id, command.i)
    if command.by.startswith("@") or command.by in (row.program, *getattr(opened_by(tx, row, found), "under", ())):
        raise NotAllowed(f"{command.by!r} is a run or its agent: people decide, not those who ask")
    if found.state == "decided":
        raise AlreadyDecided(shown, found.by)
    if found.state != "open":
        ended = f"the run is {row.status.value}" if row.status in ENDED else "it no longer applies"
        raise InterruptClosed(shown, {"void": ended, "event": "its event came"}.get(found.state, found.state))
    if found.expires and now >= found.expires:
        raise InterruptClosed(shown, "it expired")
    if command.digest and found.digest and command.digest != found.digest:
        raise StaleDecision(shown, command.digest, found.digest)
    _admit_shape(shown, found, command)
    if command.verdict == "approve" and command.by in found.votes:
        raise AlreadyDecided(shown, command.by, "approved already")
    if row.status in (Status.CANCELLING, Status.STUCK) and not found.undoing:
        raise Refused(row.id, "answer", row.status.value, "it is being cancelled; only its undo can be decided")
    if found.kind == "approval":
        _admit_approver(tx, row, found, command)
    if command.verdict == "approve" or found.kind in ("in_doubt", "error", "limit", "undo"):
        _admit_under_halt(tx, row, found)


def _admit_shape(shown: str, found: InterruptRow, command: Decided) -> None:
    """What no fold could take in is not recorded. Whether an answer fits its schema is for its sender to check."""
    if found.kind in ("timer", "event"):
        raise InvalidAnswer(f"interrupt {shown!r} waits for {'time' if found.kind == 'timer' else 'an event'}")
    if (found.kind == "approval") == (command.verdict == "value"):
        wants = "an approval or a denial" if found.kind == "approval" else "a value"
        raise InvalidAnswer(f"interrupt {shown!r} ({found.kind}) takes {wants}, not {command.verdict!r}")
    if command.edit is not None and found.approvers > 1:
        raise InvalidAnswer(
            f"interrupt {shown!r} needs {found.approvers} approvers, who must agree to the same arguments: "
            "approve them as they are, or deny with a note"
        )
    if found.kind in ("approval", "question"):
        return
    value = command.value
    if not isinstance(value, dict) or "choice" not in value:
        raise InvalidAnswer(f"interrupt {shown!r} ({found.kind}) takes {{'choice': …}}, not {value!r:.80}")
    if type(value.get("amount", 0)) not in (int, float):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        raise InvalidAnswer(f"interrupt {shown!r}: amount is a number, not {value['amount']!r:.80}")


def _admit_approver(tx: Tx, row: RunRow, found: InterruptRow, command: Decided) -> None:
    """Who may agree: a member of one of the groups (of each rule that asks), and not whoever asked for the run.
    Anybody may refuse."""
    opening = opened_by(tx, row, found)
    if command.verdict != "approve" or not isinstance(opening, Asked):
        return
    for groups in opening.group_sets or ((opening.groups,) if opening.groups else ()):
        if not set(groups) & set(command.groups):
            raise NotAllowed(f"{command.by!r} is in none of the groups that may approve this: {', '.join(groups)}")
    if opening.not_requester:
        first = parse(tx.record(row, 1))
        if isinstance(first, Started) and first.by == command.by:
            raise NotAllowed(f"{command.by!r} started this run and may not approve it; somebody else must")


def _admit_under_halt(tx: Tx, row: RunRow, found: InterruptRow) -> None:
    """What lets work go on is refused while that work is halted; a denial is not."""
    halts = {h.scope: h for h in tx.halts()}
    if not halts:
        return
    opening = opened_by(tx, row, found)
    asked = isinstance(opening, Asked)
    for scope in sorted(scopes((row.program, *(opening.under if asked else ())), opening.tool if asked else "")):
        if scope in halts:
            raise Halted(scope, halts[scope].reason)


def opened_by(tx: Tx, row: RunRow, found: InterruptRow) -> Asked | Suspended:
    """The record that opened an interrupt."""
    record = parse(tx.record(row, found.seq))
    assert isinstance(record, Asked | Suspended)
    return record


def halt(tx: Tx, now: float, scope: str, by: str, reason: str, lift: bool, origin: str = "") -> list[Halt]:
    """See `Store.halt`."""
    if scope:
        check_scope(scope)
        what = {"verb": "unhalt" if lift else "halt", "by": by, "from": origin, "scope": scope, "reason": reason}
        audited(tx, now, "", what)
        tell_halt(tx, now, scope, by, reason, lift)
        if lift:
            tx.drop_halt(scope)
        elif scope not in {h.scope for h in tx.halts()}:
            tx.put_halt(Halt(scope, by, reason, now))
    return tx.halts()


def visible(row: RunRow, found: InterruptRow, now: float) -> bool:
    """Whether a person could decide it now."""
    if found.state != "open" or found.kind in ("timer", "event") or 0 < found.expires <= now:
        return False
    return found.undoing if row.status in (Status.CANCELLING, Status.STUCK) else row.status not in ENDED


def shown(run: str, seq: int, body: str) -> Interrupt:
    """An inbox item from the record that opened it."""
    record = parse(body)
    assert isinstance(record, (Asked, Suspended))  # a union would be made anew for every item
    return view(run, seq, record)


def fits(row: RunRow, filter: Filter, now: float) -> bool:
    """Whether a run belongs in a list."""
    return (
        (not filter.status or filter.status in (row.view(now), row.status.value))
        and (not filter.run or row.id == filter.run)
        and (not filter.program or row.program == filter.program)
        and (not filter.session or row.session == filter.session)
        and (filter.label is None or row.labels.get(filter.label[0]) == filter.label[1])
        and (not filter.text or filter.text.lower() in f"{row.title} {row.id} {row.program}".lower())
        and (not filter.since or row.created_at >= filter.since)
        and (not filter.until or row.created_at <= filter.until)
        and (not filter.changed or row.updated_at >= filter.changed)
    )
