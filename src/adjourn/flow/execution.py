"""Executions: a flow run by hand, without a store: a run of a private runtime, continued call by
call."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from adjourn.core.codec import plain
from adjourn.core.ids import CLOSE, checked_event, local_of
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.records import CancelAsked, Command, Emitted, PauseAsked, RunCompleted, Said
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.clock import Clock
from adjourn.driver.watch import Event, watch
from adjourn.errors import Invalid, Misused, Refused, RunFailed, UnknownInterrupt, bare
from adjourn.runtime.checked_answers import answered, check_event
from adjourn.runtime.checkpoint import Checkpoint, taken_over
from adjourn.runtime.local_runtime import LocalRuntime
from adjourn.runtime.outcome import Outcome, failure, outcome_of
from adjourn.runtime.program_choice import check_resources
from adjourn.runtime.resumption import fitting, resuming
from adjourn.stores.protocol import Filter

if TYPE_CHECKING:
    from adjourn.flow.flow import Flow
    from adjourn.flow.flow_program import FlowProgram


class Execution:
    """One run of a flow: start it, answer what it waits for, save and load it, close it."""

    def __init__(
        self,
        program: "FlowProgram",
        resources: Mapping[str, Any] | None = None,
        *,
        clock: Clock | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._program = program
        self._rt = LocalRuntime(program.flow, resources, program=program, clock=clock, now=now)
        self._store, self._worker = self._rt.memory, self._rt.local
        self._run = ""
        self._begun = asyncio.Event()
        self._waker: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Execution({self.flow.name!r}, run_id={self._run!r}, status={self.status!r})"

    # Beginning

    async def start(self, value: Any = None) -> "Execution":
        """Start; returns when every chain has ended or waits. Raises `RunFailed` if a chunk failed
        and nothing else waits.

        Args:
            value: the input.
        """
        if self._run:
            raise Misused("this execution has already been started", advice="create another one")
        self._begin((await self._rt.start(self.flow, value, after=None)).id)
        await self._advance()
        return self

    def _begin(self, run: str) -> None:
        self._run = run
        self._begun.set()

    def save(self) -> Checkpoint:
        """The execution as a checkpoint. A chunk that runs meanwhile is in doubt when it is
        loaded."""
        return self._rt.saved(self._id())

    def load(
        self,
        saved: Checkpoint | str | bytes | Mapping[str, Any],
        *,
        on_change: Literal["refuse", "warn"] = "refuse",
    ) -> "Execution":
        """Continue a saved execution; nothing runs yet. A flow that lost a chunk is refused, naming
        it.

        Args:
            saved: what `save` gave, as a `Checkpoint` or as JSON.
            on_change: what to do if the flow has changed: `"refuse"`, or `"warn"` and continue.
        """
        if self._run:
            raise Misused("load into a new execution: flow.create_execution().load(saved)")
        checkpoint = taken_over(saved)
        if checkpoint.started.kind != "flow":
            raise Invalid("this is the checkpoint of an agent, not of a flow")
        fit = fitting(checkpoint, self.flow, on_change)
        self._store.adopt(fit.records, fit.files)
        self._begin(checkpoint.run_id)
        return self

    # Looking

    @property
    def flow(self) -> "Flow":
        """Its flow."""
        return self._program.flow

    @property
    def run_id(self) -> str:
        """Its id."""
        return self._id()

    @property
    def status(self) -> str:
        """`created`, or the status that people see."""
        if not self._run:
            return "created"
        state = self._now()
        if self._worker.drives(self._run) and state.status == Status.READY:
            return "running"
        return state.view

    @property
    def stopped_by(self) -> str:
        """The limit that stopped it, such as `MaxSteps(500)`; empty if none did."""
        ended = self._now().ended
        if isinstance(ended, RunCompleted):
            return ended.stopped
        return ""

    @property
    def state(self) -> dict[str, Any]:
        """The flow's state so far, a copy."""
        flow = self._now().flow
        return plain(flow.data) if flow else {}

    @property
    def pending_interrupts(self) -> dict[str, Interrupt]:
        """What it waits for, by id. What has expired is nobody's to answer any more."""
        now = self._store.now()
        waiting = [i for i in self._now().interrupts if i.kind != "timer"]
        return {i.id: i for i in waiting if not i.expires_at or i.expires_at > now}

    @property
    def missing_resources(self) -> set[str]:
        """Resources that the flow declares and that were not given."""
        return self._program.missing(self._rt.resources)

    def picture(self) -> str:
        """A mermaid diagram: which chunks are done, running, waiting."""
        state = self._now()
        from adjourn.views.diagram import mermaid

        return mermaid(state.flow.graph if state.flow else self.flow.graph, state)

    async def stream(self) -> AsyncIterator[Event]:
        """What chunks publish, interrupts and progress, until it is closed. May be begun before
        `start`."""
        await self._begun.wait()
        async for event in watch(self._store, self._rt.feed, self._run):
            yield event

    # What people do

    async def continue_with(
        self,
        interrupt_id: str | Interrupt,
        value: Any = None,
        *,
        by: str = "",
        request_id: str = "",
    ) -> "Execution":
        """Answer an interrupt; returns when every chain has ended or waits. Everything is checked
        before anything is recorded.

        Args:
            interrupt_id: its id or ref, or the `Interrupt` itself.
            value: the answer.
            by: who answers.
            request_id: the same id again is the same answer again.
        """
        check_resources(self._program, self._rt.resources)
        if not (request_id and self._store.knows(self._id(), request_id)):
            self._open("continue")
        interrupt = await self._interrupt(interrupt_id)
        await self._tell(await answered(interrupt, value, by=by), request_id)
        return self

    async def _interrupt(self, given: str | Interrupt) -> Interrupt:
        """An interrupt, whatever its state; raises `UnknownInterrupt`, listing the pending ones."""
        id = given.ref if isinstance(given, Interrupt) else given
        if not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"continue_with needs the id of an interrupt, a key of pending_interrupts, got {id!r:.80}"
            )
        local = local_of(self._id(), id)
        if opened := self._now().open.get(local):
            return view(self._run, opened.seq, opened.record)
        if local:
            for found in await self._store.inbox(Filter(run=self._run, interrupt=local, limit=1)):
                return found
        raise UnknownInterrupt(id, list(self.pending_interrupts))

    async def emit(self, event: str, value: Any = None, *, by: str = "") -> "Execution":
        """Send an event: it resolves what waits for it and begins the chains of `when(event)`.

        Args:
            event: its name.
            value: what it carries; any JSON value.
            by: who sends it.
        """
        self._open("emit to")
        check_resources(self._program, self._rt.resources)
        value = plain(value, "value")
        value = await check_event(self._now(), checked_event(event), value, named=False)
        await self._tell(Emitted(event=event, value=value, by=by))
        return self

    async def say(self, text: str, *, by: str = "") -> None:
        """Add a note that chunks can read in `ctx.notes`.

        Args:
            text: the note.
            by: who says it.
        """
        if not isinstance(text, str) or not text:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"say needs a non-empty string, got {text!r:.80}",
                advice="a file is sent with an event: emit(event, File(data))",
            )
        self._open("say to")
        await self._tell(Said(text=text, by=by), raises=False)

    async def pause(self, *, by: str = "", reason: str = "", now: bool = False) -> None:
        """Stop at the next boundary; returns when it has stopped.

        Args:
            by: who pauses.
            reason: why.
            now: abort model calls that are running.
        """
        self._open("pause")
        await self._tell(PauseAsked(now=now, by=by, reason=reason), raises=False)

    async def resume(self, instruction: str = "", *, by: str = "") -> "Execution":
        """Continue: after a pause, after a failure (which is retried), or after `load`.

        Args:
            instruction: a note that chunks can read in `ctx.notes`.
            by: who resumes.
        """
        self._open("resume")
        check_resources(self._program, self._rt.resources)
        state = self._now()
        commands = resuming(state, instruction, by)
        for interrupt in state.interrupts if state.failed else []:
            commands.append(await answered(interrupt, "retry", by=by))
        for command in commands:
            await self._rt.deliver(self._run, command)
        await self._advance()
        return self

    async def cancel(self, *, by: str = "", reason: str = "") -> Outcome[Any]:
        """Stop, undo in reverse what was done, and end. Returns what was undone and what stays.
        Twice is the same as once.

        Args:
            by: who cancels.
            reason: why.
        """
        await self._tell(CancelAsked(by=by, reason=reason), raises=False)
        return outcome_of(self._now(), self.save(), self.flow.load)

    async def close(
        self,
        *,
        pending_interrupts: Literal["error", "cancel"] = "error",
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """End it and return the state, once everything that runs has ended. Refuses while
        interrupts are open, and leaves it open.

        Args:
            pending_interrupts: `"error"` refuses; `"cancel"` closes the open interrupts, and
                nothing new starts.
            timeout: seconds to wait for what runs; then `TimeoutError`.
        """
        if pending_interrupts not in ("error", "cancel"):
            raise Invalid(
                f"pending_interrupts must be 'error' or 'cancel', got {pending_interrupts!r:.80}"
            )
        self._id()
        async with asyncio.timeout(timeout):
            await self._close(cancel=pending_interrupts == "cancel")
        self._sleep_no_more()
        return self.state

    async def _close(self, *, cancel: bool) -> None:
        told = False
        while self._now().status not in ENDED:
            self._may_close(cancel)
            if not told and self._now().status not in (Status.CANCELLING, Status.STUCK):
                told = True
                await self._tell(Emitted(event=CLOSE, value={"cancel": True} if cancel else None))
            else:
                await self._wake()

    def _may_close(self, cancel: bool) -> None:
        state, pending = self._now(), self.pending_interrupts
        if state.status in (Status.PAUSED, Status.PAUSING, Status.STUCK):
            advice = "" if state.status == Status.STUCK else "resume it first, or cancel it"
            raise Refused(self._run, "close", self.status, advice=advice)
        if pending and not cancel:
            if state.failed:
                raise self._failure()
            listed = ", ".join(map(bare, pending))
            advice = f'answer its interrupts ({listed}), or call close(pending_interrupts="cancel")'
            raise Refused(self._run, "close", self.status, advice=advice)

    # Driving

    def _id(self) -> str:
        if not self._run:
            raise Misused("start the execution first, or load a saved one")
        return self._run

    def _now(self) -> State:
        if self._run:
            return self._worker.state(self._run)
        return State()

    def _open(self, verb: str) -> None:
        if self._id() and self._now().status in ENDED:
            raise Refused(self._run, verb, self.status, "it is closed")

    async def _tell(self, command: Command, request_id: str = "", *, raises: bool = True) -> None:
        await self._rt.deliver(self._id(), command, request_id)
        await self._advance(raises=raises)

    async def _advance(self, *, raises: bool = True) -> None:
        """Drive until it rests, in this task, after the one that drives it now, if there is one."""
        await self._worker.advance(self._run)
        state = self._now()
        self._schedule(state)
        if raises and state.failed:
            raise self._failure() from self._worker.errors.get(self._run)

    def _failure(self) -> RunFailed:
        return failure(self._now(), self.save())

    def _schedule(self, state: State) -> None:
        """Wake it when its next timer, or its own closing, is due."""
        if self._waker is not asyncio.current_task():
            self._sleep_no_more()
        if _wake_at(state):
            self._waker = asyncio.get_running_loop().create_task(self._later(), name="adjourn-wake")

    async def _later(self) -> None:
        # its status tells, and so does whoever acts on it next
        with contextlib.suppress(RunFailed):
            await self._rt.clock.wait(
                asyncio.Event(), max(0.0, _wake_at(self._now()) - self._store.now())
            )
            await self._advance()

    async def _wake(self) -> None:
        """Wait until it is due, or until somebody has spoken, and look again."""
        await self._worker.sleep(self._run, _wake_at(self._now()))
        await self._advance()

    def _sleep_no_more(self) -> None:
        if self._waker is not None and self._waker is not asyncio.current_task():
            self._waker.cancel()
        self._waker = None


def _wake_at(state: State) -> float:
    """When a run continues by itself; 0: never."""
    if state.parked and state.status == Status.WAITING:
        return state.parked.wake_at
    return 0.0
