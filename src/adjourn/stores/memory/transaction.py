"""A `Book` in memory: a few dicts."""

import os
from collections.abc import Callable, Sequence
from itertools import takewhile

from msgspec.structs import replace

from adjourn.core.records import Started, parse
from adjourn.core.status import CANCELS, ENDED, RUNNABLE, Status
from adjourn.stores.audit import AuditRow
from adjourn.stores.erasure import Hold
from adjourn.stores.misfit import Misfit
from adjourn.stores.notification import Endpoint, Letter, Wake
from adjourn.stores.protocol import Halt, RunRow
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.lease import is_held
from adjourn.stores.rules.transaction import Find
from adjourn.stores.rules.values import LAST, Ask, Before, Seen, Writes
from adjourn.stores.seals import Covered, Seal, sealed_head
from adjourn.stores.snapshots import Kept


class MemoryBook:
    """See `Book`. What is written is there at once, and nothing of it fails."""

    now: Callable[[], float]

    def __init__(self) -> None:
        self._runs: dict[str, RunRow] = {}
        self._journals: dict[str, list[str | None]] = {}
        self._snapshots: dict[str, Kept] = {}
        self._chains: dict[str, list[bytes]] = {}
        self._interrupts: dict[str, dict[str, InterruptRow]] = {}
        self._requests: dict[tuple[str, str], tuple[int, str]] = {}
        self._workers: dict[str, float] = {}
        self._erasures = 0
        self._halts: dict[str, Halt] = {}
        self._holds: dict[str, Hold] = {}
        self._audit: dict[str, list[AuditRow]] = {}
        self._id = os.urandom(16).hex()
        self._touched: dict[str, float] = {}
        self._seals: list[Seal] = []
        self._endpoints: dict[str, Endpoint] = {}
        self._misfits: dict[str, Misfit] = {}
        self._letters: dict[int, Letter] = {}
        self._posted = 0
        self._signed = False
        self._waking = False
        self._wakes: dict[str, Wake] = {}
        self._woken = 0

    def read(self, ask: Ask) -> Seen:
        """See `Book.read`."""
        seen = Seen(self.now())
        row = self._runs.get(ask.run)
        if row is not None:
            seen.row = replace(row)
            self._read_run(row, ask, seen)
        if ask.before and (earlier := self._runs.get(ask.before[0])):
            chain, seq = self._chains[earlier.id], ask.before[1]
            seen.before = Before(replace(earlier), chain[seq - 1] if 0 < seq <= earlier.seq else b"")
        if ask.last:
            mine = (x.id for x in reversed(self._runs.values()) if (x.session, x.program) == ask.last)
            seen.last = next(mine, "")
        if ask.queue and row is not None:
            seen.ahead = self._ahead(row)
        if ask.later:
            seen.later = self._later(ask.run)
        if ask.audit:
            scopes = ask.audit if row or not ask.run else (*ask.audit, "")
            seen.audit = {scope: self._last_line(scope) for scope in scopes}
        if ask.halts:
            seen.halts = list(self._halts.values())
        if ask.holds:
            seen.holds = list(self._holds.values())
        if ask.endpoints:
            seen.endpoints = sorted(self._endpoints.values(), key=lambda x: x.name)
        seen.signed, seen.erasures = self._signed, self._erasures
        if ask.letters:
            seen.letters = {n: self._letters[n] for n in ask.letters if n in self._letters}
        if ask.take:
            seen.due = self._due_letters(seen.now, ask.take, ask.but)
        seen.waking = self._waking
        if ask.asleep == "all" or (ask.asleep and self._waking):
            seen.asleep = [
                row for row in self._runs.values()
                if row.blocked or (ask.asleep == "all" and (row.wake_at or row.status in RUNNABLE))
            ]  # fmt: skip
        if ask.wakes:
            found = [x for x in self._wakes.values() if x.not_before <= seen.now]
            seen.wakes = sorted(found, key=lambda x: (x.not_before, x.n))[: ask.wakes]
        if ask.touched:
            seen.store = self._id
            seen.touched = [self._covered(scope) for scope in sorted(self._touched)[: ask.touched]]
            seen.seals = {x.k: x for x in self._seals if x.k == ask.seal}
            if self._seals:
                seen.seals[0] = self._seals[-1]
        return seen

    def _after(self, run: str) -> list[str]:
        """The runs whose first record says that they go on with this one."""
        firsts = ((id, parse(body)) for id, (body, *_) in self._journals.items() if body is not None)
        return [id for id, x in firsts if isinstance(x, Started) and x.before is not None and x.before.run == run]

    def conversation(self, run: str) -> list[str]:
        """See `Book.conversation`."""
        found = [run] if run in self._runs else []
        for id in found:  # it grows meanwhile
            body = self._journals[id][0]
            first = parse(body) if body else None
            before = [first.before.run] if isinstance(first, Started) and first.before else []
            found += [x for x in (*before, *self._after(id)) if x in self._runs and x not in found]
        return [id for id in reversed(self._runs) if id in found and not self._runs[id].erased]

    def _later(self, run: str) -> list[tuple[str, Status]]:
        found = self._after(run)
        for id in found:  # it grows meanwhile
            found += self._after(id)
        return [(id, self._runs[id].status) for id in found]

    def _ahead(self, row: RunRow) -> str:
        """The run of its session for which a run has to wait that was started with a queue and has not begun."""
        if not row.session or row.epoch or row.status in ENDED | CANCELS:
            return ""
        first = parse(self._journals[row.id][0] or "")
        if not isinstance(first, Started) or first.options.get("queue") != "session":
            return ""
        before = takewhile(lambda x: x.id != row.id, self._runs.values())
        return next((x.id for x in before if x.session == row.session and x.status not in ENDED), "")

    def find(self, find: Find) -> list[str]:
        """See `Book.find`."""
        now, halts = self.now(), frozenset(self._halts)
        found = [
            row for row in self._runs.values()
            if row.program in find.programs and row.id not in find.but and row.due(now, halts)
            and not is_held(row.worker, self._workers.get(row.worker, 0.0), now, find.replaces, find.spares)
            and not self._ahead(row)
        ]  # fmt: skip
        return [row.id for row in sorted(found, key=lambda row: row.updated_at)[: find.limit]]

    def _read_run(self, row: RunRow, ask: Ask, seen: Seen) -> None:
        journal = self._journals[row.id]
        if ask.tail >= 0:
            tail = enumerate(journal[ask.tail :], ask.tail + 1)
            seen.tail = [(seq, body) for seq, body in tail if body is not None]
        if 0 < ask.head_at <= row.seq:
            seen.head = self._chains[row.id][ask.head_at - 1]
        known = self._interrupts[row.id]
        if ask.opens or ask.named or ask.lives or ask.all_interrupts:
            opens = ask.opens or (ask.otherwise_opens and not all(i in known for i in ask.named))
            seen.interrupts = {
                i: replace(x, votes=dict(x.votes)) for i, x in known.items()
                if ask.all_interrupts or i in ask.named or x.lives in ask.lives or (opens and x.state == "open")
            }  # fmt: skip
        wanted = {row.seq if seq == LAST else seq for seq in ask.records}
        for i in ask.named if ask.openings else ():
            if found := known.get(i):
                wanted.update((found.seq, *found.votes.values()))
        seen.records = {seq: body for seq in wanted if (body := journal[seq - 1]) is not None}
        seen.request = self._requests.get((row.id, ask.request))
        seen.until = self._workers.get(row.worker, 0.0)

    def _last_line(self, scope: str) -> tuple[int, bytes]:
        lines = self._audit.get(scope)
        return (lines[-1].n, lines[-1].head) if lines else (0, b"")

    def _covered(self, scope: str) -> Covered:
        row, (n, head) = self._runs.get(scope), self._last_line(scope)
        return Covered(scope, n, head.hex(), row.seq if row else 0, sealed_head(row.salt, row.head) if row else "")

    def _due_letters(self, now: float, limit: int, but: Sequence[str]) -> list[Letter]:
        first: dict[tuple[str, str], Letter] = {}
        for letter in self._letters.values():
            if letter.state == "due":
                first.setdefault((letter.endpoint, letter.run), letter)
        return [x for x in first.values() if x.due_at <= now and x.endpoint not in but][:limit]

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
        self._halts |= {halt.scope: halt for halt in writes.put_halts}
        for scope in writes.drop_halts:
            self._halts.pop(scope, None)
        self._holds |= {hold.scope: hold for hold in writes.put_holds}
        for scope in writes.drop_holds:
            self._holds.pop(scope, None)
        if writes.signed is not None:
            self._signed = writes.signed
        if writes.misfit is not None:
            self._misfits[writes.misfit.run] = writes.misfit
        self._write_outbox(writes)
        self._write_wakes(writes)
        if writes.seal is not None:
            self._seals.append(writes.seal)
            upto = writes.untouch
            self._touched = {x: at for x, at in self._touched.items() if upto is None or x > upto}

    def _write_run(self, row: RunRow, writes: Writes) -> None:
        if writes.new:
            self._journals[row.id], self._chains[row.id], self._interrupts[row.id] = [], [], {}
        if writes.wiped:
            self._erasures += 1
            self._wipe(row.id)
        self._runs[row.id] = row
        self._journals[row.id] += [x.body for x in writes.journal]
        self._chains[row.id] += [x.head for x in writes.journal]
        self._interrupts[row.id] |= writes.interrupts
        if writes.request is not None:
            id, seq, digest = writes.request
            self._requests[row.id, id] = (seq, digest)

    def _wipe(self, run: str) -> None:
        size = len(self._journals[run])
        self._snapshots.pop(run, None)
        self._journals[run], self._chains[run] = [None] * size, [b""] * (size - 1) + self._chains[run][-1:]
        self._clear_beside(run)

    def _remove(self, run: str) -> None:
        del self._journals[run], self._chains[run], self._runs[run]
        self._clear_beside(run)
        del self._interrupts[run]

    def _clear_beside(self, run: str) -> None:
        self._snapshots.pop(run, None)
        self._interrupts[run] = {}
        self._requests = {at: found for at, found in self._requests.items() if at[0] != run}
        self._letters = {n: x for n, x in self._letters.items() if x.run != run}
        self._misfits.pop(run, None)
        self._wakes.pop(run, None)

    def _write_outbox(self, writes: Writes) -> None:
        self._endpoints |= {x.name: x for x in writes.put_endpoints}
        for name in writes.drop_endpoints:
            self._endpoints.pop(name, None)
            self._letters = {n: x for n, x in self._letters.items() if x.endpoint != name}
        for letter in writes.post:
            self._posted += 1
            self._letters[self._posted] = replace(letter, n=self._posted)
        self._letters |= {x.n: x for x in writes.put_letters}
        for n in writes.drop_letters:
            self._letters.pop(n, None)

    def _write_wakes(self, writes: Writes) -> None:
        if writes.waking is not None:
            self._waking = writes.waking
            self._wakes = {}
        for run, at in writes.wakes.items():
            self._woken += 1
            self._wakes[run] = Wake(self._woken, run, at)
        self._wakes |= {x.run: x for x in writes.put_wakes}
        if writes.drop_wakes:
            self._wakes = {run: x for run, x in self._wakes.items() if x.n not in writes.drop_wakes}

    def flush(self) -> None:
        """See `Book.flush`."""
