"""A body that holds the event loop is named, with how long; one that does not is not disturbed."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.logs import ours

from adjourn import Agent, ToolContext, tool
from adjourn.bodies import loop_watch
from adjourn.bodies.loop_watch import watched
from adjourn.flow.flow import Flow
from adjourn.flow.flow_context import FlowContext
from adjourn.testing import ScriptedModel, call


class Clock:
    """A clock that only moves when a body says so."""

    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        return self.now


async def test_each_stretch_without_an_await_is_measured_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()

    async def body() -> str:
        for length in (0.4, 0.4, 3.0):
            clock.now += length
            await asyncio.sleep(0)
        return "parsed"

    assert await watched(body(), "parse", clock) == "parsed"
    [line] = [record for record in ours(caplog) if "tool" in record.__dict__]  # threads of other tests may still end
    assert "parse blocked the event loop for 3.0 s" in line.getMessage()
    assert (line.levelno, line.__dict__["tool"], line.__dict__["seconds"]) == (logging.WARNING, "parse", 3.0)


async def test_waiting_is_not_holding(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()

    async def body() -> None:
        asyncio.get_running_loop().call_soon(lambda: setattr(clock, "now", clock.now + 60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    await watched(body(), "parse", clock)
    assert not ours(caplog)


async def test_values_errors_and_cancellation_go_through_as_they_are() -> None:
    async def raises() -> None:
        await asyncio.sleep(0)
        raise KeyError("k")

    with pytest.raises(KeyError):
        await watched(raises(), "x")

    seen: list[str] = []

    async def catches() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
        return "went on"

    async def whole() -> str:
        return await watched(catches(), "x")

    task = asyncio.ensure_future(whole())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "went on"
    assert seen == ["cancelled"]


async def test_closing_it_closes_the_body() -> None:
    seen: list[str] = []

    async def body() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("closed")

    async def whole() -> None:
        await watched(body(), "x")

    outer = whole()
    outer.send(None)
    outer.close()
    assert seen == ["closed"]


async def test_what_is_not_a_coroutine_is_left_alone() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    future.set_result(1)
    assert watched(future, "x") is future


@pytest.fixture
async def impatient(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(loop_watch, "BLOCKED", -1.0)
    yield


def said(caplog: pytest.LogCaptureFixture) -> set[Any]:
    return {record.__dict__["tool"] for record in ours(caplog) if "tool" in record.__dict__}


async def test_the_body_of_a_tool_is_watched(impatient: None, caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def parse(ctx: ToolContext) -> str:
        """Parse."""
        return "parsed"

    await Agent("a", model=ScriptedModel([call("parse")], "done"), tools=[parse]).run("go")
    assert said(caplog) == {"parse"}


async def test_the_body_of_a_chunk_is_watched(impatient: None, caplog: pytest.LogCaptureFixture) -> None:
    flow = Flow("f")

    @flow.chunk
    async def parse_all(ctx: FlowContext) -> None:
        return None

    flow.to(parse_all)
    await flow.start("go")
    assert said(caplog) == {"parse_all"}
