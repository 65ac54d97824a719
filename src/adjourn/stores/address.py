"""From an address to a store, or to its database. A database driver is imported only when it is
needed."""

from typing import TYPE_CHECKING

from adjourn.errors import InvalidDefinition, NotFound
from adjourn.stores.protocol import Store

if TYPE_CHECKING:
    from adjourn.stores.database import Database
    from adjourn.stores.user_table import UserTable

POSTGRES = ("postgresql", "postgres")
"""How an address of PostgreSQL begins."""
VARIABLE = "ADJOURN_DB"
BUSY = 10_000
"""Milliseconds to wait for a file that another process holds for itself."""


class NoDatabase(NotFound):
    """There is no database where one was looked for. None was made."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"there is no database at {path!r}, and none was created; name another with --db or {VARIABLE}, "
            f"or start a worker: adjourn worker app.py:agent"
        )


def open_store(address: str) -> Store:
    """`sqlite:///file.db` (relative), `sqlite:////folder/file.db` (absolute), `postgresql://…`, or
    `memory://`."""
    scheme, found, rest = address.partition("://")
    if scheme == "memory" and found:
        from adjourn.stores.memory.store import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from adjourn.stores.sqlite.store import SQLiteStore

        return SQLiteStore(rest[1:])
    if scheme in POSTGRES and found:
        return _open_postgres(address)
    raise InvalidDefinition(
        f"{without_password(address)!r} is not the address of a store: use 'sqlite:///file.db' (relative), "
        f"'sqlite:////folder/file.db' (absolute), 'postgresql://user@host/database', "
        f"'memory://', or a Store object"
    )


def _open_postgres(address: str) -> Store:
    try:
        from adjourn.stores.postgres.store import PostgresStore
    except ImportError as e:
        raise _not_installed(e) from e
    return PostgresStore(address)


def users_in_postgres(address: str) -> "UserTable":
    """The users of a store in PostgreSQL."""
    try:
        from adjourn.stores.postgres.user_table import PostgresUsers
    except ImportError as e:
        raise _not_installed(e) from e
    return PostgresUsers(address)


def database_at(address: str) -> "Database":
    """The database behind an address, to be looked at; nothing is made or changed. Raises
    `NoDatabase` if there is none, and `StoreError` if it cannot be read."""
    if (path := file_of(address)) is not None:
        from adjourn.stores.sqlite.database import DatabaseFile

        return DatabaseFile(path)
    if not is_postgres(address):
        raise InvalidDefinition(
            f"{without_password(address)!r} is not a database", advice="name one with --db"
        )
    try:
        from adjourn.stores.postgres.database import PostgresDatabase
    except ImportError as e:
        raise _not_installed(e) from e
    found = PostgresDatabase(address)
    if not found.schema:
        raise NoDatabase(found.where)
    return found


def file_of(address: str) -> str | None:
    """The file behind an address, if there is one."""
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        return rest[1:]
    return None


def open_only_here(address: str) -> bool:
    """Whether it is of a memory, which nobody but its owner can open."""
    return address.partition("://")[0] == "memory"


def is_postgres(address: str) -> bool:
    """Whether it is of PostgreSQL."""
    return address.partition("://")[0] in POSTGRES


def without_password(address: str) -> str:
    """The address as it may be shown."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(address)
    if parts.password is None:
        return address
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{host}"))


def _not_installed(error: ImportError) -> InvalidDefinition:
    return InvalidDefinition(
        f"a database in PostgreSQL needs the extra `postgres`: pip install 'adjourn[postgres]' ({error})"
    )
