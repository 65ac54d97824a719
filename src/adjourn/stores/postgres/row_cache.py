"""What a process knows of runs that its workers have, and of what all rules go by, from one
transaction to the next.

It may be old. Whatever is written because of it is compared with the database, in the transaction
that writes it.
"""

import threading
import time
from collections.abc import Callable

from adjourn.stores.postgres.config import Config
from adjourn.stores.rules.reads_and_writes import ReadRequest, Writes
from adjourn.stores.run_row import RunRow

KNOWN = 20_000
"""Rows of so many runs are kept."""


class Remembered:
    """Shared by all threads of a store."""

    def __init__(self, now: Callable[[], float] | None) -> None:
        self._given = now
        self._offset = time.time() - time.monotonic()
        self._runs: dict[str, RunRow] = {}
        self._wrote: dict[str, int] = {}
        self._lock = threading.Lock()
        self.config = Config()

    def now(self) -> float:
        """The database's time, as far as this process can tell."""
        if self._given:
            return self._given()
        return self._offset + time.monotonic()

    def heard(self, now: float, config: Config) -> float:
        """The database has just said what time it is, and what all rules go by; the time."""
        self.config = config
        if self._given:
            return self._given()
        self._offset = now - time.monotonic()
        return now

    def run(self, id: str) -> RunRow | None:
        """A run's row, as it was when this process wrote it last."""
        return self._runs.get(id)

    def wrote(self, id: str) -> int:
        """The last record that this process has lately appended to a run; 0 if none."""
        return self._wrote.get(id, 0)

    def forget(self, id: str) -> None:
        """Read it again the next time."""
        self._runs.pop(id, None)

    def keep(self, writes: Writes) -> None:
        """This was written."""
        if writes.removed is not None:
            self.forget(writes.removed.id)
        row = writes.row
        if row is None:
            return
        with self._lock:
            if len(self._wrote) > KNOWN:
                self._wrote.clear()
            if writes.journal:
                self._wrote[row.id] = row.seq
            known = self._runs.get(row.id)
            if not row.worker:
                self._runs.pop(row.id, None)
            elif known is None or known.seq <= row.seq:
                if len(self._runs) > KNOWN:
                    self._runs.clear()
                self._runs[row.id] = row

    def answers(self, ask: ReadRequest) -> RunRow | None:
        """The row of the run of a rule that looks at nothing else but what is remembered; None if
        it does."""
        row = self._runs.get(ask.run)
        config = self.config
        if (
            row is None
            or not config.generation
            or config.waking
            or ask.tail != row.seq
            or ask.head_at != row.seq
        ):
            return None
        if (ask.opens and row.opens) or (ask.endpoints and config.endpoints):
            return None
        known = ReadRequest(
            ask.run,
            ask.tail,
            ask.head_at,
            opens=ask.opens,
            halts=ask.halts,
            endpoints=ask.endpoints,
            signed=ask.signed,
        )
        return row if ask == known else None
