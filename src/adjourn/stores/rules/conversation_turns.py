"""The turns of a conversation, read each a run that names the one before it."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from adjourn.core.records import Started
from adjourn.core.status import ENDED
from adjourn.errors import BrokenHistory, Refused, RunErased, SessionMoved, UnknownRun
from adjourn.stores.protocol import Turn
from adjourn.stores.rows import parsed, present
from adjourn.stores.rules.sheet import Sheet


def turn_of(run: str, lines: Sequence[tuple[int, str | None]], head: bytes) -> Turn:
    """A turn of its lines; without records if their content is gone."""
    bodies = present(lines)
    records = parsed(bodies) if len(bodies) == len(lines) else []
    return Turn(run, lines[-1][0], head, records)


def turns_of(rows: Iterable[tuple[int, str, int, str | None, bytes]]) -> list[Turn]:
    """Turns of rows (place of the turn, run, number of the record, its body, its hash), in
    order."""
    found: list[Turn] = []
    for (_, run), records in groupby(rows, key=lambda row: row[:2]):
        whole = list(records)
        lines = [(seq, body) for _, _, seq, body, _ in whole]
        found.append(turn_of(run, lines, whole[-1][4]))
    return found


def follows(started: Started) -> tuple[str, str] | None:
    """The session and the program whose last run this one goes on with; None if it was chosen
    otherwise."""
    if started.options.get("after") == "session":
        return (started.session, started.program)
    return None


def check_after(sheet: Sheet, started: Started, *, new: bool) -> None:
    """The run that this one goes on with has ended, and its journal is the one that is meant; see
    `Store.create`."""
    ref = started.before
    if new and (session := follows(started)) and sheet.last(*session) != (ref.run if ref else ""):
        raise SessionMoved(started.session)
    if ref is None:
        return
    before = sheet.before(ref.run, ref.seq)
    if before is None:
        raise UnknownRun(ref.run)
    row = before.row
    if row.erased:
        raise RunErased(row.id, row.title)
    if row.status not in ENDED:
        raise Refused(
            ref.run,
            "continue",
            row.status.value,
            advice="finish or cancel it first, then start the next turn",
        )
    if not before.head or before.head.hex() != ref.head:
        raise BrokenHistory(started.run, ref.run, ref.seq)
