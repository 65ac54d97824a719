"""Users, their API keys and their sessions, in a small file beside the store's. Secrets are kept as
hashes only."""

import hashlib
import secrets
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from adjourn.core.authority import person
from adjourn.driver.self_approval_guard import check_outside
from adjourn.errors import Conflict, Invalid, NotFound
from adjourn.stores.user_table import KeyRow, SessionRow, UserRow, UserTable

ROLES = ("viewer", "operator", "approver", "admin")
SESSION_LIFE, SESSION_IDLE = 12 * 3600.0, 3600.0
"""Seconds: how long a session lasts at most, and how long it lasts while nobody uses it."""
NOTED = 60.0
"""Seconds between two notes that a session is in use: not every request writes."""
ID = 12
"""Characters of a key's id: the beginning of its hash."""


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that may use the API.

    Attributes:
        name: the name.
        role: viewer, operator, approver, admin, or run.
        groups: for approvals that ask for a group.
        created_at: in seconds since 1970.
        run: not a person but this run's own credentials.
    """

    name: str
    role: str
    groups: tuple[str, ...] = ()
    created_at: float = 0.0
    run: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key.

    Attributes:
        id: its id.
        user: whose it is.
        hint: its last characters.
        created_at: in seconds since 1970.
        expires_at: in seconds since 1970; None: it does not expire.
    """

    id: str
    user: str
    hint: str
    created_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """What is known of a browser's session.

    Attributes:
        id: its id.
        user: whose it is.
        seen_at: when it was last used, about, in seconds since 1970.
        ends_at: when it ends at the latest.
        key: the id of the key that opened it; empty: none did.
    """

    id: str
    user: str
    seen_at: float
    ends_at: float
    key: str


