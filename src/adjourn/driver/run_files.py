"""Reading the files that a run's conversation refers to: its own, and those of the turns before it."""

from collections.abc import Collection

from adjourn.core.records import Started
from adjourn.stores.protocol import Store


async def run_files(store: Store, started: Started, digests: Collection[str]) -> dict[str, bytes]:
    """The bytes of these files, by digest, from the run and then from the turns before it, the last
    first. What none of them has is left out."""
    run, before = started.run, started.before
    found = await store.blobs(run, digests)
    while before is not None and not found.keys() >= set(digests):
        found |= await store.blobs(before.run, set(digests) - found.keys())
        turns = await store.turns(before.run, 1, 1)
        before = turns[0].before if turns else None
    return found
