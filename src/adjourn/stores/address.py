"""From an address to a store. A database driver is imported only when it is needed."""

from adjourn.errors import InvalidDefinition
from adjourn.stores.protocol import Store


def open_store(address: str) -> Store:
    """`sqlite:///file.db` (relative), `sqlite:////folder/file.db` (absolute), or `memory://`."""
    scheme, found, rest = address.partition("://")
    if scheme == "memory" and found:
        from adjourn.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from adjourn.stores.sqlite import SQLiteStore

        return SQLiteStore(rest[1:])
    raise InvalidDefinition(
        f"{address!r} is not the address of a store: use 'sqlite:///file.db' (relative), "
        f"'sqlite:////folder/file.db' (absolute), 'memory://', or a Store object"
    )
