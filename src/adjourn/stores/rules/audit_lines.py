"""Lines of the audit: how a run began, and what no person decided, which is an expiry, a question that
was given to others, and a hook's veto."""

from collections.abc import Sequence
from typing import Any

from adjourn.core.decision import word_of
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Checked,
    Closed,
    Decided,
    Forked,
    Started,
)
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.run_row import RunRow

EXPIRE, ESCALATE, VETO = "expire", "escalate", "veto"
"""The verbs of the audit. No one did it, so that such a line has no `by`."""
KEPT = 20
"""So many kept answers are named in the audit of a fork."""
NAMED = 200
"""So much of an event's name, or of a change of a program, is in the audit."""
LISTED = 20
"""So many changes of a program are named in the audit."""


UNASKED = frozenset({Asked, Closed, Checked})


def is_unasked(record: AnyRecord) -> bool:
    """Whether a worker's record is a line of the audit that no person made."""
    if type(record) not in UNASKED:
        return False
    match record:
        case Asked():
            return record.escalated
        case Closed():
            return record.why == "expired"
        case Checked():
            return record.verdict == "veto"
        case _:
            return False


def audit_veto(sheet: Sheet, row: RunRow, record: Checked) -> None:
    """Write the line of a hook that did not let something pass. Why stands in the record, which can
    be erased.

    Args:
        sheet: the transaction in which the record is appended.
        row: its run, before the record is appended.
        record: what is appended.
    """
    if record.verdict == "veto":
        told = {"verb": VETO, "by": "", "from": "", "hook": record.hooks[-1], "seq": row.seq + 1}
        if record.tool:
            told["tool"] = record.tool
        sheet.audited(row.id, told)


def audit_deadline(sheet: Sheet, row: RunRow, record: Closed | Asked) -> None:
    """Write the line of a record that a deadline made; other records have none.

    Args:
        sheet: the transaction in which the record is appended.
        row: its run, before the record is appended.
        record: what is appended.
    """
    if isinstance(record, Asked):
        if not record.escalated:
            return
        verb, tool = ESCALATE, record.tool
    else:
        found = sheet.interrupt(record.i)
        if record.why != "expired" or found is None:
            return
        verb, tool = EXPIRE, found.tool
    told = {"verb": verb, "by": "", "from": "", "interrupt": record.i, "seq": row.seq + 1}
    if tool:
        told["tool"] = tool
    sheet.audited(row.id, told)


def begins_by(started: Started, rest: Sequence[AnyRecord]) -> str:
    """The verb of the audit for a run that begins."""
    if rest:
        return "import"
    if started.again_of:
        return "again"
    return "start"


def begins_from(started: Started, rest: Sequence[AnyRecord], cut: Forked | None) -> dict[str, Any]:
    """What the audit says of a run that begins from another: of which run; of a fork also where it
    was cut, and whose answers were kept. `cut`: the last record that says that the journal was."""
    if not started.forked_from:
        if started.again_of:
            return {"again_of": started.again_of}
        return {}
    told: dict[str, Any] = {"verb": "fork", "of": started.forked_from}
    if cut is None:
        return told
    told |= {"cut_at": cut.at_seq, "answers": cut.answers}
    if cut.answers == "keep":
        kept: list[str] = []
        for record in rest:
            if isinstance(record, Decided) and word_of(record) not in ("approve", "deny"):
                kept.append(record.i)
        told["kept"] = kept[:KEPT]
    return told
