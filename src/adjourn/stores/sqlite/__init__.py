"""Journals in one SQLite file. `SQLiteStore` is loaded when it is asked for: it needs `apsw`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjourn.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]


def __getattr__(name: str) -> Any:
    if name == "SQLiteStore":
        from adjourn.stores.sqlite.store import SQLiteStore

        return SQLiteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
