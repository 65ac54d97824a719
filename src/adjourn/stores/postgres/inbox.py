"""The inbox of a PostgreSQL database: in looks of which each has an end, along the index of what
waits."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from typing import Any

from adjourn.core.codec import decode
from adjourn.core.interrupt import Interrupt
from adjourn.stores.inbox_terms import (
    BRIEF,
    GOES_ON,
    IN_INBOX,
    ORDER,
    POSITION,
    UNUSUAL,
    WHOLE,
    wanted_terms,
)
from adjourn.stores.item_note import ItemMark
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.lists import FEW, LABELLED, like, planned
from adjourn.stores.protocol import Filter
from adjourn.stores.rows import first_column
from adjourn.stores.rules.inbox_filter import BRIEFLY, briefly, shown
from adjourn.stores.rules.run_filter import given

WAITING = f"{IN_INBOX} and (x.expires = 0 or x.expires > %(now)s)"
DECIDABLE = "(case when r.status in ('cancelling', 'stuck') then x.undoing else true end)"
RECORD = "join adjourn.journal j on j.run = x.run and j.seq = x.seq"
PLACE = f"select {ORDER} from adjourn.interrupt x where x.i = %(i)s order by x.run limit 1"
PLACE_IN_RUN = f"""
select {ORDER} from adjourn.interrupt x where x.run = (select n from adjourn.run where id = %(run)s) and x.i = %(i)s
"""
WORDS = "(r.words || ' ' || x.said) like %(pattern)s"
OF_RUN = "(select * from adjourn.interrupt where run = (select n from adjourn.run where id = %(id)s) offset 0) x"
OF_RUNS = "(select * from adjourn.interrupt where run = any(%(runs)s::bigint[]) offset 0) x"
"""By their runs, and not along the whole inbox: PostgreSQL looks into nothing that has an
offset."""
CHANGED = """
(select n from adjourn.run where rested_at >= %(changed)s)
union all (select n from adjourn.run where worker <> '' and updated_at >= %(changed)s)
"""
GIVEN = "%(group)s = any(x.groups)"
FOR_MEMBERS = "(x.groups = '{}' or x.groups && %(members)s::text[])"
ASSIGNED = "x.assigned = any(%(assigned)s::text[])"
AWAKE = "(x.snoozed = '{}' or coalesce((x.snoozed::jsonb ->> %(awake_for)s)::float8, 0) <= %(now)s)"
MARKS = """
select r.id, x.i, x.assigned, x.snoozed from unnest(%(runs)s::text[], %(ids)s::text[]) w(run, i)
join adjourn.run r on r.id = w.run join adjourn.interrupt x on x.run = r.n and x.i = w.i
where x.assigned <> '' or x.snoozed <> '{}'
"""
FIRST, LOOK = 256, 4_000
DECISIONS = """
select body from adjourn.journal where run = %(run)s and seq = any(%(seqs)s::bigint[])
order by array_position(%(seqs)s::bigint[], seq)
"""


def inbox(db: Connection, filter: Filter, now: float) -> Iterator[list[Interrupt]]:
    """A page of an inbox, look by look."""
    terms, values = _waiting(filter, now)
    source = "adjourn.interrupt x"
    if filter.run:
        few, source = [], OF_RUN
    elif (few := _of_few_runs(db, filter)) is not None:
        source, values["runs"] = OF_RUNS, few
    place, left, most = _place(db, filter.after), filter.limit, FIRST
    in_slices = few is None and not filter.interrupt
    in_slices = in_slices and (filter.members is not None or bool(given(filter, UNUSUAL)))
    while left > 0:
        here, values["limit"] = list(terms), left
        if place:
            here.append(f"{POSITION} > (%(rank)s, %(opened_at)s, %(number)s, %(seq)s)")
            values |= dict(zip(("rank", "opened_at", "number", "seq"), place, strict=True))
        if in_slices:
            place = _further(db, place, most)
        else:
            place = None
        if place:
            here.append(f"{POSITION} <= (%(to_rank)s, %(to_opened_at)s, %(to_number)s, %(to_seq)s)")
            values |= dict(
                zip(("to_rank", "to_opened_at", "to_number", "to_seq"), place, strict=True)
            )
        rest = f"where {' and '.join(here)} order by {ORDER} limit %(limit)s"
        found = _items(db, source, rest, values, filter.brief)
        yield found
        left, most = left - len(found), min(most * 4, LOOK)
        if not place:
            return


def marks(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, str], ItemMark]:
    """See `Store.marks`, of the rows of `MARKS`."""
    return {(run, id): ItemMark(given, decode(snoozed)) for run, id, given, snoozed in rows}


def _items(
    db: Connection, source: str, rest: str, values: Mapping[str, Any], brief: bool
) -> list[Interrupt]:
    joined = f"{source} join adjourn.run r on r.n = x.run"
    if brief:
        return list(starmap(briefly, planned(db, f"select {BRIEF} from {joined} {rest}", values)))
    rows = planned(db, f"select {WHOLE} from {joined} {RECORD} {rest}", values)
    return [_item(db, row) for row in rows]


def _item(db: Connection, row: Any) -> Interrupt:
    """With who has agreed so far."""
    body, votes, requesters, number, disowned = row[BRIEFLY:]
    decisions: list[str] = []
    if votes != "{}":
        found: dict[str, int] = decode(votes)
        decisions = first_column(
            messages(db, [DECISIONS], {"run": number, "seqs": list(found.values())})[0]
        )
    return shown(row[:BRIEFLY], body, decisions, tuple(requesters), tuple(disowned))


def _further(db: Connection, place: Any, count: int) -> Any:
    """The place of an interrupt that is so many further in the inbox; None if there are fewer."""
    where, values = IN_INBOX, dict[str, Any]()
    if place:
        where += f" and {POSITION} > (%(rank)s, %(opened_at)s, %(number)s, %(seq)s)"
        values |= dict(zip(("rank", "opened_at", "number", "seq"), place, strict=True))
    sql = f"select {ORDER} from adjourn.interrupt x where {where} order by {ORDER} limit 1 offset {count - 1}"
    found = planned(db, sql, values)
    return found[0] if found else None


def _waiting(filter: Filter, now: float) -> tuple[list[str], dict[str, Any]]:
    """What an interrupt must be, beyond its place."""
    terms, values = wanted_terms(filter, "%({})s".format, LABELLED)
    values["now"] = now
    if not filter.interrupt:
        terms[:0] = (WAITING, DECIDABLE)
    if filter.text:
        terms.append(WORDS if "\0" not in filter.text else "false")
        values["pattern"] = like(filter.text.lower().replace("\0", ""))
    if filter.group:
        terms.append(GIVEN)
        values["group"] = filter.group
    if filter.members is not None:
        terms.append(FOR_MEMBERS)
        values["members"] = list(filter.members)
    if filter.assigned:
        terms.append(ASSIGNED)
        values["assigned"] = list(filter.assigned)
    if filter.awake_for:
        terms.append(AWAKE)
        values["awake_for"] = filter.awake_for
    return terms, values


def _of_few_runs(db: Connection, filter: Filter) -> list[int] | None:
    """The runs by which interrupts are found, if those are few; None if it is better to go through
    the inbox."""
    values: dict[str, Any] = {
        "changed": filter.changed,
        "session": filter.session,
        "program": filter.program,
    }
    few = f"limit {FEW}"
    if filter.changed:
        sql, few = CHANGED, ""
    elif filter.session or filter.program:
        if filter.session:
            equal = "session = %(session)s and session <> ''"
        else:
            equal = "program = %(program)s"
        parts: list[str] = []
        for view in GOES_ON:
            parts.append(
                f"(select n from adjourn.run where {equal} and shown = '{view}' limit {FEW})"
            )
        sql = f"select n from ({' union all '.join(parts)}) u"
    elif filter.label:
        values |= {"key": filter.label[0], "value": filter.label[1]}
        sql = "select run from adjourn.label where key = %(key)s and value = %(value)s"
    else:
        return None
    found = planned(db, f"{sql} {few}", values)
    if few and len(found) >= FEW:
        return None
    return first_column(found)


def _place(db: Connection, after: str) -> Any:
    """Where in the inbox an interrupt is, or was, by its public id or as `run:id`; None if there is
    no such thing."""
    if not after:
        return None
    for place, letter in enumerate(after):
        if letter == ":":
            found = messages(db, [PLACE_IN_RUN], {"run": after[:place], "i": after[place + 1 :]})[0]
            if found:
                return found[0]
    found = messages(db, [PLACE], {"i": after})[0]
    return found[0] if found else None
