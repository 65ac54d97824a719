"""Takes one run at a time and drives it: the path of everybody who advances runs."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import msgspec

from adjourn.core import chapter
from adjourn.core.belief import FoldAgain
from adjourn.core.quarantine import MAX_DEATHS, is_suspect
from adjourn.core.records import Asked, Released
from adjourn.core.state import State
from adjourn.core.status import ENDED
from adjourn.driver import unfinished_bodies as flights
from adjourn.driver.clock import Clock, StoreTime
from adjourn.driver.cold_start import folded_and_sized
from adjourn.driver.decider_keys import BadDeciders, StoreTrust
from adjourn.driver.earlier_turns import EarlierTurns
from adjourn.driver.live_feed import Feed
from adjourn.driver.located_run import home_of, make_homeless
from adjourn.driver.loop import Drive
from adjourn.driver.metrics import Meter
from adjourn.driver.process_identity import Life, has_its_runs, here, life_of
from adjourn.driver.program import Program
from adjourn.driver.snapshot_writer import captured, write_down
from adjourn.driver.tool_limits import ToolLimits
from adjourn.errors import (
    AdjournError,
    BrokenHistory,
    KeyMissing,
    LeaseBusy,
    LeaseLost,
    NotFound,
    ProgramChanged,
    StoreError,
)
from adjourn.runtime.advance_result import Advanced, Budget, Busy, Rested, Unfit, status_of
from adjourn.runtime.heartbeat import BEATS, Heartbeat
from adjourn.runtime.kept_errors import KeptErrors
from adjourn.runtime.program_choice import MISFITS, Fitness
from adjourn.runtime.session_queue import ahead
from adjourn.runtime.slots import Slots
from adjourn.runtime.state_cache import BYTES, Folded, StateCache
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Lease, Store

log = logging.getLogger("adjourn.worker")

TOLD = 200
"""So many records, the last ones, are read for whoever watches: what people said stands there."""
AGAIN = 1.0
"""Seconds after which a run that waits for another one of its session is looked at again."""
WRITING = 1.0
"""Seconds that a worker which closes gives the snapshots that it has begun to write."""
OVER = "its time slice was over"
CANCELLED = "the process that advanced it gave up"


class Advancer:
    """What a worker has in common for all its runs: its name, its heartbeat, its programs, and
    states that are kept.

    Where the store is not `shared`, because no other worker can see it, nothing is kept for others:
    there is no heartbeat, no snapshot and no chapter.
    """

    def __init__(
        self,
        id: str,
        store: Store,
        feed: Feed,
        clock: Clock,
        fitness: Fitness,
        slots: Slots,
        *,
        resources: Any,
        ttl: float,
        grace: float,
        trust: StoreTrust | None = None,
        max_deaths: int = MAX_DEATHS,
        hot_bytes: int = BYTES,
        shared: bool = True,
    ) -> None:
        self.id, self._shared = id, shared
        if not shared:
            make_homeless(store)
        self._home = home_of(store)
        self.limits: ToolLimits | None = None
        self.meter = Meter()
        self.refusals: KeptErrors[AdjournError] = KeptErrors()
        self.errors: KeptErrors[BaseException] = KeptErrors()
        self.running: dict[str, Drive] = {}
        self.held: set[str] = set()  # runs that were taken with others, and are not driven yet
        self.hot, self.earlier = StateCache(hot_bytes), EarlierTurns(store)
        self.ended: dict[str, State] = {}
        """What runs came to that have just ended here, until whoever waits for them was told."""
        self.heartbeat = Heartbeat(store, id, ttl, self._beat_late if shared else lambda: None)
        self.left: list[str] = []
        self._left_runs: set[str] = set()
        self._handing: set[asyncio.Task[None]] = set()
        self._writing: set[asyncio.Task[None]] = set()
        self._time = StoreTime(clock)
        self._store, self._feed, self._clock = store, feed, clock
        self._fitness, self._slots, self._resources = fitness, slots, resources
        self._ttl, self._grace, self._max_deaths = ttl, grace, max_deaths
        self.trust = trust
        self._ring: int = trust.deciders.version if trust else 0
        self._complaint = ""
        self._closing = False

    def _beat_late(self) -> None:
        """Nobody heard of this worker for longer than its lease: each run looks whether it is still
        its own."""
        for drive in self.running.values():
            drive.hear()

    async def claim(self, limit: int, but: Callable[[], Collection[str]]) -> list[Lease]:
        """Take up to so many runs that are due, but not these (asked for at the last moment:
        whatever is written later is seen by nobody before), nor what does not fit. Whoever is known
        to be gone is replaced.

        Raises `StoreError`. What this worker has, and does not know of, was left by a store that
        did not answer: it is taken again.
        """
        if not self._is_trusting():
            return []
        now, gone = self._store.now(), [self.id]
        for worker, until in (await self._store.workers()).items():
            if not has_its_runs(self.life_of(worker), until, now):
                gone.append(worker)
        await self._look(limit, {*but(), *await self._fitness.refused()}, gone)
        refused = await self._fitness.refused()
        mark = self.heartbeat.fence.mark()
        try:
            leases = await self._store.claim(
                list(self._fitness.programs),
                self.id,
                self._ttl,
                limit,
                after=self.hot,
                but={*but(), *refused},
                replaces=gone,
                spares=here(),
            )
        except StoreError:
            self.hot.clear()  # what is known may be another history than the store's
            raise
        if leases:
            self.heartbeat.fence.keep(mark)
            self.held.update(lease.run for lease in leases)
            self.heartbeat.need(True)
        return leases

    async def _look(self, limit: int, but: Collection[str], gone: Collection[str]) -> None:
        """Fold what is due and not known here before it is taken: a run that does not fit stays
        exactly as it is.

        What others claim meanwhile costs a fold. What becomes due after this look is looked at when
        it was taken.
        """
        for row in await self._store.due(list(self._fitness.programs), limit + len(but)):
            if row.id in but or row.id in self.hot or (row.worker and row.worker not in gone):
                continue
            try:
                folded = await self._begin(row.id, State(self.trust))
                if await self._fitness.program_for(folded.state) is not None:
                    self._keep(row.id, folded)
            except MISFITS as e:
                self._refuse(row.id, e)
            except NotFound as e:
                log.debug("%s", e)

    def _refuse(self, run: str, error: AdjournError) -> Unfit:
        if run not in self.refusals:
            log.warning("run %s is not advanced here: %s", run, error)
        self.refusals.keep(run, error)
        return Unfit(
            why=str(error),
            changes=tuple(error.changes) if isinstance(error, ProgramChanged) else (),
        )

    def _is_trusting(self) -> bool:
        """Whether it is known whose decisions count; if not, no run is taken."""
        try:
            if self.trust is not None:
                self.trust.deciders.check()
        except BadDeciders as e:
            self._complain(e)
            return False
        return True

    def _complain(self, error: BadDeciders) -> None:
        if str(error) != self._complaint:
            log.error("no run is advanced here: %s", error)
        self._complaint = str(error)

    async def advance(
        self,
        run: str,
        budget: Budget,
        *,
        replaces: str = "",
        stops: bool = False,
        lease: Lease | None = None,
    ) -> Advanced:
        """See `Runtime.advance`. `stops`: there is something to be stopped in it, which waits for
        nobody. `lease`: it was taken.

        Raises what the store or the driver raises; the run is safe then, and can be taken again.
        """
        try:
            if lease is not None:
                return await self._go_on(lease, budget, stops)
            return await self._advance(run, budget, replaces, stops)
        except (LeaseBusy, LeaseLost) as e:
            self.hot.take(run)
            log.debug("%s", e)
            row = await self._store.get(run)
            return Busy(worker=row.worker, until=row.lease_until)
        except BadDeciders as e:
            self._complain(e)
            return Unfit(why=str(e))
        except MISFITS as e:
            return self._refuse(run, e)
        except BaseException:
            self.hot.take(run)
            raise
        finally:
            self.held.discard(run)

    async def _go_on(self, lease: Lease, budget: Budget, stops: bool) -> Advanced:
        """Drive a run that was taken with others until it rests; if it does not fit, it is given
        back."""
        run, folded = lease.run, self._kept(lease.run)
        if not lease.records or folded.state.seq + 1 != lease.records[0][0]:
            folded = await self._begin(run, State(self.trust), lease)
        program = await self._fitness.program_for(folded.state, lease)
        if program is None:
            return Unfit(
                why=f"there is no {folded.state.started.kind} {folded.state.started.program!r} here"
            )
        if is_suspect(folded.state) and not stops:
            await self._slots.alone(run)
        return await self._drive(lease, folded, program, budget)

    async def _advance(self, run: str, budget: Budget, replaces: str, stops: bool) -> Advanced:
        """Take the run and drive it until it rests."""
        folded = self._kept(run)
        state = folded.state
        if not state.seq:
            row = await self._store.get(run)
            if row.program not in self._fitness.programs:
                return Unfit(why=f"there is no program {row.program!r} here")
            if row.status in ENDED:
                return Rested(status=row.status.value, seq=row.seq)
            folded = await self._begin(run, state)
        program = await self._fitness.program_for(state)
        if program is None:
            return Unfit(why=f"there is no {state.started.kind} {state.started.program!r} here")
        if before := await ahead(self._store, state):
            await self._store.misfits(
                Misfit(
                    run, state.seq, f"run {before} of its session must finish first", queued=True
                )
            )
            return Rested(status=status_of(state), seq=state.seq, wake_at=self._store.now() + AGAIN)
        if is_suspect(state) and not stops:
            await self._slots.alone(run)
        mark = self.heartbeat.fence.mark()
        try:
            lease = await self._take(run, state, replaces)
        except asyncio.CancelledError:
            self._hand_back(self._untake(run))
            raise
        if lease is None:
            self._keep(run, folded)
            row = await self._store.get(run)
            return Rested(
                status=row.status.value, seq=row.seq, wake_at=row.wake_at, blocked=row.blocked
            )
        self.heartbeat.fence.keep(mark)
        return await self._drive(lease, folded, program, budget)

    async def _drive(
        self, lease: Lease, folded: Folded, program: Program, budget: Budget
    ) -> Rested:
        """Drive a run that was taken; if whoever advances it gives up, it is handed back."""
        try:
            return await self._hold(lease, folded, program, budget)
        except asyncio.CancelledError:
            handing = self._hand_back(self._release(lease))
            if not flights.are_at_work(self._home, {lease.run}):
                await asyncio.shield(handing)
            raise

    async def _begin(self, run: str, state: State, lease: Lease | None = None) -> Folded:
        """Fold a whole journal into a state, with what was said in the turns before it: once it is
        known how many were erased."""
        erasures = self.earlier.erasures
        earlier = self.earlier if erasures >= 0 else None
        try:
            restored, size = await folded_and_sized(self._store, run, self.trust, earlier)
        except (BrokenHistory, KeyMissing) as e:
            await self._fitness.misfits(run, e, lease)
            raise
        state.become(restored)
        return Folded(state, size, erasures)

    async def _hold(self, lease: Lease, folded: Folded, program: Program, budget: Budget) -> Rested:
        """Drive a run that was taken."""
        run, state = lease.run, folded.state
        if self._shared:
            self.earlier.heard(lease.erasures)
        try:
            if state.started.before is not None and folded.erasures != lease.erasures:
                # a turn before it may have been erased: from now on, while this one goes on, none
                # is
                raise FoldAgain
            self.meter.taken(lease, state)
            state.fold_all(lease.records)
        except FoldAgain:
            folded = await self._begin(run, State(self.trust), lease)
            state = folded.state
        state = await self._fitness.upgraded(lease, state, program)
        segment = None
        if self.meter.watch is not None:
            tail = await self._store.load(run, max(0, lease.seq - TOLD))
            program = segment = self.meter.watch.begin(lease, tail, program)
        drive = Drive(
            self._store,
            program,
            msgspec.structs.replace(lease, trust=self.trust) if self.trust else lease,
            state,
            ttl=self._ttl,
            grace=self._grace,
            resources=self._resources,
            feed=self._feed,
            clock=self._clock,
            time=self._time,
            fence=self.heartbeat.fence,
            max_deaths=self._max_deaths,
            cleared=(lambda: self._slots.clear(run)) if self._shared else None,
            size=folded.size + lease.size,
            keeps=self._write_down if self._shared else None,
        )
        drive.count(self.meter)
        if self.limits is not None:
            drive.limit(self.limits)
        self._begins(run, drive)
        try:
            with _Timers(budget, drive, self._ttl / BEATS) as timers:
                await drive.run()
        finally:
            self._ends(run, drive)
            if segment is not None:
                segment.end(drive.state)
        self.refusals.forget(run)
        self._fitness.accept(run)
        self._keep_error(run, drive)
        if self._shared:
            await self._begin_chapter(drive)
            await self._write_down(drive.state)
        self._keep(run, Folded(drive.state, drive.size, lease.erasures))
        if timers.error is not None:
            raise timers.error
        return Rested.of(drive.state, drive.handed_back)

    def _keep_error(self, run: str, drive: Drive) -> None:
        """Of the errors of a run, keep one that it failed with, as long as the run waits because of
        it."""
        if not drive.errors and run not in self.errors:
            return
        failed = [
            opened.record.step
            for opened in drive.state.open.values()
            if isinstance(opened.record, Asked)
        ]
        found = [error for step, error in drive.errors.items() if step in failed]
        if found:
            self.errors.keep(run, found[0])
        elif not failed:
            self.errors.forget(run)

    def _begins(self, run: str, drive: Drive) -> None:
        self.running[run] = drive
        if self._shared:
            self.heartbeat.need(True)
        if self._closing:
            drive.stop()

    def _ends(self, run: str, drive: Drive) -> None:
        del self.running[run]
        self.left += drive.left
        if drive.left:
            self._left_runs.add(run)
        self.held.discard(run)
        if self._shared:
            self.heartbeat.need(bool(self.running or self.held))

    async def _write_down(self, state: State) -> None:
        """A snapshot for the next cold start, if it is time for one. It is written beside
        everything else."""
        try:
            if found := await captured(self._store, state):
                self._writing = {task for task in self._writing if not task.done()}
                self._writing.add(self._beside(write_down(self._store, found)))
        except AdjournError as e:
            log.info("run %s: no snapshot is written now: %s", state.run, e)

    async def _begin_chapter(self, drive: Drive) -> None:
        """A run that has become long, and that nobody drives now, continues as new. If somebody
        took it in between, it does so later."""
        state = drive.state
        free = drive.handed_back or state.parked is not None
        if free and chapter.is_due(state, drive.size):
            try:
                await self._store.chapter(state.run, by="@size", why=f"it has {state.seq} records")
            except AdjournError as e:
                log.info("run %s: no chapter begins now: %s", state.run, e)

    def _hand_back(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Whoever advanced a run gave up; this goes on nevertheless."""
        return self._beside(work)

    def _beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name="adjourn-hand-back")
        self._handing.add(task)
        task.add_done_callback(self._handing.discard)
        return task

    async def _release(self, lease: Lease) -> None:
        """Give a lease back that nobody uses any more. While a body is still at work here, nobody
        else gets the run.

        A worker that closes says so by its last beat, for all its runs.
        """
        while self._shared and not self._closing and flights.are_at_work(self._home, {lease.run}):
            await self._clock.wait(asyncio.Event(), AGAIN / 10)
        if self._closing:
            return
        try:
            await self._store.release(lease, Released(why=CANCELLED))
        except StoreError as e:
            log.warning("run %s could not be handed back: %s", lease.run, e)

    async def _untake(self, run: str) -> None:
        """A lease that was asked for may have been given, and nobody has seen it: take it again,
        and give it back."""
        try:
            lease = await self._store.acquire(
                run, self.id, self._ttl, replaces=self.id, spares=here()
            )
        except AdjournError as e:
            log.debug("%s", e)
            return
        if lease is not None:
            await self._release(lease)

    def _kept(self, run: str) -> Folded:
        """The state that was put away, or an empty one. What was believed under other deciders is
        not kept."""
        if self.trust is not None:
            self.trust.deciders.check()
            if self.trust.deciders.version != self._ring:
                self._ring, self._complaint = self.trust.deciders.version, ""
                self.hot.clear()
        return self.hot.take(run) or Folded(State(self.trust))

    def _keep(self, run: str, folded: Folded) -> None:
        state = folded.state
        self.earlier.keep(state, folded.erasures)
        if state.status in ENDED:
            self.ended[run] = state
        elif state.seq and not state.belief.disowns:
            self.hot.keep(run, folded)

    async def _take(self, run: str, state: State, replaces: str) -> Lease | None:
        """The run's lease. An owner that died on this machine is replaced at once, not by the next
        sweep; one that lives on it is left alone, however much time has passed."""
        known: Any = {"after": state.seq, "head": state.head}
        try:
            return await self._store.acquire(
                run, self.id, self._ttl, **known, replaces=replaces, spares=here()
            )
        except LeaseBusy:
            owner = (await self._store.get(run)).worker
            life = self.life_of(owner)
            if owner == replaces or life is Life.ALIVE:
                raise
            gone = owner if life is Life.DEAD else ""
            return await self._store.acquire(run, self.id, self._ttl, **known, replaces=gone)

    def life_of(self, owner: str) -> Life:
        """What is named by this worker and not driven here was left by a store that did not answer:
        nobody has it."""
        if owner == self.id:
            return Life.DEAD
        if owner:
            return life_of(owner)
        return Life.UNKNOWN

    def forget(self, run: str) -> None:
        """The run was erased: nothing of it is kept here."""
        self.hot.take(run)
        self.earlier.forget()
        self._feed.forget(run)
        self.errors.forget(run)
        self.refusals.forget(run)
        self._fitness.accept(run)

    def stop(self) -> None:
        """Start nothing new, cut model calls, and hand back what is driven here."""
        self._closing = True
        for drive in self.running.values():
            drive.stop()

    async def close(self) -> None:
        """Nobody works under this name any more. Snapshots that are being written are waited for,
        for a moment."""
        if self._writing:
            await asyncio.wait(self._writing, timeout=WRITING)
        for task in self._handing:
            task.cancel()
        await self.heartbeat.close(lambda: flights.are_at_work(self._home, self._left_runs))


class _Timers:
    """Ends a drive when its time is over, and tells whoever advances it that it is at work."""

    def __init__(self, budget: Budget, drive: Drive, every: float) -> None:
        self._drive, self._beat, self._every = drive, budget.beat, every
        self.error: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._end = self._next = None
        if budget.at_most is not None:
            self._end = self._loop.call_later(budget.at_most, self._over)

    def __enter__(self) -> "_Timers":
        self._tell()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in (self._end, self._next):
            if timer is not None:
                timer.cancel()

    def _over(self) -> None:
        self._drive.stop(OVER, cut=False)

    def _tell(self) -> None:
        if self._beat is None:
            return
        try:
            self._beat()
        except Exception as e:
            self.error = e
            self._drive.stop(CANCELLED)
            return
        self._next = self._loop.call_later(self._every, self._tell)
