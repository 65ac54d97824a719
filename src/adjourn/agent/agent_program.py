"""An agent as a program: its answers to the plan's questions, and how its steps are performed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adjourn.agent.agent_tool import family
from adjourn.agent.conversations import Conversations, cut_in_time
from adjourn.core.plan import Judged, Plan, Step, wind_up
from adjourn.core.records import Fact, RunCompleted
from adjourn.core.state import Call, State
from adjourn.core.stop_conditions import (
    External,
    Leaf,
    Progress,
    TextMention,
    ToolCalled,
)
from adjourn.core.thread import SpokenText, Thread
from adjourn.driver.program import StepHandle

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent


class AgentProgram:
    """See `driver.program.Program`."""

    kind = "agent"

    def __init__(self, agent: "Agent[Any]") -> None:
        self.agent = agent
        self.name = agent.name
        self.stop = agent.stop
        self.agents = family(agent)
        self._conversations = Conversations(self.agents)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.agent.fingerprint

    def check_requester(self, by: str) -> None:
        """See `Conversations.check_requester`."""
        self._conversations.check_requester(by)

    def missing(self, resources: Mapping[str, Any]) -> set[str]:
        return self._conversations.missing(resources)

    def judge(self, state: State, call: Call, now: float) -> Judged:
        return self._conversations.judge(state, call, now)

    def next(self, state: State, now: float, plan: Plan) -> None:
        if state.stop_now:
            wind_up(
                plan,
                state,
                completed(state.threads[""], state.threads[""].text, stopped=state.stop_now),
            )
            return
        self._threads(state, now, plan)

    def _threads(self, state: State, now: float, plan: Plan) -> None:
        """Each conversation: its model call, or its end."""
        end: RunCompleted | None = None
        # Conversations that have ended stay in `threads`, and not every live call is one: look
        # through the shorter.
        for path in (
            state.threads if len(state.threads) <= len(state.live) + 1 else ("", *state.live)
        ):
            thread = state.threads.get(path)
            if thread is None or (path and path not in state.live):
                continue
            if self._conversations.holds(state, thread, plan):
                continue
            if thread.final and path:
                self._conversations.returns(thread, plan)
            elif thread.final:
                if not state.live:
                    plan.moves.append(completed(thread, thread.output))
            elif thread.due():
                end = self._model_due(state, thread, now, plan) or end
        if end is not None:
            wind_up(plan, state, end)

    def _model_due(
        self, state: State, thread: Thread, now: float, plan: Plan
    ) -> RunCompleted | None:
        """Add the model call, or what stands against it; a limit that ends the run is given
        back."""
        if not self._conversations.is_due(state, thread, now, plan):
            return None
        whole = self._progress(state, thread, now)
        tripped, path = self.stop.check(whole, state.extended), ""
        if tripped is None:
            tripped, path = self._conversations.tripped(state, thread, now)
        if tripped is None:
            self._conversations.ask_model(state, thread, plan)
            self._conversations.plan_cuts(state, thread, now, plan)
            cut_in_time(plan, now, self.stop, whole, state.extended)
            return None
        if tripped.action != "pause" and not path:
            return _ended(tripped.leaf, state.threads.get("", thread))
        self._conversations.stop(state, thread, tripped, path, plan)
        return None

    def _progress(self, state: State, thread: Thread, now: float) -> Progress:
        """How far the whole run has come, which the root's limits count. A nested agent's count
        its own conversation and those below it."""
        root = state.threads.get("", thread)
        return Progress(
            state.steps,
            state.usage.total_tokens,
            state.usage.cost,
            now - state.started.at,
            SpokenText(root),
            state.called,
            state.flags,
            state.waited,
        )

    async def perform(self, step: Step, desk: StepHandle) -> Fact:
        return await self._conversations.perform(step, desk)


def _ended(leaf: Leaf, thread: Thread) -> RunCompleted:
    """A condition of success completes the run; a limit stops it."""
    if isinstance(leaf, TextMention | ToolCalled):
        return completed(thread, thread.text, by=leaf.name)
    assert isinstance(leaf, Leaf | External)
    return completed(thread, thread.text, stopped=leaf.name)


def completed(thread: Thread, output: Any, *, by: str = "", stopped: str = "") -> RunCompleted:
    """The end of a run. Its output is not written again if it is what the agent said last."""
    if output and output == thread.text:
        return RunCompleted(spoken=True, by=by, stopped=stopped)
    return RunCompleted(output=output, by=by, stopped=stopped)
