"""An agent as a program: its answers to the plan's questions, and how its steps are performed."""

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from adjourn.agent import model_call
from adjourn.agent.tool import Tool
from adjourn.agent.tool_body import ToolBody
from adjourn.agent.toolset import recorded_tool, tool_for
from adjourn.bodies.signature import ArgumentError
from adjourn.bodies.step_dispatch import perform_body
from adjourn.core.authority import objection, people, shown_digest
from adjourn.core.conversation_state import SpokenText, Thread
from adjourn.core.digest import action_digest
from adjourn.core.ids import ancestors, is_within, limit_step, limits_at, model_step, summary_step
from adjourn.core.plan import Ask, Go, Judged, Plan, Refuse, Step, wind_up
from adjourn.core.policy import DEFAULT, Judgement, strictest
from adjourn.core.policy_rule import ToolTraits, Verdict
from adjourn.core.records import NEVER, Asked, Fact, Intended, Returned, RunCompleted
from adjourn.core.signatures import is_genuine
from adjourn.core.state import Call, State
from adjourn.core.stop_conditions import External, Leaf, Progress, TextMention, ToolCalled, Tripped
from adjourn.core.usage import Usage
from adjourn.driver.program import StepHandle
from adjourn.errors import Invalid, InvalidDefinition

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent


ALLOWED = Judgement(Verdict.ALLOW)
"""What no policy has anything to say about."""


