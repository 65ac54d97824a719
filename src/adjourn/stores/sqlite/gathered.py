"""What several rules want to be written in one transaction to a SQLite file."""

from operator import attrgetter
from typing import Any

import msgspec

from adjourn.stores.rules.reads_and_writes import Writes

_NAMES = (
    "put_halts",
    "drop_halts",
    "put_holds",
    "drop_holds",
    "signed",
    "misfit",
    "card",
    "drop_cards",
    "tickets",
    "put_endpoints",
    "drop_endpoints",
    "put_letters",
    "drop_letters",
    "seal",
    "waking",
    "put_wakes",
    "drop_wakes",
    "gone",
)
_rare = attrgetter(*_NAMES)
_beside = attrgetter("audit", "touched", "beats", "post", "wakes", *_NAMES)
_NOT_RARE, _NOT_BESIDE = _rare(Writes()), _beside(Writes())


def writes_rarely(writes: Writes) -> bool:
    """Whether there is something that is not gathered, because what was written before may matter
    to it."""
    return _rare(writes) != _NOT_RARE


def writes_beside(writes: Writes) -> bool:
    """Whether there is something to write beside the rows of a run: most commits have nothing."""
    return _beside(writes) != _NOT_BESIDE


class Gathered(msgspec.Struct, gc=False):
    """What several rules want to be written in one transaction, by table. A run is in it at most
    once: whoever reads one that waits here has it written first."""

    runs: set[str] = set()
    changed: list[tuple[Any, ...]] = []
    advanced: list[tuple[Any, ...]] = []
    journal: list[tuple[Any, ...]] = []
    interrupts: list[tuple[Any, ...]] = []
    requests: list[tuple[Any, ...]] = []
    beats: dict[str, float] = {}
    blobs: list[tuple[int, str, bytes]] = []
    lines: list[tuple[Any, ...]] = []
    touched: list[tuple[str, float]] = []
    letters: list[tuple[Any, ...]] = []
    wakes: list[tuple[float, str]] = []
    more: bool = False
    """Whether there is anything but rows of runs and of journals."""
