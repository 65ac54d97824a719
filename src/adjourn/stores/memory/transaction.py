"""A `Book` in memory: a few dicts."""

import os
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from adjourn.core.record_codec import parse
from adjourn.core.records import Started
from adjourn.core.status import ENDED, RUNNABLE, Status
from adjourn.stores.audit import AuditLine
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit, WorkerCard
from adjourn.stores.guest_threads import GuestThread
from adjourn.stores.memory.due import ahead, due
from adjourn.stores.memory.run_index import IndexedRuns
from adjourn.stores.outbox import Endpoint, Notification, Wake
from adjourn.stores.protocol import Halt
from adjourn.stores.rows import present
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.lease import is_held
from adjourn.stores.rules.reads_and_writes import LAST, Before, ReadRequest, ReadResult, Writes
from adjourn.stores.rules.transaction import Find
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Covered, Seal, sealed_head
from adjourn.stores.snapshots import Kept


class MemoryBook:
    """See `Book`. What is written is there at once, and nothing of it fails."""

    now: Callable[[], float]

    def __init__(self) -> None:
        self._runs: dict[str, RunRow] = {}
        self._journals: dict[str, list[str | None]] = {}
        self._snapshots: dict[str, Kept] = {}
        self._blobs: dict[str, dict[str, bytes]] = {}
        self._keys: dict[str, str] = {}
        self._threads: dict[str, GuestThread] = {}
        self._chains: dict[str, list[bytes]] = {}
        self._indexed = IndexedRuns()
        self._interrupts: dict[str, dict[str, InterruptRow]] = {}
        self._requests: dict[tuple[str, str], tuple[int, str]] = {}
        self._workers: dict[str, float] = {}
        self._erasures = 0
        self._tickets = ""
        self._halts: dict[str, Halt] = {}
        self._holds: dict[str, Hold] = {}
        self._audit: dict[str, list[AuditLine]] = {}
        self._id = os.urandom(16).hex()
        self._touched: dict[str, float] = {}
        self._seals: list[Seal] = []
        self._endpoints: dict[str, Endpoint] = {}
        self._misfits: dict[str, Misfit] = {}
        self._cards: dict[str, WorkerCard] = {}
        self._letters: dict[int, Notification] = {}
        self._posted = 0
        self._signed = False
        self._waking = False
        self._wakes: dict[str, Wake] = {}
        self._woken = 0

    def read(self, ask: ReadRequest) -> ReadResult:
        """See `Book.read`."""
        seen = ReadResult(self.now())
        row = self._runs.get(ask.run)
        if row is not None:
            seen.row = replace(row)
            self._read_run(row, ask, seen)
        if ask.before and (earlier := self._runs.get(ask.before[0])):
            chain, seq = self._chains[earlier.id], ask.before[1]
            seen.before = Before(
                replace(earlier), chain[seq - 1] if 0 < seq <= earlier.seq else b""
            )
        if ask.copied and (original := self._runs.get(ask.copied)):
            seen.copied = replace(original)
        if ask.last:
            seen.last = self._last(*ask.last)
        if ask.queue and row is not None:
            seen.ahead = ahead(self._runs, self._journals, row)
        if ask.later:
            seen.later = self._later(ask.run)
        if ask.audit:
            if row or not ask.run:
                scopes = ask.audit
            else:
                scopes = (*ask.audit, "")
            seen.audit = {scope: self._last_line(scope) for scope in scopes}
        self._read_shared(ask, seen)
        self._read_outbox(ask, seen)
        if ask.touched:
            self._read_seals(ask, seen)
        return seen

    def _read_shared(self, ask: ReadRequest, seen: ReadResult) -> None:
        """What holds for all runs."""
        if ask.halts:
            seen.halts = list(self._halts.values())
        if ask.holds:
            seen.holds = list(self._holds.values())
        if ask.endpoints:
            seen.endpoints = sorted(self._endpoints.values(), key=lambda x: x.name)
        seen.signed, seen.erasures = self._signed, self._erasures
        seen.tickets = self._tickets

    def _read_outbox(self, ask: ReadRequest, seen: ReadResult) -> None:
        if ask.letters:
            seen.letters = {
                number: self._letters[number] for number in ask.letters if number in self._letters
            }
        if ask.take:
            seen.due = self._due_letters(seen.now, ask.take, ask.but)
        seen.waking = self._waking
        if ask.asleep == "all" or (ask.asleep and self._waking):
            seen.asleep = self._asleep(blocked=ask.asleep == "blocked")
        if ask.wakes:
            found = [wake for wake in self._wakes.values() if wake.not_before <= seen.now]
            seen.wakes = sorted(found, key=lambda wake: (wake.not_before, wake.n))[: ask.wakes]

    def _last(self, session: str, program: str) -> str:
        for row in reversed(self._runs.values()):
            if (row.session, row.program) == (session, program):
                return row.id
        return ""

    def _asleep(self, *, blocked: bool) -> list[RunRow]:
        """Every run that may have to be woken; `blocked`: only those that wait for a halt to be
        lifted."""
        found: list[RunRow] = []
        for row in self._runs.values():
            if row.blocked or (not blocked and (row.wake_at or row.status in RUNNABLE)):
                found.append(row)
        return found

    def _read_seals(self, ask: ReadRequest, seen: ReadResult) -> None:
        seen.store = self._id
        seen.touched = list(map(self._covered, sorted(self._touched)[: ask.touched]))
        seals = {seal.k: seal for seal in self._seals if seal.k == ask.seal}
        if self._seals:
            seals[0] = self._seals[-1]
        seen.seals = seals

    def _before(self, run: str) -> str | None:
        """The run that this one goes on with, as its first record says."""
        body = self._journals[run][0]
        first = parse(body) if body else None
        if isinstance(first, Started) and first.before:
            return first.before.run
        return None

    def _after(self, run: str) -> list[str]:
        """The runs whose first record says that they go on with this one."""
        return [id for id in self._journals if self._before(id) == run]

    def conversation(self, run: str) -> list[str]:
        """See `Book.conversation`."""
        found = [run] if run in self._runs else []
        for id in found:  # it grows meanwhile
            for other in (self._before(id), *self._after(id)):
                if other is not None and other in self._runs and other not in found:
                    found.append(other)
        return [id for id in reversed(self._runs) if id in found and not self._runs[id].erased]

    def _later(self, run: str) -> list[tuple[str, Status]]:
        found = self._after(run)
        for id in found:  # it grows meanwhile
            found += self._after(id)
        return [(id, self._runs[id].status) for id in found]

    def find(self, find: Find) -> list[str]:
        """See `Book.find`."""
        now, found = self.now(), list[str]()
        for row in due(self._runs, self._journals, find.programs, now, frozenset(self._halts)):
            until = self._workers.get(row.worker, 0.0)
            held = is_held(row.worker, until, now, find.replaces, find.spares)
            if row.id not in find.but and not held:
                found.append(row.id)
        return found[: find.limit]

    def _read_run(self, row: RunRow, ask: ReadRequest, seen: ReadResult) -> None:
        journal = self._journals[row.id]
        if ask.tail >= 0:
            seen.tail = present(enumerate(journal[ask.tail :], ask.tail + 1))
        if 0 < ask.head_at <= row.seq:
            seen.head = self._chains[row.id][ask.head_at - 1]
        known = self._interrupts[row.id]
        if ask.opens or ask.named or ask.lives or ask.all_interrupts:
            opens = ask.opens or (ask.otherwise_opens and not known.keys() >= set(ask.named))
            interrupts: dict[str, InterruptRow] = {}
            for id, asked in known.items():
                named = ask.all_interrupts or id in ask.named or asked.lives in ask.lives
                if named or (opens and asked.state == "open"):
                    interrupts[id] = replace(
                        asked, votes=dict(asked.votes), snoozed=dict(asked.snoozed)
                    )
            seen.interrupts = interrupts
        wanted = {row.seq if seq == LAST else seq for seq in ask.records}
        for id in ask.named if ask.openings else ():
            if found := known.get(id):
                wanted.update((found.seq, *found.votes.values()))
        seen.records = dict(present((seq, journal[seq - 1]) for seq in wanted))
        seen.request = self._requests.get((row.id, ask.request))
        seen.until = self._workers.get(row.worker, 0.0)

    def _last_line(self, scope: str) -> tuple[int, bytes]:
        lines = self._audit.get(scope)
        if lines:
            return (lines[-1].n, lines[-1].head)
        return (0, b"")

    def _covered(self, scope: str) -> Covered:
        row, (number, head) = self._runs.get(scope), self._last_line(scope)
        if row is None:
            return Covered(scope, number, head.hex(), 0, "")
        return Covered(scope, number, head.hex(), row.seq, sealed_head(row.salt, row.head))

    def _due_letters(self, now: float, limit: int, but: Sequence[str]) -> list[Notification]:
        first: dict[tuple[str, str], Notification] = {}
        for letter in self._letters.values():
            if letter.state == "due":
                first.setdefault((letter.endpoint, letter.run), letter)
        found: list[Notification] = []
        for letter in first.values():
            if letter.due_at <= now and letter.endpoint not in but:
                found.append(letter)
        return found[:limit]

    def write(self, writes: Writes) -> None:
        """See `Book.write`."""
        if writes.row is not None:
            self._write_run(writes.row, writes)
        if writes.removed is not None:
            self._remove(writes.removed.id)
        for worker, until in writes.beats.items():
            self._workers[worker] = until
        for worker in writes.gone:
            if not any(row.worker == worker for row in self._runs.values()):
                self._workers.pop(worker, None)
        for line in writes.audit:
            self._audit.setdefault(line.scope, []).append(line)
        for scope, at in writes.touched.items():
            self._touched.setdefault(scope, at)
        self._write_scopes(writes)
        if writes.signed is not None:
            self._signed = writes.signed
        if writes.misfit is not None:
            self._misfits[writes.misfit.run] = writes.misfit
        self._write_cards(writes)
        if writes.tickets is not None:
            self._tickets = writes.tickets
        self._write_outbox(writes)
        self._write_wakes(writes)
        if writes.seal is not None:
            self._seals.append(writes.seal)
            self._untouch(writes.untouch)

    def _write_cards(self, writes: Writes) -> None:
        for worker in writes.drop_cards:
            self._cards.pop(worker, None)
        if writes.card is not None:
            self._cards[writes.card.id] = writes.card

    def _untouch(self, upto: str | None) -> None:
        for scope in sorted(self._touched):
            if upto is not None and scope <= upto:
                del self._touched[scope]

    def _write_scopes(self, writes: Writes) -> None:
        for halt in writes.put_halts:
            self._halts[halt.scope] = halt
        for scope in writes.drop_halts:
            self._halts.pop(scope, None)
        for hold in writes.put_holds:
            self._holds[hold.scope] = hold
        for scope in writes.drop_holds:
            self._holds.pop(scope, None)

    def _write_run(self, row: RunRow, writes: Writes) -> None:
        if writes.new:
            self._journals[row.id], self._chains[row.id], self._interrupts[row.id] = [], [], {}
        if writes.wiped:
            self._erasures += 1
            self._wipe(row.id)
        self._runs[row.id] = row
        if writes.key:
            self._keys[row.id] = writes.key
        if writes.journal:
            self._indexed.written(row)
        for line in writes.journal:
            self._journals[row.id].append(line.body)
            self._chains[row.id].append(line.head)
        if writes.blobs:
            self._blobs.setdefault(row.id, {}).update(writes.blobs)
        self._interrupts[row.id] |= writes.interrupts
        if writes.request is not None:
            id, seq, digest = writes.request
            self._requests[row.id, id] = (seq, digest)

    def _wipe(self, run: str) -> None:
        size = len(self._journals[run])
        self._snapshots.pop(run, None)
        self._journals[run], self._chains[run] = (
            [None] * size,
            [b""] * (size - 1) + self._chains[run][-1:],
        )
        self._clear_beside(run)
        self._forget_threads(lambda thread: self._holds_of(thread, run))

    def _remove(self, run: str) -> None:
        del self._journals[run], self._chains[run], self._runs[run]
        self._clear_beside(run)
        del self._interrupts[run]

    def _clear_beside(self, run: str) -> None:
        self._keys.pop(run, None)
        self._snapshots.pop(run, None)
        self._blobs.pop(run, None)
        self._indexed.forget(run)
        self._interrupts[run] = {}
        for request in [key for key in self._requests if key[0] == run]:
            del self._requests[request]
        for letter in [letter for letter in self._letters.values() if letter.run == run]:
            del self._letters[letter.n]
        self._misfits.pop(run, None)
        self._wakes.pop(run, None)
        self._forget_threads(lambda thread: thread.run == run)

    def _forget_threads(self, is_meant: Callable[[GuestThread], bool]) -> None:
        for thread in list(self._threads.values()):
            if is_meant(thread):
                self._threads.pop(thread.id, None)

    def _holds_of(self, thread: GuestThread, run: str) -> bool:
        """Whether a thread of another run that has ended holds something of a run."""
        own = self._runs.get(thread.run)
        return run in thread.also and (own is None or own.status in ENDED)

    def _write_outbox(self, writes: Writes) -> None:
        for endpoint in writes.put_endpoints:
            self._endpoints[endpoint.name] = endpoint
        for name in writes.drop_endpoints:
            self._endpoints.pop(name, None)
            for letter in [letter for letter in self._letters.values() if letter.endpoint == name]:
                del self._letters[letter.n]
        for letter in writes.post:
            self._posted += 1
            self._letters[self._posted] = replace(letter, n=self._posted)
        for letter in writes.put_letters:
            self._letters[letter.n] = letter
        for number in writes.drop_letters:
            self._letters.pop(number, None)

    def _write_wakes(self, writes: Writes) -> None:
        if writes.waking is not None:
            self._waking = writes.waking
            self._wakes = {}
        for run, at in writes.wakes.items():
            self._woken += 1
            self._wakes[run] = Wake(self._woken, run, at)
        for wake in writes.put_wakes:
            self._wakes[wake.run] = wake
        for wake in list(self._wakes.values()):
            if wake.n in writes.drop_wakes:
                del self._wakes[wake.run]

    def flush(self) -> None:
        """See `Book.flush`."""
