"""What nobody decided in time is in the audit as well: an expiry, and a question that was given to
others."""

from adjourn.core.records import Asked, Closed
from adjourn.stores.rules.transaction import Sheet
from adjourn.stores.run_row import RunRow

EXPIRE, ESCALATE = "expire", "escalate"
"""The verbs of the audit. No one did it, so that such a line has no `by`."""


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
