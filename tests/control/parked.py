"""A process with many paused runs and an open runtime: how much of the machine does it use while nothing happens?

`python -m tests.control.parked make | sit | both | memory FILE RUNS [SECONDS]` prints one line of JSON.
"""

import asyncio
import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

from adjourn import Agent, Runtime
from adjourn.core.records import AnyRecord, Asked, Claimed, Parked, PauseAsked, Started
from adjourn.testing import ScriptedModel

MUCH = 1_000_000


def agent() -> Agent:
    return Agent("sleepy", model=ScriptedModel("x"))


def ticks() -> int:
    """CPU time of this process, in clock ticks."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def resident() -> int:
    """Bytes in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def journal(n: int) -> list[AnyRecord]:
    """Paused by a person: while it worked, or while it waited for a decision whose time is over by now."""
    claimed, paused = Claimed(epoch=1, worker="w", at=1.0), PauseAsked(by="ann", at=1.0)
    if n % 2:
        return [claimed, paused, Parked(at=1.0)]
    asked = Asked(i="limit?0", kind="limit", step="limit", payload={"limit": 1}, expires=2.0, at=1.0)
    return [claimed, asked, Parked(wake_at=2.0, at=1.0), paused]


async def make(path: str, runs: int) -> dict[str, Any]:
    """So many paused runs."""
    about = agent().fingerprint
    async with Runtime(f"sqlite:///{path}") as rt:
        for first in range(0, runs, 1000):
            many = range(first, min(first + 1000, runs))
            begun = [Started(run=f"r{n}", kind="agent", program="sleepy", fingerprint=about, at=1.0) for n in many]
            await asyncio.gather(*(rt.store.create(s, journal(n)) for s, n in zip(begun, many, strict=True)))
    return {"made": runs}


async def sit(path: str, seconds: float) -> dict[str, Any]:
    """Do nothing beside them, and see what that costs."""
    async with Runtime(f"sqlite:///{path}", [agent()]) as rt:
        await asyncio.sleep(0.5)  # the first sweep
        used = MUCH
        for _ in range(3):  # on a busy machine what opening left to do may fall into one; a timer falls into each
            before = ticks()
            await asyncio.sleep(seconds)
            used = min(used, ticks() - before)
            if used <= 1:
                break
        return {"ticks": used, "paused": len(await rt.runs(status="paused", limit=1000))}


async def both(path: str, runs: int, seconds: float) -> dict[str, Any]:
    await make(path, runs)
    return await sit(path, seconds)


async def memory(path: str, runs: int) -> dict[str, Any]:
    """How much more a process has in memory because of them."""
    alone = await open_memory(f"{path}.empty")
    return {"bytes_per_run": (await open_memory(path) - alone) / runs}


async def open_memory(path: str) -> int:
    """Bytes in memory with a runtime open, after its first sweep."""
    async with Runtime(f"sqlite:///{path}", [agent()]):
        await asyncio.sleep(1.2)
        gc.collect()
        return resident()


if __name__ == "__main__":
    verb, path, runs, *rest = sys.argv[1:]
    seconds = float(rest[0]) if rest else 0.0
    work = {
        "make": lambda: make(path, int(runs)), "sit": lambda: sit(path, seconds),
        "both": lambda: both(path, int(runs), seconds), "memory": lambda: memory(path, int(runs)),
    }  # fmt: skip
    print(json.dumps(asyncio.run(work[verb]())))
