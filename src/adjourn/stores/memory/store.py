"""Journals in memory: for storeless runs and for tests. Nothing outlives the object."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from adjourn.core.ids import public_id, ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord, Started
from adjourn.core.status import ENDED, RUNNABLE, Status, run_status
from adjourn.errors import UnknownRun
from adjourn.stores.audit import (
    ANSWER,
    EVERY_LINE,
    LONGEST,
    SECURITY,
    AuditFilter,
    AuditLine,
    FoundLine,
    newest_first,
    placed,
)
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.channel import Ears, MemoryChannel
from adjourn.stores.fleet import Census, Misfit, Queue, RunCount, WorkerCard
from adjourn.stores.guest_threads import MemoryThreads, check_run
from adjourn.stores.item_note import ItemMark
from adjourn.stores.memory.due import due
from adjourn.stores.memory.evidence import MemoryEvidence
from adjourn.stores.memory.heartbeat import MemoryPulse
from adjourn.stores.memory.run_index import MemoryRunIndex
from adjourn.stores.memory.transaction import MemoryBook
from adjourn.stores.outbox import Notification
from adjourn.stores.protocol import Bell, Filter, Turn
from adjourn.stores.rows import parsed, present
from adjourn.stores.ruled_store import Ruled
from adjourn.stores.rules import creation, run_filter
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.rules.conversation_turns import turn_of
from adjourn.stores.rules.inbox_filter import belongs, briefly, is_for, shown, visible
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import NOTHING
from adjourn.stores.rules.transaction import Each, RecordedRefusal, StoreRule, Whole
from adjourn.stores.run_index import RunSearch
from adjourn.stores.run_row import MARKED, RunRow, open_stores, opened_bytes
from adjourn.stores.seals import Anchor, Seal
from adjourn.stores.snapshots import MemorySnapshots
from adjourn.stores.subscriptions import Subscriptions
from adjourn.stores.verification import Verification, verified

if TYPE_CHECKING:
    from adjourn.stores.secret_keys import KeyRing


def _place(line: AuditLine) -> tuple[float, str, int]:
    """Where a line stands among those of all scopes."""
    return line.entry["at"], line.scope, line.n


def _short(body: str | None) -> str:
    """A record that may be read with its line."""
    if body is None or len(body) > LONGEST:
        return ""
    return body


class MemoryStore(Ruled, MemoryBook):
    """A `Store` that is a few dicts. Each method is atomic because it never awaits."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.now = now
        self._bells = Subscriptions()
        open_stores.add(self)
        self._ends: set[MemoryChannel] = set()
        self._guest_threads = MemoryThreads(self._threads, self.now, self._check_run)

    async def _write(
        self, rule: StoreRule | Each | Whole, *, ring: str | None = None, own: bool = False
    ) -> Any:
        return self._do(rule, ring, own)

    def _ring(self, run: str, *, own: bool) -> None:
        self._bells.ring(run, own=own)

    def _do(
        self, rule: StoreRule | Each | Whole, ring: str | None = None, own: bool = False
    ) -> Any:
        result = rule_transaction.carried_out(self, rule)
        rule_transaction.settled(self)
        if ring is not None:
            self._bells.ring(ring, own=own)
        if isinstance(result, RecordedRefusal):
            raise result.error
        return result

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        row = self._runs.get(run)
        if row is None:
            raise UnknownRun(run)
        return self._dated(row)

    def _dated(self, row: RunRow) -> RunRow:
        return replace(row, lease_until=self._workers.get(row.worker, 0.0))

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        if run not in self._journals:
            raise UnknownRun(run)
        return parsed(present(enumerate(self._journals[run][after:], after + 1)))

    @property
    def address(self) -> str:
        """See `Store.address`."""
        return "memory://"

    async def erasures(self) -> int:
        """See `Store.erasures`."""
        return self._erasures

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`."""
        found: list[Turn] = []
        while run in self._runs and seq <= self._runs[run].seq and len(found) < limit:
            lines = list(enumerate(self._journals[run][:seq], 1))
            found.append(turn_of(run, lines, self._chains[run][seq - 1]))
            before = found[-1].before
            if before is None:
                break
            run, seq = before.run, before.seq
        return found

    async def blobs(self, run: str, digests: Collection[str] | None = None) -> dict[str, bytes]:
        """See `Store.blobs`."""
        return self.peek_blobs(run, digests)

    def peek_blobs(self, run: str, digests: Collection[str] | None = None) -> dict[str, bytes]:
        """`blobs`, without awaiting."""
        found: dict[str, bytes] = {}
        for digest, body in self._blobs.get(run, {}).items():
            if digests is None or digest in digests:
                found[digest] = body
        if found and len(salt := self._runs[run].salt) == MARKED:
            return {digest: opened_bytes(salt, body) for digest, body in found.items()}
        return found

    def wrapped_key(self, kid: str) -> str | None:
        """See `run_keys.HasRunKeys`."""
        from adjourn.stores.run_keys import kid_of

        for run, wrapped in self._keys.items():
            if kid_of(self._runs[run].salt) == kid:
                return wrapped
        return self._guest_threads.keys().get(kid)

    async def rewrap(self, ring: "KeyRing") -> int:
        """See `Ruled.rewrap`."""
        from adjourn.stores.run_keys import kid_of, rewrapped

        made: dict[str, str] = {}
        for run, wrapped in self._keys.items():
            made[run] = rewrapped(ring, kid_of(self._runs[run].salt), wrapped)
        inside: dict[str, str] = {}
        for kid, wrapped in self._guest_threads.keys().items():
            inside[kid] = rewrapped(ring, kid, wrapped)
        self._keys = made
        self._guest_threads.put_keys(inside)
        return len(made) + len(inside)

    def peek(self, run: str) -> list[tuple[int, AnyRecord]]:
        """`load`, without awaiting."""
        return parsed(present(enumerate(self._journals[run], 1)))

    def length(self, run: str) -> int:
        """How many records a journal has."""
        return self._runs[run].seq

    def adopt(self, records: Sequence[AnyRecord], blobs: Mapping[str, bytes] = NOTHING) -> None:
        """`create` with a whole journal, without awaiting."""
        first, *rest = records
        assert isinstance(first, Started)
        self._do(creation.creating(first, rest, "", blobs), first.run)

    def knows(self, run: str, request: str) -> bool:
        """Whether a request id was used for this run."""
        return (run, request) in self._requests

    def ring(self, run: str) -> None:
        """Ring for a run although nothing was written."""
        self._bells.ring(run)

    def pulse(self) -> MemoryPulse:
        """See `Store.pulse`."""
        return MemoryPulse(self.now, self._workers)

    def channel(self, ears: Ears) -> MemoryChannel:
        """See `Store.channel`."""
        return MemoryChannel(self._ends, ears)

    def run_index(self) -> MemoryRunIndex:
        """See `Store.run_index`."""
        return MemoryRunIndex(self._runs, self._indexed, self._dated)

    def snapshots(self) -> MemorySnapshots:
        """See `Store.snapshots`."""
        return MemorySnapshots(self._chains, self._snapshots)

    def guest_threads(self) -> MemoryThreads:
        """See `Store.guest_threads`."""
        return self._guest_threads

    def _check_run(self, run: str) -> None:
        row = self._runs.get(run)
        check_run(run, row.erased if row else None, bool(run) and run in self._audit)

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        if scope is not None:
            lines = self._audit.get(scope, [])
        else:
            lines = self._lines(security=False)
        return sorted((line for line in lines if line.n > after), key=_place)[:limit]

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """See `Store.recent`."""
        known = newest_first(wanted, map(self._known, self._lines(security=security)))
        found = [line for line in known if wanted.fits(line)]
        if before and wanted.run:
            found = [line for line in found if line.n < placed(before)[2]]
        elif before:
            found = [line for line in found if _place(line) < placed(before)]
        return found[:limit]

    def _known(self, line: AuditLine) -> FoundLine:
        """A line with what its run says of it."""
        row, entry = self._runs.get(line.scope), line.entry
        if row is None:
            return FoundLine(line.scope, line.n, line.body, line.head)
        journal, asked = self._journals[row.id], self._interrupts[row.id]
        opening = record = state = ""
        contested = False
        if waiting := asked.get(entry.get("interrupt", "")):
            opening, state = _short(journal[waiting.seq - 1]), waiting.state
            contested = bool(waiting.disowned)
        if entry["verb"] in (ANSWER, "veto") and "seq" in entry:
            record = _short(journal[int(entry["seq"]) - 1])
        known = (row.program, row.title, opening, record, state, contested)
        return FoundLine(line.scope, line.n, line.body, line.head, *known)

    def _lines(self, *, security: bool) -> list[AuditLine]:
        found: list[AuditLine] = []
        for scope, lines in self._audit.items():
            if (scope == SECURITY) == security:
                found += lines
        return found

    async def identity(self) -> str:
        """See `Store.identity`."""
        return self._id

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        return self._seals[after:][:limit]

    async def verify(
        self, keys: Sequence[AuditKey] = (), since: Anchor | None = None
    ) -> Verification:
        """See `Store.verify`."""
        return verified(MemoryEvidence(self), keys, since)

    async def ended(
        self,
        status: Status,
        before: float,
        *,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """See `Store.ended`."""
        found: list[RunRow] = []
        for row in self._runs.values():
            is_later = after is None or (row.updated_at, row.id) < after
            if row.status == status and row.updated_at <= before and is_later:
                found.append(self._dated(row))
        return sorted(found, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """See `Store.followed`."""
        found: dict[str, list[str]] = {}
        for run in runs:
            if followers := self._after(run):
                found[run] = followers
        return found

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        size = 0
        for run in runs:
            for body in self._journals.get(run, ()):
                size += len((body or "").encode())
            size += sum(map(len, self._blobs.get(run, {}).values()))
        return size

    async def scrub(self, *, pruned: bool = False) -> bool:
        """See `Store.scrub`."""
        return True

    async def _says(self, key: str) -> bool:
        return {"signed": self._signed, "wakes": self._waking}[key]

    async def workers(self) -> dict[str, float]:
        """See `Store.workers`."""
        return dict(self._workers)

    async def _roster(self) -> list[WorkerCard]:
        return sorted(self._cards.values(), key=lambda card: card.id)

    async def queues(self) -> list[Queue]:
        """See `Store.queues`."""
        found: dict[str, Queue] = {}
        for row in self._runs.values():
            queue = found.get(row.program, Queue(row.program))
            if row.worker:
                found[row.program] = replace(queue, working=queue.working + 1)
            elif row.due(self.now(), frozenset(row.blocked)):
                if row.status in RUNNABLE:
                    since = row.updated_at
                else:
                    since = row.wake_at
                oldest = min(queue.oldest_at or since, since)
                found[row.program] = replace(queue, ready=queue.ready + 1, oldest_at=oldest)
        return [found[program] for program in sorted(found)]

    async def census(self, most: int = 100_000) -> Census:
        """See `Store.census`."""
        counted: Counter[tuple[str, str]] = Counter()
        for row in self._runs.values():
            if row.status not in ENDED:
                view = run_status(row.status, failed=0 < row.opens == row.errors)
                counted[row.program, view.value] += 1
        runs = [RunCount(*of, min(most, number)) for of, number in sorted(counted.items())]
        return Census(tuple(runs))

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        now, halts = self.now(), frozenset(self._halts)
        found = due(self._runs, self._journals, programs, now, halts)
        return [self._dated(row) for row in found[:limit]]

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        now, start = self.now(), (0, 0.0, 0, 0)
        of_run = Filter(
            run=filter.run,
            program=filter.program,
            session=filter.session,
            label=filter.label,
            changed=filter.changed,
        )
        found: list[tuple[tuple[int, float, int, int], Interrupt]] = []
        for number, (id, interrupts) in enumerate(self._interrupts.items()):
            row = self._runs[id]
            fits = run_filter.fits(row, of_run, now, self._halts)
            for asked in interrupts.values():
                if filter.interrupt:
                    wanted = asked.i == filter.interrupt
                else:
                    wanted = visible(row, asked, now)
                wanted = wanted and fits and filter.kind in ("", asked.kind)
                wanted = wanted and is_for(asked, filter, now)
                last = bool(filter.after) and filter.after in (
                    public_id(id, asked.i),
                    ref_of(id, asked.i),
                )
                if not (wanted or last):
                    continue
                shown = self._shown(row, asked)
                place = (asked.rank, shown.opened_at, number, asked.seq)
                start = place if last else start
                if wanted and belongs(shown, row.title, row.program, filter):
                    brief = briefly(
                        id, asked.i, asked.seq, asked.kind, shown.opened_at, asked.expires
                    )
                    found.append((place, brief if filter.brief else shown))
        found.sort(key=lambda item: item[0])
        return [shown for place, shown in found if place > start][: filter.limit]

    async def marks(self, items: Sequence[tuple[str, str]]) -> dict[tuple[str, str], ItemMark]:
        """See `Store.marks`."""
        found: dict[tuple[str, str], ItemMark] = {}
        for run, id in items:
            row = self._interrupts.get(run, {}).get(id)
            if row is not None and (row.assigned or row.snoozed):
                found[run, id] = ItemMark(row.assigned, dict(row.snoozed))
        return found

    def _shown(self, row: RunRow, asked: InterruptRow) -> Interrupt:
        """An interrupt with who has agreed so far."""
        journal = cast("list[str]", self._journals[row.id])  # what was erased has no interrupts
        agreed = [journal[seq - 1] for seq in asked.votes.values()]
        brief = row.id, asked.i, asked.seq, asked.kind, asked.opened_at, asked.expires
        return shown(brief, journal[asked.seq - 1], agreed, row.requesters, asked.disowned)

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        now = self.now()
        rows = list(map(self._dated, reversed(self._runs.values())))
        if filter.prefix and filter.search is None:
            rows.sort(key=lambda row: row.id)
        found: list[RunRow] = []
        begun = not filter.after
        for row in rows:
            fits = begun and run_filter.fits(row, filter, now, self._halts)
            if fits and self._is_found(row, filter.search):
                found.append(row)
            begun = begun or row.id == filter.after
        return found[: filter.limit]

    def _is_found(self, row: RunRow, search: RunSearch | None) -> bool:
        if search is None:
            return True
        entry = self._indexed.entries.get(row.id)
        return entry is not None and search.finds(entry)

    async def _noted_misfits(self, runs: Sequence[str]) -> list[Misfit]:
        found: list[Misfit] = []
        for misfit in self._misfits.values():
            row = self._runs[misfit.run]
            if (not runs or row.id in runs) and row.seq == misfit.seq and row.status not in ENDED:
                found.append(misfit)
        return found

    async def letters(
        self, state: str = "", *, after: int = 0, limit: int = 100
    ) -> list[Notification]:
        """See `Store.letters`."""
        found: list[Notification] = []
        for letter in self._letters.values():
            if letter.n > after and state in ("", letter.state):
                found.append(letter)
        return found[:limit]

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self._bells.add(run, bell, words)

    async def close(self) -> None:
        """See `Store.close`."""
        open_stores.discard(self)
        await asyncio.sleep(0)
