"""The flows of these tests that other processes build as well, and small ways to run one."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from adjourn import Execution, Flow, FlowContext, Interrupt
from adjourn.core.records import AnyRecord
from adjourn.flow.flow_program import FlowProgram
from adjourn.testing import FakeClock

Answers = Mapping[str, Any] | Callable[[Interrupt], Any]


def approval() -> Flow:
    """The worked example."""
    flow = Flow("approval")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": f"Approve refund for ticket {ctx.input}?"}, resume_to="next")

    async def commit(ctx: FlowContext) -> None:
        ctx.state["decision"] = ctx.input

    flow.to(ask).to(commit)
    return flow


def gates() -> Flow:
    """Two branches that wait, each under an id of its own, and one that does not."""
    flow = Flow("gates")

    @flow.chunk
    async def legal(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"who": "legal"}, interrupt_id="legal")

    @flow.chunk
    async def finance(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"who": "finance"}, interrupt_id="finance")

    @flow.chunk
    async def price(ctx: FlowContext) -> int:
        return len(ctx.input)

    @flow.chunk
    async def sign(ctx: FlowContext) -> None:
        ctx.state["signed"] = ctx.input

    flow.batch(legal=legal, finance=finance, price=price).to(sign)
    return flow


def deep() -> Flow:
    """`for_each` inside `batch` inside a sub-flow; the innermost chunk pauses."""
    inner = Flow("inner")

    @inner.chunk
    async def review(ctx: FlowContext) -> None:
        ctx.pause_for("review", {"item": ctx.input})

    @inner.chunk
    def stamp(ctx: FlowContext) -> str:
        ctx.state.setdefault("stamped", []).append(ctx.input)
        return f"<{ctx.input}>"

    @inner.chunk(effect="read")
    async def total(ctx: FlowContext) -> int:
        return sum(len(x) for x in ctx.input)

    each = inner.branch().for_each(concurrency=2).to(review).to(stamp).end_for_each()
    inner.batch(("reviewed", each), ("total", total), name="fan")

    outer = Flow("outer")

    @outer.chunk
    async def split(ctx: FlowContext) -> list[str]:
        return ctx.input.split()

    @outer.chunk
    async def keep(ctx: FlowContext) -> None:
        ctx.state["result"] = ctx.input

    outer.to(split).to(inner).to(keep)
    return outer


async def keep(ctx: FlowContext) -> None:
    """A chunk that adds its input to a list in the state."""
    ctx.state.setdefault("kept", []).append(ctx.input)


async def ask(ctx: FlowContext) -> None:
    """A chunk that pauses."""
    ctx.pause_for("q", {"about": ctx.input})


def gate() -> tuple[Flow, asyncio.Event, asyncio.Event]:
    """A flow whose first chunk says when it runs and waits to be let go."""
    flow, inside, go = Flow("gate"), asyncio.Event(), asyncio.Event()

    async def slow(ctx: FlowContext) -> Any:
        inside.set()
        await go.wait()
        return ctx.input

    flow.to(slow).to(keep)
    return flow, inside, go


FLOWS: dict[str, Callable[[], Flow]] = {f.__name__: f for f in (approval, gates, deep)}


def execution(flow: Flow, clock: FakeClock | None = None, **options: Any) -> Execution:
    """An execution, by hand and for ever open unless told otherwise; with a clock, under that clock."""
    options = {"auto_close": False, **options}
    if clock is None:
        return flow.create_execution(**options)
    resources = options.pop("resources", None)
    program = FlowProgram(flow, auto_close=options["auto_close"], timeout=options.get("auto_close_timeout", 10.0))
    return Execution(program, resources, clock=clock, now=clock.now)


async def started(flow: Flow, value: Any = None, **options: Any) -> Execution:
    return await execution(flow, **options).start(value)


async def settled() -> None:
    """Let everything run that can run without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)


def only(execution: Execution) -> str:
    """The id of the one interrupt that is open."""
    [id] = execution.pending_interrupts
    return id


def by_payload(execution: Execution, key: str) -> dict[Any, str]:
    """The ids of the open interrupts by a field of their payload."""
    return {i.payload[key]: id for id, i in execution.pending_interrupts.items()}


def records(execution: Execution, *kinds: type[Any]) -> list[AnyRecord]:
    """Its journal, or only these kinds of records."""
    found = execution.save().records
    return [r for r in found if not kinds or isinstance(r, kinds)]


def reloaded(flow: Flow, execution: Execution, **options: Any) -> Execution:
    """The same execution after a save, by its text, and a load."""
    options = {"auto_close": False, **options}
    return flow.create_execution(**options).load(execution.save().to_json())
