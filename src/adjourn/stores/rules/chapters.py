"""Beginning a new chapter of a run: the store makes it itself, of what the run's records mean.

To read a long journal takes a while, in which nobody else could write. So the store reads it before
the transaction, and the rule compares where the chain is: what it was made of is all that there is.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from adjourn.core import chapter
from adjourn.core.record_parts import stamped
from adjourn.core.records import AnyRecord, Chapter
from adjourn.core.state import State
from adjourn.errors import Refused, UnknownRun
from adjourn.stores.rows import parsed
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import check_line
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule

VERB = "begin a chapter in"
LONG = 1_000
"""A journal of so many records is read before the transaction."""


class Draft(msgspec.Struct, frozen=True):
    """What a chapter would say at this place of the chain: `hindrance`, why there can be none."""

    head: bytes
    hindrance: str
    state: dict[str, Any]
    format: int


def drafted(records: Sequence[tuple[int, AnyRecord]], head: bytes) -> Draft:
    """The chapter that can follow these records, which are all of a journal whose chain has this
    head."""
    state = State().fold_all(records)
    if hindrance := chapter.hindrance(state):
        return Draft(head, hindrance, {}, 0)
    return Draft(head, "", chapter.content(state), chapter.format_of(state))


def beginning(run: str, by: str, why: str, origin: str, draft: Draft | None = None) -> StoreRule:
    """See `Store.chapter`. Gives None, and has done nothing, if the journal goes on behind what
    `draft` was made of."""
    if draft:
        ask = ReadRequest(run, audit=(run,))
    else:
        ask = ReadRequest(run, tail=0, audit=(run,))
    return StoreRule(ask, lambda sheet: begin(sheet, run, by, why, origin, draft))


def begin(
    sheet: Sheet, run: str, by: str, why: str, origin: str, draft: Draft | None = None
) -> int | RecordedRefusal | None:
    """See `beginning`."""
    row, what = sheet.row, {"verb": "chapter", "by": by, "from": origin, "reason": why}
    check_line(what)
    if row is None:
        sheet.audited("", {**what, "refused": f"no run {run!r:.80}"})
        return RecordedRefusal(UnknownRun(run))
    if draft is None:
        draft = drafted(parsed(sheet.tail(0)), row.head)
    elif row.head != draft.head:
        return None
    hindrance = draft.hindrance
    if row.worker:
        hindrance = f"{row.worker} is at work in it: wait until it rests, or pause it"
    if hindrance:
        refusal = Refused(run, VERB, row.status.value, hindrance)
        sheet.audited(run, {**what, "refused": str(refusal)})
        return RecordedRefusal(refusal)
    sheet.audited(run, {**what, "seq": row.seq + 1})
    record = Chapter(state=draft.state, format=draft.format, by=by, why=why)
    append(sheet, row, row.epoch, stamped(record, sheet.now))
    sheet.save(row)
    return row.seq
