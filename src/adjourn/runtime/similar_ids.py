"""Ids that are like one that does not exist: what somebody may have meant."""

from adjourn.errors import UnknownRun
from adjourn.stores.protocol import Filter, Lists

NEAR = 5
"""Names that an error lists where several could be meant."""
NEWEST = 50
"""Runs that are compared because they are new."""
ALIKE = 20
"""Runs that are compared for each beginning."""
MOST = 3


async def near_ids(store: Lists, id: str) -> list[str]:
    """At most three ids that are like `id`: those that begin with it, or as it does, and the newest, the likest first.

    It reads a bounded number of rows, through an index. For an id that nobody could have typed there are none.
    """
    if not id or len(id) > 200:
        return []
    beginnings = {id, id.upper(), id[:-1], id[: len(id) // 2]}
    filters = [Filter(limit=NEWEST), *(Filter(prefix=text, limit=ALIKE) for text in beginnings if text)]
    by_text: dict[str, list[str]] = {}
    for filter in filters:
        for row in await store.runs(filter):
            by_text.setdefault(row.id.casefold(), []).append(row.id)
    from difflib import get_close_matches

    alike = get_close_matches(id.casefold(), by_text, n=MOST, cutoff=0.7)
    longer = sorted(text for text in by_text if text.startswith(id.casefold()))
    found = dict.fromkeys(name for text in (*alike, *longer) for name in by_text[text])
    return list(found)[:MOST]


async def did_you_mean(store: Lists, unknown: UnknownRun) -> UnknownRun:
    """The same error with the ids that are like the one that was given."""
    return unknown if unknown.near else UnknownRun(unknown.run_id, await near_ids(store, unknown.run_id))
