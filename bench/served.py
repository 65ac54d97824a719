"""The HTTP API beside a working worker: a server, a worker and this client, each in a process of its own."""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from words import scratch
from workload import talker

from adjourn import Runtime

HERE = Path(__file__)
TURNS, AT_ONCE, PACE = 20, 4, 0.002
"""A worker with a few runs at a time, each of so many turns, whose model takes two milliseconds: it never rests."""


async def status(seconds: int, connections: int = 8) -> dict[str, float]:
    """`GET /runs/{run}/status` again and again over a few kept connections, of runs that work and of those that have ended."""
    with scratch() as folder:
        address = f"sqlite:///{folder / 'adjourn.db'}"
        async with other("work", address) as (worker, runs), other("serve", address) as (server, up):
            before = cpu(server.pid)
            spent: list[float] = []
            end = time.perf_counter() + seconds
            await asyncio.gather(*(ask(up, runs["ids"], end, spent) for _ in range(connections)))
            used = cpu(server.pid) - before
            steps = json.loads(await ended(worker))["turns"]
    assert steps > 0
    spent.sort()
    return {
        "rps": len(spent) / seconds, "p50_ms": statistics.median(spent) * 1e3, "p99_ms": spent[int(len(spent) * 0.99)] * 1e3,
        "cpu_ms": used / len(spent) * 1e3, "turns_s": steps / seconds,
    }  # fmt: skip


async def ask(up: dict[str, str], runs: list[str], end: float, spent: list[float]) -> None:
    """One connection: no client library, whose cost would be the larger part."""
    host, port = up["url"].removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    n = 0
    while (began := time.perf_counter()) < end:
        n += 1
        head = f"GET /api/v1/runs/{runs[n % len(runs)]}/status HTTP/1.1\r\nHost: {host}:{port}\r\n"
        writer.write(f"{head}Authorization: Bearer {up['token']}\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        body = await reader.readexactly(size)
        assert b'"status"' in body
        spent.append(time.perf_counter() - began)
    writer.close()


def cpu(pid: int) -> float:
    """CPU seconds of a process; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100


@asynccontextmanager
async def other(mode: str, address: str) -> AsyncGenerator[tuple[asyncio.subprocess.Process, dict[str, str]]]:
    """This file in another process, once it has said that it is ready; it ends when its input does."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, str(HERE), mode, address, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    line = await process.stdout.readline()
    try:
        yield process, json.loads(line)
    finally:
        await ended(process)


async def ended(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    said = await process.stdout.read()
    await process.wait()
    return said


async def told_to_end() -> None:
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def serve(address: str) -> None:
    from adjourn.server import serving

    async with serving(address, port=0, rate=1e9) as up:
        print(json.dumps({"url": up.url, "token": up.token}), flush=True)
        await told_to_end()


async def work(address: str) -> None:
    agent = talker(TURNS, pause=PACE)
    done = 0
    async with Runtime(address, [agent]) as rt:
        runs = [await rt.start(agent, f"begin {k}") for k in range(AT_ONCE)]
        print(json.dumps({"ids": [run.id for run in runs]}), flush=True)
        end = asyncio.ensure_future(told_to_end())

        async def again(k: int) -> None:
            nonlocal done
            run = runs[k]
            while not end.done():
                await run.wait()
                done += TURNS
                run = await rt.start(agent, f"begin {k}, {done}")

        await asyncio.gather(*(again(k) for k in range(AT_ONCE)))
    print(json.dumps({"turns": done}), flush=True)


if __name__ == "__main__":
    asyncio.run({"serve": serve, "work": work}[sys.argv[1]](sys.argv[2]))
