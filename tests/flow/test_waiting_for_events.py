"""`ctx.wait_for`: an event that anybody who may control can send; a question is for somebody who may decide."""

from pathlib import Path
from typing import Any

import pytest

from adjourn import Flow, FlowContext, InterruptClosed, Invalid, InvalidAnswer, NotAllowed, Runtime, testing


def shipping() -> Flow:
    flow = Flow("shipping")

    @flow.chunk
    async def ship(ctx: FlowContext) -> None:
        paid = await ctx.wait_for("paid")
        packed = await ctx.wait_for("packed")
        ctx.state["shipped"] = [ctx.input, paid, packed]

    flow.to(ship)
    return flow


def asking(schema: Any = None) -> Flow:
    flow = Flow("asking")

    @flow.chunk
    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": "pay?"}, resume_event="decided", answer_schema=schema)

    @flow.chunk
    async def keep(ctx: FlowContext) -> None:
        ctx.state["decided"] = ctx.input

    flow.to(ask)
    flow.when("decided").to(keep)
    return flow


@pytest.fixture(params=["memory", "sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/runs.db"


async def test_a_wait_takes_the_event_of_its_name_from_anybody_who_may_control(address: str) -> None:
    async with Runtime(address, [shipping()]) as rt:
        run = await rt.start(shipping(), "A1", by="olga")
        await run.wait(60)
        assert await rt.inbox() == [], "an event is nobody's to decide"
        await run.emit("paid", {"cents": 500}, by="till", decides=False)
        await run.wait(60)
        await run.emit("packed", 2, decides=False)
        outcome = await run.wait(60)
        assert outcome.status == "completed"
        assert outcome.output == {"shipped": ["A1", {"cents": 500}, 2]}


async def test_a_wait_is_not_answered_like_a_question(address: str) -> None:
    async with Runtime(address, [shipping()]) as rt:
        run = await rt.start(shipping(), "A1", run_id="r")
        await run.wait(60)
        [waiting] = (await run.state()).interrupts
        assert (waiting.kind, waiting.type) == ("event", "event")
        with pytest.raises(InvalidAnswer, match="is waiting for an event"):
            await rt.answer(waiting.id, True, by="ana")


async def test_a_wait_that_lasts_too_long_ends_with_an_error() -> None:
    flow = Flow("late")

    @flow.chunk
    async def late(ctx: FlowContext) -> str:
        try:
            return await ctx.wait_for("paid", expires_in=60)
        except InterruptClosed as closed:
            return str(closed)

    flow.to(late)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow)
        assert (await run.wait(60)).status == "waiting"
        await env.skip(61)
        assert (await run.wait(60)).status == "completed"


async def test_an_event_that_answers_a_question_is_somebodys_answer(address: str) -> None:
    async with Runtime(address, [asking(bool)]) as rt:
        run = await rt.start(asking(bool), "A1", run_id="r", by="olga")
        await run.wait(60)
        before = len(await rt.store.load("r"))
        with pytest.raises(NotAllowed, match="only a person who can decide can send it"):
            await run.emit("decided", True, by="olga", decides=False)
        with pytest.raises(Invalid, match="who answers"):
            await run.emit("decided", True)
        with pytest.raises(InvalidAnswer):
            await run.emit("decided", "perhaps", by="ana")
        for who in ("asking", "@expiry"):
            with pytest.raises(NotAllowed, match="cannot decide its own requests"):
                await run.emit("decided", True, by=who)
        assert len(await rt.store.load("r")) == before
        await run.emit("decided", True, by="ana")
        outcome = await run.wait(60)
        assert outcome.output == {"decided": True}
        [line] = [x for x in await run.audit() if x.verb == "emit" and not x.refused]
        assert line.by == "ana"


async def test_two_waits_and_two_runs_each_take_their_own(address: str) -> None:
    async with Runtime(address, [shipping()]) as rt:
        runs = [await rt.start(shipping(), name, run_id=f"order-{name}") for name in ("1", "12")]
        for run in runs:
            await run.wait(60)
        await runs[0].emit("paid", 1)
        await runs[0].wait(60)
        await runs[0].emit("packed", 1)
        assert (await runs[0].wait(60)).output == {"shipped": ["1", 1, 1]}
        assert (await runs[1].wait(60)).status == "waiting"
