"""Watch a run, stop it in the middle of a thought, look at what it has, and let it go on with an instruction.

python examples/pause_and_steer.py
"""

import asyncio
from typing import Any

from adjourn import Agent, Cancelled, TextArrived, ToolContext, is_paused, tool
from adjourn.testing import ScriptedModel, call, streamed

drafts: list[str] = []


async def discard(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a draft back."""
    drafts.remove(result)


@tool(undo=discard)
async def save_draft(topic: str) -> str:
    """Save a draft."""
    drafts.append(f"draft about {topic}")
    return f"draft about {topic}"


def make_agent() -> Agent:
    model = ScriptedModel(
        [call("save_draft", topic="suppliers")],
        streamed("Now I will search ", "the same pages ", "once more ", "and once more"),
        "Summary: three suppliers.",
        delay=0.02,
    )
    return Agent("research", model=model, tools=[save_draft])


async def main() -> None:
    async with make_agent().stream("find suppliers") as run:
        async for event in run:
            if isinstance(event, TextArrived) and "same pages" in event.text:
                await run.pause(now=True, by="ada", reason="it repeats itself")  # closes the model's connection
        outcome = run.outcome
    assert is_paused(outcome)
    assert outcome.status == "paused"
    print("so far:", *outcome.checkpoint.messages, sep="\n  ")
    saved = outcome.checkpoint.to_json()

    # Resume, perhaps next week and elsewhere. The finished tool is not run again.
    done = await make_agent().resume(saved, instruction="summarise what you have and stop", by="ada")
    print("done:", done.output)
    assert done.output == "Summary: three suppliers."
    assert drafts == ["draft about suppliers"]

    # Or cancel: what was done is undone, latest first, and what stays is listed.
    async with make_agent().stream(checkpoint=saved) as run:
        await run.cancel(by="ada", reason="no longer wanted")
        cancelled = await run.wait()
    assert isinstance(cancelled, Cancelled)
    print("cancelled: undone", cancelled.undone, "left", cancelled.residue)
    assert drafts == []
    assert cancelled.residue == []


if __name__ == "__main__":
    asyncio.run(main())
