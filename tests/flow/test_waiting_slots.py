"""Waiting holds no place: an element of `for_each` that waits lends its place to the next one."""

from typing import Any

import pytest

from adjourn.flow.flow import Flow
from adjourn.flow.flow_context import FlowContext


class Office:
    """Documents, some of which need somebody; how many bodies are at work, and how many have been at most."""

    def __init__(self, concurrency: int, how: str) -> None:
        self.how, self.busy, self.most = how, 0, 0
        self.begun: list[int] = []
        self.flow = flow = Flow("office")

        @flow.chunk
        async def documents(ctx: FlowContext) -> list[int]:
            return list(range(ctx.input))

        @flow.chunk
        async def review(ctx: FlowContext) -> Any:
            self.begun.append(ctx.input)
            self.busy += 1
            self.most = max(self.most, self.busy)
            self.busy -= 1
            if ctx.input % 3 == 0:
                self.wait(ctx)
            return ctx.input

        flow.to(documents).for_each(concurrency=concurrency).to(review).end_for_each()

    def wait(self, ctx: FlowContext) -> None:
        ctx.pause_for("review", {"document": ctx.input}, resume_to="next")


@pytest.mark.parametrize("concurrency", [1, 2, 5])
async def test_elements_that_wait_for_people_do_not_stop_the_others(concurrency: int) -> None:
    office = Office(concurrency, "person")
    execution = office.flow.create_execution(auto_close=False)
    await execution.start(12)
    assert office.begun == list(range(12)), "all others were done while four wait"
    assert len(execution.pending_interrupts) == 4
    for n, id in enumerate(list(execution.pending_interrupts)):
        await execution.continue_with(id, f"seen {n}", by="ana")
    assert not execution.pending_interrupts
    assert office.begun == list(range(12)), "an element that comes back begins no other"


async def test_when_all_wait_all_have_begun() -> None:
    flow = Flow("all")

    @flow.chunk
    async def many(ctx: FlowContext) -> list[int]:
        return [1, 2, 3, 4]

    @flow.chunk
    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("question", ctx.input, resume_to="next")

    flow.to(many).for_each(concurrency=1).to(ask).end_for_each()
    execution = flow.create_execution(auto_close=False)
    await execution.start(None)
    assert len(execution.pending_interrupts) == 4


async def test_an_element_around_what_waits_lends_its_place_too() -> None:
    """A `for_each` inside a `for_each`: the outer element waits as well."""
    flow = Flow("nested")
    begun: list[Any] = []

    @flow.chunk
    async def rows(ctx: FlowContext) -> list[list[int]]:
        return [[1, 2], [3], [4]]

    @flow.chunk
    async def ask(ctx: FlowContext) -> None:
        begun.append(ctx.input)
        ctx.pause_for("question", ctx.input, resume_to="next")

    chain = flow.to(rows).for_each(concurrency=1, name="outer").for_each(concurrency=1, name="inner").to(ask)
    chain.end_for_each().end_for_each()
    execution = flow.create_execution(auto_close=False)
    await execution.start(None)
    assert sorted(begun) == [1, 2, 3, 4]
