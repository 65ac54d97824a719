"""Whatever a model, a person or a record brings along: the event loop that others share goes on."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.again import in_time
from tests.agent.words import last

from adjourn import Agent, InvalidAnswer, Policy, Runtime, Tool, ask, is_paused, matches, pause_for, tool
from adjourn.driver import schema_check
from adjourn.driver.schema_check import check_value
from adjourn.testing import ScriptedModel, call


def pay(args: dict[str, Any]) -> str:
    return "paid"


LIMIT = 1.0
"""Seconds that anybody else on the loop may have to wait. Without a bound it was 13 and more."""


class Ticks:
    """Somebody else on the same loop: the longest time between two turns of theirs, as this process has used it.

    What other processes take away from it is no fault of the loop's.
    """

    longest = 0.0


@asynccontextmanager
async def somebody_else() -> AsyncGenerator[Ticks]:
    ticks, loop = Ticks(), asyncio.get_running_loop()
    before = time.process_time()

    def tick() -> None:
        nonlocal before, handle
        now = time.process_time()
        ticks.longest, before = max(ticks.longest, now - before), now
        handle = loop.call_later(0.002, tick)

    handle = loop.call_later(0.002, tick)
    try:
        yield ticks
    finally:
        handle.cancel()
        ticks.longest = max(ticks.longest, time.process_time() - before)


def doubling(key: str, leaf: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {f"l{n}": {key: [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(25)}
    return {"$defs": {**parts, "l25": leaf}, "$ref": "#/$defs/l0"}


HOSTILE: list[tuple[dict[str, Any], Any]] = [
    ({"type": "string", "pattern": "^(a+)+$"}, "a" * 26 + "!"),
    ({"type": "string", "pattern": r"^(([a-z])+.)+[A-Z]([a-z])+$"}, "a" * 50_000),
    ({"type": "string", "pattern": r"(.*\w){200}x"}, "aé" * 3_000),
    (doubling("anyOf", {"type": "string"}), 5),
    (doubling("oneOf", {"type": "string"}), 5),
    (doubling("allOf", {"type": "integer"}), "x"),
    ({"type": "array", "uniqueItems": True}, [{"a": [n]} for n in range(20_000)] + [{"a": [0]}]),
    ({"type": "array", "items": {"anyOf": [{"type": "string"}] * 500}}, list(range(2_000))),
    (
        {"type": "object", "patternProperties": {"^(a+)+$": False}},
        {"a" * 200 + str(n): 1 for n in range(500)} | {"a": 1},
    ),
]


@pytest.mark.parametrize(("schema", "answer"), HOSTILE)
async def test_an_answer_is_refused_while_others_go_on(schema: dict[str, Any], answer: Any) -> None:
    @tool(effect="read")
    async def question() -> Any:
        """Ask."""
        pause_for("question", answer_schema=schema)

    agent = Agent("a", model=ScriptedModel([call("question")], last), tools=[question])
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "go")
        outcome = await run.wait()
        assert is_paused(outcome)
        async with somebody_else() as ticks:
            with pytest.raises(InvalidAnswer, match="nothing was recorded"):
                await rt.answer(outcome.interrupts[0].id, answer, by="ana")
        in_time(ticks.longest, LIMIT)
        assert (await run.state()).status == "waiting"


@pytest.mark.parametrize(("schema", "value"), HOSTILE)
async def test_a_models_arguments_are_checked_while_others_go_on(schema: dict[str, Any], value: Any) -> None:
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    one = Tool(
        "pay",
        "",
        {"type": "object", "properties": {"x": {k: v for k, v in schema.items() if k != "$defs"}}, **definitions},
        pay,
    )
    agent = Agent("a", model=ScriptedModel([call("pay", x=value), call("pay", x=value)], last), tools=[one])
    async with somebody_else() as ticks:
        outcome = await agent.run("go")
    assert "invalid arguments" in outcome.output
    in_time(ticks.longest, LIMIT)


@pytest.mark.parametrize("pattern", [r"([a-z]+)+@corp\.com", r"(a|aa)+x", r"(.*\w){200}x"])
async def test_a_rule_judges_what_a_model_wrote_while_others_go_on(pattern: str) -> None:
    @tool
    async def send(to: str) -> str:
        """Send."""
        return "sent"

    policy = Policy([ask("send", when={"to": matches(pattern)})], default="allow")
    for to in ("a" * 26, "a" * 10_000, "aé" * 500_000):
        agent = Agent("a", model=ScriptedModel([call("send", to=to)], last), tools=[send], policy=policy)
        async with somebody_else() as ticks:
            await agent.run("go")
        in_time(ticks.longest, LIMIT)


async def test_a_large_schema_is_looked_at_while_others_go_on() -> None:
    part = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^a+$"}, "b": {"anyOf": [{"type": "null"}]}},
    }
    schema = {"type": "object", "properties": {f"p{n}": part for n in range(700)}}

    @tool(effect="read")
    async def question() -> Any:
        """Ask."""
        pause_for("question", answer_schema=schema)

    agent = Agent("a", model=ScriptedModel([call("question")], last), tools=[question])
    async with somebody_else() as ticks:
        outcome = await agent.run("go")
    assert is_paused(outcome)
    in_time(ticks.longest, LIMIT)


async def test_a_schema_from_a_record_that_is_too_large_refuses_the_answer() -> None:
    with pytest.raises(InvalidAnswer, match="the schema of answer has .* bytes as JSON"):
        await check_value({"enum": ["x" * 200_000]}, "a", "answer")


async def test_a_check_that_is_not_done_in_time_refuses_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = asyncio.get_running_loop().create_future()

    async def never(work: Callable[[], Any]) -> Awaitable[Any]:
        return await stuck

    monkeypatch.setattr(schema_check, "in_thread", never)
    monkeypatch.setattr(schema_check, "DEADLINE", 0.01)
    with pytest.raises(
        InvalidAnswer, match=r"could not be checked against its schema within 0.01 s.*nothing was recorded"
    ):
        await check_value({"items": {"type": "integer"}}, list(range(5_000)), "answer")


async def test_what_takes_long_is_not_checked_on_the_loop_and_what_is_short_needs_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[Any] = []

    async def here(work: Callable[[], Any]) -> Any:
        threads.append(work)
        return work()

    monkeypatch.setattr(schema_check, "in_thread", here)
    await check_value({"items": {"type": "integer"}}, list(range(100)), "answer")
    assert not threads
    await check_value({"items": {"type": "integer"}}, list(range(5_000)), "answer")
    assert len(threads) == 1


async def test_arguments_that_were_checked_ahead_are_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging happens on the loop, each time something is planned; it finds the check done."""
    from adjourn.agent import tool as module

    steps: list[int] = []
    original = module.check

    def counted(schema: Any, value: Any, what: str, given: int) -> None:
        steps.append(given)
        original(schema, value, what, given)

    monkeypatch.setattr(module, "check", counted)
    one = Tool("pay", "", {"type": "object", "properties": {"x": {"items": {"type": "integer"}}}}, pay)
    agent = Agent(
        "a", model=ScriptedModel([call("pay", x=list(range(5_000)))], last), tools=[one], policy=Policy([ask("pay")])
    )
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert (await agent.resume(outcome.checkpoint, True)).status == "completed"
    assert steps == [schema_check.INLINE, module.STEPS]
