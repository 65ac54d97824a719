"""Journals in a PostgreSQL database, for any number of processes on any number of machines."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import psycopg

from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord
from adjourn.core.status import Status
from adjourn.errors import AdjournError, LeaseLost, UnknownRun
from adjourn.stores.address import without_password
from adjourn.stores.channel import Ears
from adjourn.stores.item_note import ItemMark
from adjourn.stores.outbox import Endpoint
from adjourn.stores.polled_channel import PolledChannel
from adjourn.stores.postgres import conversation_turns, due, fleet, inbox, lists, run_keys
from adjourn.stores.postgres.audit import PostgresAudit
from adjourn.stores.postgres.batch_threads import Crew, Work
from adjourn.stores.postgres.connections import (
    Connection,
    Pool,
    connect,
    is_cut,
    is_overtaken,
    is_passing,
    is_starting,
    messages,
    named,
    store_error,
    taken_apart,
)
from adjourn.stores.postgres.guest_threads import PostgresThreads
from adjourn.stores.postgres.heartbeat import PostgresPulse
from adjourn.stores.postgres.live_channel import postgres_channel
from adjourn.stores.postgres.migrations import bring_up_to_date
from adjourn.stores.postgres.read_statements import looked_for, name
from adjourn.stores.postgres.row_cache import Remembered
from adjourn.stores.postgres.rows import COLUMNS, run_row
from adjourn.stores.postgres.run_index import PostgresRunIndex
from adjourn.stores.postgres.scrub import is_unscrubbed, scrub
from adjourn.stores.postgres.snapshots import PostgresSnapshots
from adjourn.stores.postgres.standby_notice import StandbyNotice
from adjourn.stores.postgres.transaction import ComparedBook, LockedBook, Moved, is_plain
from adjourn.stores.postgres.watch import Watch
from adjourn.stores.protocol import Bell, Filter, Turn
from adjourn.stores.rows import parsed
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.rules.conversation_turns import turns_of
from adjourn.stores.rules.reads_and_writes import ReadRequest, Writes
from adjourn.stores.rules.transaction import Each, RecordedRefusal, StoreRule, Whole
from adjourn.stores.run_row import RunRow, open_stores, opened_bytes
from adjourn.stores.work_request import WorkRequest

if TYPE_CHECKING:
    from adjourn.stores.secret_keys import KeyRing

SIZE, LANES, LISTING = 8, 2, 2
"""How many connections a process has at most, over how many of them commits go that are compared,
and how many lists have beside them: nobody who wants to know one thing waits for a long list."""
PATIENCE = 15.0
"""Seconds for which a database may be away before a caller is told."""
OVERTAKEN = 10
"""So often a rule looks again because somebody else was faster."""
_LOAD = (
    "select seq, body from adjourn.journal where run = {} and seq > %(after)s and body "
    "is not null order by seq"
)
_RUN_NUMBER = "(select n from adjourn.run where id = %(run)s)"
_MISFITS = """
select m.body from adjourn.misfit m join adjourn.run r on r.n = m.run and r.seq = m.seq
where r.status not in ('completed', 'cancelled') and (%(runs)s::text[] = '{}' or r.id = any(%(runs)s::text[])) order by r.n
"""
_WEIGH = """
select coalesce(sum(octet_length(j.body)), 0)::bigint from adjourn.run r join adjourn.journal j on j.run = r.n
where r.id = any(%(runs)s::text[])
"""
_WEIGH_BLOBS = """
select coalesce(sum(octet_length(b.body)), 0)::bigint from adjourn.run r join adjourn.blob b on b.run = r.n
where r.id = any(%(runs)s::text[])
"""
_BLOBS = """
select b.digest, b.body, r.salt from adjourn.run r join adjourn.blob b on b.run = r.n
where r.id = %(run)s and (%(every)s or b.digest = any(%(digests)s::text[]))
"""


class PostgresStore(PostgresAudit):
    """A `Store` in PostgreSQL. All that waits is done by threads, over a pool of connections that
    keep nothing."""

    _followed, _unfit = conversation_turns.FOLLOWED, _MISFITS
    _queues, _census, _size = fleet.QUEUES, fleet.CENSUS, fleet.SIZE

    def __init__(
        self,
        address: str,
        now: Callable[[], float] | None = None,
        *,
        size: int = SIZE,
        compares: bool = True,
    ) -> None:
        """Open a database, and bring its schema up to date.

        Args:
            address: `postgresql://user:password@host:port/database`. `?listen=` may name a way
                around a pooler.
            now: the clock; without one, the database's.
            size: how many connections this process has at most.
            compares: whether commits are compared with what is remembered; if not, all of them
                lock.
        """
        self._address, self.where = address, without_password(address)
        self._info, self._direct = taken_apart(address)
        self._given, self._compares = now, compares
        self.locked = self.compared = self.messages = 0
        """Rules that were done under locks, those that were compared, and how many messages that
        took."""
        self._remembered = Remembered(now)
        self.now = self._remembered.now
        self._notice = StandbyNotice(self.where)
        self._begin()
        open_stores.add(self)
        self._pool = Pool(self._info)
        self._crew = Crew(size, LANES, self._together)
        self._lists = Crew(LISTING)
        self._watch = Watch(self._direct, self._notice, self.ask, self._remembered)

    def _begin(self) -> None:
        """A server that cannot be reached is told at once; one that cut us off, or that begins, is
        waited for."""
        until, pause, was_there = time.monotonic() + PATIENCE, 0.02, False
        while True:
            try:
                with connect(self._info) as db:
                    try:
                        return self._look(db)
                    except psycopg.Error as e:
                        was_there = was_there or is_cut(e)
                        raise
            except psycopg.Error as e:
                again = is_starting(e) or (was_there and is_passing(e))
                if not again or time.monotonic() > until:
                    raise store_error(self.where, e) from e
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _look(self, db: Connection) -> None:
        bring_up_to_date(db, self.where)
        book = LockedBook(db, self._remembered)
        book.read(ReadRequest())
        book.ending = True
        book.flush()

    @property
    def address(self) -> str:
        """See `Store.address`."""
        return self._address

    # Writing

    async def _write(
        self, rule: StoreRule | Each | Whole, *, ring: str | None = None, own: bool = False
    ) -> Any:
        if isinstance(rule, StoreRule) and self._compares and self._remembered.answers(rule.ask):
            result = await self._crew.ask_together(rule)
        else:
            if ring is not None and not own:
                notify = self._watch.word(ring)
            else:
                notify = ""
            result = await self._crew.ask(lambda: self._lock(rule, notify))
        if ring is not None:
            self._ring(ring, own=own)
        if isinstance(result, RecordedRefusal):
            raise result.error
        return result

    async def carry_out(self, rule: StoreRule) -> Any:
        """Do what a rule says that is no verb of a store."""
        return await self._write(rule)

    def _ring(self, run: str, *, own: bool) -> None:
        self._watch.bells.ring(run, own=own)

    def _lock(self, rule: StoreRule | Each | Whole, notify: str = "") -> Any:
        """Do one rule under locks, until its outcome is known."""
        tried: list[tuple[Any, list[Writes]]] = []
        until, overtaken, pause = time.monotonic() + PATIENCE, 0, 0.02
        while True:
            try:
                with self._pool.connection() as db:
                    return self._attempt(db, rule, notify, tried)
            except psycopg.Error as e:
                self._notice.heed(e)
                overtaken += is_overtaken(e)
                if is_overtaken(e):
                    again = overtaken <= OVERTAKEN
                else:
                    again = is_passing(e)
                if not again or time.monotonic() > until:
                    raise store_error(self.where, e) from e
                if not is_overtaken(e):
                    time.sleep(pause)
                    pause = min(2 * pause, 1.0)

    def _attempt(
        self,
        db: Connection,
        rule: StoreRule | Each | Whole,
        notify: str,
        tried: list[tuple[Any, list[Writes]]],
    ) -> Any:
        book = LockedBook(db, self._remembered, light=rule.light)
        book.notify = notify
        try:
            if landed := self._landed(book, tried):
                return landed[0]
            result = rule_transaction.carried_out(book, rule)
            if tried and not book.has_sent and (landed := self._landed(book, tried)):
                return landed[
                    0
                ]  # of a run that is begun there is no row to lock: it came meanwhile
            tried.append((result, book.writes))
            book.ending = True
            rule_transaction.settled(book)
        except psycopg.Error:  # nobody knows what came of it: the next attempt compares it again
            raise
        except BaseException as e:
            if isinstance(e, LeaseLost) and isinstance(rule, StoreRule):
                self._remembered.forget(rule.ask.run)
            for writes in book.writes:
                if writes.row is not None:
                    self._remembered.forget(writes.row.id)
            raise
        finally:
            _roll_back(db)
        self.locked += 1
        if book.has_sent or isinstance(rule, Each):  # to lock what is due is to write
            self._notice.end()
        self._keep(book.writes)
        return result

    def _landed(self, book: LockedBook, tried: list[tuple[Any, list[Writes]]]) -> tuple[Any] | None:
        """What an earlier attempt gave, if it was committed after all."""
        for result, writes in tried:
            if book.is_landed(writes):
                self._keep(writes)
                return (result,)
        return None

    def _keep(self, all: Sequence[Writes]) -> None:
        for writes in all:
            self._remembered.keep(writes)

    def _together(self, batch: list[WorkRequest]) -> list[tuple[WorkRequest, Work]]:
        """Do several commits in one message. Those that are not as remembered, and those that a
        rule refuses because of what is remembered, are done alone, under locks: only those
        refuse."""
        alone: list[WorkRequest] = []
        try:
            with self._pool.connection() as db:
                alone = self._compare(db, batch)
        except psycopg.Error:
            # nobody knows: their own records say
            alone = [request for request in batch if request.error is None]
        except BaseException as e:
            for request in batch:
                request.error = e
            alone = []
        return [(request, lambda request=request: self._lock(request.work)) for request in alone]

    def _compare(self, db: Connection, batch: list[WorkRequest]) -> list[WorkRequest]:
        book, alone = ComparedBook(db, self._remembered), list[WorkRequest]()
        done: dict[str, tuple[WorkRequest, Writes]] = {}
        for request in batch:
            rule: StoreRule = request.work
            if rule.ask.run in done or self._remembered.answers(rule.ask) is None:
                alone.append(request)
                continue
            try:
                request.result, writes = rule_transaction.worked(book, rule)
            except (AdjournError, Moved):
                alone.append(request)
                continue
            if is_plain(writes):
                book.write(writes)
                done[rule.ask.run] = request, writes
            else:
                alone.append(request)
        rule_transaction.settled(book)
        for request, writes in done.values():
            assert writes.row is not None
            if writes.row.n in book.landed:
                self.compared += 1
                self._remembered.keep(writes)
            else:  # what is remembered stays: under locks it shows whether another past is there
                alone.append(request)
        self.messages += 1
        return alone

    # Reading

    async def ask(self, work: Callable[[Connection], Any]) -> Any:
        """Let a thread do something with a connection that changes nothing; once more, if the
        connection was gone."""
        return await self._crew.ask(lambda: self._read(work))

    def _read(self, work: Callable[[Connection], Any]) -> Any:
        until, pause = time.monotonic() + PATIENCE, 0.02
        while True:
            try:
                with self._pool.connection() as db:
                    try:
                        return work(db)
                    finally:
                        _roll_back(db)
            except psycopg.Error as e:
                if not is_passing(e) or time.monotonic() > until:
                    raise store_error(self.where, e) from e
                time.sleep(pause)
                pause = min(2 * pause, 1.0)

    async def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `TableStore.rows`."""
        given = looked_for(values)
        return await self.ask(lambda db: messages(db, [named(sql)], given)[0])

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        found = await self.rows(
            f"select {COLUMNS} from adjourn.run r where r.id = %(run)s", run=name(run)
        )
        if not found:
            raise UnknownRun(run)
        return run_row(found[0])

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        script = ["select 1 from adjourn.run where id = %(run)s", _LOAD.format(_RUN_NUMBER)]
        values = {"run": name(run), "after": after}
        there, rows = await self.ask(lambda db: messages(db, script, values))
        if not there:
            raise UnknownRun(run)
        return parsed(rows)

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`."""
        return turns_of(
            await self.rows(conversation_turns.TURNS, run=name(run), seq=seq, limit=limit)
        )

    async def blobs(self, run: str, digests: Collection[str] | None = None) -> dict[str, bytes]:
        """See `Store.blobs`."""
        found = await self.rows(
            _BLOBS, run=name(run), every=digests is None, digests=list(digests or ())
        )
        return {digest: opened_bytes(bytes(salt), bytes(body)) for digest, body, salt in found}

    def wrapped_key(self, kid: str) -> str | None:
        """See `run_keys.HasRunKeys`. By a connection of its own: whoever asks may hold one of the
        pool's."""
        try:
            with connect(self._info) as db:
                found = messages(db, [run_keys.READ], {"kid": kid})[0]
        except psycopg.Error as e:
            raise store_error(self.where, e) from e
        return found[0][0] if found else None

    async def rewrap(self, ring: "KeyRing") -> int:
        """See `Ruled.rewrap`."""
        return await self.ask(lambda db: run_keys.rewrap(db, ring))

    def pulse(self) -> PostgresPulse:
        """See `Store.pulse`."""
        return PostgresPulse(self._info, self.where, self._given)

    def channel(self, ears: Ears) -> PolledChannel:
        """See `Store.channel`."""
        return postgres_channel(self.ask, ears)

    def snapshots(self) -> PostgresSnapshots:
        """See `Store.snapshots`."""
        return PostgresSnapshots(self.ask)

    def run_index(self) -> PostgresRunIndex:
        """See `Store.run_index`."""
        return PostgresRunIndex(self.rows, self.ask)

    def guest_threads(self) -> PostgresThreads:
        """See `Store.guest_threads`."""
        return PostgresThreads(self.rows, self.ask, self.now)

    async def marks(self, items: Sequence[tuple[str, str]]) -> dict[tuple[str, str], ItemMark]:
        """See `Store.marks`."""
        named = [(run, id) for run, id in items if "\0" not in run + id]
        runs, ids = [run for run, _ in named], [id for _, id in named]
        return inbox.marks(await self.rows(inbox.MARKS, runs=runs, ids=ids))

    async def ended(
        self,
        status: Status,
        before: float,
        *,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """See `Store.ended`."""
        at, id = after or (before + 1, "")
        sql = (
            f"select {COLUMNS} from adjourn.run r where r.status = '{Status(status).value}' "
            f"and r.rested_at <= %(before)s "
            "and (r.rested_at, r.id) < (%(at)s, %(id)s) order by r.rested_at desc, r.id desc limit %(limit)s"
        )
        values = {"before": before, "at": at, "id": id, "limit": limit}
        return list(map(run_row, await self.ask(lambda db: lists.planned(db, sql, values))))

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        records = await self.rows(_WEIGH, runs=list(runs))
        files = await self.rows(_WEIGH_BLOBS, runs=list(runs))
        return records[0][0] + files[0][0]

    async def scrub(self, *, pruned: bool = False) -> bool:
        """See `Store.scrub`. It takes as long as writing the tables anew, and nobody else has them
        meanwhile."""
        if not await self.ask(lambda db: is_unscrubbed(db, pruned)):
            return True
        return await self._crew.ask(lambda: scrub(self._direct, self.where, pruned))

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        values = {"programs": list(programs), "now": self.now(), "limit": limit}
        return list(map(run_row, await self.ask(lambda db: lists.planned(db, due.DUE, values))))

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        now = self.now()
        return await self._in_turns(lambda db: inbox.inbox(db, filter, now))

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        now = self.now()
        return await self._in_turns(lambda db: lists.runs(db, filter, now))

    async def _in_turns(self, begin: Callable[[Connection], Iterator[list[Any]]]) -> list[Any]:
        """What a list finds, look by look."""

        def look(db: Connection) -> list[Any]:
            return list(chain.from_iterable(begin(db)))

        return await self._lists.ask(lambda: self._read(look))

    async def endpoints(
        self, put: Endpoint | None = None, *, drop: str = "", by: str = "", origin: str = ""
    ) -> list[Endpoint]:
        """See `Store.endpoints`."""
        if put is None and not drop:
            found = await self.rows(
                "select name, kind, url, secret, topics, at from adjourn.endpoint order by name"
            )
            return [
                Endpoint(name, kind, url, key, tuple(topics), at)
                for name, kind, url, key, topics, at in found
            ]
        return await super().endpoints(put, drop=drop, by=by, origin=origin)

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self._watch.subscribe(run, bell, words=words)

    def hear(self, told: Callable[[str], None]) -> Callable[[], None]:
        """See `Store.hear`."""
        return self._watch.hear(told)

    async def close(self) -> None:
        """See `Store.close`."""
        open_stores.discard(self)
        await self._watch.close()
        await self._crew.close()
        await self._lists.close()
        self._pool.close()


def _roll_back(db: Connection) -> None:
    """Whatever is not committed is taken back, before the connection goes to somebody else."""
    if db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            db.rollback()
