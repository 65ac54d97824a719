"""The records of a run that several watch: read from the store once, and encoded once, however many
there are."""

import asyncio
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

from adjourn.core.codec import encode
from adjourn.core.records import AnyRecord, Erased
from adjourn.stores.protocol import Store
from adjourn.views.api_answers import RecordView

KEPT = 1024 * 1024
"""Bytes of events that are kept for those who are a little behind. Who is further behind reads for
themselves."""


def event_of(seq: int, record: AnyRecord) -> bytes:
    """A record as an event, with its number as id."""
    return b"id: %d\nevent: record\ndata: %b\n\n" % (seq, encode(RecordView.of(seq, record)))


class Tape:
    """The last records of one run, while somebody watches it."""

    def __init__(self, store: Store, run: str, after: int) -> None:
        self.watchers = 0
        self._store, self._run = store, run
        self._first = self._last = after
        self._kept: deque[tuple[int, AnyRecord]] = deque()
        self._events: dict[int, bytes] = {}
        self._size = 0
        self._stale = True
        self._reading = asyncio.Lock()
        # before any watcher: they find it stale when they are rung for
        self.end = store.subscribe(run, self._ring)

    def _ring(self) -> None:
        self._stale = True

    async def load(self, run: str, after: int) -> list[tuple[int, AnyRecord]]:
        """What `Store.load` gives, for a watcher."""
        if after < self._first:
            return await self._store.load(run, after)
        async with self._reading:
            if self._stale:
                self._stale = False
                try:
                    self._keep(await self._store.load(run, self._last))
                except BaseException:
                    self._stale = True
                    raise
        found: list[tuple[int, AnyRecord]] = []
        for one in reversed(self._kept):
            if one[0] <= after:
                break
            found.append(one)
        return found[::-1]

    def event(self, seq: int, record: AnyRecord) -> bytes:
        """A record as an event."""
        return self._events.get(seq) or event_of(seq, record)

    def _keep(self, tail: list[tuple[int, AnyRecord]]) -> None:
        for seq, record in tail:
            if isinstance(record, Erased):  # nobody is told what was before
                self._drop(seq - 1)
            self._kept.append((seq, record))
            self._last = seq
            self._events[seq] = event = event_of(seq, record)
            self._size += len(event)
        while self._size > KEPT and len(self._kept) > 1:
            self._drop(self._kept[0][0])

    def _drop(self, upto: int) -> None:
        while self._kept and self._kept[0][0] <= upto:
            seq, _ = self._kept.popleft()
            self._size -= len(self._events.pop(seq))
        self._first = upto


class Tapes:
    """A tape for each run that somebody watches."""

    def __init__(self) -> None:
        self._tapes: dict[str, Tape] = {}

    @contextmanager
    def of(self, store: Store, run: str, after: int) -> Generator[Tape]:
        """A run's tape, as long as one watches; `after`: what a watcher has already."""
        tape = self._tapes.get(run)
        if tape is None:
            tape = self._tapes[run] = Tape(store, run, after)
        tape.watchers += 1
        try:
            yield tape
        finally:
            tape.watchers -= 1
            if not tape.watchers:
                tape.end()
                del self._tapes[run]
