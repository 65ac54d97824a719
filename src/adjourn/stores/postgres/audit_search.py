"""Lines of the audit in PostgreSQL, newest first, by one index at a time."""

from itertools import starmap
from typing import Any

from adjourn.core.codec import encode
from adjourn.stores.audit import (
    LONGEST,
    SECURITY,
    AuditFilter,
    FoundLine,
    narrowest,
    newest_first,
    placed,
)
from adjourn.stores.postgres.connections import Connection
from adjourn.stores.postgres.lists import planned


def said(name: str) -> str:
    """What a line says under a name, as an index has it: still escaped as in JSON."""
    return rf"""substring(body from '"{name}":"((?:[^"\\]|\\.)*)"')"""


INDEXES = {
    "tool": said("tool"),
    "by": said("by"),
    "agent": said("agent"),
    "verb": f"coalesce(nullif({said('verdict')}, ''), {said('verb')})",
}
KNOWN = f"""
select a.scope, a.n, a.body, a.head, coalesce(r.program, ''), coalesce(r.title, ''),
    coalesce(case when length(o.body) <= {LONGEST} then o.body end, ''),
    coalesce(case when length(d.body) <= {LONGEST} then d.body end, ''), coalesce(x.state, ''),
    coalesce(cardinality(x.disowned), 0) > 0
from ({{lines}}) a
left join adjourn.run r on r.id = a.scope
left join adjourn.interrupt x on x.run = r.n and x.i = {said("interrupt")}
left join adjourn.journal o on o.run = r.n and o.seq = x.seq
left join adjourn.journal d on d.run = r.n and {said("verb")} in ('answer', 'veto')
    and d.seq = substring(a.body from '"seq":([0-9]+)')::bigint
""".replace("substring(body", "substring(a.body")


def look(
    db: Connection, wanted: AuditFilter, security: bool, before: str, limit: int
) -> list[FoundLine]:
    """See `stores.audit.newest`."""
    conditions, values = list[str](), dict[str, Any](limit=limit)
    order = "at desc, scope desc, n desc"
    place = "(at, scope, n) < (%(at)s, %(scope)s, %(n)s)"
    if security:
        order, place = "at desc, n desc", "(at, n) < (%(at)s, %(n)s)"
        conditions.append(f"scope = '{SECURITY}'")
    elif wanted.run:
        order, place = "n desc", "n < %(n)s"
        conditions.append(f"scope = %(run)s and scope <> '{SECURITY}'")
        values["run"] = wanted.run
    else:
        conditions.append(f"scope <> '{SECURITY}'")
        if name := narrowest(wanted):
            conditions.append(f"{INDEXES[name]} = %({name}s)s")
            values[f"{name}s"] = encode(getattr(wanted, name)).decode()[1:-1]
    if before:
        at, scope, number = placed(before)
        conditions.append(place)
        values |= {"at": at, "scope": scope, "n": number}
    if wanted.since:
        conditions.append("at >= %(since)s")
        values["since"] = wanted.since
    if wanted.until:
        conditions.append("at <= %(until)s")
        values["until"] = wanted.until
    lines = (
        f"select scope, n, body, head from adjourn.audit where {' and '.join(conditions)} "
        f"order by {order} limit %(limit)s"
    )
    rows = planned(db, KNOWN.format(lines=lines), values)
    return newest_first(wanted, starmap(FoundLine, rows))
