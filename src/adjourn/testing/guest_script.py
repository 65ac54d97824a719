"""What a contract of guests needs beside its tests: a script for a foreign model, and a shop whose
books are kept."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from adjourn.errors import Misused
from adjourn.testing.scripted import Scripted, Streamed


class GuestCall(NamedTuple):
    """A tool call that the foreign model asks for."""

    id: str
    tool: str
    arguments: dict[str, Any]


class GuestReply(NamedTuple):
    """What the foreign model says: its words in pieces, its calls, or the agent to which it hands
    over."""

    pieces: tuple[str, ...] = ()
    calls: tuple[GuestCall, ...] = ()
    hand_to: str = ""

    @property
    def text(self) -> str:
        """All its words."""
        return "".join(self.pieces)


class HandTo(NamedTuple):
    """The foreign model hands over to another agent; made by `hand_to`."""

    agent: str


class Block(NamedTuple):
    """The foreign model thinks until it is cut off, and says this the next time; made by
    `blocks`."""

    then: Any


def hand_to(agent: str) -> HandTo:
    """A reply that hands over: `GuestScript(hand_to("clerk"), "done")`."""
    return HandTo(agent)


def blocks(then: Any) -> Block:
    """A reply that does not come until it is cut off; when it is asked for again, it is `then`."""
    return Block(then)


Turn = str | Scripted | Streamed | HandTo | Block | Sequence[Any]


class GuestScript:
    """What a foreign model says. The k-th turn answers the request that has k replies in its
    history, in any process.

    Args:
        turns: each is a string, `streamed("a", "b")`, a list of strings and `call(...)`,
            `hand_to("agent")` or `blocks(...)`.
        failures: are raised first, one for each request.
    """

    def __init__(self, *turns: Turn, failures: Sequence[BaseException] = ()) -> None:
        self.turns = turns
        self._failures = list(failures)
        self._blocked: set[int] = set()
        self.requests: list[tuple[int, tuple[str, ...]]] = []
        self.thinking, self.cut_off = asyncio.Event(), asyncio.Event()

    @property
    def heard(self) -> tuple[str, ...]:
        """What the model was sent with its last request: the texts of the user and of results, in
        their order."""
        return self.requests[-1][1]

    async def reply(self, turn: int, heard: Sequence[str]) -> GuestReply:
        """What the foreign model says now.

        Args:
            turn: how many replies of a model the request has in its history.
            heard: the texts of its other messages, of users and of tool results, in their order.
        """
        self.requests.append((turn, tuple(heard)))
        if self._failures:
            raise self._failures.pop(0)
        if turn >= len(self.turns):
            raise Misused(
                f"the script has {len(self.turns)} replies, and reply {turn + 1} was requested"
            )
        said = self.turns[turn]
        if isinstance(said, Block):
            if turn not in self._blocked:
                await self._block(turn)
            said = said.then
        return _reply(turn, said)

    async def spoken(self, reply: GuestReply) -> AsyncIterator[str]:
        """The words of a reply, piece by piece, for a foreign model that streams.

        Args:
            reply: what `reply` gave.
        """
        for piece in reply.pieces:
            yield piece

    async def _block(self, turn: int) -> None:
        self._blocked.add(turn)
        self.thinking.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cut_off.set()


def _reply(turn: int, said: Any) -> GuestReply:
    if isinstance(said, HandTo):
        return GuestReply(hand_to=said.agent)
    if isinstance(said, Streamed):
        return GuestReply(said.pieces)
    if isinstance(said, str | Scripted):
        parts: list[Any] = [said]
    else:
        parts = list(said)
    pieces: list[str] = []
    calls: list[GuestCall] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, Scripted):
            calls.append(GuestCall(f"call_{turn}_{len(calls)}", part.tool, part.args))
    return GuestReply(tuple(pieces), tuple(calls))


class GuestShop:
    """A shop with two tools, `look_up` and `refund`, and the books: what really happened, in its
    order."""

    def __init__(self) -> None:
        self.looked_up: list[str] = []
        self.refunds: list[tuple[str, int]] = []
        self.undone: list[tuple[str, int]] = []

    @property
    def look_up(self) -> Callable[..., Awaitable[str]]:
        """A tool that reads."""

        async def look_up(order: str) -> str:
            """Look up an order.

            Args:
                order: its number.
            """
            self.looked_up.append(order)
            return f"order {order} is paid"

        return look_up

    @property
    def refund(self) -> Callable[..., Awaitable[str]]:
        """A tool that changes the world. It fails for an order named `"unknown"`."""

        async def refund(order: str, cents: int) -> str:
            """Pay money back.

            Args:
                order: its number.
                cents: how much.
            """
            if order == "unknown":
                raise ValueError("order not found")
            self.refunds.append((order, cents))
            return f"refunded {cents} of {order}"

        return refund

    async def undo_refund(self, ctx: Any, args: dict[str, Any], result: Any) -> None:
        """Takes a refund back."""
        self.undone.append((args["order"], args["cents"]))
