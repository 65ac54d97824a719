"""The stage of the demo: a worker in another process, runs to try things on, and a server or only a
runtime here."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from adjourn.demo.intruder import DATABASE, INPUT, RUN, intruder
from adjourn.demo.ledger import LEDGER, LedgerEntry, entries
from adjourn.demo.programs import RETURN, RETURN_INPUT, RUNS, returns
from adjourn.demo.worker_process import ALL_PROGRAMS, DECIDERS
from adjourn.driver.decider_keys import SigningKey
from adjourn.errors import Misused
from adjourn.runtime.runtime import Runtime

if TYPE_CHECKING:
    from adjourn.server import RunningServer

PATIENCE = 60.0
RESTART_SECONDS = 1.0
"""Until a worker that has ended is replaced: long enough to see that it is gone."""


@dataclass(slots=True)
class Stage:
    """What is up during the demo. `server`: None where only a runtime is open. `pids`: of the
    workers, the last one alive."""

    folder: Path
    runtime: Runtime
    server: "RunningServer | None"
    pids: list[int]

    async def start_forger(self) -> None:
        """Start the run that tries to approve its own payment; only where decisions can be
        signed."""
        if can_sign():
            await self.runtime.start(intruder, INPUT, run_id=RUN, by="demo")

    async def start_return(self) -> None:
        """Start the run whose two effects happen without being recorded."""
        await self.runtime.start(returns, RETURN_INPUT, run_id=RETURN, by="demo")

    @property
    def ledger(self) -> list[LedgerEntry]:
        """What the tools did, outside the store."""
        return entries(self.folder / "ledger.jsonl")


@asynccontextmanager
async def stage(
    folder: Path, port: int = 0, *, serves: bool = True, name: str = ""
) -> AsyncGenerator[Stage]:
    """The stage of a demo.

    Args:
        folder: where its database and its ledger are.
        port: where the server listens; 0 takes a free one.
        serves: whether there is a server; without it, only a runtime.
        name: who uses the console; without one, the user of this machine.
    """
    database = folder / "demo.db"
    key = SigningKey.new() if can_sign() else None
    environment = {**os.environ, LEDGER: str(folder / "ledger.jsonl"), DATABASE: str(database)}
    if key is not None:  # it is in no file: any process with a shell could read that
        environment[DECIDERS] = key.line("demo")
    pids: list[int] = []
    address = f"sqlite:///{database}"
    async with _opened(address, key, port, serves, name, pids) as (runtime, server):
        keeping = asyncio.create_task(
            _keep_a_worker(database, environment, pids), name="adjourn-demo"
        )
        try:
            await _started(runtime)
            yield Stage(folder, runtime, server, pids)
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping


@asynccontextmanager
async def _opened(
    address: str, key: SigningKey | None, port: int, serves: bool, name: str, pids: list[int]
) -> AsyncGenerator[tuple[Runtime, "RunningServer | None"]]:
    if not serves:
        async with Runtime(address, ALL_PROGRAMS, work=False, signing_key=key) as runtime:
            yield runtime, None
        return
    from adjourn.demo.guide_router import with_guide
    from adjourn.server import serving

    async with serving(
        address,
        ALL_PROGRAMS,
        port=port,
        wrap=partial(with_guide, partial(alive, pids)),
        work=False,
        name=name,
        token=True,
        signing_key=key,
    ) as server:
        yield server.runtime, server


def alive(pids: list[int]) -> int | None:
    """The last of these processes, if it lives.

    Args:
        pids: the workers of the demo, in the order in which they were started.
    """
    if not pids:
        return None
    try:
        os.kill(pids[-1], 0)
    except ProcessLookupError:
        return None
    return pids[-1]


async def _started(runtime: Runtime) -> None:
    """Wait until the worker has started its runs."""
    async with asyncio.timeout(PATIENCE):
        while len(await runtime.runs(limit=len(RUNS))) < len(RUNS):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)


async def _keep_a_worker(database: Path, environment: dict[str, str], pids: list[int]) -> None:
    """One worker at all times, except in the second after one was killed."""
    command = [sys.executable, "-m", "adjourn.demo.worker_process", str(database)]
    while True:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        pids.append(process.pid)
        try:
            await process.wait()
        except asyncio.CancelledError:
            await _end(process)
            raise
        await asyncio.sleep(RESTART_SECONDS)


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
    """Whether the packages for signatures are installed; without them no run of the demo tries to
    forge one."""
    return find_spec("cryptography") is not None


def free_port(wanted: int) -> int:
    """`wanted`, or 0 (any free one) if another program uses it."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def need_server() -> None:
    """Raises `Misused` if the packages of the server are not installed."""
    missing: list[str] = []
    for name in ("starlette", "uvicorn", "h11"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise Misused(
            f"the demo in the browser needs {', '.join(missing)}: pip install "
            f"'adjourn[server]', or take the tour in the "
            "terminal: adjourn demo --terminal"
        )
