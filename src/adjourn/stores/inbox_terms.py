"""What a list asks of rows, in words that every SQL database of ours understands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any

import msgspec

from adjourn.core.interrupt import Interrupt
from adjourn.core.status import Status
from adjourn.stores.protocol import Filter
from adjourn.stores.rules.inbox_filter import briefly

IN_INBOX = "x.state = 'open' and x.kind not in ('timer', 'event')"
ORDER = "x.rank, x.opened_at, x.run, x.seq"
POSITION = f"({ORDER})"
BRIEF = "r.id, x.i, x.seq, x.kind, x.opened_at, x.expires"
WHOLE = f"{BRIEF}, j.body, x.votes, r.requesters, r.n, x.disowned"
OPENED = (("x.opened_at >=", "since"), ("x.opened_at <=", "until"), ("r.updated_at >=", "changed"))
UNUSUAL = ("program", "session", "label", "kind", "text", "group", "since", "until", "assigned")
"""What hardly any of those that wait may be."""
SHOWN: dict[str, tuple[str, ...]] = {
    "": (*map(str, Status), "failed", "stopped"),
    **{status.value: (status.value,) for status in Status},
    "waiting": ("waiting", "failed"),
    "completed": ("completed", "stopped"),
    "running": ("ready",),
    "failed": ("failed",),
    "stopped": ("stopped",),
    "held": (*map(str, Status), "failed"),
}
"""Under which views runs of a status are, or of a view."""
GOES_ON = tuple(view for view in SHOWN[""] if view not in ("completed", "cancelled", "stopped"))
"""The views of runs that may have open interrupts."""


def wanted_terms(
    filter: Filter, mark: Callable[[str], str], labelled: str
) -> tuple[list[str], dict[str, Any]]:
    """What an interrupt must be by the columns of its row and of its run's, and the values for that.

    Args:
        filter: what is asked for.
        mark: the place of a value in a statement, by the value's name.
        labelled: the condition that the run has a label, with the values `key` and `value`.
    """
    terms: list[str] = []
    values: dict[str, Any] = {}
    wanted = {
        "r.id": filter.run,
        "r.program": filter.program,
        "r.session": filter.session,
        "x.kind": filter.kind,
        "x.i": filter.interrupt,
    }
    for column, value in wanted.items():
        if value:
            terms.append(f"{column} = {mark(column[2:])}")
            values[column[2:]] = value
    for term, name in OPENED:
        if bound := getattr(filter, name):
            terms.append(f"{term} {mark(name)}")
            values[name] = bound
    if filter.label:
        terms.append(labelled)
        values |= {"key": filter.label[0], "value": filter.label[1]}
    return terms, values


class InboxWalk(msgspec.Struct, frozen=True):
    """How the inbox of a database is gone through: `rows` sends a statement, `mark` is the place of a
    value in one, `within` stands before the name of a table, `source` are interrupts with their runs,
    `record` joins the record that asked, and `item` makes an interrupt of a row of `WHOLE`."""

    rows: Callable[[str, Mapping[str, Any]], Sequence[Any]]
    mark: Callable[[str], str]
    within: str
    source: str
    record: str
    item: Callable[[Any], Interrupt]

    def looks(
        self, filter: Filter, terms: list[str], values: dict[str, Any], first: int, most: int
    ) -> Iterator[list[Interrupt]]:
        """A page, in looks of which each has an end. `first` and `most`: so many that may fit are
        looked at for the rest, at first and at most; 0: all at once."""
        place, left, count = self._place(filter.after), filter.limit, first
        while left > 0:
            here, values["limit"] = list(terms), left
            if place:
                here.append(self._bound(">", "", place, values))
            place = self._further(place, count)
            if place:
                here.append(self._bound("<=", "to_", place, values))
            rest = f"where {' and '.join(here)} order by {ORDER} limit {self.mark('limit')}"
            found = self._items(rest, values, filter.brief)
            yield found
            left, count = left - len(found), min(count * 4, most)
            if not place:
                return

    def _place(self, after: str) -> Any:
        """Where in the inbox an interrupt is, or was, by its public id or as `run:id`; None if there
        is no such thing."""
        found = f"select {ORDER} from {self.within}interrupt x where x.i = {self.mark('i')}"
        run = f"(select n from {self.within}run where id = {self.mark('run')})"
        for at, letter in enumerate(after):
            if letter == ":":
                named = {"run": after[:at], "i": after[at + 1 :]}
                if rows := self.rows(f"{found} and x.run = {run}", named):
                    return rows[0]
        rows = self.rows(f"{found} order by x.run limit 1", {"i": after}) if after else ()
        return next(iter(rows), None)

    def _bound(self, sign: str, prefix: str, place: Any, values: dict[str, Any]) -> str:
        """The condition that an interrupt is beyond a place, or not; `values` gets the place."""
        names = [prefix + name for name in ("rank", "opened_at", "number", "seq")]
        values |= dict(zip(names, place, strict=True))
        return f"{POSITION} {sign} ({', '.join(map(self.mark, names))})"

    def _further(self, place: Any, count: int) -> Any:
        """The place of an interrupt that is so many further in the inbox; None if there are fewer,
        or if that is not asked."""
        if not count:
            return None
        where, values = IN_INBOX, dict[str, Any]()
        if place:
            where += f" and {self._bound('>', '', place, values)}"
        order = f"order by {ORDER} limit 1 offset {count - 1}"
        found = self.rows(
            f"select {ORDER} from {self.within}interrupt x where {where} {order}", values
        )
        return next(iter(found), None)

    def _items(self, rest: str, values: Mapping[str, Any], brief: bool) -> list[Interrupt]:
        if brief:
            return list(
                starmap(briefly, self.rows(f"select {BRIEF} from {self.source} {rest}", values))
            )
        sql = f"select {WHOLE} from {self.source} {self.record} {rest}"
        return list(map(self.item, self.rows(sql, values)))
