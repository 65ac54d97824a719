"""Programs that go on only when the test says so: each waits for a file in the folder `YARD`."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from adjourn import Agent, Flow, FlowContext, Policy, ToolContext, ask, ask_human, tool
from adjourn.testing import ScriptedModel, call, streamed

SECONDS = 120.0


def folder() -> Path:
    return Path(os.environ.get("YARD", "."))


async def gate(name: str) -> None:
    """Say that it was reached, and wait for the test."""
    (folder() / f"{name}.reached").touch()
    until = time.monotonic() + SECONDS
    while not (folder() / name).exists():
        if time.monotonic() >= until:
            raise TimeoutError("it does not happen")
        await asyncio.sleep(0.01)


def note(line: str) -> None:
    with (folder() / "ledger").open("a", encoding="utf-8") as f:
        f.write(line + "\n")


async def remove(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a server away again."""
    if (folder() / "slow-undo").exists():
        await gate("undo")
    note(f"remove {args['name']}")


@tool(effect="idempotent", undo=remove)
async def create(name: str) -> str:
    """Make a server."""
    note(f"create {name}")
    return f"{name} is up"


@tool(effect="unsafe")
async def announce(channel: str) -> str:
    """Tell everybody."""
    note(f"announce {channel}")
    return "told"


@tool(effect="read")
async def wait_healthy(name: str) -> str:
    """Wait until it answers."""
    await gate("healthy")
    return "healthy"


deploy = Agent(
    "deploy",
    model=ScriptedModel(
        ["Two servers first.", call("create", name="a"), call("create", name="b")],
        [call("announce", channel="#kestrel")],
        [call("wait_healthy", name="a")],
        "Deployed.",
    ),
    tools=[create, announce, wait_healthy],
)
guarded = Agent(
    "guarded",
    model=ScriptedModel(["It is agreed.", call("create", name="a")], [call("create", name="b")], "Both are up."),
    tools=[create],
    policy=Policy([ask("create", reason="servers cost money")], default="allow"),
)
asker = Agent(
    "asker",
    model=ScriptedModel(
        [call("ask_human", question="Which one?")], lambda messages: f"As you say: {messages[-1]}"[:60]
    ),
    tools=[ask_human],
)
failing = Agent("failing", model=ScriptedModel(ValueError("no such model"), "Well again."))
talker = Agent("talker", model=ScriptedModel(streamed(*(f"word{n} " for n in range(200))), delay=0.05))

counting = Flow("counting")


@counting.chunk
async def double(ctx: FlowContext) -> Any:
    """Twice as much."""
    ctx.state["doubled"] = ctx.input["n"] * 2
    return ctx.state["doubled"]


counting.to(double)
