"""Lines of the audit in SQLite, newest first, by one index at a time."""

from typing import Any

from adjourn.stores.audit import (
    LONGEST,
    SECURITY,
    AuditFilter,
    FoundLine,
    narrowest,
    newest_first,
    placed,
)

AT = "json_extract(body, '$.at')"
INDEXES = {
    "tool": ("audit_tool", "body ->> '$.tool'"),
    "by": ("audit_by", "body ->> '$.by'"),
    "agent": ("audit_agent", "body ->> '$.agent'"),
    "verb": ("audit_kind", "coalesce(nullif(body ->> '$.verdict', ''), body ->> '$.verb')"),
}
KNOWN = f"""
select a.scope, a.n, a.body, a.head, coalesce(r.program, ''), coalesce(r.title, ''),
    coalesce(case when length(o.body) <= {LONGEST} then o.body end, ''),
    coalesce(case when length(d.body) <= {LONGEST} then d.body end, ''), coalesce(x.state, ''),
    coalesce(x.disowned, '') <> ''
from ({{lines}}) a
left join run r on r.id = a.scope
left join interrupt x on x.run = r.n and x.i = a.body ->> '$.interrupt'
left join journal o on o.key = (r.n << 32 | x.seq)
left join journal d on d.key = (r.n << 32 | a.body ->> '$.seq')
    and a.body ->> '$.verb' in ('answer', 'veto')
"""


def look(db: Any, wanted: AuditFilter, security: bool, before: str, limit: int) -> list[FoundLine]:
    """See `stores.audit.newest`."""
    conditions, values, index = list[str](), dict[str, Any](limit=limit), "audit_time"
    order = f"{AT} desc, scope desc, n desc"
    if before:
        at, scope, number = placed(before)
        values |= {"at": at, "scope": scope, "n": number}
    # SQLite sees no range in the second alone
    place = [f"{AT} <= :at", f"({AT}, scope, n) < (:at, :scope, :n)"]
    if security:
        index = "audit_security"
        conditions.append(f"scope = '{SECURITY}'")
    elif wanted.run:
        index, order, place = "", "n desc", ["n < :n"]
        conditions += ("scope = :run", f"scope <> '{SECURITY}'")
        values["run"] = wanted.run
    else:
        conditions.append(f"scope <> '{SECURITY}'")
        if name := narrowest(wanted):
            index, expression = INDEXES[name]
            conditions.append(f"{expression} = :{name}")
            values[name] = getattr(wanted, name)
    if before:
        conditions += place
    if wanted.since:
        conditions.append(f"{AT} >= :since")
        values["since"] = wanted.since
    if wanted.until:
        conditions.append(f"{AT} <= :until")
        values["until"] = wanted.until
    # By name: SQLite would rather sort a whole chain than walk through an index.
    table = f"audit indexed by {index}" if index else "audit"
    lines = (
        f"select scope, n, body, head from {table} where {' and '.join(conditions)} "
        f"order by {order} limit :limit"
    )
    rows = db.execute(KNOWN.format(lines=lines), values)
    return newest_first(wanted, (FoundLine(*row[:-1], is_contested=bool(row[-1])) for row in rows))
