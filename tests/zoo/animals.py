"""Bodies that misbehave. Each writes down outside of any store that it began, and that it had its effect."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.control.world import Ledger

from adjourn import Agent, Flow, Tool, ToolContext
from adjourn.testing import ScriptedModel, call

EFFECTS = ("read", "idempotent", "verifiable", "unsafe")
KINDS = ("tool", "chunk")
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
SOON = 0.4
"""Seconds after which a body that hangs ends by itself, so that a process can go on."""


class Own(BaseException):
    """Something that nobody expects."""


class Zoo:
    """The bodies, and the ledger in which they write."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def begins(self, ctx: ToolContext) -> None:
        self.ledger.write(ctx.run_id, "began")

    def acts(self, ctx: ToolContext) -> None:
        self.ledger.write(ctx.run_id, "effect", ctx.idempotency_key)

    async def blocks(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        self.acts(ctx)
        time.sleep(SOON / 4)
        return "blocked"

    async def ignores_cancel(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        until = time.monotonic() + SOON
        while time.monotonic() < until:
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                self.ledger.write(ctx.run_id, "ignored")
        self.acts(ctx)
        return "at last"

    def works_in_a_thread(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        time.sleep(SOON)
        self.acts(ctx)
        return "at last"

    async def is_cancelled_by_others(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        self.acts(ctx)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.01, task.cancel)
        await asyncio.sleep(60)
        return "never"

    async def exits(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        await asyncio.sleep(0.05)
        sys.exit(3)

    def exits_in_a_thread(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        sys.exit(3)

    async def interrupts(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        await asyncio.sleep(0.05)
        raise KeyboardInterrupt

    async def forks(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        child = os.fork()
        if child:
            self.acts(ctx)
            os.waitpid(child, 0)
        return "back" if child else "twice"

    def forks_in_a_thread(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        child = os.fork()
        if child:
            self.acts(ctx)
            os.waitpid(child, 0)
        return "back" if child else "twice"

    async def hangs_in_finally(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        try:
            await asyncio.sleep(SOON)
            self.acts(ctx)
        finally:
            until = time.monotonic() + SOON
            while time.monotonic() < until:
                try:
                    await asyncio.sleep(0.02)
                except asyncio.CancelledError:
                    self.ledger.write(ctx.run_id, "ignored")
        return "done"

    async def steps_in_finally(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        try:
            await asyncio.sleep(SOON)
            self.acts(ctx)
        finally:
            await ctx.step("release", lambda: "released")
        return "done"

    async def times_out_inside(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        async with asyncio.timeout(0.05):
            await asyncio.sleep(60)
        return "never"

    async def raises_its_own(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        await asyncio.sleep(0.05)
        raise Own("odd")

    async def floods(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        for n in range(30):
            for item in range(20):
                ctx.publish({"n": n, "item": item})
            await ctx.save(n)
        self.acts(ctx)
        return "x" * 100_000

    async def leaks_threads(self, ctx: ToolContext) -> str:
        self.begins(ctx)
        for _ in range(10):
            threading.Thread(target=time.sleep, args=(SOON,), daemon=True).start()
        await asyncio.sleep(0.05)
        self.acts(ctx)
        return "leaked"

    def body(self, name: str) -> Callable[..., Any]:
        return getattr(self, name)

    def verify(self, ctx: ToolContext, args: Any) -> Any:
        """The truth: what stands in the ledger."""
        self.ledger.write(ctx.run_id, "asked")
        return ("happened", "it did") if self.ledger.lines(ctx.run_id, "effect") else False

    def undo(self, ctx: ToolContext, args: Any, result: Any) -> None:
        self.ledger.write(ctx.run_id, "undone")

    def program(self, animal: str, kind: str, effect: str) -> Agent | Flow:
        """One program with one such body."""
        options: dict[str, Any] = {"effect": effect}
        if effect != "read":
            options["undo"] = self.undo
        if effect == "verifiable":
            options["verify"] = self.verify
        name, run = f"{kind}-{effect}", self.body(animal)
        if kind == "tool":
            tool = Tool("work", "Work.", NOTHING, run, **options)
            return Agent(name, model=ScriptedModel([call("work")], "done"), tools=[tool])
        flow = Flow(name)
        flow.to(flow.chunk(name="work", **options)(run))
        return flow

    def programs(self, animal: str) -> list[Agent | Flow]:
        return [self.program(animal, kind, effect) for kind in KINDS for effect in EFFECTS]


ANIMALS = [
    "blocks", "ignores_cancel", "works_in_a_thread", "is_cancelled_by_others", "exits", "exits_in_a_thread", "interrupts", "forks",
    "forks_in_a_thread", "hangs_in_finally", "steps_in_finally", "times_out_inside", "raises_its_own", "floods", "leaks_threads",
]  # fmt: skip
