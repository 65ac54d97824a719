"""Beginning a new chapter of a run: the store makes it itself, of what the run's records mean."""

from adjourn.core import chapter
from adjourn.core.records import Chapter, parse
from adjourn.core.state import State
from adjourn.errors import Refused, UnknownRun
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import check_line
from adjourn.stores.rules.sheet import Failed, Rule, Sheet, stamped
from adjourn.stores.rules.values import Ask

VERB = "begin a chapter in"


def beginning(run: str, by: str, why: str, origin: str) -> Rule:
    """See `Store.chapter`."""
    ask = Ask(run, tail=0, audit=(run,))
    return Rule(ask, lambda sheet: begin(sheet, run, by, why, origin))


def begin(sheet: Sheet, run: str, by: str, why: str, origin: str) -> int | Failed:
    """See `Store.chapter`."""
    row, what = sheet.row, {"verb": "chapter", "by": by, "from": origin, "reason": why}
    check_line(what)
    if row is None:
        sheet.audited("", {**what, "refused": f"no run {run!r:.80}"})
        return Failed(UnknownRun(run))
    state = State().fold_all([(seq, parse(body)) for seq, body in sheet.tail(0)])
    hindrance = chapter.hindrance(state)
    if row.worker:
        hindrance = f"{row.worker} is at work in it: wait until it rests, or pause it"
    if hindrance:
        refusal = Refused(run, VERB, row.status.value, hindrance)
        sheet.audited(run, {**what, "refused": str(refusal)})
        return Failed(refusal)
    sheet.audited(run, {**what, "seq": row.seq + 1})
    record = Chapter(state=chapter.content(state), format=chapter.format_of(state), by=by, why=why)
    append(sheet, row, row.epoch, stamped(record, sheet.now))
    sheet.save(row)
    return row.seq