class Conversations:
    """The conversations of a run's agents: may a call of theirs run, is a model call due, how is a
    step of theirs done.

    A program has one, and adds what is its own: where conversations come from, its limits, and its
    end.
    """

    def __init__(self, agents: "dict[str, Agent[Any]]") -> None:
        self.agents = agents

    def check_requester(self, by: str) -> None:
        """Raise `Invalid` where a rule wants somebody else than who asked, and nobody says who
        asks."""
        if by:
            return
        for agent in self.agents.values():
            if agent.policy is not None:
                rules = agent.policy.rules
            else:
                rules = ()
            if wanting := next((rule for rule in rules if rule.not_requester), None):
                raise Invalid(
                    (
                        f"the rule «{wanting.text}» of {agent.name!r} needs another person than "
                        f"the requester (not_requester)"
                    ),
                    advice="pass the requester with by=",
                )

    # Pure questions

    def _agent(self, state: State, path: str) -> "Agent[Any]":
        return self.agents[state.threads[path].agent]

    def _up(self, state: State, path: str) -> "list[Agent[Any]]":
        """The agents from the root down to `path`."""
        if not path:
            return [self.agents[state.threads[""].agent]]
        above = ("", *ancestors(path))
        return [self._agent(state, one) for one in above if one in state.threads]

    def judge(self, state: State, call: Call, now: float) -> Judged:
        """May this tool call run now?"""
        up = self._up(state, call.path)
        tool = up[-1].tools.get(call.tool)
        if tool is None and up[-1].toolsets:
            tool = recorded_tool(state, call)
        if tool is None:
            known = ", ".join(sorted(up[-1].tools)) or "none"
            return Refuse(f"there is no tool {call.tool!r}; the tools are: {known}", "unknown")
        try:
            args = tool.validate(call.args)
        except ArgumentError as e:
            return Refuse(f"invalid arguments for {tool.name}: {e}", "invalid")
        if call.attempt == 0 and not tool.is_complete(call.args):  # recorded by an older version
            return Refuse(
                f"invalid arguments for {tool.name}: what it draws itself was not recorded; call it again",
                "invalid",
            )
        judged = self._verdict(up, tool, args)
        if judged.verdict == Verdict.DENY:
            return Refuse(f"not allowed: {judged.reason or f'policy denies {tool.name}'}", "denied")
        if judged.verdict == Verdict.ASK:
            gate = judged.gate()
        else:
            gate = ()
        # Only what somebody agrees to is compared with what they were shown.
        if gate:
            shown = action_digest(state.run, call.id, tool.name, tool.exact, args)
        else:
            shown = ""
        if isinstance(tool, AgentTool):
            child = tool.agent.name
        else:
            child = ""
        intended = Intended(
            call=call.id,
            tool=tool.name,
            attempt=call.attempt + 1,
            digest=shown,
            effect=tool.effect.value,
            undo=tool.undo is not None,
            under=state.agents_under(call.path),
            agent=child,
            input=args.get("input") if child else None,
            gate=gate,
        )
        if gate:
            agreed = self._agreed(state, call, tool, args, judged, intended, now)
            if agreed is None:
                return Ask(self._asked(state, call, tool, args, judged, shown, now))
            intended = agreed
        return Go(intended, bool(gate), tool.key_ttl)

    def _verdict(self, up: "list[Agent[Any]]", tool: Tool, args: dict[str, Any]) -> Judgement:
        judgements: list[Judgement] = []
        traits = ToolTraits(tool.schema, tool.effect.value, tool.undo is not None)
        for agent in up:
            if agent.policy is not None:
                judgements.append(agent.policy.judge(tool.name, args, traits))
        if tool.rule is not None:
            judgements.append(Judgement(tool.rule.verdict, "", (tool.rule,)))
        if judgements:
            return strictest(judgements)
        return ALLOWED

    def _agreed(
        self,
        state: State,
        call: Call,
        tool: Tool,
        args: dict[str, Any],
        judged: Judgement,
        intended: Intended,
        now: float,
    ) -> Intended | None:
        """The intent with the interrupt whose decisions stand behind exactly this, or None."""
        for_run = state.granted.get(action_digest(state.run, "", tool.name, tool.exact, args), "")
        for interrupt in filter(None, (call.grant, for_run)):
            if (grant := state.grants.get(interrupt)) is None:
                continue
            again = grant.lives == call.id and tool.effect.value in ("read", "idempotent")
            spent = bool(grant.lives) and not again and not grant.for_run
            if grant.asked.escalated:
                gate = judged.gate(judged.expiring)
            else:
                gate = intended.gate
            lives = msgspec.structs.replace(intended, grant=interrupt, gate=gate)
            why = objection(
                state.run,
                lives,
                grant.asked,
                grant.decisions,
                state.requesters,
                now,
                spent,
                lambda decided, asked=grant.asked: is_genuine(
                    state.trust, state.run, asked, decided
                ),
            )
            if not why:
                return lives
        return None

    def _asked(
        self,
        state: State,
        call: Call,
        tool: Tool,
        args: dict[str, Any],
        judged: Judgement,
        shown: str,
        now: float,
    ) -> Asked:
        rules = tuple({rule.identity: rule for rule in judged.rules}.values())
        groups = set(chain.from_iterable(rule.groups for rule in rules))
        lasting = filter(None, (rule.valid_for for rule in rules))
        reminding = filter(None, (rule.remind_every for rule in rules))
        gate = judged.gate()
        first = judged.expiring
        asked = Asked(
            gate=gate,
            action=shown,
            requesters=tuple(sorted(state.requesters)),
            i=state.next_interrupt(call.id),
            kind="approval",
            call=call.id,
            tool=tool.name,
            args=args,
            definition=tool.exact,
            describes=tool.description,
            phrase=tool.phrase(args),
            effect=tool.effect.value,
            undo=tool.undo is not None,
            reason=judged.reason,
            rules=tuple(rule.text for rule in rules) or (DEFAULT,),
            approvers=people(gate),
            groups=tuple(sorted(groups)),
            not_requester=any(rule.not_requester for rule in rules),
            queue=bool(rules) and all(rule.queue for rule in rules),
            valid_for=min(lasting, default=NEVER),
            remind_every=min(reminding, default=NEVER),
            schema=tool.edit_schema if judged.edits else False,
            expires=now + first.expires_in if first else NEVER,
            on_expiry=first.on_expiry if first else "deny",
            escalate_to=first.escalate_to if first else (),
            escalated_gate=judged.gate(first) if first and first.escalate_to else (),
            under=state.agents_under(call.path),
        )
        return msgspec.structs.replace(asked, digest=shown_digest(state.run, asked))

    def is_due(self, state: State, thread: Thread, now: float, plan: Plan) -> bool:
        """Whether its model call may be made now; if it has failed, what follows from that is added
        to the plan."""
        agent = self.agents[thread.agent]
        step, _ = _next_call(agent, thread)
        if fault := state.faults.get(step):
            if fault.asked:
                return False
            if not fault.transient or fault.count >= agent.retries:
                if self._tells(state, thread):
                    text = f"{thread.agent} failed: {fault.error}"
                    plan.facts.append(Returned(call=thread.path, error=text))
                    return False
                payload = {
                    "error": fault.error,
                    "kind": fault.kind,
                    "step": step,
                    "agent": thread.agent,
                    "can_resume": fault.transient,
                    "attempts": fault.count,
                }
                under = state.agents_under(thread.path)
                plan.moves.append(
                    Asked(
                        i=state.next_interrupt(step),
                        kind="error",
                        step=step,
                        payload=payload,
                        under=under,
                    )
                )
                return False
            if fault.retry_at > now:
                plan.retry_at(fault.retry_at, now)
                return False
        return True

    def ask_model(self, state: State, thread: Thread, plan: Plan) -> None:
        """Add the model call, or the one for a summary that must come before it."""
        step, kind = _next_call(self.agents[thread.agent], thread)
        fault = state.faults.get(step)
        under = state.agents_under(thread.path)
        plan.start.append(
            Step(step, kind, thread.path, None, under, (fault.count if fault else 0) + 1)
        )

    def returns(self, thread: Thread, plan: Plan) -> None:
        """A nested agent has its output."""
        plan.facts.append(Returned(call=thread.path, value=thread.output))

    def _tells(self, state: State, thread: Thread) -> bool:
        """Whether the agent above is told that this one failed, instead of a person."""
        call = state.live.get(thread.path)
        if call is None or call.path not in state.threads:
            return False
        tool = self._agent(state, call.path).tools.get(call.tool)
        return isinstance(tool, AgentTool) and tool.on_failure == "tell"

    def tripped(self, state: State, thread: Thread, now: float) -> tuple[Tripped | None, str]:
        """The first limit of a nested agent on the way down to this conversation that has tripped,
        and the agent's path. It counts its own conversation and those below it."""
        for path in ancestors(thread.path):
            if path in state.threads:
                stop, extended = (
                    self.agents[state.threads[path].agent].stop,
                    limits_at(state.extended, path),
                )
                if tripped := stop.check(_progress_below(state, path, now), extended):
                    return tripped, path
        return None, ""

    def stop(self, state: State, thread: Thread, tripped: Tripped, path: str, plan: Plan) -> None:
        """What follows from a limit of the agent at `path`: a person is asked, or the nested agent
        ends."""
        leaf = tripped.leaf
        if tripped.action == "pause":
            if not is_open(state, "limit"):
                payload = {
                    "limit": leaf.budget,
                    "condition": leaf.name,
                    "question": f"{leaf.name} is reached. Go on?",
                }
                step = limit_step(leaf.name, path)
                plan.ask(
                    Asked(i=state.next_interrupt(step), kind="limit", step=step, payload=payload)
                )
        else:
            plan.facts.append(
                Returned(call=thread.path, error=f"stopped by {leaf.name}; so far: {thread.text}")
            )

    def missing(self, resources: Mapping[str, Any]) -> set[str]:
        """Resources that tools of the agents need and that are not there."""
        needed: set[str] = set()
        for agent in self.agents.values():
            for tool in agent.tools.values():
                needed.update(tool.resources.values())
        return needed - set(resources)

    # Steps

    async def perform(self, step: Step, desk: StepHandle) -> Fact:
        """A model call, or a step of a tool's call; the one fact that ends it."""
        if step.kind == "model":
            return await model_call.reply(self._agent(desk.state, step.path), step, desk)
        if step.kind == "summary":
            return await model_call.summary(self._agent(desk.state, step.path), step, desk)
        assert step.call is not None
        tool = await tool_for(self._agent(desk.state, step.call.path), step.call, desk)
        return await perform_body(ToolBody(tool, step.call), step, desk)


