"""Tools of a server, under the policy like any other."""

import os
from typing import Any

import pytest
from tests.mcp.conftest import FakeServer

from adjourn import Agent, Completed, Policy, ToolContext, allow, ask, ask_human, is_paused
from adjourn.agent.toolset import ToolsetContext
from adjourn.core.messages import Result
from adjourn.errors import InvalidDefinition
from adjourn.mcp import McpTools, mcp_tools
from adjourn.mcp.mcp_tool import McpTool
from adjourn.runtime.runtime import Runtime
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call

READ = {"annotations": {"readOnlyHint": True}}


def agent(tools: McpTools, *replies: Any, policy: Policy | None = None) -> Agent[Any]:
    return Agent(
        "payer", model=ScriptedModel(*(replies or ([call("pay", cents=5)], "done"))), tools=[tools], policy=policy
    )


async def started(rt: Runtime, input: str) -> Any:
    program: Any = rt.programs["payer"]
    return await rt.start(program, input)


async def found_by(tools: McpTools) -> list[McpTool]:
    return [*await tools.tools(ToolsetContext("r1", "", "", {}))]


async def results(run: Any) -> str:
    return str([message.content for message in await run.messages() if isinstance(message, Result)])


async def test_a_tool_of_a_server_that_nobody_trusts_is_unsafe_and_asks_whatever_it_says_of_itself(
    server: FakeServer,
) -> None:
    server.has("pay", **READ)
    async with server.tools() as tools:
        waits = await agent(tools).run("pay")
        assert is_paused(waits) and not server.calls
        [asked] = waits.interrupts
        assert asked.call is not None and asked.call.effect == "unsafe" and asked.call.description == "To pay."
        done = await agent(tools).resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed)
    assert [one["arguments"] for one in server.calls] == [{"cents": 5}]


@pytest.mark.parametrize(
    ("hints", "effect", "asks"),
    [
        ({"readOnlyHint": True}, "read", False),
        ({"idempotentHint": True, "destructiveHint": False}, "idempotent", False),
        ({"idempotentHint": True}, "idempotent", True),
        ({"destructiveHint": False}, "unsafe", False),
        ({}, "unsafe", True),
    ],
)
async def test_hints_of_a_trusted_server_are_its_tools_effects(
    server: FakeServer, hints: dict[str, bool], effect: str, asks: bool
) -> None:
    server.has("pay", annotations=hints)
    async with server.tools(trust=True) as tools:
        [found] = await found_by(tools)
        assert found.effect.value == effect
        assert is_paused(await agent(tools).run("pay")) == asks


async def test_a_rule_never_makes_a_hint_less_strict_and_what_you_say_of_a_tool_yourself_does(
    server: FakeServer,
) -> None:
    server.has("pay", annotations={"destructiveHint": True})
    free = Policy([allow("*")])
    async with server.tools(trust=True) as tools:
        assert is_paused(await agent(tools, policy=free).run("pay"))
    async with server.tools(effects={"pay": "idempotent"}) as tools:
        assert isinstance(await agent(tools, policy=free).run("pay"), Completed)
    async with server.tools(effects={"pay": "idempotent"}) as tools:
        assert is_paused(await agent(tools, policy=Policy([ask("pay")])).run("pay"))


@pytest.mark.parametrize(
    "change",
    [
        {"description": "To pay, and to tell everybody."},
        {"inputSchema": {"type": "object", "properties": {"cents": {"type": "integer", "description": "in euros"}}}},
        {"annotations": {"destructiveHint": True}},
        {"title": "Harmless"},
    ],
)
async def test_a_changed_definition_voids_the_approval_and_nothing_is_called(
    server: FakeServer, change: dict[str, Any]
) -> None:
    again = [call("pay", cents=5)], [call("pay", cents=5)], "done"
    async with server.tools() as tools, Runtime(MemoryStore(), [agent(tools, *again)]) as rt:
        run = await started(rt, "pay")
        await run.wait()
        [before] = await rt.inbox()
        server.has("pay", **change)
        await rt.approve(before, by="ana")
        await run.wait()
        assert "the tool pay has changed since it was called; call it again; nothing was done" in await results(run)
        assert not server.calls
        [after] = await rt.inbox()
        assert after.id != before.id
        await rt.approve(after, by="ana")
        assert isinstance(await run.wait(), Completed)
    assert len(server.calls) == 1


async def test_an_approval_for_the_run_ends_with_the_definition_it_was_for(server: FakeServer) -> None:
    pays, asks = [call("pay", cents=5)], [call("ask_human", question="Again?")]
    model = ScriptedModel(pays, pays, asks, pays, "done")
    async with server.tools() as tools:
        payer = Agent("payer", model=model, tools=[tools, ask_human])
        async with Runtime(MemoryStore(), [payer]) as rt:
            run = await rt.start(payer, "pay")
            await run.wait()
            [first] = await rt.inbox()
            await rt.approve(first, by="ana", scope="run")
            await run.wait()
            assert len(server.calls) == 2
            server.has("pay", title="Another")
            [question] = await rt.inbox()
            await rt.answer(question, "yes", by="ana")
            await run.wait()
            [again] = await rt.inbox()
            assert again.kind == "approval" and len(server.calls) == 2


