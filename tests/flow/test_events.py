"""Events: from chunks, from chains, from outside; what they begin and what they resolve, each exactly once."""

import asyncio
from typing import Any

import pytest
from tests.flow.world import execution, only, records, reloaded, started

from adjourn import Flow, FlowContext, InterruptClosed, InvalidDefinition
from adjourn.core.records import Returned, Suspended


async def keep(ctx: FlowContext) -> None:
    ctx.state.setdefault("kept", []).append(ctx.input)


async def double(ctx: FlowContext) -> Any:
    return ctx.input * 2


def emitting(event: str, value: Any = None) -> Any:
    async def emit(ctx: FlowContext) -> Any:
        ctx.emit(event, value)
        return ctx.input

    emit.__name__ = f"emit_{event}"
    return emit


def waiting(event: str) -> Any:
    async def wait(ctx: FlowContext) -> None:
        ctx.pause_for("wait", {"for": event}, resume_event=event)

    wait.__name__ = f"wait_{event}"
    return wait


async def test_a_chunks_event_begins_the_chains_that_wait_for_it() -> None:
    flow = Flow("f")
    flow.to(emitting("e", 5)).to(keep)
    flow.when("e").to(double).to(keep)
    flow.when("e").to(keep)
    assert sorted((await flow.start(1))["kept"]) == [1, 5, 10]


async def test_a_chain_emits_the_value_that_passes() -> None:
    flow = Flow("f")
    flow.to(double).emit("e").to(double).to(keep)
    flow.when("e").to(keep)
    assert sorted((await flow.start(1))["kept"]) == [2, 4]


async def test_any_of_several_begins_a_chain_each_time() -> None:
    flow = Flow("f")
    flow.to(emitting("a", "A")).to(emitting("b", "B"))
    flow.when("a", "b").to(keep)
    assert sorted((await flow.start())["kept"]) == ["A", "B"]


async def test_all_of_several_begins_a_chain_once_for_every_set() -> None:
    flow = Flow("f")
    flow.when(all=["a", "b"]).to(keep)
    one = await started(flow)
    for event, value in [("a", 1), ("a", 2), ("b", 10)]:
        await one.emit(event, value)
    assert one.state == {"kept": [{"a": 1, "b": 10}]}
    one = reloaded(flow, one)
    await one.emit("b", 20)
    assert await one.close() == {"kept": [{"a": 1, "b": 10}, {"a": 2, "b": 20}]}


async def test_an_event_nobody_listens_to_changes_nothing() -> None:
    flow = Flow("f")
    flow.to(emitting("rain")).to(keep)
    one = await started(flow, 1)
    await one.emit("snow", {"cm": 3})
    assert await one.close() == {"kept": [1]}


async def test_an_event_takes_effect_with_the_result_or_not_at_all() -> None:
    flow = Flow("f")
    attempts = 0

    async def fragile(ctx: FlowContext) -> None:
        nonlocal attempts
        attempts += 1
        ctx.emit("e", attempts)
        if attempts == 1:
            raise ValueError("first time")

    flow.to(fragile)
    flow.when("e").to(keep)
    one = execution(flow)
    with pytest.raises(Exception, match="first time"):
        await one.start()
    assert one.state == {}
    await one.resume()
    assert await one.close() == {"kept": [2]}


async def test_an_event_from_outside_begins_chains_and_resolves_what_waits_once() -> None:
    flow = Flow("f")
    flow.to(waiting("paid")).to(double)
    flow.when("paid").to(keep)
    one = await started(flow)
    id = only(one)
    await one.emit("paid", 5, by="till")
    assert one.pending_interrupts == {}
    with pytest.raises(InterruptClosed, match="the event it was waiting for arrived"):
        await one.continue_with(id, 6)
    assert await one.close() == {"kept": [5]}


async def test_an_answer_is_the_event_and_begins_its_chains_once() -> None:
    flow = Flow("f")
    flow.to(waiting("paid")).to(double)
    flow.when("paid").to(keep)
    flow.when("paid", "other").to(keep)
    one = await started(flow)
    await one.continue_with(only(one), 5)
    assert await one.close() == {"kept": [5, 5]}


async def test_a_chunks_event_resolves_what_waits_for_it() -> None:
    flow = Flow("f")
    flow.batch(("wait", waiting("go")), ("emit", flow.branch().to(double).to(emitting("go", "now")))).to(keep)
    flow.when("go").to(keep)
    one = await started(flow, 1)
    assert one.pending_interrupts == {}
    assert sorted((await one.close())["kept"], key=str) == ["now", {"wait": None, "emit": 2}]


async def test_one_event_resolves_all_that_wait_for_it_and_one_answer_only_its_own() -> None:
    flow = Flow("f")
    flow.for_each().to(waiting("go")).end_for_each().to(keep)
    flow.when("go").to(keep)
    one = await started(flow, [1, 2, 3])
    first = next(iter(one.pending_interrupts))
    await one.continue_with(first, "mine")
    assert len(one.pending_interrupts) == 2
    assert one.state == {"kept": ["mine"]}
    one = reloaded(flow, one)
    await one.emit("go", "all")
    assert await one.close() == {"kept": ["mine", "all", [None, None, None]]}


