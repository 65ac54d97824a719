"""The index of runs in a PostgreSQL database."""

from collections.abc import Sequence
from typing import Any

from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.rows import COLUMNS, run_row
from adjourn.stores.rows import Ask, Rows
from adjourn.stores.run_index import COUNTED, RunEntry, TableRunIndex, dump_facts

_STALE = f"""
select {COLUMNS} from adjourn.run r
where r.n in (select run from adjourn.index_due order by k desc limit %(limit)s) and r.erased = 0 order by r.n desc
"""
_ENTRIES = """
select x.run, x.seq, t.text, x.cost, x.tokens, x.took, x.waited, t.facts
from adjourn.index_number x join adjourn.index_text t on t.run = x.run where x.run = any(%(runs)s::bigint[])
"""
_BEGAN = f"""
select {COLUMNS} from adjourn.run r where r.created_at between %(since)s and %(until)s and r.erased = 0
and (%(after)s = '' or r.n < (select n from adjourn.run where id = %(after)s)) order by r.n desc limit %(limit)s
"""
_COUNTS = f"""
select {", ".join(f"r.{name}" for name in COUNTED)}, t.facts
from adjourn.run r left join adjourn.index_text t on t.run = r.n
where r.created_at >= %(since)s and r.created_at < %(until)s and r.erased = 0
and (%(after)s = 0 or r.n < %(after)s) and (%(name)s = '' or exists (
    select 1 from adjourn.label l where l.key = %(name)s and l.value = %(value)s and l.run = r.n
)) order by r.n desc limit %(limit)s
"""
_THERE = """
select r.n, r.seq <= %(seq)s or r.worker <> '' from adjourn.run r where r.id = %(run)s and r.erased = 0 and r.seq >= %(seq)s
and not exists (select 1 from adjourn.index_number x where x.run = r.n and x.seq > %(seq)s) for share of r
"""
_NUMBERS = """
insert into adjourn.index_number values (%(n)s, %(seq)s, %(cost)s, %(tokens)s, %(took)s, %(waited)s)
on conflict (run) do update set seq = excluded.seq, cost = excluded.cost, tokens = excluded.tokens, took = excluded.took,
    waited = excluded.waited
"""
_TEXT = """
insert into adjourn.index_text values (%(n)s, %(text)s, %(facts)s)
on conflict (run) do update set text = excluded.text, facts = excluded.facts
"""
_DONE = "delete from adjourn.index_due where run = %(n)s"


class PostgresRunIndex(TableRunIndex):
    """See `RunIndex`. `ask`: lets a thread of the store do something with a connection."""

    _stale, _began, _entries, _counts = _STALE, _BEGAN, _ENTRIES, _COUNTS

    def __init__(self, rows: Rows, ask: Ask) -> None:
        super().__init__(rows, run_row)
        self._ask = ask

    async def put(self, entries: Sequence[RunEntry]) -> None:
        """See `RunIndex.put`."""
        for entry in entries:
            await self._ask(lambda db, entry=entry: _put(db, entry))


def _put(db: Connection, entry: RunEntry) -> None:
    """It may be lost with the server; an erasure waits for it, or it waits for the erasure."""
    with db.transaction():
        values: dict[str, Any] = {"run": entry.run, "seq": entry.seq}
        found = messages(db, ["set local synchronous_commit = off", _THERE], values)[-1]
        if not found:
            return
        number, is_done = found[0]
        values |= {
            "n": number,
            "cost": entry.cost,
            "tokens": entry.tokens,
            "took": entry.took,
            "waited": entry.waited,
            "text": entry.text,
            "facts": dump_facts(entry),
        }
        script = [_NUMBERS, _TEXT]
        if is_done:  # a run that a worker has comes to rest again
            script.append(_DONE)
        messages(db, script, values)
