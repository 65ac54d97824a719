"""The heartbeat of a worker in a SQLite file: from a thread of its own, over a connection of its
own."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import apsw

from adjourn.errors import StoreError
from adjourn.stores.protocol import LEFT

BEAT = "insert into worker values (?, ?) on conflict (id) do update set until = excluded.until"
FORGET = (
    "delete from worker where id = ? and not exists (select 1 from run where worker = worker.id)"
)


class SQLitePulse:
    """See `Pulse`."""

    def __init__(self, connect: Callable[[], Any], now: Callable[[], float]) -> None:
        self._connect, self._now = connect, now
        self._db: Any = None  # apsw's types are not complete

    def beat(self, worker: str, ttl: float) -> bool:
        """See `Pulse.beat`."""

        def work(db: Any) -> bool:
            found = db.execute("select until from worker where id = ?", (worker,)).fetchone()
            now = self._now()
            db.execute(BEAT, (worker, now + ttl))
            return found is None or found[0] <= now

        return self._transact(work)

    def end(self, worker: str, *, left: bool = False) -> None:
        """See `Pulse.end`."""

        def work(db: Any) -> None:
            db.execute("update worker set until = ? where id = ?", (LEFT if left else 0, worker))
            db.execute(FORGET, (worker,))

        self._transact(work)

    def close(self) -> None:
        """See `Pulse.close`."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _transact(self, work: Callable[[Any], Any]) -> Any:
        try:
            if self._db is None:
                self._db = self._connect()
                # A heartbeat lost with the power costs nothing; the next commit of a fact syncs it.
                self._db.pragma("synchronous", "normal")
            self._db.execute("begin immediate")
            try:
                result = work(self._db)
                self._db.execute("commit")
            except BaseException:
                with suppress(apsw.Error):
                    self._db.execute("rollback")
                raise
        except apsw.Error as e:
            raise StoreError(f"the heartbeat could not be written: {type(e).__name__}: {e}") from e
        return result
