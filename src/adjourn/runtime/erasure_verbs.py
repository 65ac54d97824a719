"""The verb of a runtime that erases a run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from adjourn.core.records import AnyRecord, Erased
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import Invalid, RunErased, RunPruned, UnknownRun
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.pruner import PruneVerbs
from adjourn.stores.erasure import Erasure, Hold, check_hold, tombstone
from adjourn.stores.protocol import Filter, Store

if TYPE_CHECKING:
    from adjourn.runtime.live_relay import LiveText
    from adjourn.stores.ruled_store import Ruled

LISTED = 1000
"""So many later runs of its session are looked at."""


class ErasureVerbs(PruneVerbs):
    """What `Runtime` can do about what is to be known no more, or must stay known."""

    _live: "LiveText | None"

    async def erase(
        self, run_id: str, *, by: str, reason: str, whole: bool = False, scrub: bool = True
    ) -> Erasure:
        """Remove everything that was in a run that has ended; who wanted it, and why, stays. It
        cannot be undone.

        Args:
            run_id: the whole id of the run.
            by: who wants it.
            reason: why. It stays, like `by`: in the run's last record, in its title and in the
                audit.
            whole: with it, all runs of its conversation: those that it continues, and those that
                continue it. If one of them has not ended, or is on hold, none is erased.
            scrub: also get it out of the bytes of the store's files, at once. SQLite writes the
                whole file anew for that, so of many runs, do it with the last.
        """
        if not by or not reason:
            raise Invalid("erasing needs by= and reason=: they are kept in the audit")
        check_outside("erase a run")
        try:
            done = await self.store.erase(
                run_id, by=by, reason=reason, whole=whole, origin=self.origin
            )
        except UnknownRun:
            found = await self._erase_archive(run_id, by, reason, scrub)
            if found is None:
                raise
            return found
        silent = True
        for run in (run_id, *done.turns):
            self.worker.forget(run)
            silent = (self._live is None or await self._live.forget(run)) and silent
        scrubbed = scrub and await self.store.scrub()
        row = await self.store.get(run_id)
        others: tuple[str, ...] = ()
        if row.session:
            later = Filter(session=row.session, since=row.created_at, limit=LISTED)
            found = await self.store.runs(later)
            others = tuple(x.id for x in found if x.id != run_id and not x.erased)
        return msgspec.structs.replace(done, scrubbed=scrubbed and silent, others=others)

    async def _erase_archive(
        self, run_id: str, by: str, reason: str, scrub: bool
    ) -> Erasure | None:
        """Erase the key of a pruned run's archive; None if there was no such run. Raises `RunPruned`,
        with where the archive is, if it is in clear, or the key is gone."""
        from adjourn.runtime.archive import erase_key
        from adjourn.runtime.similar_ids import how_it_was_pruned

        entry = await how_it_was_pruned(self.store, run_id)
        if entry is None:
            return None
        if not await erase_key(self.store, run_id):
            raise RunPruned(run_id, entry.get("archive", ""))
        told = {"by": by, "from": self.origin, "reason": reason}
        await cast("Ruled", self.store).tell_of_archive(run_id, told)
        scrubbed = scrub and await self.store.scrub(pruned=True)
        return Erasure(run_id, by, reason, self.store.now(), entry["seq"], scrubbed=scrubbed)

    async def scrub(self) -> bool:
        """Get what was erased or pruned out of the bytes of the store's files, which gives room
        back to the disk as well.
        False: a reader holds a part of it; try again."""
        return await self.store.scrub(pruned=True)

    async def hold(
        self, scope: str, *, by: str, reason: str = "", lift: bool = False
    ) -> list[Hold]:
        """Put one run (`"run:ID"`), or all that have a label, now or later (`"label:KEY=VALUE"`),
        under a legal hold, or `lift`
        it: what is under one is neither erased nor pruned. The holds that are on then.

        Args:
            scope: what is held.
            by: who wants it.
            reason: why; it is shown with each refusal. Lifting needs none.
            lift: end it.
        """
        if not by or not (reason or lift):
            raise Invalid("a hold needs by= and reason=, and lifting it by=")
        check_outside("lift a hold" if lift else "set a hold")
        return await self.store.hold(
            check_hold(scope), by=by, reason=reason, lift=lift, origin=self.origin
        )

    async def holds(self) -> list[Hold]:
        """The legal holds that are on."""
        return await self.store.hold("")


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
