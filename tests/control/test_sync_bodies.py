"""`step`, `save`, `sleep` and `on_cancel` in sync bodies, of tools and chunks: the same as in async ones, without `await`."""

# pyright: reportUnusedCoroutine=false, reportUnknownVariableType=false

import asyncio
import threading
from typing import Any

import pytest
from tests.control.test_retries import program
from tests.runtime.world import LIMIT

from adjourn import testing
from adjourn.core.records import Stepped

KINDS = pytest.mark.parametrize("kind", ["tool", "chunk"])
UNDONE: list[str] = []


def release(what: str) -> None:
    """A compensation, found by its name."""
    UNDONE.append(what)


def value_of(kind: str, outcome: Any) -> Any:
    return outcome.output if kind == "tool" else outcome.output["value"]


@KINDS
async def test_a_step_runs_once_in_the_bodys_own_thread(kind: str) -> None:
    ran: list[tuple[str, bool]] = []

    def work(ctx: Any) -> str:
        def one(name: str) -> str:
            ran.append((name, threading.current_thread() is threading.main_thread()))
            return name.upper()

        async def other() -> str:
            ran.append(("b", threading.current_thread() is threading.main_thread()))
            return "B"

        first: Any = ctx.step("a", one, "a")
        answer: Any = ctx.pause_for("question", "?", resume_to="self")
        second: Any = ctx.step("b", other)
        return f"{first} {answer} {second}"

    made = program(kind, work, sync=True)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        await run.wait(LIMIT)
        [item] = await env.runtime.inbox()
        await env.runtime.answer(item.id, "yes", by="ana")
        assert value_of(kind, await run.wait(LIMIT)) == "A yes B"
        assert ran == [("a", False), ("b", True)], "what is async runs on the loop, what blocks does not"
        steps = [x for _, x in await env.runtime.store.load("r") if isinstance(x, Stepped)]
        assert [x.key for x in steps] == ["step:a", "step:b"]


@KINDS
async def test_a_sync_body_sleeps_durably_and_keeps_its_progress(kind: str) -> None:
    lives: list[Any] = []

    def work(ctx: Any) -> str:
        lives.append(ctx.progress)
        if ctx.progress is None:
            ctx.save({"done": 1})
        ctx.sleep(3600)
        progress: Any = ctx.progress
        return f"rested after {progress['done']}"

    made = program(kind, work, sync=True)
    async with testing.env([made]) as env:
        parked = asyncio.Event()
        run = await env.runtime.start(made, "go", run_id="r")
        end = env.runtime.store.subscribe("r", parked.set)
        async with asyncio.timeout(LIMIT):
            while await run.status() != "waiting":
                await parked.wait()
                parked.clear()
        end()
        assert lives == [None]
        await env.skip(3601)
        assert value_of(kind, await run.wait(LIMIT)) == "rested after 1"
        assert lives == [None, {"done": 1}]


@KINDS
async def test_what_a_sync_body_registers_is_run_on_cancel(kind: str) -> None:
    UNDONE.clear()

    def work(ctx: Any) -> str:
        ctx.on_cancel(release, "lock")
        return str(ctx.pause_for("question", "?", resume_to="self"))

    made = program(kind, work, sync=True)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        await run.wait(LIMIT)
        await run.cancel(by="ana")
        assert (await run.wait(LIMIT)).status == "cancelled"
        assert UNDONE == ["lock"]


@KINDS
async def test_an_error_in_a_step_is_the_bodys_own(kind: str) -> None:
    def work(ctx: Any) -> str:
        def fails() -> None:
            raise ValueError("broken")

        try:
            ctx.step("a", fails)
        except ValueError as error:
            return f"caught {error}"
        return "?"

    made = program(kind, work, sync=True)
    async with testing.env([made]) as env:
        run = await env.runtime.start(made, "go", run_id="r")
        assert value_of(kind, await run.wait(LIMIT)) == "caught broken"
