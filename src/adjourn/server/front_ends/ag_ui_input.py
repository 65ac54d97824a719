"""What a front end sends by AG-UI: which fields it may have, and what of them counts. What it does not
know is left out; the conversation is the journal's, so of the messages only the last ones count."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from adjourn.core.files import File
from adjourn.errors import Invalid
from adjourn.server.api.files import decoded_file
from adjourn.server.front_ends.ag_ui import VERSION
from adjourn.server.front_ends.interrupt_answer import GivenAnswer
from adjourn.server.schemas import FLAG, NAME, OBJECT, OBJECTS, TEXT, Schema

TOKEN: Schema = {"type": "string", "minLength": 1, "maxLength": 600}
RESUME: Schema = {
    "type": "array",
    "maxItems": 100,
    "items": {
        "type": "object",
        "required": ["interruptId", "status"],
        "properties": {
            "interruptId": TOKEN,
            "status": {"enum": ["resolved", "cancelled"]},
            "metadata": OBJECT,
        },
    },
}
MESSAGE: Schema = {
    "type": "object",
    "required": ["id", "role"],
    "properties": {
        "id": TEXT,
        "role": TEXT,
        "content": {"anyOf": [TEXT, OBJECTS, {"type": "object"}]},
    },
}
CONTEXT: Schema = {
    "type": "object",
    "required": ["description", "value"],
    "properties": {"description": TEXT, "value": TEXT},
}
TOOL: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "description": TEXT, "parameters": OBJECT, "metadata": {}},
}
RUN_AGENT_INPUT: Schema = {
    "type": "object",
    "required": ["threadId", "runId", "messages"],
    "properties": {
        "threadId": NAME,
        "runId": NAME,
        "protocolVersion": TEXT,
        "parentRunId": TEXT,
        "messages": {"type": "array", "items": MESSAGE, "maxItems": 10_000},
        "tools": {"type": "array", "items": TOOL, "maxItems": 200},
        "context": {"type": "array", "items": CONTEXT, "maxItems": 200},
        "resume": RESUME,
    },
}
CONNECT: dict[str, Schema] = {
    "after": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
    "wait": FLAG,
}


class AgUiInput(NamedTuple):
    """A request to run an agent, understood."""

    thread: str
    run_id: str
    messages: tuple[dict[str, Any], ...]
    context: tuple[tuple[str, str], ...]
    tools: tuple[dict[str, Any], ...]
    answers: tuple[GivenAnswer, ...]
    state: Any

    @classmethod
    def of(cls, body: dict[str, Any]) -> "AgUiInput":
        """Read a body that fits its schema; raises `Invalid` for a version that we do not speak."""
        _check_version(body.get("protocolVersion", VERSION))
        return cls(
            body["threadId"],
            body["runId"],
            tuple(body["messages"]),
            tuple((one["description"], one["value"]) for one in body.get("context", ())),
            tuple(body.get("tools", ())),
            answers_of(body),
            body.get("state"),
        )

    def said(self) -> Any:
        """What the person says now, with what the application adds to it: a string, or strings and
        files. Raises `Invalid` if they say nothing."""
        context = [f"{name}:\n{value}" for name, value in self.context]
        return joined_words([*last_words(self.messages, parts_of_content), *context])

    def returned(self) -> tuple[tuple[str, Any], ...]:
        """What came of calls, by the calls: the messages of tools with which it ends."""
        found: list[tuple[str, Any]] = []
        for message in reversed(self.messages):
            call, content = message.get("toolCallId"), message.get("content", "")
            if message["role"] != "tool" or not isinstance(call, str):
                break
            if error := message.get("error"):
                content = {"error": str(error)}
            found.append((call, content))
        return tuple(reversed(found))


def answers_of(body: dict[str, Any]) -> tuple[GivenAnswer, ...]:
    """The answers in a body's `resume`."""
    found: list[GivenAnswer] = []
    for entry in body.get("resume", ()):
        found.append(GivenAnswer(entry["interruptId"], entry["status"], entry.get("payload")))
    return tuple(found)


def last_words(
    messages: Iterable[dict[str, Any]], parts_of: Callable[[dict[str, Any]], list[Any]]
) -> list[Any]:
    """What the person said after the last message of somebody else: strings and files; raises
    `Invalid`.

    Args:
        messages: all messages of the front end.
        parts_of: the strings and files of one of them.
    """
    found: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user":
            found.append(message)
        else:
            found = []
    parts = [part for message in found for part in parts_of(message) if part]
    if not parts:
        raise Invalid(
            "the last message is not a user message with text or files",
            consequence="nothing was started",
            advice="end `messages` with what the person says, or answer an interrupt with `resume`",
        )
    return parts


def joined_words(parts: Iterable[Any]) -> Any:
    """Strings as one string; with files among them, as they are."""
    found = list(parts)
    if any(isinstance(part, File) for part in found):
        return found
    return "\n\n".join(found)


def parts_of_content(message: dict[str, Any]) -> list[Any]:
    """The strings and files of a message: parts that are neither are left out, as the protocol wants
    it."""
    content = message.get("content", "")
    if isinstance(content, str):
        return [content]
    return joined_parts(content, _given_file)


def joined_parts(parts: Any, file_of: Callable[[dict[str, Any]], File | None]) -> list[Any]:
    """All parts that are text or a file; texts that follow each other are one.

    Args:
        parts: the parts of a message.
        file_of: the file that a part gives; None if it gives none.
    """
    found: list[Any] = []
    for part in cast("list[dict[str, Any]]", parts if isinstance(parts, list) else []):
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str):
            if found and isinstance(found[-1], str):
                found[-1] += f"\n{text}"
            else:
                found.append(text)
        elif (file := file_of(part)) is not None:
            found.append(file)
    return found


def _given_file(part: dict[str, Any]) -> File | None:
    """The file of a part, as AG-UI has them now (`source`), and as it had them (`binary`)."""
    source: Any = part.get("source")
    if part.get("type") == "binary":
        name = part.get("filename")
        return file_given(part.get("data") or part.get("url"), part.get("mimeType"), name)
    if part.get("type") not in ("image", "audio", "video", "document") or not isinstance(
        source, dict
    ):
        return None
    given = cast("dict[str, Any]", source)
    return file_given(given.get("value"), given.get("mimeType"), None)


def file_given(data: Any, media_type: Any, name: Any) -> File:
    """A file that a front end gives as base64 or as a `data:` address; raises `Invalid` for another
    address, which nobody here fetches."""
    kind = media_type if isinstance(media_type, str) else ""
    if isinstance(data, str) and data.startswith("data:"):
        head, _, data = data.partition(",")
        kind = head[5:].partition(";")[0] or kind
    if not isinstance(data, str) or "://" in data:
        raise Invalid(
            "a file is given as a URL, and URLs are not fetched here",
            consequence="nothing was started",
            advice="send its bytes as base64",
        )
    return decoded_file(data, kind, name if isinstance(name, str) else "")


def _check_version(version: str) -> None:
    major = version.partition(".")[0]
    if major.isdigit() and major != VERSION.partition(".")[0]:
        raise Invalid(
            f"AG-UI {version!r:.40} is not supported",
            consequence="nothing was started",
            advice=f"use a client of protocol version {VERSION}",
        )
