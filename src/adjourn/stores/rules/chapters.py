"""Beginning a new chapter of a run: the store makes it itself, of what the run's records mean.

To read a long journal takes a while, in which nobody else could write. So the store reads it before
the transaction, and the rule compares where the chain is: what it was made of is all that there is.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from adjourn.core import chapter
from adjourn.core.action_digest import digest
from adjourn.core.record_parts import stamped
from adjourn.core.records import AnyRecord, Chapter
from adjourn.core.state import State
from adjourn.errors import Refused, RequestReused, UnknownRun
from adjourn.stores.rows import parsed
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import check_line, check_names
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule
from adjourn.stores.run_row import keyed_digest

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


class ChapterRequest(NamedTuple):
    """A chapter as somebody wants it: of which run, who, why, by which request, and from where."""

    run: str
    by: str
    why: str
    request: str
    origin: str


def beginning(wanted: ChapterRequest, draft: Draft | None = None) -> StoreRule:
    """See `Store.chapter`. Gives None, and has done nothing, if the journal goes on behind what
    `draft` was made of."""
    ask = ReadRequest(
        wanted.run, tail=-1 if draft else 0, audit=(wanted.run,), request=wanted.request
    )
    return StoreRule(ask, lambda sheet: begin(sheet, wanted, draft))


def begin(
    sheet: Sheet, wanted: ChapterRequest, draft: Draft | None = None
) -> int | RecordedRefusal | None:
    """See `beginning`."""
    run, request = wanted.run, wanted.request
    row = sheet.row
    what = {"verb": "chapter", "by": wanted.by, "from": wanted.origin, "reason": wanted.why}
    check_line(what)
    check_names(request_id=request)
    if row is None:
        sheet.audited("", {**what, "refused": f"no run {run!r:.80}"})
        return RecordedRefusal(UnknownRun(run))
    told = keyed_digest(row.salt, digest("chapter", wanted.by, wanted.why))
    if request and (old := sheet.request(request)) is not None:
        if old[1] != told:
            sheet.audited(run, {**what, "refused": "the request id was used for another command"})
            return RecordedRefusal(RequestReused(request))
        return old[0]
    if draft is None:
        draft = drafted(parsed(sheet.tail(0)), row.head)
    elif row.head != draft.head:
        return None
    hindrance = draft.hindrance
    if row.worker:
        hindrance = f"{row.worker} is running it: wait until the run stops, or pause it"
    if hindrance:
        refusal = Refused(run, VERB, row.status.value, hindrance)
        sheet.audited(run, {**what, "refused": str(refusal)})
        return RecordedRefusal(refusal)
    sheet.audited(run, {**what, "seq": row.seq + 1})
    if request:
        sheet.put_request(request, row.seq + 1, told)
    record = Chapter(state=draft.state, format=draft.format, by=wanted.by, why=wanted.why)
    append(sheet, row, row.epoch, stamped(record, sheet.now))
    sheet.save(row)
    return row.seq
