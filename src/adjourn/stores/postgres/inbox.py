"""The inbox of a PostgreSQL database: in looks of which each has an end, along the index of what
waits."""

from collections.abc import Iterable, Iterator
from typing import Any

from adjourn.core.codec import decode
from adjourn.core.interrupt import Interrupt
from adjourn.stores.inbox_terms import (
    GOES_ON,
    IN_INBOX,
    UNUSUAL,
    InboxWalk,
    wanted_terms,
)
from adjourn.stores.item_note import ItemMark
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.lists import FEW, LABELLED, like, planned
from adjourn.stores.protocol import Filter
from adjourn.stores.rows import first_column
from adjourn.stores.rules.inbox_filter import BRIEFLY, shown
from adjourn.stores.rules.run_filter import given

WAITING = f"{IN_INBOX} and (x.expires = 0 or x.expires > %(now)s)"
DECIDABLE = "(case when r.status in ('cancelling', 'stuck') then x.undoing else true end)"
RECORD = "join adjourn.journal j on j.run = x.run and j.seq = x.seq"
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
    in_slices = few is None and not filter.interrupt
    in_slices = in_slices and (filter.members is not None or bool(given(filter, UNUSUAL)))
    walk = InboxWalk(
        lambda sql, given: planned(db, sql, given),
        "%({})s".format,
        "adjourn.",
        f"{source} join adjourn.run r on r.n = x.run",
        RECORD,
        lambda row: _item(db, row),
    )
    return walk.looks(filter, terms, values, FIRST if in_slices else 0, LOOK)


def marks(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, str], ItemMark]:
    """See `Store.marks`, of the rows of `MARKS`."""
    return {(run, id): ItemMark(given, decode(snoozed)) for run, id, given, snoozed in rows}


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
