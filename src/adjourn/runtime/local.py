"""Runs without a store: the same loop on a private memory store. The checkpoint is its journal."""

import asyncio
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic

import msgspec
from typing_extensions import TypeVar

from adjourn.core.codec import plain
from adjourn.core.fingerprint import changes
from adjourn.core.records import Asked, CancelAsked, Command, PauseAsked, Resumed, Said, Started
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.clock import SystemClock
from adjourn.driver.feed import Feed
from adjourn.driver.identity import new_run_id
from adjourn.driver.watch import Event, watch
from adjourn.errors import (
    AnswerRequired,
    CheckpointInvalid,
    Conflict,
    Invalid,
    MissingResource,
    Misused,
    ProgramChanged,
    Refused,
    bare,
)
from adjourn.runtime.answers import MISSING, answers_for, describe, is_answer_needed
from adjourn.runtime.checkpoint import Checkpoint, Saved, taken_over
from adjourn.runtime.definition import Definition
from adjourn.runtime.outcome import Outcome, outcome_of
from adjourn.runtime.upgraders import upgraded

if TYPE_CHECKING:
    from adjourn.driver.loop import Drive

T = TypeVar("T", default=str)
TTL = 3600.0


class Conversation:
    """One storeless run, from its beginning or from a checkpoint, until it rests."""

    def __init__(self, agent: Definition[Any], run: str, resources: Mapping[str, Any] | None) -> None:
        from adjourn.stores.memory.store import MemoryStore  # where there is a store, there is no such one

        self.agent, self.run, self.resources = agent, run, dict(resources or {})
        self.store = MemoryStore(now=_now)
        self.feed = Feed()
        self.state = State()
        self.drive: Drive | None = None
        if missing := agent.program.missing(self.resources):
            raise MissingResource(missing, f"agent {bare(agent.name)}")

    @classmethod
    async def begin(
        cls,
        agent: Definition[Any],
        input: Any,
        resources: Mapping[str, Any] | None,
        after: Saved | None,
        by: str = "",
    ) -> "Conversation":
        """A new run."""
        agent.program.check_requester(by)
        self = cls(agent, new_run_id(), resources)
        started = Started(
            run=self.run, kind="agent", program=agent.name, fingerprint=agent.fingerprint, input=plain(input, "input"),
            by=by, **next_turn(after),
        )  # fmt: skip
        await self.store.create(started)
        return self

    @classmethod
    async def again(
        cls,
        agent: Definition[Any],
        saved: Saved,
        answer: Any,
        answers: Mapping[str, Any] | None,
        approved: bool | None,
        instruction: str | None,
        by: str | None,
        resources: Mapping[str, Any] | None,
        on_change: str | None,
    ) -> "Conversation":
        """A run from its checkpoint; everything is checked before anything is consumed."""
        checkpoint = upgraded(taken_over(saved), agent.name, agent.fingerprint)
        check_program(agent, checkpoint.state.fingerprint, on_change or agent.on_change)
        self = cls(agent, checkpoint.run_id, resources)
        state = checkpoint.state
        if state.status in ENDED:
            raise Refused(
                self.run,
                "resume",
                state.view,
                advice="start the next turn with run(input, after=checkpoint)",
            )
        decisions = await answers_for(state, answer, answers, approved, by or "", self.store.now())
        nothing = not decisions and not instruction
        if nothing and is_answer_needed(state, self.store.now()):
            raise AnswerRequired(describe(state))
        first, *rest = checkpoint.by_itself().records
        assert isinstance(first, Started)
        await self.store.create(first, rest)
        for decision in decisions:
            await self.store.deliver(self.run, decision)
        await self._go_on(state, instruction, by or "")
        return self

    async def _go_on(self, state: State, instruction: str | None, by: str) -> None:
        if instruction is not None and not isinstance(instruction, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"instruction= is a text, not {type(instruction).__name__}")
        if state.status in (Status.PAUSED, Status.PAUSING):
            await self.store.deliver(self.run, Resumed(instruction=instruction or "", by=by))
        elif instruction:
            await self.store.deliver(self.run, Said(text=instruction, by=by))

    async def advance(self) -> Outcome[Any]:
        """Drive until it rests for a person or ends."""
        from adjourn.driver.loop import Drive

        while True:
            lease = await self.store.acquire(self.run, "storeless", TTL, after=self.state.seq)
            if lease is not None:
                self.state.fold_all(lease.records)
                self.drive = Drive(
                    self.store, self.agent.program, lease, self.state, ttl=TTL, resources=self.resources, feed=self.feed
                )
                await self.drive.run()
            else:
                self.state.fold_all(await self.store.load(self.run, self.state.seq))
            if not await self._sleep():
                return await self.outcome()

    async def _sleep(self) -> bool:
        """If only time is waited for, wait for it; True if there is more to do."""
        row = await self.store.get(self.run)
        if row.status != Status.WAITING or not row.wake_at or not _only_timers(self.state):
            return False
        bell = asyncio.Event()
        end = self.store.subscribe(self.run, bell.set)
        try:
            await SystemClock().wait(bell, max(0.0, row.wake_at - self.store.now()))
        finally:
            end()
        return True

    async def checkpoint(self) -> Checkpoint:
        """The journal so far."""
        return Checkpoint([record for _, record in await self.store.load(self.run)])

    async def outcome(self) -> Outcome[Any]:
        """How it rests."""
        failed = [o.record.step for o in self.state.open.values() if isinstance(o.record, Asked)]
        cause = next((e for step, e in self.drive.errors.items() if step in failed), None) if self.drive else None
        return outcome_of(self.state, await self.checkpoint(), self.agent.load, cause)


