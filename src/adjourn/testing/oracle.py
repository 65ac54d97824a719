"""The cheapest oracle there is: after every transaction, a store's rows equal the fold of its
journal."""

import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from adjourn.core.belief import FoldAgain
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Command,
    Fact,
    Move,
    Released,
    RunCompleted,
    Started,
)
from adjourn.core.state import OpenInterrupt, State
from adjourn.core.status import ENDED, Status
from adjourn.stores.audit import EVERY_LINE, AuditFilter, AuditLine, FoundLine, chain
from adjourn.stores.channel import Channel, Ears
from adjourn.stores.erasure import Erasure, Hold, Pruning
from adjourn.stores.fleet import Misfit, Queue, WorkerCard
from adjourn.stores.outbox import DeliveryAttempt, Endpoint, Notification, Wake
from adjourn.stores.protocol import Bell, Committed, Filter, Halt, Lease, Pulse, Store, Turn
from adjourn.stores.rows import parsed
from adjourn.stores.rules import transaction as sheets
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.transaction import Book, Sheet, StoreRule
from adjourn.stores.rules.values import ReadRequest, Writes
from adjourn.stores.run_index import RunIndex
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal
from adjourn.stores.snapshots import Snapshots
from adjourn.stores.tickets import TicketAnswer, TicketRequest, ToolTickets
from adjourn.stores.verification import Verification

Item = TypeVar("Item")

UNSEEN_BY_PEOPLE = frozenset({"timer", "event"})
PAGE = 10_000
TRIES = 1_000


def disagreements(row: RunRow, state: State) -> list[str]:
    """Where a run's row is not what its journal means."""
    errors = sum(opened.record.kind == "error" for opened in state.open.values())
    if state.status not in ENDED:
        parked = state.parked
    else:
        parked = None
    stopped = isinstance(state.ended, RunCompleted) and bool(state.ended.stopped)
    pairs: list[tuple[str, Any, Any]] = [
        ("seq", row.seq, state.seq),
        ("status", row.status, state.status),
        ("epoch", row.epoch, state.epoch),
        ("opens", row.opens, len(state.open)),
        ("errors", row.errors, errors),
        ("wake_at", row.wake_at, parked.wake_at if parked else 0.0),
        ("blocked", row.blocked, parked.blocked if parked else ()),
        ("stopped", row.stopped, stopped),
        ("program", row.program, state.started.program),
        ("requesters", row.requesters, tuple(sorted(state.requesters))),
        ("chapter", row.chapter, state.chapter),
        ("priority", row.priority, state.started.priority),
    ]
    wrong: list[str] = []
    for name, has, means in pairs:
        if has != means:
            wrong.append(f"{name}: the row has {has!r}, the journal means {means!r}")
    return wrong


async def check_rows(store: Store, run: str, state: State | None = None) -> State:
    """Raise `AssertionError` unless the rows of a run equal the fold of its journal. Returns that
    fold. Others may write meanwhile.

    Args:
        store: the store.
        run: the run's id.
        state: an older fold of the same run: only what came after it is loaded.
    """
    state = state or State()
    for _ in range(TRIES):
        row = await store.get(run)
        tail = await store.load(run, state.seq)
        try:
            state.fold_all([(seq, record) for seq, record in tail if state.seq < seq <= row.seq])
        except FoldAgain:
            state = State()
            continue
        if state.seq != row.seq:
            continue
        means = _in_the_inbox(state, store.now())
        wrong = disagreements(row, state)
        shown = {interrupt.id for interrupt in await store.inbox(Filter(run=run, limit=PAGE))}
        if (await store.get(run)).seq != row.seq:
            continue
        if shown != means:
            wrong.append(f"inbox: it shows {sorted(shown)}, the journal means {sorted(means)}")
        assert not wrong, f"run {run!r} at record {row.seq}: " + "; ".join(wrong)
        return state
    raise AssertionError(f"run {run!r} changed {TRIES} times while it was looked at")


def _in_the_inbox(state: State, now: float) -> set[str]:
    found: set[str] = set()
    for interrupt in state.interrupts:
        expires = interrupt.expires_at or float("inf")
        if interrupt.kind not in UNSEEN_BY_PEOPLE and expires > now:
            found.add(interrupt.id)
    return found


