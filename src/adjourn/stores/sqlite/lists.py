"""The lists of a SQLite file: runs, inbox and audit. Each is a function of a connection that
reads."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, starmap
from typing import Any

import msgspec

from adjourn.core.codec import encode
from adjourn.core.interrupt import Interrupt
from adjourn.stores.audit import SECURITY, AuditLine
from adjourn.stores.inbox_terms import (
    GOES_ON,
    IN_INBOX,
    SHOWN,
    UNUSUAL,
    InboxWalk,
    wanted_terms,
)
from adjourn.stores.protocol import Filter
from adjourn.stores.rows import first_column
from adjourn.stores.rules import run_filter
from adjourn.stores.run_index import RunSearch
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite import run_search
from adjourn.stores.sqlite.rows import COLUMNS, inbox_item, run_row
from adjourn.stores.sqlite.trigrams import PROBES, quoted, rarest

AT = "json_extract(body, '$.at')"
WAITING = f"{IN_INBOX} and (x.expires = 0 or x.expires > :now)"
DECIDABLE = "(case when r.status in ('cancelling', 'stuck') then x.undoing else 1 end)"
WORDS = "instr(inbox_words(r.title, r.id, r.program, x.type, x.tool), :text)"
GIVEN = "x.groups <> '' and exists (select 1 from json_each(x.groups) g where g.value = :group)"
FOR_MEMBERS = (
    "(x.groups = '' or exists (select 1 from json_each(x.groups) g join "
    "json_each(:members) m on m.value = g.value))"
)
ASSIGNED = "x.assigned in (select value from json_each(:assigned))"
AWAKE = (
    "(x.snoozed = '{}' or not exists (select 1 from json_each(x.snoozed) z "
    "where z.key = :awake_for and z.value > :now))"
)
OF_RUN = "cross join run r on r.n = x.run"
RECORD = "join journal j on j.key = (x.run << 32 | x.seq)"
RUNS = f"select {COLUMNS} from run"
BY_NUMBER = f"{RUNS} not indexed"  # by its row ids, in the order of the list
HELD = "select n from run indexed by run_blocked where blocked <> ''"
NUMBERS = "select n from run not indexed"
THOSE = (
    f"select {COLUMNS} from (select value as number from json_each(:numbers)) d cross "
    f"join run on run.n = d.number"
)
NUMBER = "select n from run where id = ?"
BETWEEN = "n between :low and :high"
LABELLED = (
    "exists (select 1 from label where label.key = :key and label.value = :value and label.run = n)"
)
LABELS = "select run as n from label where label.key = :key and label.value = :value"
BY_LABEL = (
    f"select {COLUMNS} from label cross join run on run.n = label.run where "
    f"label.key = :key and label.value = :value"
)
TEXTS = "select rowid from run_text where run_text match :pieces and rowid between :low and :high"
SAID = "instr(run_words(title, id, program), :text)"
MANY = 256
"""Pieces with which one or two letters begin; those with which more begin are everywhere."""
TERMS = f"select term from run_term where term >= ? and term < ? limit {MANY}"
IN_HAND = "worker <> '' and worker in (select id from worker where until > :now)"
CHANGED = "select 1 from run indexed by run_rested where worker = '' and updated_at >= :changed"
CHANGING = ("run_rested where worker = ''", "run_worker where worker <> ''")
TIMES = (("created_at >=", "since"), ("created_at <=", "until"), ("updated_at >=", "changed"))
ZONES = "select min(first), max(last) from zone where most >= :since and least <= :until"
AFTER_ZONES = (
    "select exists (select 1 from run where n > :listed and created_at between :since and :until)"
)
CONDITIONS = ("status", "program", "session", "label", "text", "since", "until", "changed")
END = 1 << 40
FEW = 500
"""Rows that are looked at one by one."""
FIRST, LOOK = 256, 1_000
"""Runs that may fit by one condition, and are looked at for the others: at first, and at most,
before somebody else has a turn."""
NEWEST = 2_000
"""Runs that are looked at for a text of one or two letters before the index is asked."""


def inbox(db: Any, filter: Filter, now: float) -> list[Interrupt]:
    """See `Store.inbox`."""
    return list(chain.from_iterable(inbox_looks(db, filter, now)))


def inbox_looks(db: Any, filter: Filter, now: float) -> Iterator[list[Interrupt]]:
    """A page of an inbox, in looks of which each has an end, as those of `looks`."""
    terms, values = _waiting(filter, now)
    source = _of_few_runs(db, filter, values)
    in_slices = filter.members is not None or bool(run_filter.given(filter, UNUSUAL))
    walk = InboxWalk(
        lambda sql, given: db.execute(sql, given).fetchall(),
        ":{}".format,
        "",
        f"{source or 'interrupt x'} {OF_RUN}",
        RECORD,
        lambda row: inbox_item(db, row),
    )
    return walk.looks(filter, terms, values, FIRST if in_slices and not source else 0, LOOK)


def _waiting(filter: Filter, now: float) -> tuple[list[str], dict[str, Any]]:
    """What an interrupt must be, beyond its place."""
    terms, values = wanted_terms(filter, ":{}".format, LABELLED.replace("= n)", "= r.n)"))
    values["now"] = now
    if not filter.interrupt:
        terms[:0] = (WAITING, DECIDABLE)
    for term, name, value in (
        (WORDS, "text", filter.text.lower()),
        (GIVEN, "group", filter.group),
        (AWAKE, "awake_for", filter.awake_for),
        (ASSIGNED, "assigned", encode(list(filter.assigned)).decode() if filter.assigned else ""),
        (
            FOR_MEMBERS,
            "members",
            "" if filter.members is None else encode(list(filter.members)).decode(),
        ),
    ):
        if value:
            terms.append(term)
            values[name] = value
    return terms, values


def _of_few_runs(db: Any, filter: Filter, values: Mapping[str, Any]) -> str:
    """Interrupts by their runs, if those are few; "" if there are so many that it is better to go
    through the inbox."""
    if filter.run:
        runs = "select n from run where id = :id"
    elif filter.changed:
        runs = _united("select n from run indexed by {} and updated_at >= :changed", CHANGING)
        return f"({runs}) d cross join interrupt x on x.run = d.n"
    elif filter.session or filter.program:
        index, equal, _ = _indexes(filter)[0]
        runs = _united(
            f"select n from run indexed by {index} where {equal} shown = '{{}}'", GOES_ON
        )
    elif filter.label:
        runs = LABELS
    else:
        return ""
    if _few(db, runs, values):
        return f"({runs}) d cross join interrupt x on x.run = d.n"
    return ""


def _united(select: str, values: Iterable[str]) -> str:
    """A statement for each value, all as one: `{}` in `select` is the value."""
    return " union all ".join(map(select.format, values))


def runs(db: Any, filter: Filter, now: float) -> list[RunRow]:
    """See `Store.runs`."""
    return list(chain.from_iterable(looks(db, filter, now)))


def looks(db: Any, filter: Filter, now: float) -> Iterator[list[RunRow]]:
    """A page of runs, in looks of which each has an end, whatever is asked and however many runs
    there are.

    SQL gives what may belong there, in order and one row after the other; the rule that every store
    has decides, until the page is full.
    """
    asked = _SQLiteQuery.of(db, filter, now)
    left = filter.limit
    if asked is None:
        return
    halts = first_column(db.execute("select scope from halt"))
    if filter.search is not None:
        answers = _searched(db, asked, filter.search)
    else:
        answers = _answers(db, asked)
    for sql, values in answers:
        found: list[RunRow] = []
        cursor = db.execute(sql, values)
        for row in cursor:
            if run_filter.fits(one := run_row(row), filter, now, halts):
                found.append(one)
                if len(found) == left:
                    cursor.close()  # a reader that has not ended keeps the log from being cut
                    break
        yield found
        left -= len(found)
        if left <= 0:
            return


class _SQLiteQuery(msgspec.Struct):
    """A filter of runs, and where among all runs its page may be."""

    filter: Filter
    now: float
    shown: tuple[str, ...]
    low: int
    high: int

    @classmethod
    def of(cls, db: Any, filter: Filter, now: float) -> "_SQLiteQuery | None":
        """None: nothing can fit."""
        shown = SHOWN.get(filter.status, ())
        high = END
        if filter.after:
            last = db.execute(NUMBER, (filter.after,)).fetchone()
            if last is None:
                return None
            if filter.prefix and filter.search is None:
                high = END
            else:
                high = last[0] - 1
        asked = cls(filter, now, shown, 1, high)
        if filter.since or filter.until:
            asked._narrow(db)
        if shown and asked.low <= asked.high:
            return asked
        return None

    def _narrow(self, db: Any) -> None:
        """To the zones of those times."""
        times = {"since": self.filter.since, "until": self.filter.until or float("inf")}
        [(first, last)] = db.execute(ZONES, times).fetchall()
        listed = _listed(db)
        [(after,)] = db.execute(AFTER_ZONES, {**times, "listed": listed}).fetchall()
        if first is None:
            self.low, last = listed + 1, 0
        else:
            self.low = first
        if not after:
            self.high = min(self.high, last)

    @property
    def conditions(self) -> set[str]:
        """What is asked for."""
        return set(run_filter.given(self.filter, CONDITIONS))

    def where(self, *, label: bool = True) -> tuple[str, dict[str, Any]]:
        """What a row must be, beyond the index by which it is found."""
        filter = self.filter
        terms = [BETWEEN]
        values: dict[str, Any] = {"low": self.low, "high": self.high, "now": self.now}
        for column, value in (
            ("id", filter.run),
            ("program", filter.program),
            ("session", filter.session),
        ):
            if value:
                terms.append(f"{column} = :{column}")
                values[column] = value
        for term, name in TIMES:
            if bound := getattr(filter, name):
                terms.append(f"{term} :{name}")
                values[name] = bound
        if filter.status == "held":
            terms.append("blocked <> ''")
        elif filter.status:
            terms.append(f"shown in ({', '.join(map(repr, self.shown))})")
        if filter.label and label:
            terms.append(LABELLED)
        if filter.label:
            values |= {"key": filter.label[0], "value": filter.label[1]}
        if filter.text:
            terms.append(SAID)
            values["text"] = filter.text.lower()
        return " and ".join(terms), values


def _searched(
    db: Any, asked: _SQLiteQuery, search: RunSearch
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The statements for the runs that a search finds, in order."""
    for numbers in run_search.slices(db, search, asked.low, asked.high):
        yield _those(asked, numbers)


