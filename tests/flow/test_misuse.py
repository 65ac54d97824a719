"""What people get wrong at first, and what they are told: what happened, and what to write instead."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.flow.world import approval, only, started

from adjourn import AlreadyDecided, Flow, FlowContext, Invalid, MissingResource, RunFailed


def alone(body: Callable[[Any], Any]) -> Flow:
    flow = Flow("f")
    flow.to(body)
    return flow


async def awaits_an_answer(ctx: Any) -> Any:
    return await ctx.pause_for("q", resume_to="self")


async def awaits_an_event(ctx: Any) -> None:
    await ctx.emit("e")


async def awaits_what_it_publishes(ctx: Any) -> None:
    await ctx.publish("item")


async def payload_first(ctx: Any) -> None:
    ctx.pause_for({"question": "ok?"})


async def type_with_a_nul(ctx: Any) -> None:
    ctx.pause_for("a\0b")


async def event_with_a_nul(ctx: Any) -> None:
    ctx.pause_for("q", resume_event="a\0b")


async def no_such_way(ctx: Any) -> None:
    ctx.pause_for("q", resume_to="nxt")


async def no_such_target(ctx: Any) -> None:
    ctx.pause_for("q", resume_to={"chunk": "x"})


async def two_ways(ctx: Any) -> None:
    ctx.pause_for("q", resume_to="self", resume_event="e")


async def sets_an_attribute(ctx: Any) -> None:
    ctx.state.count = 1


async def undeclared(ctx: Any) -> None:
    ctx.resources["db"].append(1)


TOLD: dict[Callable[[Any], Any], str] = {
    awaits_an_event: "pause_for, emit and publish of the context are plain calls, without await",
    awaits_what_it_publishes: "plain calls, without await",
    payload_first: "the type must be a non-empty string, such as 'approval'.*pass the payload after it",
    type_with_a_nul: "type must be a non-empty string",
    event_with_a_nul: "an event must be a name without '/' and NUL",
    no_such_way: r"resume_to must be 'next', 'self' or \{'event': name\}, got 'nxt'",
    no_such_target: r"resume_to must be 'next', 'self' or \{'event': name\}",
    two_ways: "resume_event= is short for",
    sets_an_attribute: "no attribute 'count'",
    undeclared: r"this chunk needs the resource db; .*declare it with @flow.chunk\(resources=\[…\]\)",
}


@pytest.mark.parametrize("body", TOLD, ids=lambda body: body.__name__)
async def test_a_chunk_that_misuses_its_context_is_told_what_to_write(body: Callable[[Any], Any]) -> None:
    with pytest.raises(RunFailed, match=TOLD[body]):
        await started(alone(body))


async def test_an_answer_that_is_awaited_says_that_pause_for_is_a_plain_call() -> None:
    one = await started(alone(awaits_an_answer))
    with pytest.raises(RunFailed, match="pause_for, emit and publish of the context are plain calls, without await"):
        await one.continue_with(only(one), True)


async def test_awaiting_a_pause_that_ends_the_chunk_does_no_harm() -> None:
    """As in the seed: `return await ctx.pause_for(…)`. It never comes to the await."""

    async def gate(ctx: Any) -> Any:
        if ctx.is_resume:
            return {"decision": ctx.resume.value}
        return await ctx.pause_for("approval", {"question": "Approve?"}, resume_to="self")

    async def commit(ctx: FlowContext) -> None:
        ctx.state["result"] = ctx.input

    flow = Flow("f")
    flow.to(gate).to(commit)
    one = await started(flow)
    await one.continue_with(only(one), "yes")
    assert await one.close() == {"result": {"decision": "yes"}}


async def test_a_resource_that_was_not_passed_may_be_asked_for() -> None:
    async def looks(ctx: FlowContext) -> None:
        ctx.state["found"] = [ctx.resources.get("db"), "db" in ctx.resources, ctx.resources["x"]]

    one = await started(alone(looks), resources={"x": 1})
    assert one.state == {"found": [None, False, 1]}


async def test_resources_are_given_by_name() -> None:
    names: Any = ["db"]
    with pytest.raises(Invalid, match=r"must be the live objects by name, \{name: object\}, got \['db'\]"):
        approval().create_execution(resources=names)


async def test_an_interrupt_is_answered_by_itself_and_something_else_leaves_it_open() -> None:
    one = await started(approval(), "T-1")
    [interrupt] = one.pending_interrupts.values()
    wrong: Any = one.pending_interrupts
    with pytest.raises(Invalid, match="needs the id of an interrupt, a key of pending_interrupts"):
        await one.continue_with(wrong, True)
    await one.continue_with(interrupt, True)
    assert await one.close() == {"decision": True}


async def test_a_second_answer_to_an_answer_without_a_name() -> None:
    one = await started(approval(), "T-1")
    id = only(one)
    await one.continue_with(id, True)
    with pytest.raises(AlreadyDecided, match=f"interrupt {id[:4]}.* was already decided"):
        await one.continue_with(id, False)


async def test_an_execution_says_what_it_is() -> None:
    flow = approval()
    assert repr(flow.create_execution()) == "Execution('approval', run_id='', status='created')"
    one = await started(flow, "T-1")
    assert repr(one) == f"Execution('approval', run_id='{one.run_id}', status='waiting')"


async def test_a_missing_resource_is_of_its_own_kind() -> None:
    with pytest.raises(RunFailed) as failed:
        await started(alone(undeclared))
    assert isinstance(failed.value.__cause__, MissingResource)
    assert failed.value.__cause__.names == ["db"]
