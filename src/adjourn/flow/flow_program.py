"""A flow as a program: what its graph makes due, and when it ends."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adjourn.agent.conversations import Conversations, ask_to_go_on, cut_in_time, is_open
from adjourn.bodies.step_dispatch import perform_body
from adjourn.core.action_digest import action_digest
from adjourn.core.call import Call, Phase
from adjourn.core.duration import Duration, seconds
from adjourn.core.flow_events import FlowClosing
from adjourn.core.ids import GRAPH
from adjourn.core.plan import Ask, Go, Judged, Plan, Step
from adjourn.core.records import Asked, Fact, Faulted, Intended, Returned, RunCompleted
from adjourn.core.state import State
from adjourn.core.stop_conditions import (
    External,
    MaxTime,
    Progress,
    TextMention,
    ToolCalled,
    Tripped,
    limits_cost,
)
from adjourn.core.thread import Thread
from adjourn.driver.program import StepHandle
from adjourn.flow.chunk_body import NO_HANDLE, ChunkBody

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.flow.chunk import Chunk
    from adjourn.flow.flow import Flow


class FlowProgram:
    """See `driver.program.Program`. The agents among its chunks have conversations, as an agent's
    program has one.

    In a runtime a flow ends as soon as nothing runs and nothing waits (`timeout` 0); executions
    have their own ideas.
    """

    kind = "flow"

    def __init__(
        self,
        flow: "Flow",
        *,
        auto_close: bool = True,
        timeout: Duration | None = 0.0,
        handle: bool = True,
    ) -> None:
        flow.graph  # noqa: B018 (a graph that cannot work is refused here, not later)
        self.flow = flow
        self.name = flow.name
        self.stop = flow.stop
        self.agents: dict[str, Agent[Any]] = flow._all_agents()
        if limits_cost(self.stop):
            from adjourn.agent.cost_limits import check_prices

            check_prices(f"flow {flow.name!r}", self.agents.values())
        self._conversations = Conversations(self.agents)
        self.handle = handle
        self._closes = auto_close and timeout is not None
        if timeout is None:
            self._timeout = 0.0
        else:
            self._timeout = seconds(timeout, "auto_close_timeout")
        self._chunks: dict[tuple[str, str], Chunk] = {}
        for one in flow._all_flows().values():
            for chunk in one.chunks.values():
                self._chunks[one.name, chunk.name] = chunk
        self._resources = flow._all_resources()

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.flow.fingerprint

    def missing(self, resources: Mapping[str, Any]) -> set[str]:
        return (self._conversations.missing(resources) | self._resources) - set(resources)

    def check_requester(self, by: str) -> None:
        """See `Conversations.check_requester`."""
        self._conversations.check_requester(by)

    # Pure questions

    def judge(self, state: State, call: Call, now: float) -> Judged:
        if call.path in state.threads:
            return self._conversations.judge(state, call, now)
        chunk = self._chunks.get((call.of, call.tool))
        if chunk is None if call.kind != "agent" else call.tool not in self.agents:
            return Ask(
                _broken(
                    state,
                    call.id,
                    f"flow {self.name!r} no longer has the {call.kind} {call.tool!r}",
                    call.id,
                )
            )
        intended = Intended(
            call=call.id,
            tool=call.tool,
            attempt=call.attempt + 1,
            digest=action_digest(state.run, call.id, call.tool, "", call.args),
            effect="read" if chunk is None or call.kind == "test" else chunk.effect.value,
            undo=chunk is not None and chunk.undo is not None,
            agent=call.tool if chunk is None else "",
            input=call.args if chunk is None else None,
        )
        return Go(intended, key_ttl=chunk.key_ttl if chunk else 0.0)

    def next(self, state: State, now: float, plan: Plan) -> None:
        flow = state.flow
        assert flow is not None
        if flow.closing == FlowClosing.CANCEL:
            _wind_up(plan, state, RunCompleted(output=flow.data), settle=False)
            return
        if state.stop_now:
            _start_nothing_new(plan, len(plan.start))
            _wind_up(plan, state, RunCompleted(output=flow.data, stopped=state.stop_now))
            return
        if flow.problems and not _is_graph_asked(state):
            plan.moves.append(_broken(state, GRAPH, flow.problems[0]))
        self._threads(state, now, plan)
        if plan.facts:
            return
        self._limit(state, now, plan)
        if any(fault.kind == NO_HANDLE for fault in state.faults.values()):
            _start_nothing_new(plan, len(plan.start))
        self._end(state, now, plan)

    def _end(self, state: State, now: float, plan: Plan) -> None:
        """The flow ends when nothing runs and nothing waits: at once, after a while, or when it is
        closed."""
        if state.live or state.open or plan.moves or plan.start or plan.rest:
            return
        flow = state.flow
        assert flow is not None
        due = flow.touched + self._timeout
        if flow.closing or (self._closes and (not self._timeout or now >= due)):
            plan.moves.append(RunCompleted(output=flow.data))
        elif self._closes:
            plan.wake_at(due)

    # Limits

    def _limit(self, state: State, now: float, plan: Plan) -> None:
        """Of what would start, keep what the limit leaves room for. It counts chunks and model
        calls, also those in flight."""
        flying = sum(call.id not in state.threads for call in _intended(state))
        used = flying + (state.flow.steps if state.flow else 0)
        fresh = list(filter(_is_new, plan.start))
        for more in range(max(1, len(fresh))):
            tripped = self.stop.check(self._progress(state, now, used + more), state.extended)
            if tripped is not None and (fresh or isinstance(tripped.leaf, External)):
                _start_nothing_new(plan, len(fresh) - more)
                self._trip(state, tripped, plan)
                return
        if any(step.asks_model for step in plan.start):
            cut_in_time(plan, now, self.stop, self._progress(state, now, used), state.extended)

    def _progress(self, state: State, now: float, used: int) -> Progress:
        flow = state.flow
        assert flow is not None
        called: frozenset[str] = frozenset()
        if any(isinstance(leaf, ToolCalled) for leaf in self.stop.leaves()):
            called = frozenset(flow.called)
        return Progress(
            state.steps + used,
            state.usage.total_tokens,
            state.usage.cost,
            now - state.started.at,
            "",
            called,
            state.flags,
            state.waited,
        )

    def _trip(self, state: State, tripped: Tripped, plan: Plan) -> None:
        leaf, flow = tripped.leaf, state.flow
        assert flow is not None
        if tripped.action == "stop":
            success = isinstance(leaf, TextMention | ToolCalled)
            by, stopped = (leaf.name, "") if success else ("", leaf.name)
            _wind_up(plan, state, RunCompleted(output=flow.data, by=by, stopped=stopped))
            return
        if isinstance(leaf, MaxTime):
            plan.abort |= {"model"}
        ask_to_go_on(state, leaf, leaf.name, plan)

    # Agents

    def _threads(self, state: State, now: float, plan: Plan) -> None:
        """Each conversation that goes on: its model call, or its end."""
        if not state.threads:
            return
        for call in _intended(state):
            thread = state.threads.get(call.id)
            if thread is None:
                continue
            if self._conversations.holds(state, thread, plan):
                continue
            if thread.final:
                self._conversations.returns(thread, plan)
            elif thread.due() and self._conversations.is_due(state, thread, now, plan):
                tripped, path = self._conversations.tripped(state, thread, now)
                if tripped is None:
                    self._conversations.ask_model(state, thread, plan)
                    self._conversations.plan_cuts(state, thread, now, plan)
                else:
                    self._stop(state, thread, tripped, path, plan)

    def _stop(self, state: State, thread: Thread, tripped: Tripped, path: str, plan: Plan) -> None:
        """A chunk that is an agent and stopped by its own limit has no output: that fails it, so
        that it can be resumed."""
        flow = state.flow
        assert flow is not None
        if tripped.action == "pause" or thread.path not in flow.tokens:
            self._conversations.stop(state, thread, tripped, path, plan)
            return
        self._conversations.cut_off(thread, plan)
        if isinstance(tripped.leaf, TextMention | ToolCalled):
            plan.facts.append(Returned(call=thread.path, value=thread.text))
        else:
            text = (
                f"agent {thread.agent!r} was stopped by {tripped.leaf.name}; so far: {thread.text}"
            )
            plan.facts.append(Faulted(step=thread.path, error=text))

    # Steps

    async def perform(self, step: Step, desk: StepHandle) -> Fact:
        call = step.call
        if call is None or call.path in desk.state.threads:
            return await self._conversations.perform(step, desk)
        chunk = self._chunks.get((call.of, call.tool))
        if chunk is None:
            return Faulted(
                step=step.id, error=f"flow {self.name!r} no longer has the chunk {call.tool!r}"
            )
        return await perform_body(ChunkBody(chunk, call, handle=self.handle), step, desk)


def _broken(state: State, step: str, error: str, call: str = "") -> Asked:
    payload = {"error": error, "step": step}
    return Asked(i=state.next_interrupt(step), kind="error", call=call, step=step, payload=payload)


def _intended(state: State) -> list[Call]:
    """The calls that have begun."""
    return [call for call in state.live.values() if call.phase == Phase.INTENDED]


def _is_graph_asked(state: State) -> bool:
    """Whether somebody is asked already about what is wrong with the graph."""
    asked = (opened.record for opened in state.open.values() if isinstance(opened.record, Asked))
    return any(record.step == GRAPH for record in asked)


def _is_new(step: Step) -> bool:
    """Whether it would be a step more, not one that goes on."""
    return step.asks_model or (
        step.kind == "call" and step.call is not None and not step.call.attempt
    )


def _start_nothing_new(plan: Plan, last: int) -> None:
    """Take out the last so many of the new steps, and the intents of those."""
    if not last:
        return
    dropped: set[str] = set()
    for step in list(filter(_is_new, plan.start))[-last:]:
        dropped.add(step.id)
    plan.start = [step for step in plan.start if step.id not in dropped]
    plan.moves = [
        move for move in plan.moves if not (isinstance(move, Intended) and move.call in dropped)
    ]


def _wind_up(plan: Plan, state: State, end: RunCompleted, *, settle: bool = True) -> None:
    """End the run as soon as nothing is in flight: cut model calls, and first settle what is in
    doubt."""
    plan.abort |= {"model"}
    if not settle:
        plan.start, plan.moves, plan.rest = [], [], end
    elif not plan.moves and not is_open(state, "in_doubt", "error"):
        plan.rest = end
