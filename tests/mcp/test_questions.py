"""What a server asks in a call is a question for a person, and outlives the server and the process."""

from pathlib import Path
from typing import Any

import pytest
from tests.mcp.conftest import FakeServer
from tests.mcp.life import agent
from tests.mcp.test_mcp_tools import results
from tests.server.world import eventually

from adjourn import Agent, Completed, Decision, Runtime
from adjourn.core.records import Intended
from adjourn.mcp import McpTools
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel, call, env

DAY = 24 * 3600.0
FAKES = pytest.mark.parametrize("server", [False, True], ids=["2025-11-25", "2026-07-28"], indirect=True)


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> FakeServer:
    return FakeServer(tmp_path, modern=getattr(request, "param", False))


@FAKES
async def test_a_question_is_answered_the_next_day_with_another_server_and_another_runtime(server: FakeServer) -> None:
    server.has("confirm")
    clock, path = FakeClock(), server.folder / "runs.db"
    async with (
        server.tools(effects={"confirm": "idempotent"}) as tools,
        env([caller := agent(tools, "confirm")], store=SQLiteStore(str(path), now=clock.now), clock=clock) as first,
    ):
        run = await first.runtime.start(caller, "go")
        await run.wait()
        [asked] = await first.runtime.inbox()
        assert asked.kind == "question" and asked.type == "mcp"
        assert asked.payload == {"question": "Why?", "server": "fake", "tool": "confirm"}
        assert asked.answer_schema == {
            "type": "object",
            "properties": {"note": {"type": "string"}},
            "required": ["note"],
        }
    clock.advance(DAY)
    async with (
        server.tools(effects={"confirm": "idempotent"}) as tools,
        env([agent(tools, "confirm")], store=SQLiteStore(str(path), now=clock.now), clock=clock) as second,
    ):
        [asked] = await second.runtime.inbox()
        with pytest.raises(Exception, match="note"):
            await second.runtime.answer(asked, {"other": 1}, by="ana")
        await second.runtime.answer(asked, {"note": "because"}, by="ana")
        run = await second.runtime.get(run.run_id)
        assert isinstance(await run.wait(), Completed)
        assert "done: because" in await results(run)
    assert (server.folder / "done").read_text() == "because"
    one, two = server.calls
    assert one["pid"] != two["pid"] and one["arguments"] == two["arguments"]


async def asked_and(server: FakeServer, tool: str, answer: Any, **options: Any) -> tuple[Any, str]:
    """What a person was asked, and what the model has read after their answer."""
    async with server.tools(**options) as tools, env([caller := agent(tools, tool)]) as one:
        run = await one.runtime.start(caller, "go")
        await run.wait()
        [asked] = await one.runtime.inbox()
        await one.runtime.answer(asked, answer, by="ana")
        assert isinstance(await run.wait(), Completed)
        return asked, await results(run)


@FAKES
async def test_a_question_that_is_dismissed_is_declined(server: FakeServer) -> None:
    server.has("confirm")
    _, read = await asked_and(server, "confirm", Decision.dismiss("not mine"), effects={"confirm": "idempotent"})
    assert "not done: decline" in read and not (server.folder / "done").exists()


async def test_a_person_is_told_if_their_answer_has_an_unsafe_tool_called_again(server: FakeServer) -> None:
    server.has("confirm")
    asked, read = await asked_and(server, "confirm", {"note": "n"}, effects={"confirm": "unsafe"})
    assert "may happen a second time" in asked.payload["again"]
    assert "done: n" in read


async def test_a_server_that_ends_with_an_error_without_an_answer_has_asked_all_the_same(server: FakeServer) -> None:
    server.has("insist")
    asked, read = await asked_and(server, "insist", {"note": "n"}, effects={"insist": "unsafe"})
    assert asked.kind == "question" and "may happen a second time" in asked.payload["again"]
    assert "done: n" in read and len(server.calls) == 2


async def test_the_state_of_a_server_goes_back_to_it_as_it_was(tmp_path: Path) -> None:
    server = FakeServer(tmp_path, modern=True)
    server.has("confirm")
    asked, _ = await asked_and(server, "confirm", {"note": "n"}, effects={"confirm": "unsafe"})
    assert "again" not in asked.payload
    first, second = server.calls
    assert "requestState" not in first and second["requestState"] == "sealed by the server"
    assert second["inputResponses"] == {"why": {"action": "accept", "content": {"note": "n"}}}


