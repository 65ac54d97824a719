"""Users, keys and sessions in a PostgreSQL database, shared by all servers of it."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

from adjourn.stores.address import without_password
from adjourn.stores.postgres.connections import (
    Connection,
    Pool,
    connect,
    is_passing,
    messages,
    named,
    store_error,
    taken_apart,
)
from adjourn.stores.postgres.locks import PEOPLE, alone
from adjourn.stores.postgres.migrations import bring_up_to_date
from adjourn.stores.user_table import UserTable

CHANGED = "update adjourn.person_version set number = number + 1"
TRIES = 2
"""So often a statement is sent: a connection may be gone since it was used last."""


class PostgresUsers(UserTable):
    """See `UserTable`. Any thread may use it; a transaction belongs to its thread."""

    waits = True
    _user, _key, _session = "adjourn.person", "adjourn.person_key", "adjourn.person_session"
    _owner, _age = "name", "n"

    def __init__(self, address: str) -> None:
        """`address`: of the store; its schema is brought up to date."""
        self._where = without_password(address)
        info, _ = taken_apart(address)
        self._pool, self._here = Pool(info), threading.local()
        with self._errors(), connect(info) as db:
            bring_up_to_date(db, self._where)

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except psycopg.Error as e:
            raise store_error(self._where, e) from e

    @contextmanager
    def changing(self) -> Generator[None]:
        """See `UserTable.changing`."""
        with self._errors(), self._pool.connection() as db, db.transaction():
            messages(db, [alone(PEOPLE)], {})
            self._here.db = db
            try:
                yield
            finally:
                self._here.db = None

    def _ask(self, *script: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of the first of some statements, in the transaction of this thread or in one of
        their own."""
        script = tuple(map(named, script))
        inside: Connection | None = getattr(self._here, "db", None)
        if inside is not None:
            return messages(inside, script, values)[0]
        with self._errors():
            for _ in range(TRIES - 1):
                try:
                    return self._send(script, values)
                except psycopg.Error as e:
                    if not is_passing(e):
                        raise
            return self._send(script, values)

    def _change(self, *script: str, **values: Any) -> None:
        self._ask(*script, CHANGED, **values)

    def _send(self, script: tuple[str, ...], values: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._pool.connection() as db:
            return messages(db, script, values)[0]

    def version(self) -> int:
        """See `UserTable.version`."""
        [(number,)] = self._ask("select number from adjourn.person_version")
        return number

    def close(self) -> None:
        """See `UserTable.close`."""
        self._pool.close()
