"""A thousand elements, ten at a time: what one costs does not depend on how many came before it."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from tests.flow.world import started

from adjourn import Flow, FlowContext, Runtime
from adjourn.core.flow_fold import FlowFold
from adjourn.core.plan import plan
from adjourn.driver import loop
from adjourn.stores.memory import MemoryStore

ELEMENTS, WIDTH = 1_000, 10
EARLY, LATE = range(100, 200), range(850, 950)


class Meter:
    """Counts calls of functions, Python's and C's, between one element and the next."""

    def __init__(self) -> None:
        self.calls = 0
        self.at: dict[int, int] = {}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event in ("call", "c_call"):
            self.calls += 1

    def passed(self, n: int) -> None:
        self.at[n] = self.calls

    def per_element(self, which: range) -> float:
        return (self.at[which[-1]] - self.at[which[0]]) / (len(which) - 1)


def flow(meter: Meter, effect: Any) -> Flow:
    flow = Flow("thousand")

    @flow.chunk(effect=effect)
    async def element(ctx: FlowContext) -> int:
        meter.passed(ctx.input)
        return ctx.input * 2

    @flow.chunk(effect=effect)
    async def keep(ctx: FlowContext) -> int:
        ctx.state["last"] = ctx.input
        ctx.emit("done", ctx.input)
        return ctx.input

    @flow.chunk(effect="read")
    async def heard(ctx: FlowContext) -> None: ...

    flow.for_each(concurrency=WIDTH).to(element).if_(lambda ctx: ctx.input % 4 == 0).to(keep).end_if().end_for_each()
    flow.when("done").to(heard)
    return flow


async def metered(effect: Any, run: Callable[[Flow], Any]) -> Meter:
    meter = Meter()
    made = flow(meter, effect)
    gc.collect()
    gc.disable()  # a collection runs the finalizers of whatever earlier tests left behind
    sys.setprofile(meter)
    try:
        await run(made)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert len(meter.at) == ELEMENTS
    return meter


@pytest.mark.unwatched
@pytest.mark.parametrize("effect", ["read", "unsafe"])
async def test_an_element_of_an_execution_costs_the_same_after_a_thousand(effect: Any) -> None:
    meter = await metered(effect, lambda flow: started(flow, list(range(ELEMENTS))))
    assert meter.per_element(LATE) <= 1.1 * meter.per_element(EARLY)


@pytest.mark.unwatched
async def test_an_element_of_a_run_costs_the_same_after_a_thousand() -> None:
    async def run(flow: Flow) -> None:
        async with Runtime(MemoryStore(), [flow]) as rt:
            await (await rt.start(flow, list(range(ELEMENTS)))).wait(60)

    meter = await metered("unsafe", run)
    assert meter.per_element(LATE) <= 1.1 * meter.per_element(EARLY)


@pytest.mark.unwatched
async def test_planning_and_routing_look_at_what_changed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of what a plan walks through: what is live, owed, open and faulted, at each plan."""
    sizes: list[tuple[int, ...]] = []

    def counted(state: Any, *args: Any) -> Any:
        flow: FlowFold = state.flow
        sizes.append(
            (len(state.live), len(state.owed), len(state.open), len(state.faults), len(flow.tokens), len(flow.scopes))
        )
        return plan(state, *args)

    monkeypatch.setattr(loop, "plan", counted)
    await started(flow(Meter(), "unsafe"), list(range(ELEMENTS)))
    most = [max(column) for column in zip(*sizes, strict=True)]
    assert most[0] <= 2 * WIDTH
    assert most[1] <= 2 * WIDTH
    assert most[2:4] == [0, 0]
    assert most[4] <= 2 * WIDTH
    assert most[5] == 1


@pytest.mark.unwatched
async def test_an_answer_costs_the_same_after_a_thousand_answers() -> None:
    """Ten wait at a time; each answer lets one more begin."""
    flow, meter = Flow("answers"), Meter()

    @flow.chunk(effect="read")
    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", {"n": ctx.input})

    flow.for_each(concurrency=WIDTH).to(ask).end_for_each()
    one = await started(flow, list(range(ELEMENTS)))
    sys.setprofile(meter)
    try:
        for n in range(ELEMENTS):
            meter.passed(n)
            await one.continue_with(next(iter(one.pending_interrupts)), n)
    finally:
        sys.setprofile(None)
    assert meter.per_element(LATE) <= 1.1 * meter.per_element(EARLY)
