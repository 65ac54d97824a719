"""Users, keys and sessions in a small SQLite file of their own, beside a store's file."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from adjourn.errors import StoreError
from adjourn.stores.private_file import make_private
from adjourn.stores.user_table import KeyRow, SessionRow, UserRow

_SCHEMA = """
create table if not exists user (
    name text primary key, role text not null, groups text not null, created_at real not null
);
create table if not exists key (
    hash text primary key, user text not null, hint text not null, created_at real not null
);
create table if not exists session (hash text primary key, user text not null, until real not null);
"""
_EXPIRY = """
alter table key add column expires real not null default 0;
delete from session;
alter table session add column key text not null default '';
alter table session add column seen real not null default 0;
"""
"""Sessions that do not know their key could outlive it: whoever had one logs in again."""
_SCOPES = """
alter table user add column grants text not null default '';
alter table user add column tenant text not null default '';
"""
_STEPS = (_SCHEMA + _EXPIRY, _SCOPES)
"""From each version of the file to the next."""

_KEY = "select hash, user, hint, created_at, expires from key"


class UserFile:
    """See `UserTable`. Any process may change the file at any time."""

    waits = False

    def __init__(self, path: str) -> None:
        """`path`: the file, closed to everybody but its owner; empty: in memory."""
        if path:
            make_private(path)
        try:
            self._db = sqlite3.connect(
                path or ":memory:", timeout=5, check_same_thread=False, isolation_level=None
            )
            self._upgrade()
        except sqlite3.Error as e:
            raise StoreError(f"the users of {path!r} cannot be opened: {e}") from e

    @contextmanager
    def changing(self) -> Generator[None]:
        """See `UserTable.changing`."""
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        else:
            self._db.execute("commit")

    def version(self) -> int:
        """See `UserTable.version`."""
        [version] = self._db.execute("pragma data_version").fetchone()
        return version

    def close(self) -> None:
        """See `UserTable.close`."""
        self._db.close()

    # Users

    def users(self) -> list[UserRow]:
        """See `UserTable.users`."""
        sql = "select name, role, groups, created_at, grants, tenant from user order by name"
        return list(map(UserRow._make, self._db.execute(sql)))

    def add_user(self, row: UserRow, *, unless_there: bool = False) -> None:
        """See `UserTable.add_user`."""
        sql = "insert into user (name, role, groups, created_at, grants, tenant) values (?, ?, ?, ?, ?, ?)"
        if unless_there:
            sql += " on conflict (name) do nothing"
        self._db.execute(sql, row)

    def set_role(self, name: str, role: str) -> None:
        """See `UserTable.set_role`."""
        self._db.execute("update user set role = ? where name = ?", (role, name))

    def set_groups(self, name: str, groups: str) -> None:
        """See `UserTable.set_groups`."""
        self._db.execute("update user set groups = ? where name = ?", (groups, name))

    def set_grants(self, name: str, grants: str) -> None:
        """See `UserTable.set_grants`."""
        self._db.execute("update user set grants = ? where name = ?", (grants, name))

    def set_tenant(self, name: str, tenant: str) -> None:
        """See `UserTable.set_tenant`."""
        self._db.execute("update user set tenant = ? where name = ?", (tenant, name))

    def remove_user(self, name: str) -> None:
        """See `UserTable.remove_user`."""
        self._db.execute("delete from session where user = ?", (name,))
        self._db.execute("delete from key where user = ?", (name,))
        self._db.execute("delete from user where name = ?", (name,))

    # Keys

    def all_keys(self) -> list[KeyRow]:
        """See `UserTable.all_keys`."""
        return self._keys(f"{_KEY} order by rowid")

    def keys_of(self, user: str) -> list[KeyRow]:
        """See `UserTable.keys_of`."""
        return self._keys(f"{_KEY} where user = ? order by rowid", user)

    def keys_like(self, beginning: str) -> list[KeyRow]:
        """See `UserTable.keys_like`."""
        return self._keys(f"{_KEY} where substr(hash, 1, ?) = ?", len(beginning), beginning)

    def add_key(self, row: KeyRow) -> None:
        """See `UserTable.add_key`."""
        sql = "insert into key (hash, user, hint, created_at, expires) values (?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def remove_key(self, hash: str) -> None:
        """See `UserTable.remove_key`."""
        self._db.execute("delete from session where key = ?", (hash,))
        self._db.execute("delete from key where hash = ?", (hash,))

    # Sessions

    def add_session(self, row: SessionRow) -> None:
        """See `UserTable.add_session`."""
        self._db.execute("delete from session where until < ?", (row.seen,))
        sql = "insert into session (hash, user, until, key, seen) values (?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def session(self, hash: str) -> SessionRow | None:
        """See `UserTable.session`."""
        sql = "select hash, user, until, key, seen from session where hash = ?"
        found = self._db.execute(sql, (hash,)).fetchone()
        if found is None:
            return None
        return SessionRow._make(found)

    def sessions(self) -> list[SessionRow]:
        """See `UserTable.sessions`."""
        sql = "select hash, user, until, key, seen from session order by seen desc, hash"
        return list(map(SessionRow._make, self._db.execute(sql)))

    def saw_session(self, hash: str, now: float) -> None:
        """See `UserTable.saw_session`."""
        self._db.execute("update session set seen = ? where hash = ?", (now, hash))

    def end_session(self, hash: str) -> None:
        """See `UserTable.end_session`."""
        self._db.execute("delete from session where hash = ?", (hash,))

    def end_sessions(self, user: str) -> int:
        """See `UserTable.end_sessions`."""
        return self._db.execute("delete from session where user = ?", (user,)).rowcount

    def _keys(self, sql: str, *values: Any) -> list[KeyRow]:
        return list(map(KeyRow._make, self._db.execute(sql, values)))

    def _version(self) -> int:
        return self._db.execute("pragma user_version").fetchone()[0]

    def _upgrade(self) -> None:
        if self._version() >= len(_STEPS):
            return
        with self.changing():
            # asked again: another process may have been faster
            for step in _STEPS[self._version() :]:
                for statement in step.split(";"):
                    self._db.execute(statement)
            self._db.execute(f"pragma user_version = {len(_STEPS)}")
