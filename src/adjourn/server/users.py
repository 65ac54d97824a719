"""Users, their API keys and their sessions, in a small file beside the store's. Secrets are kept as hashes only."""

import hashlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass

from adjourn.errors import Invalid, NotFound

ROLES = ("viewer", "operator", "approver", "admin")
SESSION_LIFE = 12 * 3600.0
_SCHEMA = """
create table if not exists user (name text primary key, role text not null, groups text not null, created_at real not null);
create table if not exists key (hash text primary key, user text not null, hint text not null, created_at real not null);
create table if not exists session (hash text primary key, user text not null, until real not null);
"""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may use the API. `run`: not a person but that run's own credentials."""

    name: str
    role: str
    groups: tuple[str, ...] = ()
    created_at: float = 0.0
    run: str = ""


class Users:
    """The users of one store. Any process may change the file; a change counts from the next request on."""

    def __init__(self, path: str = "") -> None:
        """`path`: the file, made readable for its owner only; empty: in memory, for as long as the object lives."""
        self._path = path or ":memory:"
        if path:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._db = sqlite3.connect(self._path, timeout=5, check_same_thread=False, isolation_level=None)
        self._db.executescript(_SCHEMA)
        self._version = -1
        self._users: dict[str, User] = {}
        self._keys: dict[str, str] = {}

    # People

    def add(self, name: str, role: str, groups: Iterable[str] = ()) -> str:
        """Make a user and a key for them; the key is shown once and never again."""
        if not name or len(name) > 100 or not name.isprintable() or name.startswith("@") or name != name.strip():
            raise Invalid(f"a user's name is a short text that does not begin with '@', not {name!r:.80}")
        if role not in ROLES:
            raise Invalid(f"a role is one of {', '.join(ROLES)}, not {role!r:.40}")
        named = tuple(groups)
        if any(not g or "\n" in g for g in named):
            raise Invalid("a group's name is one line of text")
        if self.get(name) is not None:
            raise Invalid(f"there is a user {name!r} already; remove them first, or make a new key")
        self._write("insert into user values (?, ?, ?, ?)", (name, role, "\n".join(named), time.time()))
        return self.new_key(name)

    def new_key(self, name: str) -> str:
        """Another key for a user."""
        if self.get(name) is None:
            raise NotFound(f"there is no user {name!r:.80}")
        return self._new_key(name)

    def run_key(self, run: str) -> str:
        """A key for a run itself, for its tools: it reads that run and nothing else, and never decides."""
        name = f"@run:{run}"
        sql = "insert into user values (?, 'run', '', ?) on conflict (name) do nothing"
        self._write(sql, (name, time.time()))
        return self._new_key(name)

    def _new_key(self, name: str) -> str:
        key = f"adj_{secrets.token_urlsafe(32)}"
        self._write("insert into key values (?, ?, ?, ?)", (_hash("key", key), name, key[-4:], time.time()))
        return key

    def revoke(self, key: str) -> None:
        """End one key."""
        if not self._write("delete from key where hash = ?", (_hash("key", key),)):
            raise NotFound("this key is not known")

    def remove(self, name: str) -> None:
        """Remove a user, all their keys and all their sessions."""
        if not self._write("delete from user where name = ?", (name,)):
            raise NotFound(f"there is no user {name!r:.80}")
        self._write("delete from key where user = ?", (name,))
        self._write("delete from session where user = ?", (name,))

    def all(self) -> list[User]:
        """Every person, by name."""
        self._look()
        return sorted((u for u in self._users.values() if not u.run), key=lambda u: u.name)

    def get(self, name: str) -> User | None:
        """The user of this name."""
        self._look()
        return self._users.get(name)

    def by_key(self, key: str) -> User | None:
        """Whose key this is."""
        self._look()
        return self._users.get(self._keys.get(_hash("key", key), ""))

    # Sessions

    def open_session(self, name: str) -> str:
        """A browser has shown a key: the cookie that it shows from now on. It outlives this process."""
        cookie = secrets.token_urlsafe(32)
        self._write("delete from session where until < ?", (time.time(),))
        self._write(
            "insert into session values (?, ?, ?)", (_hash("session", cookie), name, time.time() + SESSION_LIFE)
        )
        return cookie

    def session(self, cookie: str) -> str | None:
        """Whose session a cookie is."""
        sql = "select user from session where hash = ? and until > ?"
        found = self._db.execute(sql, (_hash("session", cookie), time.time())).fetchone() if cookie else None
        return found[0] if found else None

    def end_session(self, cookie: str) -> None:
        """Forget a session."""
        self._write("delete from session where hash = ?", (_hash("session", cookie),))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    # The file

    def _write(self, sql: str, values: tuple[object, ...]) -> int:
        self._version = -1  # our own writes do not change the version that we see
        return self._db.execute(sql, values).rowcount

    def _look(self) -> None:
        """Read everything again if any process has written."""
        [version] = self._db.execute("pragma data_version").fetchone()
        if version == self._version:
            return
        self._users = {}
        for name, role, groups, at in self._db.execute("select name, role, groups, created_at from user"):
            run = name.removeprefix("@run:") if role == "run" else ""
            self._users[name] = User(name, role, tuple(g for g in groups.split("\n") if g), at, run)
        self._keys = dict(self._db.execute("select hash, user from key").fetchall())
        self._version = version


def users_path(address: str) -> str:
    """Where the users of a store are: beside its file; "" for a store without one."""
    scheme, _, rest = address.partition("://")
    return f"{rest[1:]}-users" if scheme == "sqlite" and len(rest) > 1 else ""


def _hash(what: str, secret: str) -> str:
    # Keys and cookies have 256 random bits: a slow hash would protect nothing more.
    return hashlib.sha256(f"adjourn/{what}\0{secret}".encode("utf-8", "replace")).hexdigest()
