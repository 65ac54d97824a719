"""The stage of the demo in the browser: a server in this process, a worker in another, and runs to play with."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjourn.demo.guide import guide
from adjourn.demo.intruder import DATABASE, INPUT, RUN, intruder
from adjourn.demo.programs import RUNS
from adjourn.demo.tour_agents import LEDGER, Entry, entries
from adjourn.demo.worker_process import CAST, DECIDERS
from adjourn.driver.decider_keys import SigningKey
from adjourn.errors import Misused
from adjourn.runtime.runtime import Runtime

if TYPE_CHECKING:
    from adjourn.server import Serving

PATIENCE = 60.0
BREATH = 1.0
"""Seconds until a worker that is gone is replaced: long enough to see that it is gone."""


@dataclass(slots=True)
class Stage:
    """What is up while the demo is."""

    folder: Path
    serving: "Serving"
    pids: list[int]

    async def begin_the_night(self) -> None:
        """Start the run that tries to agree to its own payment, where decisions are signed."""
        if can_sign():
            await self.serving.runtime.start(intruder, INPUT, run_id=RUN, by="demo")

    @property
    def ledger(self) -> list[Entry]:
        """What the tools did, outside of the store."""
        return entries(self.folder / "ledger.jsonl")


@asynccontextmanager
async def stage(folder: Path, port: int, *, name: str = "") -> AsyncGenerator[Stage]:
    """Server, worker and runs while inside."""
    from adjourn.server import serving

    database, key = folder / "demo.db", SigningKey.new() if can_sign() else None
    address = f"sqlite:///{database}"
    env = {**os.environ, LEDGER: str(folder / "ledger.jsonl"), DATABASE: str(database)}
    if key is not None:  # it is in no file: whoever has a shell here could read that
        env[DECIDERS] = key.line("demo")
    async with serving(address, CAST, port=port, guide=guide, work=False, name=name, token=True, signing_key=key) as up:
        pids: list[int] = []
        keeping = asyncio.create_task(_keep_a_worker(database, env, pids), name="adjourn-demo")
        try:
            await _begun(up.runtime)
            yield Stage(folder, up, pids)
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping


async def _begun(rt: Runtime) -> None:
    """Wait until the worker has started its runs."""
    async with asyncio.timeout(PATIENCE):
        while len(await rt.runs(limit=len(RUNS))) < len(RUNS):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)


async def _keep_a_worker(database: Path, env: dict[str, str], pids: list[int]) -> None:
    """A worker at all times, but for the moment after one was killed."""
    while True:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "adjourn.demo.worker_process", str(database), env=env, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        pids.append(process.pid)
        try:
            await process.wait()
        except asyncio.CancelledError:
            await _end(process)
            raise
        await asyncio.sleep(BREATH)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(5):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def can_sign() -> bool:
    """Whether the packages for signatures are there; without them the demo has no run that tries to forge one."""
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def free_port(wanted: int) -> int:
    """`wanted`, or any that is free if another program has it."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def need_server() -> None:
    """Raises `Misused` if the server's packages are not installed."""
    missing: list[Any] = []
    for name in ("starlette", "uvicorn", "h11"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise Misused(
            f"the demo in the browser needs {', '.join(missing)}: pip install 'adjourn[server]', or take the tour in the "
            "terminal: adjourn demo --terminal"
        )
