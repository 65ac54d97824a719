"""A flow with a batch, a loop, events, a sub-flow and two interrupts, whose chunks write down what they did to the world.

`python -m tests.flow.orders VARIANT [--pairs STRIDE]` kills processes at every commit of it and prints a report as JSON.
"""

import argparse
import asyncio
import gc
import json
import sys
from typing import Any

from tests.crash.rig import Campaign, warm
from tests.crash.scenarios import IDEMPOTENT, READ, UNSAFE, Scenario, World

from adjourn import Flow, FlowContext, Interrupt

ITEMS = "apple pear plum"


def orders(effect: Any = "idempotent") -> Flow:
    """`effect` is that of the chunks that act on the world; those that only keep the state are idempotent."""
    child, flow = Flow("paying"), Flow("orders")

    def acts(ctx: FlowContext, result: Any) -> Any:
        world: World = ctx.resources["world"]
        world.happen(effect, ctx.call_id, ctx.idempotency_key if effect == IDEMPOTENT else "-")
        return result

    @child.chunk(effect="read")
    async def confirm(ctx: FlowContext) -> None:
        ctx.pause_for("confirm", {"question": f"pay for {ctx.input}?"})

    @child.chunk(effect=effect)
    async def pay(ctx: FlowContext) -> str:
        return acts(ctx, f"paid {ctx.input}")

    @child.chunk(effect="idempotent")
    def note(ctx: FlowContext) -> str:
        ctx.state["paid"] = ctx.input
        ctx.emit("paid", ctx.input)
        return ctx.input

    @child.chunk(effect="idempotent")
    async def receipt(ctx: FlowContext) -> None:
        ctx.state["receipt"] = ctx.input

    child.to(confirm).to(pay).to(note)
    child.when("paid").to(receipt)

    @flow.chunk(effect="read")
    async def split(ctx: FlowContext) -> list[str]:
        return list(ITEMS.split())

    @flow.chunk(effect=effect)
    async def pack(ctx: FlowContext) -> str:
        return acts(ctx, f"packed {ctx.input}")

    @flow.chunk(effect="idempotent")
    async def count(ctx: FlowContext) -> str:
        ctx.state.setdefault("packed", {})[ctx.input] = True
        ctx.emit("packed", ctx.input)
        return ctx.input

    @flow.chunk(effect="idempotent")
    async def log(ctx: FlowContext) -> None:
        ctx.state.setdefault("log", {})[ctx.input] = "seen"

    @flow.chunk(effect="idempotent")
    async def gate(ctx: FlowContext) -> dict[str, Any]:
        answer = ctx.pause_for("gate", {"question": "send it?"}, resume_to="self")
        return {"answer": answer, **ctx.input}

    @flow.chunk(effect=effect)
    async def send(ctx: FlowContext) -> str:
        return acts(ctx, "sent")

    @flow.chunk(effect="idempotent")
    async def finish(ctx: FlowContext) -> None:
        ctx.state["sent"] = ctx.input

    each = flow.branch().to(split).for_each(concurrency=2).to(pack).to(count).end_for_each()
    joined = flow.batch(("goods", each), ("money", child), name="fan").to(gate)
    joined.if_(lambda ctx: ctx.input["answer"] == "yes").to(send).end_if().to(finish)
    flow.when("packed").to(log)
    return flow


RESULTS = {"pack": "packed {}", "pay": "paid {}", "send": "sent"}


def answer(interrupt: Interrupt, world: World) -> Any:
    """What a person says: the same before and after a crash, and about a call in doubt what the world shows."""
    if interrupt.kind == "question":
        return {"confirm": "the order", "gate": "yes"}[interrupt.type]
    assert interrupt.kind == "in_doubt", interrupt
    assert interrupt.call is not None
    if not world.happened(interrupt.call.call_id):
        return "run"
    result = RESULTS[interrupt.call.tool].format(interrupt.call.arguments.get("input"))
    return {"choice": "happened", "result": result}


FINAL = {
    "packed": {f"packed {item}": True for item in ITEMS.split()},
    "log": {f"packed {item}": "seen" for item in ITEMS.split()},
    "sent": "sent",
}
"""What comes of it, whatever happened on the way."""


class FlowScenario(Scenario):
    """A scenario of the crash rig whose program is a flow."""

    def agent(self) -> Any:
        return orders(self.name)


SCENARIOS = {effect: FlowScenario(effect, (), answer) for effect in (IDEMPOTENT, UNSAFE, READ)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("variant", choices=list(SCENARIOS))
    parser.add_argument("--pairs", type=int, default=0, metavar="STRIDE")
    asked = parser.parse_args()
    asyncio.run(warm())
    gc.collect()
    gc.freeze()
    campaign = Campaign(SCENARIOS[asked.variant])
    if asked.pairs:
        campaign.pairs(asked.pairs)
    else:
        campaign.commits()
    json.dump({**campaign.report.json(), "expected": campaign.expected}, sys.stdout)


if __name__ == "__main__":
    main()
