"""Our messages as pydantic-ai's, and back. Needs pydantic-ai; imported with the first request only.

What a provider wants to see again unchanged (signatures, ids, encrypted reasoning) is kept in
`details`, in pydantic-ai's own JSON form, and given back only to the provider it came from.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai import direct, exceptions
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model as ProviderModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from adjourn.core import codec
from adjourn.core.messages import (
    FOUND,
    AssistantMessage,
    Delta,
    FilePart,
    ModelRequest,
    Opaque,
    Reply,
    ReplyPart,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    UserMessage,
    calls_of,
)
from adjourn.core.usage import Usage
from adjourn.errors import Invalid, ModelError
from adjourn.models.provider_status import classified, retry_after
from adjourn.models.pydantic_ai.files import check_taken, our_file, prompt, result, their_file

GO_ON = "You were interrupted here. Please continue."
"""Said for the user after a thought that was cut off: providers want the last word to be somebody
else's."""


# A request.


@dataclass(frozen=True)
class ProviderRequest:
    """One request in pydantic-ai's terms."""

    model: ProviderModel
    messages: list[theirs.ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters

    @classmethod
    def of(
        cls, model: ProviderModel, request: ModelRequest, name: str = "the model"
    ) -> "ProviderRequest":
        """`request`, for `model`. Nothing is sent yet."""
        settings = dict(request.settings or {})
        leaves = list(leaves_of(model))
        check_taken(leaves, request, name)
        if not any("max_retries" in leaf.unsupported_settings for leaf in leaves):
            # Retries are ours: each attempt is counted, recorded and can be interrupted.
            settings.setdefault("max_retries", 0)
        tools: list[ToolDefinition] = []
        for tool in request.tools:
            tools.append(
                ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=tool.schema
                )
            )
        return cls(
            model,
            history(request, {leaf.system for leaf in leaves}),
            cast("ModelSettings", settings),
            ModelRequestParameters(function_tools=tools, allow_text_output=True),
        )

    @property
    def streams(self) -> bool:
        """See `streams`."""
        return streams(self.model)

    def stream(self) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send it; leaving the context closes the connection."""
        return direct.model_request_stream(
            self.model,
            self.messages,
            model_settings=self.settings,
            model_request_parameters=self.parameters,
        )

    async def once(self) -> theirs.ModelResponse:
        """Send it, and take what comes back as it is, also if it is not an answer yet."""
        return await self.model.request(self.messages, self.settings, self.parameters)

    async def whole(self) -> theirs.ModelResponse:
        """Send it to a model that does not stream."""
        return await direct.model_request(
            self.model,
            self.messages,
            model_settings=self.settings,
            model_request_parameters=self.parameters,
        )


async def continued(
    model: ProviderModel, suspended: theirs.ModelResponse, timeout: float
) -> theirs.ModelResponse:
    """What has become of a response that was not ready."""
    asked = theirs.ModelRequest(parts=[theirs.UserPromptPart(content="")])
    settings = ModelSettings(timeout=timeout)
    if "max_retries" not in model.unsupported_settings:
        settings["max_retries"] = 0
    return await model.request([asked, suspended], settings, ModelRequestParameters())


def refresh(model: ProviderModel) -> None:
    """Make a model usable on this event loop: connections belong to the loop that opened them.

    pydantic-ai's agents do the same before each run; `direct` does not, and `run_sync` has a new
    loop each time.
    """
    again = getattr(model, "_refresh_http_client", None)
    if again is not None:
        again()


def streams(model: ProviderModel) -> bool:
    """False if the model is known not to stream; one that only says so when asked raises
    NotImplementedError."""
    return all(getattr(leaf, "stream_function", leaf) is not None for leaf in leaves_of(model))


def leaves_of(model: ProviderModel) -> Iterator[ProviderModel]:
    """The models that talk to a provider, inside wrappers and fallbacks."""
    inside: Any = getattr(model, "models", None) or getattr(model, "wrapped", None)
    if inside is None:
        yield model
    else:
        for part in cast(
            "list[ProviderModel]", inside if isinstance(inside, list | tuple) else [inside]
        ):
            yield from leaves_of(part)


def history(request: ModelRequest, systems: set[str]) -> list[theirs.ModelMessage]:
    """The conversation so far, for a provider known by one of the names in `systems`.

    Results come before anything else that was said in between, as every provider demands.
    """
    sent: list[theirs.ModelMessage] = []
    results: list[theirs.ModelRequestPart] = []
    told: list[theirs.ModelRequestPart] = []

    def turn() -> None:
        parts = results + told
        if not parts and sent and isinstance(sent[-1], theirs.ModelResponse):
            parts = [theirs.UserPromptPart(GO_ON)]
        if parts:
            sent.append(theirs.ModelRequest(parts=parts, instructions=request.instructions or None))
        results.clear()
        told.clear()

    for message in request.messages:
        if isinstance(message, UserMessage):
            told.append(theirs.UserPromptPart(prompt(message, request)))
        elif isinstance(message, ToolResult):
            content = result(message, request, _result_text(message.content))
            results.append(theirs.ToolReturnPart(message.tool, content, message.call_id))
        elif (response := _response(message, systems, request)) is not None:
            turn()
            sent.append(response)
    turn()
    return sent


def _result_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return codec.encode(content).decode()


def _response(
    message: AssistantMessage, systems: set[str], request: ModelRequest
) -> theirs.ModelResponse | None:
    if message.interrupted:
        # Its thinking has no signature and its calls no end: only the words can be said again.
        if message.text.strip():
            parts: list[dict[str, Any]] = [{"part_kind": "text", "content": message.text}]
        else:
            parts = []
        details: dict[str, Any] = {}
    else:
        details = message.details or {}
        parts = []
        for part in message.parts:
            if isinstance(part, FilePart):
                plain = their_file(part, request)
            else:
                plain = _part(part, details.get("provider_name"), systems)
            if plain is not None:
                parts.append(plain)
    if not parts:
        return None
    try:
        return _read({**details, "model_name": message.model or None, "parts": parts})
    except ValidationError:
        # Written by another version of pydantic-ai. What everybody understands is enough to go on.
        known = {"text": ("content",), "tool-call": ("tool_name", "args", "tool_call_id")}
        kept: list[dict[str, Any]] = []
        for plain in parts:
            if fields := known.get(plain.get("part_kind", "")):
                kept.append({name: plain[name] for name in ("part_kind", *fields)})
        if kept:
            return _read({"parts": kept})
        return None


def _read(fields: dict[str, Any]) -> theirs.ModelResponse:
    [message] = theirs.ModelMessagesTypeAdapter.validate_python([{**fields, "kind": "response"}])
    return cast("theirs.ModelResponse", message)


def _part(part: ReplyPart, maker: str | None, systems: set[str]) -> dict[str, Any] | None:
    """A part in pydantic-ai's JSON form, or None if it means nothing to this provider."""
    details = dict(part.details or {})
    details.pop(FOUND, None)
    maker = details.get("provider_name") or maker
    if isinstance(part, Text):
        if part.text or details:
            return {**details, "part_kind": "text", "content": part.text}
        return None
    if isinstance(part, ToolCall):
        # Providers accept nothing but an object, so arguments that were none travel inside one.
        args: Any = part.args
        if not isinstance(args, dict):
            args = {theirs.INVALID_JSON_KEY: args}
        return {
            **details,
            "part_kind": "tool-call",
            "tool_name": part.tool,
            "tool_call_id": part.id,
            "args": args,
        }
    if maker is not None and maker not in systems:
        return None
    if isinstance(part, Thinking):
        return {**details, "part_kind": "thinking", "content": part.text}
    return details


