"""The journal and its rows: appending a record, keeping the rows equal to the fold."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.approval_votes import Vote, gate_of, is_filled
from adjourn.core.authority import GOING_ON, goes_on
from adjourn.core.decision import says_yes
from adjourn.core.files import MARK, carried_files
from adjourn.core.ids import CLOSE, local_event
from adjourn.core.interrupt_kind import OF_CALLS, InterruptState
from adjourn.core.record_codec import dump
from adjourn.core.record_parts import RINGS
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Chapter,
    Claimed,
    Closed,
    Decided,
    Disowned,
    Emitted,
    Forked,
    Intended,
    Parked,
    PauseAsked,
    Replied,
    Restored,
    Resumed,
    Returned,
    Revoked,
    RunCancelled,
    RunCompleted,
    Said,
    Started,
    Suspended,
    Upgraded,
)
from adjourn.core.requesters import shapes
from adjourn.core.standing_decision import under
from adjourn.core.status import Status, after
from adjourn.errors import Refused
from adjourn.stores.audit import chain
from adjourn.stores.rules.audit_lines import UNASKED, is_unasked
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.outbox import TOLD
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.signatures import taken_back
from adjourn.stores.rules.votes import votes_of
from adjourn.stores.run_row import MARKED, RunRow, note_worker, stored

if TYPE_CHECKING:
    pass

VERBS: dict[str, str] = {
    "Decided": "answer",
    "PauseAsked": "pause",
    "Resumed": "resume",
    "CancelAsked": "cancel",
    "Said": "say to",
    "Emitted": "emit to",
    "Forked": "fork",
    "Accepted": "accept",
    "Revoked": "revoke",
}


def append(sheet: Sheet, row: RunRow, epoch: int, record: AnyRecord, body: str = "") -> int:
    """Append, move the status by the table, and keep the rows equal to the fold. `body`: its line,
    if that is known."""
    status = after(row.status if row.seq else None, record)
    if status is None:
        raise Refused(
            row.id,
            VERBS.get(type(record).__name__, f"record {type(record).__name__} in"),
            row.status.value,
        )
    body = body or dump(record)
    row.seq += 1
    row.status = status
    if MARK in body:
        keep_files(sheet, record)
    if len(row.salt) == MARKED:
        note_worker(row)
        body = stored(row.salt, body)
    row.head = chain(row.head, body)
    row.updated_at = record.at
    sheet.append(row.seq, epoch, body, row.head)
    _index(sheet, row, record)
    if type(record) in _SHAPING:
        _shape(sheet, row, record)
    return row.seq


def keep_files(sheet: Sheet, record: AnyRecord) -> None:
    """The bytes that a record's references still carry are written with it."""
    for name, ref in carried_files(record).items():
        sheet.put_blobs({name: ref.data or b""})
        sheet.files.append(ref)


class Needs(msgspec.Struct, gc=False):
    """What appending some records looks at; see `ReadRequest`. `whole`: all records and all
    interrupts. `told`: others may have to be told of them. `audited`: one of them is a line of the
    audit."""

    opens: bool = False
    named: tuple[str, ...] = ()
    lives: tuple[str, ...] = ()
    openings: bool = False
    whole: bool = False
    told: bool = False
    audited: bool = False


def needs(records: Iterable[AnyRecord]) -> Needs:
    """What a worker's records look at when they are appended; the counterpart of `_index`."""
    need = Needs()
    for record in records:
        if type(record) not in _NOTICED:
            continue
        if type(record) in TOLD:
            need.told = True
        need.audited = need.audited or is_unasked(record)
        if call := goes_on(record):
            need.lives += (call,)
        if type(record) in _LOOKING:
            _looks(need, record)
    return need


_LOOKING = frozenset(
    {
        Intended,
        Decided,
        Asked,
        Suspended,
        Returned,
        Closed,
        RunCompleted,
        RunCancelled,
        Disowned,
        Restored,
        Upgraded,
    }
)


_NOTICED = _LOOKING | TOLD | UNASKED | GOING_ON
"""Of all others nothing is looked at."""


