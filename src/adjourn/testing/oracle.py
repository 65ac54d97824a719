"""The cheapest oracle there is: after every transaction, a store's rows equal the fold of its journal."""

import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from types import ModuleType
from typing import Any, TypeVar

from adjourn.core.belief import FoldAgain
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord, Asked, Command, Completed, Fact, Move, Released, Started, parse
from adjourn.core.state import Open, State
from adjourn.core.status import ENDED
from adjourn.stores.audit import AuditRow, chain
from adjourn.stores.letter import Endpoint, Letter, Sent
from adjourn.stores.misfit import Misfit
from adjourn.stores.rules import commands, erasing, journal
from adjourn.stores.rules import lease as leases
from adjourn.stores.rules.transaction import InterruptRow, Tx
from adjourn.stores.seals import Seal
from adjourn.stores.store import Bell, Committed, Erasure, Filter, Halt, Lease, Pulse, RunRow, Store
from adjourn.stores.verification import Verification

T = TypeVar("T")

UNSEEN_BY_PEOPLE = frozenset({"timer", "event"})
PAGE = 10_000
TRIES = 1_000


def disagreements(row: RunRow, state: State) -> list[str]:
    """Where a run's row is not what its journal means."""
    errors = sum(o.record.kind == "error" for o in state.open.values())
    parked = state.parked if state.status not in ENDED else None
    stopped = isinstance(state.ended, Completed) and bool(state.ended.stopped)
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
    ]
    return [f"{name}: the row has {has!r}, the journal means {means!r}" for name, has, means in pairs if has != means]


async def check_rows(store: Store, run: str, state: State | None = None) -> State:
    """Raise `AssertionError` unless the rows of `run` equal the fold of its journal; gives that fold.

    `state` is an older fold of the same run: only what came after it is loaded. Others may write meanwhile.
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
        shown = {i.id for i in await store.inbox(Filter(run=run, limit=PAGE))}
        if (await store.get(run)).seq != row.seq:
            continue
        if shown != means:
            wrong.append(f"inbox: it shows {sorted(shown)}, the journal means {sorted(means)}")
        assert not wrong, f"run {run!r} at record {row.seq}: " + "; ".join(wrong)
        return state
    raise AssertionError(f"run {run!r} changed {TRIES} times while it was looked at")


def _in_the_inbox(state: State, now: float) -> set[str]:
    open_now: list[Interrupt] = [i for i in state.interrupts if i.kind not in UNSEEN_BY_PEOPLE]
    return {i.id for i in open_now if not i.expires_at or i.expires_at > now}


class Watched:
    """A store that checks the rows of a run against the fold of its journal after every transaction on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._states: dict[str, State] = {}

    async def _checked(self, run: str, work: Awaitable[T]) -> T:
        result = await work
        self._states[run] = await check_rows(self.store, run, self._states.get(run))
        return result

    def now(self) -> float:
        """See `Store.now`."""
        return self.store.now()

    async def create(self, started: Started, records: Sequence[AnyRecord] = (), *, origin: str = "") -> bool:
        """See `Store.create`."""
        return await self._checked(started.run, self.store.create(started, records, origin=origin))

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        return await self.store.get(run)

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        return await self.store.load(run, after)

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
        taken = self.store.acquire(run, worker, ttl, after=after, head=head, replaces=replaces, spares=spares)
        return await self._checked(run, taken)

    def pulse(self) -> Pulse:
        """See `Store.pulse`."""
        return self.store.pulse()

    async def renew(self, lease: Lease, ttl: float) -> None:
        """See `Store.renew`."""
        await self._checked(lease.run, self.store.renew(lease, ttl))

    async def release(self, lease: Lease, released: Released | None = None) -> None:
        """See `Store.release`."""
        await self._checked(lease.run, self.store.release(lease, released))

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        """See `Store.commit`."""
        return await self._checked(lease.run, self.store.commit(lease, facts, moves, seen=seen))

    async def deliver(self, run: str, command: Command, **options: Any) -> int:
        """See `Store.deliver`."""
        return await self._checked(run, self.store.deliver(run, command, **options))

    async def erase(self, run: str, **options: Any) -> Erasure:
        """See `Store.erase`."""
        return await self._checked(run, self.store.erase(run, **options))

    async def scrub(self) -> bool:
        """See `Store.scrub`."""
        return await self.store.scrub()

    async def signed(self, required: bool | None = None, **options: Any) -> bool:
        """See `Store.signed`."""
        return await self.store.signed(required, **options)

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        return await self.store.due(programs, limit)

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        return await self.store.inbox(filter)

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        return await self.store.runs(filter)

    async def audit(self, scope: str | None = None, *, after: int = 0, limit: int = 100) -> list[AuditRow]:
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

    async def recent(self, before: str = "", limit: int = 100, *, security: bool = False) -> list[AuditRow]:
        """See `Store.recent`."""
        return await self.store.recent(before, limit, security=security)

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        return await self.store.misfits(put, runs=runs)

    async def endpoints(self, put: Endpoint | None = None, **options: Any) -> list[Endpoint]:
        """See `Store.endpoints`."""
        return await self.store.endpoints(put, **options)

    async def post(self, sent: Sequence[Sent] = (), **options: Any) -> list[Letter]:
        """See `Store.post`."""
        return await self.store.post(sent, **options)

    async def letters(self, state: str = "", **options: Any) -> list[Letter]:
        """See `Store.letters`."""
        return await self.store.letters(state, **options)

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self.store.subscribe(run, bell, words=words)

    async def close(self) -> None:
        """See `Store.close`."""
        await self.store.close()


