"""The conversations of a run's agents: may a call of theirs run, is a model call due, how is a step of
theirs done."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from adjourn.agent import model_call
from adjourn.agent.agent_tool import AgentTool
from adjourn.agent.tool import Tool
from adjourn.agent.toolset import tool_for
from adjourn.agent.wanted_call import wanted_call
from adjourn.core.action_digest import action_digest
from adjourn.core.approval_votes import people
from adjourn.core.authority import Support, objection, shown_digest
from adjourn.core.call import VETOED
from adjourn.core.decision import fixed
from adjourn.core.ids import ancestors, limit_step, limits_at, model_step, summary_step
from adjourn.core.plan import Ask, Go, Judged, Plan, Refuse, Step
from adjourn.core.policy import DEFAULT, Judgement, strictest
from adjourn.core.policy_rule import RunTraits, ToolTraits, Verdict
from adjourn.core.records import NEVER, Asked, Decided, Fact, Intended, Returned
from adjourn.core.signatures import is_genuine
from adjourn.core.standing_decision import under
from adjourn.core.state import Call, State
from adjourn.core.stop_conditions import (
    Leaf,
    MaxTime,
    Progress,
    Stop,
    Tripped,
    is_timed,
    progress_below,
)
from adjourn.core.thread import Thread
from adjourn.driver.program import StepHandle
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.agent.hook import Hook
    from adjourn.agent.tool_body import ToolBody
    from adjourn.bodies.body import Body

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
            rules = agent.policy.rules if agent.policy is not None else ()
            if wanting := next((rule for rule in rules if rule.not_requester), None):
                raise Invalid(
                    (
                        f"the rule «{wanting.text}» of {agent.name!r} needs a person other than "
                        "the requester (not_requester)"
                    ),
                    advice="pass the requester with by=",
                )

    # Pure questions

    def _agent(self, state: State, path: str) -> "Agent[Any]":
        return self.agents[state.threads[path].agent]

    def _up(self, state: State, path: str) -> "list[Agent[Any]]":
        """The agents from the root down to `path`, those that handed over among them."""
        names: list[str] = []
        for above in ("", *ancestors(path)):
            if above in state.threads:
                names += state.threads[above].agents
        return [self.agents[name] for name in names]

    def _owner(self, state: State, call: Call) -> "Agent[Any]":
        """The agent whose tool a call is of."""
        return self.agents[call.agent or state.threads[call.path].agents[0]]

    def judge(self, state: State, call: Call, now: float) -> Judged:
        """May this tool call run now?"""
        up = self._up(state, call.path)
        wanted = wanted_call(state, call, self._owner(state, call))
        if isinstance(wanted, Refuse):
            return wanted
        tool, args = wanted.tool, wanted.args
        judged = self._verdict(up, tool, args, state, call)
        if judged.verdict == Verdict.DENY:
            return Refuse(f"not allowed: {judged.reason or f'policy denies {tool.name}'}", "denied")
        if call.veto:
            return Refuse(f"not allowed: {call.veto}", VETOED)
        unchecked = not (call.checked and call.checked == state.epoch)
        unchecked = unchecked and bool(_hooks(up, "before", tool.name))
        gate = judged.gate() if judged.verdict == Verdict.ASK else ()
        # Only what somebody agrees to is compared with what they were shown.
        if gate:
            shown = action_digest(state.run, call.id, tool.name, tool.exact, args)
        else:
            shown = ""
        intended = Intended(
            call=call.id,
            tool=tool.name,
            attempt=call.attempt + 1,
            digest=shown,
            effect=tool.effect.value,
            undo=tool.undo is not None,
            secret_result=tool.sealed_as,
            under=state.agents_under(call.path),
            agent=wanted.agent,
            input=wanted.input,
            gate=gate,
        )
        if gate:
            agreed = self._agreed(state, call, tool, args, judged, intended, now)
            if agreed is None:
                asked = self._asked(state, call, tool, args, judged, shown, now)
                return Ask(asked, unchecked)
            intended = agreed
        return Go(intended, bool(gate), tool.key_ttl, unchecked)

    def _verdict(
        self,
        up: "list[Agent[Any]]",
        tool: Tool,
        args: dict[str, Any],
        state: State,
        call: Call,
    ) -> Judgement:
        judgements: list[Judgement] = []
        traits = ToolTraits(tool.schema, tool.effect.value, tool.undo is not None)
        for policy in filter(None, (agent.policy for agent in up)):
            facts = RunTraits.of(state, call) if policy.looks_at_runs else None
            judgements.append(policy.judge(tool.name, args, traits, facts))
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
        for_run = ""
        if state.granted:
            action = action_digest(state.run, "", tool.name, tool.exact, args)
            for_run = state.granted.get(action, "")
        for interrupt in filter(None, (call.grant, for_run)):
            if (grant := state.grants.get(interrupt)) is None:
                continue
            again = grant.lives == call.id and tool.effect.value in ("read", "idempotent")
            spent = bool(grant.lives) and not again and not grant.for_run
            if grant.asked.escalated:
                gate = judged.gate(judged.expiring)
            else:
                gate = intended.gate
            lives = msgspec.structs.replace(
                intended, grant=interrupt, gate=gate, standing=_behind(grant.decisions)
            )
            why = objection(
                state.run,
                lives,
                grant.asked,
                grant.decisions,
                state.requesters,
                now,
                spent,
                Support(
                    lambda decided, asked=grant.asked: is_genuine(
                        state.trust, state.run, asked, decided, state.standing
                    ),
                    state.standing,
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
            secret_result=tool.sealed_as,
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
            schema=_edit_schema(tool, call) if judged.edits else False,
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
        step, _ = _next_call(agent, thread, state)
        if fault := state.faults.get(step):
            if fault.asked:
                return False
            if not fault.transient or fault.count >= agent.retries * len(agent.chain.models):
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

    def holds(self, state: State, thread: Thread, plan: Plan) -> bool:
        """Whether this conversation does not continue before hooks have let pass what was said; what
        follows from that is added to the plan."""
        hooks = self._talk_hooks(thread)
        if not hooks:
            return False
        from adjourn.agent.hook_plan import holds  # only agents with hooks need it

        return holds(hooks, state, thread, plan)

    def _talk_hooks(self, thread: Thread) -> "tuple[Hook, ...]":
        """Of all agents that have had the conversation."""
        if not thread.handed:
            return self.agents[thread.agent].hooks
        return tuple(chain.from_iterable(self.agents[name].hooks for name in thread.agents))

    def ask_model(self, state: State, thread: Thread, plan: Plan) -> None:
        """Add the model call, or the one for a summary that must come before it; nothing while its
        provider works on it in the background."""
        known = state.submitted.get(thread.path)
        if known is not None and known.wait in state.open:
            return
        step, kind = _next_call(self.agents[thread.agent], thread, state)
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
        tool = self._owner(state, call).tools.get(call.tool)
        return isinstance(tool, AgentTool) and tool.on_failure == "tell"

    def tripped(self, state: State, thread: Thread, now: float) -> tuple[Tripped | None, str]:
        """The first limit of a nested agent on the way down to this conversation that has tripped,
        and the agent's path. It counts its own conversation and those below it."""
        for path in self._nested(state, thread):
            stop, extended = self._agent(state, path).stop, limits_at(state.extended, path)
            if tripped := stop.check(progress_below(state, path, now), extended):
                return tripped, path
        return None, ""

    def plan_cuts(self, state: State, thread: Thread, now: float, plan: Plan) -> None:
        """Have the plan made again when time alone trips a limit of a nested agent on the way down
        to this conversation, whose model call may be in flight then."""
        for path in self._nested(state, thread):
            stop = self._agent(state, path).stop
            if is_timed(stop):
                progress = progress_below(state, path, now)
                cut_in_time(plan, now, stop, progress, limits_at(state.extended, path))

    def cut_off(self, thread: Thread, plan: Plan) -> None:
        """Its model call must not continue, if it is in flight."""
        plan.abort |= {model_step(thread.path), summary_step(thread.path)}

    def _nested(self, state: State, thread: Thread) -> list[str]:
        """The paths of the nested agents from the root down to this conversation."""
        return [path for path in ancestors(thread.path) if path in state.threads]

    def stop(self, state: State, thread: Thread, tripped: Tripped, path: str, plan: Plan) -> None:
        """What follows from a limit of the agent at `path`: a person is asked, or the nested agent
        ends."""
        leaf = tripped.leaf
        if isinstance(leaf, MaxTime) or tripped.action == "stop":
            self.cut_off(thread, plan)
        if tripped.action == "pause":
            ask_to_go_on(state, leaf, limit_step(leaf.name, path), plan)
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
        if step.kind in ("background", "withdraw"):
            from adjourn.agent import background_call as background

            agent = self._agent(desk.state, step.path)
            if step.kind == "withdraw":
                return await background.withdrawal(agent, step, desk)
            return await background.background_call(agent, step, desk)
        if step.kind == "check" and step.call is None:
            from adjourn.agent.hook_step import check_talk

            hooks = self._talk_hooks(desk.state.threads[step.path])
            return await check_talk(hooks, step, desk)
        tool_body, perform_body = _bodies()
        assert step.call is not None
        up, owner = self._up(desk.state, step.call.path), self._owner(desk.state, step.call)
        tool = await tool_for(owner, step.call, desk)
        hooks = _hooks(up, "before" if step.kind == "check" else "after", step.call.tool)
        if not hooks:
            return await perform_body(tool_body(tool, step.call), step, desk)
        from adjourn.agent.hook_step import AfterTool, check_call  # only agents with hooks need it

        if step.kind == "check":
            return await check_call(hooks, tool, step, desk)
        after = AfterTool(hooks, tool, step.call)
        return await perform_body(tool_body(tool, step.call, after), step, desk)