def is_open(state: State, *kinds: str) -> bool:
    """Whether an interrupt of one of these kinds is open."""
    return any(opened.record.kind in kinds for opened in state.open.values())


def _next_call(agent: "Agent[Any]", thread: Thread) -> tuple[str, Literal["model", "summary"]]:
    """The step that is due in a conversation."""
    if agent.history.summary_due(thread):
        return summary_step(thread.path), "summary"
    return model_step(thread.path), "model"


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
        tripped, path = self._tripped(state, thread, now)
        if tripped is None:
            self._conversations.ask_model(state, thread, plan)
            return None
        if tripped.action != "pause" and not path:
            return _ended(tripped.leaf, state.threads.get("", thread))
        self._conversations.stop(state, thread, tripped, path, plan)
        return None

    def _tripped(self, state: State, thread: Thread, now: float) -> tuple[Tripped | None, str]:
        """The first limit on the way down to this conversation that has tripped, and the path of
        its agent. The root's limits count the whole run, a nested agent's its own conversation and
        those below it."""
        root = state.threads.get("", thread)
        whole = Progress(
            state.steps,
            state.usage.total_tokens,
            state.usage.cost,
            now - state.started.at,
            SpokenText(root),
            frozenset(state.called),
            frozenset(state.flags),
            state.waited,
        )
        if tripped := self.stop.check(whole, state.extended):
            return tripped, ""
        return self._conversations.tripped(state, thread, now)

    async def perform(self, step: Step, desk: StepHandle) -> Fact:
        return await self._conversations.perform(step, desk)


