"""Executions: a flow run by hand, without a store. The same loop on a private memory store."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from adjourn.agent.outcome import failure
from adjourn.agent.storeless import TTL, check_program
from adjourn.core.codec import plain
from adjourn.core.interrupt import Interrupt
from adjourn.core.policy import seconds
from adjourn.core.records import CancelAsked, Command, Decided, Emitted, PauseAsked, Resumed, Said, Started
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.answers import answered
from adjourn.driver.checkpoint import Checkpoint
from adjourn.driver.clock import SystemClock
from adjourn.driver.events import Event, watch
from adjourn.driver.feed import Feed
from adjourn.driver.identity import new_run_id
from adjourn.driver.loop import Drive
from adjourn.errors import Invalid, MissingResource, Misused, Refused, UnknownInterrupt
from adjourn.stores.memory import MemoryStore

if TYPE_CHECKING:
    from adjourn.flow.flow import Flow


class Execution:
    """One run of a flow: start it, answer what it waits for, save and load it, close it."""

    def __init__(
        self,
        flow: "Flow",
        *,
        auto_close: bool = True,
        timeout: float | None = 10.0,
        resources: Mapping[str, Any] | None = None,
        handle: bool = True,
    ) -> None:
        self.flow = flow
        self._options = {
            "auto_close": auto_close, "timeout": None if timeout is None else seconds(timeout, "auto_close_timeout"), "handle": handle,
        }  # fmt: skip
        self.resources = dict(resources or {})
        self._store = MemoryStore(now=time.time)
        self._feed = Feed()
        self._clock = SystemClock()
        self._state = State()
        self._run = ""
        self._closer: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._drive: Drive | None = None
        flow.graph  # noqa: B018 (a graph that cannot work is refused here, not later)

    # Beginning

    async def start(self, value: Any = None) -> "Execution":
        """Begin; returns when every chain has ended or waits."""
        if self._run:
            raise Misused("this execution was started already; create another one")
        self._need_resources()
        self._run = new_run_id()
        started = Started(
            run=self._run, kind="flow", program=self.flow.name, fingerprint=self.flow.fingerprint, input=plain(value, "input"),
            graph=msgspec.to_builtins(self.flow.graph), options=self._options,
        )  # fmt: skip
        await self._store.create(started)
        await self._advance()
        return self

    def save(self) -> Checkpoint:
        """The execution as a checkpoint."""
        return Checkpoint([record for _, record in self._store.peek(self._id())])

    def load(self, saved: Checkpoint | str | bytes | Mapping[str, Any]) -> "Execution":
        """Take over a saved execution; nothing runs yet. A flow that lost a chunk is refused, naming it."""
        if self._run:
            raise Misused("load into a new execution: flow.create_execution().load(saved)")
        checkpoint = Checkpoint.from_json(saved)
        if checkpoint.started.kind != "flow":
            raise Invalid("this is the checkpoint of an agent, not of a flow")
        check_program(self.flow, checkpoint.started, "refuse")
        self._store.adopt(checkpoint.records)
        self._run = checkpoint.run_id
        self._state = State().fold_all(self._store.peek(self._run))
        return self

    # Looking

    @property
    def run_id(self) -> str:
        """Its id."""
        return self._id()

    @property
    def status(self) -> str:
        """`created`, or the status that people see."""
        return self._state.view if self._run else "created"

    @property
    def state(self) -> dict[str, Any]:
        """The flow's state so far, a copy."""
        return plain(self._state.flow.data) if self._state.flow else {}

    @property
    def pending_interrupts(self) -> dict[str, Interrupt]:
        """What it waits for, by id."""
        return {i.id: i for i in self._state.interrupts if i.kind != "timer"}

    @property
    def missing_resources(self) -> set[str]:
        """Resources that the flow declares and that were not given."""
        return self.flow.program.missing(self.resources)

    async def stream(self) -> AsyncIterator[Event]:
        """What chunks publish, interrupts and progress, until it is closed."""
        async for event in watch(self._store, self._feed, self._id()):
            yield event

    # Answering

    async def continue_with(
        self, interrupt_id: str, value: Any = None, *, by: str = "", request_id: str = ""
    ) -> "Execution":
        """Answer an interrupt; returns when every chain has ended or waits again."""
        self._open("continue")
        self._need_resources()
        if request_id and await self._repeated(request_id):
            return self
        found = self.pending_interrupts.get(interrupt_id) or self.pending_interrupts.get(f"{self._run}:{interrupt_id}")
        if found is None:
            raise UnknownInterrupt(interrupt_id, list(self.pending_interrupts))
        command: Decided = answered(found, value, by=by)
        await self._tell(command, request_id)
        return self

    async def _repeated(self, request_id: str) -> bool:
        return self._store.knows(self._run, request_id)

    async def emit(self, event: str, value: Any = None, *, by: str = "") -> "Execution":
        """Send an event: it resolves what waits for it and begins the chains of `when(event)`."""
        self._open("emit to")
        await self._tell(Emitted(event=event, value=plain(value, "value"), by=by))
        return self

    async def say(self, text: str, *, by: str = "") -> None:
        """A note that chunks can read in `ctx.notes`."""
        self._open("say to")
        await self._tell(Said(text=text, by=by))

    async def pause(self, *, by: str = "", reason: str = "") -> None:
        """Stop at the next boundary."""
        self._open("pause")
        await self._tell(PauseAsked(by=by, reason=reason))

    async def resume(self, *, by: str = "") -> None:
        """Let a paused execution go on."""
        self._open("resume")
        await self._tell(Resumed(by=by))

    async def cancel(self, *, by: str = "", reason: str = "") -> None:
        """Stop, undo in reverse what was done, and end."""
        await self._tell(CancelAsked(by=by, reason=reason))

    async def close(
        self, *, pending_interrupts: Literal["error", "cancel"] = "error", timeout: float | None = None
    ) -> dict[str, Any]:
        """End it and give the state. Refuses while interrupts wait, and stays open, unless they are to be cancelled."""
        if pending_interrupts not in ("error", "cancel"):
            raise Invalid(f"pending_interrupts is 'error' or 'cancel', not {pending_interrupts!r}")
        if self._state.status not in ENDED:
            await self._close(pending_interrupts == "cancel", timeout)
        if self._closer is not None:
            self._closer.cancel()
        if self._state.failed:
            raise failure(self._state, self.save()) from self._cause()
        return self.state

    async def _close(self, cancel: bool, timeout: float | None) -> None:
        self._id()
        if (pending := self.pending_interrupts) and not cancel and not self._state.failed:
            listed = ", ".join(map(repr, pending))
            raise Refused(
                self._run,
                "close",
                self.status,
                f'interrupts wait: {listed}; answer them, or close(pending_interrupts="cancel")',
            )
        if self._state.failed and not cancel:
            return
        async with asyncio.timeout(timeout):
            await self._tell(Emitted(event="@close", value={"cancel": True} if cancel else None))

    # Driving

    def _id(self) -> str:
        if not self._run:
            raise Misused("start the execution first, or load a saved one")
        return self._run

    def _open(self, verb: str) -> None:
        if self._id() and self._state.status in ENDED:
            raise Refused(self._run, verb, self.status, "it is closed")

    def _need_resources(self) -> None:
        if missing := self.missing_resources:
            raise MissingResource(missing, f"flow {self.flow.name!r}")

    async def _tell(self, command: Command, request_id: str = "") -> None:
        await self._store.deliver(self._id(), command, request=request_id)
        await self._advance()

    async def _advance(self) -> None:
        """Drive until it rests. Somebody else may be driving already: then wait for that, and look again."""
        async with self._lock:
            row = await self._store.get(self._run)
            lease = await self._store.acquire(self._run, "execution", TTL, after=self._state.seq, replaces=row.worker)
            if lease is not None:
                self._state.fold_all(lease.records)
                self._drive = Drive(
                    self._store, self.flow.program, lease, self._state, ttl=TTL, resources=self.resources, feed=self._feed
                )  # fmt: skip
                self._state = await self._drive.run()
            else:
                self._state.fold_all(await self._store.load(self._run, self._state.seq))
        self._schedule()
        if self._state.failed and self._cause() is not None:
            raise failure(self._state, self.save()) from self._cause()

    def _cause(self) -> BaseException | None:
        return next(iter(self._drive.errors.values()), None) if self._drive else None

    def _schedule(self) -> None:
        """Wake it when its next timer, or its own closing, is due."""
        if self._closer is not None and self._closer is not asyncio.current_task():
            self._closer.cancel()
            self._closer = None
        parked = self._state.parked
        if self._state.status == Status.WAITING and parked and parked.wake_at:
            delay = max(0.0, parked.wake_at - self._store.now())
            self._closer = asyncio.get_running_loop().create_task(self._later(delay), name="adjourn-close")

    async def _later(self, delay: float) -> None:
        await self._clock.wait(asyncio.Event(), delay)
        await self._advance()