def _looks(need: Needs, record: AnyRecord) -> None:
    match record:
        case Intended():
            if record.grant:
                need.named += tuple(filter(None, (record.grant, record.standing)))
                need.openings = True
        case Suspended() | Returned():
            need.opens = need.opens or bool(record.emits)
        case Decided():
            need.named += tuple(filter(None, (record.i, under(record))))
            need.openings = need.audited = True
        case Asked():
            need.named += record.carries
        case Closed():
            need.named += (record.i,)
        case RunCompleted() | RunCancelled():
            need.opens = True
        case Disowned() | Restored():
            need.whole = True
        case Upgraded():
            need.whole = need.audited = True
        case _:
            pass


_SHAPING = (Started, Decided, Said, Emitted, Resumed, Forked)


def _shape(sheet: Sheet, row: RunRow, record: AnyRecord) -> None:
    """Who shaped the run; as its fold has it."""
    about = sheet.interrupt(record.i) if isinstance(record, Decided) else None
    by = shapes(record, about.kind if about else "")
    more = record.requesters if isinstance(record, Started | Forked) else ()
    found = {*row.requesters, *more, *((by,) if by else ())}
    if len(found) != len(row.requesters):
        row.requesters = tuple(sorted(found))


def _index(sheet: Sheet, row: RunRow, record: AnyRecord) -> None:
    """Change the rows as a record says. Most records change none."""
    # compared first: an isinstance of every record would cost more than the rest
    kind = type(record)
    if kind is Replied or kind is Started or (isinstance(record, Intended) and not record.grant):
        return
    if isinstance(record, Returned) and not record.emits:
        return
    if call := goes_on(record):
        for found in sheet.lived_on(call):
            found.lives = ""
            sheet.put_interrupt(found)
    change = _CHANGES.get(kind)
    if change is not None:
        change(sheet, row, record)


def _awake(_: Sheet, row: RunRow, __: Claimed | PauseAsked) -> None:
    row.wake_at, row.blocked = 0.0, ()


def _parked(sheet: Sheet, row: RunRow, record: Parked) -> None:
    sheet.touch(row.id, record.at)
    row.wake_at, row.blocked = record.wake_at, record.blocked
    row.worker = ""


def _ended(sheet: Sheet, row: RunRow, record: RunCompleted | RunCancelled) -> None:
    sheet.touch(row.id, record.at)
    for found in sheet.open_interrupts():
        close(sheet, row, found, "void")
    row.stopped = isinstance(record, RunCompleted) and bool(record.stopped)
    row.worker, row.wake_at, row.blocked = "", 0.0, ()


def _asked(sheet: Sheet, row: RunRow, record: Asked) -> None:
    opened = _opened(row.seq, record)
    for carried in record.carries:
        if old := sheet.interrupt(carried):
            opened.votes |= old.votes
    _open(sheet, row, opened)


def _suspended(sheet: Sheet, row: RunRow, record: Suspended) -> None:
    if record.emits:
        _resolve(sheet, row, {name for name, *_ in record.emits})
    _open(sheet, row, _opened(row.seq, record))


def _open(sheet: Sheet, row: RunRow, opened: InterruptRow) -> None:
    sheet.put_interrupt(opened)
    row.opens += 1
    row.errors += opened.kind == "error"


def _lives_on(sheet: Sheet, _: RunRow, record: Intended) -> None:
    if found := sheet.interrupt(record.grant):
        found.lives = record.call
        sheet.put_interrupt(found)


def _forked(sheet: Sheet, row: RunRow, record: Forked) -> None:
    row.created_at = record.at  # what stands before it was another run's time
    for found in sheet.open_interrupts():
        if found.kind == "approval" or found.event.startswith(RINGS):
            close(sheet, row, found, "void")
    _end_standing(sheet)
    row.wake_at, row.blocked = 0.0, ()


def _end_standing(sheet: Sheet) -> None:
    """None of the standing decisions that the run has stands any more."""
    for found in sheet.standing_interrupts():
        if found.state == "decided":
            found.state = "void"
            sheet.put_interrupt(found)


def _revoked(sheet: Sheet, _: RunRow, record: Revoked) -> None:
    found = sheet.interrupt(record.i)
    if found is not None and found.state == "decided":
        found.state = "revoked"
        sheet.put_interrupt(found)


def _disowned(sheet: Sheet, row: RunRow, _: Disowned) -> None:
    taken_back(sheet, row)


