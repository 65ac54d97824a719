"""The tables of users, keys and sessions, in a small file of their own: statements, and nothing of
what they mean."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from adjourn.errors import StoreError
from adjourn.stores.private_file import make_private

_SCHEMA = """
create table if not exists user (
    name text primary key, role text not null, groups text not null, created_at real not null
);
create table if not exists key (
    hash text primary key, user text not null, hint text not null, created_at real not null
);
create table if not exists session (hash text primary key, user text not null, until real not null);
"""
_VERSION = 1
_UPGRADE = """
alter table key add column expires real not null default 0;
delete from session;
alter table session add column key text not null default '';
alter table session add column seen real not null default 0;
"""
"""Sessions that do not know their key could outlive it: whoever had one logs in again."""

_KEY = "select hash, user, hint, created_at, expires from key"


class UserRow(NamedTuple):
    """A user. `groups`: one a line."""

    name: str
    role: str
    groups: str
    created_at: float


class KeyRow(NamedTuple):
    """A key. `expires`: 0 for never."""

    hash: str
    user: str
    hint: str
    created_at: float
    expires: float


class SessionRow(NamedTuple):
    """A session. `key`: the hash of the key that opened it, if any."""

    hash: str
    user: str
    until: float
    key: str
    seen: float


class UserTable:
    """The file. Any process may change it at any time."""

    def __init__(self, path: str) -> None:
        """`path`: the file, closed to everybody but its owner; empty: in memory."""
        if path:
            make_private(path)
        try:
            self._db = sqlite3.connect(
                path or ":memory:", timeout=5, check_same_thread=False, isolation_level=None
            )
            if self._is_old():
                self._upgrade()
        except sqlite3.Error as e:
            raise StoreError(f"the users of {path!r} cannot be opened: {e}") from e

    @contextmanager
    def changing(self) -> Generator[None]:
        """One transaction: everything in it counts, or nothing."""
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        else:
            self._db.execute("commit")

    def version(self) -> int:
        """Another number than before if another process has written since."""
        [version] = self._db.execute("pragma data_version").fetchone()
        return version

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    # Users

    def users(self) -> list[UserRow]:
        """All of them, by name."""
        sql = "select name, role, groups, created_at from user order by name"
        return list(map(UserRow._make, self._db.execute(sql)))

    def add_user(self, row: UserRow, *, unless_there: bool = False) -> None:
        """Write a new one."""
        sql = "insert into user values (?, ?, ?, ?)"
        if unless_there:
            sql += " on conflict (name) do nothing"
        self._db.execute(sql, row)

    def set_role(self, name: str, role: str) -> None:
        """Change the role."""
        self._db.execute("update user set role = ? where name = ?", (role, name))

    def set_groups(self, name: str, groups: str) -> None:
        """Change the groups."""
        self._db.execute("update user set groups = ? where name = ?", (groups, name))

    def remove_user(self, name: str) -> None:
        """Remove a user with all keys and sessions."""
        self._db.execute("delete from session where user = ?", (name,))
        self._db.execute("delete from key where user = ?", (name,))
        self._db.execute("delete from user where name = ?", (name,))

    # Keys

    def all_keys(self) -> list[KeyRow]:
        """All of them."""
        return self._keys(_KEY)

    def keys_of(self, user: str) -> list[KeyRow]:
        """Those of a user, oldest first."""
        return self._keys(f"{_KEY} where user = ? order by rowid", user)

    def keys_like(self, beginning: str) -> list[KeyRow]:
        """Those whose hash begins so."""
        return self._keys(f"{_KEY} where substr(hash, 1, ?) = ?", len(beginning), beginning)

    def add_key(self, row: KeyRow) -> None:
        """Write a new one."""
        sql = "insert into key (hash, user, hint, created_at, expires) values (?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def remove_key(self, hash: str) -> None:
        """Remove a key with the sessions that it opened."""
        self._db.execute("delete from session where key = ?", (hash,))
        self._db.execute("delete from key where hash = ?", (hash,))

    # Sessions

    def add_session(self, row: SessionRow) -> None:
        """Write a new one; those that are over by then make room."""
        self._db.execute("delete from session where until < ?", (row.seen,))
        sql = "insert into session (hash, user, until, key, seen) values (?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def session(self, hash: str) -> SessionRow | None:
        """A session, also one that is over."""
        sql = "select hash, user, until, key, seen from session where hash = ?"
        found = self._db.execute(sql, (hash,)).fetchone()
        if found is None:
            return None
        return SessionRow._make(found)

    def sessions(self) -> list[SessionRow]:
        """All of them, also those that are over, the one used last first."""
        sql = "select hash, user, until, key, seen from session order by seen desc, hash"
        return list(map(SessionRow._make, self._db.execute(sql)))

    def saw_session(self, hash: str, now: float) -> None:
        """It was used now."""
        self._db.execute("update session set seen = ? where hash = ?", (now, hash))

    def end_session(self, hash: str) -> None:
        """Remove one."""
        self._db.execute("delete from session where hash = ?", (hash,))

    def end_sessions(self, user: str) -> int:
        """Remove those of a user; how many there were."""
        return self._db.execute("delete from session where user = ?", (user,)).rowcount

    def _keys(self, sql: str, *values: Any) -> list[KeyRow]:
        return list(map(KeyRow._make, self._db.execute(sql, values)))

    def _is_old(self) -> bool:
        return self._db.execute("pragma user_version").fetchone()[0] < _VERSION

    def _upgrade(self) -> None:
        with self.changing():
            if self._is_old():  # still: another process may have been faster
                for statement in (_SCHEMA + _UPGRADE).split(";"):
                    self._db.execute(statement)
                self._db.execute(f"pragma user_version = {_VERSION}")