class CheckedStore:
    """A store that checks the rows of a run against the fold of its journal after every transaction
    on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._states: dict[str, State] = {}

    async def _checked(self, run: str, work: Awaitable[Item]) -> Item:
        result = await work
        self._states[run] = await check_rows(self.store, run, self._states.get(run))
        return result

    @property
    def address(self) -> str:
        """See `Store.address`."""
        return self.store.address

    def now(self) -> float:
        """See `Store.now`."""
        return self.store.now()

    async def erasures(self) -> int:
        """See `Store.erasures`."""
        return await self.store.erasures()

    async def create(
        self, started: Started, records: Sequence[AnyRecord] = (), *, origin: str = ""
    ) -> bool:
        """See `Store.create`."""
        return await self._checked(started.run, self.store.create(started, records, origin=origin))

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        return await self.store.get(run)

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        return await self.store.load(run, after)

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`."""
        return await self.store.turns(run, seq, limit)

    async def acquire(
        self,
        run: str,
        worker: str,
        ttl: float,
        *,
        after: int = 0,
        head: bytes = b"",
        replaces: str = "",
        spares: str = "",
    ) -> Lease | None:
        """See `Store.acquire`."""
        taken = self.store.acquire(
            run, worker, ttl, after=after, head=head, replaces=replaces, spares=spares
        )
        return await self._checked(run, taken)

    async def claim(
        self, programs: Sequence[str], worker: str, ttl: float, limit: int, **options: Any
    ) -> list[Lease]:
        """See `Store.claim`."""
        leases = await self.store.claim(programs, worker, ttl, limit, **options)
        for lease in leases:
            self._states[lease.run] = await check_rows(
                self.store, lease.run, self._states.get(lease.run)
            )
        return leases

    def pulse(self) -> Pulse:
        """See `Store.pulse`."""
        return self.store.pulse()

    def channel(self, ears: Ears) -> Channel:
        """See `Store.channel`."""
        return self.store.channel(ears)

    def run_index(self) -> RunIndex:
        """See `Store.run_index`."""
        return self.store.run_index()

    def snapshots(self) -> Snapshots:
        """See `Store.snapshots`."""
        return self.store.snapshots()

    async def renew(self, lease: Lease, ttl: float) -> None:
        """See `Store.renew`."""
        await self._checked(lease.run, self.store.renew(lease, ttl))

    async def release(self, lease: Lease, released: Released | None = None) -> None:
        """See `Store.release`."""
        await self._checked(lease.run, self.store.release(lease, released))

    async def commit(
        self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int
    ) -> Committed:
        """See `Store.commit`."""
        return await self._checked(lease.run, self.store.commit(lease, facts, moves, seen=seen))

    async def deliver(self, run: str, command: Command, **options: Any) -> int:
        """See `Store.deliver`."""
        return await self._checked(run, self.store.deliver(run, command, **options))

    async def chapter(self, run: str, **options: Any) -> int:
        """See `Store.chapter`."""
        return await self._checked(run, self.store.chapter(run, **options))

    async def erase(self, run: str, **options: Any) -> Erasure:
        """See `Store.erase`."""
        return await self._checked(run, self.store.erase(run, **options))

    async def prune(self, run: str, wanted: Pruning, **options: Any) -> bool:
        """See `Store.prune`."""
        return await self.store.prune(run, wanted, **options)

    async def ended(self, status: Status, before: float, **options: Any) -> list[RunRow]:
        """See `Store.ended`."""
        return await self.store.ended(status, before, **options)

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """See `Store.followed`."""
        return await self.store.followed(runs)

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        return await self.store.weigh(runs)

    async def hold(self, scope: str, **options: Any) -> list[Hold]:
        """See `Store.hold`."""
        return await self.store.hold(scope, **options)

    async def scrub(self, **options: Any) -> bool:
        """See `Store.scrub`."""
        return await self.store.scrub(**options)

    async def signed(self, required: bool | None = None, **options: Any) -> bool:
        """See `Store.signed`."""
        return await self.store.signed(required, **options)

    async def workers(self) -> dict[str, float]:
        """See `Store.workers`."""
        return await self.store.workers()

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        return await self.store.due(programs, limit)

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        return await self.store.inbox(filter)

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        return await self.store.runs(filter)

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        return await self.store.audit(scope, after=after, limit=limit)

    async def verify(self, *options: Any, **named: Any) -> Verification:
        """See `Store.verify`."""
        return await self.store.verify(*options, **named)

    async def note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """See `Store.note`."""
        await self.store.note(lines)

    async def identity(self) -> str:
        """See `Store.identity`."""
        return await self.store.identity()

    async def seal(self, *options: Any, **named: Any) -> Seal | None:
        """See `Store.seal`."""
        return await self.store.seal(*options, **named)

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        return await self.store.seals(after, limit)

    async def halt(self, scope: str, **options: Any) -> list[Halt]:
        """See `Store.halt`."""
        return await self.store.halt(scope, **options)

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """See `Store.recent`."""
        return await self.store.recent(before, limit, security=security, wanted=wanted)

    async def roster(self, put: WorkerCard | None = None, **options: Any) -> list[WorkerCard]:
        """See `Store.roster`."""
        return await self.store.roster(put, **options)

    async def stand(self, request: TicketRequest) -> TicketAnswer:
        """See `Store.stand`."""
        return await self.store.stand(request)

    async def tickets(self) -> dict[str, ToolTickets]:
        """See `Store.tickets`."""
        return await self.store.tickets()

    async def queues(self) -> list[Queue]:
        """See `Store.queues`."""
        return await self.store.queues()

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        return await self.store.misfits(put, runs=runs)

    async def endpoints(self, put: Endpoint | None = None, **options: Any) -> list[Endpoint]:
        """See `Store.endpoints`."""
        return await self.store.endpoints(put, **options)

    async def post(
        self, sent: Sequence[DeliveryAttempt] = (), **options: Any
    ) -> list[Notification]:
        """See `Store.post`."""
        return await self.store.post(sent, **options)

    async def waking(self, wanted: bool | None = None, **options: Any) -> bool:
        """See `Store.waking`."""
        return await self.store.waking(wanted, **options)

    async def wakes(self, done: Sequence[Wake] = (), **options: Any) -> list[Wake]:
        """See `Store.wakes`."""
        return await self.store.wakes(done, **options)

    async def letters(self, state: str = "", **options: Any) -> list[Notification]:
        """See `Store.letters`."""
        return await self.store.letters(state, **options)

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self.store.subscribe(run, bell, words=words)

    async def close(self) -> None:
        """See `Store.close`."""
        await self.store.close()


