"""Users and their API keys, in a file beside the store's. Keys are kept as hashes only."""

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from adjourn.errors import Invalid, NotFound

ROLES = ("viewer", "operator", "approver", "admin")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may use the API."""

    name: str
    role: str
    groups: tuple[str, ...]
    created_at: float


class Users:
    """The users of one store. Every call opens the file anew: it is small, and any process may change it."""

    def __init__(self, path: str) -> None:
        self._path = path
        with closing(self._open()) as db, db:
            db.execute(
                "create table if not exists user (name text primary key, role text, groups text, created_at real)"
            )
            db.execute("create table if not exists key (hash text primary key, user text, created_at real)")

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=5)

    def add(self, name: str, role: str, groups: Iterable[str] = ()) -> str:
        """Make a user and a key for them; the key is shown once and never again."""
        if not name or len(name) > 100 or not name.isprintable() or name.startswith("@"):
            raise Invalid(f"a user's name is a short text that does not begin with '@', not {name!r:.80}")
        if role not in ROLES:
            raise Invalid(f"a role is one of {', '.join(ROLES)}, not {role!r:.40}")
        with closing(self._open()) as db, db:
            if db.execute("select 1 from user where name = ?", (name,)).fetchone():
                raise Invalid(f"there is a user {name!r} already; remove them first, or make a new key")
            db.execute("insert into user values (?, ?, ?, ?)", (name, role, ",".join(groups), time.time()))
        return self.new_key(name)

    def new_key(self, name: str) -> str:
        """Another key for a user."""
        key = f"adj_{secrets.token_urlsafe(32)}"
        with closing(self._open()) as db, db:
            if not db.execute("select 1 from user where name = ?", (name,)).fetchone():
                raise NotFound(f"there is no user {name!r:.80}")
            db.execute("insert into key values (?, ?, ?)", (_hash(key), name, time.time()))
        return key

    def remove(self, name: str) -> None:
        """Remove a user and all their keys."""
        with closing(self._open()) as db, db:
            if not db.execute("delete from user where name = ?", (name,)).rowcount:
                raise NotFound(f"there is no user {name!r:.80}")
            db.execute("delete from key where user = ?", (name,))

    def all(self) -> list[User]:
        """Every user."""
        with closing(self._open()) as db:
            rows = db.execute("select name, role, groups, created_at from user order by name").fetchall()
        return [User(n, r, tuple(g for g in gs.split(",") if g), at) for n, r, gs, at in rows]

    def by_key(self, key: str) -> User | None:
        """Whose key this is."""
        sql = "select u.name, u.role, u.groups, u.created_at from key k join user u on u.name = k.user where k.hash = ?"
        with closing(self._open()) as db:
            row = db.execute(sql, (_hash(key),)).fetchone()
        return User(row[0], row[1], tuple(g for g in row[2].split(",") if g), row[3]) if row else None


def _hash(key: str) -> str:
    # A key has 256 random bits: a slow hash would protect nothing more.
    return hashlib.sha256(b"adjourn/key\0" + key.encode()).hexdigest()
