"""Long lives: runs of many turns, chats of many runs, journals of many records, and memory of many that wait."""

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from words import Stopwatch, scratch, text
from workload import Bodies, asker, talker, until

from adjourn import Agent, Runtime

HERE = Path(__file__)
WINDOW = 20
"""Turns of a chat over which its last figures are taken."""


def address(folder: Path) -> str:
    return f"sqlite:///{folder / 'adjourn.db'}"


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


async def chat(turns: int) -> dict[str, float]:
    """A conversation of so many turns, each a run after the run before: CPU and bytes of its last turns."""
    agent = talker(0)
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            before: Any = None
            for k in range(turns - WINDOW):
                before = await one_turn(rt, agent, before, k)
            at = size_of(folder)
            with Stopwatch() as watch:
                for k in range(turns - WINDOW, turns):
                    before = await one_turn(rt, agent, before, k)
            assert len(await before.messages()) == 2 * turns
        grown = size_of(folder)
    return {"cpu_ms": watch.cpu / WINDOW * 1e3, "bytes": grown / turns, "last_bytes": max(0, grown - at) / WINDOW}


async def one_turn(rt: Runtime, agent: Agent[Any], before: Any, k: int) -> Any:
    run = await rt.start(agent, text(k), after=before) if before is not None else await rt.start(agent, text(k))
    outcome = await run.wait()
    assert outcome.status == "completed", outcome
    return run


class Stalls:
    """The longest time for which the event loop did not turn."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Stalls":
        gc.collect()
        self._task = asyncio.create_task(self._tick())
        await asyncio.sleep(0.01)
        self.longest = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()

    async def _tick(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - began - 0.001)


async def answer_cold(records: int) -> dict[str, float]:
    """A run of so many records waits; from the answer in a process that has not seen it to the tool's body there."""
    turns = records // 3
    agent = asker(turns + 1, turns, Bodies())
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            run = await rt.start(agent, "begin")
            outcome = await run.wait()
            interrupt = outcome.interrupts[0].id  # type: ignore[union-attr]
        command = [
            sys.executable,
            str(HERE.with_name("one.py")),
            "long_lives.answer_here",
            str(folder),
            str(turns),
            interrupt,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: ASYNC221
        return json.loads(done.stdout)


async def answer_here(folder: str, turns: int, interrupt: str) -> dict[str, float]:
    """The other process: open, warm up with another run, approve, and note when the body began."""
    bodies = Bodies()
    agent, other = asker(turns + 1, turns, bodies), talker(3)
    async with Runtime(address(Path(folder)), [agent, other]) as rt:
        await (await rt.start(other, "warm up")).wait()
        async with Stalls() as stalls:
            began, cpu = time.perf_counter(), time.process_time()
            await rt.approve(interrupt, by="bench")
            await until(lambda: bodies.count)
            spent = time.process_time() - cpu
        return {"ms": (bodies.began - began) * 1e3, "cpu_ms": spent * 1e3, "stall_ms": stalls.longest * 1e3}


async def parked_memory(runs: int, kilobytes: int = 200) -> dict[str, float]:
    """How much memory an open runtime has after parking so many runs with so much input each, beyond what it had before."""
    agent = asker(1, 0, Bodies())
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            await parked(rt, agent, 20, kilobytes)
            gc.collect()
            before = resident()
            for _ in range(runs // 50):
                await parked(rt, agent, 50, kilobytes)
            gc.collect()
            after = resident()
    return {"mb": after / 1e6, "grown_mb": (after - before) / 1e6}


async def parked(rt: Runtime, agent: Agent[Any], runs: int, kilobytes: int) -> None:
    big = os.urandom(kilobytes * 500).hex()
    started = await asyncio.gather(*(rt.start(agent, f"{k} {big}") for k in range(runs)))
    outcomes = await asyncio.gather(*(run.wait() for run in started))
    assert all(outcome.status == "waiting" for outcome in outcomes)


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processes(count: int, runs: int = 100, turns: int = 20) -> dict[str, float]:
    """100 runs of 20 turns shared out over so many processes on one file."""
    with scratch() as folder:
        ready = folder / "ready"
        ready.mkdir()
        command = [
            sys.executable,
            str(HERE.with_name("one.py")),
            "long_lives.crowd_here",
            str(folder),
            str(runs // count),
            str(turns),
        ]
        others = [
            subprocess.Popen([*command, str(k)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for k in range(count)
        ]
        while len(list(ready.iterdir())) < count:
            assert all(other.poll() is None for other in others), "one of the processes failed"
            time.sleep(0.01)
        for other in others:
            assert other.stdin is not None
            other.stdin.write(b"\n")
            other.stdin.flush()
        found = [json.loads(other.communicate()[0]) for other in others]
    spent = max(f["ended"] for f in found) - min(f["began"] for f in found)
    return {"steps_s": runs * turns * 2 / spent, "cpu_ms": sum(f["cpu"] for f in found) / (runs * turns) * 1e3}


async def crowd_here(folder: str, runs: int, turns: int, me: int) -> dict[str, float]:
    """One of these processes: ready, told to begin, done."""
    agent = talker(turns, name=f"talker-{me}")
    async with Runtime(address(Path(folder)), [agent]) as rt:
        await (await rt.start(agent, "warm up")).wait()
        (Path(folder) / "ready" / str(me)).touch()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        began = time.time()
        with Stopwatch() as watch:
            started = await asyncio.gather(*(rt.start(agent, f"begin {k}") for k in range(runs)))
            await asyncio.gather(*(run.wait() for run in started))
        return {"began": began, "ended": time.time(), "cpu": watch.cpu}
