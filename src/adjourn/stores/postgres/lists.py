"""The lists of runs in a PostgreSQL database. Each costs what it shows, whatever the database
holds.

A list is made in looks of which each has an end. A look goes along one index in the order of the
list, takes a few hundred numbers of runs from it, and looks at those rows for everything else that
was asked.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from adjourn.stores.inbox_terms import SHOWN
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.read_statements import looked_for, name
from adjourn.stores.postgres.rows import COLUMNS, run_row
from adjourn.stores.postgres.run_search import Looker
from adjourn.stores.protocol import Filter
from adjourn.stores.rows import first_column
from adjourn.stores.rules import run_filter
from adjourn.stores.run_row import RunRow

PLAN = (
    "begin read only",
    "set local enable_seqscan = off",
    "set local enable_hashjoin = off",
    "set local enable_mergejoin = off",
    "set local enable_sort = off",
    "set local jit = off",
)
"""For one transaction: along the indexes, whatever the statistics say."""
BY_TEXT = (*PLAN, "set local enable_indexscan = off", "set local enable_indexonlyscan = off")
RUNS = f"select {COLUMNS} from adjourn.run r"
BETWEEN = "r.n between %(low)s and %(high)s"
BACK = "-r.n between -(%(high)s::bigint) and -(%(low)s::bigint)"
LABELS = (
    "select l.run as n from adjourn.label l where l.key = %(key)s and l.value = "
    "%(value)s and l.run between %(low)s and %(high)s"
)
LABELLED = (
    "exists (select 1 from adjourn.label l where l.key = %(key)s and l.value = "
    "%(value)s and l.run = r.n)"
)
HELD = f"select r.n from adjourn.run r where r.blocked <> '{{}}' and {BACK}"
TEXTS = "select r.n from adjourn.run r where r.words like %(pattern)s limit %(most)s"
IN_HAND = (
    "r.worker <> '' and r.worker = any(array(select w.id from adjourn.worker w where "
    "w.until > %(now)s))"
)
CHANGED = """
(select n from adjourn.run where rested_at >= %(changed)s limit %(few)s)
union all (select n from adjourn.run where worker <> '' and updated_at >= %(changed)s limit %(few)s)
"""
TIMES = (("r.created_at >=", "since"), ("r.created_at <=", "until"), ("r.updated_at >=", "changed"))
ZONES = (
    "select min(k) * 4096, max(k) * 4096 + 4095 from adjourn.zone where most >= "
    "%(since)s and least <= %(until)s"
)
NUMBER = "select n from adjourn.run where id = %(id)s"
END = 1 << 62
FEW = 500
"""Runs that are looked at one by one."""
FIRST, LOOK = 256, 4_000
"""Runs of an index that are looked at for the other conditions: at first, and at most, in one
look."""
PROBES = 20
"""Runs of each index to see how rare they are there."""
NEWEST = 2_000
"""Runs that are looked at for a text before the index of texts is asked."""
RARE = 5_000
"""If a text is in no more runs than these, it is found by its index."""
WALK = 20_000
"""Runs that are looked at for a text in one look, at most."""


def runs(db: Connection, filter: Filter, now: float) -> Iterator[list[RunRow]]:
    """A page of runs, look by look. SQL gives what may belong there; the rule that every store has
    decides."""
    asked = _PostgresQuery.of(db, filter, now)
    left = filter.limit
    if asked is None:
        return
    halts = first_column(messages(db, ["select scope from adjourn.halt"], {})[0])
    for rows in asked.looks(db, left):
        found = [row for row in map(run_row, rows) if run_filter.fits(row, filter, now, halts)][
            :left
        ]
        yield found
        left -= len(found)
        if left <= 0:
            return


def planned(
    db: Connection, sql: str, values: Mapping[str, Any], plan: tuple[str, ...] = PLAN
) -> list[tuple[Any, ...]]:
    """The rows of a statement that goes along the indexes."""
    return messages(db, [*plan, sql, "commit"], looked_for(values))[-2]


def like(text: str) -> str:
    """The pattern for a part of a text."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


