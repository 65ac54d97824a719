"""One body, as a tool of an agent or as a chunk of a flow: whatever is said about it holds for both."""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any, Literal

from adjourn import Agent, Cancelled, Flow, Run, Runtime, Tool
from adjourn.core.records import AnyRecord, Doubted, Faulted, Returned, Verified
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call

Kind = Literal["tool", "chunk"]
KINDS: tuple[Kind, ...] = ("tool", "chunk")
LIMIT = float(os.environ.get("ADJOURN_TEST_LIMIT", "20"))
"""Seconds after which a test that waits has failed."""
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def program(kind: Kind, run: Callable[..., Any], *more: Callable[..., Any], **options: Any) -> Agent | Flow:
    """A program whose first step is this body; `more` are read bodies after it, one after the other."""
    if kind == "tool":
        tools = [Tool("work", "Work.", NOTHING, run, **options)]
        tools += [Tool(f"more{n}", "More.", NOTHING, after, effect="read") for n, after in enumerate(more)]
        replies = [[call(tool.name)] for tool in tools]
        return Agent("one", model=ScriptedModel(*replies, "done"), tools=tools)
    flow = Flow("one")
    chain = flow.to(flow.chunk(name="work", **options)(run))
    for n, after in enumerate(more):
        chain = chain.to(flow.chunk(name=f"more{n}", effect="read")(after))
    return flow


class Bank:
    """What really happened, outside of any journal."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gates: dict[str, threading.Event] = {}

    def write(self, line: str) -> None:
        self.lines.append(line)

    def count(self, line: str) -> int:
        return self.lines.count(line)

    def gate(self, name: str) -> threading.Event:
        return self.gates.setdefault(name, threading.Event())

    def hold(self, name: str) -> None:
        """In a thread: wait until the gate is open."""
        assert self.gate(name).wait(LIMIT), f"nobody opened {name!r}"

    async def pass_through(self, name: str) -> None:
        """In the loop: wait until the gate is open."""
        while not self.gate(name).is_set():
            await asyncio.sleep(0.002)

    def open_all(self) -> None:
        for gate in self.gates.values():
            gate.set()

    async def until(self, *lines: str) -> None:
        async with asyncio.timeout(LIMIT):
            while not all(line in self.lines for line in lines):
                await asyncio.sleep(0.002)


class Place:
    """A store and workers on it, with a clock that moves only when it is told to, if a test wants that."""

    def __init__(self, *, clock: FakeClock | None = None, grace: float = 0.3) -> None:
        self.clock, self.grace = clock, grace
        self.store = MemoryStore(now=clock.now) if clock else MemoryStore()

    def runtime(self, *programs: Agent | Flow, **options: Any) -> Runtime:
        options.setdefault("grace", self.grace)
        runtime = Runtime(self.store, programs, **options)
        if self.clock is not None:
            runtime.clock = self.clock
        return runtime

    def records(self, run: str = "r") -> list[AnyRecord]:
        return [record for _, record in self.store.peek(run)]

    def all(self, kind: type, run: str = "r") -> list[Any]:
        return [record for record in self.records(run) if isinstance(record, kind)]

    async def until(self, kind: type, count: int = 1, run: str = "r") -> Any:
        """Wait until there are so many of these records; the last one."""
        async with asyncio.timeout(LIMIT):
            while len(found := self.all(kind, run)) < count:
                await asyncio.sleep(0.002)
        return found[-1]

    async def ends(self, run: Run[Any]) -> tuple[str, str]:
        """Wait until the run rests; how its body ended last: `value`, `error` or `doubt`, with the words."""
        await self.rests(run)
        return how(self.records(run.id))

    async def rests(self, run: Run[Any]) -> str:
        """Wait until nothing goes on; its status."""
        async with asyncio.timeout(LIMIT):
            while (await self.store.get(run.id)).status.value in ("ready", "pausing", "cancelling"):
                await asyncio.sleep(0.002)
        return (await self.store.get(run.id)).status.value


def how(records: list[AnyRecord]) -> tuple[str, str]:
    """How the body of a journal ended."""
    found = ("nothing", "")
    for record in records:
        if isinstance(record, Returned) and "!" not in record.call and not record.call.startswith(("2.", "more")):
            found = ("error", record.error) if record.error else ("value", str(record.value))
        elif isinstance(record, Faulted) and not record.transient:
            found = ("error", record.error)
        elif isinstance(record, Doubted) and not record.running:
            found = ("doubt", record.why)
        elif isinstance(record, Verified) and record.answer == "happened":
            found = ("value", str(record.value))
    return found


async def cancelled(run: Run[Any]) -> Cancelled:
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Cancelled), outcome
    return outcome


async def idle() -> None:
    """Let everything that can go on go on."""
    for _ in range(50):
        await asyncio.sleep(0)
