"""Tools that are found while a run goes on."""

from collections.abc import Iterable
from typing import Any

import pytest

from adjourn import Agent, Completed, Policy, RunFailed, Runtime, Tool, ToolContext, ask, is_paused, tool
from adjourn.agent.toolset import ToolsetContext
from adjourn.core.messages import Result, ToolCall
from adjourn.errors import ProgramChanged
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call

ASKED = Policy([ask("pay*")], default="allow")
PAYS = ([call("pay", cents=5)], "done")


class Server:
    """A server whose tools may change, and which may be away."""

    name = "the server"

    def __init__(self, description: str = "Pay.", **options: Any) -> None:
        self.description, self.options = description, options
        self.paid: list[int] = []
        self.undone: list[int] = []
        self.asked: list[ToolsetContext] = []
        self.away, self.empty = 0, False

    async def tools(self, context: ToolsetContext) -> Iterable[Any]:
        self.asked.append(context)
        if self.away:
            self.away -= 1
            raise ConnectionError("nobody answers")
        schema = {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]}
        return [] if self.empty else [Tool("pay", self.description, schema, self._pay, undo=self._undo, **self.options)]

    def _pay(self, cents: int) -> str:
        self.paid.append(cents)
        return f"paid {cents}"

    async def _undo(self, ctx: ToolContext, args: Any, result: Any) -> None:
        self.undone.append(args["cents"])


def agent(server: Any, *replies: Any, policy: Policy | None = ASKED) -> Agent[Any]:
    return Agent("payer", model=ScriptedModel(*(replies or PAYS)), tools=[server], policy=policy)


async def test_a_tool_that_is_found_is_told_to_the_model_and_runs_under_the_policy() -> None:
    server = Server()
    payer = agent(server)
    waits = await payer.run("pay", resources={"door": 1})
    assert is_paused(waits) and not server.paid
    assert isinstance(payer.model, ScriptedModel)
    assert [spec.name for spec in payer.model.requests[0].tools] == ["pay"]
    assert server.asked[0].run_id == waits.run_id and server.asked[0].resources == {"door": 1}
    done = await payer.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and server.paid == [5]


async def test_whether_a_call_may_run_is_judged_without_looking_again() -> None:
    store, server = MemoryStore(), Server()
    async with Runtime(store, [agent(server)]) as rt:
        run = await rt.start(rt.programs["payer"], "pay")  # pyright: ignore[reportArgumentType]
        await run.wait()
    other = Server()
    other.away = 1
    async with Runtime(store, [agent(other)]) as rt:
        [waiting] = await rt.inbox()
        assert waiting.call is not None and waiting.call.description == "Pay." and waiting.call.undo
        await rt.approve(waiting, by="ana")
        run = await rt.get(run.run_id)
        outcome = await run.wait()
        results = [message.content for message in await run.messages() if isinstance(message, Result)]
    assert isinstance(outcome, Completed)
    assert "could not be found (ConnectionError: nobody answers); nothing was done" in str(results)
    assert not server.paid and not other.paid


async def test_a_definition_that_changed_after_the_approval_does_not_run_and_is_asked_about_again() -> None:
    before, after = Server("Pay."), Server("Pay, and tell the press.")
    script = ([call("pay", cents=5)], [call("pay", cents=5)], "done")
    waits = await agent(before, *script).run("pay")
    assert is_paused(waits)
    again = await agent(after, *script).resume(waits.checkpoint, approved=True)
    assert is_paused(again) and not before.paid and not after.paid
    [waiting] = again.interrupts
    assert waiting.call is not None and waiting.call.description == "Pay, and tell the press."
    done = await agent(after, *script).resume(again.checkpoint, approved=True)
    assert isinstance(done, Completed) and after.paid == [5]


async def test_a_tool_that_is_gone_does_nothing_and_the_model_reads_so() -> None:
    server = Server()
    payer = agent(server)
    waits = await payer.run("pay")
    assert is_paused(waits)
    server.empty = True
    done = await payer.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and not server.paid


async def test_what_a_found_tool_did_is_undone_when_the_run_is_cancelled() -> None:
    server = Server()
    payer = agent(server, [call("pay", cents=5)], [call("pay_more")], "done", policy=None)
    payer.tools["pay_more"] = tool(name="pay_more", policy="ask")(_pay_more)
    async with Runtime(MemoryStore(), [payer]) as rt:
        run = await rt.start(payer, "pay")
        await run.wait()
        assert server.paid == [5]
        await run.cancel(by="ana")
        await run.wait()
        assert await run.status() == "cancelled"
    assert server.undone == [5]


def _pay_more() -> None:
    """Pay more."""


async def test_a_function_is_a_toolset_too_and_may_be_plain() -> None:
    def find(context: ToolsetContext) -> list[Any]:
        return [greet]

    def greet(name: str) -> str:
        """Greet somebody."""
        return f"hello {name} from {type(context_of).__name__}"

    context_of: list[Any] = []
    script = ScriptedModel([call("greet", name="Ana")], lambda messages: str(messages[-1]))
    done = await Agent("greeter", model=script, tools=find).run("greet")
    assert isinstance(done, Completed) and "hello Ana" in done.output


async def test_a_name_that_is_taken_fails_by_name() -> None:
    @tool
    def pay(cents: int) -> str:
        """Pay by hand."""
        return "paid"

    both = Agent("payer", model=ScriptedModel("hm"), tools=[pay, Server()])
    with pytest.raises(RunFailed, match="two tools named 'pay', one of them from the server"):
        await both.run("pay")


async def test_a_toolset_that_is_gone_is_a_change_of_the_agent() -> None:
    assert agent(Server()).fingerprint["toolsets"] == ["the server"]
    assert "toolsets" not in Agent("payer", model=ScriptedModel("hm")).fingerprint
    waits = await agent(Server()).run("pay")
    assert is_paused(waits)
    other = agent(Server())
    other.toolsets = ()
    with pytest.raises(ProgramChanged, match="toolset 'the server' is gone"):
        await other.resume(waits.checkpoint, approved=True)


async def test_what_was_found_is_not_sent_to_a_provider() -> None:
    from adjourn.models.pydantic_ai.messages import _part  # pyright: ignore[reportPrivateUsage]

    sent = _part(ToolCall(id="1", tool="pay", details={"found_tool": {"effect": "unsafe"}, "id": "x"}), None, set())
    assert sent is not None and "found_tool" not in sent and sent["id"] == "x"
