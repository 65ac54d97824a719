"""The cheapest oracle there is: after every transaction, a store's rows equal the fold of its
journal."""

import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from adjourn.core.belief import FoldAgain
from adjourn.core.records import Asked, RunCompleted
from adjourn.core.state import OpenInterrupt, State
from adjourn.core.status import ENDED
from adjourn.stores.audit import chain
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.rows import parsed
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import ReadRequest, Writes
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import Book, StoreRule
from adjourn.stores.run_row import RunRow
from adjourn.testing.wrapped_store import WrappedStore

Item = TypeVar("Item")

UNSEEN_BY_PEOPLE = frozenset({"timer", "event"})
PAGE = 10_000
TRIES = 1_000
OF_ONE_RUN = frozenset(
    ["create", "acquire", "renew", "release", "commit", "deliver", "chapter", "erase", "annotate"]
)
"""Operations that write to one run: the one of what is given first."""


def disagreements(row: RunRow, state: State) -> list[str]:
    """Where a run's row is not what its journal means."""
    errors = sum(opened.record.kind == "error" for opened in state.open.values())
    parked = state.parked if state.status not in ENDED else None
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


class CheckedStore(WrappedStore):
    """A store that checks the rows of a run against the fold of its journal after every transaction
    on it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._states: dict[str, State] = {}

    async def _around(self, name: str, work: Callable[[], Awaitable[Any]], *given: Any) -> Any:
        result = await work()
        runs: list[str] = []
        if name == "claim":
            runs = [lease.run for lease in result]
        elif name in OF_ONE_RUN:
            runs = [getattr(given[0], "run", given[0])]
        for run in runs:
            self._states[run] = await check_rows(self.store, run, self._states.get(run))
        return result


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
                has = agreed.lives if agreed else "no row"
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
    return {interrupt.i: copy(interrupt) for interrupt in sheet.open_interrupts()}


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
    asked = (row.seq, row.kind, row.digest, row.event, row.expires)
    return (*asked, row.undoing, row.approvers, votes, row.disowned)


def _of_fold(opened: OpenInterrupt) -> tuple[Any, ...]:
    asked, seq, votes, void = opened.record, opened.seq, sorted(opened.votes), opened.disowned
    if isinstance(asked, Asked):
        first = (seq, asked.kind, asked.digest, "", asked.expires)
        return (*first, asked.undoing, asked.approvers, votes, void)
    return seq, asked.kind, "", asked.event, asked.expires, False, 1, votes, void


@contextmanager
def every_transaction() -> Generator[Oracle]:
    """Inside, every transaction of every store made of `adjourn.stores.rules` is checked, in
    whichever thread."""
    oracle = Oracle()
    worked, settled = rule_transaction.worked, rule_transaction.settled

    def checked(book: Book, rule: StoreRule) -> tuple[Any, Writes]:
        result, writes = worked(book, rule)
        if rule.ask.run:
            oracle.check(book, rule.ask.run, writes)
        return result, writes

    def checked_at_last(book: Book) -> None:
        settled(book)
        oracle.check_written(book)

    try:
        rule_transaction.worked, rule_transaction.settled = checked, checked_at_last
        yield oracle
    finally:
        rule_transaction.worked, rule_transaction.settled = worked, settled
