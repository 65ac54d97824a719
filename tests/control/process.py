"""Other processes. `python -m tests.control.process '{"db": …, "ledger": …}'` opens a runtime and does what it is told.

It reads one JSON command per line from stdin and writes one JSON answer per line; it ends at the end of its input.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable
from typing import Any

import msgspec
from tests.control.world import AGENTS, LIMIT, Ledger

from adjourn import AdjournError, Runtime, is_paused
from adjourn.runtime import worker


class Process:
    """A real process on the other side of two pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def begin(cls, db: str, ledger: Ledger, *agents: str, **options: Any) -> "Process":
        """Start it and wait until its runtime is open. Without agents it can only read, decide and control."""
        about = {"db": db, "ledger": str(ledger.folder), "agents": agents, **options}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.control.process", json.dumps(about),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self = cls(process)
        assert await self.hear() == "open"
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    async def hear(self) -> Any:
        """Its next answer."""
        assert self._process.stdout is not None
        async with asyncio.timeout(LIMIT):
            line = await self._process.stdout.readline()
        assert line, f"the process ended with {await self._process.wait()}"
        return json.loads(line)

    def tell(self, verb: str, **arguments: Any) -> None:
        """Give it a command without waiting."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([verb, arguments]).encode() + b"\n")

    async def do(self, verb: str, **arguments: Any) -> Any:
        """Give it a command; its answer."""
        self.tell(verb, **arguments)
        return await self.hear()

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    async def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        async with asyncio.timeout(LIMIT):
            return await self._process.wait()

    async def kill(self) -> None:
        """SIGKILL, also if it is stopped."""
        if self._process.returncode is None:
            self.signal(signal.SIGKILL)
        await self._process.wait()
        self._process._transport.close()  # type: ignore[attr-defined] # pyright: ignore


class Server:
    """The other side: what a process can be told to do."""

    def __init__(self, rt: Runtime, ledger: Ledger) -> None:
        self.rt, self.ledger = rt, ledger

    async def start(self, agent: str, run: str, input: Any, by: str = "") -> str:
        return (await self.rt.start(AGENTS[agent](self.ledger), input, run_id=run, by=by)).id

    async def wait(self, run: str) -> Any:
        outcome = await (await self.rt.get(run)).wait(LIMIT)
        return {
            "status": outcome.status,
            "interrupts": [i.id for i in outcome.interrupts] if is_paused(outcome) else [],
        }

    async def run(self, run: str, what: str, **options: Any) -> Any:
        """Any verb of a run."""
        return _plain(await getattr(await self.rt.get(run), what)(**options))

    async def fork(self, run: str, **options: Any) -> str:
        return (await (await self.rt.get(run)).fork(**options)).id

    async def runtime(self, what: str, args: list[Any], **options: Any) -> Any:
        """Any verb of the runtime."""
        return _plain(await getattr(self.rt, what)(*args, **options))

    async def decide(self, decisions: list[list[Any]]) -> Any:
        """Many decisions at once: (interrupt, verb, by); what each of them got."""
        return await asyncio.gather(*(said(getattr(self.rt, verb)(i, by=by)) for i, verb, by in decisions))


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=lambda x: repr(x))


async def said(work: Awaitable[Any]) -> Any:
    """The result, or the error's name and text."""
    try:
        return await work
    except (AdjournError, TimeoutError) as e:
        return {"error": type(e).__name__, "text": str(e)}


async def serve(db: str, ledger: str, agents: list[str], sweep: float = 1.0, **options: Any) -> None:
    book = Ledger(ledger)
    worker.SWEEP = sweep
    resources = {"ledger": book}
    async with Runtime(f"sqlite:///{db}", [AGENTS[a](book) for a in agents], resources=resources, **options) as rt:
        server = Server(rt, book)
        print(json.dumps("open"), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            verb, arguments = json.loads(line)
            print(json.dumps(await said(getattr(server, verb)(**arguments))), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(**json.loads(sys.argv[1])))
