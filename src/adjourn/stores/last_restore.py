"""When a backup was last put in the place of a store: what was begun before that may be in no record."""

from adjourn.stores.audit import AuditFilter
from adjourn.stores.protocol import Store
from adjourn.stores.rules.restore import RESTORE
from adjourn.stores.tenant_store import whole_store


async def last_restore(store: Store) -> float:
    """When the store was last restored, as its audit says, in seconds since 1970; 0.0: never. A
    tenant is told, too: it shows nothing of others.

    Args:
        store: any store.
    """
    found = await whole_store(store).recent(limit=1, wanted=AuditFilter(verb=RESTORE))
    return found[0].entry["at"] if found else 0.0
