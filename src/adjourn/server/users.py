"""Users, their API keys and their sessions: in a small file beside the store's, or in its database of
PostgreSQL. Secrets are kept as hashes only."""

import hashlib
import secrets
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from adjourn.core.codec import is_finite
from adjourn.core.person_name import person
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import Conflict, Invalid, NotFound
from adjourn.runtime.arguments import checked_tenant
from adjourn.server.rights import RoleGrant, kept_grants, parse_grant
from adjourn.server.user import Key, Session, User
from adjourn.server.user_checks import (
    checked_grants,
    checked_groups,
    checked_name,
    checked_role,
)
from adjourn.stores.user_table import (
    KeyRow,
    SessionRow,
    UserRow,
    UserTable,
    copy_users,
    open_user_table,
    users_place,
)

SESSION_LIFE, SESSION_IDLE = 12 * 3600.0, 3600.0
"""Seconds: how long a session lasts at most, and how long it lasts while nobody uses it."""
NOTED = 60.0
"""Seconds between two notes that a session is in use: not every request writes."""
ID = 12
"""Characters of a key's id: the beginning of its hash."""
_actor: ContextVar[tuple[str, str]] = ContextVar("actor", default=("", ""))
"""Who changes users now, and from where."""


class Users:
    """The users of one store. Any process may change them; a change counts from the next request
    on, in every process.

    Names that differ only in case or in width are one name: `Ana` is the same as `ana`.
    """

    def __init__(self, path: str = "", *, clock: Callable[[], float] = time.time) -> None:
        """`path`: the file, closed to all but its owner, or the address of a store in
        PostgreSQL; empty: in memory, for as long as the object lives.

        `clock` gives the time by which keys and sessions end.
        """
        self._now, self._table = clock, open_user_table(path)
        self.told: Callable[[dict[str, Any]], None] | None = None
        """Is told of every change, for the security log: `verb`, `about` (whom), and what is new.
        Never of a key itself."""
        self._people: _People | None = None

    @contextmanager
    def acting(self, name: str, origin: str) -> Generator[None]:
        """Whatever is changed meanwhile is told as done by this person.

        Args:
            name: who does it.
            origin: from where.
        """
        before = _actor.set((name, origin))
        try:
            yield
        finally:
            _actor.reset(before)

    # People

    def add(
        self,
        name: str,
        role: str,
        groups: Iterable[str] = (),
        *,
        grants: Iterable[str] = (),
        tenant: str = "",
        expires_in: float | None = None,
    ) -> str:
        """Make a user with a key. Returns the key, which is shown once.

        Args:
            name: the name.
            role: what they may do everywhere: none, viewer, operator, approver or admin.
            groups: for approvals that ask for a group.
            grants: what they may do with some runs, each as
                `approver of agent:refunds where team=eu`.
            tenant: only runs with this tenant's label are there for them; "" for none.
            expires_in: seconds until the key expires; None: it does not.
        """
        checked_name(name)
        with self._changing_people():
            if (there := self.get(name)) is not None:
                raise Invalid(
                    f"user {there.name!r} already exists",
                    advice="remove them first, or make a new key",
                )
            self._table.add_user(
                UserRow(
                    name,
                    checked_role(role),
                    checked_groups(groups),
                    self._now(),
                    checked_grants(grants),
                    checked_tenant(tenant),
                )
            )
            key = self._new_key(name, expires_in)
        self._tell("add user", name, **_rights(self._known(name)), key=key_id(key))
        return key

    def recognised(
        self,
        subject: tuple[str, str],
        name: str,
        role: str,
        groups: Iterable[str],
        grants: Iterable[str],
    ) -> tuple[str, str]:
        """A person known to an issuer of logins has the rights that it says, from now on. Returns
        their name here, and what opens a session; that is listed with the user's keys, and ends as
        one does.

        Args:
            subject: the issuer, and its own name for the person, which never changes.
            name: the name under which they are added if they are new here.
            role: the role.
            groups: all of the groups.
            grants: all of the grants.

        Raises `Conflict` if the name belongs to another person.
        """
        opens = _hash("oidc", "\0".join(subject))
        checked, now = (
            (checked_role(role), checked_groups(groups), checked_grants(grants)),
            self._now(),
        )
        with self._changing_people():
            known = self._table.keys_like(opens)
            before = self.get(known[0].user if known else name)
            if known and before is not None:
                name = before.name
                self._table.set_role(name, checked[0])
                self._table.set_groups(name, checked[1])
                self._table.set_grants(name, checked[2])
            elif before is not None:
                raise Conflict(
                    f"user {before.name!r} already exists, and is another person",
                    consequence="you are not logged in",
                    advice="ask an admin to remove that user first",
                )
            else:
                row = UserRow(checked_name(name), checked[0], checked[1], now, checked[2])
                self._table.add_user(row)
                self._table.add_key(KeyRow(opens, name, "oidc", now, 0.0))
        after = self._known(name)
        if before != after:
            self._tell("change user" if before else "add user", name, **_rights(after))
        return name, opens

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

    def session_key(
        self, session: str, role: str = "viewer", *, expires_in: float | None = None
    ) -> str:
        """A key for an end user: it is for the runs of one session and for nothing else, and never
        decides.

        Args:
            session: the session.
            role: viewer, who reads its runs; or operator, who also starts and controls them.
            expires_in: as for `add`.
        """
        if role not in ("viewer", "operator"):
            raise Invalid(f"a session's key is for a viewer or an operator, not {role!r:.40}")
        name = f"@{role} of session:{session}"
        grant = RoleGrant(role, session=session)
        if not session or parse_grant(str(grant)) != grant:
            raise Invalid(f"this session name cannot have its own key: {session!r:.80}")
        with self._changing_people():
            row = UserRow(name, "none", "", self._now(), str(grant))
            self._table.add_user(row, unless_there=True)
            key = self._new_key(name, expires_in)
        self._tell("make key", name, key=key_id(key))
        return key

    def _new_key(self, name: str, expires_in: float | None) -> str:
        if expires_in is not None and not (is_finite(expires_in) and expires_in > 0):
            raise Invalid(f"expires_in must be a positive number of seconds, got {expires_in!r}")
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
                    "key not found",
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
        return self._changed(name, self._table.set_role, checked_role(role))

    def set_groups(self, name: str, groups: Iterable[str]) -> User:
        """Put a user into these groups, and into no others.

        Args:
            name: the user's name.
            groups: all of the user's groups.
        """
        return self._changed(name, self._table.set_groups, checked_groups(groups))

    def set_grants(self, name: str, grants: Iterable[str]) -> User:
        """Let a user do this with some runs, and nothing else beyond the role.

        Args:
            name: the user's name.
            grants: all of the user's grants, as for `add`.
        """
        return self._changed(name, self._table.set_grants, checked_grants(grants))

    def set_tenant(self, name: str, tenant: str) -> User:
        """Show a user the runs of one tenant only.

        Args:
            name: the user's name.
            tenant: the tenant; "" for none.
        """
        return self._changed(name, self._table.set_tenant, checked_tenant(tenant))

    def _changed(self, name: str, change: Callable[[str, str], None], value: str) -> User:
        with self._changing_people():
            user = self._known(name)
            change(user.name, value)
            self._keep_an_admin(user)
        changed = self._known(user.name)
        self._tell("change user", user.name, **_rights(changed))
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
        if changed.role != "admin" or changed.tenant:
            return
        if any(row.role == "admin" and not row.tenant for row in self._table.users()):
            return
        raise Conflict(
            f"{changed.name!r} is the last admin",
            consequence="nothing was changed",
            advice="make another user an admin first",
        )

    def all(self) -> list[User]:
        """Every person, by name."""
        people = (user for user in self._look().users.values() if not user.name.startswith("@"))
        return sorted(people, key=lambda user: user.name)

    def get(self, name: str) -> User | None:
        """The user of this name, in any spelling.

        Args:
            name: the user's name.
        """
        people = self._look()
        alike = people.named.get(person(name), [])
        return people.users.get(name if name in alike or len(alike) != 1 else alike[0])

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
        people = self._look()
        key = people.keys.get(hash)
        if key is None or (key.expires and key.expires <= self._now()):
            return None
        return people.users.get(key.user)

    # Sessions

    def open_session(
        self, name: str, key: str = "", *, life: float = SESSION_LIFE, opened_by: str = ""
    ) -> str:
        """A session for a browser that has shown a key. Returns its cookie; it outlives this
        process.

        Args:
            name: the user's name.
            key: the session ends when this key does.
            life: seconds after which it ends.
            opened_by: in the place of a key, what `recognised` returned.
        """
        cookie, now = secrets.token_urlsafe(32), self._now()
        with self._changing():
            if key:
                opened_by = _hash("key", key)
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

    @property
    def waits(self) -> bool:
        """Whether a look at them waits for another machine: then it is made in a thread."""
        return self._table.waits

    def copy_to(self, target: "Users", where: str) -> int:
        """Copy all users, with keys and sessions, to where there are none; how many there were.

        Args:
            target: where they are copied to.
            where: its place, for messages.
        """
        check_outside("change users or make keys")
        copied = copy_users(self._table, target._table, where)
        target._tell("copy users", "", count=copied)
        return copied

    def now(self) -> float:
        """The time by which sessions end."""
        return self._now()

    def close(self) -> None:
        """Let go of the file."""
        self._table.close()

    def _tell(self, verb: str, about: str, **what: Any) -> None:
        """Say what has changed, once it is in the file."""
        if self.told is not None:
            by, origin = _actor.get()
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
            self._people = None  # our own writes do not change the version that we see

    def _look(self) -> "_People":
        """All users and keys, read again if any process has written."""
        version, people = self._table.version(), self._people
        if people is None or people.version != version:
            people = _People.of(version, self._table)
            self._people = people
        return people


