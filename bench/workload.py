"""What is measured: an agent that says 500 bytes, calls a tool, and reads 500 bytes back. One turn is both steps."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from words import LONG, SIZE, Pace, text

from adjourn import Agent, MaxSteps, Policy, Tool, allow, ask, tool
from adjourn.core.messages import ModelRequest, Reply, Text, ToolCall
from adjourn.core.usage import Usage


class Talker:
    """A model without latency: `turns` replies with one call each, then a last word. From `gated_from` on they are of `act`."""

    name = "talker"

    def __init__(
        self, turns: int, gated_from: int = -1, pace: Pace | None = None, pause: float = 0.0, size: int = SIZE
    ) -> None:
        self.turns, self.gated_from, self.pace, self.pause, self.size = turns, gated_from, pace, pause, size

    async def request(self, request: ModelRequest) -> AsyncIterator[Reply]:
        n = request.index
        if self.pace is not None:
            self.pace.at(n)
        if self.pause:
            await asyncio.sleep(self.pause)
        said = Text(text=text(n, self.size))
        used = Usage(1, self.size // 4, self.size // 4)
        if n >= self.turns:
            yield Reply((said,), used, self.name)
            return
        name = "act" if 0 <= self.gated_from <= n else "look"
        yield Reply((said, ToolCall(id=f"call_{n}", tool=name, args={"n": n})), used, self.name)


@tool
async def look(n: int) -> str:
    """Look something up."""
    return text(n)


@tool(name="look")
async def look_closely(n: int) -> str:
    """Look something up."""
    return text(n, LONG)


class Bodies:
    """A tool that a person must approve, and when its body began."""

    def __init__(self) -> None:
        self.began = 0.0
        self.count = 0

    def tool(self) -> Tool:
        @tool
        async def act(n: int) -> str:
            """Do something that a person must approve."""
            self.began = time.perf_counter()
            self.count += 1
            return text(n)

        return act


POLICY = Policy([allow("look"), ask("act", reason="it costs money")])


def talker(
    turns: int, pace: Pace | None = None, pause: float = 0.0, *, size: int = SIZE, name: str = "talker"
) -> Agent[Any]:
    """An agent that does `turns` turns and ends; its model takes `pause` seconds for each. Its messages have `size` bytes."""
    model, tools = Talker(turns, pace=pace, pause=pause, size=size), [look if size == SIZE else look_closely]
    return Agent(name, model=model, instructions="Look things up.", tools=tools, stop=MaxSteps(turns + 10))


def asker(turns: int, gated_from: int, bodies: Bodies) -> Agent[Any]:
    """The same, whose calls need an approval from the turn `gated_from` on."""
    return Agent(
        "asker", model=Talker(turns, gated_from), instructions="Look things up.", tools=[look, bodies.tool()],
        policy=POLICY, stop=MaxSteps(turns + 10),
    )  # fmt: skip


async def until(ready: Callable[[], object], timeout: float = 60.0) -> None:
    """Wait, by looking, until `ready()` is true."""
    end = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError("the measurement did not get where it should")
        await asyncio.sleep(0.0005)
