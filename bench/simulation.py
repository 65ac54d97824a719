"""How many runs a fleet carries: a queue of turns before some stations, with what was measured as the time of each.

Every run thinks (its model answers), then needs a turn of each station: a worker's core, a core of the database, and now
and then one of the engine. Times are exponential, so that bursts are in it. Nothing here is measured and nothing is random
from one call to the next.
"""

import heapq
import random
from collections.abc import Sequence
from typing import NamedTuple

TURNS, EACH = 12_000, 3
"""Turns that are simulated at least, and of each run; the first third does not count."""


class Station(NamedTuple):
    """Where a turn may have to wait: `servers` work at the same time, each for `seconds` a turn; only a `share` of turns comes here."""

    name: str
    servers: int
    seconds: float
    share: float = 1.0


class Load(NamedTuple):
    """What came of it: turns per second, the delay that 99 of 100 turns keep under, and how busy each station is."""

    turns: float
    delay: float
    busy: dict[str, float]


def simulate(runs: int, think: float, stations: Sequence[Station], seed: int = 1) -> Load:
    """So many runs that think `think` seconds before each turn."""
    chance = random.Random(seed)
    free = [[0.0] * station.servers for station in stations]
    worked = [0.0] * len(stations)
    waiting = [(chance.expovariate(1 / think), number, 0, 0.0) for number in range(runs)]
    heapq.heapify(waiting)
    delays: list[float] = []
    all_turns = max(TURNS, EACH * runs)
    warm = all_turns // 3
    begun = now = 0.0
    done = 0
    while done < all_turns:
        now, number, place, since = heapq.heappop(waiting)
        since = since or now
        while place < len(stations) and chance.random() >= stations[place].share:
            place += 1
        if place == len(stations):
            done += 1
            if done == warm:
                begun, worked = now, [0.0] * len(stations)
            if done > warm:
                delays.append(now - since)
            heapq.heappush(waiting, (now + chance.expovariate(1 / think), number, 0, 0.0))
            continue
        spent = chance.expovariate(1 / stations[place].seconds)
        ended = max(now, heapq.heappop(free[place])) + spent
        heapq.heappush(free[place], ended)
        worked[place] += spent
        heapq.heappush(waiting, (ended, number, place + 1, since))
    took = now - begun
    busy = {station.name: worked[k] / took / station.servers for k, station in enumerate(stations)}
    return Load(len(delays) / took, sorted(delays)[int(len(delays) * 0.99)], busy)


def carried(think: float, stations: Sequence[Station], within: float, busy: float) -> tuple[int, Load]:
    """The most runs, to two digits, of which 99 of 100 turns are delayed for less than `within` seconds, and with which no station is
    at work for more than a `busy` part of the time."""
    most = min(station.servers / station.seconds / station.share for station in stations) * think
    low, high = max(1, int(most * busy * 0.3)), int(most * busy * 1.2) + 2
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        load = simulate(middle, think, stations)
        if load.delay <= within and max(load.busy.values()) <= busy:
            low = middle
        else:
            high = middle
    return low, simulate(low, think, stations)
