"""A stream of events, for as long as the person who opened it would still be let in, with the same
rights. Who has others by then asks again, and gets what those allow."""

from collections.abc import AsyncIterator

from adjourn.errors import AdjournError, Invalid
from adjourn.server.api_request import ApiRequest
from adjourn.server.problem import Problem
from adjourn.server.sse import EventStream


def last_seen(request: ApiRequest) -> int | None:
    """The number of the record that a watcher has seen last: where its stream goes on; None if it
    does not say."""
    said = request.request.headers.get("last-event-id", "") or str(request.query.get("after", ""))
    if not said:
        return None
    if not said.isascii() or not said.isdigit() or len(said) > 16:
        raise Invalid(f"Last-Event-ID must be the number of a record, got {said!r:.40}")
    return int(said)


def event_stream(request: ApiRequest, events: AsyncIterator[bytes]) -> EventStream:
    """The response to a request that watches."""
    guard = request.app.guard

    async def may() -> bool:
        try:
            now = await guard.identify(request.request, used=False)
        except (Problem, AdjournError):  # also where nobody can say: it comes again
            return False
        return now.may("read") and now.has_rights_of(request.who)

    return EventStream(events, request.app.closing, guard.enter(request.who), may)
