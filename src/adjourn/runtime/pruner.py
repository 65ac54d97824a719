"""Pruning: runs that ended long ago are removed whole, in small batches, each after its archive is
on the disk."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from adjourn.core.codec import is_finite
from adjourn.core.duration import span_of
from adjourn.core.status import ENDED, Status
from adjourn.driver.clock import Clock
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import (
    Invalid,
    InvalidDefinition,
    Refused,
    RunErased,
    RunHeld,
    StoreError,
    UnknownRun,
)
from adjourn.runtime.open_runtime import OpenRuntime
from adjourn.stores.erasure import Hold, Pruning, scopes_of
from adjourn.stores.protocol import Store
from adjourn.stores.run_row import RunRow

RUNS, RECORDS = 50, 5_000
"""At most so many runs are removed in one transaction, and about so many records: whoever else
writes waits for no more."""

Span = str | float | timedelta
Folder = str | os.PathLike[str]


class PruneReport(msgspec.Struct, frozen=True):
    """What was pruned, or, after a dry run, would be: how many runs, and how many bytes of records
    they had.

    `held`: runs that are old enough, and under a legal hold. `kept`: runs that a
    later turn of their conversation needs, which stays, and runs that changed, or were held, while
    it went on.
    """

    runs: int = 0
    bytes: int = 0
    held: int = 0
    kept: int = 0
    archive: str = ""


def span(given: Span, name: str) -> float:
    """Seconds, from `"30d"`, a number or a `timedelta`; raises `InvalidDefinition`."""
    seconds: float | None = None
    if isinstance(given, timedelta):
        seconds = given.total_seconds()
    elif isinstance(given, str):
        seconds = span_of(given)
    elif is_finite(given):
        seconds = float(given)
    if seconds is None or not 0 <= seconds < float("inf"):
        raise InvalidDefinition(
            f"{name} must be a duration such as '90m', '12h', '30d' or '4w', got {given!r:.80}"
        )
    return seconds


def folder_of(archive: Folder | None) -> str:
    """Where archives are put, whole: the process may go to another folder. "" for none. Raises
    `InvalidDefinition`."""
    if archive is None:
        return ""
    if not isinstance(archive, str | os.PathLike) or not os.fspath(archive):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(
            f"archive= must be a folder, got {archive!r:.80}",
            advice="leave it out to prune without an archive",
        )
    return os.path.abspath(archive)


def statuses(given: str | Iterable[str], name: str) -> tuple[Status, ...]:
    """How runs have ended; raises `InvalidDefinition` for the status of a run that may go on."""
    if isinstance(given, str) or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        named: list[Any] = [given]
    else:
        named = list(given)
    known = sorted(status.value for status in ENDED)
    wrong = [x for x in named if x not in known]
    if wrong or not named:
        said = f"{' or '.join(known)}, not {(wrong or [''])[0]!r:.80}"
        raise InvalidDefinition(f"{name}: only runs that have ended are pruned: {said}")
    return tuple(dict.fromkeys(Status(x) for x in named))


def retained(given: "Span | Mapping[str, Span] | None") -> dict[Status, float]:
    """How long runs of each status are kept, from `retain=`; raises `InvalidDefinition`."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        statuses(given, "retain=")
        return {
            Status(status): kept_for(length, f"retain={{{status!r}: …}}")
            for status, length in given.items()
        }
    return dict.fromkeys(sorted(ENDED), kept_for(given, "retain="))


def kept_for(given: Span, name: str) -> float:
    """`span`, but a bare number is refused: seconds where days were meant would remove what is to
    be kept."""
    if isinstance(given, int | float):
        raise InvalidDefinition(
            f"{name} needs a unit: '{given}d' is {given} days", advice="or give a timedelta"
        )
    return span(given, name)