async def test_an_event_emitted_before_the_pause_does_not_answer_it() -> None:
    flow = Flow("f")

    async def both(ctx: FlowContext) -> None:
        ctx.emit("e", 1)
        ctx.pause_for("q", resume_event="e")

    flow.to(both)
    flow.when("e").to(keep)
    one = await started(flow)
    assert len(one.pending_interrupts) == 1
    assert one.state == {"kept": [1]}
    await one.continue_with(only(one), 2)
    assert await one.close() == {"kept": [1, 2]}


async def test_a_chain_that_waits_for_an_event_ends_there_also_inside_a_choice() -> None:
    flow = Flow("f")
    flow.if_(lambda ctx: True).to(waiting("e")).to(keep).end_if().to(keep)
    flow.when("e").to(double).to(keep)
    one = await started(flow, 1)
    await one.continue_with(only(one), 4)
    assert await one.close() == {"kept": [8]}


async def test_handlers_may_pause_and_emit_themselves() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", {"event": ctx.input})

    flow.when("e").to(ask).emit("answered")
    flow.when("answered").to(keep)
    one = await started(flow)
    await one.emit("e", 1)
    await one.emit("e", 2)
    first, second = one.pending_interrupts
    one = reloaded(flow, one)
    await one.continue_with(second, "b")
    await one.continue_with(first, "a")
    assert await one.close() == {"kept": ["b", "a"]}


async def test_a_loop_by_events() -> None:
    flow = Flow("f")

    async def count(ctx: FlowContext) -> None:
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        if ctx.state["n"] < 10:
            ctx.emit("again")

    flow.to(count)
    flow.when("again").to(count)
    assert await flow.start() == {"n": 10}


# Sub-flows


def child() -> Flow:
    """Waits for `go`; what comes with it goes to the child's own state and on."""
    flow = Flow("child")

    async def note(ctx: FlowContext) -> None:
        ctx.state["note"] = ctx.input
        ctx.emit("noted", ctx.state["note"])

    flow.to(waiting("go"))
    flow.when("go").to(note)
    return flow


async def test_a_sub_flows_events_are_its_own() -> None:
    inside = Flow("inside")
    inside.to(emitting("e", "inner"))
    inside.when("e").to(keep)
    flow = Flow("f")
    flow.to(inside).to(emitting("e", "outer"))
    flow.when("e").to(keep)
    one = await started(flow, 1)
    assert await one.close() == {"kept": ["outer"]}
    emits = [r.emits for r in records(one, Returned) if isinstance(r, Returned) and r.emits]
    assert emits == [[["inside#0/e", "inner"]], [["e", "outer"]]]


async def test_one_sub_flows_event_does_not_answer_its_twin() -> None:
    inside = Flow("inside")

    async def second(ctx: FlowContext) -> None:
        if ctx.input == 2:
            ctx.emit("go", "two")

    inside.to(waiting("go"))
    inside.to(second)
    flow = Flow("f")
    flow.for_each().to(inside).end_for_each().to(keep)
    one = await started(flow, [1, 2])
    [left] = one.pending_interrupts.values()
    assert left.path == "each#0[0]/inside#0"
    record = records(one, Suspended)[0]
    assert isinstance(record, Suspended)
    assert record.event == "each#0[0]/inside#0/go"
    await one.continue_with(left.id, "one")
    assert await one.close() == {"kept": [[None, None]]}


@pytest.mark.parametrize("how", ["answer", "event"])
async def test_an_event_from_outside_reaches_the_sub_flows_that_run(how: str) -> None:
    flow = Flow("f")
    flow.to(child()).to(keep)
    one = reloaded(flow, await started(flow))
    id = only(one)
    await (one.continue_with(id, 1) if how == "answer" else one.emit("go", 1))
    assert await one.close() == {"kept": [None]}
    notes = [r for r in records(one, Returned) if isinstance(r, Returned) and r.changes]
    assert [r.changes for r in notes] == [
        [["set", ["note"], 1]],
        [["default", ["kept"], []], ["add", ["kept"], [None]]],
    ]


@pytest.mark.parametrize("wrong", ["", "@close", "a/b", 7])
async def test_an_event_has_a_name(wrong: Any) -> None:
    flow = Flow("f")

    async def emit(ctx: FlowContext) -> None:
        with pytest.raises(InvalidDefinition, match="an event must be a name"):
            ctx.emit(wrong)

    flow.to(emit)
    one = await started(flow)
    with pytest.raises(InvalidDefinition, match="an event must be a name"):
        await one.emit(wrong)
    assert one.status == "waiting"


async def test_an_event_that_arrives_while_a_chunk_ends_begins_its_chain_once_in_the_order_of_the_journal() -> None:
    """The worker has folded a result of its own when it learns of the event: it reads the journal as it was written."""
    flow = Flow("f")
    inside, go = asyncio.Event(), asyncio.Event()

    async def slow(ctx: FlowContext) -> None:
        inside.set()
        await go.wait()
        ctx.emit("e", "chunk")

    flow.to(slow)
    flow.when("e").to(keep)
    one = execution(flow)
    running = asyncio.create_task(one.start())
    await inside.wait()
    go.set()
    await one.emit("e", "outside")
    await running
    state = await one.close()
    assert sorted(state["kept"]) == ["chunk", "outside"]
    assert execution(flow).load(one.save().to_json()).state == state
