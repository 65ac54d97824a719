"""Closing: by itself after a while in which nothing waits, and by hand."""

import asyncio

import pytest
from tests.flow.world import approval, ask, execution, gate, keep, only, records, settled, started

from adjourn import (
    Agent,
    Flow,
    FlowContext,
    Invalid,
    Refused,
)
from adjourn.core.records import RunCompleted
from adjourn.testing import FakeClock
from adjourn.testing.scripted import ScriptedModel

# Closing by itself


async def test_an_idle_execution_closes_by_itself_after_its_timeout(clock: FakeClock) -> None:
    flow = Flow("f")
    flow.to(keep)
    one = await execution(flow, clock, auto_close=True).start(1)
    assert one.status == "waiting"
    clock.advance(9.9)
    await settled()
    assert one.status == "waiting"
    clock.advance(0.2)
    await settled()
    assert (one.status, await one.close()) == ("completed", {"kept": [1]})


async def test_the_timer_stops_while_an_interrupt_is_open_and_starts_from_zero_after_the_last(clock: FakeClock) -> None:
    flow = Flow("f")
    flow.for_each().to(ask).end_for_each()
    one = await execution(flow, clock, auto_close=True).start([1, 2])
    first, second = one.pending_interrupts
    clock.advance(3600)
    await settled()
    await one.continue_with(first, "x")
    clock.advance(3600)
    await settled()
    assert one.status == "waiting"
    await one.continue_with(second, "y")
    clock.advance(9)
    await settled()
    assert one.status == "waiting"
    clock.advance(2)
    await settled()
    assert one.status == "completed"


async def test_the_timer_starts_from_zero_also_after_an_interrupt_that_expired(clock: FakeClock) -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", expires_in=60)

    flow.to(ask)
    one = await execution(flow, clock, auto_close=True).start()
    clock.advance(60)
    await settled()
    assert (one.status, one.pending_interrupts) == ("waiting", {})
    clock.advance(9)
    await settled()
    assert one.status == "waiting"
    clock.advance(2)
    await settled()
    assert one.status == "completed"


async def test_an_event_starts_the_timer_anew(clock: FakeClock) -> None:
    flow = Flow("f")
    flow.when("e").to(keep)
    one = await execution(flow, clock, auto_close=True, auto_close_timeout=5).start()
    for n in range(4):
        clock.advance(4)
        await settled()
        await one.emit("e", n)
    clock.advance(6)
    await settled()
    assert (one.status, one.state) == ("completed", {"kept": [0, 1, 2, 3]})


async def test_without_a_timeout_it_never_closes_by_itself(clock: FakeClock) -> None:
    flow = Flow("f")
    flow.to(keep)
    one = await execution(flow, clock, auto_close=True, auto_close_timeout=None).start(1)
    clock.advance(1e9)
    await settled()
    assert one.status == "waiting"
    assert await one.close() == {"kept": [1]}


async def test_auto_close_with_a_pause_never_deadlocks() -> None:
    flow = approval()
    one = flow.create_execution(auto_close=True, auto_close_timeout=0.0)
    async with asyncio.timeout(10):
        await one.start("T-1")
        assert one.status == "waiting"
        await one.continue_with(only(one), "yes")
        assert (one.status, await one.close()) == ("completed", {"decision": "yes"})


@pytest.mark.parametrize("first", ["start", "stream"])
async def test_answering_in_the_loop_over_its_own_stream_never_deadlocks(first: str) -> None:
    flow = Flow("f")
    flow.for_each(concurrency=1).to(ask).end_for_each().to(keep)
    one = flow.create_execution(auto_close=True, auto_close_timeout=0.0)

    async def answers() -> None:
        async for _ in one.stream():
            for id, interrupt in one.pending_interrupts.items():
                await one.continue_with(id, interrupt.payload["about"] * 10)

    async with asyncio.timeout(10):
        if first == "start":
            await one.start([1, 2, 3])
            await answers()
        else:
            watching = asyncio.create_task(answers())
            await asyncio.sleep(0)
            await one.start([1, 2, 3])
            await watching
    assert (one.status, one.state) == ("completed", {"kept": [[10, 20, 30]]})


