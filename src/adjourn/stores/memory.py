"""Journals in memory: for storeless runs and for tests. Nothing outlives the object."""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec

from adjourn.core.ids import public_id, ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord, Command, Fact, Move, Released, Started, parse
from adjourn.core.status import ENDED
from adjourn.errors import UnknownRun
from adjourn.stores import outbox
from adjourn.stores.audit import SECURITY, AuditRow, noted, placed
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.bells import Bells
from adjourn.stores.letter import Endpoint, Letter, Sent
from adjourn.stores.listing import belongs, briefly
from adjourn.stores.memory_evidence import MemoryEvidence
from adjourn.stores.memory_pulse import MemoryPulse
from adjourn.stores.misfit import Misfit
from adjourn.stores.rules import commands, erasing, filters, halts, journal, signing
from adjourn.stores.rules import lease as leases
from adjourn.stores.rules.transaction import InterruptRow
from adjourn.stores.seals import MOST, Anchor, Covered, Seal, seal, sealed_head
from adjourn.stores.store import Bell, Committed, Erasure, Filter, Halt, Lease, RunRow
from adjourn.stores.verification import Verification, verified


class MemoryStore:
    """A `Store` that is a few dicts. Each method is atomic because it never awaits."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._runs: dict[str, RunRow] = {}
        self._journals: dict[str, list[str | None]] = {}
        self._chains: dict[str, list[bytes]] = {}
        self._interrupts: dict[str, dict[str, InterruptRow]] = {}
        self._requests: dict[tuple[str, str], tuple[int, str]] = {}
        self._workers: dict[str, float] = {}
        self._halts: dict[str, Halt] = {}
        self._audit: dict[str, list[AuditRow]] = {}
        self._id = secrets.token_hex(16)
        self._touched: dict[str, float] = {}
        self._seals: list[Seal] = []
        self._endpoints: dict[str, Endpoint] = {}
        self._misfits: dict[str, Misfit] = {}
        self._letters: dict[int, Letter] = {}
        self._posted = 0
        self._signed = False
        self._bells = Bells()

    def _write(self, run: str, work: Callable[["_Tx"], Any], *, own: bool = False) -> Any:
        tx = _Tx(self)
        result = work(tx)
        tx.apply()
        self._bells.ring(run, own=own)
        return result

    async def create(self, started: Started, records: Sequence[AnyRecord] = (), *, origin: str = "") -> bool:
        """See `Store.create`."""
        return self._write(started.run, lambda tx: journal.create(tx, self.now(), started, records, origin))

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
        return [(n, parse(body)) for n, body in enumerate(self._journals[run][after:], after + 1) if body is not None]

    def peek(self, run: str) -> list[tuple[int, AnyRecord]]:
        """`load`, without awaiting."""
        return [(n, parse(body)) for n, body in enumerate(self._journals[run], 1) if body is not None]

    def adopt(self, records: Sequence[AnyRecord]) -> None:
        """`create` with a whole journal, without awaiting."""
        first, *rest = records
        assert isinstance(first, Started)
        self._write(first.run, lambda tx: journal.create(tx, self.now(), first, rest))

    def knows(self, run: str, request: str) -> bool:
        """Whether a request id was used for this run."""
        return (run, request) in self._requests

    def ring(self, run: str) -> None:
        """Ring for a run although nothing was written."""
        self._bells.ring(run)

    async def acquire(
        self,
        run: str,
        worker: str,
        ttl: float,
        *,
        after: int = 0,
        head: bytes = b"",
        replaces: str = "",
        spares: str = "",
    ) -> Lease | None:
        """See `Store.acquire`."""
        taken = leases.Taken(run, worker, ttl, after, head, replaces, spares)
        return self._write(run, lambda tx: leases.acquire(tx, self.now(), taken), own=True)

    def pulse(self) -> MemoryPulse:
        """See `Store.pulse`."""
        return MemoryPulse(self.now, self._workers)

    async def renew(self, lease: Lease, ttl: float) -> None:
        """See `Store.renew`."""
        self._write(lease.run, lambda tx: leases.renew(tx, self.now(), lease, ttl), own=True)

    async def release(self, lease: Lease, released: Released | None = None) -> None:
        """See `Store.release`."""
        said = released or Released()
        self._write(lease.run, lambda tx: leases.release(tx, self.now(), lease, said))

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        """See `Store.commit`."""
        return self._write(lease.run, lambda tx: leases.commit(tx, self.now(), lease, facts, moves, seen), own=True)

    async def deliver(self, run: str, command: Command, *, request: str = "", origin: str = "", at: int = 0) -> int:
        """See `Store.deliver`."""
        done = self._write(run, lambda tx: commands.deliver(tx, self.now(), run, command, request, origin, at))
        if isinstance(done, commands.Failed):
            raise done.error
        return done

    async def audit(self, scope: str | None = None, *, after: int = 0, limit: int = 100) -> list[AuditRow]:
        """See `Store.audit`."""
        lines = self._audit.get(scope, []) if scope is not None else self._lines(security=False)
        return sorted((x for x in lines if x.n > after), key=lambda x: (x.entry["at"], x.n))[:limit]

    async def recent(self, before: str = "", limit: int = 100, *, security: bool = False) -> list[AuditRow]:
        """See `Store.recent`."""
        lines = [((x.entry["at"], x.scope, x.n), x) for x in self._lines(security=security)]
        start = placed(before) if before else None
        found = sorted((x for x in lines if start is None or x[0] < start), key=lambda x: x[0], reverse=True)
        return [x for _, x in found[:limit]]

    def _lines(self, *, security: bool) -> list[AuditRow]:
        return [x for scope, rows in self._audit.items() for x in rows if (scope == SECURITY) == security]

    async def note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """See `Store.note`."""
        self._write("", lambda tx: noted(tx, self.now(), lines))

    async def identity(self) -> str:
        """See `Store.identity`."""
        return self._id

    async def seal(self, key: AuditKey | None = None, *, after: Seal | None = None, most: int = MOST) -> Seal | None:
        """See `Store.seal`."""
        tx = _Tx(self)
        made = seal(tx, self.now(), key, after, most)
        tx.apply()
        return made

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        return self._seals[after:][:limit]

    async def verify(self, keys: Sequence[AuditKey] = (), since: Anchor | None = None) -> Verification:
        """See `Store.verify`."""
        return verified(MemoryEvidence(self), keys, since)

    async def erase(self, run: str, *, by: str = "", reason: str = "", origin: str = "") -> Erasure:
        """See `Store.erase`."""
        done = self._write(run, lambda tx: erasing.erase(tx, self.now(), run, by, reason, origin))
        if isinstance(done, commands.Failed):
            raise done.error
        return done

    async def scrub(self) -> bool:
        """See `Store.scrub`."""
        return True

    async def signed(self, required: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """See `Store.signed`."""
        return self._write("", lambda tx: signing.signed(tx, self.now(), required, by, origin))

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        now, halts = self.now(), frozenset(self._halts)
        found = [r for r in self._runs.values() if r.program in programs and r.due(now, halts)]
        return [self._dated(r) for r in sorted(found, key=lambda r: r.updated_at)[:limit]]

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        now, start = self.now(), (0, 0.0, 0, 0)
        of_run = Filter(run=filter.run, program=filter.program, session=filter.session, label=filter.label)
        found: list[tuple[tuple[int, float, int, int], Interrupt]] = []
        for n, (id, interrupts) in enumerate(self._interrupts.items()):
            row = self._runs[id]
            fits = filters.fits(row, of_run, now)
            for x in interrupts.values():
                wanted = x.i == filter.interrupt if filter.interrupt else filters.visible(row, x, now)
                wanted = wanted and fits and filter.kind in ("", x.kind)
                last = bool(filter.after) and filter.after in (public_id(id, x.i), ref_of(id, x.i))
                if wanted or last:
                    journal = cast("list[str]", self._journals[id])  # what was erased has no interrupts
                    agreed = [journal[seq - 1] for seq in x.votes.values()]
                    shown = filters.shown(id, x.seq, journal[x.seq - 1], agreed, row.requesters, x.disowned)
                    place = (x.rank, shown.opened_at, n, x.seq)
                    start = place if last else start
                    wanted = wanted and belongs(shown, row.title, row.program, filter)
                    brief = briefly(id, x.i, x.seq, x.kind, shown.opened_at, x.expires)
                    found += [(place, brief if filter.brief else shown)] if wanted else []
        return [shown for place, shown in sorted(found, key=lambda f: f[0]) if place > start][: filter.limit]

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        now = self.now()
        rows = [self._dated(row) for row in reversed(self._runs.values())]
        if filter.prefix:
            rows.sort(key=lambda row: row.id)
        ids = [r.id for r in rows]
        start = ids.index(filter.after) + 1 if filter.after in ids else len(ids) if filter.after else 0
        return [r for r in rows[start:] if filters.fits(r, filter, now)][: filter.limit]

    async def halt(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Halt]:
        """See `Store.halt`."""
        return self._write("", lambda tx: halts.halt(tx, self.now(), scope, by, reason, lift, origin))

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        if put is not None and put.run in self._runs:
            self._misfits[put.run] = put
        found = [x for x in self._misfits.values() if not runs or x.run in runs]
        return [x for x in found if (row := self._runs[x.run]).seq == x.seq and row.status not in ENDED]

    async def endpoints(
        self, put: Endpoint | None = None, *, drop: str = "", by: str = "", origin: str = ""
    ) -> list[Endpoint]:
        """See `Store.endpoints`."""
        return self._write("", lambda tx: outbox.put_endpoint(tx, self.now(), put, drop, by, origin))

    async def post(
        self, sent: Sequence[Sent] = (), *, take: int = 0, hold: float = 60.0, but: Sequence[str] = ()
    ) -> list[Letter]:
        """See `Store.post`."""
        tx = _Tx(self)
        taken = outbox.post(tx, self.now(), sent, take, hold, but)
        tx.apply()
        return taken

    async def letters(self, state: str = "", *, after: int = 0, limit: int = 100) -> list[Letter]:
        """See `Store.letters`."""
        return [x for x in self._letters.values() if x.n > after and state in ("", x.state)][:limit]

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self._bells.add(run, bell, words)

    async def close(self) -> None:
        """See `Store.close`."""
        await asyncio.sleep(0)


class _Tx:
    """Buffered writes over the dicts, so that a rule that raises leaves nothing behind."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._writes: list[Callable[[], None]] = []
        self._rows: dict[str, RunRow] = {}
        self._audited: dict[str, tuple[int, bytes]] = {}
        self._seen: dict[tuple[str, str], InterruptRow] = {}
        self._wiped = False

    def apply(self) -> None:
        for write in self._writes:
            write()

    def run(self, id: str) -> RunRow | None:
        if id not in self._rows:
            row = self._store._runs.get(id)  # pyright: ignore[reportPrivateUsage]
            if row is None:
                return None
            self._rows[id] = replace(row)
        return self._rows[id]

    def insert(self, row: RunRow) -> None:
        s = self._store
        self._rows[row.id] = row

        def write() -> None:
            s._journals[row.id], s._interrupts[row.id] = [], {}  # pyright: ignore[reportPrivateUsage]
            s._chains[row.id] = []  # pyright: ignore[reportPrivateUsage]

        self._writes.append(write)

    def save(self, row: RunRow) -> None:
        runs = self._store._runs  # pyright: ignore[reportPrivateUsage]
        self._writes.append(lambda: runs.__setitem__(row.id, row))

    def append(self, row: RunRow, seq: int, epoch: int, body: str, head: bytes) -> None:
        journals = self._store._journals  # pyright: ignore[reportPrivateUsage]
        chains = self._store._chains  # pyright: ignore[reportPrivateUsage]
        self._writes += (lambda: journals[row.id].append(body), lambda: chains[row.id].append(head))
        self._appended = [*getattr(self, "_appended", []), (seq, body)]

    def head_at(self, row: RunRow, seq: int) -> bytes:
        return self._store._chains[row.id][seq - 1]  # pyright: ignore[reportPrivateUsage]

    def until(self, worker: str) -> float:
        return self._store._workers.get(worker, 0.0)  # pyright: ignore[reportPrivateUsage]

    def beat(self, worker: str, until: float) -> None:
        workers = self._store._workers  # pyright: ignore[reportPrivateUsage]
        self._writes.append(lambda: workers.__setitem__(worker, until))

    def forget_worker(self, worker: str) -> None:
        def write() -> None:
            if not any(row.worker == worker for row in self._store._runs.values()):  # pyright: ignore[reportPrivateUsage]
                self._store._workers.pop(worker, None)  # pyright: ignore[reportPrivateUsage]

        self._writes.append(write)

    def tail(self, row: RunRow, after: int) -> list[tuple[int, str]]:
        stored = self._store._journals.get(row.id, [])[after:]  # pyright: ignore[reportPrivateUsage]
        fresh = [(s, b) for s, b in getattr(self, "_appended", []) if s > after]
        return [
            *((n, body) for n, body in enumerate(stored, after + 1) if body is not None and not self._wiped),
            *fresh,
        ]

    def record(self, row: RunRow, seq: int) -> str:
        return self.tail(row, seq - 1)[0][1]

    def audit(self, entry: AuditRow) -> None:
        lines = self._store._audit
        self._audited[entry.scope] = (entry.n, entry.head)
        self._writes.append(lambda: lines.setdefault(entry.scope, []).append(entry))

    def audit_head(self, scope: str) -> tuple[int, bytes]:
        if scope in self._audited:
            return self._audited[scope]
        lines = self._store._audit.get(scope)
        return (lines[-1].n, lines[-1].head) if lines else (0, b"")

    def touch(self, scope: str, at: float) -> None:
        def write() -> None:
            self._store._touched.setdefault(scope, at)

        self._writes.append(write)

    def store_id(self) -> str:
        return self._store._id

    def touched(self, most: int) -> list[Covered]:
        return [self._covered(scope) for scope in sorted(self._store._touched)[:most]]

    def _covered(self, scope: str) -> Covered:
        row, (n, head) = self.run(scope), self.audit_head(scope)
        return Covered(scope, n, head.hex(), row.seq if row else 0, sealed_head(row.salt, row.head) if row else "")

    def untouch(self, upto: str) -> None:
        def write() -> None:
            kept = {scope: at for scope, at in self._store._touched.items() if scope > upto}
            self._store._touched = kept

        self._writes.append(write)

    def seal(self, k: int = 0) -> Seal | None:
        seals = self._store._seals
        return seals[k - 1] if 0 <= k <= len(seals) and seals else None

    def put_seal(self, seal: Seal) -> None:
        assert seal.k == len(self._store._seals) + 1
        self._writes.append(lambda: self._store._seals.append(seal))

    def endpoints(self) -> list[Endpoint]:
        return sorted(self._store._endpoints.values(), key=lambda x: x.name)

    def put_endpoint(self, endpoint: Endpoint) -> None:
        self._store._endpoints[endpoint.name] = endpoint

    def drop_endpoint(self, name: str) -> None:
        s = self._store
        s._endpoints.pop(name, None)
        s._letters = {n: x for n, x in s._letters.items() if x.endpoint != name}

    def post(self, letter: Letter) -> None:
        self._writes.append(lambda: self._post(letter))

    def _post(self, letter: Letter) -> None:
        self._store._posted += 1
        self.put_letter(msgspec.structs.replace(letter, n=self._store._posted))

    def letter(self, n: int) -> Letter | None:
        return self._store._letters.get(n)

    def put_letter(self, letter: Letter) -> None:
        self._store._letters[letter.n] = letter

    def drop_letter(self, n: int) -> None:
        self._store._letters.pop(n, None)

    def due_letters(self, now: float, limit: int, but: Sequence[str]) -> list[Letter]:
        first: dict[tuple[str, str], Letter] = {}
        for letter in self._store._letters.values():
            if letter.state == "due":
                first.setdefault((letter.endpoint, letter.run), letter)
        return [x for x in first.values() if x.due_at <= now and x.endpoint not in but][:limit]

    def interrupt(self, row: RunRow, i: str) -> InterruptRow | None:
        if (row.id, i) in self._seen:
            return self._seen[row.id, i]
        found = self._store._interrupts.get(row.id, {}).get(i)  # pyright: ignore[reportPrivateUsage]
        return replace(found, votes=dict(found.votes)) if found else None

    def open_interrupts(self, row: RunRow) -> list[InterruptRow]:
        stored = self._store._interrupts.get(row.id, {})  # pyright: ignore[reportPrivateUsage]
        ids = [*stored, *(i for run, i in self._seen if run == row.id and i not in stored)]
        rows = [x for i in ids if (x := self.interrupt(row, i))]
        return [x for x in rows if x.state == "open"]

    def lived_on(self, row: RunRow, call: str) -> list[InterruptRow]:
        stored = self._store._interrupts.get(row.id, {})
        ids = [*stored, *(i for run, i in self._seen if run == row.id and i not in stored)]
        return [x for i in ids if (x := self.interrupt(row, i)) and x.lives == call]

    def put_interrupt(self, row: RunRow, interrupt: InterruptRow) -> None:
        interrupts = self._store._interrupts  # pyright: ignore[reportPrivateUsage]
        self._seen[row.id, interrupt.i] = interrupt
        self._writes.append(lambda: interrupts[row.id].__setitem__(interrupt.i, interrupt))

    def wipe(self, row: RunRow) -> None:
        s, self._wiped = self._store, True

        def write() -> None:
            size = len(s._journals[row.id])
            s._journals[row.id], s._chains[row.id] = [None] * size, [b""] * (size - 1) + s._chains[row.id][-1:]
            s._interrupts[row.id] = {}
            s._requests = {at: found for at, found in s._requests.items() if at[0] != row.id}
            s._letters = {n: x for n, x in s._letters.items() if x.run != row.id}
            s._misfits.pop(row.id, None)

        self._writes.append(write)

    def request(self, row: RunRow, id: str) -> tuple[int, str] | None:
        return self._store._requests.get((row.id, id))  # pyright: ignore[reportPrivateUsage]

    def put_request(self, row: RunRow, id: str, seq: int, body: str) -> None:
        requests = self._store._requests  # pyright: ignore[reportPrivateUsage]
        self._writes.append(lambda: requests.__setitem__((row.id, id), (seq, body)))

    def is_signed(self) -> bool:
        return self._store._signed

    def set_signed(self, required: bool) -> None:
        self._store._signed = required

    def halts(self) -> list[Halt]:
        return list(self._store._halts.values())  # pyright: ignore[reportPrivateUsage]

    def put_halt(self, halt: Halt) -> None:
        self._store._halts[halt.scope] = halt  # pyright: ignore[reportPrivateUsage]

    def drop_halt(self, scope: str) -> None:
        self._store._halts.pop(scope, None)  # pyright: ignore[reportPrivateUsage]
