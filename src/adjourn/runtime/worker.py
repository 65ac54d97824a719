"""What wakes runs in this process: it takes those that are due, drives them, and hands them back."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from adjourn.core.belief import FoldAgain
from adjourn.core.fingerprint import changes
from adjourn.core.plan import distrusted
from adjourn.core.quarantine import MAX_DEATHS, is_suspect
from adjourn.core.records import Fact, Move, Released, Started
from adjourn.core.state import State
from adjourn.core.status import CANCELS, ENDED, Status
from adjourn.driver import flights
from adjourn.driver.clock import Clock
from adjourn.driver.feed import Feed
from adjourn.driver.identity import Life, here, life_of, new_worker_id, retire
from adjourn.driver.keys import BadDeciders, StoreTrust
from adjourn.driver.loop import Drive
from adjourn.driver.program import Program
from adjourn.driver.upgrade import Upgrade, upgrade_of, upgrader_of
from adjourn.errors import (
    AdjournError,
    LeaseBusy,
    LeaseLost,
    MissingResource,
    NotTrusted,
    ProgramChanged,
    Refused,
    StoreError,
)
from adjourn.runtime.heartbeat import Heartbeat
from adjourn.runtime.hot import HotStates
from adjourn.runtime.kept_errors import KeptErrors
from adjourn.runtime.session_queue import ahead
from adjourn.runtime.slots import Slots
from adjourn.runtime.waiters import Waiter, Waiters
from adjourn.stores.misfit import Misfit
from adjourn.stores.store import Lease, RunRow, Store

log = logging.getLogger("adjourn.worker")

SWEEP = 1.0
SCRUB = 60.0
"""Seconds between two looks for what was erased and is still in the store's files."""
PAGE = 100
HAND_BACK = 0.8
"""Seconds that runs get to be handed back once the grace for their bodies is over."""
STOPS = frozenset({Status.PAUSING, Status.CANCELLING})
"""Statuses in which a run is only to be stopped: that waits for no slot."""


