"""What is planned where hooks have to let pass what people say to an agent, or what it gives."""

from collections.abc import Sequence

from adjourn.agent.hook import Hook
from adjourn.core.ids import StepId
from adjourn.core.plan import Plan, Step
from adjourn.core.records import Asked, Checked, Returned
from adjourn.core.state import State
from adjourn.core.thread import Thread


def holds(hooks: Sequence[Hook], state: State, thread: Thread, plan: Plan) -> bool:
    """See `Conversations.holds`. A pure question, like all that is asked of a plan.

    Args:
        hooks: of the agent that has this conversation.
        state: the run.
        thread: the conversation.
        plan: what is planned so far.
    """
    if thread.refused:
        if thread.path in state.live:
            text = f"{thread.agent} was stopped: {thread.refused}"
            plan.facts.append(Returned(call=thread.path, error=text))
        return True
    kind = thread.to_check()
    if kind is None or all(hook.when != kind.value for hook in hooks):
        return False
    step = str(StepId(kind, path=thread.path))
    if thread.doubted is not None and thread.doubted.step == step:
        _ask(state, thread.doubted, plan)
    elif fault := state.faults.get(step):
        if not fault.asked:
            payload = {
                "error": fault.error,
                "kind": fault.kind,
                "step": step,
                "agent": thread.agent,
                "can_resume": True,
            }
            plan.ask(Asked(i=state.next_interrupt(step), kind="error", step=step, payload=payload))
    else:
        under = state.agents_under(thread.path)
        plan.start.append(Step(step, "check", thread.path, None, under))
    return True


def _ask(state: State, doubted: Checked, plan: Plan) -> None:
    """A person decides in the place of a hook, once."""
    open = (opened.record for opened in state.open.values() if isinstance(opened.record, Asked))
    if any(asked.step == doubted.step for asked in open):
        return
    hook, what = doubted.hooks[-1], StepId.parse(doubted.step).kind.value
    payload = {
        "hook": hook,
        "condition": f"{what} doubted by {hook}",
        "question": f"{hook} asks about the {what}: {doubted.reason} Let it pass?",
    }
    plan.ask(
        Asked(
            i=state.next_interrupt(doubted.step), kind="limit", step=doubted.step, payload=payload
        )
    )
