"""How many calls of a tool are at work, anywhere: each has a ticket, and a store counts the tickets.

A ticket is taken before the call's intent is written, and given back when its body has ended. What
a store keeps is one value; `stand` is a pure function of it, so no two stores can differ.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

STALE = 10.0
"""Seconds after which a call that waits, and has not asked again, is not counted as one that
waits."""
AGAIN = 0.5
"""Seconds after which a call that waits asks again."""
LONGEST = STALE / 3
"""Seconds for which a call that waits is silent at most."""


class ToolLimit(msgspec.Struct, frozen=True):
    """How often a tool may be called. `most`: so many calls at the same time; `rate`: so many calls
    begin within any `per` seconds. 0: without a bound."""

    most: int = 0
    rate: int = 0
    per: float = 60.0


class Ticket(msgspec.Struct, frozen=True):
    """A call that is at work or waits for that, since `at`. `seen`: when it was last asked for."""

    run: str
    call: str
    epoch: int
    worker: str = ""
    at: float = 0.0
    seen: float = 0.0


class ToolTickets(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tickets of one tool: those that are `held`, those that wait, the first one first, and when
    the last ones were given out. `limit` is the one that was last applied."""

    held: tuple[Ticket, ...] = ()
    waiting: tuple[Ticket, ...] = ()
    starts: tuple[float, ...] = ()
    limit: ToolLimit = ToolLimit()


class TicketRequest(msgspec.Struct, frozen=True):
    """Where a run stands, as its worker says: the calls that are at work, and those that want to
    be; each a tool and the call's id. All other tickets of the run are given back."""

    run: str
    epoch: int
    worker: str = ""
    running: tuple[tuple[str, str], ...] = ()
    wants: tuple[tuple[str, str], ...] = ()
    limits: Mapping[str, ToolLimit] = {}


class TicketAnswer(msgspec.Struct, frozen=True):
    """The calls that have a ticket now; the tools whose tickets are all taken, and after how many
    seconds to ask again. `freed`: how many tickets were given back."""

    granted: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    wait: float = 0.0
    freed: int = 0


class TicketOffice(Protocol):
    """Counts the tickets of all workers."""

    async def stand(self, request: TicketRequest) -> TicketAnswer:
        """Take tickets and give them back, in one transaction: see `adjourn.stores.tickets.stand`.
        Of a limit of `most`, no more calls ever have a ticket.

        Args:
            request: where a run stands. The same request again gives the same answer.
        """
        ...

    async def tickets(self) -> dict[str, ToolTickets]:
        """All tickets, by tool: of those that have a limit and are called."""
        ...


def stand(
    tools: Mapping[str, ToolTickets], request: TicketRequest, now: float
) -> tuple[dict[str, ToolTickets], TicketAnswer]:
    """What is to be kept, and what the worker is told.

    A worker whose run was taken over is told nothing, and changes nothing. Calls that wait are
    served in the order in which they came.
    """
    if _is_overtaken(tools, request):
        return dict(tools), TicketAnswer(wait=AGAIN)
    kept: dict[str, ToolTickets] = {}
    freed = 0
    for tool, before in tools.items():
        kept[tool] = _swept(tool, before, request, now)
        freed += len(before.held) - len(kept[tool].held)
    granted: list[str] = []
    full: list[str] = []
    waits: list[float] = []
    for tool, call in request.wants:
        limit = request.limits[tool]
        after, wait = _asked(kept.get(tool, ToolTickets()), limit, request, call, now)
        kept[tool] = after
        if wait:
            full.append(tool)
            waits.append(wait)
        else:
            granted.append(call)
    answer = TicketAnswer(tuple(granted), tuple(full), min(waits, default=0.0), freed)
    return {tool: found for tool, found in kept.items() if not _is_empty(found)}, answer


def _is_overtaken(tools: Mapping[str, ToolTickets], request: TicketRequest) -> bool:
    for found in tools.values():
        for ticket in (*found.held, *found.waiting):
            if ticket.run == request.run and ticket.epoch > request.epoch:
                return True
    return False


