"""Notes on items of the inbox: who may see them later, to whom they are given, what was said."""

from typing import Any

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.codec import is_finite
from adjourn.core.ids import public_id
from adjourn.core.records import Asked
from adjourn.errors import (
    AdjournError,
    InterruptClosed,
    Invalid,
    RequestReused,
    RunErased,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.stores.item_note import BEFORE_EXPIRY, ItemNote
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.names import check_names
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule
from adjourn.stores.run_row import RunRow, keyed_digest

LONGEST = 10_000
"""Characters of a comment."""


def annotating(run: str, note: ItemNote, request: str, origin: str) -> StoreRule:
    """See `ItemNotes.annotate`."""
    ask = ReadRequest(run, named=(note.interrupt,), openings=True, audit=(run,), request=request)
    return StoreRule(ask, lambda sheet: annotate(sheet, run, note, request, origin))


def annotate(
    sheet: Sheet, run: str, note: ItemNote, request: str, origin: str
) -> float | RecordedRefusal:
    """See `ItemNotes.annotate`."""
    check_names(by=note.by, to=note.to, interrupt=note.interrupt, text=note.text)
    check_names(request_id=request)
    if len(note.text) > LONGEST or (note.verb == "comment" and not note.text.strip()):
        raise Invalid(f"a comment must have 1 to {LONGEST} characters, got {len(note.text)}")
    if not is_finite(note.until):
        raise Invalid(f"until must be a time, got {note.until!r}")
    row = sheet.row
    said: dict[str, Any] = {
        "verb": _verb(note),
        "by": note.by,
        "from": origin,
        "interrupt": note.interrupt,
    }
    if row is None:
        sheet.audited("", {**said, "refused": f"no run {run!r:.80}"})
        return RecordedRefusal(UnknownRun(run))
    if row.erased:
        sheet.audited(run, {**said, "refused": "it was erased"})
        return RecordedRefusal(RunErased(run, row.title))
    found = sheet.interrupt(note.interrupt)
    if found is not None and isinstance(opening := sheet.opening(found.seq), Asked):
        said["tool"] = opening.tool
    wanted = keyed_digest(row.salt, digest("note", *msgspec.structs.astuple(note)))
    old = sheet.request(request) if request else None
    if old is not None and found is not None and old[1] == wanted:
        return _until(sheet, found, note)
    refusal = RequestReused(request) if old is not None else _refusal(sheet, row, found, note)
    if refusal:
        sheet.audited(run, {**said, "refused": str(refusal)})
        return RecordedRefusal(refusal)
    assert found is not None
    until = _until(sheet, found, note)
    said |= _left(found, note, until)
    sheet.audited(run, {name: value for name, value in said.items() if value != ""})
    if request:
        sheet.put_request(request, row.seq, wanted)
    if note.verb != "comment":
        sheet.put_interrupt(found)
    if request or note.verb != "comment":
        sheet.save(row)
    return until


def _left(found: InterruptRow, note: ItemNote, until: float) -> dict[str, Any]:
    """Leave a note on an item; what the audit says of it."""
    if note.verb == "assign":
        found.assigned = note.to
        return {"to": note.to}
    if note.verb == "comment":
        return {"note": note.text}
    found.snoozed = {name: at for name, at in found.snoozed.items() if name != note.by}
    if until:
        found.snoozed[note.by] = until
    return {"until": round(until, 3)}


def _verb(note: ItemNote) -> str:
    """The verb of the audit's line."""
    if note.verb == "assign" and not note.to:
        return "unassign"
    if note.verb == "snooze" and not note.until:
        return "unsnooze"
    return note.verb


def _refusal(
    sheet: Sheet, row: RunRow, found: InterruptRow | None, note: ItemNote
) -> AdjournError | None:
    """Why a note cannot be left."""
    if found is None:
        return UnknownInterrupt(public_id(row.id, note.interrupt), ())
    if note.verb != "comment" and found.state != "open":
        return InterruptClosed(public_id(row.id, note.interrupt), found.state)
    if note.verb == "snooze" and note.until and _until(sheet, found, note) <= sheet.now:
        minutes = BEFORE_EXPIRY / 60
        return Invalid(
            f"an item must be snoozed until a time in the future, at least {minutes:.0f} "
            "minutes before it expires",
            consequence="it is shown as before",
        )
    return None


def _until(sheet: Sheet, found: InterruptRow, note: ItemNote) -> float:
    """When a snoozed item is shown again."""
    if found.expires and note.until:
        return min(note.until, found.expires - BEFORE_EXPIRY)
    return note.until
