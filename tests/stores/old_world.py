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


@tool(effect="read")
async def look(n: int) -> str:
    """Look something up."""
    return f"found {n}"


def chatter() -> Agent:
    """Greets in its first turn. In the second it looks at eight things, pays, and ends."""
    steps: list[Any] = ["hello", *([call("look", n=n)] for n in range(8)), [call("pay", order="c")], "done"]
    return Agent(
        "chatter", model=ScriptedModel(*steps), tools=[look, pay], policy=Policy([ask("pay")], default="allow")
    )
