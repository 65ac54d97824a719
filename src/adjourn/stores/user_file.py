"""Users, keys and sessions in a small SQLite file of their own, beside a store's file."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from adjourn.errors import StoreError
from adjourn.stores.private_file import make_private
from adjourn.stores.user_table import UserTable

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


class UserFile(UserTable):
    """See `UserTable`. Any process may change the file at any time."""

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

    def _ask(self, *script: str, **values: Any) -> list[tuple[Any, ...]]:
        first, *_ = [self._db.execute(sql, values).fetchall() for sql in script]
        return first

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
