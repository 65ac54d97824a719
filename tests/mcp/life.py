"""A process that drives a run with tools of a server, and ends, or is killed.

`python -m tests.mcp.life DATABASE TOOL COMMAND…` starts a run that calls TOOL, and prints `waits` when the run waits.
"""

import asyncio
import json
import sys
from typing import Any

from adjourn import Agent, Runtime
from adjourn.mcp import McpTools, mcp_tools
from adjourn.testing import ScriptedModel, call


def agent(tools: McpTools, tool: str, **args: Any) -> Agent[Any]:
    """Calls one tool, and is done."""
    return Agent("caller", model=ScriptedModel([call(tool, **args)], "done"), tools=[tools])


async def main(database: str, tool: str, command: list[str]) -> None:
    async with (
        mcp_tools(command, name="server", effects={tool: "unsafe"}) as tools,
        Runtime(f"sqlite:///{database}", [caller := agent(tools, tool)], lease=1.0) as rt,
    ):
        run = await rt.start(caller, "go")
        await run.wait()
        print(json.dumps({"waits": run.run_id}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
