"""A stream of events, for as long as the person who opened it would still be let in, with the same
rights. Who has others by then asks again, and gets what those allow."""

from collections.abc import AsyncIterator

from adjourn.errors import AdjournError
from adjourn.server.api_request import ApiRequest
from adjourn.server.problem import Problem
from adjourn.server.sse import EventStream


def event_stream(request: ApiRequest, events: AsyncIterator[bytes]) -> EventStream:
    """The response to a request that watches."""
    guard = request.desk.guard

    async def may() -> bool:
        try:
            now = await guard.identify(request.request, used=False)
        except (Problem, AdjournError):  # also where nobody can say: it comes again
            return False
        return now.may("read") and now.has_rights_of(request.who)

    return EventStream(events, request.desk.closing, guard.enter(request.who), may)
