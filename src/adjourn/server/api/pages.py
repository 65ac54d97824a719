"""A page of a list: what it is filtered by, and where the next one begins."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from adjourn.server.api_request import ApiRequest
from adjourn.stores.protocol import Filter

T = TypeVar("T")


def filter_of(request: ApiRequest, **own: Any) -> Filter:
    """What every list can be filtered by, and its page.

    Args:
        request: the request.
        own: what only this list can be filtered by.
    """
    query = request.query
    name, found, value = query.get("label", "").partition("=")
    return Filter(
        program=query.get("agent", ""),
        session=query.get("session", ""),
        label=(name, value) if found else None,
        text=query.get("text", ""),
        since=query.get("since", 0),
        until=query.get("until", 0),
        after=query.get("after", ""),
        limit=query.get("limit", 50),
        **own,
    )


def page(items: Sequence[T], limit: int, place: Callable[[T], str | int]) -> dict[str, Any]:
    """A page of at most `limit` items. A full one says where the next begins: after the last item's
    `place`."""
    if len(items) < limit:
        return whole(items)
    return {"items": items, "after": str(place(items[-1]))}


def whole(items: Sequence[Any]) -> dict[str, Any]:
    """A list that has one page."""
    return {"items": items, "after": None}
