"""Erasing a run: its content goes, the tombstone stays."""

from collections.abc import Mapping

import msgspec

from adjourn.core.codec import decode
from adjourn.core.record_codec import parse
from adjourn.core.record_parts import Ref, stamped
from adjourn.core.records import Erased
from adjourn.core.status import ENDED
from adjourn.errors import AdjournError, Refused, UnknownRun
from adjourn.stores.erasure import Erasure, tombstone
from adjourn.stores.rules.holds import held
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import check_names
from adjourn.stores.rules.reads_and_writes import LAST, ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule
from adjourn.stores.run_row import RunRow

ERASE = "erase"
"""The verb of the audit."""
ERASE_ARCHIVE = "erase archive"
"""The same, for what is left of a run that was pruned."""


def erasing(run: str, by: str, reason: str, origin: str) -> StoreRule:
    """See `Store.erase`."""
    ask = ReadRequest(run, records=(1, LAST), audit=(run,), holds=True, later=True)
    return StoreRule(ask, lambda sheet: erase(sheet, run, by, reason, origin))


def telling_of_archive(run: str, told: Mapping[str, str]) -> StoreRule:
    """See `Ruled.tell_of_archive`."""
    check_names(**{name: text for name, text in told.items() if name != "from"})
    line = {"verb": ERASE_ARCHIVE, **told}
    return StoreRule(ReadRequest(run, audit=(run,)), lambda sheet: sheet.audited(run, line))


def erase(sheet: Sheet, run: str, by: str, reason: str, origin: str) -> Erasure | RecordedRefusal:
    """See `Store.erase`."""
    check_names(by=by, reason=reason)
    row = sheet.row
    what = {"verb": ERASE, "by": by, "from": origin, "reason": reason}
    if row is None:
        sheet.audited("", {**what, "refused": f"no run {run!r:.80}"})
        return RecordedRefusal(UnknownRun(run))
    if row.erased:
        return _found(sheet, row)
    if refusal := held(sheet, row) or _refusal(sheet, row):
        sheet.audited(run, {**what, "refused": str(refusal)})
        return RecordedRefusal(refusal)
    sheet.audited(run, {**what, "seq": row.seq + 1})
    status = "completed" if row.status == "completed" else "cancelled"
    erased = Erased(
        run=row.id,
        kind=row.kind,
        program=row.program,
        status=status,
        by=by,
        reason=reason,
        after=_continued(sheet.record(1)),
    )
    record = stamped(erased, sheet.now)
    row.title, row.labels, row.input_digest, row.requesters, row.salt = (
        tombstone(record),
        {},
        "",
        (),
        b"",
    )
    row.worker, row.epoch, row.stopped, row.chapter, row.erased = "", 0, False, 0, record.at
    row.priority = 0
    sheet.wipe()  # its key, too
    append(sheet, row, 0, record)
    sheet.save(row)
    return _found(sheet, row)


def _refusal(sheet: Sheet, row: RunRow) -> AdjournError | None:
    """Why a run must not be erased."""
    if row.status not in ENDED:
        return Refused(
            row.id,
            ERASE,
            row.status.value,
            advice="cancel it first: only a run that has ended can be erased",
        )
    for run, status in sheet.later():
        if status not in ENDED:
            why = f"run {run}, which continues its conversation, has not ended"
            return Refused(
                row.id, ERASE, row.status.value, why, advice="finish or cancel that run first"
            )
    return None


def _continued(first: str) -> Ref | None:
    """The turn that a run continued: what was said in it, and before it, stays where it was. It is
    readable also if the run is encrypted, and its key is not here."""
    body = decode(first)
    if body.get("history") or not body.get("after"):
        return None
    return msgspec.convert(body["after"], Ref)


def _found(sheet: Sheet, row: RunRow) -> Erasure:
    record = parse(sheet.record(row.seq))
    assert isinstance(record, Erased)
    return Erasure(row.id, record.by, record.reason, record.at, row.seq)
