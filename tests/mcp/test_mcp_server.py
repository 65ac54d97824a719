"""Agents and flows as tools of a server of ours."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult

from adjourn import Agent, Flow, Policy, Runtime, ask, ask_human, pause_for, tool
from adjourn.mcp.mcp_server import McpServer, ServerTerms
from adjourn.mcp.mcp_tool import KEY, RUN
from adjourn.secrets import KeyRing, Secret
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call

SECRET = "a secret of thirty-two characters"
INPUT = {"input": "go"}
paid: list[int] = []


@tool
def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return "paid"


def clerk(*replies: Any) -> Agent[Any]:
    return Agent(
        "clerk", model=ScriptedModel(*replies), tools=[pay, ask_human], policy=Policy([ask("pay")], default="allow")
    )


ASKS = [call("ask_human", question="Which colour?")], "thank you"
PAYS = [call("pay", cents=5)], "done"


@asynccontextmanager
async def served(
    program: Any, store: Any = None, mode: str = "auto", answer: Any = None, secret: str = SECRET, **terms: Any
) -> AsyncGenerator[tuple[Client, Runtime]]:
    """A client of a server with this program, in this process. `answer`: what its user says to whatever is asked."""

    async def elicited(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content=answer)

    async with Runtime(store or MemoryStore(), [program]) as rt:
        server = McpServer(rt, [program], ServerTerms(by="ana", secret=secret, **terms)).server()
        callback = None if answer is None else elicited
        async with Client(server, mode=mode, elicitation_callback=callback, cache=None) as client:
            yield client, rt


async def called(client: Client, name: str = "clerk", **more: Any) -> CallToolResult | InputRequiredResult:
    found: Any = await client.session.call_tool(name, more.pop("arguments", INPUT), allow_input_required=True, **more)
    return found


def text(result: Any) -> str:
    return result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agents_output_is_the_tools_result(mode: str) -> None:
    async with served(clerk("hello"), mode=mode) as (client, rt):
        assert text(await called(client)) == "hello"
        [row] = await rt.runs()
        assert row.labels == {"via": "mcp"} and (await (await rt.get(row.run_id)).state()).started_by == "ana"
        assert [one.name for one in (await client.list_tools()).tools] == ["clerk", "adjourn_inbox", "adjourn_run"]


async def test_a_flows_output_is_structured() -> None:
    flow = Flow("adder")

    @flow.chunk(effect="read")
    async def add(ctx: Any) -> None:
        ctx.state["sum"] = sum(ctx.input)

    flow.to(add)
    async with served(flow) as (client, _):
        result = await called(client, "adder", arguments={"input": [1, 2]})
        assert isinstance(result, CallToolResult) and result.structured_content == {"sum": 3}


async def test_a_question_with_several_choices_is_a_form_of_its_own() -> None:
    flow = Flow("chooser")
    colours = {"type": "array", "items": {"type": "string", "enum": ["red", "blue", "green"]}}
    form = {"type": "object", "properties": {"colours": colours, "why": {"type": "string"}}, "required": ["colours"]}

    @flow.chunk(effect="read")
    async def choose(ctx: Any) -> None:
        ctx.state["chosen"] = ctx.pause_for("question", "Which?", resume_to="self", answer_schema=form)

    flow.to(choose)
    async with served(flow, answer={}) as (client, _):
        asked = await called(client, "chooser")
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
        [(key, request)] = asked.input_requests.items()
        assert "colours" in str(request) and "as JSON" not in str(request)
        said = {key: ElicitResult(action="accept", content={"colours": ["red", "green"]})}
        done = await called(client, "chooser", request_state=asked.request_state, input_responses=said)
        assert isinstance(done, CallToolResult)
        assert done.structured_content == {"chosen": {"colours": ["red", "green"]}}


async def test_a_question_is_asked_with_sealed_state_and_answered_after_the_server_has_gone(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/runs.db"
    async with served(clerk(*ASKS), store, answer={}) as (client, rt):
        asked = await called(client)
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None and asked.request_state
        [(key, request)] = asked.input_requests.items()
        params: Any = request.params
        assert params.message == "Which colour?"
        assert params.requested_schema["properties"] == {"answer": {"type": "string"}}
        [row] = await rt.runs()
        assert row.run_id not in asked.request_state
    said = {key: ElicitResult(action="accept", content={"answer": "blue"})}
    async with served(clerk(*ASKS), store, answer={}) as (client, rt):
        with pytest.raises(MCPError):
            await called(client, request_state=asked.request_state[:-4] + "AAAA", input_responses=said)
        with pytest.raises(MCPError):  # it is for another call
            await called(client, request_state=asked.request_state, input_responses=said, arguments={"input": "other"})
        assert text(await called(client, request_state=asked.request_state, input_responses=said)) == "thank you"
        assert len(await rt.runs()) == 1


async def test_what_was_sealed_with_an_older_secret_is_opened_while_both_count(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/runs.db"
    async with served(clerk(*ASKS), store, answer={}) as (client, _):
        asked = await called(client)
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
    said = {key: ElicitResult(action="accept", content={"answer": "blue"}) for key in asked.input_requests}
    both = f"another secret of thirty-two chars,{SECRET}"
    async with served(clerk(*ASKS), store, answer={}, secret=both) as (client, _):
        assert text(await called(client, request_state=asked.request_state, input_responses=said)) == "thank you"


@pytest.mark.parametrize("said", [{}, {"other": "blue"}, {"answer": 5}])
async def test_an_answer_that_does_not_fit_is_asked_for_again(said: dict[str, Any]) -> None:
    async with served(clerk(*ASKS), answer={}) as (client, rt):
        asked = await called(client)
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
        [key] = asked.input_requests
        responses = {key: ElicitResult(action="accept", content=said), "unknown": ElicitResult(action="accept")}
        again = await called(client, request_state=asked.request_state, input_responses=responses)
        assert isinstance(again, InputRequiredResult) and again.input_requests == asked.input_requests
        responses[key] = ElicitResult(action="accept", content={"answer": "blue"})
        assert text(await called(client, request_state=again.request_state, input_responses=responses)) == "thank you"
        # a client that comes back with an answer that was taken gets what the run has become
        assert text(await called(client, request_state=again.request_state, input_responses=responses)) == "thank you"
        assert len(await rt.runs()) == 1


async def test_a_question_that_is_declined_is_dismissed() -> None:
    async with served(clerk(*ASKS), answer={}) as (client, rt):
        asked = await called(client)
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
        [key] = asked.input_requests
        said = {key: ElicitResult(action="decline")}
        assert text(await called(client, request_state=asked.request_state, input_responses=said)) == "thank you"
        assert not await rt.inbox()


async def test_a_client_of_2025_11_25_is_asked_in_the_open_call() -> None:
    async with served(clerk(*ASKS), mode="legacy", answer={"answer": "blue"}) as (client, _):
        assert text(await called(client)) == "thank you"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_cannot_ask_is_told_that_the_run_waits(mode: str) -> None:
    async with served(clerk(*ASKS), mode=mode) as (client, rt):
        result = await called(client)
        assert isinstance(result, CallToolResult) and not result.is_error
        assert "it is waiting for a person: Which colour?" in text(result)
        [row] = await rt.runs()
        seen = await called(client, "adjourn_run", arguments={"run_id": row.run_id})
        assert isinstance(seen, CallToolResult) and seen.structured_content["status"] == "waiting"


async def test_an_approval_is_never_put_to_the_client() -> None:
    paid.clear()
    async with served(clerk(*PAYS), answer={}) as (client, rt):
        result = await called(client)
        assert isinstance(result, CallToolResult) and "it is waiting for a person: approval" in text(result)
        assert await rt.inbox() and not paid


@tool
def ask_first() -> str:
    """Ask whether it may."""
    return f"said {pause_for('approval', 'May I pay?', resume_to='self')}"


async def test_a_question_of_a_body_whether_it_may_is_not_put_to_the_client_and_not_taken_from_it() -> None:
    asker = Agent("asker", model=ScriptedModel([call("ask_first")], "done"), tools=[ask_first])
    async with served(asker, answer={"answer": "yes"}) as (client, rt):
        waits = await called(client, "asker")
        assert isinstance(waits, CallToolResult) and "May I pay?" in text(waits)
        assert len(await rt.inbox()) == 1
    async with served(asker, answer={"answer": "yes"}, console="http://console.test") as (client, rt):
        asked = await called(client, "asker")
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
        [(key, request)] = asked.input_requests.items()
        assert "console.test" in str(request.params)
        [waiting] = await rt.inbox()
        await rt.answer(waiting, "no", by="ben")
        said = {key: ElicitResult(action="accept", content={"answer": "yes"})}
        await called(client, "asker", request_state=asked.request_state, input_responses=said)
        run = await rt.get(waiting.run_id)
        assert "said no" in str(await run.messages())


async def test_an_approval_is_the_consoles_page_and_the_call_goes_on_when_a_person_has_decided() -> None:
    paid.clear()
    async with served(clerk(*PAYS), answer={}, console="https://console.example") as (client, rt):
        asked = await called(client)
        assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
        [(key, request)] = asked.input_requests.items()
        params: Any = request.params
        assert params.mode == "url" and params.url.startswith("https://console.example/inbox/")
        [waiting] = await rt.inbox()
        await rt.approve(waiting, by="ben")
        said = {key: ElicitResult(action="accept")}
        assert text(await called(client, request_state=asked.request_state, input_responses=said)) == "done"
    assert paid == [5]


async def test_the_inbox_can_be_read_and_nothing_decided() -> None:
    async with served(clerk(*PAYS)) as (client, rt):
        await called(client)
        result = await called(client, "adjourn_inbox", arguments={})
        assert isinstance(result, CallToolResult)
        [item] = result.structured_content["items"]
        assert item["call"]["tool"] == "pay" and item["call"]["arguments"] == {"cents": 5} and item["digest"]
        decision = {"ref": item["ref"], "digest": item["digest"], "decision": "approve"}
        with pytest.raises(MCPError, match="tool 'adjourn_decide' not found"):
            await called(client, "adjourn_decide", arguments=decision)
        assert await rt.inbox()


async def test_a_client_that_may_decide_does_so_for_its_person_and_never_for_what_was_asked_for_here() -> None:
    paid.clear()
    async with served(clerk(*PAYS), decide=True) as (client, rt):
        program: Any = rt.programs["clerk"]
        other = await rt.start(program, "go", by="ben")
        await other.wait()
        [waiting] = await rt.inbox()
        decision = {"ref": waiting.ref, "digest": waiting.digest, "decision": "approve"}
        inside = await called(client, "adjourn_decide", arguments=decision, meta={RUN: "another-run"})
        assert isinstance(inside, CallToolResult) and inside.is_error and "a run cannot decide" in text(inside)
        stale = await called(client, "adjourn_decide", arguments={**decision, "digest": "0" * 64})
        assert isinstance(stale, CallToolResult) and stale.is_error and not paid
        done = await called(client, "adjourn_decide", arguments=decision)
        assert isinstance(done, CallToolResult) and not done.is_error
        await other.wait()
        assert paid == [5]
        await called(client)
        [own] = await rt.inbox()
        decision = {"ref": own.ref, "digest": own.digest, "decision": "approve"}
        refused = await called(client, "adjourn_decide", arguments=decision)
        assert isinstance(refused, CallToolResult) and refused.is_error and "started over MCP" in text(refused)
        assert paid == [5]


async def test_the_same_key_is_the_same_run() -> None:
    async with served(clerk("hello")) as (client, rt):
        for _ in range(2):
            assert text(await called(client, meta={KEY: "k-1"})) == "hello"
        assert len(await rt.runs()) == 1
        await called(client, meta={KEY: "k-2"})
        assert len(await rt.runs()) == 2


async def test_a_call_that_does_not_fit_starts_nothing() -> None:
    async with served(clerk("hello")) as (client, rt):
        nothing: dict[str, Any] = {}
        for wrong in (nothing, {"input": 5}):
            result = await called(client, arguments=wrong)
            assert isinstance(result, CallToolResult) and result.is_error
        assert not await rt.runs()


async def test_a_run_that_fails_is_an_error_that_names_the_run() -> None:
    async with served(clerk(RuntimeError("no model"))) as (client, rt):
        result = await called(client)
        [row] = await rt.runs()
        assert isinstance(result, CallToolResult) and row.run_id in text(result)


async def test_no_client_is_asked_for_a_secret_in_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())

    @tool
    async def login() -> str:
        """Log in."""
        pause_for("pin", answer_schema=Annotated[str, Secret()])

    bank = Agent("bank", model=ScriptedModel([call("login")], "in"), tools=[login])
    async with served(bank, answer={"answer": "1234"}) as (client, _):
        assert not isinstance(await called(client, "bank"), InputRequiredResult)
