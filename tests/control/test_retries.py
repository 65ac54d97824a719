"""Tools and chunks that are tried again, and what else is settled between two attempts. One suite over both kinds of body."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import (
    Agent,
    Flow,
    FlowContext,
    InDoubt,
    InvalidAnswer,
    InvalidDefinition,
    MaxTime,
    ModelError,
    ToolContext,
    ToolFailed,
    testing,
    tool,
)
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, ToolCall
from adjourn.core.records import Faulted, Replied
from adjourn.testing import ScriptedModel, call

Work = Callable[[Any], Any]


def program(kind: str, work: Work, *, sync: bool = False, **options: Any) -> Any:
    """An agent with one tool, or a flow with one chunk, whose body does this."""
    options = {"effect": "idempotent", **options}
    if kind == "chunk":
        flow = Flow("f")

        async def chunk(ctx: FlowContext) -> None:
            ctx.state["value"] = work(ctx)

        def chunk_in_a_thread(ctx: FlowContext) -> None:
            ctx.state["value"] = work(ctx)

        flow.to(flow.chunk(name="body", **options)(chunk_in_a_thread if sync else chunk))
        return flow

    async def body(ctx: ToolContext) -> Any:
        return work(ctx)

    def body_in_a_thread(ctx: ToolContext) -> Any:
        return work(ctx)

    made = tool(name="body", description="Work.", **options)(body_in_a_thread if sync else body)
    return Agent("a", model=ScriptedModel([call("body")], lambda m: str(getattr(m[-1], "content", ""))), tools=[made])


def failing(times: int, error: Callable[[], Exception] = lambda: ConnectionError("down")) -> tuple[Work, list[str]]:
    """A body that raises so many times, and the keys of its attempts."""
    keys: list[str] = []

    def work(ctx: Any) -> str:
        keys.append(ctx.idempotency_key)
        if len(keys) <= times:
            raise error()
        return "worked"

    return work, keys


async def _settled(env: testing.Env, run: Any, seconds: float = 60.0) -> Any:
    """Let time pass until it rests."""
    for _ in range(30):
        await env.settle()
        if (await run.status()) not in ("ready", "running"):
            break
        await env.skip(seconds)
    return await run.wait(LIMIT)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("effect", ["read", "idempotent"])
@pytest.mark.parametrize("kind", ["tool", "chunk"])
async def test_a_body_that_fails_twice_is_tried_a_third_time_with_the_same_key(
    kind: str, effect: str, sync: bool
) -> None:
    work, keys = failing(2)
    made = program(kind, work, sync=sync, effect=effect, retries=2, backoff=1.0)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        async with asyncio.timeout(LIMIT):
            while len(keys) < 3:
                await asyncio.sleep(0.001)
                env.clock.advance(0.5)
        outcome = await run.wait(LIMIT)
        assert outcome.output == ("worked" if kind == "tool" else {"value": "worked"})
        assert len(keys) == 3 and len(set(keys)) == 1
        faults = [x for _, x in await env.runtime.store.load("r") if isinstance(x, Faulted)]
        assert [round(x.retry_at - x.at) for x in faults] == [1, 2], "twice as long each time"


@pytest.mark.parametrize("kind", ["tool", "chunk"])
async def test_a_body_that_never_works_fails_after_its_last_attempt(kind: str) -> None:
    work, keys = failing(99)
    made = program(kind, work, retries=2, backoff=0.1)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        for _ in range(20):
            await env.skip(1)
        assert len(keys) == 3
        if kind == "tool":
            assert "ConnectionError: down" in str((await run.wait(LIMIT)).output)
        else:
            assert await run.status() == "failed"
            [item] = await env.runtime.inbox()
            assert item.payload["error"] == "ConnectionError: down"


@pytest.mark.parametrize("kind", ["tool", "chunk"])
async def test_attempts_are_counted_in_the_journal_and_not_in_a_worker(kind: str) -> None:
    work, keys = failing(99)
    made = program(kind, work, retries=3, backoff=0.1)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        await env.settle()
        store, clock = env.runtime.store, env.clock
        first = len(keys)
        assert 1 <= first < 4
    async with testing.env([made], store=store, clock=clock) as env:
        for _ in range(20):
            await env.skip(1)
        assert len(keys) == 4
        run = await env.runtime.get("r")
        assert await run.status() in ("completed", "failed")


async def test_what_a_tool_says_itself_is_its_last_word() -> None:
    work, keys = failing(99, lambda: ToolFailed("no such order"))
    made = program("tool", work, retries=5, backoff=0.1)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go")
        assert "no such order" in str((await run.wait(LIMIT)).output)
        assert len(keys) == 1


@pytest.mark.parametrize("kind", ["tool", "chunk"])
async def test_a_call_in_doubt_is_not_a_failure(kind: str) -> None:
    work, keys = failing(1, lambda: InDoubt("no answer"))
    made = program(kind, work, retries=5, backoff=0.1)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        await run.wait(LIMIT)
        assert len(keys) == 2, "its effect lets it run again; no attempt was used up"
        assert not [x for _, x in await env.runtime.store.load("r") if isinstance(x, Faulted)]


async def unknown(ctx: Any, args: Any) -> None:
    """Whether it happened: nobody knows."""


@pytest.mark.parametrize("kind", ["tool", "chunk"])
@pytest.mark.parametrize(("options", "says"), [
    ({"effect": "unsafe"}, "may have had an effect"), ({"effect": "verifiable", "verify": unknown}, "verify= decides"),
])  # fmt: skip
def test_an_effect_that_does_not_allow_another_attempt_says_so_where_it_is_written(
    kind: str, options: dict[str, Any], says: str
) -> None:
    program(kind, lambda ctx: 1, **options, retries=0)
    with pytest.raises(InvalidDefinition, match=says):
        program(kind, lambda ctx: 1, **options, retries=1)


@pytest.mark.parametrize("kind", ["tool", "chunk"])
@pytest.mark.parametrize("options", [
    {"effect": "unsafe", "retries": 1}, {"retries": -1}, {"retries": True}, {"retries": 1.5}, {"backoff": -1}, {"backoff": "soon"},
])  # fmt: skip
def test_what_makes_no_sense_is_refused_where_it_is_written(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition):
        program(kind, lambda ctx: 1, **options)


async def test_a_pause_between_two_attempts_starts_nothing() -> None:
    work, keys = failing(1)
    made = program("tool", work, retries=1, backoff=1.0)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        await env.settle()
        await run.pause(by="ana")
        for _ in range(5):
            await env.skip(10)
        assert len(keys) == 1
        await run.resume(by="ana")
        assert (await _settled(env, run)).status == "completed"
        assert len(keys) == 2


async def test_a_chunk_that_takes_too_long_is_named_with_its_limit() -> None:
    flow = Flow("f")

    @flow.chunk(effect="read", timeout=0.01)
    async def fetch(ctx: FlowContext) -> None:
        await asyncio.sleep(LIMIT)

    @flow.chunk(timeout=0.01)
    async def send(ctx: FlowContext) -> None:
        await asyncio.sleep(LIMIT)

    flow.batch(fetch=fetch, send=send)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, "go", run_id="r")
        await run.wait(LIMIT)
        told = {item.kind: item for item in await env.runtime.inbox()}
        assert told["error"].payload["error"] == "fetch did not end within 0.01 s"
        assert told["in_doubt"].call is not None and told["in_doubt"].call.tool == "send"
        assert told["in_doubt"].call.reason == "it did not end within 0.01 s"


# An error after an answer


async def test_an_error_after_an_answer_offers_to_ask_again() -> None:
    flow = Flow("f")

    async def book(ctx: FlowContext) -> None:
        day = ctx.pause_for("day", "which day?", resume_to="self")
        if day == "monday":
            raise ValueError("closed on monday")
        ctx.state["day"] = day

    flow.to(flow.chunk(effect="idempotent")(book))
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, "go", run_id="r")
        for answer in ("monday", "monday", "tuesday"):
            await run.wait(LIMIT)
            [question] = await env.runtime.inbox()
            assert question.kind == "question"
            await env.runtime.answer(question.id, answer, by="ana")
            await env.settle()
            if answer == "monday":
                [error] = await env.runtime.inbox()
                assert list(error.choices) == ["retry", "ask", "cancel"]
                await env.runtime.answer(error.id, "ask", by="ana")
        assert (await run.wait(LIMIT)).output == {"day": "tuesday"}


async def test_an_error_without_an_answer_does_not() -> None:
    work, _ = failing(1)
    made = program("chunk", work)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go")
        await env.settle()
        [error] = await env.runtime.inbox()
        assert list(error.choices) == ["retry", "cancel"]
        with pytest.raises(InvalidAnswer):
            await env.runtime.answer(error.id, "ask", by="ana")
        await env.runtime.answer(error.id, "retry", by="ana")
        assert (await run.wait(LIMIT)).status == "completed"


# What happened must fit


async def test_what_a_person_says_happened_must_be_what_the_graph_needs() -> None:
    flow = Flow("f")

    async def split(ctx: FlowContext) -> list[str]:
        raise InDoubt("no answer")

    async def each(ctx: FlowContext) -> str:
        return ctx.input.upper()

    async def keep(ctx: FlowContext) -> None:
        ctx.state["all"] = ctx.input

    flow.to(split).for_each().to(each).end_for_each().to(keep)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, "go")
        await run.wait(LIMIT)
        [item] = await env.runtime.inbox()
        for wrong in ("a, b", {"a": 1}, None):
            with pytest.raises(InvalidAnswer, match="result"):
                await env.runtime.answer(item.id, {"choice": "happened", "result": wrong}, by="ana")
        await env.runtime.answer(item.id, {"choice": "happened", "result": ["a", "b"]}, by="ana")
        assert (await run.wait(LIMIT)).output == {"all": ["A", "B"]}


# A call that came twice


class Stuttering:
    """A provider that sends one call twice, and then one that only looks like it."""

    name = "stuttering"

    def __init__(self, *calls: ToolCall) -> None:
        self.calls = calls

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield Reply(self.calls) if request.index == 0 else Reply((Text(text="done"),))


@pytest.mark.parametrize(
    ("other", "times"),
    [
        (ToolCall(id="c1", tool="pay", args={"order": "1"}), 1),
        (ToolCall(id="c2", tool="pay", args={"order": "1"}), 2),
        (ToolCall(id="c1", tool="pay", args={"order": "2"}), 2),
    ],
)
async def test_an_exact_duplicate_of_a_call_in_one_reply_is_one_call(other: ToolCall, times: int) -> None:
    paid: list[str] = []

    @tool
    async def pay(order: str) -> str:
        """Pay."""
        paid.append(order)
        return "paid"

    agent = Agent("a", model=Stuttering(ToolCall(id="c1", tool="pay", args={"order": "1"}), other), tools=[pay])
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        assert (await run.wait(LIMIT)).status == "completed"
        assert len(paid) == times
        first = next(x for _, x in await env.runtime.store.load("r") if isinstance(x, Replied))
        assert len(first.parts) == times


# A nested agent that fails


@pytest.mark.parametrize("on_failure", ["ask", "tell"])
async def test_when_a_nested_agent_fails_a_person_is_asked_or_the_agent_above_is_told(on_failure: Any) -> None:
    low = Agent("low", model=ScriptedModel(ModelError("bad key", transient=False), "never"))
    script = ScriptedModel([call("low", input="x")], lambda m: f"I read: {getattr(m[-1], 'content', '')}")
    top = Agent("top", model=script, tools=[low.as_tool(on_failure=on_failure)])
    async with testing.env([top]) as env:
        run = await env.runtime.start(top, "go", run_id="r")
        await env.settle()
        if on_failure == "ask":
            assert await run.status() == "failed"
        else:
            assert (await run.wait(LIMIT)).output == "I read: low failed: bad key"
            assert await env.runtime.inbox() == []


def test_another_way_to_fail_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="on_failure"):
        Agent("low", model=ScriptedModel("x")).as_tool(on_failure="shrug")  # type: ignore[arg-type]


# Time that people take


@pytest.mark.parametrize("waiting", [True, False])
async def test_a_limit_of_time_may_leave_out_what_people_take_to_answer_and_to_resume(waiting: bool) -> None:
    inside, go = asyncio.Event(), asyncio.Event()

    @tool(effect="read")
    async def ask(ctx: ToolContext) -> str:
        """Ask."""
        ctx.pause_for("question", "?")

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        inside.set()
        await go.wait()
        return "seen"

    stop = MaxTime(3600, waiting=waiting).then("stop")
    script = ScriptedModel([call("ask")], [call("look")], "done")
    agent = Agent("a", model=script, tools=[ask, look], stop=stop)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await run.wait(LIMIT)
        await env.skip(3000)
        [item] = await env.runtime.inbox()
        await env.runtime.answer(item.id, "yes", by="ana")
        await inside.wait()
        await run.pause(by="ana")
        go.set()
        await run.wait(LIMIT)
        await env.skip(3000)
        await run.resume(by="ana")
        assert (await run.wait(LIMIT)).status == ("stopped" if waiting else "completed")


async def test_time_that_it_sleeps_or_works_counts_in_any_case() -> None:
    @tool(effect="read")
    async def nap(ctx: ToolContext) -> str:
        """Sleep."""
        await ctx.sleep(7200)
        return "rested"

    stop = MaxTime(3600, waiting=False)
    agent = Agent("a", model=ScriptedModel([call("nap")], "done"), tools=[nap], stop=stop)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await env.settle()
        await env.skip(7201)
        assert (await run.wait(LIMIT)).status == "stopped"


def test_the_limit_says_what_it_counts() -> None:
    assert repr(MaxTime(60)) == "MaxTime(60)"
    assert repr(MaxTime(60, waiting=False).then("pause")) == "MaxTime(60, waiting=False)"
    assert MaxTime(60) != MaxTime(60, waiting=False)
    with pytest.raises(InvalidDefinition):
        MaxTime(60, waiting="no")  # type: ignore[arg-type]
