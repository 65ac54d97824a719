"""Live text over a board that all processes can see: lines that nobody depends on, and that are
gone after a minute.

A watcher leaves a note of interest; the worker's process looks for such notes and writes what its
runs say.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, Protocol

from adjourn.stores.channel import Ears, Line

log = logging.getLogger("adjourn.live")

POLL, INTEREST, KEPT = 0.05, 5.0, 60.0
"""Seconds between two looks; for which a note of interest counts; for which a line is kept."""


class Board(Protocol):
    """Where notes and lines are. Whatever is raised costs live text, and nothing else."""

    async def interested(self) -> dict[str, float]:
        """The runs that somebody watches, and when the last of them began to."""
        ...

    async def note(self, runs: Sequence[str], fresh: Collection[str]) -> None:
        """Somebody here watches these for `INTEREST` seconds; `fresh`: they have just begun to."""
        ...

    async def write(self, lines: Sequence[tuple[str, str]], source: str) -> None:
        """Put (run, line) on the board, if the run is still watched. What is older than `KEPT`
        seconds goes."""
        ...

    async def last(self) -> int:
        """The number of the last line; 0 if there is none."""
        ...

    async def since(self, run: str, after: int, source: str) -> list[tuple[int, str]]:
        """The lines of a run after this number that others than `source` wrote, in order."""
        ...

    async def forget(self, run: str) -> bool:
        """Nothing of the run is kept, and nothing of it is written any more. False: somebody who
        reads holds a part of it."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


class _Said(NamedTuple):
    run: str
    line: Line
    in_whole: bool


class PolledChannel:
    """See `Channel`: one process's end of a board."""

    def __init__(self, board: Board, ears: Ears) -> None:
        self._board, self._ears = board, ears
        self._waiting: list[_Said] = []
        self._id = os.urandom(8).hex()
        self._followed: dict[str, int] = {}
        self._followers: Counter[str] = Counter()
        self._fresh: set[str] = set()
        self._wanted: dict[str, float] = {}
        self._sender: asyncio.Task[None] | None = None
        self._poller: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def send(self, run: str, line: Line, *, in_whole: bool = False) -> None:
        """See `Channel.send`. It is kept for a moment in case somebody elsewhere listens."""
        self._waiting.append(_Said(run, line, in_whole))
        if self._sender is None or self._sender.done():
            self._sender = self._loop.create_task(self._send(), name="adjourn-live-send")

    async def _send(self) -> None:
        with suppress(Exception):
            while self._waiting:
                await asyncio.sleep(POLL)
                items, self._waiting = self._waiting, []
                wanted = await self._board.interested()
                fresh = self._so_far(wanted)
                self._wanted = wanted
                caught = {run for run, _ in fresh}
                # What is said in whole since then, `fresh` has already.
                self._waiting = [
                    said for said in self._waiting if not (said.run in caught and said.in_whole)
                ]
                rows: list[tuple[str, str]] = []
                for said in items:
                    if said.run in wanted and said.run not in caught:
                        rows.append((said.run, said.line()))
                rows += fresh
                if rows:
                    await self._board.write(rows, self._id)

    def _so_far(self, wanted: Mapping[str, float]) -> list[tuple[str, str]]:
        """What was said so far of the runs to which somebody has begun to listen."""
        found: list[tuple[str, str]] = []
        for run, asked in wanted.items():
            if self._wanted.get(run) != asked:
                for line in self._ears.so_far(run):
                    found.append((run, line))
        return found

    @asynccontextmanager
    async def follow(self, run: str) -> AsyncGenerator[None]:
        """See `Channel.follow`."""
        self._followed.setdefault(run, -1)
        self._followers[run] += 1
        self._fresh.add(run)
        if self._poller is None or self._poller.done():
            self._poller = self._loop.create_task(self._poll(), name="adjourn-live-poll")
        try:
            yield
        finally:
            self._followers[run] -= 1
            if not self._followers[run]:
                del self._followers[run]
                self._followed.pop(run, None)

    async def _poll(self) -> None:
        noted = float("-inf")
        try:
            while self._followed:
                # before the note: what answers it comes after this place
                for run, after in list(self._followed.items()):
                    await self._hear(run, after)
                if self._fresh or self._loop.time() - noted > INTEREST / 2:
                    noted, fresh, self._fresh = self._loop.time(), self._fresh, set()
                    await self._board.note(list(self._followed), fresh)
                await asyncio.sleep(POLL)
        except Exception as e:
            log.warning("live text from other processes is not available: %s", e)

    async def _hear(self, run: str, after: int) -> None:
        if after < 0:
            last = await self._board.last()
            if run in self._followed:
                self._followed[run] = last
            return
        # our own were heard already
        for number, body in await self._board.since(run, after, self._id):
            if run in self._followed:
                self._followed[run] = number
            self._ears.hear(body)

    async def forget(self, run: str) -> bool:
        """See `Channel.forget`."""
        self._waiting = [said for said in self._waiting if said.run != run]
        return await self._board.forget(run)

    async def close(self) -> None:
        """See `Channel.close`."""
        tasks = [task for task in (self._sender, self._poller) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._board.close()
