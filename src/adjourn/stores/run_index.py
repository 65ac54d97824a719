"""The index by which runs are found: what each is about, as one string, and its numbers. Derived,
never the truth.

An entry is made of a run's journal after the run came to rest, in a transaction of its own: no
step waits for it. It is extended by the records that came since, and goes with the run's content.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from adjourn.core.approval_votes import Vote
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.status import RunStatus, Status, run_status
from adjourn.core.usage import Usage
from adjourn.stores.rows import Rows
from adjourn.stores.run_row import RunRow

MARK, VALUE = "\x1e", "\x1f"
"""Before each line of an entry's text, and between its key and its value. No word has them."""
KEYS = {
    "id": "\x01",
    "agent": "\x02",
    "session": "\x03",
    "label": "\x04",
    "by": "\x05",
    "tool": "\x06",
    "arg": "\x07",
    "in": "\x08",
    "out": "\x0b",
    "said": "\x0c",
    "error": "\x0e",
    "note": "\x0f",
    "asked": "\x10",
    "answer": "\x11",
    "event": "\x12",
}
"""How a text calls what a line says: characters that no word has, so that the word *tool* finds no
more than what is said of a tool."""
LONGEST = 32_000
"""Characters of one entry. What a run says after so many is not found."""


class Wait(msgspec.Struct, omit_defaults=True):
    """A question to people: when it was asked, and when it was answered or ended; 0 while it is
    open. `verdict`: a decision's word, `edit`, `stood` if a standing decision answered and nobody
    was asked, or why nobody answered. `gate` and `votes`: who must agree and who has, where one is
    not enough."""

    kind: str
    tool: str
    at: float
    until: float = 0.0
    by: str = ""
    verdict: str = ""
    groups: tuple[str, ...] = ()
    gate: tuple[ApprovalSlot, ...] = ()
    votes: tuple[Vote, ...] = ()


class ToolCount(msgspec.Struct, omit_defaults=True):
    """How often a tool was called, how often that failed, and how long it took."""

    calls: int = 0
    failed: int = 0
    took: float = 0.0


class RunFacts(msgspec.Struct, omit_defaults=True):
    """What is counted of a run. `inherited`: of its usage, what the run had used of which it is a
    fork. `turns` and `calls` are what the next records need: replies by path, and the tools of
    calls that have not returned."""

    usage: Usage = Usage()
    inherited: Usage = Usage()
    tools: dict[str, ToolCount] = {}
    waits: dict[str, Wait] = {}
    turns: dict[str, int] = {}
    calls: dict[str, str] = {}


class RunEntry(msgspec.Struct):
    """What the index has of a run: of its first `seq` records.

    `text`: lines, each a key and a value, in small letters. `cost`, `tokens`: of all model calls.
    `took`: seconds from its beginning to its last record; `waited`: those of them in which
    a question to people was open.
    """

    run: str
    seq: int = 0
    text: str = MARK
    cost: float = 0.0
    tokens: int = 0
    took: float = 0.0
    waited: float = 0.0
    facts: RunFacts = msgspec.field(default_factory=RunFacts)


class CountedRun(msgspec.Struct, frozen=True):
    """What is counted of one run, without what it said. `number`: its place in the store, by which
    the next page is asked for. `status`: without halts and leases; they say nothing of the past."""

    number: int
    program: str
    status: RunStatus
    created_at: float
    facts: RunFacts


class Bound(msgspec.Struct, frozen=True):
    """A number of a run that must be at least, or at most, this."""

    name: str
    value: float
    most: bool = False

    def admits(self, entry: RunEntry) -> bool:
        """Whether the entry's number is within it."""
        number = getattr(entry, self.name)
        if self.most:
            return number <= self.value
        return number >= self.value


BOUNDED = ("cost", "tokens", "took", "waited")
"""The numbers that may be bounded."""


