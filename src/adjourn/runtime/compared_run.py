"""A run, read whole, as it is compared."""

from collections.abc import Collection

from adjourn.core.state import State
from adjourn.runtime.erasure_verbs import check_content
from adjourn.stores.protocol import Store
from adjourn.views.run_comparison import ReadRun
from adjourn.views.timeline import Timeline


async def read_run(store: Store, run: str, halts: Collection[str]) -> ReadRun:
    """The row of a run, its fold and its timeline; raises `RunErased`.

    Args:
        store: where it is.
        run: its id.
        halts: the scopes of the halts that are on.
    """
    row, records, now = await store.get(run), await store.load(run), store.now()
    check_content(run, records)
    state = State().fold_all(records)
    return ReadRun(row, state, Timeline.of(records, now), row.shown(now, halts))
