"""What a fork has of its origin: what is inherited as done, and what may run a second time."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from adjourn import Agent, Cancelled, Completed, Paused, Policy, Run, Runtime, ToolContext, ask, tool
from adjourn.core.records import AnyRecord, Asked
from adjourn.testing.scripted import ScriptedModel, call
from adjourn.views.fork_preview import OriginCall, fork_preview
from adjourn.views.words import RepeatState

LIMIT = 30.0


async def leave(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Give the room back."""


@tool(effect="idempotent", undo=leave)
async def book(room: str) -> str:
    """Book a room."""
    return room


@tool(effect="unsafe")
async def refund(cents: int) -> int:
    """Pay money back."""
    return cents


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "seen"


desk = Agent(
    "desk",
    model=ScriptedModel([call("look")], [call("book", room="12")], [call("refund", cents=48250)], "done"),
    tools=[look, book, refund],
    policy=Policy([ask("refund")], default="allow"),
)


@pytest.fixture
async def rt() -> AsyncIterator[Runtime]:
    async with Runtime("memory://", [desk]) as runtime:
        yield runtime


async def waiting(rt: Runtime) -> Run[Any]:
    run = await rt.start(desk, "go")
    assert isinstance(await run.wait(LIMIT), Paused)
    return run


async def journal(rt: Runtime, run: Run[Any]) -> list[AnyRecord]:
    return [record for _, record in await rt.store.load(run.id)]


def told(calls: tuple[OriginCall, ...]) -> list[tuple[str, Any, str]]:
    return [(one.tool, one.arguments, one.left) for one in calls]


async def test_what_was_done_before_the_cut_is_inherited_and_what_waits_there_may_be_done_twice(rt: Runtime) -> None:
    run = await waiting(rt)
    found = fork_preview(await journal(rt, run))
    assert found.run_id == run.id and found.at_seq == found.wanted and found.why == ""
    assert told(found.inherited) == [("book", {"room": "12"}, RepeatState.NOT_UNDONE)]
    assert told(found.later) == [("refund", {"cents": 48250}, RepeatState.ASKED)]


async def test_what_the_origin_ran_after_the_cut_may_be_done_a_second_time(rt: Runtime) -> None:
    run = await waiting(rt)
    records = await journal(rt, run)
    cut = next(seq for seq, record in enumerate(records, 1) if isinstance(record, Asked))
    [item] = await rt.inbox(run=run.id)
    await rt.approve(item, by="ana", edit={"cents": 39900})
    assert isinstance(await run.wait(LIMIT), Completed)
    found = fork_preview(await journal(rt, run), cut)
    assert told(found.inherited) == [("book", {"room": "12"}, RepeatState.NOT_UNDONE)]
    assert told(found.later) == [("refund", {"cents": 39900}, RepeatState.FINAL)]
    assert found.later[0].by == ("ana",) and found.later[0].at > 0


async def test_a_record_inside_of_a_call_is_moved_to_the_boundary_before_it(rt: Runtime) -> None:
    run = await waiting(rt)
    [item] = await rt.inbox(run=run.id)
    await rt.approve(item, by="ana")
    assert isinstance(await run.wait(LIMIT), Completed)
    records = await journal(rt, run)
    found = fork_preview(records, len(records))
    assert found.at_seq < found.wanted == len(records) and found.why == "busy"


async def test_what_was_undone_since_is_inherited_as_done_and_said_to_be_undone(rt: Runtime) -> None:
    run = await waiting(rt)
    cut = fork_preview(await journal(rt, run)).at_seq
    await run.cancel(by="ana")
    assert isinstance(await run.wait(LIMIT), Cancelled)
    found = fork_preview(await journal(rt, run), cut)
    assert told(found.inherited) == [("book", {"room": "12"}, RepeatState.UNDONE)]
    assert told(found.later) == []
