"""The verb of a runtime that erases a run."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from adjourn.core.erasing import tombstone
from adjourn.core.records import AnyRecord, Erased
from adjourn.driver.checkpoint import Checkpoint
from adjourn.driver.inside import check_outside
from adjourn.errors import Invalid, RunErased, UnknownRun
from adjourn.stores.store import Erasure, Filter, Store

LISTED = 1000
"""So many later runs of its session are looked at."""


class _Forgets(Protocol):
    def forget(self, run: str) -> None: ...


class _Live(Protocol):
    async def forget(self, run: str) -> bool: ...


class ErasureVerbs:
    """What `Runtime` can do about what is to be known no more."""

    origin: str
    _live: Any

    @property
    def store(self) -> Store:
        """The store."""
        raise NotImplementedError

    @property
    def worker(self) -> Any:
        """What advances runs in this process."""
        raise NotImplementedError

    async def erase(self, run_id: str, *, by: str, reason: str, scrub: bool = True) -> Erasure:
        """Remove everything that was in a run that has ended; who wanted it, and why, stays. It cannot be undone.

        Args:
            run_id: the whole id of the run.
            by: who wants it.
            reason: why. It stays, like `by`: in the run's last record, in its title and in the audit.
            scrub: also get it out of the bytes of the store's files, at once. SQLite writes the whole file anew for that, so
                whoever erases many runs does it with the last of them.
        """
        if not by or not reason:
            raise Invalid("erasing needs by= and reason=: they are what stays")
        check_outside("erase a run")
        done = await self.store.erase(run_id, by=by, reason=reason, origin=self.origin)
        forgets: _Forgets = self.worker
        forgets.forget(run_id)
        live: _Live | None = self._live
        silent = await live.forget(run_id) if live is not None else True
        scrubbed = scrub and await self.store.scrub()
        row = await self.store.get(run_id)
        found = (
            await self.store.runs(Filter(session=row.session, since=row.created_at, limit=LISTED))
            if row.session
            else []
        )
        others = tuple(x.id for x in found if x.id != run_id and not x.erased)
        return msgspec.structs.replace(done, scrubbed=scrubbed and silent, others=others)

    async def scrub(self) -> bool:
        """Get what was erased out of the bytes of the store's files. False: somebody who reads holds a part of it; try again."""
        return await self.store.scrub()


async def check_turn(store: Store, saved: Checkpoint) -> Checkpoint:
    """The conversation that goes on; raises `RunErased` if it was erased here."""
    try:
        row = await store.get(saved.run_id)
    except UnknownRun:
        return saved
    if row.erased:
        raise RunErased(row.id, row.title)
    return saved


def check_content(run_id: str, records: Sequence[tuple[int, AnyRecord]]) -> list[AnyRecord]:
    """The records of a journal; raises `RunErased` if all that is left of it is who erased it."""
    found = [record for _, record in records]
    if found and isinstance(last := found[-1], Erased):
        raise RunErased(run_id, tombstone(last))
    return found