def _closed(sheet: Sheet, row: RunRow, record: Closed) -> None:
    if found := sheet.interrupt(record.i):
        close(sheet, row, found, record.why)


def _said(sheet: Sheet, row: RunRow, record: Said) -> None:
    if not record.abandon:
        return
    for found in sheet.open_interrupts():
        if found.kind == "question":
            close(sheet, row, found, "abandoned", record.by)


def _returned(sheet: Sheet, row: RunRow, record: Returned) -> None:
    _resolve(sheet, row, {name for name, *_ in record.emits})


def _emitted(sheet: Sheet, row: RunRow, record: Emitted) -> None:
    closing = row.kind == "flow" and record.event == CLOSE and record.value == {"cancel": True}
    for found in sheet.open_interrupts():
        if closing or (found.event and local_event(found.event) == record.event):
            close(sheet, row, found, "void" if closing else "event", record.by)


def _upgraded(_: Sheet, row: RunRow, record: Upgraded) -> None:
    """It comes with a checkpoint: somebody has to look again."""
    if row.status in (Status.WAITING, Status.STUCK):
        row.wake_at = record.at


def _chapter(_: Sheet, row: RunRow, record: Chapter) -> None:
    if record.state:
        row.chapter = row.seq


def _restore(sheet: Sheet, row: RunRow, record: Restored) -> None:
    row.epoch, row.worker = record.epoch, ""
    _end_standing(sheet)
    if row.status == Status.PAUSED:
        row.wake_at, row.blocked = 0.0, ()
        for found in sheet.open_interrupts():
            if found.kind == "approval":
                close(sheet, row, found, "void")


def _opened(seq: int, record: Asked | Suspended) -> InterruptRow:
    asked = isinstance(record, Asked)
    return InterruptRow(
        record.i,
        seq,
        record.kind,
        digest=record.digest if asked else "",
        event="" if asked else record.event,
        expires=record.expires,
        undoing=asked and record.undoing,
        approvers=record.approvers if asked else 1,
        rank=0 if asked and record.escalated else 1,
        opened_at=record.at,
        type=record.kind if asked else record.type,
        tool=record.tool if asked and record.call and record.kind in OF_CALLS else "",
        groups=record.groups if asked else (),
    )


def _resolve(sheet: Sheet, row: RunRow, events: set[str]) -> None:
    """Close what waits for these events of the run's own."""
    for found in sheet.open_interrupts() if events else []:
        if found.event and found.event in events:
            close(sheet, row, found, "event")


def _vote(sheet: Sheet, row: RunRow, record: Decided) -> None:
    found = sheet.interrupt(record.i)
    if found is None:
        return
    if found.kind in OF_CALLS:
        asked = sheet.opening(found.seq)
        assert isinstance(asked, Asked)
        if says_yes(asked, record):
            known = votes_of(sheet, found)
            found.votes[record.by] = row.seq
            votes = [*known, Vote(record.by, record.groups)]
            if not is_filled(gate_of(asked), votes, frozenset(row.requesters)):
                sheet.put_interrupt(found)
                return
        else:
            found.votes = {}
    if isinstance(record.value, dict) and found.kind == "approval":
        from adjourn.stores.rules.standing_decisions import count_use

        count_use(sheet, found, record)
    close(sheet, row, found, "decided", record.by)


def close(
    sheet: Sheet, row: RunRow, found: InterruptRow, state: InterruptState, by: str = ""
) -> None:
    if found.state == "open":
        row.opens -= 1
        row.errors -= found.kind == "error"
    found.state, found.by = state, by
    sheet.put_interrupt(found)


_CHANGES: dict[type[Any], Callable[[Sheet, RunRow, Any], None]] = {
    Claimed: _awake,
    PauseAsked: _awake,
    Parked: _parked,
    RunCompleted: _ended,
    RunCancelled: _ended,
    Asked: _asked,
    Suspended: _suspended,
    Decided: _vote,
    Intended: _lives_on,
    Forked: _forked,
    Revoked: _revoked,
    Disowned: _disowned,
    Closed: _closed,
    Said: _said,
    Returned: _returned,
    Emitted: _emitted,
    Restored: _restore,
    Upgraded: _upgraded,
    Chapter: _chapter,
}
"""How a record of each kind changes the rows of its run."""
