"""Other processes: each opens a runtime on a database file and does what it is told, line by line.

`python -m tests.runtime.process '{"address": …, "ledger": …, "agents": […]}'` reads one JSON command per line from stdin
and writes one JSON answer per line. It ends at the end of its input.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tests.runtime.world import AGENTS, LIMIT, Ledger

from adjourn import AdjournError, Decision, Runtime, is_paused
from adjourn.driver.worker_mark import MARK
from adjourn.stores.address import open_store
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore


class Process:
    """A real process on the other side of two pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def begin(cls, **options: Any) -> "Process":
        """Start it and wait until its runtime is open."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runtime.process", json.dumps(options),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env={k: v for k, v in os.environ.items() if k != MARK},
        )  # fmt: skip
        self = cls(process)
        assert await self.hear() == "open"
        return self

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

    async def end(self) -> None:
        """Let it close its runtime and exit."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(LIMIT):
            assert await self._process.wait() == 0

    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.returncode is None

    async def ended(self) -> int:
        """Wait until it has ended by itself; its exit code."""
        async with asyncio.timeout(LIMIT):
            return await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        if self._process.returncode is None:
            os.kill(self._process.pid, number)

    async def kill(self) -> None:
        """SIGKILL."""
        if self._process.returncode is None:
            os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._process._transport.close()  # type: ignore[attr-defined] # pyright: ignore


class Server:
    """The other side: what a process can be told to do."""

    def __init__(self, rt: Runtime, ledger: Ledger) -> None:
        self.rt, self.ledger = rt, ledger

    async def start(self, agent: str, run: str, input: Any = "go") -> str:
        return (await self.rt.start(AGENTS[agent](self.ledger), input, run_id=run)).id

    async def wait(self, run: str) -> Any:
        outcome = await (await self.rt.get(run)).wait(LIMIT)
        return {
            "status": outcome.status,
            "output": outcome.output if outcome.status == "completed" else None,
            "interrupts": [i.id for i in outcome.interrupts] if is_paused(outcome) else [],
        }

    async def approve(self, interrupt: str, times: int = 1, **options: Any) -> Any:
        """So often at once; what each of them got."""
        return await asyncio.gather(*(said(self.rt.approve(interrupt, **options)) for _ in range(times)))

    async def deny(self, interrupt: str, by: str) -> Any:
        return await self.rt.deny(interrupt, by=by)

    async def answer(self, interrupt: str, value: Any, by: str) -> Any:
        return await self.rt.answer(interrupt, value, by=by)

    async def edit(self, interrupt: str, edit: dict[str, Any], by: str) -> Any:
        return await self.rt.answer(interrupt, Decision.approve(edit=edit), by=by)

    async def resume(self, checkpoint: str, **options: Any) -> Any:
        return (await self.rt.resume(checkpoint, **options)).id

    async def inbox(self) -> Any:
        return [i.id for i in await self.rt.inbox()]

    async def say(self, run: str, text: str) -> None:
        await (await self.rt.get(run)).say(text, by="other")

    async def status(self, run: str) -> str:
        return await (await self.rt.get(run)).status()

    async def halt(self, scope: str) -> int:
        return len(await self.rt.halt(scope, reason="incident", by="other"))

    async def unhalt(self, scope: str) -> int:
        return len(await self.rt.unhalt(scope, by="other"))


async def said(work: Awaitable[Any]) -> Any:
    """The result, or the error's name and text."""
    try:
        return await work
    except (AdjournError, TimeoutError) as e:
        return {"error": type(e).__name__, "text": str(e)}


def opened(address: str, now: Callable[[], float]) -> Store:
    """A store that goes by a clock of the test's."""
    if address.startswith("postgresql://"):
        from adjourn.stores.postgres import PostgresStore  # its driver takes a third of a process's beginning

        return PostgresStore(address, now)
    return SQLiteStore(address.removeprefix("sqlite:///"), now)


async def serve(
    address: str, ledger: str, agents: list[str], bare: bool = False, wall: bool = True, **options: Any
) -> None:
    """`wall`: time is what the clock on the wall shows; otherwise the store's own."""
    book = Ledger(ledger)
    resources = None if bare else {"ledger": book}
    store = opened(address, book.now) if wall else open_store(address)
    async with Runtime(store, [AGENTS[a](book) for a in agents], resources=resources, **options) as rt:
        server = Server(rt, book)
        print(json.dumps("open"), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            verb, arguments = json.loads(line)
            method: Callable[..., Awaitable[Any]] = getattr(server, verb)
            print(json.dumps(await said(method(**arguments))), flush=True)
    await store.close()


if __name__ == "__main__":
    if planted := os.environ.get("ADJOURN_PLANTED_DEFECT"):
        from tests.house.defects import DEFECTS

        DEFECTS[planted].plant()
    asyncio.run(serve(**json.loads(sys.argv[1])))
