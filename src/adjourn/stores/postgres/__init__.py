"""Journals in a PostgreSQL database, for several machines. `PostgresStore` is loaded when it is
asked for: it needs `psycopg`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjourn.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]


def __getattr__(name: str) -> Any:
    if name == "PostgresStore":
        from adjourn.stores.postgres.store import PostgresStore

        return PostgresStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
