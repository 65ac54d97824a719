"""A chunk, as what runs it sees it."""

from typing import Any

import msgspec

from adjourn.bodies.body import Body, Work
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.call import Call
from adjourn.core.codec import legible, plain, text_of
from adjourn.core.effect import Effect
from adjourn.core.records import Fact, Faulted, Returned, Suspended
from adjourn.driver.program import StepHandle
from adjourn.errors import Misused, NoOneToAnswer, PauseRequest
from adjourn.flow.chunk import Chunk
from adjourn.flow.flow_context import FlowContext

NO_HANDLE = "no_handle"
"""The kind of fault of a chunk that paused although nobody can answer."""

PLAIN_CALLS = "; pause_for, emit and publish of the context are plain calls, without await"


class ChunkBody(Body):
    """With a chunk's result stand its changes to the state and its events; an error of it fails the
    run, which can be resumed, and what runs beside it finishes."""

    def __init__(self, chunk: Chunk, call: Call, *, handle: bool = True) -> None:
        super().__init__(chunk, call)
        self.chunk, self.handle = chunk, handle

    @property
    def effect(self) -> Effect:
        if self.call.kind == "test":
            return Effect.READ
        return self.chunk.effect

    def context(self, desk: StepHandle, call: Call) -> FlowContext:
        flow = desk.state.flow
        assert flow is not None
        return FlowContext(desk, call, flow.scope_of(self.call.id))

    def work(self, context: ToolContext) -> Work:
        return Work(self.chunk.run, [context], {})

    def returned(self, context: ToolContext, value: Any, took: float, desk: StepHandle) -> Fact:
        call = self.call
        if call.kind == "test" and not isinstance(value, bool):
            text = (
                f"the condition {self.name!r} gave {type(value).__name__}, not True or "
                f"False; wrap it in bool(…)"
            )
            return Faulted(step=call.id, error=text)
        assert isinstance(context, FlowContext)
        try:
            changes = context.state.changes()
            return Returned(
                call=call.id,
                value=plain(value, "result"),
                changes=changes,
                emits=context.emitted,
                took=took,
            )
        except Exception as e:
            return self._unrecorded(
                f"{self.name} ran, but its result cannot be recorded: {e}", e, desk
            )

    def failed(self, fact: Returned, error: BaseException, desk: StepHandle) -> Fact:
        desk.failed(error)
        awaited = isinstance(error, TypeError) and "await" in text_of(error)
        text = fact.error + (PLAIN_CALLS if awaited else "")
        return Faulted(step=self.call.id, error=text, kind=type(error).__name__)

    def paused(self, fact: Fact, context: ToolContext, desk: StepHandle) -> Fact:
        assert isinstance(context, FlowContext)
        pause = context.paused
        if (
            not self.handle
            and isinstance(pause, PauseRequest)
            and pause.fields.get("kind") != "timer"
        ):
            refusal = NoOneToAnswer(self.name)
            desk.failed(refusal)
            return Faulted(step=self.call.id, error=str(refusal), kind=NO_HANDLE)
        if isinstance(fact, Returned):  # its interrupt id is taken
            return self.failed(fact, Misused(fact.error), desk)
        if not isinstance(fact, Suspended) or fact.resume_to == "self":
            return fact
        try:  # its body does not run again, so what it had changed and emitted stays
            return msgspec.structs.replace(
                fact, changes=context.state.changes(), emits=context.emitted
            )
        except Exception as e:
            return self._unrecorded(
                f"it paused, but its state changes cannot be recorded: {e}", e, desk
            )

    def _unrecorded(self, text: str, error: Exception, desk: StepHandle) -> Faulted:
        desk.failed(error)
        return Faulted(step=self.call.id, error=legible(text), kind="unrecorded")
