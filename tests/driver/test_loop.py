"""The loop by itself: what a step costs, how it hands a run back, and what it does when it is no longer the owner."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from adjourn import Agent, LeaseLost, StoreError, ToolContext, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta
from adjourn.core.records import (
    Broke,
    Claimed,
    Doubted,
    Fact,
    Intended,
    Move,
    Returned,
    Said,
    Started,
    Stepped,
)
from adjourn.core.state import State
from adjourn.driver.loop import Drive
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease
from adjourn.testing import FakeClock, ScriptedModel, call

RUN = "R"


class Counted(MemoryStore):
    """A store that counts what it is asked, and can fail."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(now=clock.now)
        self.commits: list[tuple[list[str], list[str]]] = []
        self.fail: Exception | None = None

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        if self.fail:
            raise self.fail
        self.commits.append(([type(f).__name__ for f in facts], [type(m).__name__ for m in moves]))
        return await super().commit(lease, facts, moves, seen=seen)


class Rig:
    """One run on one store, with as many workers as a test needs."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.clock = agent, FakeClock()
        self.store = Counted(self.clock)

    async def create(self) -> None:
        started = Started(
            run=RUN, kind="agent", program=self.agent.name, fingerprint=self.agent.fingerprint, input="go"
        )
        await self.store.create(started)

    async def drive(self, worker: str = "w1", replaces: str = "", ttl: float = 60.0) -> Drive:
        lease = await self.store.acquire(RUN, worker, ttl, replaces=replaces)
        assert lease is not None
        state = State().fold_all(lease.records)
        return Drive(self.store, self.agent.program, lease, state, ttl=ttl, clock=self.clock)

    def records(self, kind: type) -> list[Any]:
        return [r for _, r in self.store.peek(RUN) if isinstance(r, kind)]


@tool
async def work(n: int = 0) -> str:
    """Work."""
    return f"worked {n}"


# What a step costs


async def test_a_turn_is_two_commits_and_three_records() -> None:
    rig = Rig(Agent("turns", model=ScriptedModel(*[[call("work", n=n)] for n in range(4)], "done"), tools=[work]))
    await rig.create()
    await (await rig.drive()).run()
    turn: list[tuple[list[str], list[str]]] = [(["Replied"], ["Intended"]), (["Returned"], [])]
    assert rig.store.commits == [*turn * 4, (["Replied"], ["RunCompleted"])]


async def test_what_lands_together_is_committed_together() -> None:
    rig = Rig(Agent("many", model=ScriptedModel([call("work", n=n) for n in range(50)], "done"), tools=[work]))
    await rig.create()
    await (await rig.drive()).run()
    assert len(rig.records(Returned)) == 50
    assert len(rig.store.commits) <= 5


# Owners


async def test_a_worker_that_was_replaced_writes_nothing_more() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Work slowly."""
        begun.set()
        await go.wait()
        return "late"

    rig = Rig(Agent("owners", model=ScriptedModel([call("slow")], "done"), tools=[slow]))
    await rig.create()
    old = asyncio.ensure_future((await rig.drive("old")).run())
    await begun.wait()
    new = await rig.drive("new", replaces="old")
    seq = len(rig.store.peek(RUN))
    go.set()
    with pytest.raises(LeaseLost):
        await old
    assert len(rig.store.peek(RUN)) == seq
    assert [c.epoch for c in rig.records(Claimed)] == [1, 2]
    assert (await new.run()).status == "waiting"
    assert [o.record.kind for o in new.state.open.values()] == ["in_doubt"]


async def test_a_body_that_waits_for_its_step_to_be_durable_is_told_that_it_is_not() -> None:
    told: list[BaseException] = []
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def careful(ctx: ToolContext) -> str:
        """Work in steps."""
        begun.set()
        await go.wait()
        try:
            await ctx.step("pay", lambda: "paid")
        except BaseException as e:
            told.append(e)
            raise
        return "done"

    rig = Rig(Agent("owners", model=ScriptedModel([call("careful")], "done"), tools=[careful]))
    await rig.create()
    old = asyncio.ensure_future((await rig.drive("old")).run())
    await begun.wait()
    await rig.drive("new", replaces="old")
    go.set()
    with pytest.raises(LeaseLost):
        await old
    assert [isinstance(e, LeaseLost | asyncio.CancelledError) for e in told] == [True]
    assert not rig.records(Stepped)