@cache
def _bodies() -> "tuple[type[ToolBody], Callable[[Body, Step, StepHandle], Awaitable[Fact]]]":
    """Few imports, until a tool is called; and then once."""
    from adjourn.agent.tool_body import ToolBody
    from adjourn.bodies.step_dispatch import perform_body

    return ToolBody, perform_body


def _edit_schema(tool: Tool, call: Call) -> Any:
    """What an approver may change. Of a call that has begun, nothing: half of it is done with the
    arguments that it has."""
    return fixed(call.args) if call.begun else tool.edit_schema


def _behind(decisions: Iterable[Decided]) -> str:
    """The interrupt whose standing decision is behind these, if there is one."""
    for decided in decisions:
        if behind := under(decided):
            return behind
    return ""


def _hooks(
    up: "list[Agent[Any]]", when: Literal["before", "after"], tool: str
) -> "tuple[Hook, ...]":
    if not any(agent.hooks for agent in up):
        return ()
    from adjourn.agent.hook import heard_by

    return heard_by(up, when, tool)


def cut_in_time(
    plan: Plan, now: float, stop: Stop, progress: Progress, extended: dict[str, float]
) -> None:
    """Plan again when time alone makes `stop` true: what model calls are in flight then are cut
    off."""
    if is_timed(stop):
        left = stop.remaining(progress, extended)
        if left < math.inf:
            plan.wake_at(now + left)


def is_open(state: State, *kinds: str) -> bool:
    """Whether an interrupt of one of these kinds is open."""
    return any(opened.record.kind in kinds for opened in state.open.values())


def ask_to_go_on(state: State, leaf: Leaf, step: str, plan: Plan) -> None:
    """Ask a person whether to pass a limit that is reached, unless one of this kind is asked
    already."""
    if is_open(state, "limit"):
        return
    question = f"Limit {leaf.name} reached. Continue?"
    payload = {"limit": leaf.budget, "condition": leaf.name, "question": question}
    plan.ask(Asked(i=state.next_interrupt(step), kind="limit", step=step, payload=payload))


def _next_call(
    agent: "Agent[Any]", thread: Thread, state: State
) -> tuple[str, Literal["model", "summary", "background"]]:
    """The step that is due in a conversation."""
    step = model_step(thread.path)
    if thread.path in state.submitted:
        return step, "background"
    if agent.history.summary_due(thread):
        return summary_step(thread.path), "summary"
    if agent.background:
        fault = state.faults.get(step)
        if agent.chain.model(fault.count + 1 if fault else 1) in agent.background:
            return step, "background"
    return step, "model"
