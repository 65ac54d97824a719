"""Users, keys and sessions as they are kept: statements, and nothing of what they mean. A store in a
file has them in a file beside it; one in PostgreSQL has them in its own database, for all servers."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

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


class UserTable(Protocol):
    """Where users are kept. Any process may change them at any time."""

    waits: bool
    """Whether a statement goes to another machine: then it is for a thread, not for an event loop."""

    def changing(self) -> AbstractContextManager[None]:
        """One transaction: everything in it counts, or nothing. No other one is at work meanwhile."""
        ...

    def version(self) -> int:
        """Another number than before if another process has changed a user or a key since."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...

    def users(self) -> list[UserRow]:
        """All users, by name."""
        ...

    def add_user(self, row: UserRow, *, unless_there: bool = False) -> None:
        """Write a new user."""
        ...

    def set_role(self, name: str, role: str) -> None:
        """Change the role."""
        ...

    def set_groups(self, name: str, groups: str) -> None:
        """Change the groups."""
        ...

    def set_grants(self, name: str, grants: str) -> None:
        """Change what the user may do with some runs only."""
        ...

    def set_tenant(self, name: str, tenant: str) -> None:
        """Change the tenant."""
        ...

    def remove_user(self, name: str) -> None:
        """Remove a user with all keys and sessions."""
        ...

    def all_keys(self) -> list[KeyRow]:
        """All keys, the oldest first."""
        ...

    def keys_of(self, user: str) -> list[KeyRow]:
        """Those of a user, the oldest first."""
        ...

    def keys_like(self, beginning: str) -> list[KeyRow]:
        """Those whose hash begins so."""
        ...

    def add_key(self, row: KeyRow) -> None:
        """Write a new key."""
        ...

    def remove_key(self, hash: str) -> None:
        """Remove a key with the sessions that it opened."""
        ...

    def add_session(self, row: SessionRow) -> None:
        """Write a new session; those that are over by then make room."""
        ...

    def session(self, hash: str) -> SessionRow | None:
        """A session, also one that is over."""
        ...

    def sessions(self) -> list[SessionRow]:
        """All sessions, also those that are over, the one used last first."""
        ...

    def saw_session(self, hash: str, now: float) -> None:
        """It was used now."""
        ...

    def end_session(self, hash: str) -> None:
        """Remove one."""
        ...

    def end_sessions(self, user: str) -> int:
        """Remove those of a user; how many there were."""
        ...


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
                f"{without_password(where)!r} has users already",
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
