"""Agently: a TriggerFlow whose state holds the conversation. It has no store of its own: what it saves is a row of JSON."""

import json
import logging
import statistics
from typing import Any

from agently import TriggerFlow
from words import Stopwatch, scratch, text

from peers.workload import TOOL, Marks, OwnRows, answered, arguments, costs

logging.disable(logging.CRITICAL)


async def turns(n: int, _mode: str) -> dict[str, float]:
    """A run of n turns; saved after every step."""
    flow = TriggerFlow(name="bench")
    with scratch() as folder:
        rows = OwnRows(folder / "rows.db")

        async def keep(data: Any, said: dict[str, Any]) -> None:
            await data.async_set_state("messages", [*data.get_state("messages", []), said], emit=False)
            rows.put("run", "running", json.dumps(run.save()))

        async def model(data: Any) -> None:
            k = data.value["n"]
            calls = [{"id": f"call_{k}", "name": TOOL, "args": arguments(k)}] if k < n else []
            await keep(data, {"role": "assistant", "text": text(k), "calls": calls})
            if calls:
                await data.async_emit("called", {"n": k})

        async def look(data: Any) -> None:
            k = data.value["n"]
            await keep(data, {"role": "tool", "text": Marks.body(k)})
            await data.async_emit("returned", {"n": k + 1})

        flow.when("returned").to(model)
        flow.when("called").to(look)
        run = flow.create_execution(auto_close=False)
        with Stopwatch() as watch:
            await run.async_start({})
            await run.async_emit("returned", {"n": 0})
        assert Marks.count == n and len(run.get_state("messages")) == 2 * n + 1
        rows.close()
        return costs(watch, n, folder)


def history(messages: int) -> list[Any]:
    found: list[Any] = [{"role": "user", "text": "begin"}]
    for k in range(messages // 2):
        call = {"id": f"old_{k}", "name": TOOL, "args": arguments(k)}
        found += [{"role": "assistant", "text": text(k), "calls": [call]}, {"role": "tool", "text": text(k)}]
    return found


def asking() -> Any:
    """A flow that keeps its conversation, asks, and calls the tool."""
    flow = TriggerFlow(name="bench")

    @flow.chunk("gate")
    async def gate(data: Any) -> Any:
        await data.async_set_state("messages", data.value, emit=False)
        return await data.async_pause_for(
            type="approval", payload={"tool": TOOL}, resume_to="next", interrupt_id="asked"
        )

    @flow.chunk("look")
    async def look(data: Any) -> str:
        assert data.get_state("messages")
        return Marks.body(1)

    flow.to(gate).to(look)
    return flow


async def answer(messages: int, _mode: str, times: int = 6) -> dict[str, float]:
    """An answer → the tool's chunk; the execution is one row of JSON while it waits."""
    flow = asking()

    async def resume(body: str) -> None:
        run = flow.create_execution(auto_close=False)
        run.load(json.loads(body))
        await run.async_continue_with("asked", True)

    spent: list[tuple[float, float]] = []
    with scratch() as folder:
        rows = OwnRows(folder / "rows.db")
        for k in range(times):
            run = flow.create_execution(auto_close=False)
            await run.async_start(history(messages))
            rows.put(f"t{k}", "waiting", json.dumps(run.save()))
            spent.append(await answered(lambda k=k: resume(rows.get(f"t{k}"))))
        rows.close()
    return {
        "ms": statistics.median(ms for ms, _ in spent[1:]),
        "cpu_ms": statistics.median(cpu for _, cpu in spent[1:]),
    }
