"""Bad input: typed errors that say what to do, and nothing is recorded."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.control.conftest import Office
from tests.control.lives import stage
from tests.control.world import LIMIT, TOOLS, Book, Ledger, Play, act, call, does, says, script

from adjourn import (
    AdjournError,
    AlreadyDecided,
    Invalid,
    InvalidAnswer,
    InvalidDefinition,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Paused,
    Refused,
    Run,
    Runtime,
    TextMention,
    Tool,
    ToolCalled,
    ToolContext,
    UnknownInterrupt,
    UnknownRun,
    ask,
    tool,
)  # fmt: skip


@pytest.fixture
async def finished(office: Office, request: pytest.FixtureRequest) -> Run[Any]:
    name = request.node.name.replace("[", "-").replace("]", "").replace(" ", "_")[:100]
    run = await office.start("solo", script(name, says("done")))
    await run.wait(LIMIT)
    return run


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "say", "emit"])
async def test_a_command_to_a_run_that_has_ended_is_refused_and_says_so(
    office: Office, finished: Run[Any], verb: str
) -> None:
    arguments: dict[str, tuple[str, ...]] = {"say": ("hello",), "emit": ("event",)}
    with pytest.raises(Refused, match="it is completed; nothing was changed") as error:
        await getattr(finished, verb)(*arguments.get(verb, ()), by="ann")
    assert (error.value.run_status, error.value.status) == ("completed", 409)
    assert len(await office.records(finished.id)) == 4


async def test_resuming_a_running_run_or_one_that_waits_says_what_to_do_instead(office: Office) -> None:
    run = await office.start("solo", script("busy", says("", gate="g"), says("done")))
    await office.ledger.until("busy", "model asked 0")
    with pytest.raises(Refused, match="it is not paused"):
        await run.resume(by="ann")
    await run.cancel(by="ann")
    await run.wait(LIMIT)
    run = await office.start("solo", script("asks-first", does(call("pay", name="a")), says("done")))
    await run.wait(LIMIT)
    with pytest.raises(Refused, match="answer its interrupts instead"):
        await run.resume(by="ann")
    await run.pause(by="ann")
    with pytest.raises(Refused, match="it is paused"):
        await run.pause(by="ann")


@pytest.mark.parametrize("verb", ["pause", "resume", "say"])
async def test_a_cancelling_run_takes_no_other_command(office: Office, verb: str) -> None:
    name = f"cancelling-{verb}"
    office.ledger.plan(name, "a", "fail")
    run = await office.start("solo", script(name, does(act("a")), says("", gate="never")))
    await office.ledger.until(name, "model asked 1")
    await run.cancel(by="ann")
    with pytest.raises(Refused, match="being cancelled|cancel waits"):
        await getattr(run, verb)(*(("hi",) if verb == "say" else ()), by="bob")


async def test_an_unknown_run_is_unknown_in_every_verb(office: Office) -> None:
    with pytest.raises(UnknownRun, match="run nobody not found"):
        await office.desk.get("nobody")
    ghost: Run[Any] = Run(office.desk, "nobody")
    for work in (
        ghost.pause(by="ann"), ghost.resume(by="ann"), ghost.cancel(by="ann"), ghost.say("x", by="ann"), ghost.fork(),
        ghost.status(), ghost.state(), ghost.messages(), ghost.cancel_preview(), ghost.wait(1),
    ):  # fmt: skip
        with pytest.raises(UnknownRun):
            await work
    with pytest.raises((UnknownInterrupt, UnknownRun)):
        await office.desk.approve("nobody:1.0?0", by="ann")


@pytest.mark.parametrize("limit", [0, -1, -0.5, True, "3", None, float("nan"), float("inf")])
@pytest.mark.parametrize("leaf", [MaxSteps, MaxTokens, MaxCost, MaxTime])
def test_a_limit_is_a_number_greater_than_nothing(leaf: Any, limit: Any) -> None:
    with pytest.raises(InvalidDefinition, match="greater than 0"):
        leaf(limit)


def test_conditions_say_what_they_take() -> None:
    with pytest.raises(InvalidDefinition):
        MaxTime(timedelta(seconds=-1))
    for leaf in (TextMention, ToolCalled):
        with pytest.raises(InvalidDefinition, match="non-empty string"):
            leaf("")
    with pytest.raises(InvalidDefinition, match="'stop' or 'pause'"):
        MaxSteps(1).then("explode")  # type: ignore[arg-type] # pyright: ignore
    with pytest.raises(InvalidDefinition, match="combine"):
        MaxSteps(1) | 5  # type: ignore[operator] # pyright: ignore


def body() -> str:
    return "x"


@pytest.mark.parametrize("options", [{"undo": "void"}, {"undo": 1}, {"effect": "verifiable", "verify": "look"}])
def test_an_undo_or_a_verify_that_is_not_callable_is_refused_where_it_is_written(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition, match="must be a function"):
        tool(**options)(body)
    with pytest.raises(InvalidDefinition, match="must be a function"):
        Tool("x", "", {"type": "object"}, body, **options)


def nothing() -> None: ...
def two(ctx: Any, args: Any) -> None: ...
def three(ctx: Any, args: Any, result: Any) -> None: ...
def named(ctx: Any, args: Any, result: Any, *, why: str) -> None: ...


WRONG_SHAPES: dict[str, dict[str, Any]] = {
    "an undo of nothing": {"undo": nothing},
    "an undo of two": {"undo": two},
    "an undo that needs a name": {"undo": named},
    "a verify of nothing": {"effect": "verifiable", "verify": nothing},
    "a verify of three": {"effect": "verifiable", "verify": three},
}


@pytest.mark.parametrize("options", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_an_undo_or_a_verify_that_could_not_be_called_is_refused_before_anything_needs_it(options: Any) -> None:
    promise = r"undo takes \(ctx, args, result\)" if "undo" in options else r"verify takes \(ctx, args\)"
    with pytest.raises(InvalidDefinition, match=promise):
        tool(**options)(body)
    with pytest.raises(InvalidDefinition, match=promise):
        Tool("x", "", {"type": "object"}, body, **options)


@pytest.mark.parametrize("timeout", [-1, "soon", True, float("nan")])
def test_a_timeout_is_seconds(timeout: Any) -> None:
    with pytest.raises(InvalidDefinition, match="timeout"):
        tool(timeout=timeout)(body)


def test_an_isolated_tool_must_be_findable_by_another_process_and_take_no_resources() -> None:
    with pytest.raises(InvalidDefinition, match="top level of a module"):
        tool(name="x", isolate=True)(lambda: "x")

    def inner() -> str:
        return "x"

    with pytest.raises(InvalidDefinition, match="top level of a module"):
        tool(isolate=True)(inner)
    with pytest.raises(InvalidDefinition, match="resources"):
        tool(isolate=True)(with_resource)


def with_resource(ledger: Book) -> str:
    return "x"


async def test_on_cancel_takes_a_function_and_the_call_goes_on_to_fail_in_words(folder: Path) -> None:
    async def bad(ctx: ToolContext) -> str:
        await ctx.on_cancel("not a function")  # type: ignore[arg-type] # pyright: ignore
        return "x"

    from adjourn import Agent

    ledger = Ledger(folder / "ledger")
    async with stage(folder, Agent("bad", model=Play(ledger), tools=[tool(bad)])) as on:
        run = await on.start(script("r", does(call("bad")), says("done")))
        await on.rest(run, "completed")
        assert "on_cancel needs a function" in on.ledger.requests("r")[1][-1]["content"]


@pytest.mark.parametrize(
    "options",
    [
        {"approvers": 0}, {"approvers": -1}, {"approvers": True}, {"approvers": 1.5}, {"groups": "finance"},
        {"expires_in": -1}, {"expires_in": 0}, {"remind_every": 0}, {"remind_every": -5}, {"valid_for": 0},
        {"valid_for": "soon"}, {"on_expiry": "explode"},
    ],
    ids=str,
)  # fmt: skip
def test_a_rule_that_cannot_work_is_refused_where_it_is_written(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition):
        ask("act", **options)


@pytest.mark.parametrize(
    "options",
    [{"lease": -1}, {"lease": 0}, {"lease": "2"}, {"grace": -1}, {"concurrency": 0}, {"concurrency": 1.5}, {"on_change": "x"}],
    ids=str,
)  # fmt: skip
def test_a_runtime_that_cannot_work_is_refused_where_it_is_made(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition):
        Runtime("memory://", **options)


async def test_halts_need_a_scope_a_name_and_a_reason(office: Office) -> None:
    for scope in ("", "refund", "tool:", "agent:", "run:x", "**"):
        with pytest.raises(AdjournError, match="scope"):
            await office.desk.halt(scope, reason="x", by="ann")
    for options in ({"reason": "", "by": "ann"}, {"reason": "x", "by": ""}):
        with pytest.raises(Invalid, match="reason= and by="):
            await office.desk.halt("*", **options)
    with pytest.raises(Invalid, match="by="):
        await office.desk.unhalt("*", by="")
    assert list(await office.desk.halts()) == []


async def test_commands_with_wrong_types_are_refused_and_nothing_is_recorded(office: Office) -> None:
    run = await office.start("solo", script("types", says("", gate="never")))
    await office.ledger.until("types", "model asked 0")
    before = await office.records("types")
    bad: Any = 5
    for work in (
        run.pause(by=bad), run.pause(now="yes"), run.pause(reason=bad), run.cancel(by=bad), run.cancel(reason=bad),  # type: ignore[arg-type] # pyright: ignore
        run.say(bad), run.say(""), run.say("x", by=bad), run.resume(bad), run.emit(""), run.emit("x", lambda: 0),
    ):  # fmt: skip
        with pytest.raises(Invalid):
            await work
    assert await office.records("types") == before
    assert await office.desk.verify() == []


async def test_a_choice_that_is_none_lists_the_choices(office: Office) -> None:
    office.ledger.plan("choice", "a", "fail")
    run = await office.start("solo", script("choice", does(act("a")), says("", gate="never")))
    await office.ledger.until("choice", "model asked 1")
    await run.cancel(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    [item] = outcome.interrupts
    for answer in ("explode", True, {}, {"choice": "run"}, None, 1):
        with pytest.raises(InvalidAnswer, match="'retry'.*'done'.*'leave'"):
            await office.desk.answer(item.id, answer, by="ann")
    await office.desk.answer(item.id, "leave", by="ann")
    with pytest.raises(AlreadyDecided, match="ann"):
        await office.desk.answer(item.id, "retry", by="bob")
    assert (await run.wait(LIMIT)).status == "cancelled"
    assert TOOLS
