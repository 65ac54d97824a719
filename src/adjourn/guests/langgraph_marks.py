"""What LangChain's human-in-the-loop middleware wants to be asked about, as rules of ours."""

from collections.abc import Iterable
from typing import Any, cast

from langgraph.prebuilt import ToolNode

from adjourn.core.policy_rule import Rule, ask
from adjourn.errors import InvalidDefinition

WHY = "the agent's human-in-the-loop middleware"
STOPS = "the graph's interrupt_before"


def marks_of(bound: Iterable[Any], nodes: Iterable[ToolNode]) -> tuple[list[Rule], frozenset[str]]:
    """A rule for each tool that the middleware gates, and the names of these tools. With a
    predicate of its own it is asked about every call: the predicate needs the graph's state."""
    wanted: set[str] = set()
    for one in bound:
        for function in (getattr(one, "func", None), getattr(one, "afunc", None)):
            gates = getattr(getattr(function, "__self__", None), "interrupt_on", None)
            if isinstance(gates, dict):
                wanted |= _gated(cast("dict[str, Any]", gates))
    known: set[str] = set()
    for node in nodes:
        known.update(node.tools_by_name)
    marked = wanted & known
    return [ask(name, reason=WHY) for name in sorted(marked)], frozenset(marked)


def stop_marks(stops: set[str], agents: set[str]) -> list[Rule]:
    """A rule for each tool before which the graph stops. Raises `InvalidDefinition` for one that
    runs another graph: its calls are governed, and not itself."""
    if inside := sorted(stops & agents):
        raise InvalidDefinition(
            f"the graph stops before its tool {inside[0]!r} (interrupt_before=), which runs another graph",
            advice="let a policy ask about the tools of that graph",
        )
    return [ask(name, reason=STOPS, name=f"{name}: interrupt_before") for name in sorted(stops)]


def _gated(gates: dict[str, Any]) -> set[str]:
    return {str(name) for name, gate in gates.items() if gate}


def is_approval(value: Any, tools: frozenset[str]) -> Any:
    """The answer that agrees to what the middleware asks, if it asks only about these tools; None
    for anything else."""
    if not isinstance(value, dict):
        return None
    asked = cast("dict[str, Any]", value)
    requests: Any = asked.get("action_requests")
    if isinstance(requests, list) and "review_configs" in asked:
        named = {request.get("name") for request in cast("list[dict[str, Any]]", requests)}
        if not named or not named <= tools:
            return None
        return {"decisions": [{"type": "approve"} for _ in cast("list[Any]", requests)]}
    if asked.get("type") == "tool_approval" and asked.get("name") in tools:
        return {"type": "approve"}
    return None


def kind_of(value: Any) -> str:
    """The type of the question that an interrupt is: what asks for approval is one."""
    asked = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if "action_requests" in asked or asked.get("type") == "tool_approval":
        return "approval"
    return "langgraph"
