"""A flow with two branches that wait for people: saved in one process, answered in another, in any order.

python examples/flow_approval.py
"""

import asyncio
from typing import Any

from adjourn import Flow, FlowContext

ledger: list[str] = []


def make_flow() -> Flow:
    flow = Flow("refunds")

    @flow.chunk(effect="read")
    async def look_up(ctx: FlowContext) -> dict[str, Any]:
        return {"ticket": ctx.input, "cents": 50_000, "items": ["lamp", "desk"]}

    @flow.chunk(effect="read")
    async def ask_manager(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": f"Refund {ctx.input['cents']} cents?"}, interrupt_id="manager")

    @flow.chunk(effect="read")
    async def inspect(ctx: FlowContext) -> str:
        """Runs again with the answer: it needs it in the middle of its work."""
        condition = ctx.pause_for("inspection", {"item": ctx.input}, resume_to="self", answer_schema=str)
        return f"{ctx.input}: {condition}"

    @flow.chunk
    async def pay(ctx: FlowContext) -> str:
        if not ctx.input["approved"]:
            return "refused"
        ledger.append("paid")
        return "paid"

    @flow.chunk(effect="idempotent")
    async def keep(ctx: FlowContext) -> None:
        ctx.state["result"] = ctx.input

    async def items(ctx: FlowContext) -> list[str]:
        return ctx.input["items"]

    money = flow.branch().to(ask_manager).to(pay)
    goods = flow.branch().to(items).for_each().to(inspect).end_for_each()
    flow.to(look_up).batch(("money", money), ("goods", goods)).to(keep)
    return flow


async def main() -> None:
    # One process: everything that can run has run, three people are asked.
    execution = await make_flow().start_execution("T-001", auto_close=False)
    questions = {i.payload.get("item", "manager"): i.id for i in execution.pending_interrupts.values()}
    assert set(questions) == {"manager", "lamp", "desk"}
    saved = execution.save().to_json()

    # Another process: two of them answer. The branch that is complete goes on by itself.
    execution = make_flow().create_execution(auto_close=False).load(saved)
    await execution.continue_with(questions["desk"], "as new", by="dora")
    await execution.continue_with("manager", {"approved": True}, by="max")
    assert ledger == ["paid"]
    saved = execution.save().to_json()

    # A third: the last answer completes the join.
    execution = make_flow().create_execution(auto_close=False).load(saved)
    await execution.continue_with(questions["lamp"], "broken", by="dora")
    state = await execution.close()
    print(state)
    assert state == {"result": {"money": "paid", "goods": ["lamp: broken", "desk: as new"]}}
    assert ledger == ["paid"]  # nothing was done twice


if __name__ == "__main__":
    asyncio.run(main())
