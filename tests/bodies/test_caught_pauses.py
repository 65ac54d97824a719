"""A body that catches its own pause and goes on may have done its work. What may not happen twice is not run again by itself."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, Bank, Kind, Place, program

from adjourn import Agent, Completed, Paused, ToolContext, tool
from adjourn.core.records import Doubted, Faulted, Returned, Suspended, Yielded
from adjourn.testing import ScriptedModel, call

Waits = Callable[[ToolContext], Awaitable[Any]]
ONCE, AGAIN = ("unsafe", "verifiable"), ("idempotent", "read")


async def _asks(ctx: ToolContext) -> Any:
    return ctx.pause_for("fee", "which fee?", resume_to="self")


async def _sleeps(ctx: ToolContext) -> None:
    await ctx.sleep(3600)


WAITS: dict[str, Waits] = {"asks": _asks, "sleeps": _sleeps}


async def _returns(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    with contextlib.suppress(BaseException):
        await waits(ctx)
    bank.write("paid")
    return "the receipt"


async def _raises(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    try:
        await waits(ctx)
    except BaseException:
        bank.write("paid")
        raise ValueError("the receipt is lost") from None
    return "never"


async def _own_task(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    await asyncio.wait([asyncio.ensure_future(waits(ctx))])
    bank.write("paid")
    return "the receipt"


async def _as_results(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    await asyncio.gather(waits(ctx), return_exceptions=True)
    bank.write("paid")
    return "the receipt"


async def _group_caught(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits(ctx))  # type: ignore[arg-type]
    except BaseExceptionGroup:
        bank.write("paid")
    return "the receipt"


CATCHES = (_returns, _raises, _own_task, _as_results, _group_caught)


async def _lets_pass(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    try:
        await waits(ctx)
    finally:
        bank.write("tidied")
    return "the receipt"


async def _group(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(waits(ctx))  # type: ignore[arg-type]
    return "the receipt"


async def _uses_its_context(ctx: ToolContext, waits: Waits, bank: Bank) -> str:
    with contextlib.suppress(BaseException):
        await waits(ctx)
    await ctx.step("pay", bank.write, "paid")
    return "the receipt"


PASSES = (_lets_pass, _group, _uses_its_context)
quiet = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def _nobody_knows(ctx: ToolContext, args: Any) -> None:
    pass


def made(kind: Kind, effect: str, body: Any, waits: Waits, bank: Bank) -> Any:
    async def work(ctx: ToolContext) -> str:
        return await body(ctx, waits, bank)

    options: dict[str, Any] = {"effect": effect}
    if effect == "verifiable":
        options["verify"] = _nobody_knows
    return program(kind, work, **options)


@quiet
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", ONCE)
@pytest.mark.parametrize("waits", WAITS)
@pytest.mark.parametrize("body", CATCHES, ids=lambda f: f.__name__)
async def test_g4_a_body_that_went_on_after_its_pause_is_put_to_a_person_and_not_run_again(
    kind: Kind, effect: str, waits: str, body: Any, bank: Bank
) -> None:
    place = Place()
    one = made(kind, effect, body, WAITS[waits], bank)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        assert await place.rests(run) == "waiting"
        [asked] = await rt.inbox(run="r")
        assert asked.kind == "in_doubt"
        [doubted] = place.all(Doubted)
        assert "caught its own pause" in doubted.why and "BaseException" in doubted.why
        assert ("the receipt is lost" if body is _raises else "the receipt") in doubted.why
        assert not place.all(Suspended)
        await rt.answer(asked, {"choice": "happened", "result": "by hand"}, by="ana")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert bank.lines == ["paid"]


@quiet
@pytest.mark.parametrize("kind", KINDS)
async def test_a_person_may_have_it_run_again(kind: Kind, bank: Bank) -> None:
    place = Place()
    one = made(kind, "unsafe", _returns, _asks, bank)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        [asked] = await rt.inbox(run="r")
        await rt.answer(asked, "run", by="ana")
        await place.until(Doubted, 2)
        assert bank.count("paid") == 2
        assert await place.rests(run) == "waiting", "and nobody but a person has it run a third time"
    assert bank.count("paid") == 2


@quiet
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", AGAIN)
@pytest.mark.parametrize("body", CATCHES, ids=lambda f: f.__name__)
async def test_what_may_happen_twice_counts_as_paused(kind: Kind, effect: str, body: Any, bank: Bank) -> None:
    place = Place()
    one = made(kind, effect, body, _asks, bank)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        assert await place.rests(run) == "waiting"
        [asked] = await rt.inbox(run="r")
        assert (asked.kind, asked.payload) == ("question", "which fee?")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", (*ONCE, *AGAIN))
@pytest.mark.parametrize("body", PASSES, ids=lambda f: f.__name__)
async def test_a_pause_that_comes_out_is_a_pause_whatever_it_is_wrapped_in(
    kind: Kind, effect: str, body: Any, bank: Bank
) -> None:
    place = Place()
    one = made(kind, effect, body, _asks, bank)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        [asked] = await rt.inbox(run="r")
        assert asked.kind == "question"
        assert not place.all(Doubted) and bank.count("paid") == 0
        await rt.answer(asked, 5, by="ana")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert bank.count("paid") == (body is _uses_its_context)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", (*ONCE, *AGAIN))
async def test_a_body_that_does_not_run_again_counts_as_paused(kind: Kind, effect: str, bank: Bank) -> None:
    """Its answer is the result; what the body gave is not."""

    async def asks(ctx: ToolContext) -> Any:
        ctx.pause_for("fee", "which fee?")

    place = Place()
    one = made(kind, effect, _returns, asks, bank)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        [asked] = await rt.inbox(run="r")
        await rt.answer(asked, 5, by="ana")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert bank.lines == ["paid"] and not place.all(Doubted)


@pytest.mark.parametrize("effect", ONCE)
async def test_a_body_that_caught_the_pause_of_its_run_is_not_run_again_either(effect: str, bank: Bank) -> None:
    place = Place()

    async def work(ctx: ToolContext, _waits: Waits, _bank: Bank) -> str:
        bank.write("begun")
        await bank.pass_through("paused")
        with contextlib.suppress(BaseException):
            await ctx.save({"n": 1})
        bank.write("paid")
        return "the receipt"

    one = made("tool", effect, work, _asks, bank)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begun")
        await run.pause(by="ana")
        bank.gate("paused").set()
        await place.until(Doubted)
        await place.rests(run)
        await run.resume(by="ana")
        async with asyncio.timeout(LIMIT):
            while not (items := await rt.inbox(run="r")):
                await asyncio.sleep(0.002)
        assert items[0].kind == "in_doubt"
    assert not place.all(Yielded) and bank.lines == ["begun", "paid"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_sync_body_that_catches_its_pause_is_put_to_a_person_as_well(kind: Kind, bank: Bank) -> None:
    place = Place()

    def work(ctx: ToolContext) -> str:
        with contextlib.suppress(BaseException):
            ctx.pause_for("fee", "which fee?", resume_to="self")
        bank.write("paid")
        return "the receipt"

    one = program(kind, work, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        [asked] = await rt.inbox(run="r")
    assert asked.kind == "in_doubt" and bank.lines == ["paid"]


@tool(effect="unsafe", isolate=True)
def isolated(ctx: ToolContext) -> str:
    """Pay."""
    with contextlib.suppress(BaseException):
        ctx.pause_for("fee", "which fee?", resume_to="self")
    return "the receipt"


async def test_a_body_in_a_process_of_its_own_that_catches_its_pause_is_put_to_a_person_as_well() -> None:
    outcome = await Agent("one", model=ScriptedModel([call("isolated")], "done"), tools=[isolated]).run("go")
    assert isinstance(outcome, Paused)
    [asked] = outcome.interrupts
    assert asked.kind == "in_doubt"
    [doubted] = [record for record in outcome.checkpoint.records if isinstance(record, Doubted)]
    assert "caught its own pause" in doubted.why and "the receipt" in doubted.why


# Steps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("waits", WAITS)
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_the_function_of_a_step_cannot_wait(kind: Kind, waits: str, sync: bool, bank: Bank) -> None:
    """It would be executed again from its beginning, and its question would be nobody's once the step is recorded."""
    place = Place()

    async def work(ctx: ToolContext) -> Any:
        return await ctx.step("send", WAITS[waits], ctx)

    def work_here(ctx: ToolContext) -> Any:
        return ctx.sync.step("send", WAITS[waits], ctx)

    one = program(kind, work_here if sync else work, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        what, words = await place.ends(run)
    assert what == "error"
    assert "ctx.step('send')" in words and "enclosing_step" in words
    assert not place.all(Suspended)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_enclosing_step_waits_and_a_step_inside_of_it_cannot(kind: Kind, bank: Bank) -> None:
    place = Place()

    async def inner(ctx: ToolContext) -> Any:
        fee = await _asks(ctx)
        return await ctx.step("pay", lambda: bank.write(f"paid {fee}"))

    async def work(ctx: ToolContext) -> str:
        await ctx.enclosing_step("all", lambda: inner(ctx))
        with pytest.raises(Exception, match="enclosing_step"):
            await ctx.enclosing_step("more", lambda: ctx.step("ask", _asks, ctx))
        return "done"

    one = program(kind, work, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        [asked] = await rt.inbox(run="r")
        await rt.answer(asked, 5, by="ana")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert bank.lines == ["paid 5"]


@pytest.mark.parametrize("enclosing", [False, True], ids=["step", "enclosing step"])
async def test_a_run_inside_of_a_step_waits_as_any_run_does(enclosing: bool) -> None:
    place, inner = Place(), list[Paused]()

    async def run_it(ctx: ToolContext) -> str:
        outcome = await Agent("inner", model=ScriptedModel([call("ask")], "done"), tools=[ask]).run("go")
        assert isinstance(outcome, Paused)
        inner.append(outcome)
        return outcome.interrupts[0].kind

    @tool(effect="unsafe")
    async def ask(ctx: ToolContext) -> Any:
        """Ask."""
        return await _asks(ctx)

    async def work(ctx: ToolContext) -> str:
        if enclosing:
            return await ctx.enclosing_step("run", lambda: run_it(ctx))
        return await ctx.step("run", run_it, ctx)

    one = program("tool", work, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        assert isinstance(await run.wait(LIMIT), Completed)
    [suspended] = [record for record in inner[0].checkpoint.records if isinstance(record, Suspended)]
    assert suspended.key == "?0"


async def test_a_step_in_which_progress_is_saved_is_ended_before_the_run_pauses(bank: Bank) -> None:
    place = Place()

    async def sends(ctx: ToolContext) -> str:
        bank.write("sent")
        await bank.pass_through("paused")
        await ctx.save({"sent": 1})
        return "sent"

    async def work(ctx: ToolContext) -> str:
        await ctx.step("send", sends, ctx)
        await ctx.save({"sent": 2})
        bank.write("behind")
        return "done"

    one = program("tool", work, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("sent")
        await run.pause(by="ana")
        bank.gate("paused").set()
        await place.until(Yielded)
        await place.rests(run)
        await run.resume(by="ana")
        await place.until(Returned)
    assert bank.lines == ["sent", "behind"] and not place.all(Faulted)
