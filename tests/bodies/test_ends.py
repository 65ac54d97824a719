"""Every way in which a body may end is that body's result, error or doubt. None strands its run or ends its worker."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from tests.bodies.cases import KINDS, Kind, Place, how, program

from adjourn import InDoubt, LeaseLost, StoreError, ToolContext, ToolFailed
from adjourn.bodies import retries
from adjourn.bodies.runner import READ_AGAIN
from adjourn.core.records import Faulted


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried again at once."""
    monkeypatch.setattr(retries, "BACKOFF", 0.001)


class Own(BaseException):
    """Something that nobody expects."""


class Mute(Exception):
    """An error that fails when it is asked what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


async def own_timeout() -> None:
    async with asyncio.timeout(0.001):
        await asyncio.sleep(5)


async def cancelled_by_others() -> None:
    """A library cancels the task that used it."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(5)


kept: list[AsyncExitStack] = []


async def session_that_dies() -> None:
    """ "Connect once, keep the session": its scope cancels whoever opened it."""
    stack = AsyncExitStack()
    kept.append(stack)
    group = await stack.enter_async_context(anyio.create_task_group())

    async def reader() -> None:
        raise ConnectionError("the server went away")

    group.start_soon(reader)
    await anyio.sleep(5)


async def cancelled_from_inside() -> None:
    raise asyncio.CancelledError


async def group() -> None:
    raise BaseExceptionGroup("both", [SystemExit(3), ValueError("no")])


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def exits() -> None:
    sys.exit(3)


SYNC: dict[str, tuple[Callable[[], None], str, str]] = {
    "raises": (raising(ValueError("no")), "error", "ValueError: no"),
    "fails": (raising(ToolFailed("sold out")), "error", "sold out"),
    "exits": (exits, "error", "SystemExit: 3"),
    "exits without a code": (raising(SystemExit()), "error", "SystemExit"),
    "generator exit": (raising(GeneratorExit()), "error", "GeneratorExit"),
    "stop iteration": (raising(StopIteration("x")), "error", "StopIteration"),
    "no words": (raising(Mute()), "error", "Mute"),
    "its own kind": (raising(Own("odd")), "error", "Own: odd"),
    "store error of its own": (raising(StoreError("my own database")), "error", "my own database"),
    "lease of its own": (raising(LeaseLost("my own lease")), "error", "my own lease"),
    "time": (raising(TimeoutError("the bank")), "error", "the bank"),
    "in doubt": (raising(InDoubt("the line broke")), "doubt", "the line broke"),
    "interrupted": (raising(KeyboardInterrupt()), "doubt", "interrupted"),
}
ASYNC: dict[str, tuple[Callable[[], Awaitable[None]], str, str]] = {
    "own timeout": (own_timeout, "error", "TimeoutError"),
    "cancelled by others": (cancelled_by_others, "doubt", "not by the run"),
    "session": (session_that_dies, "doubt", "not by the run"),
    "cancelled from inside": (cancelled_from_inside, "error", "cancelled from inside"),
    "group": (group, "error", "both"),
}
TRIED_AGAIN = {"interrupted", "cancelled by others", "session"}
"""What comes from outside: a `read` is tried again."""


def body_of(name: str, sync: bool, began: list[str]) -> Callable[..., Any]:
    if name in ASYNC:
        inner = ASYNC[name][0]

        async def later(ctx: ToolContext) -> None:
            began.append(name)
            await inner()

        return later
    raises = SYNC[name][0]

    def now(ctx: ToolContext) -> None:
        began.append(name)
        raises()

    async def soon(ctx: ToolContext) -> None:
        now(ctx)

    return now if sync else soon


ALL = [(name, sync) for name in SYNC for sync in (True, False)] + [(name, False) for name in ASYNC]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "sync"), ALL)
async def test_an_end_is_the_bodys_own(kind: Kind, name: str, sync: bool) -> None:
    place, began = Place(), list[str]()
    one = program(kind, body_of(name, sync, began), timeout=30, settle=0)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        what, words = await place.ends(run)
        expected, said, *_ = (SYNC | ASYNC)[name][1:]
        assert what == expected
        assert said in words
        assert len(began) == 1
        other = await rt.start(one, "go", run_id="other")  # the worker is as good as before
        await place.rests(other)
        assert how(place.records("other"))[0] == what
        waits = (await rt.store.get("r")).status.value == "waiting"
        assert waits == bool(await rt.inbox(run="r")), "it waits, and nobody is asked"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "sync"), ALL)
async def test_a_read_is_tried_again_a_few_times_at_most(kind: Kind, name: str, sync: bool) -> None:
    place, began = Place(), list[str]()
    one = program(kind, body_of(name, sync, began), effect="read", timeout=30)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        what, _ = await place.ends(run)
    if name == "in doubt":
        return  # it says so itself: an old law of its own
    assert what == "error"
    assert len(began) == (READ_AGAIN if name in TRIED_AGAIN else 1)
    again = [x for x in place.all(Faulted) if x.transient]
    assert len(again) == len(began) - 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["undo", "verify"])
@pytest.mark.parametrize(("name", "sync"), [x for x in ALL if x[0] != "in doubt"])
async def test_an_undo_or_a_verify_that_ends_oddly_is_asked_about(kind: Kind, what: str, name: str, sync: bool) -> None:
    """It never ends its worker, and never leaves a run that waits for nothing."""
    place, began = Place(), list[str]()
    odd = body_of(name, sync, began)

    async def work(ctx: ToolContext) -> None:
        if what == "verify":
            raise InDoubt("who knows")

    async def ask(ctx: ToolContext) -> None:
        ctx.pause_for("question", "go on?")

    def undo(ctx: ToolContext, args: Any, result: Any) -> Any:
        return odd(ctx)

    def verify(ctx: ToolContext, args: Any) -> Any:
        return odd(ctx)

    options: dict[str, Any] = {"undo": undo} if what == "undo" else {"effect": "verifiable", "verify": verify}
    one = program(kind, work, ask, **options)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        if what == "undo":
            await run.cancel(by="ann")
            assert await place.rests(run) == "stuck"
            assert len(began) == 3
        else:
            assert len(began) == 1
        [asked] = await rt.inbox(run="r")
        assert asked.kind == ("undo" if what == "undo" else "in_doubt")