Watched = CheckedStore
"""Its name in programs that were written before."""


class Oracle:
    """Compares rows and fold inside each transaction, for every store that is made of
    `adjourn.stores.rules`.

    Twice: what a rule wants to be written is compared with the fold of the journal, before it is
        written; and what the store then
    holds, before the transaction commits, with what was to be written. Only what a transaction
    appended is folded. `checked` counts the rules, `failures` says what was wrong: a failure is
    raised, and kept, because somebody may swallow it.
    """

    def __init__(self) -> None:
        self.checked = 0
        self.failures: list[str] = []
        self._lock = threading.Lock()  # stores have writer threads of their own
        self._folded: dict[str, tuple[State, bytes]] = {}
        self._expected: list[tuple[Book, Expected]] = []
        self._removed: list[tuple[Book, str]] = []

    def check(self, book: Book, run: str, writes: Writes) -> None:
        """Raise `AssertionError` unless the rows of `run` will equal the fold of its journal once
        this is written."""
        with self._lock:
            state, head = self._folded.pop(run, None) or (State(), None)
            sheet = _looked(book, run, state.seq, writes)
            row = sheet.row
            if writes.removed is not None:
                self._removed.append((book, run))
            if row is None:
                return
            self.checked += 1
            self._raise(
                row, self._wrong(book, sheet, row, state, row.salt if head is None else head)
            )
            if writes.row is not None:
                bodies = [(line.seq, line.body) for line in writes.journal]
                self._expected.append((book, Expected(copy(row), _opens(sheet), bodies)))

    def check_written(self, book: Book) -> None:
        """Raise `AssertionError` unless the store now holds what was to be written."""
        with self._lock:
            gone, self._removed = _parted(self._removed, book)
            for run in gone:
                if (left := book.read(ReadRequest(run)).row) is not None:
                    self._raise(left, ["it was to be removed, and is here"])
            mine, self._expected = _parted(self._expected, book)
            for means in {expected.row.id: expected for expected in mine}.values():
                if means.bodies:
                    first = means.bodies[0][0] - 1
                else:
                    first = means.row.seq
                has = _looked(book, means.row.id, first, Writes())
                if has.row is None or has.row.seq < means.row.seq:  # its transaction was taken back
                    continue
                wrong: list[str] = []
                if replace(has.row, lease_until=0.0, n=0) != replace(
                    means.row, lease_until=0.0, n=0
                ):
                    wrong.append(f"the row is {has.row!r}, the journal means {means.row!r}")
                if has.tail(first) != means.bodies:
                    wrong.append(
                        f"the journal ends in {has.tail(first)!r:.200}, the journal means "
                        f"{means.bodies!r:.200}"
                    )
                if _opens(has) != means.opens:
                    wrong.append(
                        f"interrupts: the rows are {has.open_interrupts()}, the journal means {means.opens}"
                    )
                self._raise(means.row, wrong)

    def _raise(self, row: RunRow, wrong: list[str]) -> None:
        if wrong:
            self._folded.pop(row.id, None)
            self.failures.append(f"run {row.id!r} at record {row.seq}: " + "; ".join(wrong))
            raise AssertionError(self.failures[-1])

    def _wrong(self, book: Book, sheet: Sheet, row: RunRow, state: State, head: bytes) -> list[str]:
        tail = sheet.tail(state.seq)
        if row.erased or _chained(head, tail) != row.head:
            # What its chain was made of is gone; or another store's run of that name, or a
            # transaction was taken back.
            state, sheet = State(), _looked(book, row.id, 0, sheet.writes)
            tail = sheet.tail(0)
            if not row.erased and _chained(row.salt, tail) != row.head:
                return ["head: the hash chain of the journal does not end in the row's"]
        try:
            state.fold_all(parsed(tail))
        except FoldAgain:
            sheet = _looked(book, row.id, 0, sheet.writes)
            state = State().fold_all(parsed(sheet.tail(0)))
        wrong = disagreements(row, state)
        rows = _opens(sheet)
        if set(rows) != set(state.open):
            wrong.append(
                f"open interrupts: the rows are {sorted(rows)}, the journal means {sorted(state.open)}"
            )
        for id in set(rows) & set(state.open):
            has, means = _of_row(rows[id]), _of_fold(state.open[id])
            if has != means:
                wrong.append(f"interrupt {id!r}: its row says {has}, the journal means {means}")
        for id, grant in state.grants.items():
            if (agreed := sheet.interrupt(id)) is None or agreed.lives != grant.lives:
                if agreed:
                    has = agreed.lives
                else:
                    has = "no row"
                wrong.append(
                    f"interrupt {id!r}: its row says {has!r} lives on it, the journal means {grant.lives!r}"
                )
        self._folded[row.id] = (state, row.head)
        return wrong