@dataclass(frozen=True, slots=True)
class _People:
    """All users and keys as of one version; threads that read others do not change it."""

    version: int
    users: dict[str, User]
    named: dict[str, list[str]]
    keys: dict[str, KeyRow]

    @classmethod
    def of(cls, version: int, table: UserTable) -> "_People":
        """What is there; it may be newer than its version, and is read again then."""
        users, named = dict[str, User](), dict[str, list[str]]()
        for row in table.users():
            users[row.name] = _user(row)
            named.setdefault(person(row.name), []).append(row.name)
        return cls(version, users, named, {key.hash: key for key in table.all_keys()})


def _user(row: UserRow) -> User:
    run = row.name.removeprefix("@run:") if row.role == "run" else ""
    groups = tuple(filter(None, row.groups.split("\n")))
    grants = kept_grants(row.grants)
    return User(row.name, row.role, groups, row.created_at, run, grants, row.tenant)


def _rights(user: User) -> dict[str, Any]:
    """What the security log says of a user."""
    said: dict[str, Any] = {"role": user.role, "groups": list(user.groups)}
    if user.grants:
        said["grants"] = list(map(str, user.grants))
    if user.tenant:
        said["tenant"] = user.tenant
    return said


def _shown(row: KeyRow) -> Key:
    return Key(row.hash[:ID], row.user, row.hint, row.created_at, row.expires or None)


def key_id(key: str) -> str:
    """How a key is named where it may not be shown."""
    return _hash("key", key)[:ID]


def users_path(address: str) -> str:
    """Where a store's users are kept: in a file beside its own, or in its database of PostgreSQL;
    empty for a store in memory.

    Args:
        address: the store's address.
    """
    return users_place(address)


def _is_id(text: str) -> bool:
    return len(text) == ID and all(c in "0123456789abcdef" for c in text)


def _hash(what: str, secret: str) -> str:
    # Keys and cookies have 256 random bits: a slow hash would protect nothing more.
    return hashlib.sha256(f"adjourn/{what}\0{secret}".encode("utf-8", "replace")).hexdigest()