class Users:
    """The users of one store. Any process may change the file; a change counts from the next
    request on.

    Names that differ only in case or in width are one name: `Ana` is nobody else than `ana`.
    """

    def __init__(self, path: str = "", *, clock: Callable[[], float] = time.time) -> None:
        """`path`: the file, closed to everybody but its owner; empty: in memory, for as long as the
        object lives.

        `clock` gives the time by which keys and sessions end.
        """
        self._now, self._table = clock, UserTable(path)
        self.told: Callable[[dict[str, Any]], None] | None = None
        """Is told of every change, for the security log: `verb`, `about` (whom), and what is new.
        Never of a key itself."""
        self._actor = "", ""
        self._version = -1
        self._users: dict[str, User] = {}
        self._named: dict[str, list[str]] = {}
        self._keys: dict[str, KeyRow] = {}

    @contextmanager
    def acting(self, name: str, origin: str) -> Generator[None]:
        """Whatever is changed meanwhile is told as done by this person. Nothing may be awaited
        inside.

        Args:
            name: who does it.
            origin: from where.
        """
        self._actor = name, origin
        try:
            yield
        finally:
            self._actor = "", ""

    # People

    def add(
        self, name: str, role: str, groups: Iterable[str] = (), *, expires_in: float | None = None
    ) -> str:
        """Make a user with a key. Returns the key, which is shown once.

        Args:
            name: the name.
            role: viewer, operator, approver or admin.
            groups: for approvals that ask for a group.
            expires_in: seconds until the key expires; None: it does not.
        """
        if (
            not name
            or len(name) > 100
            or not name.isprintable()
            or name.startswith("@")
            or name != name.strip()
        ):
            raise Invalid(
                f"a user's name must be a short string that does not begin with '@', got {name!r:.80}"
            )
        with self._changing_people():
            if (there := self.get(name)) is not None:
                raise Invalid(
                    f"user {there.name!r} already exists",
                    advice="remove them first, or make a new key",
                )
            checked = UserRow(name, _checked_role(role), _checked_groups(groups), self._now())
            self._table.add_user(checked)
            key = self._new_key(name, expires_in)
        self._tell(
            "add user", name, role=role, groups=list(self._known(name).groups), key=key_id(key)
        )
        return key

    def new_key(self, name: str, *, expires_in: float | None = None) -> str:
        """Another key for a user. Returns it; it is shown once.

        Args:
            name: the user's name.
            expires_in: as for `add`.
        """
        with self._changing_people():
            user = self._known(name).name
            key = self._new_key(user, expires_in)
        self._tell("make key", user, key=key_id(key))
        return key

    def run_key(self, run: str) -> str:
        """A key for a run itself, for its tools: it reads that run and nothing else, and never
        decides.

        Args:
            run: the run's id.
        """
        name = f"@run:{run}"
        with self._changing_people():
            self._table.add_user(UserRow(name, "run", "", self._now()), unless_there=True)
            key = self._new_key(name, None)
        self._tell("make key", name, key=key_id(key))
        return key

    def _new_key(self, name: str, expires_in: float | None) -> str:
        if expires_in is not None and not 0 < expires_in < float("inf"):
            raise Invalid(f"a key lasts for a positive number of seconds, not {expires_in!r}")
        key, now = f"adj_{secrets.token_urlsafe(32)}", self._now()
        expires = 0.0 if expires_in is None else now + expires_in
        self._table.add_key(KeyRow(_hash("key", key), name, key[-4:], now, expires))
        return key

    def keys(self, name: str) -> list[Key]:
        """The keys of a user, oldest first, expired ones included.

        Args:
            name: the user's name.
        """
        return list(map(_shown, self._table.keys_of(self._known(name).name)))

    def revoke(self, key: str) -> Key:
        """End one key and every session that was opened with it.

        Args:
            key: the key itself, or its id.
        """
        with self._changing_people():
            found = self._table.keys_like(key if _is_id(key) else _hash("key", key))
            if len(found) != 1:
                raise NotFound(
                    "this key is not known",
                    advice="`adjourn user keys NAME` lists the keys of a user",
                )
            [row] = found
            self._table.remove_key(row.hash)
        revoked = _shown(row)
        self._tell("revoke key", revoked.user, key=revoked.id)
        return revoked

    def set_role(self, name: str, role: str) -> User:
        """Give a user another role; it counts from the next request on, also in open sessions.

        Args:
            name: the user's name.
            role: the role.
        """
        return self._changed(name, self._table.set_role, _checked_role(role))

    def set_groups(self, name: str, groups: Iterable[str]) -> User:
        """Put a user into these groups, and into no others.

        Args:
            name: the user's name.
            groups: all of the user's groups.
        """
        return self._changed(name, self._table.set_groups, _checked_groups(groups))

    def _changed(self, name: str, change: Callable[[str, str], None], value: str) -> User:
        with self._changing_people():
            user = self._known(name)
            change(user.name, value)
            self._keep_an_admin(user)
        changed = self._known(user.name)
        self._tell("change user", user.name, role=changed.role, groups=list(changed.groups))
        return changed

    def remove(self, name: str) -> None:
        """Remove a user with all keys and sessions, at once.

        Args:
            name: the user's name.
        """
        with self._changing_people():
            user = self._known(name)
            self._table.remove_user(user.name)
            self._keep_an_admin(user)
        self._tell("remove user", user.name)

    def _keep_an_admin(self, changed: User) -> None:
        """Refuse what leaves nobody who could undo it. In the transaction: two admins who remove
        each other do not both succeed."""
        if changed.role != "admin" or any(row.role == "admin" for row in self._table.users()):
            return
        raise Conflict(
            f"{changed.name!r} is the last admin",
            consequence="nothing was changed",
            advice="make another user an admin first",
        )

    def all(self) -> list[User]:
        """Every person, by name."""
        self._look()
        return sorted((u for u in self._users.values() if not u.run), key=lambda u: u.name)

    def get(self, name: str) -> User | None:
        """The user of this name, in any spelling.

        Args:
            name: the user's name.
        """
        self._look()
        alike = self._named.get(person(name), [])
        return self._users.get(name if name in alike or len(alike) != 1 else alike[0])

    def _known(self, name: str) -> User:
        if (found := self.get(name)) is None:
            raise NotFound(f"user {name!r:.80} not found")
        return found

    def by_key(self, key: str) -> User | None:
        """The user of a key; None if it is unknown or has expired.

        Args:
            key: the key.
        """
        return self._owner(_hash("key", key))

    def _owner(self, hash: str) -> User | None:
        self._look()
        key = self._keys.get(hash)
        if key is None or (key.expires and key.expires <= self._now()):
            return None
        return self._users.get(key.user)

    # Sessions

    def open_session(self, name: str, key: str = "", *, life: float = SESSION_LIFE) -> str:
        """A session for a browser that has shown a key. Returns its cookie; it outlives this
        process.

        Args:
            name: the user's name.
            key: the session ends when this key does.
            life: seconds after which it ends.
        """
        cookie, now = secrets.token_urlsafe(32), self._now()
        with self._changing():
            opened_by = _hash("key", key) if key else ""
            hash = _hash("session", cookie)
            self._table.add_session(SessionRow(hash, name, now + life, opened_by, now))
        return cookie

    def session(self, cookie: str, *, idle: float = SESSION_IDLE, used: bool = True) -> str | None:
        """The user of a session; None if it or its key has ended.

        Args:
            cookie: its cookie.
            idle: seconds without use after which it has ended.
            used: False: this look is no use of it, because no person is behind it.
        """
        now, hash = self._now(), _hash("session", cookie)
        found = self._table.session(hash) if cookie else None
        if found is None or found.until <= now or found.seen <= now - idle:
            return None
        if not self._is_opened(found):
            return None
        if used and now - found.seen > NOTED:
            self._table.saw_session(hash, now)
        return found.user

    def end_session(self, cookie: str) -> None:
        """End a session.

        Args:
            cookie: its cookie.
        """
        self._table.end_session(_hash("session", cookie))

    def sessions(self, *, idle: float = SESSION_IDLE) -> list[Session]:
        """The sessions that are open, the one used last first.

        Args:
            idle: seconds without use after which a session has ended.
        """
        now = self._now()
        return [
            Session(row.hash[:ID], row.user, row.seen, row.until, row.key[:ID])
            for row in self._table.sessions()
            if row.until > now and row.seen > now - idle and self._is_opened(row)
        ]

    def session_id(self, cookie: str) -> str:
        """How a session is named where its cookie may not be shown.

        Args:
            cookie: its cookie.
        """
        return _hash("session", cookie)[:ID]

    def end(self, ids: Iterable[str]) -> int:
        """End sessions by their ids. Returns how many there were.

        Args:
            ids: their ids.
        """
        wanted = set(ids)
        rows = [row for row in self._table.sessions() if row.hash[:ID] in wanted]
        with self._changing():
            for row in rows:
                self._table.end_session(row.hash)
        for user in dict.fromkeys(row.user for row in rows):
            self._tell("end sessions", user, count=sum(row.user == user for row in rows))
        return len(rows)

    def _is_opened(self, row: SessionRow) -> bool:
        """Whether the key that opened it is still good."""
        return not row.key or self._owner(row.key) is not None

    def logout(self, name: str) -> int:
        """End every session of a user; the keys stay. Returns how many there were.

        Args:
            name: the user's name.
        """
        user = self._known(name).name
        ended = self._table.end_sessions(user)
        self._tell("end sessions", user, count=ended)
        return ended

    def now(self) -> float:
        """The time by which sessions end."""
        return self._now()

    def close(self) -> None:
        """Let go of the file."""
        self._table.close()

    def _tell(self, verb: str, about: str, **what: Any) -> None:
        """Say what has changed, once it is in the file."""
        if self.told is not None:
            by, origin = self._actor
            self.told({"verb": verb, "by": by, "from": origin, "about": about, **what})

    # The file

    @contextmanager
    def _changing_people(self) -> Generator[None]:
        """A transaction that changes who may do what; what runs cannot do that."""
        check_outside("change users or make keys")
        with self._changing():
            yield

    @contextmanager
    def _changing(self) -> Generator[None]:
        """One transaction: everything in it counts, or nothing."""
        try:
            with self._table.changing():
                yield
        finally:
            self._version = -1  # our own writes do not change the version that we see

    def _look(self) -> None:
        """Read everything again if any process has written."""
        version = self._table.version()
        if version == self._version:
            return
        self._users, self._named = {}, {}
        for row in self._table.users():
            self._users[row.name] = _user(row)
            self._named.setdefault(person(row.name), []).append(row.name)
        self._keys = {key.hash: key for key in self._table.all_keys()}
        self._version = version


