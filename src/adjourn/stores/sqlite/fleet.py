"""The cards of workers and the queues of programs in a SQLite file: functions of a connection."""

from typing import Any

import msgspec

from adjourn.stores.rules.reads_and_writes import Writes

_PUT = "insert into roster values (?, ?) on conflict (id) do update set body = excluded.body"
_TICKETS = "select value from meta where key = 'tickets'"
_PUT_TICKETS = "insert or replace into meta values ('tickets', ?)"
QUEUES = """
with free (program, at) as (
    select program, updated_at from run indexed by run_due
        where status in ('ready', 'pausing', 'cancelling') and worker = ''
    union all
    select program, wake_at from run indexed by run_wake
        where wake_at > 0 and wake_at <= :now and worker = '' and status in ('waiting', 'stuck')),
taken (program) as (select program from run indexed by run_worker where worker <> '')
select program, sum(ready), coalesce(min(at), 0.0), sum(working) from (
    select program, 1 as ready, at, 0 as working from free
    union all select program, 0, null, 1 from taken
) group by program order by program
"""
CENSUS = """
with recursive named (program) as (
    select min(program) from run
    union all
    select (select min(r.program) from run r where r.program > named.program) from named
        where named.program is not null),
view (shown) as (values ('cancelling'), ('failed'), ('paused'), ('pausing'), ('ready'), ('stuck'), ('waiting')),
counted (program, shown, runs) as (
    select program, shown, (select count(*) from (
        select 1 from run r where r.program = named.program and r.shown = view.shown limit :most))
    from named, view where program is not null)
select program, shown, runs from counted where runs > 0 order by program, shown
"""
SIZE = "select page_count * page_size from pragma_page_count, pragma_page_size"


def write_cards(db: Any, writes: Writes) -> None:
    """What a rule says of workers' cards, and of tickets."""
    for worker in writes.drop_cards:
        db.execute("delete from roster where id = ?", (worker,))
    if card := writes.card:
        db.execute(_PUT, (card.id, msgspec.json.encode(card).decode()))
    if writes.tickets is not None:
        db.execute(_PUT_TICKETS, (writes.tickets,))


def tickets(db: Any) -> str:
    """What is kept of the tickets of tools."""
    found = db.execute(_TICKETS).fetchone()
    if found is None:
        return ""
    return found[0]
