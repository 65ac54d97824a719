"""Undo, verify and compensations: one behaviour for tools and for chunks."""

import asyncio
import functools
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, Bank, Kind, Place, program

from adjourn import Cancelled, InDoubt, InvalidDefinition, ToolContext
from adjourn.bodies import compensations, retries
from adjourn.core.records import Faulted, Stepped, Verified
from adjourn.driver import unfinished_bodies as flights


class Receipt:
    """Nothing that a journal could hold."""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "BACKOFF", 0.001)


async def work(ctx: ToolContext) -> str:
    return "done"


async def ask(ctx: ToolContext) -> None:
    ctx.pause_for("question", "go on?")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "given", [Receipt(), {1, 2}, float("nan"), None, "ok"], ids=["object", "set", "nan", "none", "text"]
)
async def test_an_undo_may_give_back_anything_and_is_run_once(kind: Kind, given: Any, bank: Bank) -> None:
    place = Place()

    def undo(ctx: ToolContext, args: Any, result: Any) -> Any:
        bank.write(f"undone {result}")
        return given

    one = program(kind, work, ask, undo=undo)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        await run.cancel(by="ann")
        outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Cancelled)
    assert (len(outcome.undone), outcome.residue) == (1, [])
    assert bank.lines == ["undone done"]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_undo_cannot_wait_for_a_person(kind: Kind, bank: Bank) -> None:
    place = Place()

    async def undo(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("undoing")
        ctx.pause_for("question", "really?")

    one = program(kind, work, ask, undo=undo)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        await run.cancel(by="ann")
        assert await place.rests(run) == "stuck"
        [asked] = await rt.inbox(run="r")
    assert asked.kind == "undo"
    assert "only tools and chunks can" in asked.payload["error"]
    assert bank.count("undoing") == len(place.all(Faulted)) == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_a_verify_that_never_answers_is_unknown_when_its_time_is_over(kind: Kind) -> None:
    place = Place()

    async def doubts(ctx: ToolContext) -> str:
        raise InDoubt("no answer")

    async def looks(ctx: ToolContext, args: Any) -> bool:
        await asyncio.sleep(60)
        return True

    one = program(kind, doubts, effect="verifiable", verify=looks, timeout=0.05)
    async with place.runtime(one) as rt:
        await rt.start(one, "go", run_id="r")
        said = await place.until(Verified)
        assert said.answer == "unknown"
        assert "TimeoutError" in said.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ends", ["returns", "cancelled"])
async def test_a_compensation_is_forgotten_with_its_call(kind: Kind, ends: str, bank: Bank) -> None:
    place = Place(grace=0.05)

    async def release() -> None:
        bank.write("released")

    async def holds(ctx: ToolContext) -> str:
        await ctx.on_cancel(release)
        bank.write("holding")
        if ends == "cancelled":
            await asyncio.sleep(60)
        return "held"

    one = program(kind, holds)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("holding")
        if ends == "cancelled":
            await run.cancel(by="ann")
        await place.rests(run)
    assert bank.count("released") == (1 if ends == "cancelled" else 0)
    assert not [key for key in compensations._registered if key.run == "r"]


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_of_a_thread_is_kept_when_it_has_ended(kind: Kind) -> None:
    """Neither of a body's nor of an undo's."""
    place = Place()

    def works(ctx: ToolContext) -> str:
        return "done"

    def undo(ctx: ToolContext, args: Any, result: Any) -> str:
        return "undone"

    one = program(kind, works, ask, undo=undo)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        await run.cancel(by="ann")
        assert isinstance(await run.wait(LIMIT), Cancelled)
    assert not [key for key in flights._threads if key.run == "r"]
    assert not [key for key in flights._left if key.run == "r"]


class Door:
    """Something that can be called, and has no name."""

    def __call__(self) -> None:
        """Open."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "given", [lambda: None, functools.partial(print, "x"), Door()], ids=["lambda", "partial", "object"]
)
async def test_a_compensation_without_a_name_is_refused_and_nothing_is_recorded(kind: Kind, given: Any) -> None:
    place, refused = Place(), list[InvalidDefinition]()

    async def holds(ctx: ToolContext) -> str:
        try:
            await ctx.on_cancel(given)
        except InvalidDefinition as error:
            refused.append(error)
            raise
        return "held"

    one = program(kind, holds)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
    [error] = refused
    assert "must have one to be found after a crash" in error.what and "on_cancel(release, lock_id)" in error.advice
    assert not place.all(Stepped) and not [key for key in compensations._registered if key.run == "r"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_named_function_inside_of_the_body_is_run_in_the_same_process(kind: Kind, bank: Bank) -> None:
    place = Place(grace=0.05)

    async def holds(ctx: ToolContext) -> str:
        def release(what: str) -> None:
            bank.write(f"released {what}")

        await ctx.on_cancel(release, "a")
        await ctx.on_cancel(bank.write, "by its method")
        bank.write("holding")
        await asyncio.sleep(60)
        return "held"

    one = program(kind, holds)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("holding")
        await run.cancel(by="ann")
        await place.rests(run)
    assert bank.lines == ["holding", "by its method", "released a"]
