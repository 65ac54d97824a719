"""The contract of a store as tests: subclass `StoreContract`, give it a store, run pytest."""

import sys

import pytest

# So that a broken promise says what it compared; has to come before the promises are imported.
if "adjourn.testing.contract" not in sys.modules:
    pytest.register_assert_rewrite("adjourn.testing.contract")

from adjourn.testing.contract.audit import Auditing, Sealing
from adjourn.testing.contract.audit_search import Searching
from adjourn.testing.contract.blobs import KeepingFiles
from adjourn.testing.contract.commands import Commanding, Following, Requesting
from adjourn.testing.contract.commit import Committing, Fencing, Halting, Indexing, Resting
from adjourn.testing.contract.create import Creating, Importing, Loading
from adjourn.testing.contract.decisions import (
    Abandoning,
    Allowing,
    Deciding,
    DecidingUnderHalt,
    Emitting,
    Voting,
)
from adjourn.testing.contract.encryption import Encrypting
from adjourn.testing.contract.erasure import Erasing
from adjourn.testing.contract.fleet import Listing
from adjourn.testing.contract.guest_threads import GuestThreading
from adjourn.testing.contract.heartbeat import Beating
from adjourn.testing.contract.item_notes import Annotating
from adjourn.testing.contract.joint_commands import Joint
from adjourn.testing.contract.lease import Acquiring, Claiming, Keeping
from adjourn.testing.contract.lists import Due, Halts, Inbox, Runs
from adjourn.testing.contract.names import Naming
from adjourn.testing.contract.numbers import Counting
from adjourn.testing.contract.prune import Holding, Pruned
from adjourn.testing.contract.run_search import RunSearching
from adjourn.testing.contract.signatures import Signing
from adjourn.testing.contract.standing_decisions import StandingDecisions
from adjourn.testing.contract.subscriptions import Closing, Ringing
from adjourn.testing.contract.tenants import Renting
from adjourn.testing.contract.tickets import Limiting
from adjourn.testing.contract.turns import Continuing
from adjourn.testing.contract.wakes import Taking, Waking


class StoreContract(
    Creating,
    Importing,
    Loading,
    KeepingFiles,
    Encrypting,
    Naming,
    Continuing,
    Acquiring,
    Claiming,
    Keeping,
    Beating,
    Listing,
    Limiting,
    GuestThreading,
    Committing,
    Fencing,
    Halting,
    Resting,
    Indexing,
    Commanding,
    Following,
    Requesting,
    Joint,
    Deciding,
    Allowing,
    Voting,
    Emitting,
    Abandoning,
    DecidingUnderHalt,
    Due,
    Inbox,
    Runs,
    RunSearching,
    Counting,
    Renting,
    Halts,
    Annotating,
    Auditing,
    Searching,
    Sealing,
    Signing,
    StandingDecisions,
    Erasing,
    Holding,
    Pruned,
    Waking,
    Taking,
    Ringing,
    Closing,
):
    """Every promise of the `Store` protocol, one test each; after each transaction, rows are
    compared with the fold.

    ```python
    class TestMyStore(StoreContract):
        async def open_store(self, now):
            return MyStore(..., now=now)  # new and empty; it must go by `now`, not by a clock of its own
    ```

    A store whose data outlives the object also overrides `reopen(store, now)`. Needs pytest and
    anyio's plugin.
    """
