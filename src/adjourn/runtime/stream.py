"""A live run without a store, as `agent.stream` gives it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic

from typing_extensions import TypeVar

from adjourn.driver.watch import Event, ToolCallApprovalRequired, watch
from adjourn.errors import Misused
from adjourn.runtime.arguments import Words
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.local_runtime import LocalRuntime
from adjourn.runtime.outcome import Outcome
from adjourn.runtime.run import Run

T = TypeVar("T", default=str)
LEFT = (
    "the block ended while the run was still active, so there is no outcome: iterate the run "
    "to its end inside the block, or resume `run.checkpoint`, which has the run so far"
)


class RunStream(Generic[T]):
    """A live storeless run. Iterate it for events; `pause`, `cancel` and `say` act on it; then
    `outcome`."""

    def __init__(self, runtime: LocalRuntime, begin: Callable[[], Awaitable[Run[T]]]) -> None:
        self._runtime, self._begin = runtime, begin
        self._run: Run[T] | None = None
        self._task: asyncio.Task[Outcome[T]] | None = None
        self._rests = False
        self._began, self._still = 0, frozenset[int]()

    async def __aenter__(self) -> "RunStream[T]":
        self._run = await self._begin()
        state = self.checkpoint.state
        self._began = state.seq
        self._still = frozenset(interrupt.seq for interrupt in state.interrupts)
        self._drive(self._run)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _drive(self, run: Run[T]) -> None:
        self._rests = False
        self._task = asyncio.get_running_loop().create_task(
            self._until_rest(run), name="adjourn-stream"
        )

    async def _until_rest(self, run: Run[T]) -> Outcome[T]:
        try:
            return await run.wait()
        finally:
            self._rests = True
            self._runtime.memory.ring(run.id)

    async def __aiter__(self) -> AsyncIterator[Event]:
        run, runtime = self._open(), self._runtime
        async for event in watch(runtime.memory, runtime.feed, run.id, until=lambda: self._rests):
            if isinstance(event, ToolCallApprovalRequired) and self._is_answered(event.seq):
                continue
            yield event
        if self._task is not None:  # the last record is written a moment before the run rests
            await asyncio.wait([self._task])

    def _is_answered(self, seq: int) -> bool:
        """Whether what a record asked was answered before the block: nobody has to decide it."""
        return seq <= self._began and seq not in self._still

    def _open(self) -> Run[T]:
        if self._run is None:
            raise Misused("use it as `async with agent.stream(...) as run:`")
        return self._run

    @property
    def run_id(self) -> str:
        """The run."""
        return self._open().id

    async def pause(self, *, now: bool = False, by: str = "", reason: str = "") -> None:
        """Stop at the next boundary.

        Args:
            now: abort the model call that is running, and keep what it had said.
            by: who pauses.
            reason: why.
        """
        await self._open().pause(now=now, by=by, reason=reason)
        self._go_on()

    async def cancel(self, *, by: str = "", reason: str = "") -> None:
        """Stop, undo in reverse what was done, and end.

        Args:
            by: who cancels.
            reason: why.
        """
        await self._open().cancel(by=by, reason=reason)
        self._go_on()

    async def say(self, text: Words, *, by: str = "") -> None:
        """Tell the agent something; it reads it at the next boundary.

        Args:
            text: the message: a string, a file, or a list of strings and files.
            by: who says it.
        """
        await self._open().say(text, by=by)
        self._go_on()

    def _go_on(self) -> None:
        """If the run had come to rest, it continues and rests again: `wait()`, or iterate once
        more."""
        if self._task is not None and self._task.done():
            self._drive(self._open())

    @property
    def checkpoint(self) -> Checkpoint:
        """The run so far (after the end: all of it)."""
        return self._runtime.saved(self._open().id)

    @property
    def outcome(self) -> Outcome[T]:
        """How it rested; raises `RunFailed` if it failed, `Misused` while it runs (iterate it to
        the end, or `await wait()`)."""
        self._open()
        if self._task is None or not self._task.done():
            raise Misused("the run is still active: iterate it to its end, or `await run.wait()`")
        if self._task.cancelled():
            raise Misused(LEFT)
        return self._task.result()

    async def wait(self) -> Outcome[T]:
        """Wait until it rests."""
        self._open()
        assert self._task is not None
        if self._task.cancelled():
            raise Misused(LEFT)
        return await asyncio.shield(self._task)


Handle = RunStream