class Worker:
    """Advances the runs of its programs, `concurrency` at a time. Safety is the store's; this is only liveness."""

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
    ) -> None:
        self.id = new_worker_id()
        self.programs: dict[str, Program] = {}
        self.refusals = KeptErrors[AdjournError]()
        self._refused_at: dict[str, tuple[int, Upgrade | None]] = {}
        self.errors = KeptErrors[BaseException]()
        self._store, self._feed, self._resources, self._ttl, self._grace = store, feed, resources, ttl, grace
        self._clock, self._on_change, self._trust = clock, on_change, trust
        self._ring: int = trust.deciders.version if trust else 0
        self._complaint = ""
        self._slots, self._max_deaths = Slots(concurrency), max_deaths
        self._drives: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, Drive] = {}
        self._again: set[str] = set()
        self._hot = HotStates()
        self._waiters = Waiters()
        self._heartbeat = Heartbeat(store, self.id, ttl, self._beat_late)
        self._bell = asyncio.Event()
        self._wakes: dict[str, float] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._closing, self._scrub_at = False, store.now() + SCRUB
        self.left: list[str] = []
        self._left_runs: set[str] = set()

    def register(self, program: Program) -> None:
        """Advance this program's runs from now on."""
        if self.programs.get(program.name) is program:
            return
        self.programs[program.name] = program
        self.refusals.clear()
        self._refused_at.clear()
        self._begin_sweeps()
        self._bell.set()

    def begin(self, started: Started) -> None:
        """A run that this process has just created: its state is known, so there is nothing to look up."""
        if started.program in self.programs and started.run not in self._drives:
            self._hot.keep(started.run, State(self._trust).fold_all([(1, started)]))
        self.wake(started.run)

    def wake(self, run: str, *, replaces: str = "", stops: bool = False) -> None:
        """Somebody knows that there is something to do for this run. Harmless if not. `stops`: it is to be paused or
        cancelled, which never waits for a slot."""
        if self._closing or not self.programs:
            return
        if run in self._drives:
            self._again.add(run)
            if stops:
                self._slots.wave(run)
            return
        work = self._advance(run, replaces, stops)
        task = asyncio.get_running_loop().create_task(work, name=f"adjourn-run:{run}")
        self._drives[run] = task
        task.add_done_callback(lambda _: self._rested(run))

    def _rested(self, run: str) -> None:
        self._drives.pop(run, None)
        self._waiters.tell(run)
        if run in self._again:
            self._again.discard(run)
            self.wake(run)

    def _beat_late(self) -> None:
        """Nobody heard of this worker for longer than its lease: each run looks whether it is still its own."""
        for drive in self._running.values():
            drive.hear()

    def is_at(self, run: str) -> bool:
        """Whether this process has the run and does not wait for a slot: whoever waits for the run is told when that ends."""
        return run in self._drives and not self._slots.is_queued(run)

    def wait_for(self, run: str) -> tuple[Waiter, Callable[[], None]]:
        """Somebody waits for the run; see `runtime.waiters`."""
        self._begin_sweeps()
        return self._waiters.add(run)

    def forget(self, run: str) -> None:
        """The run was erased: this process knows nothing of it any more."""
        self._hot.take(run)
        self._feed.forget(run)
        self.errors.forget(run)
        self.refusals.forget(run)
        self._refused_at.pop(run, None)
        self._wakes.pop(run, None)

    async def rested(self, run: str) -> None:
        """Return when this process has let go of the run."""
        while (task := self._drives.get(run)) is not None:
            await asyncio.wait({task})

    def _begin_sweeps(self) -> None:
        if self._sweeper is None and not self._closing:
            self._sweeper = asyncio.get_running_loop().create_task(self._sweep(), name="adjourn-sweep")

    async def _sweep(self) -> None:
        """The backstop: whatever was missed, or lost with its owner, is found here."""
        while self.programs or self._waiters:
            self._bell.clear()
            try:
                await self._look()
                if self._store.now() >= self._scrub_at:  # where somebody who read was in the way
                    self._scrub_at = self._store.now() + SCRUB
                    await self._store.scrub()
            except StoreError as e:
                log.warning("the sweep failed and goes on: %s", e)
            await self._clock.wait(self._bell, self._until_next())
            self._waiters.nudge(self._clock.steady())
        self._sweeper = None

    async def _look(self) -> None:
        """Take a page of due runs; a longer one if there is nothing to take in it, so that nobody is crowded out."""
        limit, taken = PAGE, 0
        while self.programs and not taken:
            rows = await self._store.due(list(self.programs), limit)
            taken = sum(self._consider(row) for row in rows)
            if len(rows) < limit:
                return
            limit *= 4

    def _until_next(self) -> float:
        """How long the sweep may sleep: until the next wake that this process knows of, at most `SWEEP`."""
        now = self._store.now()
        for run in [run for run, at in self._wakes.items() if at <= now]:
            del self._wakes[run]
            self.wake(run)
        return min([SWEEP, *(at - now for at in self._wakes.values())])

    def _consider(self, row: RunRow) -> bool:
        """Take the run if nobody else has it; True if it is taken."""
        refused = self._refused_at.get(row.id) == (row.seq, upgrader_of(row.program)) and row.status not in CANCELS
        if row.id in self._drives or refused:
            return False
        life = self._life_of(row.worker)
        held = row.lease_until != 0 if life is Life.ALIVE else row.lease_until > self._store.now()
        if row.worker and held and life is not Life.DEAD:
            return False
        self.wake(row.id, replaces=row.worker if life is Life.DEAD else "", stops=row.status in STOPS)
        return True

    async def _advance(self, run: str, replaces: str, stops: bool) -> None:
        if not stops:
            await self._slots.enter(run)
        try:
            await self._attempt(run, replaces, stops)
        finally:
            self._slots.leave(run)

    async def _attempt(self, run: str, replaces: str, stops: bool) -> None:
        try:
            await self._drive(run, replaces, stops)
        except (LeaseBusy, LeaseLost) as e:
            self._hot.take(run)
            log.debug("%s", e)
        except StoreError as e:
            self._hot.take(run)
            log.warning("run %s: %s; the sweep will take it again", run, e)
        except BadDeciders as e:
            if str(e) != self._complaint:
                log.error("no run goes on here: %s", e)
            self._complaint = str(e)
        except (ProgramChanged, MissingResource, NotTrusted) as e:
            if run not in self.refusals:
                log.warning("run %s is not advanced here: %s", run, e)
            self.refusals.keep(run, e)
        except Exception:
            self._hot.take(run)
            log.exception("run %s: the driver failed; the run is safe and will be taken again", run)
            await asyncio.sleep(SWEEP)

    async def _drive(self, run: str, replaces: str, stops: bool) -> None:
        """Take the run and drive it until it rests."""
        state = self._kept(run)
        try:
            program = await self._program_for(run, state)
        except (ProgramChanged, MissingResource, NotTrusted) as e:
            await self._say_misfit(state, e)
            raise
        if program is None:
            return
        if is_suspect(state) and not stops:
            await self._slots.alone(run)
        mark = self._heartbeat.fence.mark()
        lease = await self._take(run, state, replaces)
        if lease is None:
            self._keep(run, state)
            return
        self._heartbeat.fence.keep(mark)
        try:
            state.fold_all(lease.records)
        except FoldAgain:
            state = State(self._trust).fold_all(await self._store.load(run))
        state = await self._upgraded(lease, state, program)
        drive = Drive(
            self._store,
            program,
            msgspec.structs.replace(lease, trust=self._trust) if self._trust else lease,
            state,
            ttl=self._ttl,
            grace=self._grace,
            resources=self._resources,
            feed=self._feed,
            clock=self._clock,
            fence=self._heartbeat.fence,
            max_deaths=self._max_deaths,
            cleared=lambda: self._slots.clear(run),
        )
        self._running[run] = drive
        self._heartbeat.need(True)
        if self._closing:
            drive.stop()
        try:
            await drive.run()
        finally:
            del self._running[run]
            self.left += drive.left
            if drive.left:
                self._left_runs.add(run)
            self._heartbeat.need(bool(self._running))
        self.refusals.forget(run)
        self._refused_at.pop(run, None)
        self.errors.forget(run)
        if drive.errors:
            self.errors.keep(run, next(iter(drive.errors.values())))
        self._keep(run, drive.state)

    def _kept(self, run: str) -> State:
        """The state that was put away, or an empty one. What was believed under other deciders is not kept."""
        if self._trust is not None:
            self._trust.deciders.check()
            if self._trust.deciders.version != self._ring:
                self._ring, self._hot, self._complaint = self._trust.deciders.version, HotStates(), ""
        return self._hot.take(run) or State(self._trust)

    async def _take(self, run: str, state: State, replaces: str) -> Lease | None:
        """The run's lease. An owner that died on this machine is replaced at once, not by the next sweep; one that lives
        on it is left alone, however much time has passed."""
        known: Any = {"after": state.seq, "head": state.head}
        try:
            return await self._store.acquire(run, self.id, self._ttl, **known, replaces=replaces, spares=here())
        except LeaseBusy:
            owner = (await self._store.get(run)).worker
            life = self._life_of(owner)
            if owner == replaces or life is Life.ALIVE:
                raise
            gone = owner if life is Life.DEAD else ""
            return await self._store.acquire(run, self.id, self._ttl, **known, replaces=gone)

    def _life_of(self, owner: str) -> Life:
        """What is named by this worker and not driven here was left by a store that did not answer: nobody has it."""
        if owner == self.id:
            return Life.DEAD
        return life_of(owner) if owner else Life.UNKNOWN

    async def _program_for(self, run: str, state: State) -> Program | None:
        """Look before taking: a run that cannot be advanced here keeps its answers for a worker that can."""
        if not state.seq:
            row = await self._store.get(run)
            if row.program not in self.programs or row.status in ENDED:
                return None
            state.fold_all(await self._store.load(run))
        if state.belief.untrusted and state.status not in CANCELS:
            raise NotTrusted(run, state.belief.untrusted)
        started = state.started
        program = self.programs.get(started.program)
        if program is None or program.kind != started.kind:
            return None
        if missing := program.missing(self._resources):
            raise MissingResource(missing, f"{program.kind} {program.name!r}")
        state = await self._fitting(run, state, program)
        if state.status not in CANCELS:
            self._check_children(state, program)
        if before := await ahead(self._store, state):
            await self._store.misfits(Misfit(run, state.seq, f"run {before} of its session comes first", queued=True))
            return None
        return program

    async def _fitting(self, run: str, state: State, program: Program) -> State:
        """The state as this program would go on from it; raises `ProgramChanged` if it cannot. Nothing is recorded yet."""
        found = changes(program.name, state.fingerprint, program.fingerprint)
        if not found:
            return state
        if upgrader_of(program.name):
            records = await self._store.load(run)
            made = upgrade_of([record for _, record in records], state, program.name, program.fingerprint)
            return State(self._trust).fold_all([*records, *enumerate(made, len(records) + 1)])
        if self._on_change != "warn":
            raise ProgramChanged(program.name, found)
        log.warning("run %s goes on although %s changed: %s", run, program.name, "; ".join(found))
        return state

    async def _upgraded(self, lease: Lease, state: State, program: Program) -> State:
        """Before anything else is done with a run that this worker holds: if its program changed and has an upgrader, that
        is recorded. If that fails now, although it did not when it was looked at, the run is given back."""
        found = changes(program.name, state.fingerprint, program.fingerprint)
        if not found or not upgrader_of(program.name):
            return state
        try:
            return await self._upgrade(lease, state, program)
        except (ProgramChanged, Refused) as e:
            await self._store.release(lease, Released(why="its upgrade failed"))
            state = State(self._trust).fold_all(await self._store.load(lease.run))
            error = e if isinstance(e, ProgramChanged) else ProgramChanged(program.name, [*found, str(e)])
            await self._say_misfit(state, error)
            raise error from e

    async def _upgrade(self, lease: Lease, state: State, program: Program) -> State:
        """Record the upgrade, once nobody says anything in between. What the fold did not believe is disowned first: a move
        would say that it was accepted."""
        facts: list[Fact] = [*state.belief.disowns]
        moves: list[Move] = []
        while True:
            done = await self._store.commit(lease, facts, moves, seen=state.seq) if facts or moves else None
            loaded = await self._store.load(lease.run)
            state = State(self._trust).fold_all(loaded)
            if moves and done and done.clean:
                log.warning("run %s was upgraded to the %s that is here", lease.run, program.name)
                return state
            records = [record for _, record in loaded]
            facts, moves = [], [*upgrade_of(records, state, program.name, program.fingerprint)]
            if not moves:
                return state

    async def _say_misfit(self, state: State, error: AdjournError) -> None:
        """Leave it alone until it moves, and leave a note for people: elsewhere it looks as if it only waited for a worker."""
        self._refused_at[state.run] = state.seq, upgrader_of(state.started.program)
        program = self.programs.get(state.started.program)
        changed = isinstance(error, ProgramChanged) and program is not None
        why = "; ".join(error.changes) if isinstance(error, ProgramChanged) else str(error)
        note = Misfit(
            state.run, state.seq, why, program.fingerprint if program and changed else {}, self.id, self._store.now()
        )
        await self._store.misfits(note)

    def _check_children(self, state: State, program: Program) -> None:
        """A nested agent that has begun goes on by itself; so it must have begun on an agreement that counts here."""
        if self._trust is None or not state.threads:
            return
        for id in distrusted(state, program, self._store.now()):
            if id in state.threads:
                why = f"nobody whom this worker trusts agreed to the nested agent {state.threads[id].agent!r} ({id})"
                raise NotTrusted(state.run, why)

    def _keep(self, run: str, state: State) -> None:
        if not state.seq or state.status in ENDED or state.belief.disowns:
            return
        self._hot.keep(run, state)
        self._wakes.pop(run, None)
        if state.parked and state.parked.wake_at:
            self._wakes[run] = state.parked.wake_at
            self._bell.set()

    def drives(self, run: str) -> bool:
        """Whether the run is being advanced in this process now."""
        return run in self._running

    def cut(self, run: str, seq: int) -> None:
        """The word at `seq` ends the run's model calls: they need not wait until its driver has read it."""
        if drive := self._running.get(run):
            drive.cut(seq)

    def drop(self, run: str) -> None:
        """Forget a kept state."""
        self._hot.take(run)

    async def close(self, grace: float) -> None:
        """Start nothing new, cut model calls, wait `grace` for tools in flight, and hand the runs back.

        Ends within `grace` and a second; the bodies that are still at work then are in `left`, and logged.
        """
        try:
            await self._close(grace)
        finally:
            await self._heartbeat.close(lambda: flights.are_at_work(self._left_runs))
            retire(self.id)

    def closed(self) -> None:
        """The store is closed as well: whoever still waits for a run hears of it."""
        self._waiters.tell_all()

    async def _close(self, grace: float) -> None:
        self._closing = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        for drive in self._running.values():
            drive.stop()
        tasks = list(self._drives.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace)
            for task in late:
                task.cancel()
            if late:
                _, hanging = await asyncio.wait(late, timeout=HAND_BACK)
                self.left += [task.get_name() for task in hanging]
        if self.left:
            log.warning("closed while bodies were still at work: %s; their calls are in doubt", ", ".join(self.left))
