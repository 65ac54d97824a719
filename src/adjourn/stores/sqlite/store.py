"""Journals in one SQLite file, safe with several processes on it. Needs `apsw`, which brings a
current SQLite."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from adjourn.core.codec import encode
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord
from adjourn.core.status import Status
from adjourn.errors import AdjournError, StoreError
from adjourn.stores.channel import Ears
from adjourn.stores.item_note import ItemMark
from adjourn.stores.outbox import Endpoint
from adjourn.stores.polled_channel import PolledChannel
from adjourn.stores.protocol import Bell, Filter, Turn
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.rules.transaction import Each, RecordedRefusal, StoreRule, Whole
from adjourn.stores.run_row import RunRow, open_stores
from adjourn.stores.sqlite import lists, removal
from adjourn.stores.sqlite.audit import SQLiteAudit
from adjourn.stores.sqlite.batch_thread import BatchThread
from adjourn.stores.sqlite.connection import bring_up_to_date, connect, transaction
from adjourn.stores.sqlite.conversation_turns import FOLLOWED, read_turns
from adjourn.stores.sqlite.due import due
from adjourn.stores.sqlite.fleet import CENSUS, QUEUES, SIZE
from adjourn.stores.sqlite.guest_threads import SQLiteThreads
from adjourn.stores.sqlite.heartbeat import SQLitePulse
from adjourn.stores.sqlite.live_channel import sqlite_channel
from adjourn.stores.sqlite.rows import (
    ENDED_RUNS,
    MISFITS,
    endpoints,
    marks,
    read_blobs,
    read_journal,
    read_key,
    read_row,
    rewrap,
    run_row,
)
from adjourn.stores.sqlite.run_index import SQLiteRunIndex
from adjourn.stores.sqlite.scrub import is_unscrubbed, scrub
from adjourn.stores.sqlite.snapshots import SQLiteSnapshots
from adjourn.stores.sqlite.transaction import SQLiteBook
from adjourn.stores.sqlite.write_ahead_log import WriteAheadLog
from adjourn.stores.subscriptions import Subscriptions
from adjourn.stores.work_request import WorkRequest

if TYPE_CHECKING:
    from adjourn.stores.secret_keys import KeyRing

log = logging.getLogger("adjourn.store")

HOT, IDLE = 0.05, 1.0
"""How often other processes' writes are looked for: while somebody follows a run, and otherwise."""
CACHE = 32 * 1024
"""KiB that lists may keep of the file: the runs that are looked at for one page lie far from each
other."""
TURN = 0.005
"""Seconds after which a list lets others have their turn, and goes on after them."""
RARELY = 20
"""A look takes at most one part in so many of the event loop's time, however many runs are
followed."""


class OtherWriters:
    """Whether others have written. Our own writer finds out in every transaction that it begins, so
    what only it has written is no reason to look at all the runs that somebody follows."""

    def __init__(self, book: SQLiteBook) -> None:
        self._book = book
        self._unsure = False
        self._begins = self._noticed = 0

    def begin(self) -> None:
        """What was written before is no news."""
        self._begins, self._noticed = self._book.begins, self._book.noticed
        self._unsure = False

    def wrote(self, changed: bool) -> bool:
        """Whether others may have written what nobody has looked at; `changed`: since this was
        asked last, somebody has.

        If our writer was at work meanwhile, it may have been the only one. That is known when it
        has begun a transaction since. If it begins none until this is asked again, it is not waited
        for.
        """
        begins, noticed = self._book.begins, self._book.noticed
        rests, told = begins == self._begins, noticed != self._noticed
        found = told or (rests and (changed or self._unsure))
        self._unsure = changed and not found
        self._begins, self._noticed = begins, noticed
        return found

    def look_again(self) -> None:
        """What was found could not be looked at."""
        self._noticed = -1


