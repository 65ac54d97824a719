"""A stream of events, for as long as the person who opened it would still be let in."""

from collections.abc import AsyncIterator

from adjourn.server.api_request import ApiRequest
from adjourn.server.problem import Problem
from adjourn.server.sse import EventStream


def event_stream(request: ApiRequest, events: AsyncIterator[bytes]) -> EventStream:
    """The response to a request that watches."""
    guard = request.desk.guard

    async def may() -> bool:
        try:
            now = await guard.identify(request.request, used=False)
        except Problem:
            return False
        return now.may("read") and (now.name, now.run) == (request.who.name, request.who.run)

    return EventStream(events, request.desk.closing, guard.enter(request.who), may)
