"""What no person decided is in the audit as well: an expiry, a question that was given to others,
and a hook's veto."""

from adjourn.core.records import AnyRecord, Asked, Checked, Closed
from adjourn.stores.rules.transaction import Sheet
from adjourn.stores.run_row import RunRow

EXPIRE, ESCALATE, VETO = "expire", "escalate", "veto"
"""The verbs of the audit. No one did it, so that such a line has no `by`."""


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