class SQLiteStore(SQLiteAudit):
    """A `Store` in a file: WAL, `synchronous=FULL`, one writer thread, group commit."""

    _followed, _unfit, _queues, _census, _size = FOLLOWED, MISFITS, QUEUES, CENSUS, SIZE

    def __init__(self, path: str, now: Callable[[], float] = time.time) -> None:
        path = self.path = os.path.abspath(path)  # the process may go to another folder
        self.now = now
        open_stores.add(self)
        self.commits = 0
        self.transactions = 0
        self._bells = Subscriptions()
        self._watch: asyncio.Task[None] | None = None
        self._version: Any = None
        self._connect = lambda: connect(path)
        self._db = connect(path)
        bring_up_to_date(self._db, path)
        self._file = _file(path)
        self._log = WriteAheadLog(path, self._connect)
        self._reading = connect(path)
        self._watching = connect(path)
        self._heads: dict[str, int] = {}
        self._halts: Any = (0, None)
        self._rows = SQLiteBook(self._db, now)
        self._others = OtherWriters(self._rows)
        self._level = "full"
        self._writer = BatchThread("adjourn-writer", self._transact, self._db.close)
        self._reader = BatchThread(
            "adjourn-reader",
            lambda batch: self._read(batch, lambda: self._reading),
            self._reading.close,
        )
        self._listing: Any = None
        self._lists = BatchThread(
            "adjourn-lists", lambda batch: self._read(batch, self._for_lists), self._end_lists
        )

    # The writer thread

    def _transact(self, batch: list[WorkRequest]) -> None:
        # A lease lost with the power costs nothing; the next FULL commit syncs it.
        light = all(request.work.light for request in batch)
        try:
            self._check_file()
            self._log.keep_short()
            self._synchronous("normal" if light else "full")
            together = self._attempt(batch)
        except Exception as e:
            for request in batch:
                request.error = self._failure(e)
            return
        if together:
            done = sum(request.error is None for request in batch)
            self.transactions += bool(done) and not light
            self.commits += done
            return
        for request in batch:
            request.result = request.error = None
            self._transact([request])

    def _attempt(self, batch: list[WorkRequest]) -> bool:
        """All of them in one transaction. False: one could not be written, so each must have its
        own.

        A rule that refuses has written nothing: it leaves the others as they are. Whatever else is
        raised is not a rule's.
        """
        db, rows, ruled = self._db, self._rows, False
        db.execute("begin immediate")
        try:
            rows.begun()
            for request in batch:
                try:
                    request.result = rule_transaction.carried_out(rows, request.work)
                    ruled = True
                except AdjournError as e:
                    request.error = e
            rule_transaction.settled(rows)
        except BaseException:
            self._take_back()
            if len(batch) == 1:
                raise
            return False
        if not ruled:
            self._take_back()
            return True
        try:
            db.execute("commit")
        except BaseException:
            self._take_back()
            raise
        rows.committed()
        return True

    def _take_back(self) -> None:
        self._rows.forget()
        with suppress(apsw.Error):  # a full disk has taken it back already
            self._db.execute("rollback")

    def _failure(self, error: Exception) -> AdjournError:
        if isinstance(error, AdjournError):
            return error
        return StoreError(f"{self.path}: {type(error).__name__}: {error}")

    def _check_file(self) -> None:
        """What is written into a file that has no name any more is gone when it is closed, so it is
        not acknowledged."""
        if _file(self.path) != self._file:
            text = (
                "the database was deleted or replaced while it was open; stop this "
                "process, and start it again"
            )
            raise StoreError(f"{self.path}: {text}", consequence="nothing was changed")

    def _synchronous(self, level: str) -> None:
        if level != self._level:
            self._db.execute(f"pragma synchronous={level}")
            self._level = level

    async def _write(
        self, rule: StoreRule | Each | Whole, *, ring: str | None = None, own: bool = False
    ) -> Any:
        result = await self._writer.ask(rule)
        if ring is not None:
            self._ring(ring, own=own)
        if isinstance(result, RecordedRefusal):
            raise result.error
        return result

    def _ring(self, run: str, *, own: bool) -> None:
        self._bells.ring(run, own=own)

    def _read(self, batch: list[WorkRequest], connection: Callable[[], Any]) -> None:
        checked = False
        for request in batch:
            try:
                # once for those that came together; if it is wrong, for each of them
                if not checked:
                    self._check_file()
                    checked = True
                request.result = request.work(connection())
            except AdjournError as e:
                request.error = e
            except Exception as e:
                request.error = StoreError(f"{self.path}: {type(e).__name__}: {e}")

    def _for_lists(self) -> Any:
        """A connection of their own, in a thread of their own: nobody who wants to know one thing
        waits for a long list."""
        if self._listing is None:  # many processes never list anything
            self._listing = self._connect()
            self._listing.pragma("cache_size", -CACHE)
        return self._listing

    def _end_lists(self) -> None:
        if self._listing is not None:
            self._listing.close()

    async def _in_turns(self, begin: Callable[[Any], Iterator[list[Any]]]) -> list[Any]:
        """What a list finds, look by look; it is begun by the thread that has the connection."""
        found: list[Any] = []
        looks: Iterator[list[Any]] | None = None

        def look(db: Any) -> bool:
            nonlocal looks
            if looks is None:
                looks = begin(db)
            until = time.perf_counter() + TURN
            for part in looks:
                found.extend(part)
                if time.perf_counter() >= until:
                    return True
            return False

        while await self._lists.ask(look):
            continue
        return found

    async def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `TableStore.rows`. A list is JSON there."""
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = encode(value).decode()
        return await self._reader.ask(lambda db: db.execute(sql, values).fetchall())

    # Store

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        return await self._reader.ask(lambda db: read_row(db, run))

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        return await self._reader.ask(lambda db: read_journal(db, run, after))

    @property
    def address(self) -> str:
        """See `Store.address`."""
        return f"sqlite:///{self.path}"

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`."""
        return await self._reader.ask(lambda db: read_turns(db, run, seq, limit))

    async def blobs(self, run: str, digests: Collection[str] | None = None) -> dict[str, bytes]:
        """See `Store.blobs`."""
        return await self._reader.ask(lambda db: read_blobs(db, run, digests))

    def wrapped_key(self, kid: str) -> str | None:
        """See `run_keys.HasRunKeys`. By a connection of its own: whoever asks may be any thread."""
        with closing(self._connect()) as db:
            return read_key(db, kid)

    async def rewrap(self, ring: "KeyRing") -> int:
        """See `Ruled.rewrap`."""

        def work() -> int:
            with closing(self._connect()) as db, transaction(db):
                return rewrap(db, ring)

        return await asyncio.to_thread(work)

    def pulse(self) -> SQLitePulse:
        """See `Store.pulse`."""
        return SQLitePulse(self._connect, self.now)

    def channel(self, ears: Ears) -> PolledChannel:
        """See `Store.channel`."""
        return sqlite_channel(self.path, ears)

    def snapshots(self) -> SQLiteSnapshots:
        """See `Store.snapshots`."""
        return SQLiteSnapshots(self._reader, self._connect)

    def run_index(self) -> SQLiteRunIndex:
        """See `Store.run_index`."""
        return SQLiteRunIndex(self.rows, self._connect)

    def guest_threads(self) -> SQLiteThreads:
        """See `Store.guest_threads`."""
        return SQLiteThreads(self.rows, self._connect, self.now)

    async def marks(self, items: Sequence[tuple[str, str]]) -> dict[tuple[str, str], ItemMark]:
        """See `Store.marks`."""
        return await self._reader.ask(lambda db: marks(db, items))

    async def ended(
        self,
        status: Status,
        before: float,
        *,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """See `Store.ended`."""
        sql, values = (
            ENDED_RUNS.format(status=Status(status).value),
            (before, *(after or (before + 1, "")), limit),
        )
        return await self._reader.ask(lambda db: list(map(run_row, db.execute(sql, values))))

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        return await self._reader.ask(lambda db: removal.weigh(db, runs))

    async def scrub(self, *, pruned: bool = False) -> bool:
        """See `Store.scrub`. It takes as long as writing the whole file anew."""
        if not await self._reader.ask(lambda db: is_unscrubbed(db, pruned)):
            return True
        return await asyncio.to_thread(scrub, self._connect, self.path, pruned)

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        now = self.now()
        return await self._reader.ask(lambda db: list(islice(due(db, programs, now), limit)))

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        now = self.now()
        return await self._in_turns(lambda db: lists.inbox_looks(db, filter, now))

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        now = self.now()
        return await self._in_turns(lambda db: lists.looks(db, filter, now))

    async def endpoints(
        self, put: Endpoint | None = None, *, drop: str = "", by: str = "", origin: str = ""
    ) -> list[Endpoint]:
        """See `Store.endpoints`."""
        if put is None and not drop:
            return await self._reader.ask(endpoints)
        return await super().endpoints(put, drop=drop, by=by, origin=origin)

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        cold = self._bells.idle
        end = self._bells.add(run, bell, words)
        loop = asyncio.get_running_loop()
        if self._watch and not self._watch.done() and self._watch.get_loop() is loop:
            watch = self._watch
        else:
            watch = None
        if watch is None:
            self._version = self._look_up()  # taken now: what is written after this line will ring
            self._others.begin()
        if watch is None or (run and cold):
            if watch is not None:
                watch.cancel()  # it may be in the middle of a long sleep
            self._watch = loop.create_task(self._look(), name="adjourn-watch")
        return end

    def _look_up(self) -> Any:
        """Changes with every commit of any other connection. The file-control of that name does not
        look at the file."""
        return self._watching.pragma("data_version")

    async def _look(self) -> None:
        """Ring for what other processes wrote."""
        took = 0.0
        while self._bells:
            await asyncio.sleep(IDLE if self._bells.idle else max(HOT, took * RARELY))
            began = time.thread_time()
            try:
                if _file(self.path) != self._file:
                    self._bells.ring("")  # whoever waits looks, and is told
                seen = self._look_up()
                if self._others.wrote(seen != self._version):
                    self._ring_changed()
                if seen != self._version:
                    self._bells.ring_any()
                    self._version = seen
            # it looks again: a process that does not hear others would go on past their words
            except apsw.Error as e:
                self._others.look_again()
                log.warning("%s: other processes' words could not be looked for: %s", self.path, e)
            took = time.thread_time() - began

    def _ring_changed(self) -> None:
        halts = self._watching.execute("select count(*), max(at) from halt").fetchone()
        if halts != self._halts:
            self._halts = halts
            self._bells.ring("")
        runs = self._bells.runs
        sql = "select r.id, r.seq from json_each(?) x join run r on r.id = x.value"
        for run, seq in self._watching.execute(sql, (encode(runs).decode(),)).fetchall():
            # What our own writer wrote is no news, also while its answer is still on its way to
            # this loop.
            if seq > self._heads.get(run, 0) and seq > self._rows.head(run):
                self._heads[run] = seq
                self._bells.ring(run)
        self._heads = {run: self._heads[run] for run in runs if run in self._heads}

    async def close(self) -> None:
        """See `Store.close`."""
        open_stores.discard(self)
        if (
            self._watch is not None
            and not self._watch.done()
            and self._watch.get_loop() is asyncio.get_running_loop()
        ):
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
        await self._writer.close()
        await self._reader.close()
        await self._lists.close()
        self._watching.close()


def _file(path: str) -> tuple[int, int]:
    """Which file has this name now; (0, 0) if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return found.st_dev, found.st_ino
