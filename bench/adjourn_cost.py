"""Adjourn through its public API: each function is one measurement, run in a process of its own."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from words import SIZE, Pace, Stopwatch, scratch
from workload import Bodies, asker, talker, until

from adjourn import Agent, Runtime
from adjourn.core.messages import ModelRequest, Reply
from adjourn.stores.sqlite.connection import connect

HERE = Path(__file__)


def address(folder: Path, name: str = "adjourn.db") -> str:
    return f"sqlite:///{folder / name}"


async def one_run(where: str, turns: int) -> None:
    agent = talker(turns)
    async with Runtime(where, [agent]) as rt:
        run = await rt.start(agent, "begin")
        outcome = await run.wait()
        assert outcome.status == "completed", outcome


async def turns(n: int, size: int = SIZE) -> dict[str, float]:
    """A run of n turns, from `start` to the end of `wait`, in a process that has done this before."""
    with scratch() as folder:
        await one_run(address(folder, "warm.db"), 5)
        return await timed(folder, n, size)


async def cold_turns(n: int, size: int = SIZE) -> dict[str, float]:
    """The same in a process that has done nothing before."""
    with scratch() as folder:
        return await timed(folder, n, size)


async def timed(folder: Path, n: int, size: int) -> dict[str, float]:
    pace = Pace(n)
    agent = talker(n, pace, size=size)
    async with Runtime(address(folder), [agent]) as rt:
        with Stopwatch() as watch:
            run = await rt.start(agent, "begin")
            outcome = await run.wait()
        assert outcome.status == "completed", outcome
    size = (folder / "adjourn.db").stat().st_size
    return {"cpu_ms": watch.cpu / n * 1e3, "wall_ms": watch.wall / n * 1e3, "bytes": size / n, "growth": pace.growth}


async def crowd(runs: int, n: int = 20) -> dict[str, float]:
    """`runs` runs of n turns at once, in one process on one file."""
    with scratch() as folder:
        await one_run(address(folder, "warm.db"), 5)
        agent = talker(n)
        async with Runtime(address(folder), [agent]) as rt:
            with Stopwatch() as watch:
                started = await asyncio.gather(*(rt.start(agent, f"begin {k}") for k in range(runs)))
                outcomes = await asyncio.gather(*(run.wait() for run in started))
            assert all(o.status == "completed" for o in outcomes)
            store: Any = rt.store
            shared = store.commits / max(1, store.transactions)
    return {"steps_s": runs * n * 2 / watch.wall, "cpu_ms": watch.cpu / (runs * n) * 1e3, "commits_per_fsync": shared}


async def park(runs: int) -> dict[str, float]:
    """Start many runs that each stop for an approval; then approve all and let them end."""
    bodies = Bodies()
    agent = asker(1, 0, bodies)
    with scratch() as folder:
        await one_run(address(folder, "warm.db"), 5)
        async with Runtime(address(folder), [agent]) as rt:
            with Stopwatch() as parking:
                started = await asyncio.gather(*(rt.start(agent, f"begin {k}") for k in range(runs)))
                outcomes = await asyncio.gather(*(run.wait() for run in started))
            ids = [outcome.interrupts[0].id for outcome in outcomes if outcome.status == "waiting"]
            assert len(ids) == runs
            with Stopwatch() as resuming:
                await asyncio.gather(*(rt.approve(id, by="bench") for id in ids))
                outcomes = await asyncio.gather(*(run.wait() for run in started))
            assert all(o.status == "completed" for o in outcomes) and bodies.count == runs
    return {
        "park_s": runs / parking.wall, "resume_s": runs / resuming.wall,
        "park_cpu_ms": parking.cpu / runs * 1e3, "resume_cpu_ms": resuming.cpu / runs * 1e3,
    }  # fmt: skip


async def answer_hot(messages: int, times: int = 25) -> dict[str, float]:
    """`rt.approve` → first line of the tool's body, in the process that parked the run."""
    bodies = Bodies()
    begin = messages // 2
    agent = asker(begin + times, begin, bodies)
    spent: list[float] = []
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            run = await rt.start(agent, "begin")
            for k in range(times):
                outcome = await run.wait()
                assert outcome.status == "waiting", outcome
                if k == 5:
                    cpu = time.process_time()
                began = time.perf_counter()
                await rt.approve(outcome.interrupts[0].id, by="bench")
                await until(lambda k=k: bodies.count > k)
                spent.append((bodies.began - began) * 1e3)
            used = time.process_time() - cpu
            await run.wait()
    return {"ms": statistics.median(spent[5:]), "cpu_ms": used / (times - 5) * 1e3}


