"""Runs that are due, in PostgreSQL: for whoever lists them, and for whoever takes them."""

from typing import Any

from adjourn.stores.postgres.rows import COLUMNS
from adjourn.stores.rules.transaction import Find

GOES_ON = "('ready', 'waiting', 'failed', 'pausing', 'paused', 'cancelling', 'stuck')"
"""Under what those are listed that have not ended."""
_EARLIER = f"""
select b.id from adjourn.run b where b.session = r.session and b.session <> '' and b.n < r.n and b.shown in {GOES_ON}
"""
_WAITS = f"(r.queued and r.epoch = 0 and r.status not in ('cancelling', 'stuck') and exists ({_EARLIER}))"
"""It was started with a queue, has not begun, and one of its session that was started before it has
not ended."""
AHEAD = f"""
select e.id from adjourn.run r cross join lateral ({_EARLIER} order by b.n limit 1) e
where r.id = %(run)s and r.session <> '' and r.queued and r.epoch = 0 and r.status not in ('cancelling', 'stuck')
"""
BLOCKED = f"select {COLUMNS} from adjourn.run r where r.blocked <> '{{}}'"
ASLEEP = f"""
select {COLUMNS} from adjourn.run r where r.n in (
    select n from adjourn.run where shown in ('ready', 'pausing', 'cancelling')
    union select n from adjourn.run where wake_at > 0
    union select n from adjourn.run where blocked <> '{{}}')
"""
_RESTING = "r.status in ('waiting', 'stuck')"
_LIFTED = "not r.blocked && array(select h.scope from adjourn.halt h)"
_MINE = "r.program = any(%(programs)s::text[])"
DUE = f"""
select {COLUMNS} from adjourn.run r where r.n in (
    select n from adjourn.run where shown in ('ready', 'pausing', 'cancelling')
    union select n from adjourn.run where wake_at > 0 and wake_at <= %(now)s
    union select n from adjourn.run where blocked <> '{{}}'
) and {_MINE} and not {_WAITS} and (
    r.status in ('ready', 'pausing', 'cancelling')
    or ({_RESTING} and ((r.wake_at > 0 and r.wake_at <= %(now)s) or (r.blocked <> '{{}}' and {_LIFTED})))
) order by r.priority desc, r.updated_at, r.n limit %(limit)s
"""

# Taking: what somebody else is just taking is passed over. Each kind by its own small index.
_TAKE = (
    f"select {COLUMNS} from adjourn.run r where {_MINE} and r.id <> "
    f"all(%(but)s::text[]) and not {_WAITS} and"
)
_FIRST = "order by r.priority desc"
_TAKEN = "limit %(limit)s for no key update of r skip locked"
_OWNERS = """
with recursive owner (id) as (
    (select worker from adjourn.run where worker <> '' order by worker limit 1)
    union all
    select (select worker from adjourn.run where worker > o.id and worker <> '' order by worker limit 1)
    from owner o where o.id is not null)
select o.id from owner o left join adjourn.worker w on w.id = o.id where o.id is not null and (
    o.id = any(%(replaces)s::text[]) or coalesce(w.until, 0) = 0
    or (w.until <= %(now)s and (%(spares)s = '' or not starts_with(o.id, %(spares)s))))
"""
"""The workers that have runs and are gone: each is found by one step in the index of owners."""
_DUE_AT_ALL = f"""
(r.status in ('ready', 'pausing', 'cancelling')
    or ({_RESTING} and ((r.wake_at > 0 and r.wake_at <= %(now)s) or (r.blocked <> '{{}}' and {_LIFTED}))))
"""
LOST = f"{_TAKE} r.worker <> '' and r.worker = any(array({_OWNERS})) and {_DUE_AT_ALL} {_FIRST} {_TAKEN}"
READY = f"{_TAKE} r.ready_at is not null {_FIRST}, r.ready_at, r.n {_TAKEN}"
WOKEN = (
    f"{_TAKE} r.wake_at > 0 and r.wake_at <= %(now)s and r.worker = '' and {_RESTING} "
    f"{_FIRST}, r.wake_at {_TAKEN}"
)
FREED = (
    f"{_TAKE} r.blocked <> '{{}}' and {_LIFTED} and r.worker = '' and {_RESTING} {_FIRST} {_TAKEN}"
)
FIND = (LOST, READY, WOKEN, FREED)


def values_of(find: Find, now: float) -> dict[str, Any]:
    """What the statements of `FIND` are given."""
    return {
        "programs": list(find.programs),
        "but": list(find.but),
        "limit": find.limit,
        "now": now,
        "replaces": list(find.replaces),
        "spares": find.spares,
    }
