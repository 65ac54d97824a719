"""DBOS: a workflow with a step for every model call and every tool call, on its SQLite system database. The loop is ours."""

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from words import Stopwatch, scratch, text

from peers.workload import TOOL, Marks, arguments, costs


def launch(folder: Path) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{folder / 'dbos.sqlite'}",
            "log_level": "ERROR",
            "application_version": "1",
            "executor_id": "local",
        }
    )
    DBOS.launch()


@DBOS.step(name="model")
async def model(n: int, turns: int) -> dict[str, Any]:
    calls = [{"id": f"call_{n}", "name": TOOL, "args": arguments(n)}] if n < turns else []
    return {"role": "assistant", "text": text(n), "calls": calls}


@DBOS.step(name="look")
async def look(n: int) -> dict[str, Any]:
    return {"role": "tool", "text": Marks.body(n)}


@DBOS.workflow(name="talk")
async def talk(turns: int) -> int:
    said: list[Any] = [{"role": "user", "text": "begin"}]
    n = 0
    while True:
        reply = await model(n, turns)
        said.append(reply)
        if not reply["calls"]:
            return len(said)
        said.append(await look(reply["calls"][0]["args"]["n"]))
        n += 1


PARKED: dict[str, asyncio.Event] = {}


@DBOS.workflow(name="talk_and_ask")
async def talk_and_ask(turns: int, id: str) -> int:
    for n in range(turns):
        await model(n, turns + 1)
        await look(n)
    PARKED[id].set()
    await DBOS.recv_async("approve", timeout_seconds=600)
    await look(turns)
    return turns


async def turns(n: int, _mode: str) -> dict[str, float]:
    """A run of n turns."""
    with scratch() as folder:
        launch(folder)
        with Stopwatch() as watch:
            assert await talk(n) == 2 * n + 2
        DBOS.destroy()
        return costs(watch, n, folder)


async def answer(messages: int, _mode: str, times: int = 4) -> dict[str, float]:
    """A message → the tool's body, in the process that parked the run."""
    spent: list[tuple[float, float]] = []
    with scratch() as folder:
        launch(folder)
        for k in range(times):
            PARKED[f"t{k}"] = asyncio.Event()
            with SetWorkflowID(f"t{k}"):
                handle = await DBOS.start_workflow_async(talk_and_ask, messages // 2, f"t{k}")
            await PARKED[f"t{k}"].wait()
            await asyncio.sleep(0.1 + 0.13 * k)  # it polls: answers come at different moments of its round
            with Stopwatch() as watch:
                began = time.perf_counter()
                await DBOS.send_async(f"t{k}", True, "approve")
                await handle.get_result()
            spent.append(((Marks.began - began) * 1e3, watch.cpu * 1e3))
        DBOS.destroy()
    return {"ms": statistics.median(ms for ms, _ in spent), "cpu_ms": statistics.median(cpu for _, cpu in spent)}
