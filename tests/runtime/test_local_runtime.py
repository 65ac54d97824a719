"""Runs without a store: what whoever awaits them can rely on, whichever of the handles they use."""

import asyncio
import contextvars
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from adjourn import Agent, Flow, FlowContext, Outcome, RunFailed, ToolContext, is_paused, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta
from adjourn.driver import unfinished_bodies
from adjourn.driver.clock import SystemClock
from adjourn.runtime import local_runtime as local
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The time of storeless runs; what waits for it waits until it is moved."""
    clock = FakeClock()
    monkeypatch.setattr(local, "_now", clock.now)
    monkeypatch.setattr(SystemClock, "steady", staticmethod(clock.steady))
    monkeypatch.setattr(SystemClock, "wait", staticmethod(clock.wait))
    return clock


caller: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


class Slow:
    """A model that says when it was asked, and waits to be let go."""

    name = "slow"

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()
        self.closed = 0

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        try:
            yield TextDelta("well, ")
            self.asked.set()
            await self.go.wait()
            yield Reply((Text(text="done"),))
        finally:
            self.closed += 1


async def streamed(agent: Agent[Any], input: Any) -> Outcome[Any]:
    async with agent.stream(input) as run:
        return await run.wait()


async def iterated(agent: Agent[Any], input: Any) -> Outcome[Any]:
    async with agent.stream(input) as run:
        async for _ in run:
            pass
        return run.outcome


HANDLES: dict[str, Callable[[Agent[Any], Any], Awaitable[Outcome[Any]]]] = {
    "run": lambda agent, input: agent.run(input), "stream": streamed, "iterated": iterated,
}  # fmt: skip

handles = pytest.mark.parametrize("handle", HANDLES)


# The caller's task


@handles
async def test_cancelling_whoever_awaits_stops_the_model_call_and_undoes_nothing(handle: str) -> None:
    done: list[str] = []
    model = Slow()

    async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        done.append("undone")

    @tool(undo=take_back)
    async def book() -> str:
        """Book."""
        done.append("booked")
        return "booked"

    agent = Agent("a", model=ScriptedModel([call("book")], "done"), tools=[book])
    alone = Agent("alone", model=model)
    flow = Flow("f")
    flow.to(agent).to(alone)
    for work in (HANDLES[handle](alone, "go"), flow.start("go")):
        model.asked.clear()
        before = asyncio.all_tasks()
        task = asyncio.ensure_future(work)
        await model.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == before
    assert model.closed == 2
    assert done == ["booked"]


@handles
async def test_context_variables_of_the_caller_reach_the_bodies(handle: str) -> None:
    heard: list[str] = []

    @tool
    async def here() -> str:
        """Here."""
        heard.append(caller.get())
        return "ok"

    @tool
    def there() -> str:
        """In a thread."""
        heard.append(caller.get())
        return "ok"

    agent = Agent("a", model=ScriptedModel([call("here"), call("there")], "done"), tools=[here, there])
    caller.set("ana")
    assert (await HANDLES[handle](agent, "go")).output == "done"
    assert heard == ["ana", "ana"]


async def test_context_variables_of_whoever_answers_reach_the_bodies() -> None:
    heard: list[str] = []

    @tool
    async def ask_first(ctx: ToolContext) -> str:
        """Ask."""
        heard.append(caller.get())
        ctx.pause_for("question", resume_to="self")
        return "ok"

    flow = Flow("f")

    @flow.chunk
    async def ask(ctx: FlowContext) -> None:
        heard.append(caller.get())
        ctx.pause_for("question", resume_to="self")

    flow.to(ask)
    agent = Agent("a", model=ScriptedModel([call("ask_first")], "done"), tools=[ask_first])
    caller.set("ana")
    paused = await agent.run("go")
    execution = await flow.start_execution("go", auto_close=False)
    caller.set("bo")
    await agent.resume(paused.checkpoint, 1)
    [waiting] = execution.pending_interrupts
    await execution.continue_with(waiting, 1)
    assert heard == ["ana", "ana", "bo", "bo"]


# Time


async def test_a_run_sleeps_through_its_timers(clock: FakeClock) -> None:
    @tool
    async def nap(ctx: ToolContext) -> str:
        """Nap."""
        await ctx.sleep(3600)
        return "slept"

    agent = Agent("a", model=ScriptedModel([call("nap")], "done"), tools=[nap])
    task = asyncio.ensure_future(agent.run("go"))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()
    clock.advance(3600)
    assert (await asyncio.wait_for(task, 5)).output == "done"


async def test_an_execution_does_not_sleep_through_its_timers() -> None:
    flow = Flow("f")

    @flow.chunk
    async def nap(ctx: FlowContext) -> None:
        await ctx.sleep(3600)

    flow.to(nap)
    execution = await asyncio.wait_for(flow.start_execution("go"), 5)
    assert execution.status == "waiting"
    assert execution.pending_interrupts == {}
    await execution.cancel()


# Nothing is remembered


async def test_the_same_checkpoint_resumes_twice_and_the_checkpoint_stays_as_it_was() -> None:
    @tool
    async def ask_it(ctx: ToolContext) -> str:
        """Ask."""
        ctx.pause_for("question")

    agent = Agent("a", model=ScriptedModel([call("ask_it")], "done"), tools=[ask_it])
    paused = await agent.run("go")
    assert is_paused(paused)
    saved = paused.checkpoint.to_json()
    first, second = await agent.resume(paused.checkpoint, "a"), await agent.resume(paused.checkpoint, "b")
    assert first.output == second.output == "done"
    assert first.run_id == second.run_id
    assert paused.checkpoint.to_json() == saved


async def test_what_a_caller_does_to_an_answer_changes_nothing_of_the_run() -> None:
    @tool
    async def ask_it(ctx: ToolContext) -> str:
        """Ask."""
        ctx.pause_for("question", {"amount": 5})

    agent = Agent("a", model=ScriptedModel([call("ask_it")], "done"), tools=[ask_it])
    async with agent.stream("go") as run:
        paused = await run.wait()
        assert is_paused(paused)
        paused.interrupts[0].payload["amount"] = 500
        await run.say("and?")
        again = await run.wait()
    assert is_paused(again)
    assert again.interrupts[0].payload == {"amount": 5}
    assert run.checkpoint.interrupts[0].payload == {"amount": 5}


class Kept:
    """Something that can be looked for."""


async def ends_well() -> list["weakref.ref[Any]"]:
    bank, model = Kept(), ScriptedModel([call("look")], "done")
    found: list[Any] = []

    @tool(effect="read")
    async def look(ctx: ToolContext) -> str:
        """Look."""
        found.append(weakref.ref(ctx.resources["bank"]))
        return "ok"

    agent = Agent("a", model=model, tools=[look])
    assert (await agent.run("go", resources={"bank": bank})).output == "done"
    return [*found, weakref.ref(bank), weakref.ref(model), weakref.ref(agent)]


async def fails() -> list["weakref.ref[Any]"]:
    bank, model = Kept(), ScriptedModel(ValueError("broken"))
    agent = Agent("a", model=model)
    with pytest.raises(RunFailed):
        await agent.run("go", resources={"bank": bank})
    return [weakref.ref(bank), weakref.ref(model), weakref.ref(agent)]


async def is_streamed() -> list["weakref.ref[Any]"]:
    bank, model = Kept(), ScriptedModel("done")
    agent = Agent("a", model=model)
    async with agent.stream("go", resources={"bank": bank}) as run:
        async for _ in run:
            pass
    return [weakref.ref(bank), weakref.ref(model), weakref.ref(agent), weakref.ref(run)]


async def is_cancelled() -> list["weakref.ref[Any]"]:
    bank, model = Kept(), Slow()
    agent = Agent("a", model=model)
    task = asyncio.ensure_future(agent.run("go", resources={"bank": bank}))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return [weakref.ref(bank), weakref.ref(model), weakref.ref(agent)]


async def is_a_flow() -> list["weakref.ref[Any]"]:
    bank, flow = Kept(), Flow("f")

    @flow.chunk
    async def look(ctx: FlowContext) -> None:
        ctx.state["seen"] = "bank" in ctx.resources

    flow.to(look)
    execution = flow.create_execution(auto_close=False, resources={"bank": bank})
    await execution.start("go")
    assert await execution.close() == {"seen": True}
    assert await flow.start("go", resources={"bank": bank}) == {"seen": True}
    return [weakref.ref(bank), weakref.ref(flow), weakref.ref(execution)]


@pytest.mark.parametrize("ends", [ends_well, fails, is_streamed, is_cancelled, is_a_flow])
async def test_nothing_of_a_run_that_is_over_is_kept(ends: Callable[[], Awaitable[list[Any]]]) -> None:
    gc.collect()  # what other tests left may begin tasks of its own when it goes
    threads, tasks = threading.active_count(), asyncio.all_tasks()
    found = await ends()
    await asyncio.sleep(0)
    gc.collect()
    assert [ref() for ref in found] == [None] * len(found)
    assert asyncio.all_tasks() <= tasks
    assert threading.active_count() == threads
    assert not unfinished_bodies._left  # pyright: ignore[reportPrivateUsage]
    assert not unfinished_bodies._threads  # pyright: ignore[reportPrivateUsage]


async def test_a_run_that_has_ended_leaves_no_work_for_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        found = await ends_well()
        await asyncio.sleep(0)
        assert found[1]() is None
    finally:
        gc.enable()


# Waiting costs nothing


async def test_whoever_waits_looks_at_nothing_while_the_run_is_driven(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def counted(name: str) -> None:
        plain = getattr(MemoryStore, name)

        async def look(self: Any, *args: Any, **options: Any) -> Any:
            looks.append(name)
            return await plain(self, *args, **options)

        monkeypatch.setattr(MemoryStore, name, look)

    for name in ("get", "load", "runs", "due", "renew", "deliver"):
        counted(name)
    model = Slow()
    task = asyncio.ensure_future(Agent("a", model=model).run("go"))
    await model.asked.wait()
    looks.clear()
    for _ in range(100):
        await asyncio.sleep(0)
    assert looks == []
    model.go.set()
    assert (await task).output == "done"