# An answer.


def delta(event: object) -> Delta | None:
    """What a watcher should see of a stream's event, if anything."""
    match event:
        case theirs.PartStartEvent(part=theirs.TextPart(content=text)):
            made = TextDelta
        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)):
            made = ThinkingDelta
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)):
            made = TextDelta
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=text)):
            made = ThinkingDelta
        case _:
            return None
    return made(_sound(text)) if text else None


_NO_ANSWER = {
    "content_filter": "the provider's content filter refused it; change what is asked",
    "length": "its token limit was reached before it answered; raise max_tokens in the settings",
}
_NOT_KEPT = (
    *("parts", "usage", "model_name", "model_id", "timestamp", "kind", "run_id", "conversation_id"),
    *("metadata", "workspace_ref", "failed_attempts", "state"),
)


def reply(response: theirs.ModelResponse, request: ModelRequest, name: str) -> Reply:
    """A whole answer in our words. Call ids are made unique in the conversation, so that results
    can be told apart."""
    if response.state == "suspended":
        raise ModelError(
            f"{name} answered with a background job; use model=background(…) of adjourn.models"
        )
    if response.state != "complete":
        raise ModelError(
            f"{name} stopped in the middle of its answer", transient=True, kind="connection"
        )
    if response.finish_reason in _NO_ANSWER and all(
        isinstance(p, theirs.ThinkingPart) for p in response.parts
    ):
        raise ModelError(
            f"{name} gave no answer: {_NO_ANSWER[response.finish_reason]}",
            kind=response.finish_reason,
        )
    [dumped] = theirs.ModelMessagesTypeAdapter.dump_python(
        [response], mode="json", fallback=str, warnings=False
    )
    taken: set[str] = set()
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            taken.update(call.id for call in calls_of(message.parts))
    parts: list[ReplyPart] = []
    for part, plain in zip(response.parts, dumped["parts"], strict=True):
        parts.append(_our_part(part, plain, taken))
    return Reply(
        tuple(parts),
        usage(response),
        response.model_name or name,
        _kept(dumped, *_NOT_KEPT),
    )


