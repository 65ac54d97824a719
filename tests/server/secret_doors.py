"""Ways by which a value comes in that other protocols have: MCP, as its client and as its server, AG-UI and the AI SDK."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client as McpClient
from mcp_types import ElicitResult, InputRequiredResult
from tests.front_ends.world import approves, asks, interrupts, post, user
from tests.mcp.conftest import FakeServer
from tests.server.secret_ways import Way, World

from adjourn import Agent
from adjourn.mcp.mcp_server import McpServer, ServerTerms
from adjourn.secrets import seal
from adjourn.testing import ScriptedModel, call

VERSIONS = {"2025-11-25": False, "2026-07-28": True}
CARD: dict[str, Any] = {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}}
ASK_CARD: dict[str, Any] = {
    "name": "ask_card",
    "description": "Ask for a card.",
    "metadata": {"adjourn": {"result": {"type": "string", "writeOnly": True}}},
}


@asynccontextmanager
async def with_servers(world: World, folder: Path) -> AsyncGenerator[None]:
    """While inside, the world has agents with tools of MCP servers, one of each version. What a server is sent is in its own folder."""
    for version, modern in VERSIONS.items():
        place = folder / version
        place.mkdir(parents=True)
        server = FakeServer(place, modern=modern)
        server.has("login", "buy", inputSchema=CARD)
        tools = server.tools(effects={"login": "idempotent", "buy": "idempotent"})
        model = ScriptedModel([call("login")], "done")
        world.servers[version] = server, Agent(f"caller-{version[:4]}", model=model, tools=[tools])
    yield
    for _, agent in world.servers.values():
        for tools in agent.toolsets:
            await tools.close()  # type: ignore[attr-defined] # pyright: ignore


def by_a_servers_question(version: str) -> Way:
    async def way(world: World, secret: str) -> None:
        server, agent = world.servers[version]
        run, asked = await world.waiting(agent)
        assert asked.type == "mcp"
        assert await world.say(asked, "answer", value={"pin": secret}) == 200
        await world.end(run)
        world.saw.add((server.folder / "done").read_text())

    return way


async def by_an_argument_of_a_server(world: World, secret: str) -> None:
    server, agent = world.servers["2026-07-28"]
    buyer = Agent("buyer", model=ScriptedModel([call("buy", card=secret)], "done"), tools=agent.toolsets)
    done = await buyer.run("go")
    world.said["checkpoint of a call"] = done.checkpoint.to_json()
    world.saw.add(server.calls[-1]["arguments"]["card"])


@asynccontextmanager
async def client_of(world: World) -> AsyncGenerator[McpClient]:
    """A client of a server of ours, whose person may be sent to a page."""

    async def elicited(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="cancel")

    terms = ServerTerms(by="ana", secret="s" * 32, decide=True, console="http://console.test")
    server = McpServer(world.rt, [world.direct, world.bank], terms).server()
    async with McpClient(server, elicitation_callback=elicited, cache=None) as client:
        yield client


async def called(client: McpClient, name: str, arguments: dict[str, Any], **more: Any) -> Any:
    return await client.session.call_tool(name, arguments, allow_input_required=True, **more)


async def newest(world: World) -> Any:
    """The run that was started last."""
    [row, *_] = await world.rt.runs(limit=1)
    return await world.rt.get(row.run_id)


async def by_a_clients_input(world: World, secret: str) -> None:
    async with client_of(world) as client:
        done = await called(client, "direct", {"input": f"pay with {seal(secret)}"})
        assert done.content[0].text == "done"
        await world.end(await newest(world))


async def by_a_client_that_was_sent_to_a_page(world: World, secret: str) -> None:
    """It is asked for no secret, and says one all the same."""
    async with client_of(world) as client:
        asked = await called(client, "bank", {"input": "go"})
        assert isinstance(asked, InputRequiredResult) and asked.input_requests
        [(key, request)] = asked.input_requests.items()
        assert request.params is not None and "console.test" in str(request.params)
        said = {key: ElicitResult(action="accept", content={"user": "ana", "pin": secret})}
        run = await newest(world)
        done = await called(client, "bank", {"input": "go"}, request_state=asked.request_state, input_responses=said)
        assert done.content[0].text == "done"
        await world.end(run)


async def by_a_client_that_decides(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.bank)
    value = {"user": "ana", "pin": secret}
    async with client_of(world) as client:
        decision = {"ref": asked.ref, "digest": asked.digest, "decision": "answer", "value": value}
        done = await called(client, "adjourn_decide", decision)
        assert not done.is_error, done
    await world.end(run)


class FrontEnd:
    """One thread of a front end."""

    def __init__(self, world: World, path: str, thread: str) -> None:
        self.world, self.path, self.thread, self.turns = world, path, thread, 0

    async def ask(self, *messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        """The events that a request gets; they are a sink."""
        self.turns += 1
        if self.path.startswith("ai-sdk"):
            body: dict[str, Any] = {"id": self.thread, "messages": list(messages), **more}
        else:
            body = asks(self.thread, f"r{self.turns}", *messages, **more)
        client = self.world.client
        found = await post(client, f"{client.serving.url}/{self.path}", body)
        self.world.said[f"{self.path} {self.thread} {self.turns}"] = str(found)
        return found

    async def end(self) -> None:
        await self.world.end(await newest(self.world))


def typed(text: str) -> dict[str, Any]:
    """A message of the AI SDK."""
    return {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}


def answers(asked: list[dict[str, Any]], secret: str) -> list[dict[str, Any]]:
    [one] = asked
    return [{"interruptId": one["id"], "status": "resolved", "payload": {"user": "ana", "pin": secret}}]


async def by_ag_ui(world: World, secret: str) -> None:
    thread = FrontEnd(world, "ag-ui/direct", "message")
    await thread.ask(user(f"pay with {seal(secret)}"))
    await thread.end()


async def by_ag_ui_context(world: World, secret: str) -> None:
    thread = FrontEnd(world, "ag-ui/direct", "context")
    await thread.ask(user("pay"), context=[{"description": "the card", "value": seal(secret)}])
    await thread.end()


async def by_ag_ui_answer(world: World, secret: str) -> None:
    thread = FrontEnd(world, "ag-ui/bank", "answer")
    asked = interrupts(await thread.ask(user("go")))
    await thread.ask(user("go"), resume=answers(asked, secret))
    await thread.end()


async def by_ag_ui_edit(world: World, secret: str) -> None:
    thread = FrontEnd(world, "ag-ui/asking", "edit")
    said = user(f"later {seal('another card')}")
    [approval] = interrupts(await thread.ask(said))
    await thread.ask(said, resume=approves(approval, editedArgs={"card": seal(secret)}))
    await thread.end()


async def by_ag_ui_result(world: World, secret: str) -> None:
    """A tool that the front end carries out gives it, in clear."""
    thread = FrontEnd(world, "ag-ui/door", "result")
    events = await thread.ask(user("go"), tools=[ASK_CARD])
    [start] = [event for event in events if event["type"] == "TOOL_CALL_START"]
    result = {"id": "r", "role": "tool", "toolCallId": start["toolCallId"], "content": secret}
    await thread.ask(user("go"), result, tools=[ASK_CARD])
    await thread.end()


async def by_the_ai_sdk(world: World, secret: str) -> None:
    thread = FrontEnd(world, "ai-sdk/direct", "sdk message")
    await thread.ask(typed(f"pay with {seal(secret)}"))
    await thread.end()


async def by_an_answer_of_the_ai_sdk(world: World, secret: str) -> None:
    thread = FrontEnd(world, "ai-sdk/bank", "sdk answer")
    chunks = await thread.ask(typed("go"))
    [asked] = [chunk for chunk in chunks if chunk["type"] == "data-interrupt"]
    await thread.ask(typed("go"), resume=answers([asked], secret))
    await thread.end()


DOORS: dict[str, Way] = {
    "mcp question 2025": by_a_servers_question("2025-11-25"),
    "mcp question 2026": by_a_servers_question("2026-07-28"),
    "mcp argument": by_an_argument_of_a_server,
    "mcp input": by_a_clients_input,
    "mcp answer": by_a_client_that_was_sent_to_a_page,
    "mcp decision": by_a_client_that_decides,
    "ag-ui message": by_ag_ui,
    "ag-ui context": by_ag_ui_context,
    "ag-ui answer": by_ag_ui_answer,
    "ag-ui edit": by_ag_ui_edit,
    "ag-ui result": by_ag_ui_result,
    "ai-sdk message": by_the_ai_sdk,
    "ai-sdk answer": by_an_answer_of_the_ai_sdk,
}
