"""A list of runs, as people see them."""

from adjourn.runtime.halt_verbs import HaltVerbs
from adjourn.stores.protocol import Filter
from adjourn.views.run_view import RunSummary, run_summary


async def run_list(runtime: HaltVerbs, wanted: Filter) -> list[RunSummary]:
    """The runs that `wanted` says, each with the status that is shown: halts are part of it."""
    rows = await runtime.store.runs(wanted)
    halts, now = await runtime.halts(), runtime.store.now()
    return [run_summary(row, halts, now) for row in rows]
