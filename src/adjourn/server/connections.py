"""How many connections there may be, for each address and in all, and which of them give way.

A connection *waits* while it is the client's turn: its TLS handshake, the head or the body of its
request, or the next request. It *works* while it is ours. Whoever waits costs a file and nothing
else, so when there are too many the one that has waited longest is closed, and the new one comes
in: a client that sends its request at once is served, however many others keep the server waiting.
    Only if all of them work is a new one turned away.
"""

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass

from adjourn.runtime.file_limit import allow_files
from adjourn.server.rate_limit import client_of

MOST = 4000
"""Connections in all, where the limit of open files allows it."""
RESERVE = 200
"""Files that are left to everything else: the store, models, webhooks, what is being accepted just
now."""
SHARE = 4
"""One address may have so much less than all."""


@dataclass(eq=False, slots=True)
class ConnectionPlace:
    """What one connection holds. `end` closes it at once; `has_asked`: it has sent a whole request
    before."""

    client: str
    end: Callable[[], object]
    has_asked: bool = False


class _Queue:
    """Places that wait, the longest first; those that have never asked for anything before all
    others."""

    def __init__(self) -> None:
        self._fresh: dict[ConnectionPlace, None] = {}
        self._known: dict[ConnectionPlace, None] = {}

    def add(self, place: ConnectionPlace) -> None:
        self.discard(place)
        (self._known if place.has_asked else self._fresh)[place] = None

    def discard(self, place: ConnectionPlace) -> None:
        self._fresh.pop(place, None)
        self._known.pop(place, None)

    def first(self) -> ConnectionPlace | None:
        return next(iter(self._fresh or self._known), None)

    def __bool__(self) -> bool:
        return bool(self._fresh or self._known)


class Connections:
    """Counts them. `exempt` addresses (proxies, behind which many people are) have no limit of
    their own."""

    def __init__(self, most: int = MOST, each: int = 0, exempt: Container[str] = ()) -> None:
        """`most`: in all; `each`: for one address, a quarter of `most` if it is 0."""
        self.most, self.each = most, each or max(1, most // SHARE)
        self._exempt = exempt
        self._count: Counter[str] = Counter()
        self._places: set[ConnectionPlace] = set()
        self._waiting, self._waiting_of = _Queue(), dict[str, _Queue]()

    def __len__(self) -> int:
        return len(self._places)

    def enter(self, host: str, end: Callable[[], object]) -> ConnectionPlace | None:
        """A place for a new connection, which waits; None if there is none, not even by closing
        another one."""
        client = client_of(host)
        if self._count[client] >= self.each and host not in self._exempt:
            if not self._make_room(self._waiting_of.get(client)):
                return None
        elif len(self._places) >= self.most and not self._make_room(self._waiting):
            return None
        place = ConnectionPlace(client, end)
        self._places.add(place)
        self._count[client] += 1
        self.wait(place)
        return place

    def wait(self, place: ConnectionPlace) -> None:
        """It is the client's turn from now on."""
        if place in self._places:
            self._waiting.add(place)
            self._waiting_of.setdefault(place.client, _Queue()).add(place)

    def work(self, place: ConnectionPlace) -> None:
        """A whole request is there: it is our turn."""
        place.has_asked = True
        self._forget_waiting(place)

    def leave(self, place: ConnectionPlace) -> None:
        """It is closed; also more than once."""
        if place not in self._places:
            return
        self._places.discard(place)
        self._forget_waiting(place)
        self._count[place.client] -= 1
        if not self._count[place.client]:
            del self._count[place.client]

    def give_up_one(self) -> bool:
        """Close whoever has waited longest; False if nobody waits."""
        return self._make_room(self._waiting)

    def _make_room(self, queue: _Queue | None) -> bool:
        oldest = queue.first() if queue else None
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.end()
        return True

    def _forget_waiting(self, place: ConnectionPlace) -> None:
        self._waiting.discard(place)
        if (own := self._waiting_of.get(place.client)) is not None:
            own.discard(place)
            if not own:
                del self._waiting_of[place.client]


def connections_allowed(most: int = MOST) -> int:
    """As many of `most` as the limit of open files has room for, after raising it as far as they
    need it; at least one."""
    return max(1, min(most, allow_files(most + RESERVE) - RESERVE))
