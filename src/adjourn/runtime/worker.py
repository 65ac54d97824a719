"""What wakes runs in this process: it takes those that are due, and advances as many at a time as
it has slots."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from importlib.metadata import version as installed
from typing import Any

from adjourn.core.action_digest import digest
from adjourn.core.ids import WorkerId
from adjourn.core.quarantine import MAX_DEATHS
from adjourn.core.records import AnyRecord, Started
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.driver.clock import Clock
from adjourn.driver.cold_start import size_of
from adjourn.driver.decider_keys import StoreTrust
from adjourn.driver.live_feed import Feed
from adjourn.driver.process_identity import Life, has_its_runs, new_worker_id, retire
from adjourn.driver.program import Program
from adjourn.driver.tool_limits import ToolLimits
from adjourn.errors import StoreError, UnknownRun
from adjourn.runtime.advance_result import Advanced, Budget, Busy, Rested
from adjourn.runtime.advancer import Advancer
from adjourn.runtime.announcer import EVERY, Announcer
from adjourn.runtime.program_choice import Fitness
from adjourn.runtime.run_worker import RunWorker
from adjourn.runtime.slots import Slots
from adjourn.runtime.state_cache import BYTES, Folded
from adjourn.runtime.waiters import Waiter, Waiters, rest
from adjourn.stores.fleet import WorkerCard
from adjourn.stores.protocol import Filter, Lease, Store
from adjourn.stores.run_row import RunRow
from adjourn.stores.tickets import ToolLimit

log = logging.getLogger("adjourn.worker")

SWEEP = 1.0
HEARD = 0.02
"""Seconds between two sweeps because of what other processes announce: all workers hear all of
it."""
STALLED = 30.0
"""Seconds without a sweep after which something is wrong."""
SCRUB = 60.0
"""Seconds between two looks for what was erased and is still in the store's files."""
PAGE = 100
TOGETHER = 16
"""Runs that are looked at and taken at once: the first of them does not wait for more."""
WAKES = 10_000
"""Times to wake runs that are kept here, so that they are woken on time; those of more runs are
found by the sweep."""
HAND_BACK = 0.8
"""Seconds that runs get to be handed back once the grace for their bodies is over."""
STOPS = frozenset({Status.PAUSING, Status.CANCELLING})
"""Statuses in which a run is only to be stopped: that waits for no slot."""


class _Coming:
    """One more who will wake a run, from entering to leaving."""

    __slots__ = ("_all", "_run")

    def __init__(self, everybody: Counter[str], run: str) -> None:
        self._all, self._run = everybody, run

    def __enter__(self) -> None:
        self._all[self._run] += 1

    def __exit__(self, *_: object) -> None:
        self._all[self._run] -= 1
        if not self._all[self._run]:
            del self._all[self._run]


