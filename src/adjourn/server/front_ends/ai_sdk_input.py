"""What a front end sends by the AI SDK: a chat and its messages. Of them only the last one counts: what
the person says, or how they answered what they were asked."""

from typing import Any, NamedTuple, cast

from adjourn.core.files import File
from adjourn.errors import Invalid
from adjourn.server.front_ends.ag_ui_input import (
    RESUME,
    answers_of,
    file_given,
    joined_parts,
    joined_words,
    last_words,
)
from adjourn.server.front_ends.interrupt_answer import GivenAnswer
from adjourn.server.schemas import NAME, OBJECTS, TEXT, Schema

RESPONDED = "approval-responded"
"""The state of a part that a person has answered in the front end."""
UI_MESSAGE: Schema = {
    "type": "object",
    "required": ["id", "role", "parts"],
    "properties": {"id": {**NAME, "minLength": 0}, "role": TEXT, "parts": OBJECTS},
}
CHAT: Schema = {
    "type": "object",
    "required": ["id", "messages"],
    "properties": {
        "id": NAME,
        "messages": {"type": "array", "items": UI_MESSAGE, "minItems": 1, "maxItems": 10_000},
        "trigger": TEXT,
        "messageId": {},
        "resume": RESUME,
    },
}


class ChatInput(NamedTuple):
    """A request of a chat, understood."""

    chat: str
    messages: tuple[dict[str, Any], ...]
    answers: tuple[GivenAnswer, ...]

    @classmethod
    def of(cls, body: dict[str, Any]) -> "ChatInput":
        """Read a body that fits its schema; raises `Invalid` for what a journal cannot do."""
        trigger = body.get("trigger", "submit-message")
        if trigger != "submit-message":
            raise Invalid(
                f"{trigger!r:.60} is not supported: messages cannot be removed from the journal",
                consequence="nothing was started",
                advice="fork the run in the console, or send a new message",
            )
        messages = tuple(body["messages"])
        given = answers_of(body) or tuple(_approvals(messages[-1]))
        return cls(body["id"], messages, given)

    @property
    def turn(self) -> str:
        """The id of the turn: that of the person's last message. Raises `Invalid` if it has none."""
        id = str(self.messages[-1]["id"])
        if not id:
            raise Invalid("the last message has no id", consequence="nothing was started")
        return f"message {id}"

    def said(self) -> Any:
        """What the person says now: a string, or strings and files; raises `Invalid` if they say
        nothing."""
        return joined_words(last_words(self.messages, _parts))


def _parts(message: dict[str, Any]) -> list[Any]:
    return joined_parts(message["parts"], _given_file)


def _given_file(part: dict[str, Any]) -> File | None:
    if part.get("type") != "file":
        return None
    return file_given(part.get("url"), part.get("mediaType"), part.get("filename"))


def _approvals(message: dict[str, Any]) -> list[GivenAnswer]:
    """How the person answered, in the last message. It is believed of nobody: the store says what is
    open, and the request who answers it."""
    found: list[GivenAnswer] = []
    if message["role"] != "assistant":
        return found
    for part in message["parts"]:
        given: Any = part.get("approval")
        if part.get("state") != RESPONDED or not isinstance(given, dict):
            continue
        approval = cast("dict[str, Any]", given)
        token, approved, reason = (approval.get(name) for name in ("id", "approved", "reason"))
        if isinstance(token, str) and isinstance(approved, bool):
            note = reason if isinstance(reason, str) else ""
            found.append(GivenAnswer(token, "resolved", {"approved": approved, "note": note}))
    return found
