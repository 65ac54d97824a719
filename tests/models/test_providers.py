"""Models against the wire formats of OpenAI (both), Anthropic and Google."""

import asyncio
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from adjourn.core.messages import (
    AssistantMessage,
    Message,
    ModelRequest,
    Reply,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from adjourn.errors import ModelError
from adjourn.models.model import Model
from adjourn.models.pydantic_ai.provider import resolve

if TYPE_CHECKING:
    from conftest import Asked, MockServer, Providers

    Ask = Callable[[Model, ModelRequest], Awaitable[Asked]]

WEATHER = ToolSpec(
    "weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
DEEP = '{"a":' * 200 + "1" + "}" * 200
# the mock server ends a reply with a word that Gemini does not use
pytestmark = pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")
WIRES = pytest.mark.parametrize("wire", ["openai", "responses", "anthropic", "google"])


def said(reply: Reply) -> AssistantMessage:
    """A reply as the journal keeps it: through JSON and back."""
    message = AssistantMessage(reply.parts, reply.model, reply.details)
    return msgspec.json.decode(msgspec.json.encode(message), type=AssistantMessage)


def request(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(messages, instructions="Be brief.", tools=(WEATHER,), **more)


def results_in(body: dict[str, Any]) -> list[Any]:
    """The tool results of the last turn, whatever the wire format."""
    if "input" in body:
        return [i["output"] for i in body["input"] if i.get("type") == "function_call_output"]
    if "contents" in body:
        parts = [part for content in body["contents"] for part in content["parts"]]
        return [p["functionResponse"]["response"]["return_value"] for p in parts if "functionResponse" in p]
    found: list[Any] = [m["content"] for m in body["messages"] if m["role"] == "tool"]
    for message in body["messages"]:
        if isinstance(message["content"], list):
            blocks: list[Any] = message["content"]
            found += [block["content"] for block in blocks if block["type"] == "tool_result"]
    return found


@WIRES
async def test_a_tool_round_trip_streams(wire: str, server: "MockServer", providers: "Providers", ask: "Ask") -> None:
    server.answer(
        {"toolCalls": [{"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}]}, match={"turnIndex": 0}
    )
    usage = {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52, "input_tokens": 40, "output_tokens": 12}
    text = "It is raining in Oslo today, and it will go on."
    server.answer({"content": text, "usage": usage}, match={"turnIndex": 1})
    model = providers.named(wire)

    first = await ask(model, request(UserMessage("How is Oslo?")))
    [call] = first.reply.calls
    assert (call.tool, call.args) == ("weather", {"city": "Oslo"})
    assert first.reply.usage.requests == 1

    second = await ask(
        model, request(UserMessage("How is Oslo?"), said(first.reply), ToolResult(call.id, "weather", {"rain": True}))
    )
    texts = [d.text for d in second.deltas if isinstance(d, TextDelta)]
    assert len(texts) > 1
    assert "".join(texts) == second.reply.text == text
    assert (second.reply.usage.input_tokens, second.reply.usage.output_tokens) == (40, 12)
    assert second.reply.usage.cost > 0

    assert "Be brief." in json.dumps(providers.sent[0])
    assert "The weather in a city." in json.dumps(providers.sent[0]["tools"])
    assert [str(r) if isinstance(r, str) else r[0]["text"] for r in results_in(providers.sent[1])] == ['{"rain":true}']


@WIRES
async def test_parallel_calls_are_answered_in_order(
    wire: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    cities = ["Oslo", "Rome", "Lima"]
    calls = [{"id": f"call_{n}", "name": "weather", "arguments": {"city": c}} for n, c in enumerate(cities)]
    server.answer({"content": "Let me look.", "toolCalls": calls}, match={"turnIndex": 0})
    server.answer({"content": "All fine."}, match={"turnIndex": 1})
    model = providers.named(wire)

    first = await ask(model, request(UserMessage("Compare them.")))
    assert [c.args["city"] for c in first.reply.calls] == cities
    assert first.reply.text == "Let me look."
    results = [ToolResult(c.id, "weather", f"no data for {c.args['city']}", error=True) for c in first.reply.calls]
    # Somebody spoke while the tools ran: the results still come first.
    second = await ask(
        model, request(UserMessage("Compare them."), said(first.reply), *results, UserMessage("Skip Lima."))
    )
    assert second.reply.text == "All fine."
    assert len(results_in(providers.sent[1])) == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("openai", "anthropic"),
        ("responses", "google"),
        ("anthropic", "responses"),
        ("google", "openai"),
        ("google", "anthropic"),
        ("anthropic", "google"),
    ],
)
async def test_a_conversation_goes_on_with_another_provider(
    before: str, after: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    server.answer(
        {
            "content": "I look.",
            "reasoning": "Weather is asked for.",
            "toolCalls": [{"id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}],
        },
        match={"turnIndex": 0},
    )
    server.answer({"content": "Rain."}, match={"turnIndex": 1})

    first = await ask(providers.named(before), request(UserMessage("How is Oslo?")))
    history = request(
        UserMessage("How is Oslo?"), said(first.reply), ToolResult(first.reply.calls[0].id, "weather", "rain")
    )
    second = await ask(providers.named(after), history)
    assert second.reply.text == "Rain."
    assert "Weather is asked for." not in json.dumps(providers.sent[1]), "the other provider's reasoning stays home"


@pytest.mark.parametrize("wire", ["responses", "anthropic"])
async def test_thinking_goes_back_to_the_provider_it_came_from(
    wire: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    calls = [{"id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}]
    server.answer({"reasoning": "First I look at Oslo.", "toolCalls": calls}, match={"turnIndex": 0})
    server.answer({"content": "Rain."}, match={"turnIndex": 1})
    model = providers.named(wire)
    settings = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}

    first = await ask(model, request(UserMessage("How is Oslo?"), settings=settings if wire == "anthropic" else None))
    assert "".join(d.text for d in first.deltas if isinstance(d, ThinkingDelta)) == "First I look at Oslo."
    [thinking] = [p for p in first.reply.parts if isinstance(p, Thinking)]
    assert thinking.text == "First I look at Oslo."
    signature = (thinking.details or {})["signature"]

    history = (UserMessage("How is Oslo?"), said(first.reply), ToolResult("call_1", "weather", "rain"))
    second = await ask(model, request(*history, settings=settings if wire == "anthropic" else None))
    assert second.reply.text == "Rain."
    assert signature in json.dumps(providers.sent[1])


async def test_the_signature_of_a_call_of_gemini_goes_back_to_it_and_to_nobody_else(
    server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    """Gemini refuses a call of its own that comes back without the signature; the mock server has none to give."""
    server.answer({"toolCalls": [{"name": "weather", "arguments": {"city": "Oslo"}}]}, match={"turnIndex": 0})
    server.answer({"content": "Rain."}, match={"turnIndex": 1})
    async with providers.signing_google("c2lnbmVkIGJ5IG1l") as model:
        first = await ask(model, request(UserMessage("How is Oslo?")))
        [call] = first.reply.calls
        history = request(UserMessage("How is Oslo?"), said(first.reply), ToolResult(call.id, "weather", "rain"))
        assert (await ask(model, history)).reply.text == "Rain."
    assert (await ask(providers.anthropic(), history)).reply.text == "Rain."
    [_, here, there] = map(json.dumps, providers.sent)
    assert "c2lnbmVkIGJ5IG1l" in here
    assert "c2lnbmVkIGJ5IG1l" not in there


@WIRES
async def test_a_thought_that_was_cut_off_can_be_sent_again(
    wire: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    server.answer({"content": "Done."})
    model = providers.named(wire)
    cut = AssistantMessage((Thinking(text="hm"), Text(text="Once upon a")), interrupted=True)
    for history in (
        [UserMessage("Tell me."), cut],
        [UserMessage("Tell me."), cut, UserMessage("Shorter, please.")],
        [UserMessage("Tell me."), cut, AssistantMessage((Text(text="There was a king."),)), UserMessage("And then?")],
        [UserMessage("Tell me."), AssistantMessage((), interrupted=True)],
        [UserMessage("Tell me."), AssistantMessage((Text(text="  \n"),), interrupted=True), UserMessage("Well?")],
    ):
        assert (await ask(model, request(*history))).reply.text == "Done."
    assert all("Once upon a" in json.dumps(body) for body in providers.sent[:3])
    told = {"responses": "input", "google": "contents"}.get(wire, "messages")
    assert all("hm" not in json.dumps(body[told]) for body in providers.sent)


@WIRES
@pytest.mark.parametrize(("mistake", "raw"), [("truncated", '{"city": "Os'), ("NaN", '{"city": NaN}')])
async def test_malformed_arguments_are_kept_as_they_came(
    wire: str, mistake: str, raw: str, malformed_server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    providers.server = malformed_server
    # Anthropic's and Google's arguments are objects on the wire, so there the call comes from another provider.
    maker = providers.named("openai" if wire in ("anthropic", "google") else wire)
    first = await ask(maker, request(UserMessage(mistake)))
    [call] = first.reply.calls
    assert call.args == raw
    history = request(
        UserMessage(mistake), said(first.reply), ToolResult(call.id, "weather", "not a JSON object", error=True)
    )
    second = await ask(providers.named(wire), history)
    assert second.reply.text == "Sorry."
    assert "INVALID_JSON" in json.dumps(providers.sent[1])


@pytest.mark.parametrize(
    "raw", ['{"city": "a", "city": "b"}', '{"city": "\\ud800"}', '{"city": 1e999}', '["Oslo"]', DEEP]
)
async def test_arguments_that_are_no_strict_json_object_stay_text(
    raw: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    server.answer({"toolCalls": [{"id": "c1", "name": "weather", "arguments": raw}]}, match={"turnIndex": 0})
    server.answer({"content": "Sorry."}, match={"turnIndex": 1})
    first = await ask(providers.openai(), request(UserMessage("How is Oslo?")))
    [call] = first.reply.calls
    assert call.args == raw
    history = request(UserMessage("How is Oslo?"), said(first.reply), ToolResult("c1", "weather", "not an object"))
    assert (await ask(providers.openai(), history)).reply.text == "Sorry."


async def test_a_call_id_that_comes_again_is_made_unique(
    server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    calls = [{"id": "c", "name": "weather", "arguments": {"city": c}} for c in ("Oslo", "Rome")]
    server.answer({"toolCalls": calls})
    model = providers.openai()
    first = (await ask(model, request(UserMessage("Go.")))).reply
    results = [ToolResult(c.id, "weather", "rain") for c in first.calls]
    second = (await ask(model, request(UserMessage("Go."), said(first), *results))).reply
    ids = [c.id for c in (*first.calls, *second.calls)]
    assert len(set(ids)) == len(ids) == 4


# Failures.


@WIRES
async def test_a_rate_limit_is_one_request_and_says_when_to_come_back(
    wire: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    server.answer({"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 7})
    with pytest.raises(ModelError, match="slow down") as caught:
        await ask(providers.named(wire), request(UserMessage("Hello")))
    assert (caught.value.transient, caught.value.retry_after, caught.value.kind) == (True, 7.0, "rate_limit")
    assert caught.value.__cause__ is not None
    assert len(server.journal()) == 1


async def test_a_date_to_come_back_is_understood(server: "MockServer", providers: "Providers", ask: "Ask") -> None:
    server.answer(
        {"error": {"message": "slow down"}, "status": 429, "retryAfter": formatdate(time.time() + 60, usegmt=True)}
    )
    with pytest.raises(ModelError) as caught:
        await ask(providers.openai(), request(UserMessage("Hello")))
    assert 50 < (caught.value.retry_after or 0) <= 60


@pytest.mark.parametrize(
    ("status", "kind", "transient"),
    [
        (400, "invalid_request", False),
        (401, "auth", False),
        (403, "auth", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (409, "conflict", True),
        (422, "invalid_request", False),
        (500, "server", True),
        (503, "server", True),
        (529, "server", True),
    ],
)
@WIRES
async def test_a_status_says_whether_another_attempt_may_help(
    wire: str, status: int, kind: str, transient: bool, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    server.answer({"error": {"message": "no", "type": "some_error"}, "status": status})
    with pytest.raises(ModelError) as caught:
        await ask(providers.named(wire), request(UserMessage("Hello")))
    assert (caught.value.kind, caught.value.transient) == (kind, transient)
    assert len(server.journal()) == 1


async def test_an_exhausted_quota_is_not_a_rate_limit(server: "MockServer", providers: "Providers", ask: "Ask") -> None:
    server.answer(
        {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}, "status": 429}
    )
    with pytest.raises(ModelError) as caught:
        await ask(providers.openai(), request(UserMessage("Hello")))
    assert (caught.value.kind, caught.value.transient) == ("quota", False)


@WIRES
async def test_a_stream_that_breaks_off_is_transient(
    wire: str, server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    server.answer({"content": "a long story " * 20}, truncateAfterChunks=4)
    with pytest.raises(ModelError) as caught:
        await ask(providers.named(wire), request(UserMessage("Hello")))
    assert (caught.value.kind, caught.value.transient) == ("connection", True)


async def test_a_server_that_is_not_there_is_transient(
    server: "MockServer", providers: "Providers", ask: "Ask"
) -> None:
    providers.server = type(server)("http://127.0.0.1:9")
    with pytest.raises(ModelError) as caught:
        await ask(providers.anthropic(), request(UserMessage("Hello")))
    assert (caught.value.kind, caught.value.transient) == ("connection", True)
    assert len(providers.sent) == 1


async def test_a_timeout_is_transient(server: "MockServer", providers: "Providers", ask: "Ask") -> None:
    server.answer({"content": "late"}, streamingProfile={"ttft": 5000})
    with pytest.raises(ModelError) as caught:
        await ask(providers.openai(), request(UserMessage("Hello"), settings={"timeout": 0.1}))
    assert (caught.value.kind, caught.value.transient) == ("timeout", True)


# Interruption, and the life of a client.


@WIRES
@pytest.mark.parametrize("when", ["before the first word", "in the middle"])
async def test_cancelling_hangs_up(wire: str, when: str, server: "MockServer", providers: "Providers") -> None:
    profile = {"ttft": 10_000} if when == "before the first word" else {"ttft": 0, "tps": 20}
    server.answer({"content": "a very long story " * 500}, streamingProfile=profile)
    model, before = providers.named(wire), server.hung_up()
    heard = asyncio.Event()

    async def listen() -> None:
        async for item in model.request(request(UserMessage("Tell me."))):
            assert isinstance(item, TextDelta)
            heard.set()

    task = asyncio.create_task(listen())
    if when == "in the middle":
        await heard.wait()
    else:
        while not providers.sent:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.sees_one_hang_up(before)


async def test_a_listener_that_leaves_hangs_up(server: "MockServer", providers: "Providers") -> None:
    server.answer({"content": "a very long story " * 500}, streamingProfile={"ttft": 0, "tps": 20})
    before = server.hung_up()
    stream: Any = providers.openai().request(request(UserMessage("Tell me.")))
    assert isinstance(await anext(stream), TextDelta)
    await stream.aclose()
    await server.sees_one_hang_up(before)


@pytest.mark.parametrize(
    "name", ["openai:gpt-5-mini", "openai-chat:gpt-4o-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash"]
)
async def test_a_provider_string_is_enough(name: str, server: "MockServer", ask: "Ask") -> None:
    server.answer({"content": "Hello there."})
    model = resolve(name)
    assert model.name == name
    replies = [(await ask(model, request(UserMessage("Hello")))).reply for _ in range(2)]
    assert [r.text for r in replies] == ["Hello there."] * 2
    assert replies[0].usage.requests == 1


async def test_concurrent_first_requests_share_one_client(server: "MockServer", ask: "Ask") -> None:
    server.answer({"content": "Hello there."})
    model = resolve("openai:gpt-5-mini")
    asked = await asyncio.gather(*(ask(model, request(UserMessage(f"Hello {n}"))) for n in range(5)))
    assert [a.reply.text for a in asked] == ["Hello there."] * 5


def test_a_model_is_used_on_one_event_loop_after_another(server: "MockServer") -> None:
    """As `run_sync` does: no loop meets the connections of another, and those made for a string are closed in time."""
    server.answer({"content": "Hello there."})
    code = """
        import asyncio, gc, warnings
        from adjourn.core.messages import ModelRequest, Reply, UserMessage
        from adjourn.models.pydantic_ai.provider import resolve

        async def ask(model):
            async for item in resolve(model).request(ModelRequest((UserMessage("Hello"),))):
                if isinstance(item, Reply):
                    print(item.text)

        warnings.simplefilter("error")
        for _ in range(3):
            asyncio.run(ask("openai-chat:gpt-4o-mini"))
        gc.collect()

        warnings.simplefilter("ignore")
        from pydantic_ai.models.openai import OpenAIChatModel
        model = OpenAIChatModel("gpt-4o-mini")
        for _ in range(3):
            asyncio.run(ask(model))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "Hello there.\n" * 6, done.stderr
    assert not done.stderr
