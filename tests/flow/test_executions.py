"""Executions: their life, watching them, and what people do to them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.flow.world import approval, ask, execution, gate, keep, only, records, reloaded, settled, started

from adjourn import (
    Agent,
    Cancelled,
    CheckpointInvalid,
    Execution,
    Flow,
    FlowContext,
    Invalid,
    MissingResource,
    Misused,
    Published,
    Recorded,
    Refused,
    RunFailed,
)
from adjourn.core.records import Claimed, Emitted, RunCancelled, Suspended
from adjourn.testing import FakeClock
from adjourn.testing.scripted import ScriptedModel

# Before the beginning


async def test_what_needs_a_beginning_says_so() -> None:
    one = execution(approval())
    assert one.status == "created"
    assert one.pending_interrupts == {}
    assert one.state == {}
    for verb in (one.save, lambda: one.run_id):
        with pytest.raises(Misused, match="start the execution first"):
            verb()
    verbs: list[Callable[[], Awaitable[Any]]] = [one.close, one.pause, one.resume, one.cancel, lambda: one.emit("x"),
        lambda: one.say("x"), lambda: one.continue_with("x")]  # fmt: skip
    for verb in verbs:
        with pytest.raises(Misused, match="start the execution first"):
            await verb()


async def test_an_execution_begins_once() -> None:
    one = await started(approval(), 1)
    with pytest.raises(Misused, match="already been started"):
        await one.start(1)
    with pytest.raises(Misused, match="load into a new execution"):
        one.load(one.save())


async def test_what_cannot_be_loaded_is_refused() -> None:
    outcome = await Agent("a", model=ScriptedModel("x")).run("hi")
    with pytest.raises(Invalid, match="checkpoint of an agent"):
        execution(approval()).load(outcome.checkpoint)
    with pytest.raises(CheckpointInvalid):
        execution(approval()).load('{"format": "adjourn"}')


async def test_a_finished_execution_loads_as_finished() -> None:
    flow = Flow("f")
    flow.to(keep)
    one = await started(flow, 1)
    await one.close()
    again = reloaded(flow, one)
    assert (again.status, await again.close()) == ("completed", {"kept": [1]})
    with pytest.raises(Refused, match="it is closed"):
        await again.emit("x")


# In the middle


@pytest.mark.parametrize(("effect", "times"), [("read", 2), ("idempotent", 2), ("unsafe", 1)])
async def test_an_execution_that_was_saved_while_a_chunk_ran(effect: Any, times: int) -> None:
    flow, inside, go, ran = Flow("f"), asyncio.Event(), asyncio.Event(), list[str]()

    @flow.chunk(effect=effect)
    async def slow(ctx: FlowContext) -> str:
        ran.append(ctx.idempotency_key)
        inside.set()
        await go.wait()
        return "slow"

    flow.to(slow).to(keep)
    first = execution(flow)
    running = asyncio.create_task(first.start())
    await inside.wait()
    one = reloaded(flow, first)
    go.set()
    await one.resume()
    if effect == "unsafe":
        [doubt] = one.pending_interrupts.values()
        assert doubt.kind == "in_doubt"
        await one.continue_with(doubt.id, {"choice": "happened", "result": "slow"})
    assert await one.close() == {"kept": ["slow"]}
    assert len(ran) == times
    assert len(set(ran)) == 1
    await running


async def test_cancelling_the_task_that_starts_it_puts_what_ran_in_doubt() -> None:
    flow, inside, go = gate()
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert one.status == "ready"
    go.set()
    await one.resume()
    assert [i.kind for i in one.pending_interrupts.values()] == ["in_doubt"]
    await one.continue_with(only(one), "run")
    assert await one.close() == {"kept": [1]}


async def test_answers_arrive_while_something_else_runs() -> None:
    flow, inside, go = gate()
    flow.to(ask).to(keep)
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    await settled()
    answering = asyncio.create_task(one.continue_with(only(one), "early"))
    await settled()
    assert one.state == {"kept": ["early"]}  # its chain has gone on
    assert not answering.done()  # and it returns when every chain has ended or waits
    go.set()
    await asyncio.gather(running, answering)
    assert await one.close() == {"kept": ["early", 1]}


# What people do


async def test_pause_stops_at_the_next_boundary_and_resume_goes_on() -> None:
    flow, inside, go = gate()
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    pausing = asyncio.create_task(one.pause(by="ann", reason="wait"))
    await settled()
    assert one.status == "pausing"
    go.set()
    await pausing
    await running
    assert (one.status, one.state) == ("paused", {})
    one = reloaded(flow, one)
    await one.resume(by="ann")
    assert await one.close() == {"kept": [1]}


async def test_a_note_is_read_by_the_chunks_that_start_after_it() -> None:
    flow, inside, go = gate()

    async def read(ctx: FlowContext) -> None:
        ctx.state["notes"] = ctx.notes

    flow.when("read").to(read)
    one = execution(flow)
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    saying = asyncio.create_task(one.say("be kind", by="ann"))
    await settled()
    go.set()
    await asyncio.gather(running, saying)
    await one.pause()
    await one.resume("and brief")
    await one.emit("read")
    assert await one.close() == {"kept": [1], "notes": ["be kind", "and brief"]}
    with pytest.raises(Invalid, match="non-empty string"):
        await one.say("")


async def test_cancel_undoes_in_reverse_and_says_what_stays() -> None:
    undone: list[Any] = []
    flow = Flow("f")

    def undo(ctx: FlowContext, args: Any, result: Any) -> None:
        undone.append((args, result, ctx.idempotency_key != ""))

    @flow.chunk(undo=undo)
    async def book(ctx: FlowContext) -> int:
        return ctx.input + 1

    @flow.chunk(effect="idempotent")
    async def mail(ctx: FlowContext) -> int:
        return ctx.input

    @flow.chunk(effect="read")
    async def look(ctx: FlowContext) -> int:
        return ctx.input

    flow.to(book).to(look).to(mail).to(book).to(ask)
    one = await started(flow, 1)
    outcome = await one.cancel(by="ann", reason="enough")
    assert isinstance(outcome, Cancelled)
    assert undone == [(2, 3, True), (1, 2, True)]
    assert outcome.undone == ["book#1", "book#0"]
    assert [(r["tool"], r["why"]) for r in outcome.residue] == [("mail", "it has no undo"), ("ask", "it has no undo")]
    assert one.status == "cancelled"
    assert len(records(one, RunCancelled)) == 1
    assert isinstance(await one.cancel(), Cancelled)


async def test_cancel_compensates_what_a_chunk_has_registered() -> None:
    undone: list[str] = []
    flow = Flow("f")

    async def lock(ctx: FlowContext) -> None:
        await ctx.on_cancel(undone.append, "door")
        await ctx.on_cancel(undone.append, "window")
        ctx.pause_for("q", resume_to="self")

    flow.to(lock)
    one = await started(flow)
    await one.cancel()
    assert (one.status, undone) == ("cancelled", ["window", "door"])


async def test_cancel_of_a_chunk_in_a_sub_flow_uses_the_sub_flows_undo() -> None:
    undone: list[str] = []

    def child(name: str) -> Flow:
        flow = Flow(name)

        @flow.chunk(undo=lambda ctx, args, result: undone.append(f"{name} {result}"))
        async def book(ctx: FlowContext) -> str:
            return f"booked by {name}"

        flow.to(book)
        return flow

    flow = Flow("f")
    flow.to(child("one")).to(child("two")).to(ask)
    one = await started(flow)
    await one.cancel()
    assert undone == ["two booked by two", "one booked by one"]


# Resources


def bank() -> Flow:
    child, flow = Flow("child"), Flow("f", resources=["clerk"])

    @child.chunk(resources=["bank"])
    async def pay(ctx: FlowContext) -> str:
        return ctx.resources["bank"].pay(ctx.input)

    child.to(pay)
    flow.to(ask).to(child).to(keep)
    return flow


class Bank:
    def pay(self, what: Any) -> str:
        return f"paid {what}"


async def test_resources_are_declared_by_name_injected_again_and_checked_before_an_answer_is_consumed() -> None:
    flow = bank()
    resources: dict[str, Any] = {"bank": Bank(), "clerk": object()}
    with pytest.raises(MissingResource, match="flow f needs the resources bank, clerk"):
        await started(flow, 1)
    saved = (await started(flow, 1, resources=resources)).save().to_json()

    blind = execution(flow, resources={"clerk": object()}).load(saved)
    assert blind.missing_resources == {"bank"}
    seq = blind.save().seq
    for verb in (lambda: blind.continue_with(only(blind), "x"), lambda: blind.emit("x"), blind.resume):
        with pytest.raises(MissingResource, match="needs the resource bank"):
            await verb()
    assert blind.save().seq == seq

    one = execution(flow, resources=resources).load(saved)
    assert one.missing_resources == set()
    await one.continue_with(only(one), "x")
    assert await one.close() == {"kept": ["paid x"]}


# Watching


async def test_stream_gives_what_chunks_publish_interrupts_and_progress_until_it_is_closed() -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> None:
        ctx.publish({"step": 1})
        ctx.pause_for("q", {"question": "go on?"})

    def threaded(ctx: FlowContext) -> None:
        ctx.publish(f"got {ctx.input}")

    flow.to(work).to(threaded)
    one = execution(flow)
    seen: list[Any] = []

    async def watch() -> None:
        async for event in one.stream():
            if isinstance(event, Published):
                seen.append(event.item)
            elif isinstance(event, Recorded) and isinstance(event.record, Suspended):
                seen.append(event.record.payload)
            elif event.type in ("started", "decided", "returned", "completed"):
                seen.append(event.type)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await one.start()
    await one.continue_with(only(one), "yes")
    await one.close()
    await watching
    assert seen == [
        "started", {"step": 1}, {"question": "go on?"}, "decided", "got yes", "returned", "completed",
    ]  # fmt: skip


async def test_leaving_a_stream_stops_nothing() -> None:
    flow = Flow("f")
    flow.to(keep).to(keep)
    one = await started(flow, 1)
    async for _ in one.stream():
        break
    assert await one.close() == {"kept": [1, None]}
    assert [event.type async for event in one.stream()][-1] == "completed"


async def test_the_end_is_on_record() -> None:
    flow = Flow("f")
    flow.to(keep)
    one = await started(flow, 1)
    await one.close()
    [emitted] = records(one, Emitted)
    assert isinstance(emitted, Emitted)
    assert emitted.event == "@close"
    assert len(records(one, Claimed)) == 2


async def test_a_failure_while_nobody_waits_is_seen_later(clock: FakeClock) -> None:
    flow = Flow("f")

    async def nap(ctx: FlowContext) -> None:
        await ctx.sleep(60)
        raise ValueError("while nobody waited")

    flow.to(nap)
    one: Execution = await execution(flow, clock).start()
    clock.advance(60)
    await settled()
    assert one.status == "failed"
    with pytest.raises(RunFailed, match="while nobody waited"):
        await one.close()
