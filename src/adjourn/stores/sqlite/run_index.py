"""The index of runs in a SQLite file."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from adjourn.core.codec import encode
from adjourn.stores.run_index import COUNTED, CountedRun, RunEntry, count_of, dump_facts, entry_of
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite.batch_thread import BatchThread
from adjourn.stores.sqlite.connection import written_beside
from adjourn.stores.sqlite.rows import COLUMNS, run_row

ENTRY = "x.run, x.seq, t.text, x.cost, x.tokens, x.took, x.waited, t.facts"
STALE = "select run from index_due order by run desc limit ?"
ROWS = f"select {COLUMNS} from run where n in (select value from json_each(?)) order by n desc"
ENTRIES = (
    f"select {ENTRY} from json_each(?) d cross join index_number x on x.run = d.value "
    f"cross join index_text t on t.run = d.value"
)
BEGAN = (
    f"select {COLUMNS} from run not indexed where n < ? and created_at between ? and ? "
    f"and erased = 0 order by n desc limit ?"
)
COUNTS = (
    f"select {', '.join(f'r.{name}' for name in COUNTED)}, t.facts from run r not indexed "
    "left join index_text t on t.run = r.n where r.n < ? and r.created_at >= ? "
    "and r.created_at < ? and r.erased = 0 and (? is null or exists (select 1 from label "
    "where label.key = ? and label.value = ? and label.run = r.n)) order by r.n desc limit ?"
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


class SQLiteRunIndex:
    """See `RunIndex`. Entries are written over a connection of their own: nobody's commit waits for
    one to be made."""

    def __init__(self, reader: BatchThread, connect: Callable[[], Any]) -> None:
        self._reader, self._connect = reader, connect

    async def stale(self, limit: int) -> list[tuple[RunRow, RunEntry | None]]:
        """See `RunIndex.stale`."""
        return await self._reader.ask(lambda db: _stale(db, limit))

    async def put(self, entries: Sequence[RunEntry]) -> None:
        """See `RunIndex.put`."""
        if entries:
            await asyncio.to_thread(self._write, entries)

    async def entries(
        self, since: float, until: float, *, after: str = "", limit: int = 100
    ) -> list[tuple[RunRow, RunEntry]]:
        """See `RunIndex.entries`."""
        return await self._reader.ask(lambda db: _page(db, since, until, after, limit))

    async def counts(
        self,
        since: float,
        until: float,
        *,
        after: int = 0,
        limit: int = 500,
        label: tuple[str, str] | None = None,
    ) -> list[CountedRun]:
        """See `RunIndex.counts`."""
        name, value = label or (None, None)
        values = (after or 1 << 40, since, until, name, name, value, limit)
        return await self._reader.ask(
            lambda db: list(map(count_of, db.execute(COUNTS, values).fetchall()))
        )

    def _write(self, entries: Sequence[RunEntry]) -> None:
        with written_beside(self._connect, "the index of runs") as db:
            for entry in entries:
                _put(db, entry)


def _stale(db: Any, limit: int) -> list[tuple[RunRow, RunEntry | None]]:
    numbers = [number for (number,) in db.execute(STALE, (limit,)).fetchall()]
    wanted = encode(numbers).decode()
    rows = list(map(run_row, db.execute(ROWS, (wanted,)).fetchall()))
    known = _entries(db, rows)
    return [(row, known.get(row.n)) for row in rows]


def _page(
    db: Any, since: float, until: float, after: str, limit: int
) -> list[tuple[RunRow, RunEntry]]:
    last = 1 << 40
    if after:
        found = db.execute("select n from run where id = ?", (after,)).fetchone()
        if found is None:
            return []
        last = found[0]
    rows = list(map(run_row, db.execute(BEGAN, (last, since, until, limit)).fetchall()))
    known = _entries(db, rows)
    return [(row, known.get(row.n) or RunEntry(row.id)) for row in rows]


def _entries(db: Any, rows: Sequence[RunRow]) -> dict[int, RunEntry]:
    ids = {row.n: row.id for row in rows}
    found: dict[int, RunEntry] = {}
    for row in db.execute(ENTRIES, (encode(list(ids)).decode(),)).fetchall():
        found[row[0]] = entry_of(ids[row[0]], row)
    return found


def _put(db: Any, entry: RunEntry) -> None:
    there = db.execute(THERE, (entry.run, entry.seq, entry.seq)).fetchone()
    if there is None:
        return
    numbers = (entry.seq, entry.cost, entry.tokens, entry.took, entry.waited)
    db.execute(NUMBERS, (*there, *numbers))
    db.execute("delete from index_text where run = ?", there)
    db.execute("insert into index_text values (?, ?, ?)", (*there, entry.text, dump_facts(entry)))
    db.execute(DONE, (*there, entry.seq))