class Worker(RunWorker):
    """Advances the runs of its programs, `concurrency` at a time. Safety is the store's; this is
    only liveness."""

    def __init__(
        self,
        store: Store,
        feed: Feed,
        clock: Clock,
        *,
        resources: Mapping[str, Any],
        ttl: float,
        grace: float,
        concurrency: int,
        on_change: str,
        trust: StoreTrust | None = None,
        max_deaths: int = MAX_DEATHS,
        hot_bytes: int = BYTES,
    ) -> None:
        id = new_worker_id()
        self._store, self._clock, self._began_at = store, clock, store.now()
        self._slots = Slots(concurrency)
        self._fitness = Fitness(store, id, resources=resources, on_change=on_change, trust=trust)
        advancer = Advancer(
            id,
            store,
            feed,
            clock,
            self._fitness,
            self._slots,
            resources=resources,
            ttl=ttl,
            grace=grace,
            trust=trust,
            max_deaths=max_deaths,
            hot_bytes=hot_bytes,
        )
        super().__init__(advancer)
        self._works, self._is_lent = False, False
        self._drives: dict[str, asyncio.Task[Any]] = {}
        self._again: set[str] = set()
        self._coming: Counter[str] = Counter()
        self._crowded, self._stops_at = False, 0.0
        self._waiters = Waiters(self.is_at)
        self._bell = asyncio.Event()
        self._wakes: dict[str, float] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._closing, self._scrub_at = False, store.now() + SCRUB
        self._announcer: Announcer | None = None
        self._swept = clock.steady()
        self._deaf: Callable[[], None] | None = None
        self._hearing: asyncio.TimerHandle | None = None

    def limit(self, limits: Mapping[str, ToolLimit]) -> None:
        """Before it takes runs: their calls go by these limits, which count over all workers."""
        if limits:
            self.advancer.limits = ToolLimits(limits)

    def register(self, program: Program, *, work: bool = True) -> None:
        """Know this program. `work`: find its runs that are due, and advance them, from now on."""
        if self._fitness.programs.get(program.name) is program and self._works >= work:
            return
        self._fitness.register(program)
        self.refusals.clear()
        if work:
            self._works = True
            self._begin_sweeps()
            self._bell.set()
            if self._deaf is None:
                self._deaf = self._store.hear(self._hear)

    def _hear(self, run: str) -> None:
        """Another process says that a run may be due. Whoever has room for it and knows it takes it
        at once; whoever does not looks, but not all the time."""
        if not self._slots.free or self._closing:
            return
        if run in self.advancer.hot and run not in self._drives:
            self.wake(run)
            return
        if self._hearing is not None:
            return
        pause = self._swept + HEARD - self._clock.steady()
        loop = asyncio.get_running_loop()
        self._hearing = loop.call_later(max(pause, 0.0), self._look_soon)

    def _look_soon(self) -> None:
        self._hearing = None
        self._bell.set()

    def announce(self) -> None:
        """Say from now on who this worker is, what it advances and how much; see `Store.roster`. One
        that advances nothing says nothing."""
        works = self._works or self._is_lent
        if self._announcer is None and works and not self._closing:
            self._announcer = Announcer(self._store, self._clock, self.card)
            self._announcer.start()

    def lend(self) -> None:
        """See `RunWorker.lend`."""
        self._is_lent = True
        self.swept()
        self.announce()

    def swept(self) -> None:
        """See `RunWorker.swept`."""
        self._swept = self._clock.steady()

    def card(self) -> WorkerCard:
        """What there is to say of this worker now."""
        name = WorkerId.parse(self.id)
        programs: dict[str, str] = {}
        for program in self._fitness.programs.values():
            programs[program.name] = digest("program", program.fingerprint)
        return WorkerCard(
            self.id,
            host=name.host,
            pid=name.process or 0,
            version=installed("adjourn"),
            programs=programs,
            slots=self._slots.number,
            running=self._slots.working,
            draining=self._closing,
            every=EVERY,
            began_at=self._began_at,
        )

    def expecting(self, run: str) -> "_Coming":
        """What is written within will wake this run here: the sweep leaves it to whoever does."""
        return _Coming(self._coming, run)

    def begin(self, started: Started, *, new: bool) -> None:
        """A run that this process has just created, if it is `new`: its state is known, so there is
        nothing to look up."""
        if (
            new
            and self._works
            and started.program in self._fitness.programs
            and started.run not in self._drives
        ):
            before, records = self.earlier.known(started), [(1, started)]
            if started.before is None or before is not None:
                state = State(self.advancer.trust, before).fold_all(records)
                self.advancer.hot.keep(
                    started.run, Folded(state, size_of(records), self.earlier.erasures)
                )
        self.wake(started.run)

    def wake(self, run: str, *, replaces: str = "", stops: bool = False) -> None:
        """Somebody knows that there is something to do for this run. Harmless if not. `stops`: it
        is to be paused or cancelled, which never waits for a slot."""
        if self._closing:
            return
        if run in self._drives:
            if self._works:
                self._again.add(run)
            if stops:
                self._slots.wave(run)
        elif self._works and stops:
            self._slots.withdraw(run)
            self._begin(run, self._attempt(run, replaces, stops=True))
        elif self._works and not self._slots.is_queued(run):
            known = self.kept(run)
            priority = known.started.priority if known else 0
            self._slots.call(run, partial(self._begin_queued, run, replaces), priority)

    async def advance(self, run: str, budget: Budget, *, replaces: str = "") -> Advanced:
        """See `Runtime.advance`."""
        row = await self._store.get(run)
        if run in self._drives or self._slots.is_queued(run) or self._closing:
            return Busy(worker=self.id, until=row.lease_until)
        return await self._begin(run, self._enter(run, budget, replaces, row.status in STOPS))

    def _begin_queued(self, run: str, replaces: str, lease: Lease | None = None) -> None:
        if not self._closing:
            self._begin(run, self._attempt(run, replaces, stops=False, lease=lease))

    def _begin(self, run: str, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, name=f"adjourn-run:{run}")
        self._drives[run] = task
        task.add_done_callback(lambda _: self._rested(run))
        return task

    def _rested(self, run: str) -> None:
        self._drives.pop(run, None)
        self._waiters.tell(run, self.advancer.ended.pop(run, None))
        if run in self._again:
            self._again.discard(run)
            self.wake(run)

    async def _enter(self, run: str, budget: Budget, replaces: str, stops: bool) -> Advanced:
        """Advance a run once there is a slot for it."""
        if not stops:
            await self._slots.enter(run)
        return await self._turn(run, budget, replaces, stops)

    async def _turn(
        self, run: str, budget: Budget, replaces: str, stops: bool, lease: Lease | None = None
    ) -> Advanced:
        """Advance a run that has a slot, or needs none."""
        try:
            done = await self.advancer.advance(
                run, budget, replaces=replaces, stops=stops, lease=lease
            )
        finally:
            self._slots.leave(run)
            if self._crowded and self._slots.free:
                self._bell.set()
        self._wakes.pop(run, None)
        if isinstance(done, Rested) and done.wake_at and self._works and len(self._wakes) < WAKES:
            self._wakes[run] = done.wake_at
            self._bell.set()
        if isinstance(done, Rested) and done.more and self._works and budget.at_most is None:
            self._again.add(run)  # it continues as new
        return done

    async def _attempt(
        self, run: str, replaces: str, stops: bool, lease: Lease | None = None
    ) -> None:
        """A turn of a run that nobody asked for: what goes wrong is for the next sweep."""
        try:
            await self._turn(run, Budget(), replaces, stops, lease)
        except UnknownRun as e:
            log.debug("%s", e)
        except StoreError as e:
            log.warning("run %s: %s; the sweep will retry it", run, e)
        except Exception:
            log.exception("run %s: the driver failed; the run is safe; trying again", run)
            await asyncio.sleep(SWEEP)

    # Who waits

    def is_at(self, run: str) -> bool:
        """Whether this process has the run and does not wait for a slot: whoever waits for the run
        is told when that ends."""
        return run in self._drives and not self._slots.is_queued(run)

    def wait_for(self, run: str) -> Waiter:
        """Somebody waits for the run; see `runtime.waiters`."""
        self._begin_sweeps()
        return self._waiters.add(run)

    def end_wait(self, waiter: Waiter) -> None:
        """They wait no longer."""
        self._waiters.remove(waiter)

    def rest(self, run: str) -> Coroutine[Any, Any, tuple[State, Sequence[AnyRecord]]]:
        """See `RunWorker.rest`."""
        return rest(self._store, self, run)

    async def rested(self, run: str) -> None:
        """Return when this process has let go of the run."""
        while (task := self._drives.get(run)) is not None:
            await asyncio.wait({task})

    # The sweep

    def _begin_sweeps(self) -> None:
        if self._sweeper is None and not self._closing:
            self._sweeper = asyncio.get_running_loop().create_task(
                self._sweep(), name="adjourn-sweep"
            )

    @property
    def is_sweeping(self) -> bool:
        """See `RunWorker.is_sweeping`."""
        works = self._works or self._is_lent
        late = works and self._clock.steady() - self._swept >= STALLED
        return not late and not self._closing

    async def _sweep(self) -> None:
        """The backstop: whatever was missed, or lost with its owner, is found here."""
        while self._works or self._waiters:
            self._bell.clear()
            if self._works:
                self.swept()
            try:
                await self._look()
                if self._store.now() >= self._scrub_at:  # where somebody who read was in the way
                    self._scrub_at = self._store.now() + SCRUB
                    await self._store.scrub()
            except StoreError as e:
                log.warning("the sweep failed and continues: %s", e)
            await self._clock.wait(self._bell, self._until_next())
            self._waiters.nudge(self._clock.steady())
        self._sweeper = None

    async def _look(self) -> None:
        """Take runs that are due, as many as there are free slots, some at a time. If there may be
        more than slots, it looks again when one is free; what is only to be stopped needs none."""
        if not self._works:
            return
        free = self._slots.free
        wanted = min(free, TOGETHER)
        leases = await self.advancer.claim(wanted, self._known) if free else []
        self._crowded = len(leases) == wanted
        if self._crowded and wanted < free:
            self._bell.set()
        for lease in leases:
            self._take_up(lease)
        if self._crowded and self._store.now() >= self._stops_at:
            self._stops_at = self._store.now() + SWEEP
            for status in STOPS:
                for row in await self._store.runs(Filter(status=status.value, limit=PAGE)):
                    self._consider(row)

    def _known(self) -> set[str]:
        """Runs that this process has, or will wake."""
        return {*self._drives, *self._coming, *self._slots.queued}

    def _take_up(self, lease: Lease) -> None:
        """Begin with a run that was claimed. If somebody has woken it meanwhile, that takes it from
        this worker itself."""
        if lease.run in self._drives:
            self._again.add(lease.run)
        else:
            self._slots.withdraw(lease.run)
            self._slots.call(lease.run, lambda: self._begin_queued(lease.run, "", lease))

    def _until_next(self) -> float:
        """How long the sweep may sleep: until the next wake that this process knows of, at most
        `SWEEP`."""
        now = self._store.now()
        for run in [run for run, at in self._wakes.items() if at <= now]:
            del self._wakes[run]
            self.wake(run)
        return min([SWEEP, *(at - now for at in self._wakes.values())])

    def _consider(self, row: RunRow) -> bool:
        """Take the run if nobody else has it; True if it is taken."""
        if row.program not in self._fitness.programs or self._fitness.is_refused(row):
            return False
        if row.id in self._drives:
            if row.status in STOPS:
                self._slots.wave(row.id)
            return False
        if self._slots.is_queued(row.id) and row.status not in STOPS:
            return False
        life = self.advancer.life_of(row.worker)
        if row.worker and has_its_runs(life, row.lease_until, self._store.now()):
            return False
        self.wake(
            row.id, replaces=row.worker if life is Life.DEAD else "", stops=row.status in STOPS
        )
        return True

    def forget(self, run: str) -> None:
        """See `RunWorker.forget`."""
        super().forget(run)
        self._wakes.pop(run, None)

    # The end

    async def close(self, grace: float) -> None:
        """Start nothing new, cut model calls, wait `grace` for tools in flight, and hand the runs
        back.

        Ends within `grace` and a second; the bodies that are still at work then are in `left`, and
        logged.
        """
        try:
            await self._close(grace)
        finally:
            await self.advancer.close()
            if self._announcer is not None:
                await self._announcer.close(self.id)
            retire(self.id)

    def closed(self) -> None:
        """The store is closed as well: whoever still waits for a run hears of it."""
        self._waiters.tell_all()

    async def _close(self, grace: float) -> None:
        self._closing = True
        if self._deaf is not None:
            self._deaf()
        if self._hearing is not None:
            self._hearing.cancel()
        if self._announcer is not None:
            self._announcer.hurry()
        for run in self._slots.queued:
            if run not in self._drives:
                self._slots.withdraw(run)
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        self.advancer.stop()
        tasks = list(self._drives.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace)
            for task in late:
                task.cancel()
            if late:
                _, hanging = await asyncio.wait(late, timeout=HAND_BACK)
                self.left += [task.get_name() for task in hanging]
        if self.left:
            log.warning(
                "closed while bodies were still running: %s; their calls are in doubt",
                ", ".join(self.left),
            )