def _swept(tool: str, found: ToolTickets, request: TicketRequest, now: float) -> ToolTickets:
    """Without what this run had and has no longer, and without those that wait no longer."""
    wanted = [call for name, call in request.wants if name == tool]
    working = [call for name, call in request.running if name == tool]
    found = _not_ahead(found, now)
    held: list[Ticket] = []
    for ticket in found.held:
        is_mine = ticket.epoch == request.epoch and ticket.call in (*working, *wanted)
        if ticket.run != request.run or is_mine:
            held.append(ticket)
    waiting: list[Ticket] = []
    for ticket in found.waiting:
        is_mine = ticket.epoch == request.epoch and ticket.call in wanted
        is_others = ticket.run != request.run and now - ticket.seen < STALE
        if is_others or (ticket.run == request.run and is_mine):
            waiting.append(ticket)
    recent = [at for at in found.starts if now - at < found.limit.per]
    return replace(found, held=tuple(held), waiting=tuple(waiting), starts=tuple(recent))


def _not_ahead(found: ToolTickets, now: float) -> ToolTickets:
    """What is said to have been later than now was at the latest now: the clock was set back. Else
    who asks no longer would wait, and what began would count, until the clock has caught up."""
    if (
        all(ticket.seen <= now for ticket in found.waiting)
        and max(found.starts, default=now) <= now
    ):
        return found
    waiting = [replace(ticket, seen=min(ticket.seen, now)) for ticket in found.waiting]
    starts = [min(at, now) for at in found.starts]
    return replace(found, waiting=tuple(waiting), starts=tuple(starts))


def _asked(
    found: ToolTickets, limit: ToolLimit, request: TicketRequest, call: str, now: float
) -> tuple[ToolTickets, float]:
    """After one call has asked; and for how long it waits, 0 if it has a ticket."""
    found = replace(found, limit=limit)
    if _place(found.held, request.run, call) >= 0:
        return found, 0.0
    place = _place(found.waiting, request.run, call)
    if place < 0:
        place, since = len(found.waiting), now
    else:
        since = found.waiting[place].at
    ticket = Ticket(request.run, call, request.epoch, request.worker, since, now)
    waiting = [*found.waiting[:place], ticket, *found.waiting[place + 1 :]]
    if place < _free(found):
        del waiting[place]
        given = replace(ticket, at=now)
        starts: tuple[float, ...] = ()
        if limit.rate:
            starts = (*found.starts, now)
        after = replace(found, held=(*found.held, given), waiting=tuple(waiting), starts=starts)
        return after, 0.0
    return replace(found, waiting=tuple(waiting)), _until_free(found, now)


def _place(tickets: Sequence[Ticket], run: str, call: str) -> int:
    for place, ticket in enumerate(tickets):
        if (ticket.run, ticket.call) == (run, call):
            return place
    return -1


def _free(found: ToolTickets) -> int:
    """How many tickets could be given out now."""
    limit, bounds = found.limit, list[int]()
    if limit.most:
        bounds.append(limit.most - len(found.held))
    if limit.rate:
        bounds.append(limit.rate - len(found.starts))
    return min(bounds, default=len(found.waiting) + 1)


def _until_free(found: ToolTickets, now: float) -> float:
    """After how many seconds it is worth asking again."""
    limit = found.limit
    if not limit.rate or len(found.starts) < limit.rate:
        return AGAIN
    first = sorted(found.starts)[len(found.starts) - limit.rate]
    return min(LONGEST, max(first + limit.per - now, 0.01))


def _is_empty(found: ToolTickets) -> bool:
    return not (found.held or found.waiting or found.starts)


def parsed_tickets(text: str) -> dict[str, ToolTickets]:
    """Of the value that a store keeps; "": there are none."""
    if not text:
        return {}
    return msgspec.json.decode(text, type=dict[str, ToolTickets])


def tickets_text(tools: Mapping[str, ToolTickets]) -> str:
    """The value that a store keeps."""
    if not tools:
        return ""
    return msgspec.json.encode(tools, order="sorted").decode()
