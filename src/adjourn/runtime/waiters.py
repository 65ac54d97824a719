"""Who waits in this process until a run rests. They are told; nobody looks again and again."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from adjourn.core.belief import FoldAgain
from adjourn.core.call import OpenInterrupt
from adjourn.core.records import AnyRecord, Asked, Parked, RunCompleted, Suspended
from adjourn.core.state import State
from adjourn.core.status import CANCELS, ENDED, Status
from adjourn.runtime.erasure_verbs import check_content
from adjourn.stores.protocol import Store

if TYPE_CHECKING:
    from adjourn.runtime.worker import Worker

LOOKS, EVERY = 20, 1.0
"""Waiters that are sent to look although nobody rang for them, and seconds until the next ones are:
a ring that was missed costs time, not the answer, and however many wait, that is all that it
costs."""
MAY_REST = frozenset({*ENDED, Status.PAUSED, Status.WAITING, Status.STUCK})
"""Statuses of a row for which it is worth reading the journal: the run rests, or only a timer is
open."""


class Waiter:
    """One who waits for one run. There may be thousands, so it is one object, and a future while it
    waits."""

    def __init__(self, run: str, is_at: Callable[[str], bool]) -> None:
        self.run, self._is_at = run, is_at
        self._rung = self._told = False
        self._heard: asyncio.Future[None] | None = None
        self.ended: State | None = None
        """Of a run that ended here: what it came to."""

    def hear(self) -> None:
        """The store's bell. While this process is at the run it says nothing new: the worker tells
        when it lets go of it."""
        if not self._is_at(self.run):
            self.ring()

    def ring(self) -> None:
        """The run may have changed."""
        self._rung = True
        if self._heard is not None and not self._heard.done():
            self._heard.set_result(None)

    def tell(self, ended: State | None = None) -> None:
        """This process has let go of the run, perhaps because it has ended."""
        self._told, self.ended = True, ended
        self.ring()

    def begin(self) -> bool:
        """A look begins: what is heard from here on is for the next one. Whether this process has
        just let go of the run."""
        told, self._told = self._told, False
        self._rung = False
        return told

    def heard(self) -> asyncio.Future[None]:
        """Done when there is a reason to look."""
        self._heard = asyncio.get_running_loop().create_future()
        if self._rung:
            self._heard.set_result(None)
        return self._heard


class Waiters:
    """All of them, by run, and in the order in which the sweep sent them to look last. `is_at`:
    whether this process has a run, and tells when it lets go of it."""

    def __init__(self, is_at: Callable[[str], bool]) -> None:
        self._is_at = is_at
        self._of: dict[str, list[Waiter]] = {}
        self._order: dict[Waiter, None] = {}
        self._nudged = 0.0

    def add(self, run: str) -> Waiter:
        """A new waiter."""
        waiter = Waiter(run, self._is_at)
        self._of.setdefault(run, []).append(waiter)
        self._order[waiter] = None
        return waiter

    def remove(self, waiter: Waiter) -> None:
        """It waits no longer."""
        del self._order[waiter]
        same = self._of[waiter.run]
        same.remove(waiter)
        if not same:
            del self._of[waiter.run]

    def tell(self, run: str, ended: State | None = None) -> None:
        """This process has let go of the run, perhaps because it has ended."""
        for waiter in self._of.get(run, ()):
            waiter.tell(ended)

    def tell_all(self) -> None:
        """The runtime is closed: whoever waits looks, and hears what the store says to that."""
        for waiter in self._order:
            waiter.tell()

    def nudge(self, now: float) -> None:
        """Send some of them to look, those first that were sent longest ago; not before `EVERY`
        seconds have passed."""
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
    """The run's state and its records, once it has ended or waits for a person. Raises the error if
    it cannot go on here.

    While this process is at the run, nothing is looked at: the worker tells when it lets go of it.
    Otherwise the store's bell says when it may have changed; then its row says whether it is worth
    reading the journal.
    """
    waiter = worker.wait_for(run)
    end = store.subscribe(run, waiter.hear)
    journal = _Journal(store, run)
    try:
        while True:
            told = waiter.begin()
            if told or not worker.is_at(run):
                status = None if told else (await store.get(run)).status
                if status is None or status in MAY_REST:
                    await journal.read_on()
                    state = journal.meant(waiter.ended or worker.kept(run))
                    if is_resting(state, store.now()):
                        return state, journal.records
                    status = state.status
                refusal = worker.refusals.get(run)
                if refusal and status not in CANCELS:
                    raise refusal
            await waiter.heard()
    finally:
        end()
        worker.end_wait(waiter)


class _Journal:
    """A journal as far as it was read, and what it means."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run
        self._state: State | None = None
        self.records: list[AnyRecord] = []

    async def read_on(self) -> None:
        """Read what was appended since."""
        tail = await self._store.load(self._run, len(self.records))
        self.records += check_content(self._run, tail)

    def meant(self, known: State | None) -> State:
        """What it means; `known`: what the worker of this process has folded, which is often the
        same."""
        if known is not None and (found := shown(known, self.records)):
            return found
        if self._state is None:  # seldom: made when it is needed
            self._state = State()
        try:
            self._state.fold_all(list(enumerate(self.records, 1))[self._state.seq :])
        except FoldAgain:
            self._state = State().fold_all(enumerate(self.records, 1))
        return self._state


def shown(known: State, records: Sequence[AnyRecord]) -> State | None:
    """The state of a worker, as far as an outcome says it, if it is of exactly these records; None:
    fold them.

    Nothing in it that somebody could change is the worker's own: what was asked and what came out
    is taken from the records.
    """
    if known.trust is not None or known.before is not None or not known.seq == len(records) > 0:
        return None
    last, ended = records[-1], known.ended
    if isinstance(last, RunCompleted):
        if last.spoken and isinstance(ended, RunCompleted) and isinstance(ended.output, str):
            # it is in the last reply, and not written twice
            last = replace(last, output=ended.output)
        if ended == last:
            return replace(known, ended=last)
        return None
    if not isinstance(last, Parked) or known.parked != last:
        return None
    opened: dict[str, OpenInterrupt] = {}
    for i, found in known.open.items():
        record = records[found.seq - 1]
        if not isinstance(record, Asked | Suspended) or record.i != i:
            return None
        opened[i] = replace(found, record=record)
    return replace(known, open=opened)


def is_resting(state: State, now: float) -> bool:
    """Ended, or nothing happens until somebody outside acts. What has expired is not a person's any
    more."""
    if state.status in ENDED or state.status == Status.PAUSED:
        return True
    if state.status not in (Status.WAITING, Status.STUCK):
        return False
    waiting = [i for i in state.interrupts if i.kind != "timer"]
    return any(not i.expires_at or i.expires_at > now for i in waiting)
