"""A store that encrypts its runs keeps the promises that are not about finding runs by their content."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adjourn.secrets import KeyRing
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.contract.audit import Auditing, Sealing
from adjourn.testing.contract.blobs import KeepingFiles
from adjourn.testing.contract.commands import Commanding, Requesting
from adjourn.testing.contract.commit import Committing, Fencing, Indexing, Resting
from adjourn.testing.contract.create import Importing, Loading
from adjourn.testing.contract.decisions import Deciding, Emitting, Voting
from adjourn.testing.contract.lease import Acquiring, Claiming
from adjourn.testing.contract.prune import Pruned
from adjourn.testing.contract.signatures import Signing
from adjourn.testing.contract.standing_decisions import StandingDecisions
from adjourn.testing.contract.turns import Continuing

RING = KeyRing({"k1": b"k" * 32})


class TestEncryptedStore(
    Importing,
    Loading,
    KeepingFiles,
    Continuing,
    Acquiring,
    Claiming,
    Committing,
    Fencing,
    Resting,
    Indexing,
    Commanding,
    Requesting,
    Deciding,
    Voting,
    Emitting,
    Signing,
    StandingDecisions,
    Auditing,
    Sealing,
    Pruned,
):
    path = ""

    @pytest.fixture(autouse=True)
    def _on_file(self, path: Path) -> None:
        self.path = str(path)

    async def open_store(self, now: Callable[[], float]) -> Store:
        store = SQLiteStore(self.path, now)
        store.encrypt(RING)
        return store

    async def reopen(self, store: Store, now: Callable[[], float]) -> Store:
        return await self.open_store(now)
