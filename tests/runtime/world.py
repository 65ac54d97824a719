"""The agents of these tests, and the ledger that their tools write outside the store."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from adjourn import Agent, Completed, Paused, Policy, Resource, Run, ToolContext, ask, pause_for, tool
from adjourn.core.messages import Delta, Message, ModelRequest, Reply, ToolResult
from adjourn.testing.scripted import ScriptedModel, call, streamed

LIMIT = float(os.environ.get("ADJOURN_TEST_LIMIT", "20"))
"""Seconds after which a test that waits has failed."""


class Ledger:
    """A file that tools append to: what really happened, whatever the store says."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)

    def write(self, *words: Any) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, (" ".join(map(str, words)) + "\n").encode())
        finally:
            os.close(file)

    def lines(self) -> list[str]:
        try:
            return Path(self.path).read_text().splitlines()
        except FileNotFoundError:
            return []

    async def until(self, line: str) -> None:
        """Wait until the line is there."""
        async with asyncio.timeout(LIMIT):
            while line not in self.lines():
                await asyncio.sleep(0.005)

    async def gate(self, word: str) -> None:
        """Wait until somebody opens the gate of this name."""
        async with asyncio.timeout(LIMIT):
            while not Path(f"{self.path}.{word}").exists():
                await asyncio.sleep(0.005)

    def open(self, word: str) -> None:
        """Open a gate."""
        Path(f"{self.path}.{word}").touch()

    def now(self) -> float:
        """The time, as the clock on the wall of all these processes shows it."""
        try:
            return time.time() + float(Path(f"{self.path}.clock").read_text())
        except FileNotFoundError:
            return time.time()

    def set_clock(self, by: float) -> None:
        """Set the clock on the wall, so many seconds off the true time."""
        new = Path(f"{self.path}.clock.new")
        new.write_text(str(by))
        new.replace(f"{self.path}.clock")


Book = Annotated[Ledger, Resource("ledger")]


@tool(policy="ask")
async def refund(ctx: ToolContext, order: str, cents: int, ledger: Book) -> dict[str, Any]:
    """Pay money back."""
    ledger.write("refund", ctx.run_id, order, cents)
    return {"order": order, "cents": cents}


@tool(effect="idempotent")
async def note(ctx: ToolContext, text: str, ledger: Book) -> str:
    """Write something down."""
    ledger.write("note", text)
    return f"noted {text}"


@tool(effect="read")
async def ask_operator(question: str) -> Any:
    """Ask a human operator."""
    pause_for("approval", {"question": question})


async def _slow(ctx: ToolContext, ledger: Ledger) -> str:
    ledger.write("began", ctx.call_id)
    await ledger.gate("tool")
    ledger.write("ended", ctx.call_id)
    return "slow result"


@tool(effect="unsafe")
async def slow(ctx: ToolContext, ledger: Book) -> str:
    """Takes until the gate is open."""
    return await _slow(ctx, ledger)


@tool(effect="idempotent")
async def slow_again(ctx: ToolContext, ledger: Book) -> str:
    """Takes until the gate is open."""
    return await _slow(ctx, ledger)


@tool(effect="idempotent")
async def nap(ctx: ToolContext, seconds: float, ledger: Book) -> str:
    """Sleeps durably, between two steps."""
    await ctx.step("before", ledger.write, "before")
    await ctx.sleep(seconds)
    await ctx.step("after", ledger.write, "after")
    return "rested"


class GatedModel(ScriptedModel):
    """A scripted model whose every request is written down and waits for a gate."""

    def __init__(self, ledger: Ledger, *replies: Any) -> None:
        super().__init__(*replies)
        self.ledger = ledger

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.ledger.write("asked", request.index)
        await self.ledger.gate("model")
        async for item in super().request(request):
            yield item


def last_result(messages: Sequence[Message]) -> Any:
    return [m.content for m in messages if isinstance(m, ToolResult)][-1]