class PruneVerbs(OpenRuntime):
    """What `Runtime` can do about what need not be known any more."""

    secret: str | None
    archive: Folder | None
    clock: Clock

    async def prune(
        self,
        *,
        older: Span,
        by: str,
        status: str | Sequence[str] = "completed",
        archive: Folder | None = None,
        reason: str = "",
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove runs that ended so long ago, whole. Their audit stays, and their ids stay taken.

        Args:
            older: how long ago their last record was written: `"30d"`, seconds, or a `timedelta`.
            by: who wants it.
            status: how they have ended: `"completed"`, `"cancelled"`, or both.
            archive: a folder. Each run is written there first, as its checkpoint; without it, the
                runtime's `archive=` is meant.
            reason: why; it stays in the audit.
            dry_run: only say how many and how large they are.
        """
        wanted, length = statuses(status, "status="), span(older, "older=")
        if not by:
            raise Invalid("pruning needs by=, the person who wants it")
        check_outside("prune runs")
        found = PruneReport(archive=folder_of(archive if archive is not None else self.archive))
        for one in wanted:
            before = self.store.now() - length
            found = added(
                found,
                await self._prune_old(one, Pruning(0, before, by, reason), found.archive, dry_run),
            )
        return found

    async def _prune_old(
        self,
        status: Status,
        wanted: Pruning,
        archive: str,
        dry_run: bool = False,
        most: int = 0,
    ) -> PruneReport:
        """All of them, or about `most`."""
        found = PruneReport()
        try:
            async for done in self._prune_pages(status, wanted.before, wanted, archive, dry_run):
                found = added(found, done)
                if most and found.runs >= most:
                    break
        except StoreError as e:
            if not found.runs or dry_run:
                raise
            raise StoreError(
                f"{e}. {found.runs} runs with status {status.value} were pruned before that"
            ) from e
        finally:
            if found.runs and not dry_run:
                line = {
                    "verb": "prune",
                    "by": wanted.by,
                    "from": self.origin,
                    "reason": wanted.reason,
                    "runs": found.runs,
                    "status": status.value,
                    "before": round(wanted.before, 3),
                    "archive": archive,
                }
                await self.store.note([line])
        return found

    async def _prune_pages(
        self, status: Status, before: float, wanted: Pruning, archive: str, dry_run: bool
    ) -> AsyncIterator[PruneReport]:
        """Page by page, what was done with it."""
        going = set[str]()
        async for page in _pages(self.store, status, before):
            holds = await self.store.hold("")
            loose = [row for row in page if not holds_of(row, holds)]
            followed = await self.store.followed([row.id for row in loose])
            free: list[RunRow] = []
            for row in loose:  # the newest first: a conversation goes from its end
                if going.issuperset(followed.get(row.id, ())):
                    free.append(row)
                    going.add(row.id)
            held = PruneReport(held=len(page) - len(loose), kept=len(loose) - len(free))
            ids = [row.id for row in free]
            if dry_run:
                done = PruneReport(runs=len(free), bytes=await self.store.weigh(ids))
            else:
                done = await self._prune_page(free, wanted, archive)
            yield added(held, done)

    async def _prune_page(
        self, rows: Sequence[RunRow], wanted: Pruning, archive: str
    ) -> PruneReport:
        found = [(row, await self._archived(row, wanted, archive)) for row in rows]
        orders = [(row, order) for row, order in found if order is not None]
        sizes = [await self.store.weigh([row.id]) for row, _ in orders]
        work = [self.store.prune(row.id, order, origin=self.origin) for row, order in orders]
        done = await asyncio.gather(*work, return_exceptions=True)
        for outcome in done:
            if isinstance(outcome, BaseException) and not isinstance(outcome, Refused | RunHeld):
                raise outcome
        gone = [n for n, outcome in enumerate(done) if outcome is True]
        for n in gone:
            self.worker.forget(orders[n][0].id)
        kept = sum(isinstance(outcome, Refused | RunHeld) for outcome in done)
        return PruneReport(runs=len(gone), bytes=sum(sizes[n] for n in gone), kept=kept)

    async def _archived(self, row: RunRow, wanted: Pruning, archive: str) -> Pruning | None:
        """How to prune this run: as it is in its archive; None if somebody else has pruned it
        meanwhile. Of one that was erased there is nothing to keep, also not what an earlier attempt
        has put there."""
        from adjourn.runtime.archive import file_of, keep_key, put

        if archive and row.erased:
            await asyncio.to_thread(file_of(archive, row.id).unlink, missing_ok=True)
        if not archive or row.erased:
            return msgspec.structs.replace(wanted, seq=row.seq)
        try:
            saved = await (await self.get(row.id)).checkpoint()
        except (UnknownRun, RunErased):  # the next look finds out
            return None
        if saved.key:
            await keep_key(self.store, saved)
        file, digest = await asyncio.to_thread(put, archive, saved, self.secret)
        return msgspec.structs.replace(wanted, seq=saved.seq, archive=str(file), digest=digest)


async def _pages(store: Store, status: Status, before: float) -> AsyncIterator[list[RunRow]]:
    """What is old enough, the newest of it first, in pages of at most `RUNS` runs and about
    `RECORDS` records."""
    page, records = list[RunRow](), 0
    after: tuple[float, str] | None = None
    while rows := await store.ended(status, before, after=after, limit=RUNS):
        for row in rows:
            if page and records + row.seq > RECORDS:
                yield page
                page, records = [], 0
            page.append(row)
            records += row.seq
        yield page
        page, records, after = [], 0, (rows[-1].updated_at, rows[-1].id)


def holds_of(row: RunRow, holds: Sequence[Hold]) -> list[Hold]:
    """Those that the run is under."""
    covering = scopes_of(row.id, row.labels)
    return [hold for hold in holds if hold.scope in covering]


def added(one: PruneReport, other: PruneReport) -> PruneReport:
    """Both together."""
    return PruneReport(
        one.runs + other.runs,
        one.bytes + other.bytes,
        one.held + other.held,
        one.kept + other.kept,
        one.archive,
    )
