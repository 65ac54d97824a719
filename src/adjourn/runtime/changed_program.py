"""What workers have noted about a run that they could not advance."""

from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Store


async def noted(store: Store, run: str) -> Misfit | None:
    """The last note of a worker about a run, if the run has not moved since."""
    found = await store.misfits(runs=(run,))
    return found[0] if found else None
