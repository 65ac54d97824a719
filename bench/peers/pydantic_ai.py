"""Pydantic AI with DBOS: each model call and each tool call is a step of a workflow. Approvals: its deferred tools, and a row."""

import statistics
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, UsageLimits
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from words import Stopwatch, scratch, text

from peers.workload import TOOL, Marks, OwnRows, answered, arguments, costs

UNLIMITED = UsageLimits(request_limit=None)


def model(turns: int) -> FunctionModel:
    async def reply(messages: list[Any], _info: Any) -> ModelResponse:
        calls = (
            p
            for m in reversed(messages)
            if isinstance(m, ModelResponse)
            for p in m.parts
            if isinstance(p, ToolCallPart)
        )
        n = next((int(p.tool_call_id[5:]) + 1 for p in calls if p.tool_call_id.startswith("call_")), 0)
        parts: list[Any] = [TextPart(text(n))]
        if n < turns:
            parts.append(ToolCallPart(TOOL, arguments(n), tool_call_id=f"call_{n}"))
        return ModelResponse(parts=parts)

    return FunctionModel(reply, model_name="scripted")


async def turns(n: int, _mode: str) -> dict[str, float]:
    """A run of n turns inside a DBOS workflow."""
    from dbos import DBOS
    from pydantic_ai.durable_exec.dbos import DBOSDurability

    with scratch() as folder:
        address = f"sqlite:///{folder / 'dbos.sqlite'}"
        DBOS(config={"name": "bench", "system_database_url": address, "log_level": "ERROR", "application_version": "1"})
        agent: Any = Agent(model(n), name="bench", capabilities=[DBOSDurability()])

        @agent.tool_plain
        @DBOS.step(name="look_step")
        async def look(n: int) -> str:
            """Look something up."""
            return Marks.body(n)

        @DBOS.workflow(name="talk")
        async def talk(prompt: str) -> str:
            return (await agent.run(prompt, usage_limits=UNLIMITED)).output

        DBOS.launch()
        with Stopwatch() as watch:
            assert await talk("begin")
        DBOS.destroy()
        return costs(watch, n, folder)


def history(messages: int) -> list[Any]:
    found: list[Any] = [ModelRequest(parts=[UserPromptPart("begin")])]
    for k in range(messages // 2):
        call = ToolCallPart(TOOL, arguments(k), tool_call_id=f"old_{k}")
        found.append(ModelResponse(parts=[TextPart(text(k)), call]))
        found.append(ModelRequest(parts=[ToolReturnPart(TOOL, text(k), tool_call_id=f"old_{k}")]))
    return found


async def answer(messages: int, _mode: str, times: int = 6) -> dict[str, float]:
    """An approval → the tool's body; the messages are one row of JSON while it waits."""
    agent: Any = Agent(model(1), name="bench", output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    async def look(n: int) -> str:
        """Look something up."""
        return Marks.body(n)

    async def resume(body: bytes) -> Any:
        said = ModelMessagesTypeAdapter.validate_json(body)
        ids = [p.tool_call_id for p in said[-1].parts if isinstance(p, ToolCallPart)]
        agreed = DeferredToolResults(approvals=dict.fromkeys(ids, True))
        return await agent.run(message_history=said, deferred_tool_results=agreed, usage_limits=UNLIMITED)

    spent: list[tuple[float, float]] = []
    with scratch() as folder:
        rows = OwnRows(folder / "rows.db")
        for k in range(times):
            parked = await agent.run("go", message_history=history(messages), usage_limits=UNLIMITED)
            assert isinstance(parked.output, DeferredToolRequests)
            rows.put(f"t{k}", "waiting", parked.all_messages_json())
            spent.append(await answered(lambda k=k: resume(rows.get(f"t{k}"))))
        rows.close()
    return {
        "ms": statistics.median(ms for ms, _ in spent[1:]),
        "cpu_ms": statistics.median(cpu for _, cpu in spent[1:]),
    }
