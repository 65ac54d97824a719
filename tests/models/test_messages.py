"""Messages there and back, part by part, and models that live in this process."""

import json
from typing import Any

import msgspec
import pytest
from pydantic_ai import exceptions
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model as ProviderModel
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage

from adjourn.core.files import Image
from adjourn.core.messages import (
    AssistantMessage,
    Delta,
    Message,
    ModelRequest,
    Opaque,
    Reply,
    Text,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from adjourn.errors import ModelError
from adjourn.models.pydantic_ai import messages as translate
from adjourn.models.pydantic_ai.provider import PydanticAIModel, resolve

HELLO = ModelRequest((UserMessage("Hello"),))


PIXELS = Image(b"\x89PNG\r\n\x1a\n\xff\x00")


def kept(response: theirs.ModelResponse, request: ModelRequest = HELLO) -> AssistantMessage:
    """A response as the journal keeps it."""
    reply = translate.reply(response, request, "some:model")
    message = AssistantMessage(reply.parts, reply.model, reply.details)
    return msgspec.json.decode(msgspec.json.encode(message), type=AssistantMessage)


def back(*messages: Message, systems: tuple[str, ...] = ("anthropic",)) -> list[theirs.ModelMessage]:
    return translate.history(ModelRequest(messages, files={PIXELS.digest: PIXELS.data}), {*systems})


def again(message: AssistantMessage, *systems: str) -> list[theirs.ModelResponsePart]:
    """The parts that a provider of that name gets to see when the conversation goes on."""
    [_, response, _] = back(UserMessage("Hello"), message, UserMessage("And?"), systems=systems)
    assert isinstance(response, theirs.ModelResponse)
    return list(response.parts)


def answer(*parts: theirs.ModelResponsePart, provider: str = "anthropic", **more: Any) -> theirs.ModelResponse:
    return theirs.ModelResponse(parts=list(parts), provider_name=provider, model_name="m-1", **more)


async def everything(model: object, request: ModelRequest = HELLO) -> list[Delta | Reply]:
    return [item async for item in resolve(model).request(request)]


# There and back.


def test_what_a_provider_needs_again_survives_the_journal() -> None:
    signed: dict[str, Any] = {"provider_name": "anthropic", "provider_details": {"deep": [1, {"a": None}]}}
    response = answer(
        theirs.ThinkingPart("because", id="t1", signature="sig==", **signed),
        theirs.ThinkingPart("", id="redacted_thinking", signature="secret", provider_name="anthropic"),
        theirs.TextPart("I look.", id="x1", **signed),
        theirs.ToolCallPart("find", {"q": "é", "n": 2**70}, "call_1", id="fc_1", **signed),
        theirs.NativeToolCallPart("web_search", {"q": "x"}, "srv_1", provider_name="anthropic"),
        theirs.NativeToolReturnPart("web_search", {"hits": []}, "srv_1", provider_name="anthropic"),
        theirs.FilePart(
            theirs.BinaryImage(PIXELS.data, media_type="image/png", identifier="f1"), provider_name="anthropic"
        ),
        provider_url="http://127.0.0.1/v1",
        provider_response_id="resp_1",
        provider_details={"container_id": "c"},
        finish_reason="tool_call",
    )
    message = kept(response)
    assert again(message, "anthropic") == list(response.parts)

    [_, whole, _] = back(UserMessage("Hello"), message, ToolResult("call_1", "find", "ok"))
    for name in ("provider_name", "provider_url", "provider_response_id", "provider_details", "finish_reason"):
        assert getattr(whole, name) == getattr(response, name)
    assert isinstance(whole, theirs.ModelResponse)
    assert whole.model_name == message.model == "m-1"


def test_another_provider_sees_words_and_calls_only() -> None:
    message = kept(
        answer(
            theirs.ThinkingPart("because", signature="sig", provider_name="anthropic"),
            theirs.TextPart("I look."),
            theirs.NativeToolCallPart("web_search", {"q": "x"}, "srv_1", provider_name="anthropic"),
            theirs.ToolCallPart("find", {"q": 1}, "call_1"),
        )
    )
    assert [type(p).__name__ for p in message.parts] == ["Thinking", "Text", "Opaque", "ToolCall"]
    assert [p.part_kind for p in again(message, "openai")] == ["text", "tool-call"]
    assert [p.part_kind for p in again(message, "openai", "anthropic")] == [
        "thinking", "text", "builtin-tool-call", "tool-call",
    ]  # fmt: skip


def test_a_plain_answer_is_kept_without_ballast() -> None:
    message = kept(theirs.ModelResponse(parts=[theirs.TextPart("Hello")], model_name="m-1"))
    assert message == AssistantMessage((Text(text="Hello"),), "m-1")


def test_details_of_another_version_do_not_lose_the_conversation() -> None:
    strange = {"provider_name": "anthropic", "finish_reason": "a reason of next year"}
    message = AssistantMessage(
        (
            Thinking(text="hm", details={"signature": 12}),
            Opaque(details={"part_kind": "hologram", "provider_name": "anthropic"}),
            Text(text="I look.", details={"id": ["?"]}),
            ToolCall(id="c", tool="find", args={"q": 1}),
        ),
        "m-1",
        strange,
    )
    assert again(message, "anthropic") == [theirs.TextPart("I look."), theirs.ToolCallPart("find", {"q": 1}, "c")]
    assert (
        len(
            back(
                UserMessage("Hello"),
                AssistantMessage((Opaque(details={"part_kind": "hologram"}),)),
                UserMessage("And?"),
            )
        )
        == 1
    )


def test_results_come_first_then_what_was_said() -> None:
    call = AssistantMessage((ToolCall(id="a", tool="t"), ToolCall(id="b", tool="t")))
    messages = back(
        UserMessage("Go"),
        call,
        UserMessage("hurry"),
        ToolResult("a", "t", "as it is"),
        ToolResult("b", "t", {"x": [None]}, error=True),
    )
    [_, _, last] = messages
    assert isinstance(last, theirs.ModelRequest)
    assert [(p.part_kind, getattr(p, "content", "")) for p in last.parts] == [
        ("tool-return", "as it is"), ("tool-return", '{"x":[null]}'), ("user-prompt", "hurry"),
    ]  # fmt: skip
    assert all(p.outcome == "success" for p in last.parts if isinstance(p, theirs.ToolReturnPart))


def test_instructions_go_with_every_turn() -> None:
    request = ModelRequest(
        (UserMessage("Hello"), AssistantMessage((Text(text="Hi"),)), UserMessage("And?")), instructions="Be brief."
    )
    sent = translate.history(request, {"openai"})
    assert [m.instructions for m in sent if isinstance(m, theirs.ModelRequest)] == ["Be brief."] * 2
    assert all(m.instructions is None for m in back(UserMessage("Hello")) if isinstance(m, theirs.ModelRequest))


def test_a_provider_that_cuts_characters_in_half_does_no_harm() -> None:
    response = answer(
        theirs.TextPart("a\ud83d\ude00b\ud800"), theirs.ToolCallPart("t", '{"q": "\ud83d', "c"),
        provider_details={"n": float("nan"), "s": "\udfff"},
    )  # fmt: skip
    message = kept(response)
    assert message.text == "a😀b�"
    assert isinstance(message.parts[1], ToolCall)
    assert message.parts[1].args == '{"q": "�'


@pytest.mark.parametrize(
    ("given", "args"),
    [
        (None, {}),
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ({"a": 1.5}, {"a": 1.5}),
        ('{"a": [1, null]}', {"a": [1, None]}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ("null", "null"),
        ({"a": float("inf")}, '{"a": Infinity}'),
        ('{"a": ' + "9" * 5000 + "}", '{"a": ' + "9" * 5000 + "}"),
    ],
)
def test_arguments_are_a_dict_or_what_came(given: Any, args: Any) -> None:
    message = kept(answer(theirs.ToolCallPart("t", given, "c")))
    assert isinstance(message.parts[0], ToolCall)
    assert message.parts[0].args == args
    [part] = again(message, "anthropic")
    assert isinstance(part, theirs.ToolCallPart)
    assert json.loads(part.args_as_json_str()) == (args if isinstance(args, dict) else {"INVALID_JSON": args})


def test_a_price_is_known_or_nothing() -> None:
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=10, cache_read_tokens=5)
    known = theirs.ModelResponse(parts=[], usage=usage, model_name="gpt-4o-mini", provider_name="openai")
    assert translate.reply(known, HELLO, "m").usage.cost == pytest.approx(0.15, rel=0.01)
    unknown = theirs.ModelResponse(parts=[], usage=usage, model_name="nobody", provider_name="nobody")
    counted = translate.reply(unknown, HELLO, "m").usage
    assert (counted.requests, counted.input_tokens, counted.output_tokens, counted.cost) == (1, 1_000_000, 10, 0.0)
    assert counted.cache_read_tokens == 5


@pytest.mark.parametrize(("state", "transient"), [("suspended", False), ("incomplete", True), ("interrupted", True)])
def test_half_an_answer_is_no_answer(state: Any, transient: bool) -> None:
    with pytest.raises(ModelError) as caught:
        translate.reply(answer(theirs.TextPart("Once"), state=state), HELLO, "m")
    assert caught.value.transient is transient


@pytest.mark.parametrize("reason", ["content_filter", "length"])
def test_no_answer_is_not_an_empty_answer(reason: Any) -> None:
    with pytest.raises(ModelError) as caught:
        translate.reply(answer(theirs.ThinkingPart("hm"), finish_reason=reason), HELLO, "m")
    assert (caught.value.kind, caught.value.transient) == (reason, False)
    assert kept(answer(theirs.TextPart("Once"), finish_reason=reason)).text == "Once"


# Models in this process.


async def test_a_model_that_only_answers_whole_gives_one_delta() -> None:
    seen: list[AgentInfo] = []

    def function(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        seen.append(info)
        return theirs.ModelResponse(parts=[theirs.TextPart("Hello "), theirs.TextPart("there.")])

    tool = ToolSpec("find", "Finds.", {"type": "object", "properties": {}})
    request = ModelRequest((UserMessage("Hi"),), instructions="Be brief.", tools=(tool,), settings={"temperature": 0.5})
    for model in (
        FunctionModel(function),
        WrapperModel(FunctionModel(function)),
        FallbackModel(FunctionModel(function)),
    ):
        delta, reply = await everything(model, request)
        assert delta == TextDelta("Hello there.")
        assert isinstance(reply, Reply)
        assert reply.text == "Hello there."
    assert seen[0].instructions == "Be brief."
    assert [t.name for t in seen[0].function_tools] == ["find"]
    assert seen[0].model_settings == {"temperature": 0.5, "max_retries": 0}


async def test_a_model_that_says_only_when_asked_that_it_cannot_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TestModel, "request_stream", ProviderModel.request_stream)
    delta, reply = await everything(TestModel(custom_output_text="Hello"))
    assert delta == TextDelta("Hello")
    assert isinstance(reply, Reply)


async def test_every_pydantic_ai_model_is_taken() -> None:
    *deltas, reply = await everything(TestModel(custom_output_text="one two three"))
    assert len(deltas) > 1
    assert isinstance(reply, Reply)
    assert reply.text == "one two three"
    assert resolve(TestModel()).name == "test:test"
    assert isinstance(resolve("test"), PydanticAIModel)


async def test_call_ids_of_a_script_may_repeat() -> None:
    def function(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        return theirs.ModelResponse(parts=[theirs.ToolCallPart("t", {}, "call"), theirs.ToolCallPart("t", {}, "call")])

    before = AssistantMessage((ToolCall(id="call", tool="t"),))
    [reply] = await everything(
        FunctionModel(function), ModelRequest((UserMessage("Go"), before, ToolResult("call", "t", 1)))
    )
    assert isinstance(reply, Reply)
    assert [c.id for c in reply.calls] == ["call_2", "call_3"]


# Failures.


@pytest.mark.parametrize(
    ("error", "kind", "transient", "retry_after"),
    [
        (exceptions.ModelHTTPError(429, "m", headers={"retry-after": "1.5"}), "rate_limit", True, 1.5),
        (exceptions.ModelHTTPError(503, "m", None, headers={"retry-after": "x"}), "server", True, None),
        (exceptions.ModelHTTPError(418, "m", "teapot"), "invalid_request", False, None),
        (exceptions.ModelHTTPError(402, "m"), "quota", False, None),
        (exceptions.ModelTimeoutError("m", "slow"), "timeout", True, None),
        (exceptions.ModelRequestTimeout("m", 3), "timeout", True, None),
        (exceptions.ModelConnectionError("m", "gone"), "connection", True, None),
        (exceptions.ModelOverloadedError("m", "busy", retry_after=4), "server", True, 4),
        (exceptions.ModelRateLimitError("m", "slow"), "rate_limit", True, None),
        (exceptions.ModelContextWindowExceededError("m", "long"), "invalid_request", False, None),
        (exceptions.UserError("wrong"), "invalid_request", False, None),
        (exceptions.UnexpectedModelBehavior("odd"), "model", False, None),
        (TimeoutError(), "timeout", True, None),
        (ConnectionResetError("reset"), "connection", True, None),
        (ValueError("odd"), "model", False, None),
        (
            exceptions.FallbackExceptionGroup(
                "all failed",
                [exceptions.ModelHTTPError(401, "a"), exceptions.ModelOverloadedError("b", "busy", retry_after=9)],
            ),
            "server", True, 9,
        ),
    ],
)  # fmt: skip
async def test_every_failure_says_whether_to_try_again(
    error: Exception, kind: str, transient: bool, retry_after: float | None
) -> None:
    def function(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        raise error

    with pytest.raises(ModelError) as caught:
        await everything(FunctionModel(function))
    assert (caught.value.kind, caught.value.transient, caught.value.retry_after) == (kind, transient, retry_after)
    assert caught.value.__cause__ is error


async def test_broken_connections_are_known_by_the_names_httpx_gives_them() -> None:
    import httpx2

    for error, kind in ((httpx2.ReadTimeout("slow"), "timeout"), (httpx2.RemoteProtocolError("gone"), "connection")):
        failed = translate.failure("m", error)
        assert (failed.kind, failed.transient) == (kind, True)
