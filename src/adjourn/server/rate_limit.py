"""How often a client may ask."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from adjourn.server.problem import Problem

KNOWN = 10_000
PREFIX, BEGIN = "adj_", 4
"""How every key begins, and how many characters of what follows tell the keys of different people
apart."""


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class RateLimit:
    """So many requests a second for each client, and a burst; a leaking bucket for each."""

    def __init__(
        self, rate: float, burst: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._now = rate, burst, now
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, client: str) -> None:
        """Count one request; raises 429 if there were too many."""
        now = self._now()
        bucket = self._buckets.setdefault(client, _Bucket(0.0, now))
        self._buckets.move_to_end(client)
        level = max(0.0, bucket.level - (now - bucket.at) * self._rate)
        bucket.at, bucket.level = now, min(level + 1, self._burst + 1)
        while len(self._buckets) > KNOWN:  # whoever has been quiet for longest
            self._buckets.popitem(last=False)
        if level + 1 > self._burst:
            wait = max(1, round((level + 1 - self._burst) / self._rate))
            raise Problem(
                429,
                "too_many_requests",
                "too many requests",
                {"Retry-After": str(wait)},
                advice="slow down",
            )


class FailedLogins:
    """How many wrong keys an address may show: few that begin alike, more that do not.

    Only failures are counted, and only failures are refused: whoever shows a good key is let in,
    whatever else comes from the same address.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._alike, self._all = RateLimit(0.5, 10, now), RateLimit(5, 60, now)

    def count(self, client: str, key: str) -> None:
        """Count a wrong key; raises 429 if there were too many."""
        begin = key.removeprefix(PREFIX)[:BEGIN]
        self._all.take(client)
        self._alike.take(f"{client} {begin}")


def client_of(host: str) -> str:
    """Who a limit is for: an address; of IPv6 a whole network, because one machine has billions."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
