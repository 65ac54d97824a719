"""Files with agents of other frameworks, each with its real package: what is said and returned reaches
their models in their own form, and no record has base64."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# (LangGraph's own types are unknown in part)

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from agent_framework import Agent as FrameworkAgent
from agent_framework import Content
from agents import Agent as OpenAIAgent
from agents import OpenAIResponsesModel, ToolOutputFileContent, ToolOutputImage, function_tool
from agents.models.chatcmpl_converter import Converter
from langchain.agents import create_agent
from langchain_core.messages import messages_to_dict
from langgraph.graph import START, MessagesState, StateGraph
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import BinaryContent
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from tests.guests.test_agent_framework import Says as FrameworkSays
from tests.guests.test_langgraph import Says as GraphSays
from tests.guests.test_openai_agents import Says as OpenAISays

from adjourn import Agent, Invalid, Policy, RunFailed, Runtime, ask, is_paused
from adjourn.core.record_codec import dump
from adjourn.guests import adopt
from adjourn.parts import Audio, Document, Image
from adjourn.testing import GuestScript, call

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PHOTO, BILL = Image(PNG, name="photo.png"), Document(b"%PDF-1.7 " + b"bill " * 40, name="bill.pdf")
MADE = Image(b"\xff\xd8\xff\xe0" + bytes(range(255, 0, -1)))
Seen = list[str]
Maker = Callable[[GuestScript, Seen], Any]


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def pydantic_ai(script: GuestScript, seen: Seen) -> Any:
    async def stream(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        seen.append(theirs.ModelMessagesTypeAdapter.dump_json(messages).decode().replace("-", "+").replace("_", "/"))
        turn = sum(isinstance(message, theirs.ModelResponse) for message in messages)
        reply = await script.reply(turn, [])
        async for piece in script.spoken(reply):
            yield piece
        for number, wanted in enumerate(reply.calls, 1):
            yield {number: DeltaToolCall(wanted.tool, json.dumps(wanted.arguments), tool_call_id=wanted.id)}

    async def scan() -> Any:
        """Scan the bill."""
        return ["the bill", BinaryContent(BILL.data, media_type="application/pdf")]

    return PydanticAgent(FunctionModel(stream_function=stream), name="clerk", tools=[scan, pay])


def openai_agents(script: GuestScript, seen: Seen) -> Any:
    class Sees(OpenAISays):
        async def stream_response(  # pyright: ignore[reportIncompatibleMethodOverride]
            self, system_instructions: Any, input: Any, *args: Any, **options: Any
        ) -> AsyncIterator[Any]:
            seen.append(json.dumps(input, default=str))
            async for event in super().stream_response(system_instructions, input, *args, **options):
                yield event

    async def scan() -> Any:
        """Scan the bill."""
        file = ToolOutputFileContent(file_data=coded(BILL.data), filename="bill.pdf")
        return [file, ToolOutputImage(image_url=f"data:image/jpeg;base64,{coded(MADE.data)}")]

    tools = [function_tool(scan, strict_mode=False), function_tool(pay)]
    return OpenAIAgent("clerk", model=Sees(script), tools=list(tools))


def agent_framework(script: GuestScript, seen: Seen) -> Any:
    class Sees(FrameworkSays):
        def _inner_get_response(self, *, messages: Any, **options: Any) -> Any:
            seen.append(json.dumps([message.to_dict() for message in messages], default=str))
            return super()._inner_get_response(messages=messages, **options)

    async def scan() -> Any:
        """Scan the bill."""
        return [Content.from_text("the bill"), Content.from_data(BILL.data, "application/pdf")]

    return FrameworkAgent(client=Sees(script), name="clerk", tools=[scan, pay])


def langgraph(script: GuestScript, seen: Seen) -> Any:
    class Sees(GraphSays):
        async def _astream(self, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
            seen.append(json.dumps(messages_to_dict(messages), default=str))
            async for piece in super()._astream(messages, *args, **options):
                yield piece

    async def scan() -> Any:
        """Scan the bill."""
        file = {"type": "file", "base64": coded(BILL.data), "mime_type": "application/pdf"}
        return [{"type": "text", "text": "the bill"}, file]

    return create_agent(Sees(script=script), [scan, pay], name="clerk")


async def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


MAKERS = [pydantic_ai, openai_agents, agent_framework, langgraph]


def clerk(make: Maker, seen: Seen) -> Agent[Any]:
    script = GuestScript([call("scan")], [call("pay", cents=5)], "done", "and so on")
    policy = Policy([ask("pay")], default="allow")
    return adopt(make(script, seen), effects={"scan": "read"}, policy=policy)


@pytest.mark.parametrize("make", MAKERS)
async def test_files_reach_the_model_here_and_elsewhere_and_no_record_has_base64(make: Maker) -> None:
    seen: Seen = []
    waits = await clerk(make, seen).run(["Pay what this shows.", PHOTO])
    assert is_paused(waits), waits
    assert coded(PNG) in seen[0] and coded(BILL.data) not in seen[0]
    assert coded(PNG) in seen[1] and coded(BILL.data) in seen[1]
    assert {PHOTO.digest, BILL.digest} <= waits.checkpoint.files.keys()
    elsewhere: Seen = []
    done = await clerk(make, elsewhere).resume(waits.checkpoint.to_json(), True)
    assert done.output == "done"
    assert [coded(data) in elsewhere[0] for data in (PNG, BILL.data)] == [True, True]
    journal = "".join(map(dump, done.checkpoint.records))
    for data in (PNG, BILL.data):
        assert coded(data)[:60] not in journal.replace("-", "+").replace("_", "/")
    last: Seen = []
    after = await clerk(make, last).run(["And this?", MADE], after=done.checkpoint.to_json())
    assert after.output == "and so on"
    assert all(coded(data) in last[0] for data in (PNG, BILL.data, MADE.data))


SOUND = Audio(b"RIFF1234WAVE" + bytes(9))


async def test_sound_reaches_an_agent_of_openai_in_the_form_that_its_chat_model_sends() -> None:
    seen: Seen = []
    paused = await clerk(openai_agents, seen).run(["Listen.", SOUND])
    assert is_paused(paused)
    item = json.loads(seen[0])[-1]
    [sent] = Converter.items_to_messages([item])
    assert cast("Any", sent)["content"][1] == {
        "type": "input_audio",
        "input_audio": {"data": coded(SOUND.data), "format": "wav"},
    }
    assert coded(SOUND.data) not in "".join(map(dump, paused.checkpoint.records))


@pytest.mark.parametrize("kind", ["responses", "flac"])
async def test_sound_for_which_openai_has_no_word_is_refused_with_a_sentence(kind: str) -> None:
    seen: Seen = []
    sound = SOUND if kind == "responses" else Audio(b"fLaC" + bytes(9))
    agent = clerk(openai_agents, seen)
    if kind == "responses":
        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9")
        agent = adopt(OpenAIAgent("clerk", model=OpenAIResponsesModel("gpt-5-mini", client)))
    refused = r"the OpenAI Agents SDK does not take \[audio.*images and documents"
    with pytest.raises(RunFailed, match=refused + ".*nothing was sent"):
        await agent.run(["Listen.", sound])
    async with Runtime("memory://", [agent], work=False) as rt:
        with pytest.raises(Invalid, match=refused):
            await rt.start(agent, ["Listen.", sound])
    assert seen == []


def own_graph(seen: Seen, input: Callable[..., Any]) -> Agent[Any]:
    def say(state: Any) -> Any:
        seen.append(json.dumps(messages_to_dict(state["messages"]), default=str))
        return {"messages": [("ai", "so")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("say", say)
    graph.add_edge(START, "say")
    return adopt(graph.compile(name="own"), input=input)


async def test_an_input_of_a_graph_that_takes_text_is_told_of_no_file() -> None:
    seen: Seen = []
    agent = own_graph(seen, lambda said: {"messages": [("user", said)]})
    with pytest.raises(RunFailed, match="its input= takes only text: give it a second parameter.*nothing was sent"):
        await agent.run(["Look.", PHOTO])
    async with Runtime("memory://", [agent], work=False) as rt:
        with pytest.raises(Invalid, match="its input= takes only text"):
            await rt.start(agent, ["Look.", PHOTO])
    assert seen == []


async def test_an_input_of_a_graph_with_a_second_parameter_gets_content_blocks() -> None:
    seen: Seen = []
    agent = own_graph(seen, lambda said, content: {"messages": [("user", content or said)]})
    assert (await agent.run(["Look.", PHOTO])).output == "so"
    assert coded(PNG) in seen[0] and '"type": "image"' in seen[0]
    done = await agent.run("No file.")
    assert done.output == "so" and "No file." in seen[1]


async def test_what_the_model_of_a_pydantic_agent_does_not_take_starts_nothing() -> None:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    model = AnthropicModel("claude-haiku-4-5", provider=AnthropicProvider(api_key="none"))
    agent = adopt(PydanticAgent(model, name="deaf"))
    async with Runtime("memory://", [agent], work=False) as rt:
        with pytest.raises(Invalid, match=r"pydantic-ai:deaf does not take \[audio.*nothing was started"):
            await rt.start(agent, ["Listen.", SOUND])
        await rt.start(agent, ["Look.", PHOTO])