def _now() -> float:
    return time.time()


def _only_timers(state: State) -> bool:
    kinds = {o.record.kind for o in state.open.values()}
    return kinds <= {"timer"}


def check_program(agent: Any, fingerprint: dict[str, Any], on_change: str) -> None:
    """Refuse a run of another definition, naming what changed; or warn."""
    if found := changes(agent.name, fingerprint, agent.fingerprint):
        if on_change != "warn":
            raise ProgramChanged(agent.name, found)
        warnings.warn(f"{agent.name!r} changed since the run started: {'; '.join(found)}", stacklevel=4)


def next_turn(after: Saved | None, secret: str | None = None) -> dict[str, Any]:
    """What the next turn of a finished conversation begins with: messages, session, and who shaped it so far."""
    if after is None:
        return {"history": [], "session": "", "requesters": ()}
    if isinstance(after, str) and not after.lstrip().startswith("{"):
        raise CheckpointInvalid(
            f"after= must be a checkpoint, got {after!r:.80}",
            consequence="no run was started",
            advice="pass outcome.checkpoint; only a runtime has the journal of a run: rt.start(agent, input, after=run_id)",
        )
    checkpoint = taken_over(after, secret=secret)
    return {**going_on(checkpoint.state), "history": msgspec.to_builtins(checkpoint.messages)}


def going_on(state: State) -> dict[str, Any]:
    """What the next turn after this run takes over, beside its messages. Raises `Refused` if it has not ended."""
    started = state.started
    if started.kind != "agent":
        raise Conflict(f"run {started.run!r} is of the flow {started.program!r}, which has no conversation")
    if state.status not in ENDED:
        raise Refused(
            started.run,
            "continue",
            state.view,
            advice="finish or resume it first: after= continues a finished conversation",
        )
    shaped = tuple(sorted(state.requesters))
    return {"session": started.session, "requesters": shaped, "summary": state.threads[""].summary}


class Handle(Generic[T]):
    """A live storeless run. Iterate it for events; `pause`, `cancel` and `say` act on it; then `outcome`."""

    def __init__(self, begin: Callable[[], Awaitable[Conversation]]) -> None:
        self._begin = begin
        self._conversation: Conversation | None = None
        self._task: asyncio.Task[Outcome[Any]] | None = None
        self._checkpoint: Checkpoint | None = None
        self._ended = False

    async def __aenter__(self) -> "Handle[T]":
        self._conversation = await self._begin()
        self._task = asyncio.get_running_loop().create_task(self._advance(self._conversation), name="adjourn-stream")
        return self

    async def _advance(self, conversation: Conversation) -> Outcome[Any]:
        try:
            return await conversation.advance()
        finally:
            self._ended = True
            self._checkpoint = await conversation.checkpoint()
            conversation.store.ring(conversation.run)

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def __aiter__(self) -> AsyncIterator[Event]:
        c = self._open()
        async for event in watch(c.store, c.feed, c.run, until=lambda: self._ended):
            yield event
        if self._task is not None:  # the last record is written a moment before the run rests
            await asyncio.wait([self._task])

    def _open(self) -> Conversation:
        if self._conversation is None:
            raise Misused("use it as `async with agent.stream(...) as run:`")
        return self._conversation

    @property
    def run_id(self) -> str:
        """The run."""
        return self._open().run

    async def pause(self, *, now: bool = False, by: str = "", reason: str = "") -> None:
        """Stop at the next boundary.

        Args:
            now: abort the model call that is running, and keep what it had said.
            by: who pauses.
            reason: why.
        """
        await self._tell(PauseAsked(now=now, by=by, reason=reason))

    async def cancel(self, *, by: str = "", reason: str = "") -> None:
        """Stop, undo in reverse what was done, and end.

        Args:
            by: who cancels.
            reason: why.
        """
        await self._tell(CancelAsked(by=by, reason=reason))

    async def say(self, text: str, *, by: str = "") -> None:
        """Send a message to the agent; it reads it at the next boundary.

        Args:
            text: the message.
            by: who says it.
        """
        if not isinstance(text, str) or not text:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"say takes a text that is not empty, not {text!r:.80}")
        await self._tell(Said(text=text, by=by))

    async def _tell(self, command: Command) -> None:
        """Deliver it; if the run had come to rest, it goes on and rests again: `wait()`, or iterate once more."""
        c = self._open()
        await c.store.deliver(c.run, command)
        if self._task is not None and self._task.done():
            self._ended, self._checkpoint = False, None
            self._task = asyncio.get_running_loop().create_task(self._advance(c), name="adjourn-stream")

    @property
    def checkpoint(self) -> Checkpoint:
        """The run so far (after the end: all of it)."""
        if self._checkpoint is not None:
            return self._checkpoint
        c = self._open()
        return Checkpoint([record for _, record in c.store.peek(c.run)])

    @property
    def outcome(self) -> Outcome[T]:
        """How it rested; raises `RunFailed` if it failed, `Misused` while it runs (iterate it to the end, or `await wait()`)."""
        self._open()
        if self._task is None or not self._task.done():
            raise Misused("the run has not come to rest yet: iterate it to its end, or `await run.wait()`")
        return self._task.result()

    async def wait(self) -> Outcome[T]:
        """Wait until it rests."""
        self._open()
        assert self._task is not None
        return await asyncio.shield(self._task)


__all__ = ["MISSING", "Conversation", "Handle", "check_program", "going_on", "next_turn"]
