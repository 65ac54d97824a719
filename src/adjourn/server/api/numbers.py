"""Numbers of the runs of a time."""

import asyncio
from typing import Any

from adjourn.runtime.numbers import FORTNIGHT, numbers, with_people
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import TIME, Schema, ref
from adjourn.stores.protocol import Store
from adjourn.views.numbers_view import NumbersView

KEPT = 15.0
"""Seconds for which the numbers of a time are not counted again."""
MOST = 20
OFFSET: Schema = {"type": "integer", "minimum": -1440, "maximum": 1440}


class CountedNumbers:
    """The numbers that were counted last. Those who ask for the same at once wait for one count."""

    def __init__(self) -> None:
        self._known: dict[tuple[float, float, int], NumbersView] = {}
        self._counting = asyncio.Lock()

    async def of(self, store: Store, since: float, until: float, offset: int) -> NumbersView:
        """The numbers of a time; they are at most `KEPT` seconds old.

        Args:
            store: where the runs are.
            since, until: the time.
            offset: minutes that the clock of who reads it is ahead of UTC.

        """
        async with self._counting:
            key = (since, until, offset)
            known = self._known.get(key)
            if known is None or store.now() - known.counted_at > KEPT:
                self._known.pop(key, None)
                known = self._known[key] = await numbers(store, since, until, offset)
                while len(self._known) > MOST:
                    del self._known[next(iter(self._known))]
            return known


@operation(
    "GET /numbers", "read", ref(NumbersView), query={"since": TIME, "until": TIME, "offset": OFFSET}
)
async def get_numbers(c: ApiRequest) -> Any:
    """Runs, failures, spend, tokens, and waiting times for people.

    Times of single people where they are switched on: all of them for admins, one's own for others.
    """
    store = c.rt.store
    # whole minutes, so that those who look at the same time count once
    until = c.query.get("until") or (store.now() // 60 + 1) * 60
    since = c.query.get("since") or until - FORTNIGHT
    found = await c.app.numbers.of(store, since, until, int(c.query.get("offset", 0)))
    if not c.app.people_times:
        return with_people(found, None)
    if c.who.may_everywhere("admin"):
        return found
    return with_people(found, [c.who.name])