class RunSearch(msgspec.Struct, frozen=True):
    """What a run's entry must have: all of these pieces of text, and numbers within these bounds."""

    pieces: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()

    def finds(self, entry: RunEntry) -> bool:
        """Whether the entry is one of those."""
        return all(piece in entry.text for piece in self.pieces) and all(
            bound.admits(entry) for bound in self.bounds
        )


class RunIndex(Protocol):
    """Where a store keeps the entries."""

    async def stale(self, limit: int) -> list[tuple[RunRow, RunEntry | None]]:
        """Up to `limit` runs that came to rest after their entry was made, the newest first, each
        with the entry that it has."""
        ...

    async def put(self, entries: Sequence[RunEntry]) -> None:
        """Keep these in the place of those before. Nothing is kept of a run that is not there or
        was erased, nor in the place of an entry that knows more."""
        ...

    async def entries(
        self, since: float, until: float, *, after: str = "", limit: int = 100
    ) -> list[tuple[RunRow, RunEntry]]:
        """Entries of runs that began in this time, the newest first.

        Args:
            since, until: the time.
            after: the last run of the page before.
            limit: at most so many.
        """
        ...

    async def counts(
        self,
        since: float,
        until: float,
        *,
        after: int = 0,
        limit: int = 500,
        label: tuple[str, str] | None = None,
    ) -> list[CountedRun]:
        """What is counted of the runs that began from `since` to before `until`, the newest first.

        Args:
            since, until: the time.
            after: the number of the last one of the page before; 0: the first page.
            limit: at most so many.
            label: only of runs with this label.
        """
        ...


_facts = msgspec.json.Decoder(RunFacts)


def dump_facts(entry: RunEntry) -> str:
    """What is counted, as a store keeps it."""
    return msgspec.json.encode(entry.facts).decode()


def entry_of(run: str, row: Sequence[Any]) -> RunEntry:
    """An entry from its row: the run's number, what `RunEntry` has in its order, and its facts as
    `dump_facts` wrote them."""
    _, seq, text, cost, tokens, took, waited, facts = row
    return RunEntry(run, seq, text, cost, tokens, took, waited, _facts.decode(facts))


COUNTED = ("n", "program", "status", "opens", "errors", "stopped", "created_at")
"""The columns of a run's row that are counted."""


def count_of(row: Sequence[Any]) -> CountedRun:
    """What is counted, from a row: `COUNTED` in its order, and the facts, or None."""
    number, program, status, opens, errors, stopped, created_at, facts = row
    found = _facts.decode(facts) if facts else RunFacts()
    shown = run_status(Status(status), failed=0 < opens == errors, stopped=bool(stopped))
    return CountedRun(number, program, shown, created_at, found)


class TableRunIndex:
    """What of a `RunIndex` in tables is read. Every database has statements and rows of its own."""

    _stale: str
    _began: str
    _entries: str
    _counts: str

    def __init__(self, rows: Rows, row: Callable[[Sequence[Any]], RunRow]) -> None:
        self._rows, self._row = rows, row

    async def stale(self, limit: int) -> list[tuple[RunRow, RunEntry | None]]:
        """See `RunIndex.stale`."""
        return await self._known(self._stale, limit=limit)

    async def entries(
        self, since: float, until: float, *, after: str = "", limit: int = 100
    ) -> list[tuple[RunRow, RunEntry]]:
        """See `RunIndex.entries`."""
        found = await self._known(self._began, since=since, until=until, after=after, limit=limit)
        return [(row, entry or RunEntry(row.id)) for row, entry in found]

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
        values = {"since": since, "until": until, "after": after, "limit": limit}
        name, value = label or ("", "")
        return list(map(count_of, await self._rows(self._counts, **values, name=name, value=value)))

    async def _known(self, sql: str, **values: Any) -> list[tuple[RunRow, RunEntry | None]]:
        rows = list(map(self._row, await self._rows(sql, **values)))
        ids = {row.n: row.id for row in rows}
        known: dict[int, RunEntry] = {}
        for entry in await self._rows(self._entries, runs=list(ids)):
            known[entry[0]] = entry_of(ids[entry[0]], entry)
        return [(row, known.get(row.n)) for row in rows]
