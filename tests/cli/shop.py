"""The programs of these tests, as a user would write them in one file; also given to `adjourn worker`."""

import asyncio
import os
import time
from typing import Any

from adjourn import Agent, Policy, ToolContext, ask, ask_human, gt, tool
from adjourn.testing import ScriptedModel, call


def _write(line: str) -> None:
    if path := os.environ.get("SHOP_LEDGER"):
        with open(path, "a", encoding="utf-8") as f:
            f.write(line + "\n")


@tool(effect="read")
def get_order(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order_id": order_id}


def void_refund(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a refund back."""
    _write(f"void {args['cents']}")


@tool(effect="unsafe", undo=void_refund)
def refund(order_id: str, cents: int, memo: str = "") -> dict[str, Any]:
    """Pay money back to the customer's card."""
    _write(f"refund {cents}")
    return {"refunded": cents}


@tool(effect="idempotent")
async def ship(ctx: ToolContext, order_id: str) -> str:
    """Send a parcel; slowly, in the process that is to be killed."""
    _write(f"ship {ctx.idempotency_key} {os.getpid()}")
    await asyncio.sleep(float(os.environ.get("SHOP_SLOWLY", "0")))
    return "sent"


BIG = Policy([ask("refund", when={"cents": gt(10_000)}, reason="large refund", expires_in=3600)], default="allow")

refunds = Agent(
    "refunds",
    model=ScriptedModel(
        ["I look first.", call("get_order", order_id="4417")],
        ["Every glass is broken.", call("refund", order_id="4417", cents=48250, memo="photos 1-4")],
        "Done.",
    ),
    tools=[get_order, refund],
    policy=BIG,
)
asker = Agent(
    "asker", model=ScriptedModel([call("ask_human", question="Keep the accounts?")], "Kept."), tools=[ask_human]
)
failing = Agent("failing", model=ScriptedModel(ValueError("no such model"), "Well again."))
sender = Agent("sender", model=ScriptedModel([call("ship", order_id="1")], "Sent."), tools=[ship])
both = [refunds, asker]


def make() -> Agent[str]:
    """A function that makes an agent."""
    return Agent("made", model=ScriptedModel("Made."))


def broken() -> Agent[str]:
    """A function that does not."""
    raise RuntimeError("not today")


number = 7
started = time.time()