class Oracle:
    """Compares rows and fold inside each transaction, for every store that is made of `adjourn.stores.rules`.

    Only what a transaction appended is folded. `checked` counts the transactions, `failures` says what was wrong:
    a failure is raised, which takes the transaction back, and kept, because somebody may swallow it.
    """

    def __init__(self) -> None:
        self.checked = 0
        self.failures: list[str] = []
        self._lock = threading.Lock()  # stores have writer threads of their own
        self._folded: dict[str, tuple[State, bytes]] = {}

    def check(self, tx: Tx, run: str) -> None:
        """Raise `AssertionError` unless the rows of `run` equal the fold of its journal."""
        row = tx.run(run)
        if row is None:
            return
        with self._lock:
            self.checked += 1
            wrong = self._wrong(tx, row)
            if wrong:
                self._folded.pop(run, None)
                self.failures.append(f"run {run!r} at record {row.seq}: " + "; ".join(wrong))
                raise AssertionError(self.failures[-1])

    def _wrong(self, tx: Tx, row: RunRow) -> list[str]:
        state, head = self._folded.pop(row.id, None) or (State(), row.salt)
        tail = tx.tail(row, state.seq)
        if row.erased:  # what its chain was made of is gone
            state, tail = State(), tx.tail(row, 0)
        elif _chained(head, tail) != row.head:  # another store's run of that name, or a transaction was taken back
            state, tail = State(), tx.tail(row, 0)
            if _chained(row.salt, tail) != row.head:
                return ["head: the hash chain of the journal does not end in the row's"]
        try:
            state.fold_all((seq, parse(body)) for seq, body in tail)
        except FoldAgain:
            state = State().fold_all((seq, parse(body)) for seq, body in tx.tail(row, 0))
        wrong = disagreements(row, state)
        asked = copy(row)
        asked.opens = 1  # as if there were some, so that a wrong count cannot hide a row
        rows = {x.i: x for x in tx.open_interrupts(asked)}
        if set(rows) != set(state.open):
            wrong.append(f"open interrupts: the rows are {sorted(rows)}, the journal means {sorted(state.open)}")
        for i in set(rows) & set(state.open):
            has, means = _of_row(rows[i]), _of_fold(state.open[i])
            if has != means:
                wrong.append(f"interrupt {i!r}: its row says {has}, the journal means {means}")
        for i, grant in state.grants.items():
            if (agreed := tx.interrupt(row, i)) is None or agreed.lives != grant.lives:
                has = agreed.lives if agreed else "no row"
                wrong.append(f"interrupt {i!r}: its row says {has!r} lives on it, the journal means {grant.lives!r}")
        self._folded[row.id] = (state, row.head)
        return wrong


def _chained(head: bytes, tail: list[tuple[int, str]]) -> bytes:
    for _, body in tail:
        head = chain(head, body)
    return head


def _of_row(x: InterruptRow) -> tuple[Any, ...]:
    return x.seq, x.kind, x.digest, x.event, x.expires, x.undoing, x.approvers, sorted(x.votes), x.disowned


def _of_fold(x: Open) -> tuple[Any, ...]:
    r, votes = x.record, sorted(x.votes)
    if isinstance(r, Asked):
        return x.seq, r.kind, r.digest, "", r.expires, r.undoing, r.approvers, votes, x.disowned
    return x.seq, r.kind, "", r.event, r.expires, False, 1, votes, x.disowned


RULES: dict[ModuleType, tuple[str, ...]] = {
    journal: ("create",),
    leases: ("acquire", "renew", "release", "commit"),
    commands: ("deliver",),
    erasing: ("erase",),
}
"""The rules that write to a run, by the module that holds them."""


@contextmanager
def every_transaction() -> Generator[Oracle]:
    """Inside, every transaction of every store made of `adjourn.stores.rules` is checked, in whichever thread."""
    oracle = Oracle()
    plain: list[tuple[ModuleType, str, Callable[..., Any]]] = [
        (module, name, getattr(module, name)) for module, names in RULES.items() for name in names
    ]

    def checking(rule: Callable[..., Any]) -> Callable[..., Any]:
        def ruled(tx: Tx, *args: Any) -> Any:
            result = rule(tx, *args)
            named = next(x for x in args if isinstance(x, str | Lease | Started | leases.Taken))
            oracle.check(tx, named if isinstance(named, str) else named.run)
            return result

        return ruled

    try:
        for module, name, rule in plain:
            setattr(module, name, checking(rule))
        yield oracle
    finally:
        for module, name, rule in plain:
            setattr(module, name, rule)
