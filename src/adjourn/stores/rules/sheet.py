"""What a rule works on: it reads what was asked for, and writes down what is to be written. It touches
no store, so no two stores can differ."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from msgspec import structs

from adjourn.core.codec import encode
from adjourn.core.files import FileRef
from adjourn.core.record_codec import parse
from adjourn.core.records import Asked, Suspended
from adjourn.core.status import Status
from adjourn.errors import UnknownRun
from adjourn.stores.audit import SECURITY, AuditLine, chain
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit
from adjourn.stores.outbox import Endpoint, Notification, Wake
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.names import check_line
from adjourn.stores.rules.reads_and_writes import Appended, Before, ReadRequest, ReadResult, Writes
from adjourn.stores.run_row import MARKED, RunRow, sealed_bytes
from adjourn.stores.seals import Covered, Seal


class Sheet:
    """What a rule works on: what was read, under what it has written so far. To read what was not
    asked for is a mistake."""

    __slots__ = ("_ask", "_opened", "_seen", "files", "now", "row", "size", "writes")

    def __init__(self, ask: ReadRequest, seen: ReadResult, writes: Writes | None = None) -> None:
        self._ask, self._seen, self.now = ask, seen, seen.now
        self._opened: dict[int, Asked | Suspended] | None = None
        if writes is None:
            writes = Writes()
        self.writes, self.row = writes, writes.row or seen.row
        """The run's row, None if there is no such run. To be changed in place, and then saved."""
        self.size = 0
        """Of what was appended, in characters."""
        self.files: list[FileRef] = []
        """The references in what was appended whose bytes are written with it."""

    def copy(self) -> "Sheet":
        """One of what was read, on which something can be tried: nothing of it is written. To be
        made before anything is."""
        seen = self._seen
        interrupts = deepcopy(dict(seen.interrupts))
        return Sheet(
            self._ask, structs.replace(seen, row=deepcopy(seen.row), interrupts=interrupts)
        )

    def insert(self, row: RunRow) -> None:
        """Add a run."""
        self.row = self.writes.row = row
        self.writes.new = True

    def save(self, row: RunRow) -> None:
        """Keep what was changed in the row."""
        assert row is self.row
        self.writes.row = row

    def wipe(self) -> None:
        """Remove what was in the run; see `Writes.wiped`."""
        self.writes.wiped = True

    def remove(self, row: RunRow) -> None:
        """Remove the whole run; its audit stays."""
        self.row, self.writes.row, self.writes.removed = None, None, row

    def append(self, seq: int, epoch: int, body: str, head: bytes) -> None:
        """Append a record."""
        self.writes.journal.append(Appended(seq, epoch, body, head))
        self.size += len(body)

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Keep bytes of files beside the journal."""
        if blobs and self.row is not None and len(self.row.salt) == MARKED:
            salt = self.row.salt
            blobs = {digest: sealed_bytes(salt, data) for digest, data in blobs.items()}
        self.writes.blobs |= blobs

    def tail(self, after: int) -> list[tuple[int, str]]:
        """The records after this one, as (seq, body)."""
        found: list[tuple[int, str]] = []
        if not self._is_fresh:
            assert 0 <= self._ask.tail <= after, f"the records after {after} were not asked for"
            found += [line for line in self._seen.tail if line[0] > after]
        for appended in self.writes.journal:
            if appended.seq > after:
                found.append((appended.seq, appended.body))
        return found

    def record(self, seq: int) -> str:
        """The body of one record."""
        journal = self.writes.journal
        if journal and seq >= journal[0].seq:
            return journal[seq - journal[0].seq].body
        found = self._seen.records.get(seq)
        assert found is not None, f"record {seq} was not asked for"
        return found

    def opening(self, seq: int) -> Asked | Suspended:
        """One record, which opened an interrupt. It is parsed once, however often a rule asks."""
        if self._opened is None:
            self._opened = {}
        found = self._opened.get(seq)
        if found is None:
            record = parse(self.record(seq))
            assert isinstance(record, Asked | Suspended)
            found = self._opened[seq] = record
        return found

    def head_at(self, seq: int) -> bytes:
        """The hash of the chain at a record; b"" if there is none."""
        assert self.row is not None
        if seq == self.row.seq:
            return self.row.head
        assert seq == self._ask.head_at, f"the hash at {seq} was not asked for"
        return self._seen.head

    def before(self, run: str, seq: int) -> Before | None:
        """The run that this one goes on with, and the hash of its chain at a record; None if there
        is none."""
        assert (run, seq) == self._ask.before, f"the run before, {run!r:.80}, was not asked for"
        return self._seen.before

    def copied(self, run: str) -> RunRow | None:
        """The run with whose records this one begins; None if it is not here."""
        assert run == self._ask.copied, f"the run that is copied, {run!r:.80}, was not asked for"
        return self._seen.copied

    def last(self, session: str, program: str) -> str:
        """The id of the last run of a session that is of a program; "" if there is none."""
        assert (session, program) == self._ask.last, (
            f"the last run of session {session!r:.80} was not asked for"
        )
        return self._seen.last

    def later(self) -> Sequence[tuple[str, Status]]:
        """The runs that go on with this one, also by way of others, and their statuses; the oldest
        first."""
        assert self._ask.later, "the runs that continue this one were not asked for"
        return self._seen.later

    @property
    def ahead(self) -> str:
        """The id of a run of its session that comes before this one; "" if it need not wait for
        another."""
        assert self._ask.queue, "the run before it in its session was not asked for"
        return self._seen.ahead

    def interrupt(self, id: str) -> InterruptRow | None:
        """The interrupt of this id, whatever its state."""
        if (found := self.writes.interrupts.get(id)) or self._is_fresh:
            return found
        found = self._seen.interrupts.get(id)
        asked = found or self._ask.all_interrupts or id in self._ask.named
        assert asked, f"interrupt {id!r:.80} was not asked for"
        return found

    def open_interrupts(self) -> list[InterruptRow]:
        """All that are open, in the order in which they were opened."""
        ask = self._ask
        missing = ask.otherwise_opens and not self._seen.interrupts.keys() >= set(ask.named)
        assert self._is_fresh or ask.opens or ask.all_interrupts or missing, (
            "the open interrupts were not asked for"
        )
        found = [interrupt for interrupt in self._interrupts() if interrupt.state == "open"]
        return sorted(found, key=lambda interrupt: interrupt.seq)

    def lived_on(self, call: str) -> list[InterruptRow]:
        """Those on which a call lives."""
        asked = self._is_fresh or self._ask.all_interrupts or call in self._ask.lives
        assert asked, f"what call {call!r:.80} lives on was not asked for"
        return [interrupt for interrupt in self._interrupts() if interrupt.lives == call]

    def standing_interrupts(self) -> list[InterruptRow]:
        """Those whose decisions are standing ones, or were."""
        assert self._is_fresh or self._ask.all_interrupts, "all interrupts were not asked for"
        return [interrupt for interrupt in self._interrupts() if interrupt.uses]

    def put_interrupt(self, interrupt: InterruptRow) -> None:
        """Add or change one."""
        self.writes.interrupts[interrupt.i] = interrupt

    @property
    def _is_fresh(self) -> bool:
        """Whether nothing of the run is in the store, or will be any more."""
        return self.writes.new or self.writes.wiped

    def _interrupts(self) -> list[InterruptRow]:
        if self._is_fresh:
            return list(self.writes.interrupts.values())
        return list({**self._seen.interrupts, **self.writes.interrupts}.values())

    def request(self, id: str) -> tuple[int, str] | None:
        """The record to which a request led, and its digest."""
        assert id == self._ask.request, "the request was not asked for"
        return self._seen.request

    def put_request(self, id: str, seq: int, digest: str) -> None:
        """Remember a request."""
        self.writes.request = (id, seq, digest)

    def put_misfit(self, misfit: Misfit) -> None:
        """Keep what a worker says about the run."""
        self.writes.misfit = misfit

    @property
    def until(self) -> float:
        """Until when the worker lives that has the run; 0 if nobody has it."""
        assert self._ask.owner, "the run's worker was not asked for"
        return self._seen.until

    @property
    def erasures(self) -> int:
        """How many runs of the store were erased so far."""
        assert self._ask.erasures, "how many runs were erased was not asked for"
        return self._seen.erasures

    @property
    def tickets(self) -> str:
        """What is kept of the tickets of tools."""
        assert self._ask.tickets, "the tickets were not asked for"
        return self._seen.tickets

    def beat(self, worker: str, until: float) -> None:
        """This worker lives until then."""
        self.writes.beats[worker] = until

    def forget_worker(self, worker: str) -> None:
        """This one need not be known any more, unless a run names it."""
        self.writes.gone.append(worker)

    # The audit and its seals

    def audited(self, scope: str, entry: Mapping[str, Any]) -> None:
        """Write a line of the audit; if that fails, so does the action, because both are one
        transaction."""
        check_line(entry)
        number, head = self._last_line(scope)
        at = round(self.now, 3)
        told = {"at": at, "run": scope, **entry}
        if self.row is not None and self.row.id == scope:
            told["agent"] = self.row.program
        body = encode(told).decode()
        self.writes.audit.append(AuditLine(scope, number + 1, body, chain(head, body)))
        self.touch(scope, at)

    def noted(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """See `Store.note`."""
        for line in lines:
            self.audited(SECURITY, line)

    def _last_line(self, scope: str) -> tuple[int, bytes]:
        for line in reversed(self.writes.audit):
            if line.scope == scope:
                return line.n, line.head
        missing = not scope and bool(self._ask.run) and self._seen.row is None
        assert missing or scope in self._ask.audit, f"the audit of {scope!r:.80} was not asked for"
        return self._seen.audit.get(scope, (0, b""))

    def is_audited(self, scope: str) -> bool:
        """Whether there is a line of this audit: of a run that is not there, that it was."""
        return self._last_line(scope)[0] > 0

    def touch(self, scope: str, at: float) -> None:
        """The next seal covers this scope, which has waited for it since `at`."""
        self.writes.touched.setdefault(scope, at)

    def store_id(self) -> str:
        """The random id that was made with the store."""
        assert self._ask.touched, "the id of the store was not asked for"
        return self._seen.store

    def touched(self) -> Sequence[Covered]:
        """Scopes that were touched, in order of their names, and where their chains stand."""
        assert self._ask.touched, "what was touched was not asked for"
        return self._seen.touched

    def seal(self, number: int = 0) -> Seal | None:
        """The seal of this number; 0: the last one."""
        assert self._ask.touched and number in (0, self._ask.seal), (
            f"seal {number} was not asked for"
        )
        return self._seen.seals.get(number)

    def put_seal(self, seal: Seal, upto: str | None) -> None:
        """Append a seal, and forget the touched scopes up to this name. Fails if there is one of
        its number."""
        self.writes.seal, self.writes.untouch = seal, upto

    # Halts, signatures, and who is told

    def halts(self) -> list[Halt]:
        """The halts that are on, the oldest first."""
        assert self._ask.halts, "the halts were not asked for"
        kept = [halt for halt in self._seen.halts if halt.scope not in self.writes.drop_halts]
        return kept + self.writes.put_halts

    def halted(self) -> frozenset[str]:
        """The scopes of the halts that are on."""
        if self._ask.halts and not self._seen.halts and not self.writes.put_halts:
            return frozenset()
        return frozenset(halt.scope for halt in self.halts())

    def put_halt(self, halt: Halt) -> None:
        """Set one."""
        self.writes.put_halts.append(halt)

    def drop_halt(self, scope: str) -> None:
        """Lift one."""
        self.writes.drop_halts.append(scope)

    def holds(self) -> list[Hold]:
        """The legal holds that are on, the oldest first."""
        assert self._ask.holds, "the holds were not asked for"
        kept = [hold for hold in self._seen.holds if hold.scope not in self.writes.drop_holds]
        return kept + self.writes.put_holds

    def put_hold(self, hold: Hold) -> None:
        """Set one."""
        self.writes.put_holds.append(hold)

    def drop_hold(self, scope: str) -> None:
        """Lift one."""
        self.writes.drop_holds.append(scope)

    def is_signed(self) -> bool:
        """Whether decisions must carry a seal."""
        if self.writes.signed is not None:
            return self.writes.signed
        assert self._ask.signed, "whether decisions are signed was not asked for"
        return self._seen.signed

    def set_signed(self, required: bool) -> None:
        """From now on they must, or need not."""
        self.writes.signed = required

    def endpoints(self) -> list[Endpoint]:
        """Who is told, by name."""
        assert self._ask.endpoints, "the endpoints were not asked for"
        writes = self.writes
        if not writes.put_endpoints and not writes.drop_endpoints:
            return list(self._seen.endpoints)
        named: dict[str, Endpoint] = {}
        for endpoint in (*self._seen.endpoints, *writes.put_endpoints):
            if endpoint.name not in writes.drop_endpoints:
                named[endpoint.name] = endpoint
        return sorted(named.values(), key=lambda endpoint: endpoint.name)

    def put_endpoint(self, endpoint: Endpoint) -> None:
        """Add or replace one."""
        self.writes.put_endpoints.append(endpoint)

    def drop_endpoint(self, name: str) -> None:
        """Remove one and its letters."""
        self.writes.drop_endpoints.append(name)

    def post(self, letter: Notification) -> None:
        """Add a letter; its `n` is the next number."""
        self.writes.post.append(letter)

    def letter(self, number: int) -> Notification | None:
        """The letter of this number."""
        assert number in self._ask.letters, f"letter {number} was not asked for"
        if number in self.writes.drop_letters:
            return None
        for letter in reversed(self.writes.put_letters):
            if letter.n == number:
                return letter
        return self._seen.letters.get(number)

    def put_letter(self, letter: Notification) -> None:
        """Change its state, tries, time and error."""
        self.writes.put_letters.append(letter)

    def drop_letter(self, number: int) -> None:
        """Remove it."""
        self.writes.drop_letters.append(number)

    def due_letters(self) -> Sequence[Notification]:
        """Those that are due, in order; of one run to one endpoint only the first."""
        assert self._ask.take, "the letters that are due were not asked for"
        return self._seen.due

    # Wakes, for whoever drives runs from outside

    def is_waking(self) -> bool:
        """Whether somebody wants wakes."""
        if self.writes.waking is not None:
            return self.writes.waking
        assert self._ask.run or self._ask.waking or self._ask.asleep, (
            "whether wakes are wanted was not asked for"
        )
        return self._seen.waking

    def set_waking(self, wanted: bool) -> None:
        """From now on somebody does, or nobody."""
        self.writes.waking = wanted

    def asleep(self) -> Sequence[RunRow]:
        """The runs that may have to be woken; see `ReadRequest.asleep`."""
        assert self._ask.asleep, "the runs that are asleep were not asked for"
        return self._seen.asleep

    def wake(self, row: RunRow) -> None:
        """A wake for a run that is due, or will be at a time. Without knowing the halts, what waits
        for one waits on."""
        if self._ask.halts:
            halts = self.halted()
        else:
            halts = frozenset(row.blocked)
        for at in (self.now, row.wake_at):
            if row.due(at, halts):
                self.writes.wakes[row.id] = at
                return

    def wake_if_due(self) -> None:
        """A wake for the run of this sheet, if somebody wants them and something was recorded: by
        others than its holder, or with its lease given back. What a holder records and goes on
        makes the run no more due than it was."""
        row, journal = self.writes.row, self.writes.journal
        if row is None or not journal or not self.is_waking():
            return
        if not row.worker or any(line.epoch != row.epoch for line in journal):
            self.wake(row)

    def due_wakes(self) -> Sequence[Wake]:
        """Those that are due, the oldest first."""
        assert self._ask.wakes, "the wakes that are due were not asked for"
        return self._seen.wakes

    def put_wake(self, wake: Wake) -> None:
        """Nobody else gets it before its time."""
        self.writes.put_wakes.append(wake)

    def drop_wake(self, number: int) -> None:
        """Remove the one of this number, if the run has no newer one."""
        self.writes.drop_wakes.append(number)


def need(sheet: Sheet, run: str) -> RunRow:
    """The row, or `UnknownRun`."""
    if sheet.row is None:
        raise UnknownRun(run)
    return sheet.row
