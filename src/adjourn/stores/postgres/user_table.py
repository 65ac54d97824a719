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
    store_error,
    taken_apart,
)
from adjourn.stores.postgres.locks import PEOPLE, alone
from adjourn.stores.postgres.migrations import bring_up_to_date
from adjourn.stores.user_table import KeyRow, SessionRow, UserRow

USERS = "select name, role, groups, created_at, grants, tenant from adjourn.person order by name"
KEYS = "select hash, name, hint, created_at, expires from adjourn.person_key"
SESSIONS = "select hash, name, until, key, seen from adjourn.person_session"
CHANGED = "update adjourn.person_version set number = number + 1"
TRIES = 2
"""So often a statement is sent: a connection may be gone since it was used last."""


class PostgresUsers:
    """See `UserTable`. Any thread may use it; a transaction belongs to its thread."""

    waits = True

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

    # Users

    def users(self) -> list[UserRow]:
        """See `UserTable.users`."""
        return list(map(UserRow._make, self._ask(USERS)))

    def add_user(self, row: UserRow, *, unless_there: bool = False) -> None:
        """See `UserTable.add_user`."""
        sql = (
            "insert into adjourn.person (name, role, groups, created_at, grants, tenant) values "
            "(%(name)s, %(role)s, %(groups)s, %(created_at)s, %(grants)s, %(tenant)s)"
        )
        if unless_there:
            sql += " on conflict (name) do nothing"
        self._ask(sql, CHANGED, **row._asdict())

    def set_role(self, name: str, role: str) -> None:
        """See `UserTable.set_role`."""
        sql = "update adjourn.person set role = %(role)s where name = %(name)s"
        self._ask(sql, CHANGED, name=name, role=role)

    def set_groups(self, name: str, groups: str) -> None:
        """See `UserTable.set_groups`."""
        sql = "update adjourn.person set groups = %(groups)s where name = %(name)s"
        self._ask(sql, CHANGED, name=name, groups=groups)

    def set_grants(self, name: str, grants: str) -> None:
        """See `UserTable.set_grants`."""
        sql = "update adjourn.person set grants = %(grants)s where name = %(name)s"
        self._ask(sql, CHANGED, name=name, grants=grants)

    def set_tenant(self, name: str, tenant: str) -> None:
        """See `UserTable.set_tenant`."""
        sql = "update adjourn.person set tenant = %(tenant)s where name = %(name)s"
        self._ask(sql, CHANGED, name=name, tenant=tenant)

    def remove_user(self, name: str) -> None:
        """See `UserTable.remove_user`."""
        script = [
            f"delete from adjourn.{table} where name = %(name)s"
            for table in ("person_session", "person_key", "person")
        ]
        self._ask(*script, CHANGED, name=name)

    # Keys

    def all_keys(self) -> list[KeyRow]:
        """See `UserTable.all_keys`."""
        return list(map(KeyRow._make, self._ask(f"{KEYS} order by n")))

    def keys_of(self, user: str) -> list[KeyRow]:
        """See `UserTable.keys_of`."""
        return list(
            map(KeyRow._make, self._ask(f"{KEYS} where name = %(name)s order by n", name=user))
        )

    def keys_like(self, beginning: str) -> list[KeyRow]:
        """See `UserTable.keys_like`."""
        found = self._ask(f"{KEYS} where starts_with(hash, %(hash)s) order by n", hash=beginning)
        return list(map(KeyRow._make, found))

    def add_key(self, row: KeyRow) -> None:
        """See `UserTable.add_key`."""
        sql = (
            "insert into adjourn.person_key (hash, name, hint, created_at, expires) values "
            "(%(hash)s, %(user)s, %(hint)s, %(created_at)s, %(expires)s)"
        )
        self._ask(sql, CHANGED, **row._asdict())

    def remove_key(self, hash: str) -> None:
        """See `UserTable.remove_key`."""
        sessions = "delete from adjourn.person_session where key = %(hash)s and key <> ''"
        key = "delete from adjourn.person_key where hash = %(hash)s"
        self._ask(sessions, key, CHANGED, hash=hash)

    # Sessions

    def add_session(self, row: SessionRow) -> None:
        """See `UserTable.add_session`."""
        sql = (
            "insert into adjourn.person_session (hash, name, until, key, seen) values "
            "(%(hash)s, %(user)s, %(until)s, %(key)s, %(seen)s)"
        )
        over = "delete from adjourn.person_session where until < %(seen)s"
        self._ask(over, sql, **row._asdict())

    def session(self, hash: str) -> SessionRow | None:
        """See `UserTable.session`."""
        found = self._ask(f"{SESSIONS} where hash = %(hash)s", hash=hash)
        if found:
            return SessionRow._make(found[0])
        return None

    def sessions(self) -> list[SessionRow]:
        """See `UserTable.sessions`."""
        return list(map(SessionRow._make, self._ask(f"{SESSIONS} order by seen desc, hash")))

    def saw_session(self, hash: str, now: float) -> None:
        """See `UserTable.saw_session`."""
        sql = (
            "update adjourn.person_session set seen = greatest(seen, %(now)s) where hash = %(hash)s"
        )
        self._ask(sql, hash=hash, now=now)

    def end_session(self, hash: str) -> None:
        """See `UserTable.end_session`."""
        self._ask("delete from adjourn.person_session where hash = %(hash)s", hash=hash)

    def end_sessions(self, user: str) -> int:
        """See `UserTable.end_sessions`."""
        sql = "delete from adjourn.person_session where name = %(name)s returning 1"
        return len(self._ask(sql, name=user))