async def answer_fresh(messages: int) -> dict[str, float]:
    """A process parks the run and ends; from the spawn of another one to the tool's body in it."""
    bodies = Bodies()
    begin = messages // 2
    agent = asker(begin + 1, begin, bodies)
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            run = await rt.start(agent, "begin")
            outcome = await run.wait()
            interrupt = outcome.interrupts[0].id  # type: ignore[union-attr]
        began = time.time()
        command = [sys.executable, str(HERE.with_name("one.py")), "answer_here", str(folder), str(messages), interrupt]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: ASYNC221
        found = json.loads(done.stdout)
    return {
        "ms": (found["body_at"] - began) * 1e3,
        "after_import_ms": found["after_import_ms"],
        "cpu_ms": found["cpu_ms"],
    }


async def answer_here(folder: str, messages: int, interrupt: str) -> dict[str, float]:
    """The other process: open the store, approve, and note when the body began."""
    imported = time.perf_counter()
    bodies = Bodies()
    begin = messages // 2
    agent = asker(begin + 1, begin, bodies)
    async with Runtime(address(Path(folder)), [agent]) as rt:
        await rt.approve(interrupt, by="bench")
        await until(lambda: bodies.count)
        wall, cpu = time.time() - (time.perf_counter() - bodies.began), time.process_time()
    return {"body_at": wall, "after_import_ms": (bodies.began - imported) * 1e3, "cpu_ms": cpu * 1e3}


async def inbox(pending: int) -> dict[str, float]:
    """The first 50 of many pending approvals. One run is parked; the others are copies of its rows."""
    agent = asker(1, 0, Bodies())
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            run = await rt.start(agent, "begin")
            await run.wait()
            multiply(str(folder / "adjourn.db"), pending)
            spent: list[float] = []
            for _ in range(100):
                began = time.perf_counter()
                found = await rt.inbox(limit=50)
                spent.append((time.perf_counter() - began) * 1e3)
                assert len(found) == 50
    return {"ms": statistics.median(spent)}


def multiply(path: str, count: int) -> None:
    """Copies of the one run in the file: its row, its journal, its interrupt."""
    db: Any = connect(path)

    def columns(table: str, changed: dict[str, str]) -> tuple[str, str]:
        names = [str(name) for _, name, *_ in db.execute(f"pragma table_info({table})")]
        return ", ".join(names), ", ".join(changed.get(name, f"x.{name}") for name in names)

    with db:
        db.execute("create temp table k (n)")
        db.execute(
            "insert into k with recursive k(n) as (select 2 union all select n + 1 from k where n < ?) select n from k",
            (count,),
        )
        for table, changed in {
            "run": {
                "n": "k.n",
                "id": "x.id || k.n",
                "created_at": "x.created_at + k.n",
                "updated_at": "x.updated_at + k.n",
            },
            "journal": {"key": "k.n << 32 | x.seq"},
            "interrupt": {"run": "k.n", "opened_at": "x.opened_at + k.n"},
        }.items():
            into, values = columns(table, changed)
            only = "x.n = 1" if table == "run" else "x.run = 1"
            db.execute(f"insert into {table} ({into}) select {values} from {table} x, temp.k as k where {only}")
    db.close()


class Silent:
    """A model that never answers, and notes when its call is cut."""

    name = "silent"

    def __init__(self) -> None:
        self.calls = 0
        self.cut = 0.0

    async def request(self, request: ModelRequest) -> AsyncIterator[Reply]:
        self.calls += 1
        try:
            await asyncio.sleep(3600)
        finally:
            self.cut = time.perf_counter()
        yield Reply()


async def cancel(times: int) -> dict[str, float]:
    """`run.cancel()` → the model call is cut: from the call, and from its acknowledgement."""
    model = Silent()
    agent: Agent[Any] = Agent("silent", model=model)
    asked: list[float] = []
    acknowledged: list[float] = []
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            for k in range(times):
                run = await rt.start(agent, f"begin {k}")
                await until(lambda k=k: model.calls > k)
                await asyncio.sleep(0.01)
                began, model.cut = time.perf_counter(), 0.0
                await run.cancel(by="bench")
                ack = time.perf_counter()
                await until(lambda: model.cut)
                asked.append((model.cut - began) * 1e6)
                acknowledged.append((model.cut - ack) * 1e6)
                await run.wait()
    return {"us": statistics.median(acknowledged), "from_call_us": statistics.median(asked)}


def imports(statement: str) -> dict[str, float]:
    """CPU of a fresh interpreter that runs one statement, best of seven."""
    best = 1e9
    for _ in range(8):  # the first one may have to compile
        pid = os.posix_spawn(sys.executable, [sys.executable, "-c", statement], os.environ)
        _, status, usage = os.wait4(pid, 0)
        assert status == 0
        best = min(best, usage.ru_utime + usage.ru_stime)
    return {"ms": best * 1e3}
