"""Both stores keep every promise of the contract."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import StoreContract


class TestMemoryStore(StoreContract):
    async def open_store(self, now: Callable[[], float]) -> Store:
        return MemoryStore(now)


class TestSQLiteStore(StoreContract):
    path = ""

    @pytest.fixture(autouse=True)
    def _on_file(self, path: Path) -> None:
        self.path = str(path)

    async def open_store(self, now: Callable[[], float]) -> Store:
        return SQLiteStore(self.path, now)

    async def reopen(self, store: Store, now: Callable[[], float]) -> Store:
        return SQLiteStore(self.path, now)
