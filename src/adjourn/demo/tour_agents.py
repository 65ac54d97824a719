"""The agents of the tour. Their models are scripted, so no key is needed; their tools act on a ledger outside the store."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adjourn import Agent, Policy, ToolContext, ask, gt, tool
from adjourn.core.messages import Message, Result
from adjourn.testing.scripted import ScriptedModel, call

LEDGER = "ADJOURN_DEMO_LEDGER"
HANG = "ADJOURN_DEMO_HANG"
"""Set for the process that the tour kills: its tools act, and then do not come back."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: a tool reached the world. `effect`: something happened there, or was known already."""

    tool: str
    key: str
    args: dict[str, Any]
    pid: int
    effect: bool


def entries(ledger: Path) -> list[Entry]:
    """Every whole line of a ledger, in order."""
    text = ledger.read_text("utf-8") if ledger.exists() else ""
    return [Entry(**json.loads(line)) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def act(ctx: ToolContext, name: str, args: dict[str, Any], *, effect: bool = True) -> None:
    """Reach the world: one line, appended and on the disk before this returns."""
    line = json.dumps(asdict(Entry(name, ctx.idempotency_key, args, os.getpid(), effect))) + "\n"
    fd = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, line.encode())
        os.fsync(fd)
    finally:
        os.close(fd)


async def _hang() -> None:
    if os.environ.get(HANG):
        await asyncio.sleep(60)


@tool(effect="read")
async def get_order(ctx: ToolContext, order_id: str) -> dict[str, Any]:
    """Look an order up."""
    act(ctx, "get_order", {"order_id": order_id}, effect=False)
    return {"order_id": order_id, "paid_cents": 48250, "items": "12 glasses"}


@tool(effect="unsafe")
async def refund(ctx: ToolContext, order_id: str, cents: int, memo: str) -> dict[str, Any]:
    """Pay money back to the customer’s card."""
    act(ctx, "refund", {"order_id": order_id, "cents": cents})
    return {"refunded_cents": cents}


@tool(effect="idempotent")
async def book_courier(ctx: ToolContext, order_id: str) -> dict[str, Any]:
    """Have a parcel collected; the courier refuses a key it has seen."""
    known = any(entry.key == ctx.idempotency_key for entry in entries(Path(os.environ[LEDGER])))
    act(ctx, "book_courier", {"order_id": order_id}, effect=not known)
    await _hang()
    return {"booking": ctx.idempotency_key[:8]}


@tool(effect="unsafe")
async def pay_supplier(ctx: ToolContext, supplier: str, cents: int) -> dict[str, Any]:
    """Transfer money to a supplier; the bank does not look at keys."""
    act(ctx, "pay_supplier", {"supplier": supplier, "cents": cents})
    await _hang()
    return {"paid_cents": cents}


def told(messages: Sequence[Message]) -> str:
    """The last words of the refund agent: they follow what really happened."""
    last = next((m for m in reversed(messages) if isinstance(m, Result)), None)
    if last is None or last.error:
        return f"The refund was not made: {last.content if last else 'nothing was tried'}"
    content: Any = last.content
    done: Any = content.get("result", content) if isinstance(content, dict) else {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return f"Refunded {done['refunded_cents'] / 100:,.2f} for order 4417 and told the customer."


refunds = Agent(
    "refunds",
    model=ScriptedModel(
        ["I will look at the order first.", call("get_order", order_id="4417")],
        ["Every glass is broken. The customer is right, so this can be approved quickly.",
         call("refund", order_id="4417", cents=48250, memo="Damaged on arrival, photos 1–4.")],
        told,
    ),
    instructions="You process refunds.",
    tools=[get_order, refund],
    policy=Policy([ask("refund", when={"cents": gt(10_000)}, reason="large refund", expires_in=3600)], default="allow"),
)  # fmt: skip

returns = Agent(
    "returns",
    model=ScriptedModel(
        [call("get_order", order_id="4417")],
        [call("book_courier", order_id="4417"), call("pay_supplier", supplier="Glassworks", cents=12900)],
        "The broken glasses are collected and new ones are paid for.",
    ),
    instructions="You handle returns.",
    tools=[get_order, book_courier, pay_supplier],
)

AGENTS = {agent.name: agent for agent in (refunds, returns)}
