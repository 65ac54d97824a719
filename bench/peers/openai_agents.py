"""OpenAI Agents: its runner over its SQLite session. Approvals: its run state as JSON, and a row."""

import json
import statistics
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    RunState,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.testing import assistant_message, function_call
from words import Stopwatch, scratch, text

from peers.workload import TOOL, Marks, OwnRows, answered, arguments, costs

set_tracing_disabled(True)


class Scripted(Model):
    """Replies with one call each, then a last word."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        said: list[Any] = input if isinstance(input, list) else []
        calls = (x for x in reversed(said) if isinstance(x, dict) and x.get("type") == "function_call")
        n = next((int(x["call_id"][5:]) + 1 for x in calls if x["call_id"].startswith("call_")), 0)
        output = [assistant_message(text(n), item_id=f"m{n}")]
        if n < self.turns:
            output.append(function_call(TOOL, arguments(n), call_id=f"call_{n}"))
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    async def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError
        yield


def agent(turns: int, *, asks: bool = False) -> Any:
    @function_tool(needs_approval=asks)
    async def look(n: int) -> str:
        """Look something up."""
        return Marks.body(n)

    return Agent(name="bench", model=Scripted(turns), tools=[look])


async def turns(n: int, _mode: str) -> dict[str, float]:
    """A run of n turns."""
    with scratch() as folder:
        session = SQLiteSession("s", folder / "session.db")
        made = agent(n)
        with Stopwatch() as watch:
            found = await Runner.run(made, "begin", session=session, max_turns=n + 5)
        assert found.final_output
        session.close()
        return costs(watch, n, folder)


def history(messages: int) -> list[Any]:
    found: list[Any] = [{"role": "user", "content": "begin"}]
    for k in range(messages // 2):
        said = [{"type": "output_text", "text": text(k), "annotations": [], "logprobs": []}]
        found.append({"type": "message", "role": "assistant", "id": f"m_{k}", "status": "completed", "content": said})
        call = {"id": f"old_{k}", "call_id": f"old_{k}", "name": TOOL, "arguments": json.dumps(arguments(k))}
        found.append({"type": "function_call", **call})
        found.append({"type": "function_call_output", "call_id": f"old_{k}", "output": text(k)})
    return found


async def answer(messages: int, _mode: str, times: int = 6) -> dict[str, float]:
    """An approval → the tool's body; the run's state is one row of JSON while it waits."""
    made = agent(1, asks=True)

    async def resume(body: str) -> Any:
        state = await RunState.from_json(made, json.loads(body))
        for asked in state.get_interruptions():
            state.approve(asked)
        return await Runner.run(made, state)

    spent: list[tuple[float, float]] = []
    with scratch() as folder:
        rows = OwnRows(folder / "rows.db")
        for k in range(times):
            parked = await Runner.run(made, history(messages))
            assert parked.interruptions
            rows.put(f"t{k}", "waiting", json.dumps(parked.to_state().to_json()))
            spent.append(await answered(lambda k=k: resume(rows.get(f"t{k}"))))
        rows.close()
    return {
        "ms": statistics.median(ms for ms, _ in spent[1:]),
        "cpu_ms": statistics.median(cpu for _, cpu in spent[1:]),
    }
