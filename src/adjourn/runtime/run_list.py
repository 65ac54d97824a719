"""A list of runs, as people see them."""

from adjourn.runtime.halt_verbs import HaltVerbs
from adjourn.runtime.indexer import bring_up_to_date
from adjourn.runtime.search_query import searched
from adjourn.stores.protocol import Filter
from adjourn.views.run_view import RunSummary, run_summary


async def run_list(runtime: HaltVerbs, wanted: Filter, search: str = "") -> list[RunSummary]:
    """The runs that `wanted` and a `search` say, each with the status that is shown: halts are part
    of it."""
    if search:
        wanted = await with_search(runtime, wanted, search)
    rows = await runtime.store.runs(wanted)
    halts, now = await runtime.halts(), runtime.store.now()
    return [run_summary(row, halts, now) for row in rows]


async def with_search(runtime: HaltVerbs, wanted: Filter, search: str) -> Filter:
    """A filter with what somebody typed, after the index was brought up to date for it."""
    found = searched(search, wanted, runtime.store.now())
    if found.search is not None:
        await bring_up_to_date(runtime.store)
    return found
