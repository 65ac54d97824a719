"""The agent of the old databases in `golden`: its runs go on today."""

from typing import Any

from adjourn import Agent, Policy, ToolContext, ask, tool
from adjourn.testing import ScriptedModel, call

paid: list[str] = []


def refund(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    paid.append(f"refund {args['order']}")


@tool(effect="idempotent", undo=refund)
async def pay(order: str) -> str:
    """Pay."""
    paid.append(order)
    return f"paid {order}"


def clerk() -> Agent:
    policy = Policy([ask("pay", approvers=2)])
    model = ScriptedModel([call("pay", order="a")], [call("pay", order="b")], "done")
    return Agent("clerk", model=model, tools=[pay], policy=policy)
