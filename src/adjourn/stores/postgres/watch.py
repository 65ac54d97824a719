"""Who is told in this process that another has changed something: by NOTIFY where that arrives, and
by looking in any case.

People's words, halts and runs that are handed back are announced; a step is not, because an
announcement takes a lock that all of them share. Whoever follows a run's steps from another process
looks.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg

from adjourn.errors import StoreError
from adjourn.stores.postgres.connections import Connection, connect, messages
from adjourn.stores.postgres.row_cache import Remembered
from adjourn.stores.postgres.standby_notice import StandbyNotice
from adjourn.stores.protocol import Bell
from adjourn.stores.subscriptions import Subscriptions

log = logging.getLogger("adjourn.store")

HOT, IDLE = 0.1, 1.0
"""Seconds between two looks: while somebody follows a run, and otherwise."""
LISTEN_FOR = 1.0
"""Seconds after which the ear looks whether it is still wanted."""
LONGEST = 7_000
"""So many bytes an announcement can have."""
Hearer = tuple[asyncio.AbstractEventLoop, Callable[[str], None]]
"""Whoever is told of announcements, and in which loop."""
GENERATION = "select generation::text from adjourn.config"
SEQS = "select id, seq from adjourn.run where id = any(%(runs)s::text[])"


class Watch:
    """The subscriptions of a process, and what rings them."""

    def __init__(
        self,
        info: str,
        notice: StandbyNotice,
        ask: Callable[[Callable[[Connection], Any]], Awaitable[Any]],
        remembered: Remembered,
    ) -> None:
        self._info, self._notice, self._ask, self._remembered = info, notice, ask, remembered
        self.bells, self._hearers = Subscriptions(), list[Hearer]()
        self._me = os.urandom(8).hex()
        self._task: asyncio.Task[None] | None = None
        self._woken: asyncio.Event | None = None
        self._ear: threading.Thread | None = None
        self._heads: dict[str, int] = {}
        self._generation = ""
        self._closed = False

    def word(self, run: str) -> str:
        """What is announced to other processes."""
        said = f"{self._me} {run}"
        if len(said.encode()) < LONGEST:
            return said
        return f"{self._me} "

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        end = self.bells.add(run, bell, words)
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._woken = asyncio.Event()
            self._task = loop.create_task(self._look(loop, self._woken), name="adjourn-watch")
        elif run and self._woken is not None:
            self._woken.set()  # it may be in the middle of a long sleep
        return end

    def hear(self, told: Callable[[str], None]) -> Callable[[], None]:
        """See `Store.hear`."""
        loop = asyncio.get_running_loop()
        hearer = (loop, told)
        self._hearers.append(hearer)
        self._begin_listening(loop)
        return partial(self._end_hearing, hearer)

    def _end_hearing(self, hearer: Hearer) -> None:
        with suppress(ValueError):  # it has ended already
            self._hearers.remove(hearer)

    def _begin_listening(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._ear is None or not self._ear.is_alive():
            self._ear = threading.Thread(
                target=self._listen, args=(loop,), name="adjourn-ear", daemon=True
            )
            self._ear.start()

    async def _look(self, loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
        """Look for what other processes wrote, as long as somebody wants to know."""
        self._begin_listening(loop)
        while self.bells:
            try:
                await self._ring_changed()
            # it looks again: a process that does not hear others would go on past their words
            except StoreError as e:
                log.warning("notices of other processes could not be read: %s", e)
            woken.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), IDLE if self.bells.idle else HOT)

    async def _ring_changed(self) -> None:
        runs = self.bells.runs
        [(generation,)], found = await self._ask(
            lambda db: messages(db, [GENERATION, SEQS], {"runs": runs})
        )
        if generation != self._generation:
            first, self._generation = not self._generation, generation
            if not first:
                self.bells.ring("")
        for run, seq in found:
            # What was written here is no news, also while its answer is still on its way to this
            # loop.
            if seq > self._heads.get(run, 0):
                self._heads[run] = seq
                if seq > self._remembered.wrote(run):
                    self.bells.ring(run)
        self._heads = {run: self._heads[run] for run in runs if run in self._heads}
        self.bells.ring_any()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread of its own, over a connection of its own, until nobody listens any more."""
        complaint = ""
        while self._is_wanted:
            try:
                with connect(self._info) as db:
                    db.execute("listen adjourn")
                    complaint = ""
                    while self._is_wanted:
                        for note in db.notifies(timeout=LISTEN_FOR, stop_after=1):
                            loop.call_soon_threadsafe(self._heard, note.payload)
            except psycopg.Error as e:
                before, complaint = complaint, str(e).strip()
                if not self._notice.heed(e) and complaint != before:
                    log.warning(
                        "%s: announcements are not received: %s", self._notice.where, complaint
                    )
                threading.Event().wait(LISTEN_FOR)
            except RuntimeError:  # its loop is closed
                return

    @property
    def _is_wanted(self) -> bool:
        return not self._closed and bool(self.bells or self._hearers)

    def _heard(self, said: str) -> None:
        who, _, run = said.partition(" ")
        if who != self._me:
            self.bells.ring(run)
            for loop, told in tuple(self._hearers):
                if not loop.is_closed():
                    loop.call_soon_threadsafe(told, run)

    async def close(self) -> None:
        """Tell nobody any more."""
        self._closed = True
        task = self._task
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._ear is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._ear.join)