class Expected(NamedTuple):
    """What a store must hold of a run when its transaction commits: its row, its open interrupts,
    and its last records."""

    row: RunRow
    opens: dict[str, InterruptRow]
    bodies: list[tuple[int, str]]


def _looked(book: Book, run: str, after: int, writes: Writes) -> Sheet:
    """Everything about a run, from the store itself, under what is to be written. All interrupts
    are asked for, so that a wrong count of the open ones cannot hide a row."""
    ask = ReadRequest(run, tail=after, all_interrupts=True)
    return Sheet(ask, book.read(ask), writes)


def _chained(head: bytes, tail: list[tuple[int, str]]) -> bytes:
    for _, body in tail:
        head = chain(head, body)
    return head


def _opens(sheet: Sheet) -> dict[str, InterruptRow]:
    """Copies of the open interrupts of a run, by their ids."""
    found: dict[str, InterruptRow] = {}
    for interrupt in sheet.open_interrupts():
        found[interrupt.i] = copy(interrupt)
    return found


def _parted(
    items: list[tuple[Book, Item]], book: Book
) -> tuple[list[Item], list[tuple[Book, Item]]]:
    """What belongs to a book, and the rest."""
    mine: list[Item] = []
    rest: list[tuple[Book, Item]] = []
    for written, item in items:
        if written is book:
            mine.append(item)
        else:
            rest.append((written, item))
    return mine, rest


def _of_row(row: InterruptRow) -> tuple[Any, ...]:
    votes = sorted(row.votes)
    return (
        row.seq,
        row.kind,
        row.digest,
        row.event,
        row.expires,
        row.undoing,
        row.approvers,
        votes,
        row.disowned,
    )


def _of_fold(opened: OpenInterrupt) -> tuple[Any, ...]:
    asked, seq, votes, void = opened.record, opened.seq, sorted(opened.votes), opened.disowned
    if isinstance(asked, Asked):
        return (
            seq,
            asked.kind,
            asked.digest,
            "",
            asked.expires,
            asked.undoing,
            asked.approvers,
            votes,
            void,
        )
    return seq, asked.kind, "", asked.event, asked.expires, False, 1, votes, void


@contextmanager
def every_transaction() -> Generator[Oracle]:
    """Inside, every transaction of every store made of `adjourn.stores.rules` is checked, in
    whichever thread."""
    oracle = Oracle()
    worked, settled = sheets.worked, sheets.settled

    def checked(book: Book, rule: StoreRule) -> tuple[Any, Writes]:
        result, writes = worked(book, rule)
        if rule.ask.run:
            oracle.check(book, rule.ask.run, writes)
        return result, writes

    def checked_at_last(book: Book) -> None:
        settled(book)
        oracle.check_written(book)

    try:
        sheets.worked, sheets.settled = checked, checked_at_last
        yield oracle
    finally:
        sheets.worked, sheets.settled = worked, settled
