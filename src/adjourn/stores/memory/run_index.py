"""The index of runs in memory."""

from collections.abc import Callable, Sequence
from copy import deepcopy

from adjourn.stores.run_index import COUNTED, CountedRun, RunEntry, count_of, dump_facts
from adjourn.stores.run_row import RunRow


class IndexedRuns:
    """The entries of a store in memory, and the runs that came to rest after theirs was made."""

    def __init__(self) -> None:
        self.entries: dict[str, RunEntry] = {}
        self.due: dict[str, None] = {}

    def written(self, row: RunRow) -> None:
        """A run was written to."""
        if not row.worker and not row.erased:
            self.due[row.id] = None

    def forget(self, run: str) -> None:
        """Nothing of it is known any more."""
        self.entries.pop(run, None)
        self.due.pop(run, None)


class MemoryRunIndex:
    """See `RunIndex`."""

    def __init__(
        self,
        runs: dict[str, RunRow],
        known: IndexedRuns,
        dated: Callable[[RunRow], RunRow],
    ) -> None:
        self._runs, self._known, self._dated = runs, known, dated

    async def stale(self, limit: int) -> list[tuple[RunRow, RunEntry | None]]:
        """See `RunIndex.stale`."""
        found: list[tuple[RunRow, RunEntry | None]] = []
        for run, row in reversed(self._runs.items()):
            if run in self._known.due and len(found) < limit:
                # a copy: whoever extends it may be overtaken
                found.append((self._dated(row), deepcopy(self._known.entries.get(run))))
        return found

    async def put(self, entries: Sequence[RunEntry]) -> None:
        """See `RunIndex.put`."""
        for entry in entries:
            row, known = self._runs.get(entry.run), self._known.entries.get(entry.run)
            if row is None or row.erased or row.seq < entry.seq:
                continue
            if known is not None and known.seq > entry.seq:
                continue
            self._known.entries[entry.run] = entry
            if row.seq <= entry.seq or row.worker:  # it comes to rest again
                self._known.due.pop(entry.run, None)

    async def entries(
        self, since: float, until: float, *, after: str = "", limit: int = 100
    ) -> list[tuple[RunRow, RunEntry]]:
        """See `RunIndex.entries`."""
        found: list[tuple[RunRow, RunEntry]] = []
        begun = not after
        for run, row in reversed(self._runs.items()):
            if begun and not row.erased and since <= row.created_at <= until:
                entry = deepcopy(self._known.entries.get(run)) or RunEntry(run)
                found.append((self._dated(row), entry))
            begun = begun or run == after
        return found[:limit]

    async def counts(
        self,
        since: float,
        until: float,
        *,
        after: int = 0,
        limit: int = 500,
        label: tuple[str, str] | None = None,
    ) -> list[CountedRun]:
        """See `RunIndex.counts`."""
        found: list[CountedRun] = []
        for number, row in reversed(list(enumerate(self._runs.values(), 1))):
            if len(found) == limit:
                break
            if (after and number >= after) or row.erased or not since <= row.created_at < until:
                continue
            if label and row.labels.get(label[0]) != label[1]:
                continue
            entry = self._known.entries.get(row.id)
            facts = dump_facts(entry) if entry else None
            values = [getattr(row, name) for name in COUNTED[1:]]
            found.append(count_of([number, *values, facts]))
        return found
