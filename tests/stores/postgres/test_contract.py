"""PostgreSQL keeps every promise of the contract, whether commits are compared or locked."""

from collections.abc import Callable

import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Store
from adjourn.testing import StoreContract


class TestPostgresStore(StoreContract):
    address = ""
    compares = True

    @pytest.fixture(autouse=True)
    def _on_server(self, postgres: PostgresServer) -> None:
        self.address = postgres.fresh()

    async def open_store(self, now: Callable[[], float]) -> Store:
        return PostgresStore(self.address, now, compares=self.compares)

    async def reopen(self, store: Store, now: Callable[[], float]) -> Store:
        return PostgresStore(self.address, now, compares=self.compares)


class TestLockedPostgresStore(TestPostgresStore):
    compares = False