async def test_a_tool_that_failed_says_so_to_the_model(server: FakeServer) -> None:
    server.has("fail")
    async with (
        server.tools(effects={"fail": "read"}) as tools,
        Runtime(MemoryStore(), [agent(tools, [call("fail")], "ok")]) as rt,
    ):
        run = await started(rt, "go")
        await run.wait()
        assert "no such order" in await results(run)
    assert len(server.calls) == 1


async def test_a_server_that_dies_inside_a_call_leaves_it_in_doubt_and_is_never_called_again_by_itself(
    server: FakeServer,
) -> None:
    server.has("die")
    async with server.tools() as tools, Runtime(MemoryStore(), [agent(tools, [call("die", cents=1)], "done")]) as rt:
        run = await started(rt, "go")
        await run.wait()
        [asked] = await rt.inbox()
        await rt.approve(asked, by="ana")
        await run.wait()
        [doubt] = await rt.inbox()
        assert doubt.kind == "in_doubt"
        assert len(server.calls) == 1
        await rt.answer(doubt, {"choice": "happened", "result": "it did"}, by="ana")
        assert isinstance(await run.wait(), Completed)
    assert len(server.calls) == 1


async def test_a_call_in_doubt_is_settled_by_what_its_verify_finds(server: FakeServer) -> None:
    server.has("die")

    def happened(ctx: ToolContext, args: dict[str, Any]) -> Any:
        return {"paid": args["cents"]}

    async with (
        server.tools(verify={"die": happened}) as tools,
        Runtime(MemoryStore(), [agent(tools, [call("die", cents=7)], "done")]) as rt,
    ):
        run = await started(rt, "go")
        assert isinstance(await run.wait(), Completed)
        assert "{'paid': 7}" in await results(run)
    assert len(server.calls) == 1
    with pytest.raises(InvalidDefinition, match="verify="):
        server.tools(verify={"die": happened}, effects={"die": "read"})


async def test_a_read_is_tried_again_when_its_server_has_died(server: FakeServer) -> None:
    server.has("die")
    async with (
        server.tools(effects={"die": "read"}) as tools,
        Runtime(MemoryStore(), [agent(tools, [call("die")], "done")]) as rt,
    ):
        run = await started(rt, "go")
        assert isinstance(await run.wait(), Completed)
        assert "did not say what happened to die" in await results(run)
    assert len({one["pid"] for one in server.calls}) == 3


async def test_a_call_that_lasts_too_long_is_in_doubt(server: FakeServer) -> None:
    server.has("hang")
    async with (
        server.tools(effects={"hang": "unsafe"}, timeout=0.2) as tools,
        Runtime(MemoryStore(), [agent(tools, [call("hang")], "done")]) as rt,
    ):
        run = await started(rt, "go")
        await run.wait()
        [doubt] = await rt.inbox()
        assert doubt.kind == "in_doubt"
    assert len(server.calls) <= 1  # it is not sent again


async def test_a_session_lives_across_runs_and_comes_back_when_its_server_has_gone(server: FakeServer) -> None:
    server.has("pay", "die")
    async with server.tools(effects={"pay": "idempotent", "die": "unsafe"}) as tools:
        await agent(tools).run("one")
        await agent(tools).run("two")
        assert is_paused(await agent(tools, [call("die")], "three").run("three"))
        assert isinstance(await agent(tools).run("four"), Completed)
    pids = [each["pid"] for each in server.calls]
    assert pids[0] == pids[1] == pids[2] != pids[3]


async def test_a_tool_that_cannot_be_one_is_left_out_and_the_others_are_there(server: FakeServer) -> None:
    server.has("pay", "x" * 80)
    async with server.tools(prefix="bank_") as tools:
        assert [tool.name for tool in await tools.tools(None)] == ["bank_pay"]  # pyright: ignore[reportArgumentType]
    server.has("pay", execution={"taskSupport": "required"})
    async with server.tools() as tools:
        assert not await found_by(tools)


async def test_a_server_that_does_not_start_says_so_and_the_run_waits_for_a_person(server: FakeServer) -> None:
    tools = mcp_tools(["/nowhere/at/all"])
    with pytest.raises(Exception, match="all: FileNotFoundError"):
        await found_by(tools)


def test_a_server_is_an_address_or_a_command_and_its_name_holds_no_secret() -> None:
    assert mcp_tools("https://ana:secret@bank.example/mcp?key=k").name == "bank.example"
    assert mcp_tools("npx -y server --token abc").name == "npx"
    assert mcp_tools("npx -y server", prefix="files_").name == "files"
    nothing: list[str] = []
    for wrong in ("", nothing):
        with pytest.raises(InvalidDefinition):
            mcp_tools(wrong)
    with pytest.raises(InvalidDefinition, match="headers="):
        mcp_tools("https://bank.example", env={"A": "b"})
    with pytest.raises(InvalidDefinition, match="env="):
        mcp_tools("npx server", headers={"A": "b"})


async def test_a_server_gets_none_of_the_workers_secrets_and_cannot_decide(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK_KEY", "k-1")
    server.has("env")
    async with server.tools(effects={"env": "read"}, env={"GIVEN": "g-1"}) as tools:
        payer = agent(tools, [call("env")], "done")
        async with Runtime(MemoryStore(), [payer]) as rt:
            run = await rt.start(payer, "go")
            await run.wait()
            # the mark by which what a worker has started cannot decide
            assert f"GIVEN=g-1 BANK_KEY=None ADJOURN_INSIDE={os.getpid()}" in await results(run)