def _user(row: UserRow) -> User:
    run = row.name.removeprefix("@run:") if row.role == "run" else ""
    groups = tuple(filter(None, row.groups.split("\n")))
    return User(row.name, row.role, groups, row.created_at, run)


def _shown(row: KeyRow) -> Key:
    return Key(row.hash[:ID], row.user, row.hint, row.created_at, row.expires or None)


def key_id(key: str) -> str:
    """How a key is named where it may not be shown."""
    return _hash("key", key)[:ID]


def users_path(address: str) -> str:
    """The file of a store's users: beside its own; empty for a store without a file.

    Args:
        address: the store's address.
    """
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite" and len(rest) > 1:
        return f"{rest[1:]}-users"
    return ""


def _checked_role(role: str) -> str:
    if role not in ROLES:
        raise Invalid(f"a role must be one of {', '.join(ROLES)}, got {role!r:.40}")
    return role


def _checked_groups(groups: Iterable[str]) -> str:
    named = tuple(groups)
    if any(not g or "\n" in g for g in named):
        raise Invalid("a group's name is one line of text")
    return "\n".join(named)


def _is_id(text: str) -> bool:
    return len(text) == ID and all(c in "0123456789abcdef" for c in text)


def _hash(what: str, secret: str) -> str:
    # Keys and cookies have 256 random bits: a slow hash would protect nothing more.
    return hashlib.sha256(f"adjourn/{what}\0{secret}".encode("utf-8", "replace")).hexdigest()
