"""Ids that are like one that does not exist: what somebody may have meant."""

from collections.abc import Mapping
from typing import Any

from adjourn.errors import UnknownRun, bare
from adjourn.stores.protocol import AuditLog, Filter, Lists, Store
from adjourn.stores.rules.prune import PRUNE

NEWEST = 50
"""Runs that are compared because they are new."""
ALIKE = 20
"""Runs that are compared for each beginning."""
MOST = 3
LINES = 1_000
"""Lines of a run's audit among which the one is looked for with which it was pruned."""


async def near_ids(store: Lists, id: str) -> list[str]:
    """At most three ids that are like `id`: those that begin with it, or as it does, and the
    newest, the likest first.

    It reads a bounded number of rows, through an index. For an id that nobody could have typed
    there are none.
    """
    if not id or len(id) > 200:
        return []
    beginnings = {id, id.upper(), id[:-1], id[: len(id) // 2]}
    filters = [
        Filter(limit=NEWEST),
        *(Filter(prefix=text, limit=ALIKE) for text in beginnings if text),
    ]
    by_text: dict[str, list[str]] = {}
    for filter in filters:
        for row in await store.runs(filter):
            by_text.setdefault(row.id.casefold(), []).append(row.id)
    from difflib import get_close_matches

    alike = get_close_matches(id.casefold(), by_text, n=MOST, cutoff=0.7)
    longer = sorted(text for text in by_text if text.startswith(id.casefold()))
    found = dict.fromkeys(name for text in (*alike, *longer) for name in by_text[text])
    return list(found)[:MOST]


async def did_you_mean(store: Store, unknown: UnknownRun) -> UnknownRun:
    """The same error, which says how the run was pruned, or has the ids that are like the one that
    was given."""
    if unknown.near or unknown.pruned:
        return unknown
    if pruned := await how_it_was_pruned(store, unknown.run_id):
        return UnknownRun(unknown.run_id, pruned=f"by {bare(pruned['by'])}")
    return UnknownRun(unknown.run_id, await near_ids(store, unknown.run_id))


async def how_it_was_pruned(store: AuditLog, run: str) -> Mapping[str, Any] | None:
    """The line of the audit with which the run was pruned; None if no run of this id was."""
    if not run or len(run) > 200:
        return None
    lines = await store.audit(run, limit=LINES)
    return next((line.entry for line in reversed(lines) if line.entry["verb"] == PRUNE), None)
