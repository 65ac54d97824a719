"""Crash points: an agent's worker dies at a chosen write, and another finds the run as it was
left."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast

from adjourn.agent.agent import Agent
from adjourn.core.interrupt import Interrupt
from adjourn.errors import Conflict, Misused
from adjourn.runtime.outcome import Outcome, is_paused
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store

Output = TypeVar("Output")

WRITES = frozenset(
    {
        "create",
        "acquire",
        "renew",
        "release",
        "commit",
        "deliver",
        "halt",
        "erase",
        "prune",
        "hold",
        "stand",
    }
)
READS = frozenset(
    {
        "get",
        "load",
        "blobs",
        "claim",
        "workers",
        "due",
        "inbox",
        "runs",
        "audit",
        "verify",
        "seal",
        "seals",
        "note",
        "identity",
        "signed",
        "misfits",
        "roster",
        "queues",
        "tickets",
        "ended",
        "followed",
        "weigh",
        "scrub",
    }
)
"""What no run depends on: a dead process does none of it, and it is no place to die. Sealing and
the sweep go by the clock."""
LEASE = 2.0

Answer = Callable[[Interrupt], Any]


class CrashPoint:
    """One place to die: before or `after` write number `at` (from 0). Made by `crash_points`.

    `operation` is what the store was doing there, once `run` has returned; "" if the run ended
    before it came to that.
    """

    def __init__(self, at: int, after: bool) -> None:
        self.at, self.after = at, after
        self.operation = ""
        self.ran = False

    def __repr__(self) -> str:
        return (
            f"CrashPoint({'after' if self.after else 'before'} write {self.at}: "
            f"{self.operation or 'not reached'})"
        )

    async def run(
        self,
        agent: Agent[Output],
        input: Any,
        *,
        answer: Answer | None = None,
        resources: Mapping[str, Any] | None = None,
    ) -> Outcome[Output]:
        """Run the agent in memory, crash here, recover, and continue to the end. Returns the
        outcome.

        Running bodies are cancelled, which a real crash does not do: a `finally` in a tool runs
        here. Functions in threads continue.

        Args:
            agent: the agent.
            input: the run's input.
            answer: `answer(interrupt)` (it may be async) is what a person answers, before and after
                the crash. Without it, the outcome is the first wait.
            resources: the live objects that tools need, by name.
        """
        self.ran = True
        clock = _Clock()
        store = MemoryStore(now=clock.now)
        dying = _Dying(store, self)
        outcome = await self._live(cast(Store, dying), dying.died, agent, input, answer, resources)
        if outcome is None:
            clock.skew = 2 * LEASE  # the dead worker's lease is over
            outcome = await self._live(store, asyncio.Event(), agent, input, answer, resources)
        assert outcome is not None
        return cast("Outcome[Output]", outcome)

    @staticmethod
    async def _live(
        store: Store,
        died: asyncio.Event,
        agent: Agent[Any],
        input: Any,
        answer: Answer | None,
        resources: Any,
    ) -> Outcome[Any] | None:
        """One worker's life; None if it died."""
        async with Runtime(store, [agent], resources=resources, lease=LEASE, grace=0.0) as rt:
            life = asyncio.ensure_future(_advance(rt, agent, input, answer))
            death = asyncio.ensure_future(died.wait())
            try:
                await asyncio.wait({life, death}, return_when=asyncio.FIRST_COMPLETED)
                if died.is_set():
                    return None
                return await life
            finally:
                life.cancel()
                death.cancel()
                await asyncio.gather(life, death, return_exceptions=True)


async def _advance(
    rt: Runtime, agent: Agent[Any], input: Any, answer: Answer | None
) -> Outcome[Any]:
    run: Run[Any] = await rt.start(agent, input, run_id="crash")
    while True:
        outcome = await run.wait()
        if not is_paused(outcome) or answer is None:
            return outcome
        for interrupt in outcome.interrupts:
            said = answer(interrupt)
            if inspect.isawaitable(said):
                said = await said
            try:
                await rt.answer(interrupt.id, said, by="test")
            except Conflict:
                continue  # it was decided before the crash


def crash_points() -> Iterator[CrashPoint]:
    """Every place where a worker can die, one after the other, until the run ends before the next
    one.

    `for point in crash_points():` make a fresh world, `await point.run(...)`, and check that all is
    as without a crash.
    """
    for after in (False, True):
        for at in count():
            point = CrashPoint(at, after)
            yield point
            if not point.ran:
                raise Misused("await point.run(...) inside `for point in crash_points():`")
            if not point.operation:
                break


class _Clock:
    """Real time, which can be moved forward."""

    def __init__(self) -> None:
        self.skew = 0.0

    def now(self) -> float:
        return time.time() + self.skew


class _Dying:
    """A store as a process sees it that dies at one of its writes: from then on nothing answers any
    more."""

    def __init__(self, store: Store, point: CrashPoint) -> None:
        self._store, self._point = store, point
        self._numbers = count()
        self.died = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name in WRITES:
            return partial(self._write, name, method)
        if name in READS:
            return partial(self._read, method)
        return method

    async def _write(
        self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any
    ) -> Any:
        await self._alive()
        here = next(self._numbers) == self._point.at
        if here and not self._point.after:
            await self._die(name)
        result = await method(*args, **options)
        if here:
            await self._die(name)
        return result

    async def _read(self, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        await self._alive()
        return await method(*args, **options)

    async def _alive(self) -> None:
        if self.died.is_set():
            await asyncio.Event().wait()

    async def _die(self, name: str) -> None:
        self._point.operation = name
        self.died.set()
        await asyncio.Event().wait()


__all__ = ["CrashPoint", "crash_points"]
