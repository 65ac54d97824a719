"""From an address to a store. A database driver is imported only when it is needed."""

from adjourn.errors import InvalidDefinition, NotFound
from adjourn.stores.protocol import Store

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
    """`sqlite:///file.db` (relative), `sqlite:////folder/file.db` (absolute), `postgresql://…`, or `memory://`."""
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
        f"{address!r} is not the address of a store: use 'sqlite:///file.db' (relative), "
        f"'sqlite:////folder/file.db' (absolute), 'postgresql://user@host/database', 'memory://', or a Store object"
    )


def _open_postgres(address: str) -> Store:
    try:
        from adjourn.stores.postgres.store import PostgresStore
    except ImportError as e:
        raise InvalidDefinition(
            f"a database in PostgreSQL needs the extra `postgres`: pip install 'adjourn[postgres]' ({e})"
        ) from e
    return PostgresStore(address)
