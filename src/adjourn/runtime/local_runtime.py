"""Runs without a store: a private runtime over memory, of which nothing is left. The checkpoint is
its journal."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjourn.core.codec import plain
from adjourn.core.records import AnyRecord, Command, Started
from adjourn.core.state import State
from adjourn.core.status import ENDED
from adjourn.driver.clock import Clock, SystemClock
from adjourn.driver.live_feed import Feed
from adjourn.driver.program import Program
from adjourn.errors import Invalid
from adjourn.runtime.advance_result import Advanced, Budget, Rested
from adjourn.runtime.advancer import Advancer
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.decision_signer import Signatures
from adjourn.runtime.definition import Definition
from adjourn.runtime.next_turn import next_turn
from adjourn.runtime.program_choice import Fitness, check_resources
from adjourn.runtime.resumption import Continuation, Prepared, prepare
from adjourn.runtime.run_worker import RunWorker
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.slots import Slots
from adjourn.runtime.state_cache import Folded
from adjourn.runtime.waiters import is_resting, shown
from adjourn.stores.memory.store import MemoryStore
from adjourn.stores.protocol import Lease

WORKER = "storeless"
ALONE: dict[str, Any] = {"ttl": 3600.0, "grace": 5.0, "shared": False}
BUDGET = Budget()


def _now() -> float:
    return time.time()


class GivenProgram(Fitness):
    """The one program there is. Whether a run fits it was found out before the run was entered: see
    `prepare`."""

    def __init__(self, program: Program) -> None:
        self.programs, self._given, self._refused = {program.name: program}, program, {}

    async def program_for(self, state: State, lease: Lease | None = None) -> Program:
        """See `Fitness.program_for`."""
        return self._given

    async def upgraded(self, lease: Lease, state: State, program: Program) -> State:
        """See `Fitness.upgraded`."""
        return state


class Unsigned(Signatures):
    """Only this process can write to a private store, so nothing in it is signed."""

    def check_key(self, run: str, commands: Sequence[Command]) -> None:
        """See `Signatures.check_key`."""

    async def sealed(self, run: str, command: Command) -> Command:
        """See `Signatures.sealed`."""
        return command


UNSIGNED = Unsigned(None, None)


class LocalWorker(RunWorker):
    """Drives a run in the task that waits for it. Nothing happens by itself: there is no sweep, no
    task and no thread."""

    outlives = False

    def __init__(
        self,
        store: MemoryStore,
        feed: Feed,
        clock: Clock,
        program: Program,
        resources: Mapping[str, Any],
    ) -> None:
        self._store, self._clock = store, clock
        self._driving = asyncio.Lock()
        fitness, slots = GivenProgram(program), Slots(1)
        super().__init__(
            Advancer(WORKER, store, feed, clock, fitness, slots, resources=resources, **ALONE)
        )

    def begin(self, started: Started, *, new: bool) -> None:
        """See `RunWorker.begin`."""
        state = State()
        state.fold(1, started)
        self.advancer.hot.keep(started.run, Folded(state))

    async def advance(self, run: str, budget: Budget = BUDGET, *, replaces: str = "") -> Advanced:
        """Drive the run until it rests. If another task drives it, wait for that task, and look
        again."""
        async with self._driving:
            if ended := self.advancer.ended.get(run):
                return Rested(status=ended.view, seq=ended.seq)
            if run not in self.advancer.hot:
                self.advancer.hot.keep(run, Folded(State().fold_all(self._store.peek(run))))
            return await self.advancer.advance(run, budget)

    async def rest(self, run: str) -> tuple[State, Sequence[AnyRecord]]:
        """See `RunWorker.rest`. If only time is waited for, it is waited for here."""
        while True:
            done = await self.advance(run)
            state = self.state(run)
            wake_at = done.wake_at if isinstance(done, Rested) else 0.0
            if not wake_at or is_resting(state, self._store.now()):
                return self._at_rest(run, state)
            await self.sleep(run, wake_at)

    def _at_rest(self, run: str, state: State) -> tuple[State, Sequence[AnyRecord]]:
        """The state, and the records. Of a run that may continue, a caller gets nothing that is the
        run's own."""
        records = [record for _, record in self._store.peek(run)]
        if state.status in ENDED:
            return state, records
        return shown(state, records) or State().fold_all(enumerate(records, 1)), records

    def state(self, run: str) -> State:
        """What the run means now. Look, don't touch."""
        advancer = self.advancer
        if drive := advancer.running.get(run):
            return drive.state
        known = advancer.ended.get(run) or advancer.hot.look(run)
        if known is not None and known.seq == self._store.length(run):
            return known
        return State().fold_all(self._store.peek(run))

    async def sleep(self, run: str, wake_at: float) -> None:
        """Wait until then (0: for ever), or until something is said to the run."""
        bell = asyncio.Event()
        end = self._store.subscribe(run, bell.set)
        try:
            await self._clock.wait(bell, max(0.0, wake_at - self._store.now()) if wake_at else None)
        finally:
            end()


class LocalRuntime(Runtime):
    """A runtime of one definition over a memory of its own, open from the beginning: the task that
    waits for a run drives it."""

    def __init__(
        self,
        definition: Definition[Any],
        resources: Mapping[str, Any] | None = None,
        *,
        program: Program | None = None,
        clock: Clock | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        if resources is not None and not isinstance(resources, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"resources= must be the live objects by name, {{name: object}}, got {resources!r:.80}"
            )
        self._definition, self._program = definition, program or definition.program
        self._on_change = definition.on_change
        self.resources = dict(resources or {})
        self.programs = {definition.name: definition}
        self.memory = self._store = MemoryStore(now=now or _now)
        self.feed, self.clock, self.signatures = Feed(), clock or SystemClock(), UNSIGNED
        self.local = self._worker = LocalWorker(
            self.memory, self.feed, self.clock, self._program, self.resources
        )

    def _register(self, program: Definition[Any]) -> None:
        """It has the only one that it will have."""

    def _check_requester(self, program: str, by: str) -> None:
        """An execution does not say who starts it, so this is asked of agents only."""
        if self._definition.kind == "agent":
            self._program.check_requester(by)

    async def _given(self, program: str, input: Any) -> Any:
        """What no model takes fails the run, with a checkpoint from which another one goes on."""
        return plain(input, "input")

    async def _beginning(
        self,
        program: Definition[Any],
        after: Any,
        session: str,
        queue: str | None,
        run_id: str | None,
    ) -> dict[str, Any]:
        check_resources(self._program, self.resources)
        return next_turn(after)

    async def _prepared(self, saved: Checkpoint, wanted: Continuation) -> Prepared:
        self.programs[saved.started.program] = self._definition
        return await prepare(
            saved, self._definition, wanted, self.memory.now(), resources=self.resources
        )

    def saved(self, run: str) -> Checkpoint:
        """A run so far, as a checkpoint.

        Args:
            run: its id.
        """
        records = [record for _, record in self.memory.peek(run)]
        return Checkpoint(records, files=self.memory.peek_blobs(run))