async def test_a_page_is_shown_and_not_opened(server: FakeServer) -> None:
    server.has("visit")
    async with server.tools(effects={"visit": "unsafe"}) as tools, env([caller := agent(tools, "visit")]) as one:
        run = await one.runtime.start(caller, "go")
        await run.wait()
        [asked] = await one.runtime.inbox()
        assert asked.payload["url"] == "https://bank.example/in" and asked.payload["question"] == "Sign in first."
        (server.folder / "visited").touch()
        await one.runtime.answer(asked, "accept", by="ana")
        assert isinstance(await run.wait(), Completed)
        assert "visit was called" in await results(run)


async def test_a_server_that_wants_to_be_called_later_is_called_later(tmp_path: Path) -> None:
    server = FakeServer(tmp_path, modern=True)
    server.has("later")
    async with (
        server.tools(effects={"later": "unsafe"}) as tools,
        Runtime(MemoryStore(), [caller := agent(tools, "later")]) as rt,
    ):
        run = await rt.start(caller, "go")
        assert isinstance(await run.wait(), Completed)
        assert "at last" in await results(run)
    assert len(server.calls) == 2


async def test_a_server_that_asks_without_end_is_given_up(server: FakeServer) -> None:
    server.has("visit")
    async with server.tools(effects={"visit": "unsafe"}) as tools, env([caller := agent(tools, "visit")]) as one:
        run = await one.runtime.start(caller, "go")
        outcome = await run.wait()
        answered = 0
        while not isinstance(outcome, Completed):
            [asked] = await one.runtime.inbox()
            await one.runtime.answer(asked, "accept", by="ana")
            answered += 1
            outcome = await run.wait()
        assert answered == 10
        assert "asked 10 times" in await results(run)


async def test_what_an_abandoned_call_asks_later_gets_no_answer_that_was_given_to_another_run(
    server: FakeServer,
) -> None:
    server.has("late")

    def caller(order: str, tools: McpTools) -> Agent[Any]:
        return Agent(order, model=ScriptedModel([call("late", order=order)], "done"), tools=[tools])

    async def is_called() -> bool:
        return len(server.calls) == 2

    async with server.tools(effects={"late": "idempotent"}) as tools:
        first, second = caller("first", tools), caller("second", tools)
        async with Runtime(MemoryStore(), [first, second]) as rt:
            agreed = await rt.start(second, "go")
            await agreed.wait()
            [asked] = await rt.inbox()
            left = await rt.start(first, "go")
            await eventually(is_called)
            await left.cancel(by="ana")
            await left.wait()
            await rt.answer(asked, {"note": "only the second"}, by="ana")
            assert isinstance(await agreed.wait(), Completed)
            assert "second: accept" in await results(agreed)
    said = (server.folder / "late").read_text().splitlines()
    assert "first after all: accept" not in said and said[-1] == "second: accept"


async def test_a_call_that_waits_for_its_turn_behind_an_abandoned_one_is_sent_once_to_a_new_session(
    server: FakeServer,
) -> None:
    server.has("hang", "pay")

    def caller(tool: str, tools: McpTools) -> Agent[Any]:
        return Agent(tool, model=ScriptedModel([call(tool, cents=1)], "done"), tools=[tools])

    async def is_called() -> bool:
        return len(server.calls) == 1

    async with server.tools(effects={"hang": "idempotent", "pay": "unsafe"}) as tools:
        hangs, pays = caller("hang", tools), caller("pay", tools)
        async with Runtime(MemoryStore(), [hangs, pays]) as rt:
            left = await rt.start(hangs, "go")
            await eventually(is_called)
            waits = await rt.start(pays, "go")

            async def is_intended() -> bool:
                return any(isinstance(record, Intended) for _, record in await rt.store.load(waits.run_id))

            await eventually(is_intended)
            await left.cancel(by="ana")
            assert isinstance(await waits.wait(), Completed)
    assert [made["name"] for made in server.calls] == ["hang", "pay"]