class AgentTool(Tool):
    """An agent as a tool of another: its conversation is a path inside the same run."""

    def __init__(
        self, agent: "Agent[Any]", name: str, description: str, on_failure: str = "ask"
    ) -> None:
        if on_failure not in ("ask", "tell"):
            raise InvalidDefinition(
                f"as_tool of {agent.name!r}: on_failure= must be 'ask' or 'tell', got {on_failure!r:.80}"
            )
        schema = {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
            "additionalProperties": False,
        }
        super().__init__(name, description, schema, _never, effect="read")
        self.agent, self.on_failure = agent, on_failure


def _never(input: str) -> None:
    """Never called: the driver opens a path instead."""


def family(agent: "Agent[Any]", above: "tuple[Agent[Any], ...]" = ()) -> "dict[str, Agent[Any]]":
    """The agent and everything below it, by name; raises `InvalidDefinition` if a name is not
    enough to find one."""
    way = (*above, agent)
    if any(one is agent for one in above):
        circle = " → ".join(one.name for one in way)
        raise InvalidDefinition(
            f"agent {agent.name!r} would be its own tool ({circle}): take one of them out"
        )
    found: dict[str, Agent[Any]] = {agent.name: agent}
    for tool in agent.tools.values():
        if isinstance(tool, AgentTool):
            for name, child in family(tool.agent, way).items():
                if not _is_same(found.setdefault(name, child), child):
                    raise InvalidDefinition(
                        f"two different agents below {agent.name!r} are named {name!r}",
                        advice="a run finds them by name: rename one",
                    )
    return found


def _is_same(one: "Agent[Any]", other: "Agent[Any]") -> bool:
    """One agent, or two that a factory made alike."""
    alike = one.fingerprint == other.fingerprint and one.instructions == other.instructions
    sent_alike = one.history == other.history and one.model.name == other.model.name
    return one is other or (alike and one.stop == other.stop and sent_alike)


def _progress_below(state: State, path: str, now: float) -> Progress:
    """How far a nested agent has come, with the agents below it."""
    below: list[Thread] = []
    for place, thread in reversed(state.threads.items()):  # what is below came later
        if is_within(place, path):
            below.append(thread)
        if place == path:
            break
    steps, usage = 0, Usage()
    called: set[str] = set()
    for thread in below:
        steps += thread.turn + thread.summaries
        usage += thread.usage
        called.update(thread.called)
    top = state.threads[path]
    return Progress(
        steps,
        usage.total_tokens,
        usage.cost,
        now - top.at,
        SpokenText(top),
        frozenset(called),
        frozenset(state.flags),
        state.waited - top.waited,
    )


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
