"""The index of runs in a SQLite file."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from adjourn.stores.rows import Rows
from adjourn.stores.run_index import COUNTED, RunEntry, TableRunIndex, dump_facts
from adjourn.stores.sqlite.connection import written_beside
from adjourn.stores.sqlite.rows import COLUMNS, run_row

ENTRY = "x.run, x.seq, t.text, x.cost, x.tokens, x.took, x.waited, t.facts"
STALE = (
    f"select {COLUMNS} from run where n in (select run from index_due order by run desc limit :limit) "
    "order by n desc"
)
ENTRIES = (
    f"select {ENTRY} from json_each(:runs) d cross join index_number x on x.run = d.value "
    f"cross join index_text t on t.run = d.value"
)
BEGAN = (
    f"select {COLUMNS} from run not indexed "
    "where n < case :after when '' then 1 << 40 else (select n from run where id = :after) end "
    "and created_at between :since and :until and erased = 0 order by n desc limit :limit"
)
COUNTS = (
    f"select {', '.join(f'r.{name}' for name in COUNTED)}, t.facts from run r not indexed "
    "left join index_text t on t.run = r.n where r.n < case :after when 0 then 1 << 40 else :after end "
    "and r.created_at >= :since and r.created_at < :until and r.erased = 0 "
    "and (:name = '' or exists (select 1 from label "
    "where label.key = :name and label.value = :value and label.run = r.n)) order by r.n desc limit :limit"
)
THERE = (
    "select n from run where id = ? and erased = 0 and seq >= ? and not exists "
    "(select 1 from index_number x where x.run = n and x.seq > ?)"
)
NUMBERS = "insert or replace into index_number values (?, ?, ?, ?, ?, ?)"
DONE = (
    "delete from index_due where run = ? and exists (select 1 from run where n = index_due.run "
    "and (seq <= ? or worker <> ''))"
)
"""A run that a worker has comes to rest again."""


class SQLiteRunIndex(TableRunIndex):
    """See `RunIndex`. Entries are written over a connection of their own: nobody's commit waits for
    one to be made."""

    _stale, _began, _entries, _counts = STALE, BEGAN, ENTRIES, COUNTS

    def __init__(self, rows: Rows, connect: Callable[[], Any]) -> None:
        super().__init__(rows, run_row)
        self._connect = connect

    async def put(self, entries: Sequence[RunEntry]) -> None:
        """See `RunIndex.put`."""
        if entries:
            await asyncio.to_thread(self._write, entries)

    def _write(self, entries: Sequence[RunEntry]) -> None:
        with written_beside(self._connect, "the index of runs") as db:
            for entry in entries:
                _put(db, entry)


def _put(db: Any, entry: RunEntry) -> None:
    there = db.execute(THERE, (entry.run, entry.seq, entry.seq)).fetchone()
    if there is None:
        return
    numbers = (entry.seq, entry.cost, entry.tokens, entry.took, entry.waited)
    db.execute(NUMBERS, (*there, *numbers))
    db.execute("delete from index_text where run = ?", there)
    db.execute("insert into index_text values (?, ?, ?)", (*there, entry.text, dump_facts(entry)))
    db.execute(DONE, (*there, entry.seq))
