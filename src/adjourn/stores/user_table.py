"""Users, keys and sessions as they are kept: statements, and nothing of what they mean. A store in a
file has them in a file beside it; one in PostgreSQL has them in its own database, for all servers."""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from adjourn.errors import Conflict
from adjourn.stores.address import file_of, is_postgres, users_in_postgres, without_password


class UserRow(NamedTuple):
    """A user. `groups` and `grants`: one a line. `tenant`: "" for none."""

    name: str
    role: str
    groups: str
    created_at: float
    grants: str = ""
    tenant: str = ""


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
    """Where users are kept. Any process may change them at any time.

    Every place says how a statement is sent, and how it calls its tables. A value is `:name` in a
    statement.
    """

    waits = False
    """Whether a statement goes to another machine: then it is for a thread, not for an event loop."""
    _user, _key, _session = "user", "key", "session"
    _owner, _age = "user", "rowid"
    """The column that says whose a key or a session is, and the one by which keys are in order."""

    def changing(self) -> AbstractContextManager[None]:
        """One transaction: everything in it counts, or nothing. No other one is at work meanwhile."""
        raise NotImplementedError

    def version(self) -> int:
        """Another number than before if another process has changed a user or a key since."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files and connections."""
        raise NotImplementedError

    def _ask(self, *script: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of the first of some statements."""
        raise NotImplementedError

    def _change(self, *script: str, **values: Any) -> None:
        """Send statements that change users or keys."""
        self._ask(*script, **values)

    # Users

    def users(self) -> list[UserRow]:
        """All users, by name."""
        sql = f"select {', '.join(UserRow._fields)} from {self._user} order by name"
        return list(map(UserRow._make, self._ask(sql)))

    def add_user(self, row: UserRow, *, unless_there: bool = False) -> None:
        """Write a new user."""
        columns, values = ", ".join(row._fields), ", :".join(row._fields)
        sql = f"insert into {self._user} ({columns}) values (:{values})"
        if unless_there:
            sql += " on conflict (name) do nothing"
        self._change(sql, **row._asdict())

    def set_role(self, name: str, role: str) -> None:
        """Change the role."""
        self._set("role", name, role)

    def set_groups(self, name: str, groups: str) -> None:
        """Change the groups."""
        self._set("groups", name, groups)

    def set_grants(self, name: str, grants: str) -> None:
        """Change what the user may do with some runs only."""
        self._set("grants", name, grants)

    def set_tenant(self, name: str, tenant: str) -> None:
        """Change the tenant."""
        self._set("tenant", name, tenant)

    def _set(self, column: str, name: str, value: str) -> None:
        sql = f"update {self._user} set {column} = :value where name = :name"
        self._change(sql, name=name, value=value)

    def remove_user(self, name: str) -> None:
        """Remove a user with all keys and sessions."""
        owned = [
            f"delete from {table} where {self._owner} = :name"
            for table in (self._session, self._key)
        ]
        self._change(*owned, f"delete from {self._user} where name = :name", name=name)

    # Keys

    def all_keys(self) -> list[KeyRow]:
        """All keys, the oldest first."""
        return self._keys()

    def keys_of(self, user: str) -> list[KeyRow]:
        """Those of a user, the oldest first."""
        return self._keys(f"where {self._owner} = :user", user=user)

    def keys_like(self, beginning: str) -> list[KeyRow]:
        """Those whose hash begins so."""
        return self._keys("where substr(hash, 1, length(:hash)) = :hash", hash=beginning)

    def _keys(self, where: str = "", **values: str) -> list[KeyRow]:
        sql = f"select hash, {self._owner}, hint, created_at, expires from {self._key} {where}"
        return list(map(KeyRow._make, self._ask(f"{sql} order by {self._age}", **values)))

    def add_key(self, row: KeyRow) -> None:
        """Write a new key."""
        sql = (
            f"insert into {self._key} (hash, {self._owner}, hint, created_at, expires) "
            "values (:hash, :user, :hint, :created_at, :expires)"
        )
        self._change(sql, **row._asdict())

    def remove_key(self, hash: str) -> None:
        """Remove a key with the sessions that it opened."""
        sessions = f"delete from {self._session} where key = :hash and key <> ''"
        self._change(sessions, f"delete from {self._key} where hash = :hash", hash=hash)

    # Sessions

    def add_session(self, row: SessionRow) -> None:
        """Write a new session; those that are over by then make room."""
        sql = (
            f"insert into {self._session} (hash, {self._owner}, until, key, seen) "
            "values (:hash, :user, :until, :key, :seen)"
        )
        self._ask(f"delete from {self._session} where until < :seen", sql, **row._asdict())

    def session(self, hash: str) -> SessionRow | None:
        """A session, also one that is over."""
        return next(iter(self._sessions("where hash = :hash", hash=hash)), None)

    def sessions(self) -> list[SessionRow]:
        """All sessions, also those that are over, the one used last first."""
        return self._sessions("order by seen desc, hash")

    def _sessions(self, which: str, **values: str) -> list[SessionRow]:
        sql = f"select hash, {self._owner}, until, key, seen from {self._session} {which}"
        return list(map(SessionRow._make, self._ask(sql, **values)))

    def saw_session(self, hash: str, now: float) -> None:
        """It was used now."""
        sql = f"update {self._session} set seen = :now where hash = :hash and seen < :now"
        self._ask(sql, hash=hash, now=now)

    def end_session(self, hash: str) -> None:
        """Remove one."""
        self._ask(f"delete from {self._session} where hash = :hash", hash=hash)

    def end_sessions(self, user: str) -> int:
        """Remove those of a user; how many there were."""
        theirs = f"from {self._session} where {self._owner} = :user"
        return len(self._ask(f"select 1 {theirs}", f"delete {theirs}", user=user))


def open_user_table(place: str) -> UserTable:
    """The users in a file, or in a database of PostgreSQL.

    Args:
        place: the file, closed to everybody but its owner; or an address of PostgreSQL; empty: in
            memory, for as long as the object lives.
    """
    if is_postgres(place):
        return users_in_postgres(place)
    from adjourn.stores.user_file import UserFile

    return UserFile(place)


def users_place(address: str) -> str:
    """Where the users of a store are, for `open_user_table`; empty for a store in memory.

    Args:
        address: the store's address.
    """
    if is_postgres(address):
        return address
    if path := file_of(address):
        return f"{path}-users"
    return ""


def copy_users(source: UserTable, target: UserTable, where: str) -> int:
    """Copy all users, keys and sessions; how many users there were.

    Args:
        source: where they are.
        target: where there are none yet.
        where: the target, for the message.

    Raises `Conflict` if the target has users.
    """
    with target.changing():
        if target.users():
            raise Conflict(
                f"{without_password(where)!r} already has users",
                consequence="no user was copied",
                advice="add them with `adjourn user add`",
            )
        found = source.users()
        for user in found:
            target.add_user(user)
        for key in source.all_keys():
            target.add_key(key)
        for session in source.sessions():
            target.add_session(session)
    return len(found)
