"""What a start would come to: the checks of a start, and no run."""

from pathlib import Path
from typing import Any

from adjourn.cli.opened_database import address_of
from adjourn.cli.tenant_option import tenant
from adjourn.core.records import Started
from adjourn.errors import RunErased, RunExists, RunPruned
from adjourn.runtime.definition import Definition
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import file_of
from adjourn.stores.rules.creation import new_row
from adjourn.stores.rules.names import check_record
from adjourn.stores.tenant_store import TenantStore


class Rehearsal(Runtime):
    """A runtime on which `start` and `again` begin nothing, and raise what they would raise.

    `begins`: whether the last of them would have begun a run; else it is there already.
    """

    begins = True

    @classmethod
    def on(cls, db: str | None, program: Definition[Any]) -> "Rehearsal":
        """A rehearsal on a database; one that does not exist is not made.

        Args:
            db: the database as it was named.
            program: what would be started.
        """
        address = address_of(db)
        file = file_of(address)
        if file is not None and not Path(file).exists():
            address = "memory://"
        return cls(address, [program], work=False, tenant=tenant())

    async def _begin(self, started: Started) -> bool:
        wanted, found = new_row(started), await self.row(started.run)
        check_record(started)
        if isinstance(self.store, TenantStore):
            await self.store.check_start(started)
        if found is None and await self.store.audit(started.run, limit=1):
            raise RunPruned(started.run)
        if found is not None and found.erased:
            raise RunErased(found.id, found.title)
        if found is not None and found.input_digest != wanted.input_digest:
            raise RunExists(started.run)
        self.begins = found is None
        return self.begins
