"""The contract of a store as tests: subclass `StoreContract`, give it a store, run pytest."""

import sys

import pytest

# So that a broken promise says what it compared; has to come before the promises are imported.
if "adjourn.testing.promises" not in sys.modules:
    pytest.register_assert_rewrite("adjourn.testing.promises")

from adjourn.testing.promises.auditing import Auditing, Sealing
from adjourn.testing.promises.beating import Beating
from adjourn.testing.promises.committing import Committing, Fencing, Halting, Indexing, Resting
from adjourn.testing.promises.continuing import Continuing
from adjourn.testing.promises.creating import Creating, Importing, Loading
from adjourn.testing.promises.deciding import (
    Abandoning,
    Allowing,
    Deciding,
    DecidingUnderHalt,
    Emitting,
    Voting,
)
from adjourn.testing.promises.delivering import Commanding, Following, Requesting
from adjourn.testing.promises.erasing import Erasing
from adjourn.testing.promises.leasing import Acquiring, Claiming, Keeping
from adjourn.testing.promises.listing import Due, Halts, Inbox, Runs
from adjourn.testing.promises.naming import Naming
from adjourn.testing.promises.pruning import Holding, Pruned
from adjourn.testing.promises.ringing import Closing, Ringing
from adjourn.testing.promises.signing import Signing
from adjourn.testing.promises.waking import Taking, Waking


class StoreContract(
    Creating, Importing, Loading, Naming, Continuing,
    Acquiring, Claiming, Keeping, Beating,
    Committing, Fencing, Halting, Resting, Indexing,
    Commanding, Following, Requesting, Deciding, Allowing, Voting, Emitting, Abandoning, DecidingUnderHalt,
    Due, Inbox, Runs, Halts,
    Auditing, Sealing, Signing, Erasing, Holding, Pruned, Waking, Taking, Ringing, Closing,
):  # fmt: skip
    """Every promise of the `Store` protocol, one test each; after each transaction, rows are compared with the fold.

    ```python
    class TestMyStore(StoreContract):
        async def open_store(self, now):
            return MyStore(..., now=now)  # new and empty; it must go by `now`, not by a clock of its own
    ```

    A store whose data outlives the object also overrides `reopen(store, now)`. Needs pytest and anyio's plugin.
    """
