"""A flow as a program: what its graph makes due, and how chunks are performed."""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adjourn.agent.body import ended_badly, paused, run_function, unwrapped
from adjourn.agent.context import compensation
from adjourn.agent.program import UNDO_TIMEOUT, AgentProgram, family, retry_at, verified
from adjourn.core.call import Call
from adjourn.core.codec import plain
from adjourn.core.digest import action_digest
from adjourn.core.plan import Go, Judged, Plan, Step, interrupt_id
from adjourn.core.records import Asked, Completed, Fact, Faulted, Intended, Returned, Suspended, Verified
from adjourn.core.state import State
from adjourn.core.stop import Progress
from adjourn.driver.program import Desk
from adjourn.errors import InvalidDefinition, LeaseLost, StoreError
from adjourn.flow.context import FlowContext

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.flow.flow import Chunk, Flow

log = logging.getLogger("adjourn.flow")


class FlowProgram(AgentProgram):
    """See `driver.program.Program`. The agents among its chunks are performed as an agent's program does."""

    kind = "flow"

    def __init__(self, flow: "Flow") -> None:
        self.flow = flow
        self.name = flow.name
        self.stop = flow.stop
        self.agents: dict[str, Agent[Any]] = {}
        for agent in flow.all_agents().values():
            self.agents |= family(agent)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.flow.fingerprint

    def judge(self, state: State, call: Call, now: float) -> Judged:
        if call.path in state.threads:
            return super().judge(state, call, now)
        digest = action_digest(state.run, call.id, call.tool, "", call.args)
        if call.kind == "agent":
            intended = Intended(
                call=call.id, tool=call.tool, attempt=call.attempt + 1, digest=digest, effect="read", agent=call.tool, input=call.args
            )  # fmt: skip
            return Go(intended)
        chunk = self._chunk(call)
        effect = "read" if call.kind == "test" else chunk.effect.value
        undo = chunk.undo is not None
        return Go(
            Intended(call=call.id, tool=call.tool, attempt=call.attempt + 1, digest=digest, effect=effect, undo=undo),
            key_ttl=chunk.key_ttl,
        )

    def _chunk(self, call: Call) -> "Chunk":
        chunk = self.flow.all_chunks().get(call.tool)
        if chunk is None:
            raise InvalidDefinition(f"flow {self.name!r} has no chunk {call.tool!r}")
        return chunk

    def next(self, state: State, now: float, plan: Plan) -> None:
        flow = state.flow
        assert flow is not None
        if problem := next(iter(flow.problems), None):
            if not any(o.record.kind == "error" for o in state.open.values()):
                plan.moves.append(
                    Asked(i=interrupt_id(state, "graph"), kind="error", step="graph", payload={"error": problem})
                )
            return
        if tripped := self.stop.check(self._progress(state, now), state.extended):
            plan.moves.append(Completed(output=flow.data, stopped=tripped.leaf.name))
            plan.start.clear()
            return
        self._threads(state, now, plan)
        if state.live or state.open or plan.moves or plan.facts or plan.start:
            return
        options = state.started.options
        timeout = options.get("timeout", 0.0)
        if flow.closing or (options.get("auto_close", True) and timeout is not None and now >= flow.touched + timeout):
            plan.moves.append(Completed(output=flow.data))
        elif options.get("auto_close", True) and timeout is not None:
            plan.wake_at(flow.touched + timeout)

    def _progress(self, state: State, now: float) -> Progress:
        flow = state.flow
        assert flow is not None
        steps = state.steps + sum(flow.done.values())
        return Progress(
            steps, state.usage.total_tokens, state.usage.cost, now - state.started.at, "", frozenset(flow.done)
        )

    def missing(self, resources: Mapping[str, Any]) -> set[str]:
        return (super().missing(resources) | set(self.flow.all_resources())) - set(resources)

    async def perform(self, step: Step, desk: Desk) -> Fact:
        call = step.call
        if step.kind == "model" or (call is not None and call.path in desk.state.threads):
            return await super().perform(step, desk)
        assert call is not None
        chunk = self._chunk(call)
        if step.kind == "undo":
            return await self._undo_chunk(chunk, step, call, desk)
        if step.kind == "verify":
            return await self._verify_chunk(chunk, call, desk)
        return await self._body(chunk, call, desk)

    async def _body(self, chunk: "Chunk", call: Call, desk: Desk) -> Fact:
        flow = desk.state.flow
        assert flow is not None
        context = FlowContext(desk, call, flow.scope_of(call.id))
        started = desk.now()
        try:
            value = await asyncio.wait_for(run_function(chunk.run, context, [context], {}), chunk.timeout)
            if context.paused is None:
                return self._returned(chunk, call, context, value, round(desk.now() - started, 4))
            error: BaseException = context.paused
        except BaseException as e:
            error = unwrapped(e, context)
        fact = (
            paused(call, context, desk) if context.paused is error else self._failed(chunk, call, context, error, desk)
        )
        if isinstance(fact, Suspended) and fact.resume_to != "self":
            return _with(fact, context)
        return fact

    def _returned(self, chunk: "Chunk", call: Call, context: FlowContext, value: Any, took: float) -> Fact:
        if left := context.leftover():
            text = f"{chunk.name} left recorded work unused ({', '.join(left)}): it is not the body that recorded it"
            return Faulted(step=call.id, error=text, kind="changed")
        if call.kind == "test" and not isinstance(value, bool):
            return Faulted(
                step=call.id, error=f"the condition {chunk.name!r} gave {type(value).__name__}, not True or False"
            )
        try:
            return Returned(
                call=call.id,
                value=plain(value, "result"),
                changes=context.state.changes(),
                emits=context.emitted,
                took=took,
            )
        except Exception as e:
            return Faulted(
                step=call.id, error=f"{chunk.name} ran, but what it made cannot be recorded: {e}", kind="unrecorded"
            )

    def _failed(self, chunk: "Chunk", call: Call, context: FlowContext, error: BaseException, desk: Desk) -> Fact:
        """A chunk that raises fails the run, which can be resumed; what runs beside it finishes."""
        fact = ended_badly(chunk, call, context, error, desk)
        if isinstance(fact, Returned):
            desk.failed(error)
            return Faulted(step=call.id, error=fact.error)
        return fact

    async def _undo_chunk(self, chunk: "Chunk", step: Step, call: Call, desk: Desk) -> Fact:
        context = FlowContext(desk, Call(step.id, chunk.name, call.args, call.path))
        suffix = step.id.partition("!")[2]
        try:
            if suffix == "undo":
                assert chunk.undo is not None
                function, args = chunk.undo, [context, call.args, call.value]
            else:
                function, args = compensation(desk.run_id, call, int(suffix.removeprefix("cancel")), chunk.run)
            value = await asyncio.wait_for(run_function(function, context, args, {}), chunk.timeout or UNDO_TIMEOUT)
            return Returned(call=step.id, value=plain(value, "result"))
        except (LeaseLost, StoreError):
            raise
        except Exception as e:
            desk.failed(e)
            text = f"{type(e).__name__}: {e}"
            return Faulted(step=step.id, error=text, transient=True, retry_at=retry_at(desk.now(), step.attempt))

    async def _verify_chunk(self, chunk: "Chunk", call: Call, desk: Desk) -> Fact:
        assert chunk.verify is not None
        context = FlowContext(desk, call)
        try:
            return verified(call, await run_function(chunk.verify, context, [context, call.args], {}))
        except (LeaseLost, StoreError):
            raise
        except Exception as e:
            desk.failed(e)
            return Verified(call=call.id, answer="unknown", value=f"{type(e).__name__}: {e}")


def _with(fact: Suspended, context: FlowContext) -> Fact:
    """What the chunk had changed and emitted before it paused stays: its body does not run again."""
    import msgspec

    try:
        return msgspec.structs.replace(fact, changes=context.state.changes(), emits=context.emitted)
    except Exception as e:
        return Faulted(
            step=fact.call, error=f"it paused, but what it changed cannot be recorded: {e}", kind="unrecorded"
        )
