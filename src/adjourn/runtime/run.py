"""A run's handle: what people do to it, and what they see of it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from adjourn.agent.outcome import Outcome, outcome_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import Message, Usage
from adjourn.core.records import AnyRecord, CancelAsked, PauseAsked, Resumed, Said
from adjourn.core.state import Phase, State
from adjourn.core.status import ENDED, Status
from adjourn.driver.answers import answered
from adjourn.driver.checkpoint import Checkpoint
from adjourn.driver.events import Event, watch
from adjourn.errors import Invalid, Refused

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime

T = TypeVar("T", default=Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A run, looked at. `status` is what people see; `calls` are those without a result yet."""

    run_id: str
    program: str
    status: str
    seq: int
    input: Any
    steps: int
    usage: Usage
    interrupts: list[Interrupt]
    calls: list[dict[str, Any]]
    done: list[dict[str, Any]]
    text: str


def look(state: State, status: str = "") -> RunState:
    """A state as people see it."""
    return RunState(
        run_id=state.run, program=state.started.program, status=status or state.view, seq=state.seq, input=state.started.input,
        steps=state.steps, usage=state.usage, interrupts=state.interrupts,
        calls=[{"call": c.id, "tool": c.tool, "arguments": c.args, "phase": c.phase.value} for c in state.live.values()],
        done=[
            {"call": c.id, "tool": c.tool, "arguments": c.args, "result": c.value, "undo": c.undo}
            for c in state.effects.values() if c.phase == Phase.RETURNED
        ],
        text=state.threads[""].text if "" in state.threads else "",
    )  # fmt: skip


class Run(Generic[T]):
    """One execution of an agent or a flow. The handle holds nothing: any process can have one for the same run."""

    def __init__(self, runtime: "Runtime", run_id: str) -> None:
        self._rt = runtime
        self.id = run_id

    @property
    def run_id(self) -> str:
        """Its id."""
        return self.id

    async def wait(self, timeout: float | None = None) -> Outcome[T]:
        """Until it ends or waits for a person. Raises `RunFailed`; `TimeoutError` after `timeout` seconds (it goes on)."""
        async with asyncio.timeout(timeout):
            state, records = await self._rest()
        cause = self._rt.worker.errors.get(self.id)
        program = self._rt.agents.get(state.started.program)
        load = program.output.load if program else _as_it_is
        return outcome_of(state, Checkpoint(records, secret=self._rt.secret), load, cause)

    async def _rest(self) -> tuple[State, list[AnyRecord]]:
        store, state, records = self._rt.store, State(), list[AnyRecord]()
        bell = asyncio.Event()
        end = store.subscribe(self.id, bell.set)
        try:
            while True:
                bell.clear()
                await self._rt.worker.rested(self.id)  # while this process drives it, every look would be too early
                for seq, record in await store.load(self.id, state.seq):
                    state.fold(seq, record)
                    records.append(record)
                if _rests(state):
                    return state, records
                if refusal := self._rt.worker.refusals.get(self.id):
                    raise refusal
                timer = asyncio.get_running_loop().call_later(1.0, bell.set)
                await bell.wait()
                timer.cancel()
        finally:
            end()

    def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """Its records after `after`, once and in order, and live items as they come, until it ends. Closing it stops nothing."""
        return watch(self._rt.store, self._rt.feed, self.id, after)

    async def _fold(self) -> State:
        return State().fold_all(await self._rt.store.load(self.id))

    async def messages(self) -> list[Message]:
        """The conversation so far."""
        return (await self._fold()).messages

    async def state(self) -> RunState:
        """Where it is: status, what it waits for, calls in flight, what was done."""
        row = await self._rt.store.get(self.id)
        return look(await self._fold(), row.view(self._rt.store.now()))

    async def status(self) -> str:
        """The status that people see."""
        return (await self._rt.store.get(self.id)).view(self._rt.store.now())

    async def checkpoint(self) -> Checkpoint:
        """Its journal as a checkpoint."""
        return Checkpoint([record for _, record in await self._rt.store.load(self.id)], secret=self._rt.secret)

    async def pause(self, *, by: str = "", reason: str = "", now: bool = False, request_id: str = "") -> None:
        """Stop at the next boundary. `now` aborts the model call in flight and keeps what it had said."""
        await self._deliver(PauseAsked(now=now, by=by, reason=reason), request_id)

    async def resume(self, instruction: str = "", *, by: str = "", request_id: str = "") -> None:
        """Let a paused run go on, perhaps with an instruction; or try a failed one again."""
        if not isinstance(instruction, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"instruction is a text, not {type(instruction).__name__}")
        state = await self._fold()
        if not state.failed:
            await self._deliver(Resumed(instruction=instruction, by=by), request_id)
            return
        for interrupt in state.interrupts:
            await self._deliver(answered(interrupt, "retry", by=by), request_id and f"{request_id}/{interrupt.id}")
        if instruction:
            await self.say(instruction, by=by, request_id=request_id and f"{request_id}/say")

    async def cancel(self, *, by: str = "", reason: str = "", request_id: str = "") -> None:
        """Stop, undo in reverse what was done, and end. Twice is the same as once."""
        await self._deliver(CancelAsked(by=by, reason=reason), request_id)

    async def say(self, text: str, *, by: str = "", request_id: str = "") -> None:
        """Tell the agent something; it reads it, once, at the next boundary."""
        if not isinstance(text, str) or not text:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"say takes a text that is not empty, not {text!r:.80}")
        await self._deliver(Said(text=text, by=by), request_id)

    async def _deliver(self, command: Any, request_id: str) -> None:
        await self._rt.deliver(self.id, command, request_id)

    def __repr__(self) -> str:
        return f"Run({self.id!r})"


def _as_it_is(value: Any) -> Any:
    return value


def _rests(state: State) -> bool:
    """Ended, or nothing happens until a person acts."""
    if state.status in ENDED or state.status == Status.PAUSED:
        return True
    if state.status not in (Status.WAITING, Status.STUCK):
        return False
    return any(i.kind not in ("timer", "event") for i in state.interrupts)


__all__ = ["Refused", "Run", "RunState", "look"]
