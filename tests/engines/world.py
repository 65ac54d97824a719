"""The agents and flows of these tests. What they do outside is in the ledger."""

import asyncio
from collections.abc import Callable

from tests.runtime.world import Book, Ledger, changed, naps, refund, refunds, slow_again

from adjourn import Agent, Flow, FlowContext, ToolContext, tool
from adjourn.testing.scripted import ScriptedModel, call

CALLS = 6


@tool(effect="idempotent")
async def count(ctx: ToolContext, number: int, ledger: Book) -> int:
    """Writes the number down, and takes a moment."""
    await asyncio.sleep(0.02)
    ledger.write("count", ctx.run_id, number)
    return number


def counts(_: Ledger) -> Agent:
    """Some calls, one after the other."""
    calls = [[call("count", number=number)] for number in range(CALLS)]
    return Agent("counts", model=ScriptedModel(*calls, "counted"), tools=[count])


def slowly(_: Ledger) -> Agent:
    """A call that takes until the gate `tool` is open."""
    return Agent("slowly", model=ScriptedModel([call("slow_again")], "slowly done"), tools=[slow_again])


def boss(_: Ledger) -> Agent:
    """An agent that has another one do the work, which must be approved."""
    clerk = Agent("clerk", model=ScriptedModel([call("refund", order="A1", cents=500)], "refunded"), tools=[refund])
    return Agent("boss", model=ScriptedModel([call("clerk", input="pay")], "told"), tools=[clerk.as_tool()])


def orders(_: Ledger) -> Flow:
    """A flow that charges, asks and ships."""
    flow = Flow("orders")

    @flow.chunk(effect="idempotent", resources=["ledger"])
    async def charge(ctx: FlowContext) -> None:
        ctx.resources["ledger"].write("charge", ctx.input)

    @flow.chunk(effect="read")
    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("ship", {"question": "Ship it?"})

    @flow.chunk(effect="idempotent", resources=["ledger"])
    async def ship(ctx: FlowContext) -> None:
        ctx.resources["ledger"].write("ship", ctx.input)

    flow.to(charge).to(ask).to(ship)
    return flow


PROGRAMS: dict[str, Callable[[Ledger], Agent | Flow]] = {
    "refunds": refunds,
    "naps": naps,
    "counts": counts,
    "slowly": slowly,
    "boss": boss,
    "orders": orders,
}

VERSIONS: dict[str, dict[str, Callable[[Ledger], Agent | Flow]]] = {"changed": {"refunds": changed}}
"""What differs in other versions of these programs."""
