"""The one stream about everything: what opened and closed in the inbox, which runs changed, which
halts are on.

However many watch, the store is looked at once, and after the first time only at what has changed
since: a look does not cost what the inbox or the store is long. Changes are numbered and kept for a
    while: a client that returns gets those it missed, each
once and in order; one that was away for too long, or comes from before a restart, gets the whole
again.
"""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from adjourn.core.interrupt import Interrupt
from adjourn.errors import AdjournError
from adjourn.runtime.runtime import Runtime
from adjourn.server.open_interrupts import OpenInterrupts
from adjourn.stores.protocol import Filter, Halt
from adjourn.stores.run_row import RunRow
from adjourn.views.api_answers import FeedChange, FeedSnapshot
from adjourn.views.run_view import run_summary

log = logging.getLogger("adjourn.server")

KEPT = 300
RUNS = 100
PAGE = 500
"""Runs or interrupts that are read at once: others have their turn in between."""
PAUSE, SHARE = 0.1, 10
"""A burst becomes one change; and looking may take a tenth of the time."""
LATE = 2.0
"""A commit carries the time when it began; it may be seen that much later."""
STALE = 30.0
"""Expiry, and the end of a lease, ring no bell."""


class Change(NamedTuple):
    """One event: its number, and what it says."""

    n: int
    kind: str
    data: FeedSnapshot | FeedChange