def _our_part(part: theirs.ModelResponsePart, plain: dict[str, Any], taken: set[str]) -> ReplyPart:
    if isinstance(part, theirs.TextPart):
        return Text(text=_sound(part.content), details=_kept(plain, "part_kind", "content"))
    if isinstance(part, theirs.ThinkingPart):
        return Thinking(text=_sound(part.content), details=_kept(plain, "part_kind", "content"))
    if isinstance(part, theirs.ToolCallPart):
        return ToolCall(
            id=_new_id(part.tool_call_id, taken),
            tool=_sound(part.tool_name),
            args=_arguments(part.args),
            details=_kept(plain, "part_kind", "tool_name", "tool_call_id", "args"),
        )
    if isinstance(part, theirs.FilePart):
        return our_file(part, _kept(plain, "part_kind", "content"))
    return Opaque(details=_sound(plain))


def _kept(fields: Mapping[str, Any], *but: str) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if value is not None and name not in but:
            found[name] = value
    return _sound(found) or None


def _new_id(given: str, taken: set[str]) -> str:
    base = unique = _sound(given) or "call"
    number = 1
    while unique in taken:
        number += 1
        unique = f"{base}_{number}"
    taken.add(unique)
    return unique


def _arguments(args: Any) -> Any:
    """A dict, or the raw text if it is not a JSON object that we would read from anybody else."""
    if not args or (isinstance(args, str) and not args.strip()):
        return {}
    try:
        if isinstance(args, str):
            read = codec.loads(args, what="the arguments")
        else:
            read = codec.plain(args, "the arguments")
    except Invalid:
        read = None
    if isinstance(read, dict):
        return cast("dict[str, Any]", read)
    return _sound(args if isinstance(args, str) else json.dumps(args))


