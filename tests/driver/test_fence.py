"""The fence: a worker that was frozen, or whose loop was blocked, asks for its run before any body touches the world.

One law over the places where a body begins to act: the body's first instruction, and every `ctx.step` in it.
"""

from typing import Any

import pytest
from tests.driver.test_loop import RUN, Rig

from adjourn import Agent, LeaseLost, ToolContext, tool
from adjourn.driver.fence import Fence
from adjourn.testing import ScriptedModel, call

TTL = 10.0


class Clocks:
    """Two clocks that a test sets."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_000.0, 5.0

    def fence(self) -> Fence:
        return Fence(lambda: self.wall, TTL, lambda: self.steady)


@pytest.mark.parametrize(
    "wall, steady, passed",
    [
        (0.0, 0.0, False),
        (9.9, 9.9, False),
        (10.0, 10.0, True),
        (10.0, 0.0, True),  # the machine was suspended, or somebody has set the clock
        (0.0, 10.0, True),  # the clock was set back while the process was frozen
        (-1.0, 0.0, True),
    ],
)
def test_the_fence_is_passed_when_either_clock_may_say_so(wall: float, steady: float, passed: bool) -> None:
    clocks = Clocks()
    fence = clocks.fence()
    clocks.wall, clocks.steady = clocks.wall + wall, clocks.steady + steady
    assert fence.is_passed() == passed


def test_what_was_known_before_a_write_counts_from_before_it() -> None:
    clocks = Clocks()
    fence = clocks.fence()
    mark = fence.mark()
    clocks.steady += 9.0
    fence.keep(mark)
    clocks.steady += 1.0
    assert fence.is_passed()


class Frozen:
    """A worker whose bodies freeze it past its lease: `freeze` is what happens then, without one turn of the loop."""

    def __init__(self, *calls: str, stolen: bool) -> None:
        self.did: list[str] = []
        self.stolen = stolen
        model = ScriptedModel([call(name) for name in calls], "x")
        self.rig = Rig(Agent("frozen", model=model, tools=self.tools()))

    async def freeze(self) -> None:
        self.rig.clock.advance(TTL + 1)
        if self.stolen:
            assert await self.rig.store.acquire(RUN, "thief", 1e6) is not None  # the memory store never suspends

    def tools(self) -> list[Any]:
        @tool(effect="idempotent")
        async def blocks() -> str:
            """Hold the loop past the lease."""
            await self.freeze()
            return "blocked"

        @tool(effect="idempotent")
        async def pay() -> str:
            """Pay."""
            self.did.append("pay")
            return "paid"

        @tool(effect="idempotent")
        async def steps(ctx: ToolContext) -> str:
            """Work in steps."""
            await ctx.step("one", self.did.append, "one")
            await self.freeze()
            await ctx.step("two", self.did.append, "two")
            return "done"

        return [blocks, pay, steps]

    async def run(self) -> str:
        await self.rig.create()
        return (await (await self.rig.drive(ttl=TTL)).run()).status or ""


async def test_a_neighbour_that_blocks_the_loop_between_the_commit_and_the_body_costs_no_second_effect() -> None:
    """Both bodies are scheduled in one turn; the first holds the loop past the lease, and another worker takes the run."""
    frozen = Frozen("blocks", "pay", stolen=True)
    with pytest.raises(LeaseLost):
        await frozen.run()
    assert frozen.did == []


async def test_a_step_of_a_worker_that_lost_its_run_while_frozen_does_not_run() -> None:
    frozen = Frozen("steps", stolen=True)
    with pytest.raises(LeaseLost):
        await frozen.run()
    assert frozen.did == ["one"]


@pytest.mark.parametrize("calls, did", [(("blocks", "pay"), ["pay"]), (("steps",), ["one", "two"])])
async def test_a_worker_that_was_frozen_and_lost_nothing_goes_on(calls: tuple[str, ...], did: list[str]) -> None:
    frozen = Frozen(*calls, stolen=False)
    assert await frozen.run() == "completed"
    assert frozen.did == did