async def test_a_store_that_fails_for_longer_than_the_grace_ends_the_drive_and_starts_no_call() -> None:
    ran: list[int] = []

    @tool
    async def count() -> str:
        """Count."""
        ran.append(1)
        return "x"

    rig = Rig(Agent("broken", model=ScriptedModel([call("count")], "done"), tools=[count]))
    await rig.create()
    drive = await rig.drive()
    task = asyncio.ensure_future(drive.run())
    await asyncio.sleep(0)
    rig.store.fail = StoreError("the disk is full")
    while not task.done():
        rig.clock.advance(1.0)
        await asyncio.sleep(0)
    with pytest.raises(StoreError, match="disk is full"):
        await task
    rig.store.fail = None
    assert ran == []
    assert drive.in_flight == []
    assert (await (await rig.drive("w2", replaces="w1")).run()).status == "completed"
    assert ran == [1]


async def test_a_process_that_was_frozen_asks_for_its_lease_before_it_touches_the_world() -> None:
    """The clock jumps between the commit of an intent and the start of its body."""
    ran: list[int] = []

    @tool
    async def count() -> str:
        """Count."""
        ran.append(1)
        return "x"

    rig = Rig(Agent("frozen", model=ScriptedModel([call("count")], "done"), tools=[count]))
    await rig.create()
    drive = await rig.drive(ttl=10.0)
    commit = rig.store.commit

    async def freezing(lease: Lease, facts: Any, moves: Any, *, seen: int) -> Committed:
        done = await commit(lease, facts, moves, seen=seen)
        if any(isinstance(m, Intended) for m in moves):
            rig.clock.advance(11.0)
            assert await rig.store.acquire(RUN, "thief", 10.0) is not None
        return done

    rig.store.commit = freezing  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(LeaseLost):
        await drive.run()
    assert ran == []


# Handing back


class Talking:
    name = "talking"

    def __init__(self) -> None:
        self.said = asyncio.Event()
        self.go = asyncio.Event()

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield TextDelta("I was ")
        self.said.set()
        await self.go.wait()
        yield Reply((Text(text="I was done."),))


async def test_stopping_cuts_the_model_call_and_gives_the_run_back_as_it_was() -> None:
    model = Talking()
    rig = Rig(Agent("stopping", model=model))
    await rig.create()
    drive = await rig.drive()
    task = asyncio.ensure_future(drive.run())
    await model.said.wait()
    drive.stop()
    await task
    row = await rig.store.get(RUN)
    assert (row.status, row.worker) == ("ready", "")
    assert not rig.records(Broke)
    model.go.set()
    assert (await (await rig.drive("w2")).run()).status == "completed"


async def test_stopping_waits_for_the_tool_in_flight() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Work slowly."""
        begun.set()
        await go.wait()
        return "recorded"

    rig = Rig(Agent("stopping", model=ScriptedModel([call("slow")], "done"), tools=[slow]))
    await rig.create()
    drive = await rig.drive()
    task = asyncio.ensure_future(drive.run())
    await begun.wait()
    drive.stop()
    await asyncio.sleep(0)
    assert not task.done()
    go.set()
    await task
    assert [r.value for r in rig.records(Returned)] == ["recorded"]
    assert (await rig.store.get(RUN)).worker == ""
    assert not rig.records(Doubted)
    assert (await (await rig.drive("w2")).run()).status == "completed"


async def test_a_drive_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    model = Talking()
    rig = Rig(Agent("leaving", model=model))
    await rig.create()
    task = asyncio.ensure_future((await rig.drive()).run())
    await model.said.wait()
    await rig.store.deliver(RUN, Said(text="more"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