def _sound(value: Any) -> Any:
    """JSON that every decoder takes: surrogate pairs joined, lone ones and NaN replaced."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {_sound(name): _sound(part) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return list(map(_sound, cast("list[Any]", value)))
    return value


def usage(response: theirs.ModelResponse) -> Usage:
    """What one answer used, and what it cost if its price is known."""
    used = response.usage
    return Usage(
        requests=1,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cost=_cost(response),
        estimated=bool(getattr(used, "unmeasured_requests", 0)),
    )


def _cost(response: theirs.ModelResponse) -> float:
    try:
        cost = float(response.cost().total_price)
    # no price is known; a missing price must not lose an answer that was paid for
    except Exception:
        return 0.0
    if math.isfinite(cost):
        return cost
    return 0.0


# A failure.

_ADVICE = {
    "auth": "check the API key and what it may use",
    "quota": "the account's quota or credit is used up",
    "not_found": "check the model's name",
}


def failure(name: str, error: BaseException) -> ModelError:
    """`error` as a `ModelError`; the caller chains the cause."""
    if isinstance(error, ModelError):
        return error
    if isinstance(error, BaseExceptionGroup):  # all models of a fallback failed
        all_failed: list[ModelError] = []
        waits: list[float] = []
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            failed = failure(name, one)
            all_failed.append(failed)
            if failed.retry_after is not None:
                waits.append(failed.retry_after)
        return ModelError(
            "; ".join(map(str, all_failed)),
            transient=any(failed.transient for failed in all_failed),
            retry_after=min(waits, default=None),
            kind=all_failed[-1].kind,
        )
    kind, transient = _classify(error)
    said = f"{name}: {_said(error)}"
    if advice := _ADVICE.get(kind):
        said = f"{said}; {advice}"
    return ModelError(
        said, transient=transient, retry_after=_retry_after(error) if transient else None, kind=kind
    )


def _classify(error: BaseException) -> tuple[str, bool]:
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return "quota", False
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return "invalid_request", False
    if isinstance(error, exceptions.ModelHTTPError):
        return classified(error.status_code)
    if isinstance(
        error, exceptions.ModelTimeoutError | exceptions.ModelRequestTimeout | TimeoutError
    ):
        return "timeout", True
    if isinstance(error, exceptions.ModelConnectionError | ConnectionError):
        return "connection", True
    if isinstance(error, exceptions.ModelRateLimitError):
        return "rate_limit", True
    if isinstance(error, exceptions.ModelUnavailableError | exceptions.ModelServerError):
        return "server", True
    if isinstance(error, exceptions.UserError):
        return "invalid_request", False
    return _classify_transport(error)


def _classify_transport(error: BaseException) -> tuple[str, bool]:
    """A broken connection that the provider's adapter let through: httpx and httpx2 name their
    errors alike."""
    ancestors: set[str] = set()
    for kind in type(error).__mro__:
        if kind.__module__.partition(".")[0] in ("httpx", "httpx2"):
            ancestors.add(kind.__name__)
    if "TimeoutException" in ancestors:
        return "timeout", True
    if "TransportError" in ancestors:
        return "connection", True
    return "model", False


def _said(error: BaseException) -> str:
    """The provider's own words where it has some."""
    body = error.body if isinstance(error, exceptions.ModelAPIError) else None
    while isinstance(body, dict):
        known = cast("dict[str, Any]", body)
        body = known.get("error") or known.get("message")
    if isinstance(body, str) and body:
        text = body
    else:
        text = str(error) or type(error).__name__
    if isinstance(error, exceptions.ModelHTTPError):
        status = f"HTTP {error.status_code}: "
    else:
        status = ""
    return status + text[:1000]


def _retry_after(error: BaseException) -> float | None:
    if not isinstance(error, exceptions.ModelAPIError):
        return None
    if error.retry_after is not None:
        return error.retry_after
    if isinstance(error, exceptions.ModelHTTPError):
        return retry_after(error.headers)
    return None