def _answers(db: Any, asked: _SQLiteQuery) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The statements whose rows, one after the other, are those that may fit, in order."""
    filter = asked.filter
    where, values = asked.where()
    if filter.prefix:  # a range of the index of ids
        values |= {
            "prefix": filter.prefix,
            "beyond": f"{filter.prefix}{chr(sys.maxunicode)}",
            "after": filter.after,
        }
        yield (
            f"{RUNS} where id > :after and id >= :prefix and id < :beyond and {where} order by id",
            values,
        )
        return
    if filter.run:
        yield f"{RUNS} where {where}", values
        return
    if filter.status == "running":
        yield f"{RUNS} indexed by run_worker where {IN_HAND} and {where} order by n desc", values
        return
    if filter.changed and _few(db, CHANGED, {"changed": filter.changed}):
        united = _united(f"{RUNS} indexed by {{}} and {where}", CHANGING)
        yield f"{united} order by n desc", values
        return
    ways = _ways(asked)
    for way in ways:
        if asked.conditions <= way.conditions:
            yield f"{way.rows} order by {way.order} desc", values
            return
    if filter.text:
        few = _few_of(db, ways, values)
        if few is not None:
            yield _those(asked, few)
            return
        yield _first_by_text(db, asked)
        if asked.low <= asked.high:
            pieces = _pieces(db, filter.text.lower(), asked.high)
        else:
            pieces = None
        if pieces is None:
            return
        if pieces:
            ways.append(_SQLiteWay(TEXTS, "rowid"))
            values["pieces"] = pieces
    yield from _slices(db, asked, ways or [_SQLiteWay(f"{NUMBERS} where {BETWEEN}", "n")], values)


class _SQLiteWay(msgspec.Struct, frozen=True):
    """An index by which runs are found that fulfil some conditions: `numbers` needs nothing else.
    `rows` are those that fulfil all."""

    numbers: str
    order: str
    conditions: frozenset[str] = frozenset()
    rows: str = ""

    def newest(self, db: Any, count: int, values: Mapping[str, Any]) -> list[int]:
        """The numbers of the newest, and no more than so many."""
        sql = f"{self.numbers} order by {self.order} desc limit {count}"
        return first_column(db.execute(sql, values).fetchall())

    def reach(self, db: Any, values: Mapping[str, Any]) -> int:
        """How far back a few of them go: the rarer, the further."""
        numbers = self.newest(db, PROBES, values)
        if len(numbers) == PROBES:
            return numbers[-1]
        return 0


def _ways(asked: _SQLiteQuery) -> list[_SQLiteWay]:
    """All ways in which the runs can be found, but for their texts."""
    filter, (where, _) = asked.filter, asked.where()
    found: list[_SQLiteWay] = []
    indexes = _indexes(filter) if filter.status != "held" else []
    for index, equal, conditions in indexes:
        part = f"indexed by {index} where {equal} shown = '{{}}'"
        # SQLite merges the parts in the order of the list, and sorts nothing.
        numbers = _united(f"select n from run {part} and {BETWEEN}", asked.shown)
        rows = _united(f"{RUNS} {part} and {where}", asked.shown)
        found.append(_SQLiteWay(numbers, "n", frozenset((*conditions, "status")), rows))
    if filter.status == "held":
        of_program = "and program = :program" if filter.program else ""
        found.append(_SQLiteWay(f"{HELD} {of_program} and {BETWEEN}", "n"))
    if filter.label:
        rows = f"{BY_LABEL} and {asked.where(label=False)[0]}"
        found.append(
            _SQLiteWay(
                f"{LABELS} and label.run between :low and :high",
                "label.run",
                frozenset(("label",)),
                rows,
            )
        )
    if not asked.conditions:
        found.append(_SQLiteWay(NUMBERS, "n", frozenset(), f"{BY_NUMBER} where {where}"))
    return found


def _indexes(filter: Filter) -> list[tuple[str, str, tuple[str, ...]]]:
    """Indexes of runs by what is asked for, each with what is equal in it and for which conditions
    it stands."""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    if filter.session:
        found.append(("run_session", "session = :session and session <> '' and", ("session",)))
    if filter.program:
        found.append(("run_program", "program = :program and", ("program",)))
    if filter.status and filter.status != "held" and not found:
        found.append(("run_shown", "", ()))
    return found


def _slices(
    db: Any, asked: _SQLiteQuery, ways: list[_SQLiteWay], values: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """So many runs at a time, by the way that has the fewest there: two conditions that many runs
    fulfil, and hardly one both."""
    here, most = {**values, "high": asked.high}, FIRST
    while asked.low <= here["high"]:
        if len(ways) == 1:
            way = ways[0]
        else:
            way = min(ways, key=lambda way: way.reach(db, here))
        numbers = way.newest(db, most, here)
        yield _those(asked, numbers)
        if len(numbers) < most:
            return
        here["high"], most = numbers[-1] - 1, min(most * 4, LOOK)


def _few_of(db: Any, ways: list[_SQLiteWay], values: Mapping[str, Any]) -> list[int] | None:
    """The numbers of a few runs of which all others are known not to fit."""
    for way in ways:
        numbers = way.newest(db, FIRST, values)
        if len(numbers) < FIRST:
            return numbers
    return None


def _those(asked: _SQLiteQuery, numbers: list[int]) -> tuple[str, Mapping[str, Any]]:
    """Those of some runs that fit."""
    where, values = asked.where()
    return f"{THOSE} where {where} order by n desc", {**values, "numbers": encode(numbers).decode()}


def _first_by_text(db: Any, asked: _SQLiteQuery) -> tuple[str, Mapping[str, Any]]:
    """Those that the index of texts does not have yet are looked at one by one; the others are
    left.

    Fewer than three letters are in many runs, most of the time: then a few more are looked at
    before the index is.
    """
    where, values = asked.where()
    listed = _listed(db)
    if len(values["text"]) < 3:
        newest = min(asked.high, db.execute("select coalesce(max(n), 0) from run").fetchone()[0])
        listed = min(listed, newest - NEWEST)
    low, asked.high = max(asked.low, listed + 1), min(listed, asked.high)
    return f"{BY_NUMBER} where {where} order by n desc", {**values, "low": low}


def _pieces(db: Any, text: str, upto: int) -> str | None:
    """The pieces of a text by which runs are found, the rarest; None if no run has one of them, ""
    if it cannot be said."""
    if len(text) < 3:
        terms = first_column(db.execute(TERMS, (text, f"{text}{chr(sys.maxunicode)}")))
        if not terms:
            return None
        if len(terms) == MANY or "\0" in text:
            return ""
        return " OR ".join(map(quoted, terms))
    return rarest(db, "run_text", (text,), upto)


def _listed(db: Any) -> int:
    """The number of the last run that zones and the index of texts know of."""
    return db.execute("select coalesce(max(last), 0) from zone").fetchone()[0]


def _few(db: Any, select: str, values: Mapping[str, Any]) -> bool:
    """Whether a statement gives so few rows that they may be looked at one by one."""
    return db.execute(f"select count(*) from ({select} limit {FEW})", values).fetchone()[0] < FEW


def audit(db: Any, scope: str | None, after: int, limit: int) -> list[AuditLine]:
    """See `Store.audit`."""
    if scope is None:
        where, order, values = f"scope <> '{SECURITY}' and n > ?", f"{AT}, scope, n", (after, limit)
    else:
        where, order, values = "scope = ? and n > ?", "n", (scope, after, limit)
    sql = f"select scope, n, body, head from audit where {where} order by {order} limit ?"
    return list(starmap(AuditLine, db.execute(sql, values)))