class ChangeFeed:
    """Looks at the store while somebody watches."""

    def __init__(self, runtime: Runtime) -> None:
        self._rt = runtime
        self._boot = secrets.token_hex(6)
        self._n = 0
        self._changes: deque[Change] = deque(maxlen=KEPT)
        self._bells: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()
        self._open: OpenInterrupts | None = None
        self._halts: tuple[Halt, ...] = ()
        self._runs: dict[str, tuple[int, str, float]] = {}
        self._looked = (0.0, 0.0)

    def id(self, n: int) -> str:
        """An event's id: it means something to this process only."""
        return f"{self._boot}-{n}"

    def _number(self, last: str) -> int | None:
        """Where a client that returns was; None if nobody here knows."""
        boot, _, n = last.partition("-")
        if boot != self._boot or not n.isascii() or not n.isdigit() or len(n) > 15:
            return None
        oldest = self._changes[0].n if self._changes else self._n + 1
        if oldest - 1 <= int(n) <= self._n:
            return int(n)
        return None

    async def watch(self, last: str, *, follow: bool = True) -> AsyncIterator[Change]:
        """Everything first (or what was missed since `last`), then each change. With `follow` it
        does not end."""
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            await self._look()
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(
                    self._follow(), name="adjourn-hub"
                )
            at = self._number(last)
            if at is None:
                yield self._whole()
                at = self._n
            while True:
                bell.clear()
                if self._number(self.id(at)) is None:  # it did not read for too long
                    yield self._whole()
                    at = self._n
                for change in [c for c in self._changes if c.n > at]:
                    yield change
                    at = change.n
                if at == self._n and not follow:
                    return
                if at == self._n:
                    await bell.wait()
        finally:
            self._bells.discard(bell)
            if not self._bells and self._task is not None:
                self._task.cancel()
                self._task = (
                    None  # whoever comes next needs another one, also before this one has ended
                )

    async def tell(self, run: str) -> None:
        """Let those who watch look at a run again: something was left on an item of it, which
        neither its journal nor its row says."""
        row, now = await self._rt.store.get(run), self._rt.store.now()
        if self._open is None or not self._bells:
            return
        self._tell((), (), [row], now)

    def _tell(
        self,
        opened: Iterable[str],
        closed: Iterable[str],
        runs: Sequence[RunRow],
        now: float,
        *,
        more: bool = False,
    ) -> None:
        """Another change, for everybody who watches."""
        self._n += 1
        data = FeedChange(
            opened=tuple(opened),
            closed=tuple(closed),
            halts=self._halts,
            runs=tuple(run_summary(row, self._halts, now) for row in runs[:RUNS]),
            more=more or len(runs) > RUNS,
            open_interrupts=len(self._open.refs) if self._open else 0,
            now=now,
        )
        self._changes.append(Change(self._n, "changed", data))
        for bell in self._bells:
            bell.set()

    def open_refs(self) -> tuple[str, ...]:
        """The refs of all open interrupts."""
        return tuple(self._open.refs) if self._open else ()

    def _whole(self) -> Change:
        data = FeedSnapshot(open=self.open_refs(), halts=self._halts, now=self._rt.store.now())
        return Change(self._n, "inbox", data)

    async def _follow(self) -> None:
        bell = asyncio.Event()
        end = self._rt.store.subscribe("", bell.set)
        try:
            while True:
                bell.clear()
                began = time.monotonic()
                try:
                    await self._look()
                except AdjournError as e:  # those who watch are told when it is there again
                    log.warning("reading the store failed; trying again: %s", e)
                await asyncio.sleep(max(PAUSE, SHARE * (time.monotonic() - began)))
                try:
                    # not wait_for: it may swallow a cancellation
                    async with asyncio.timeout(STALE):
                        await bell.wait()
                except TimeoutError:
                    continue
        finally:
            end()

    async def _look(self) -> None:
        """Compare what there is with what there was."""
        async with self._looking:
            store, begun = self._rt.store, (self._rt.store.now(), time.monotonic())
            halts = tuple(await self._rt.halts())
            if self._open is None:
                there = OpenInterrupts()
                async for page in self._inbox(Filter()):
                    there.add(page)
                self._open, self._halts, self._looked = there, halts, begun
                return
            since = self._since(begun)
            # first: what is read of the inbox after this is not older
            rows = await self._changed_runs(since)
            found: list[Interrupt] = []
            if rows:
                async for page in self._inbox(Filter(changed=since)):
                    found += page
            now = store.now()
            was, self._halts, self._looked = self._halts, halts, begun
            opened, closed = self._open.replace([row.id for row in rows], found, now)
            scopes = frozenset(halt.scope for halt in halts)
            runs = self._fresh(rows, since, now, scopes)
            is_halting = halts != was
            if opened or closed or runs or is_halting:
                self._tell(opened, closed, runs, now, more=is_halting)

    def _since(self, begun: tuple[float, float]) -> float:
        """Since when changes are new: since the last look began, also if the clock was set back
        meanwhile."""
        (now, ticks), (looked, then) = begun, self._looked
        return min(looked, now - (ticks - then)) - LATE

    async def _inbox(self, wanted: Filter) -> AsyncIterator[list[Interrupt]]:
        """All of an inbox, briefly, a page at a time."""
        wanted = replace(wanted, brief=True, limit=PAGE)
        while True:
            page = await self._rt.store.inbox(wanted)
            yield page
            if len(page) < PAGE:
                return
            wanted = replace(wanted, after=page[-1].ref)

    async def _changed_runs(self, since: float) -> list[RunRow]:
        """The rows of all runs that changed, newest first."""
        found: list[RunRow] = []
        after = ""
        while True:
            page = await self._rt.store.runs(Filter(changed=since, limit=PAGE, after=after))
            found += page
            if len(page) < PAGE:
                return found
            after = page[-1].id

    def _fresh(
        self, rows: list[RunRow], since: float, now: float, halts: frozenset[str]
    ) -> list[RunRow]:
        """Those that nobody was told of yet: the same changes are seen again for a while."""
        self._runs = {id: seen for id, seen in self._runs.items() if seen[2] >= since}
        fresh: list[RunRow] = []
        for row in rows:
            status = row.shown(now, halts)
            if self._runs.get(row.id, (0, ""))[:2] != (row.seq, status):
                fresh.append(row)
            self._runs[row.id] = (row.seq, status, row.updated_at)
        return fresh