def refunds(_: Ledger) -> Agent:
    return Agent("refunds", model=ScriptedModel([call("refund", order="A1", cents=500)], "refunded"), tools=[refund])


def changed(_: Ledger) -> Agent:
    """The same name, another tool."""

    @tool(policy="ask")
    async def refund(order: str, euros: float) -> None:
        """Pay money back."""

    return Agent("refunds", model=ScriptedModel("other", "other"), tools=[refund])


def notes(_: Ledger) -> Agent:
    model = ScriptedModel([call("note", text="a")], [call("note", text="b")], streamed("all ", "noted"))
    return Agent("notes", model=model, tools=[note])


def operator(_: Ledger) -> Agent:
    model = ScriptedModel([call("ask_operator", question="sure?")], lambda m: f"they said {last_result(m)}")
    return Agent("operator", model=model, tools=[ask_operator])


def slowly(_: Ledger) -> Agent:
    return Agent("slowly", model=ScriptedModel([call("slow")], "slowly done"), tools=[slow])


def slowly_again(_: Ledger) -> Agent:
    return Agent("slowly_again", model=ScriptedModel([call("slow_again")], "slowly done"), tools=[slow_again])


def slowly_before(_: Ledger) -> Agent:
    """What `slowly_again` was before one of its tools was taken away."""
    model = ScriptedModel([call("slow_again")], "slowly done")
    return Agent("slowly_again", model=model, tools=[slow_again, note])


def naps(_: Ledger) -> Agent:
    return Agent("naps", model=ScriptedModel([call("nap", seconds=1.0)], "awake"), tools=[nap])


def thinks(ledger: Ledger) -> Agent:
    """Its model calls wait for the gate `model`."""
    return Agent("thinks", model=GatedModel(ledger, [call("note", text="a")], "thought"), tools=[note])


@tool(effect="idempotent")
async def kill(ctx: ToolContext, ledger: Book) -> str:
    """Kills its process, until somebody opens the gate `mended`."""
    ledger.write("kill", ctx.run_id, os.getpid())
    if not Path(f"{ledger.path}.mended").exists():
        os._exit(139)
    return "mended"


def killer(_: Ledger) -> Agent:
    return Agent("killer", model=ScriptedModel([call("kill")], "survived"), tools=[kill])


@tool(effect="unsafe")
async def pay(ctx: ToolContext, ledger: Book) -> str:
    """Takes a moment, and happens once."""
    await asyncio.sleep(0.3)
    ledger.write("paid", ctx.run_id)
    return "paid"


@tool(effect="unsafe")
async def parse(ctx: ToolContext, ledger: Book) -> str:
    """Holds the event loop for longer than a lease, as a library that is not async does."""
    time.sleep(1.0)
    ledger.write("parsed", ctx.run_id)
    return "parsed"


def payer(_: Ledger) -> Agent:
    return Agent("payer", model=ScriptedModel([call("pay")], "done", delay=0.05), tools=[pay])


def parser(_: Ledger) -> Agent:
    return Agent("parser", model=ScriptedModel([call("parse")], "done"), tools=[parse])


def expiring(on_expiry: Any = "deny") -> Agent:
    policy = Policy([ask("note", expires_in=60, on_expiry=on_expiry)])
    return Agent(
        "expiring", model=ScriptedModel([call("note", text="a")], lambda m: str(last_result(m))), tools=[note],
        policy=policy,
    )  # fmt: skip


AGENTS: dict[str, Callable[[Ledger], Agent]] = {
    f.__name__: f
    for f in (
        refunds,
        changed,
        notes,
        operator,
        slowly,
        slowly_again,
        slowly_before,
        naps,
        thinks,
        killer,
        payer,
        parser,
    )
}


async def paused(run: Run[Any]) -> Paused:
    """The run's outcome, which must be that it waits."""
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused), outcome
    return outcome


async def completed(run: Run[Any]) -> Completed[Any]:
    """The run's outcome, which must be its end."""
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed), outcome
    return outcome
