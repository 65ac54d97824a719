"""Who waits in this process until a run rests. They are told; nobody looks again and again."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from adjourn.core.belief import FoldAgain
from adjourn.core.records import AnyRecord
from adjourn.core.state import State
from adjourn.core.status import CANCELS, ENDED, Status
from adjourn.runtime.erasure import check_content
from adjourn.stores.store import Store

if TYPE_CHECKING:
    from adjourn.runtime.worker import Worker

LOOKS, EVERY = 20, 1.0
"""Waiters that are sent to look although nobody rang for them, and seconds until the next ones are: a ring that was missed costs
time, not the answer, and however many wait, that is all that it costs."""
MAY_REST = frozenset({*ENDED, Status.PAUSED, Status.WAITING, Status.STUCK})
"""Statuses of a row for which it is worth reading the journal: the run rests, or only a timer is open."""


class Waiter:
    """One who waits for one run."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._bell = asyncio.Event()
        self._told = False

    def ring(self) -> None:
        """The run may have changed."""
        self._bell.set()

    def tell(self) -> None:
        """This process has let go of the run."""
        self._told = True
        self._bell.set()

    def begin(self) -> bool:
        """A look begins: what is heard from here on is for the next one. Whether this process has just let go of the run."""
        told, self._told = self._told, False
        self._bell.clear()
        return told

    async def heard(self) -> None:
        """Return when there is a reason to look."""
        await self._bell.wait()


class Waiters:
    """All of them, by run, and in the order in which the sweep sent them to look last."""

    def __init__(self) -> None:
        self._of: dict[str, list[Waiter]] = {}
        self._order: dict[Waiter, None] = {}
        self._nudged = 0.0

    def add(self, run: str) -> tuple[Waiter, Callable[[], None]]:
        """A new waiter, and how to stop waiting."""
        waiter = Waiter(run)
        self._of.setdefault(run, []).append(waiter)
        self._order[waiter] = None

        def end() -> None:
            del self._order[waiter]
            self._of[run].remove(waiter)
            if not self._of[run]:
                del self._of[run]

        return waiter, end

    def tell(self, run: str) -> None:
        """This process has let go of the run."""
        for waiter in self._of.get(run, ()):
            waiter.tell()

    def tell_all(self) -> None:
        """The runtime is closed: whoever waits looks, and hears what the store says to that."""
        for waiter in self._order:
            waiter.tell()

    def nudge(self, now: float) -> None:
        """Send some of them to look, those first that were sent longest ago; not before `EVERY` seconds have passed."""
        if now < self._nudged + EVERY:
            return
        self._nudged = now
        for waiter in list(self._order)[:LOOKS]:
            del self._order[waiter]
            self._order[waiter] = None
            waiter.ring()

    def __len__(self) -> int:
        return len(self._order)


async def rest(store: Store, worker: "Worker", run: str) -> tuple[State, list[AnyRecord]]:
    """The run's state and its records, once it has ended or waits for a person. Raises the error if it cannot go on here.

    While this process is at the run, nothing is looked at: the worker tells when it lets go of it. Otherwise the store's bell
    says when it may have changed; then its row says whether it is worth reading the journal.
    """
    waiter, leave = worker.wait_for(run)
    end = store.subscribe(run, lambda: None if worker.is_at(run) else waiter.ring())
    journal = _Journal(store, run)
    try:
        while True:
            told = waiter.begin()
            if told or not worker.is_at(run):
                status = None if told else (await store.get(run)).status
                if status is None or status in MAY_REST:
                    await journal.read_on()
                    if is_resting(journal.state, store.now()):
                        return journal.state, journal.records
                    status = journal.state.status
                refusal = worker.refusals.get(run)
                if refusal and status not in CANCELS:
                    raise refusal
            await waiter.heard()
    finally:
        end()
        leave()


class _Journal:
    """A journal as far as it was read."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run
        self.state, self.records = State(), list[AnyRecord]()

    async def read_on(self) -> None:
        """Read what was appended since."""
        tail = await self._store.load(self._run, self.state.seq)
        try:
            self.state.fold_all(tail)
        except FoldAgain:
            self.state, self.records = State(), list[AnyRecord]()
            tail = await self._store.load(self._run)
            self.state.fold_all(tail)
        self.records += check_content(self._run, tail)


def is_resting(state: State, now: float) -> bool:
    """Ended, or nothing happens until somebody outside acts. What has expired is not a person's any more."""
    if state.status in ENDED or state.status == Status.PAUSED:
        return True
    if state.status not in (Status.WAITING, Status.STUCK):
        return False
    waiting = [i for i in state.interrupts if i.kind != "timer"]
    return any(not i.expires_at or i.expires_at > now for i in waiting)
