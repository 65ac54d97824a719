"""A call that a model wants, with its tool and its arguments, if there are such."""

from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.agent.agent_tool import AgentTool
from adjourn.agent.tool import Tool
from adjourn.agent.toolset import recorded_tool
from adjourn.bodies.signature import ArgumentError
from adjourn.core.call import Call
from adjourn.core.plan import Refuse
from adjourn.core.state import State

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent


class WantedCall(msgspec.Struct, frozen=True):
    """A call that fits its tool. `agent`: the nested agent that it begins, with this `input`."""

    tool: Tool
    args: dict[str, Any]
    agent: str = ""
    input: Any = None


def wanted_call(state: State, call: Call, owner: "Agent[Any]") -> WantedCall | Refuse:
    """The call as it would run, or what the model reads about it.

    Args:
        state: the run.
        call: what the model asked for.
        owner: the agent whose tool it is.
    """
    tool = owner.tools.get(call.tool)
    if tool is None:
        tool = recorded_tool(state, call)
    if tool is None:
        known = ", ".join(sorted(owner.tools)) or "none"
        return Refuse(f"there is no tool {call.tool!r}; the tools are: {known}", "unknown")
    try:
        args = tool.validate(call.args)
        given = tool.input_of(args) if isinstance(tool, AgentTool) else None
    except ArgumentError as e:
        return Refuse(f"invalid arguments for {tool.name}: {e}", "invalid")
    if call.attempt == 0 and not tool.is_complete(call.args):  # recorded by an older version
        return Refuse(
            f"invalid arguments for {tool.name}: values that it generates itself were not "
            "recorded; call it again",
            "invalid",
        )
    if tool.hands_to and _is_handed(state, call, owner):
        return Refuse(
            "only one handoff per reply is allowed: this reply already has one", "invalid"
        )
    if isinstance(tool, AgentTool):
        return WantedCall(tool, args, tool.agent.name, given)
    return WantedCall(tool, args)


def _is_handed(state: State, call: Call, owner: "Agent[Any]") -> bool:
    """Whether a call before this one, of the same reply, hands the conversation over."""
    for slot in state.threads[call.path].slots:
        if slot.call == call.id:
            return False
        tool = owner.tools.get(slot.part.tool)
        if tool is not None and tool.hands_to:
            return True
    return False