async def test_a_person_who_pauses_stops_the_timer_too(clock: FakeClock) -> None:
    flow = Flow("f")
    flow.to(keep)
    one = await execution(flow, clock, auto_close=True).start(1)
    await one.pause(by="ann")
    clock.advance(3600)
    await settled()
    assert one.status == "paused"
    await one.resume()
    clock.advance(9)
    await settled()
    assert one.status == "waiting"
    clock.advance(2)
    await settled()
    assert one.status == "completed"


async def test_a_loaded_execution_goes_by_its_own_options(clock: FakeClock) -> None:
    flow = approval()
    saved = (await execution(flow, clock, auto_close=True).start("T-1")).save().to_json()
    one = execution(flow, clock, auto_close=False).load(saved)
    await one.continue_with(only(one), "yes")
    clock.advance(3600)
    await settled()
    assert one.status == "waiting"
    other = execution(flow, clock, auto_close=True, auto_close_timeout=1).load(saved)
    await other.continue_with(only(other), "yes")
    clock.advance(2)
    await settled()
    assert other.status == "completed"


# Closing by hand


async def test_close_waits_for_what_runs_and_everything_after_it() -> None:
    flow, inside, go = gate()
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    closing = asyncio.create_task(one.close())
    await settled()
    assert (one.status, closing.done()) == ("running", False)
    go.set()
    assert await closing == {"kept": [1]}
    await running


async def test_close_gives_up_after_a_timeout_and_the_execution_goes_on() -> None:
    flow, inside, go = gate()
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    with pytest.raises(TimeoutError):
        await one.close(timeout=0)
    assert one.status == "running"
    go.set()
    await running
    assert await one.close() == {"kept": [1]}


async def test_close_says_so_if_something_pauses_meanwhile() -> None:
    flow, inside, go = gate()
    flow.when("x").to(keep)
    flow.to(ask)
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    go.set()
    with pytest.raises(Refused, match="answer its interrupts"):
        await one.close()
    await running
    await one.continue_with(only(one), 1)
    assert await one.close() == {"kept": [1]}


async def test_close_with_cancel_starts_nothing_new_and_keeps_what_was_done() -> None:
    flow, inside, go = gate()
    flow.to(ask).to(keep)
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    closing = asyncio.create_task(one.close(pending_interrupts="cancel"))
    await settled()
    go.set()
    assert await closing == {}
    await running
    assert (one.status, one.pending_interrupts) == ("completed", {})


async def test_close_of_a_paused_execution_is_refused() -> None:
    one = await started(approval(), 1)
    await one.pause()
    with pytest.raises(Refused, match="resume it first"):
        await one.close()
    with pytest.raises(Refused, match="resume it first"):
        await one.close(pending_interrupts="cancel")


async def test_close_takes_one_of_two_policies() -> None:
    one = await started(approval(), 1)
    with pytest.raises(Invalid, match="'error' or 'cancel'"):
        await one.close(pending_interrupts="drop")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


async def test_closing_twice_is_the_same_as_once() -> None:
    flow = Flow("f")
    flow.to(keep)
    one = await started(flow, 1)
    assert await one.close() == await one.close() == {"kept": [1]}
    assert len(records(one, RunCompleted)) == 1


async def test_close_with_cancel_ends_an_agent_that_waits_for_approval() -> None:
    from adjourn import tool
    from adjourn.testing.scripted import call

    @tool(policy="ask")
    async def pay() -> str:
        """Pay."""
        return "paid"

    flow = Flow("f")
    flow.to(Agent("payer", model=ScriptedModel([call("pay")], "done"), tools=[pay]))
    flow.to(keep)
    one = await started(flow, "x")
    assert [i.kind for i in one.pending_interrupts.values()] == ["approval"]
    assert await one.close(pending_interrupts="cancel") == {"kept": ["x"]}
