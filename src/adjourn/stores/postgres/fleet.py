"""The cards of workers and the queues of programs in PostgreSQL: statements, and what is made of
their rows."""

from typing import Any

import msgspec

from adjourn.stores.fleet import WorkerCard
from adjourn.stores.rules.reads_and_writes import Writes

card = msgspec.json.Decoder(WorkerCard).decode
ROSTER = "select body from adjourn.roster order by id"
PUT = """
insert into adjourn.roster values (%(card_id)s, %(card)s) on conflict (id) do update set body = excluded.body
"""
DROP = "delete from adjourn.roster where id = any(%(drop_cards)s::text[])"
TICKETS = "select value from adjourn.meta where key = 'tickets'"
PUT_TICKETS = """
insert into adjourn.meta values ('tickets', %(tickets)s) on conflict (key) do update set value = excluded.value
"""
QUEUES = """
with free (program, at) as (
    select program, ready_at from adjourn.run where ready_at is not null
    union all
    select program, wake_at from adjourn.run
        where wake_at > 0 and wake_at <= %(now)s and worker = '' and status in ('waiting', 'stuck')),
taken (program) as (select program from adjourn.run where worker <> '')
select program, sum(ready)::bigint, coalesce(min(at), 0), sum(working)::bigint from (
    select program, 1 as ready, at, 0 as working from free
    union all select program, 0, null, 1 from taken
) x group by program order by program
"""
CENSUS = """
with recursive named (program) as (
    select min(program) from adjourn.run
    union all
    select (select min(r.program) from adjourn.run r where r.program > named.program) from named
        where named.program is not null),
view (shown) as (values ('cancelling'), ('failed'), ('paused'), ('pausing'), ('ready'), ('stuck'), ('waiting')),
counted (program, shown, runs) as (
    select program, shown, (select count(*) from (
        select 1 from adjourn.run r where r.program = named.program and r.shown = view.shown limit %(most)s) x)
    from named, view where program is not null)
select program, shown, runs from counted where runs > 0 order by program collate "C", shown
"""
SIZE = """
select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
    where relnamespace = 'adjourn'::regnamespace and relkind = 'r'
"""


def card_values(writes: Writes) -> dict[str, Any]:
    """What `PUT` is given."""
    assert writes.card is not None
    return {"card_id": writes.card.id, "card": msgspec.json.encode(writes.card).decode()}
