"""PostgreSQL keeps every promise of the contract, and those about commits also where all of them lock."""

from collections.abc import Callable

import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Store
from adjourn.testing import StoreContract
from adjourn.testing.contract.commit import Committing, Fencing, Halting, Indexing, Resting
from adjourn.testing.contract.fixtures import ContractFixtures


class OnPostgres(ContractFixtures):
    """A new database for each test."""

    address = ""
    compares = True

    @pytest.fixture(autouse=True)
    def _on_server(self, postgres: PostgresServer) -> None:
        self.address = postgres.fresh()

    async def open_store(self, now: Callable[[], float]) -> Store:
        return PostgresStore(self.address, now, compares=self.compares)

    async def reopen(self, store: Store, now: Callable[[], float]) -> Store:
        return PostgresStore(self.address, now, compares=self.compares)


class TestPostgresStore(OnPostgres, StoreContract):
    pass


class TestPostgresStoreThatLocks(OnPostgres, Committing, Fencing, Halting, Resting, Indexing):
    compares = False
