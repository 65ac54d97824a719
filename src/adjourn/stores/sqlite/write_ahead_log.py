"""The write-ahead log of a SQLite file, kept short also while readers overlap.

SQLite begins its log anew only in a moment in which nobody reads from it. With readers that overlap
there is none, and the log grows with every commit. So whoever finds it too long holds writers back
for a moment: readers that come meanwhile read from the file, those before them come to their end,
and the log is cut.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import apsw

from adjourn.errors import StoreError

log = logging.getLogger("adjourn.store")

LONG = 32 * 1024 * 1024
"""Bytes that the log may have; more than `journal_size_limit`, which is what SQLite itself leaves
of it."""
PATIENCE = 0.5
"""Seconds that writers are held back, at most."""
ATTEMPT = 10
"""Milliseconds of one attempt."""
OFTEN = 16
"""Transactions from one look to the next: to ask for a file's size costs as much as to append to
it."""


class WriteAheadLog:
    """For the thread that writes: it looks between two transactions."""

    def __init__(self, path: str, connect: Callable[[], Any]) -> None:
        self._path, self._connect = f"{path}-wal", connect
        self._limit = self._unseen = 0

    def keep_short(self) -> None:
        """Cut the log if it is too long. If a reader does not end, try again when it has grown by
        as much again."""
        self._unseen = (self._unseen + 1) % OFTEN
        if self._unseen:
            return
        size = self._size()
        if size <= max(LONG, self._limit):
            return
        try:
            with closing(self._connect()) as db:  # of its own: a writer's patience is longer
                busy = not cut(db)
        # the log is only long; whatever else is wrong the next transaction finds
        except (
            apsw.Error,
            StoreError,
        ) as e:
            log.warning("%s: the log could not be cut: %s", self._path, e)
            busy = True
        if busy:
            self._limit = size + LONG
        else:
            self._limit = 0

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0


def cut(db: Any, patience: float = PATIENCE) -> bool:
    """Whether the log was cut before our patience ended.

    In many short attempts: SQLite looks once at an attempt's beginning where each reader is, and
    then waits for a place that later readers, who are in nobody's way, may take one after the
    other.
    """
    db.set_busy_timeout(ATTEMPT)
    until = time.monotonic() + patience
    while True:
        [(busy, _, _)] = db.execute("pragma wal_checkpoint(truncate)").fetchall()
        if not busy:
            return True
        if time.monotonic() >= until:
            return False
