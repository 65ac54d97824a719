"""A tool that asks several times: what is wrapped in `ctx.step` is recorded and not executed again.

python examples/ask_in_steps.py
"""

import asyncio

from adjourn import Agent, Checkpoint, ToolContext, ask_human, is_paused, tool
from adjourn.testing import ScriptedModel, call

charged: list[int] = []


async def charge(cents: int) -> str:
    charged.append(cents)
    return f"receipt-{len(charged)}"


@tool
async def checkout(ctx: ToolContext, cents: int) -> str:
    """Charge the customer once both the amount and the address are confirmed."""
    amount: int = ctx.pause_for("confirm", {"cents": cents}, resume_to="self", answer_schema=int)
    receipt = await ctx.step("charge", charge, amount)
    address: str = ctx.pause_for("address", {"receipt": receipt}, resume_to="self", answer_schema=str)
    return f"{receipt}: {amount} cents, sent to {address}"


def make_agent() -> Agent:
    model = ScriptedModel(
        [call("ask_human", question="What may I sell you?")],
        [call("checkout", cents=500)],
        lambda messages: f"Done. {getattr(messages[-1], 'content', '')}",
    )
    return Agent("shop", model=model, tools=[ask_human, checkout])


async def main() -> None:
    outcome = await make_agent().run("hello")
    for reply in ("a book", 450, "Bern"):
        assert is_paused(outcome)
        saved = outcome.checkpoint.to_json()
        [interrupt] = Checkpoint.from_json(saved).interrupts
        print(f"{interrupt.type}: {interrupt.payload} -> {reply!r}")
        outcome = await make_agent().resume(saved, reply)  # each time as if in a new process
    print(outcome.output)
    assert outcome.output == "Done. receipt-1: 450 cents, sent to Bern"
    assert charged == [450]


if __name__ == "__main__":
    asyncio.run(main())