class _PostgresWay(msgspec.Struct, frozen=True):
    """An index by which runs are found, the newest first. `whole`: they fulfil everything that was
    asked.

    `parts`: statements that each give numbers, as `n`, and by what they are ordered.
    """

    parts: tuple[str, ...]
    order: str
    whole: bool = False

    def numbers(self, count: int) -> str:
        """A statement that gives the newest numbers, and no more than so many."""
        each = [f"({part} order by {self.order} limit {count})" for part in self.parts]
        return f"select n from ({' union all '.join(each)}) u order by -n limit {count}"

    def reach(self, db: Connection, values: Mapping[str, Any]) -> int:
        """How far back a few of them go: the rarer, the further."""
        found = planned(db, self.numbers(PROBES), values)
        if len(found) == PROBES:
            return found[-1][0]
        return 0


class _PostgresQuery(msgspec.Struct):
    """A filter of runs, and where among all runs its page may be."""

    filter: Filter
    now: float
    shown: tuple[str, ...]
    low: int
    high: int

    @classmethod
    def of(cls, db: Connection, filter: Filter, now: float) -> "_PostgresQuery | None":
        """None: nothing can fit."""
        shown, high = SHOWN.get(filter.status, ()), END
        if filter.after:
            last = messages(db, [NUMBER], {"id": name(filter.after)})[0]
            if not last:
                return None
            if filter.prefix and filter.search is None:
                high = END
            else:
                high = last[0][0] - 1
        asked = cls(filter, now, shown, 1, high)
        if filter.since or filter.until:
            asked._narrow(db)
        if shown and asked.low <= asked.high:
            return asked
        return None

    def _narrow(self, db: Connection) -> None:
        """To the zones of those times."""
        times = {"since": self.filter.since, "until": self.filter.until or float("inf")}
        [(low, high)] = messages(db, [ZONES], times)[0]
        self.low, self.high = max(self.low, low or 1), min(self.high, high or 0)

    def where(self) -> tuple[str, dict[str, Any]]:
        """What a row must be, beyond the index by which it is found."""
        filter, terms = self.filter, list[str]()
        values: dict[str, Any] = {
            "low": self.low,
            "high": self.high,
            "now": self.now,
            "shown": list(self.shown),
        }
        for column, value in (
            ("id", filter.run),
            ("program", filter.program),
            ("session", filter.session),
        ):
            values[column] = value
            if value:
                terms.append(f"r.{column} = %({column})s")
        for term, bound in TIMES:
            values[bound] = getattr(filter, bound)
            if values[bound]:
                terms.append(f"{term} %({bound})s")
        if filter.status == "held":
            terms.append("r.blocked <> '{}'")
        elif filter.status:
            terms.append("r.shown = any(%(shown)s::text[])")
        if filter.label:
            terms.append(LABELLED)
            values |= {"key": filter.label[0], "value": filter.label[1]}
        if filter.text:
            terms.append("r.words like %(pattern)s" if "\0" not in filter.text else "false")
            values["pattern"] = like(filter.text.lower().replace("\0", ""))
        return " and ".join(terms) or "true", values

    def looks(self, db: Connection, limit: int) -> Iterator[list[tuple[Any, ...]]]:
        """Rows that may fit, in order."""
        filter, (where, values) = self.filter, self.where()
        if filter.search is not None:
            looker = Looker(db, filter.search, planned, BY_TEXT)
            for numbers in looker.slices(self.low, self.high):
                yield _those(db, where, values, numbers)
        elif filter.prefix:
            yield from self._by_prefix(db, where, values)
        elif filter.run:
            yield planned(db, f"{RUNS} where {where}", values)
        elif filter.status == "running":
            yield _ordered(planned(db, f"{RUNS} where {IN_HAND} and {BETWEEN} and {where}", values))
        elif (few := _few_changed(db, filter)) is not None:
            yield _those(db, where, values, few)
        elif filter.text:
            yield from self._by_text(db, where, values)
        else:
            yield from _slices(db, self._ways(), where, values, limit, LOOK)

    def _by_prefix(
        self, db: Connection, where: str, values: dict[str, Any]
    ) -> Iterator[list[tuple[Any, ...]]]:
        after, left = self.filter.after, FIRST
        beyond = f"{self.filter.prefix}{chr(sys.maxunicode)}"
        sql = (
            f"{RUNS} where r.id > %(after)s and r.id >= %(prefix)s and r.id < %(beyond)s "
            f"and {where} order by r.id limit %(most)s"
        )
        while True:
            given = {
                **values,
                "after": after,
                "prefix": self.filter.prefix,
                "beyond": beyond,
                "most": left,
            }
            found = planned(db, sql, given)
            yield found
            if len(found) < left:
                return
            after = found[-1][0]

    def _ways(self) -> list[_PostgresWay]:
        """All ways in which the runs can be found, but for their texts."""
        filter = self.filter
        asked = run_filter.given(
            filter, ("program", "session", "label", "since", "until", "changed")
        )
        found: list[_PostgresWay] = []
        if filter.status == "held":
            return [_PostgresWay((HELD,), "-r.n")]
        if filter.session:
            equal = "r.session = %(session)s and r.session <> ''"
            found.append(_PostgresWay(self._parts(equal), "-r.n", whole=asked == ["session"]))
        if filter.program:
            found.append(
                _PostgresWay(
                    self._parts("r.program = %(program)s"), "-r.n", whole=asked == ["program"]
                )
            )
        if filter.label:
            found.append(
                _PostgresWay(
                    (LABELS,), "l.run desc", whole=asked == ["label"] and not filter.status
                )
            )
        if filter.status and not (filter.session or filter.program):
            found.append(_PostgresWay(self._parts("true"), "-r.n", whole=not asked))
        return found or [
            _PostgresWay(
                (f"select r.n from adjourn.run r where {BETWEEN}",), "r.n desc", whole=not asked
            )
        ]

    def _parts(self, equal: str) -> tuple[str, ...]:
        found: list[str] = []
        for shown in self.shown:
            found.append(
                f"select r.n from adjourn.run r where {equal} and r.shown = '{shown}' and {BACK}"
            )
        return tuple(found)

    def _by_text(
        self, db: Connection, where: str, values: dict[str, Any]
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The newest one by one; where none of them fits, the index of texts is asked."""
        ways = self._ways()
        newest = planned(db, ways[0].numbers(NEWEST), values)
        found = _those(db, where, values, first_column(newest))
        yield found
        if len(newest) < NEWEST:
            return
        rest = {**values, "high": newest[-1][0] - 1}
        if not found and len(self.filter.text) >= 3:
            rare = planned(db, TEXTS, {**values, "most": RARE + 1}, BY_TEXT)
            if len(rare) <= RARE:
                older = [number for number in _newest_first(rare) if number < newest[-1][0]]
                yield _those(db, where, values, older)
                return
        yield from _slices(db, ways, where, rest, WALK, WALK)


def _slices(
    db: Connection,
    ways: list[_PostgresWay],
    where: str,
    values: dict[str, Any],
    limit: int,
    most: int,
) -> Iterator[list[tuple[Any, ...]]]:
    """So many runs at a time, by the way that has the fewest there: two conditions that many runs
    fulfil, and hardly one both."""
    here, count = dict(values), FIRST
    while here["low"] <= here["high"]:
        if len(ways) == 1:
            way = ways[0]
        else:
            way = min(ways, key=lambda way: way.reach(db, here))
        if way.whole:
            count = limit
        numbers = first_column(planned(db, way.numbers(count), here))
        yield _those(db, where, here, numbers)
        if len(numbers) < count:
            return
        here["high"], count = numbers[-1] - 1, min(count * 4, most)


def _those(
    db: Connection, where: str, values: dict[str, Any], numbers: list[int]
) -> list[tuple[Any, ...]]:
    """Those of some runs that fit, in order. Sorted here: PostgreSQL would rather go along all runs
    than sort a few."""
    if not numbers:
        return []
    sql = f"{RUNS} where r.n = any(%(numbers)s::bigint[]) and {BETWEEN} and {where}"
    return _ordered(planned(db, sql, {**values, "numbers": numbers}))


def _few_changed(db: Connection, filter: Filter) -> list[int] | None:
    """The numbers of the runs that changed since, the newest first; None if nobody asked, or if
    they are too many for that."""
    if not filter.changed:
        return None
    found = planned(db, CHANGED, {"changed": filter.changed, "few": FEW})
    if len(found) >= FEW:
        return None
    return _newest_first(found)


def _newest_first(rows: list[tuple[Any, ...]]) -> list[int]:
    return sorted(first_column(rows), reverse=True)


def _ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: row[-1], reverse=True)
