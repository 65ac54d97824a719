"""A model that says what it was told to say: for tests, docs and the demo."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from adjourn.core.codec import plain
from adjourn.core.messages import Delta, Message, ModelRequest, Reply, Text, TextDelta, ToolCall
from adjourn.core.usage import Usage
from adjourn.errors import InvalidDefinition, ModelError


class Scripted:
    """One tool call of a scripted reply; made by `call`."""

    def __init__(self, tool: str, args: dict[str, Any]) -> None:
        self.tool, self.args = tool, args

    def __repr__(self) -> str:
        args = [f"{name}={value!r}" for name, value in self.args.items()]
        return f"call({self.tool!r}, {', '.join(args)})"


class Streamed:
    """A text that arrives in pieces; made by `streamed`."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        self.pieces = pieces


def call(tool: str, /, **args: Any) -> Scripted:
    """A tool call in a reply: `ScriptedModel([call("refund", cents=500)], "done")`.

    Args:
        tool: the tool's name.
        args: its arguments.
    """
    return Scripted(tool, plain(args, "args"))


def streamed(*pieces: str) -> Streamed:
    """A reply that arrives piece by piece.

    Args:
        pieces: the pieces.
    """
    return Streamed(pieces)


ScriptedReply = (
    str
    | Scripted
    | Streamed
    | Reply
    | BaseException
    | type[BaseException]
    | Sequence["str | Scripted"]
)


class ScriptedModel:
    """A model that follows a script: the k-th reply answers the k-th model call of the
    conversation, also in another process.

    Args:
        replies: each is a string, a list of `call(...)` (strings may stand among them),
            `streamed("a", "b")`, an exception, a complete `Reply`, or a function over the messages
            that returns one of these.
        delay: seconds before each reply, and between the pieces of a streamed one.
    """

    reports_cost = True
    takes_files = True

    def __init__(
        self,
        *replies: ScriptedReply | Callable[[Sequence[Message]], ScriptedReply],
        delay: float = 0.0,
    ) -> None:
        self.replies = replies
        self.delay = delay
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return "scripted"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`."""
        self.requests.append(request)
        if request.index >= len(self.replies):
            raise ModelError(
                f"the script has {len(self.replies)} replies; this is model call {request.index + 1}",
                kind="script",
            )
        reply = self.replies[request.index]
        if callable(reply) and not isinstance(reply, type):
            reply = reply(request.messages)
        if self.delay:
            await asyncio.sleep(self.delay)
        if isinstance(reply, BaseException) or (
            isinstance(reply, type) and issubclass(reply, BaseException)
        ):
            raise reply
        if isinstance(reply, Streamed):
            for number, piece in enumerate(reply.pieces):
                if number and self.delay:
                    await asyncio.sleep(self.delay)
                yield TextDelta(piece)
            reply = "".join(reply.pieces)
        yield _reply(reply, request)


def _reply(reply: Any, request: ModelRequest) -> Reply:
    if isinstance(reply, Reply):
        return reply
    if isinstance(reply, str | Scripted):
        parts = [reply]
    else:
        parts = list(reply)
    made: list[Any] = []
    said = 0
    for number, part in enumerate(parts):
        if isinstance(part, str):
            said += len(part)
            made.append(Text(text=part))
        elif isinstance(part, Scripted):  # pyright: ignore[reportUnnecessaryIsInstance]
            said += 20
            made.append(
                ToolCall(id=f"call_{request.index}_{number}", tool=part.tool, args=part.args)
            )
        else:
            raise InvalidDefinition(
                f"a scripted reply must be a string or a list of call(...), got {part!r:.80}"
            )
    words = sum(len(str(message)) for message in request.messages)
    return Reply(tuple(made), Usage(1, words // 4, max(1, said // 4)), "scripted")
