"""The heartbeat of a worker in a PostgreSQL database: from a thread of its own, over a connection
of its own."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from adjourn.stores.postgres.connections import (
    Connection,
    connect,
    is_passing,
    messages,
    store_error,
)
from adjourn.stores.postgres.write_statements import FORGET
from adjourn.stores.protocol import LEFT

_NOW = (
    "select extract(epoch from clock_timestamp())::float8, (select until from "
    "adjourn.worker where id = %(worker)s)"
)
_BEAT = """
insert into adjourn.worker values (%(worker)s, %(until)s) on conflict (id) do update set until = excluded.until
"""
_END = "update adjourn.worker set until = %(until)s where id = %(worker)s"
# A heartbeat that is lost with the server costs nothing: whoever takes a run must have it written
# down.
_LIGHTLY = "set local synchronous_commit = off"


class PostgresPulse:
    """See `Pulse`."""

    def __init__(self, info: str, where: str, now: Callable[[], float] | None) -> None:
        self._info, self._where, self._now = info, where, now
        self._db: Connection | None = None

    def beat(self, worker: str, ttl: float) -> bool:
        """See `Pulse.beat`."""
        [(now, until)] = self._send([_NOW], {"worker": worker})[-1]
        if self._now is not None:
            now = self._now()
        self._send(["begin", _LIGHTLY, _BEAT, "commit"], {"worker": worker, "until": now + ttl})
        return until is None or until <= now

    def end(self, worker: str, *, left: bool = False) -> None:
        """See `Pulse.end`."""
        values = {"worker": worker, "until": LEFT if left else 0.0, "gone": [worker]}
        self._send(["begin", _LIGHTLY, _END, FORGET, "commit"], values)

    def close(self) -> None:
        """See `Pulse.close`."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _send(self, script: list[str], values: dict[str, Any]) -> list[list[tuple[Any, ...]]]:
        """Once more over a new connection, if the old one is gone: all of it may be done twice."""
        for again in (True, False):
            try:
                if self._db is None:
                    self._db = connect(self._info)
                return messages(self._db, script, values)
            except psycopg.Error as e:
                with suppress(psycopg.Error):
                    self.close()
                if not (again and is_passing(e)):
                    raise store_error(
                        f"{self._where}: the heartbeat could not be written", e
                    ) from e
        raise AssertionError("unreachable")
