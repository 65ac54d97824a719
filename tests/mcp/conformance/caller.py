"""What the kit starts as a client: a run that calls the tools of its server, and a person who answers with the defaults.

`python -m tests.mcp.conformance.caller URL`.
"""

import asyncio
import json
import os
import sys
from typing import Any

from adjourn import Agent, Runtime
from adjourn.agent.toolset import ToolsetContext
from adjourn.mcp import mcp_tools
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call

VALUES: dict[str, Any] = {"string": "x", "number": 5, "integer": 5, "boolean": True, "object": {}}


def example(schema: Any) -> dict[str, Any]:
    """Arguments, or an answer, that fit."""
    found: dict[str, Any] = {}
    for name, field in schema.get("properties", {}).items():
        found[name] = field.get("default", VALUES.get(field.get("type"), "x"))
    return found


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without what is null: its schema does not allow that, so that no such call would be made."""
    return {name: value for name, value in arguments.items() if value is not None}


async def main(url: str) -> None:
    wanted = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    async with mcp_tools(url, name="kit") as tools:
        found = [*await tools.tools(ToolsetContext("kit", "", "", {}))]
    calls = [(one["name"], one["arguments"]) for one in wanted or ()] or [
        (one.name, example(one.schema)) for one in found
    ]
    if os.environ.get("MCP_CONFORMANCE_SCENARIO") == "json-schema-2020-12-preservation":
        [echo], [focal] = [
            [one for one in found if ("schema" in one.schema.get("properties", {})) is has] for has in (True, False)
        ]
        calls = [(echo.name, {"schema": focal.schema})]
    async with mcp_tools(url, name="kit", effects={one.name: "idempotent" for one in found}) as tools:
        script = [[call(name, **given(arguments))] for name, arguments in calls]
        caller = Agent("caller", model=ScriptedModel(*script, "done"), tools=[tools])
        async with Runtime(MemoryStore(), [caller]) as rt:
            run = await rt.start(caller, "go")
            await run.wait()
            while asked := [one for one in await rt.inbox() if one.kind == "question"]:
                for one in asked:
                    await rt.answer(one, example(one.answer_schema), by="kit")
                await run.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
