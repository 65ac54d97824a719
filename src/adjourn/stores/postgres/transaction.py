"""What rules read and write, in PostgreSQL: under locks, or on what is remembered and compared when
it is written."""

from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from adjourn.errors import LeaseLost
from adjourn.stores.audit import SECURITY
from adjourn.stores.postgres import config, conversation_turns, due, locks
from adjourn.stores.postgres.config import Config
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.read_statements import AUDIT, questions, values_of
from adjourn.stores.postgres.row_cache import Remembered
from adjourn.stores.postgres.rows import run_row
from adjourn.stores.postgres.step_statement import changed, step
from adjourn.stores.postgres.write_statements import is_config, written
from adjourn.stores.rows import first_column
from adjourn.stores.rules.reads_and_writes import ReadRequest, ReadResult, Writes
from adjourn.stores.rules.transaction import Find
from adjourn.stores.run_row import RunRow

STALLED = 10_000
"""Milliseconds after which the database ends a transaction whose process does not go on, and lets
others have its locks."""
BEGIN = ("begin", f"set local idle_in_transaction_session_timeout = {STALLED}")
LIGHTLY = "set local synchronous_commit = off"
NOTIFY = "select pg_notify('adjourn', %(notify)s)"
BEHIND = "select pg_logical_emit_message(true, 'adjourn', '')"
"""A line in the database's log, and nothing else: its commit waits for every commit before it, on
every server that has to have it."""
LOCK_ALL = "select 1 from adjourn.run where id = any(%(all)s::text[]) order by n for no key update"


SNAPSHOT = "begin isolation level repeatable read read only"


class Moved(Exception):
    """The run is not any more as it was remembered."""


def looked(db: Connection, remembered: Remembered, ask: ReadRequest) -> ReadResult:
    """What an `ReadRequest` names, as of one moment, without a lock."""
    return _asked(db, remembered, ask, [SNAPSHOT], ["commit"])


def _asked(
    db: Connection, remembered: Remembered, ask: ReadRequest, before: list[str], after: list[str]
) -> ReadResult:
    known = remembered.config
    asked = questions(ask, waking=known.waking or not known.generation)
    values = {**values_of(ask, remembered.now()), "generation": known.generation}
    script = [*before, *(question.sql for question in asked), config.READ, *after]
    sets = messages(db, script, values)[len(before) : len(script) - len(after)]
    now, current, erasures = config.taken(sets[-1][0], known)
    seen = ReadResult(remembered.heard(now, current))
    for question, rows in zip(asked, sets, strict=False):
        question.take(seen, rows)
    if seen.row is not None:
        seen.until = seen.row.lease_until
    _configured(seen, current, erasures)
    return seen


def _configured(seen: ReadResult, current: Config, erasures: int) -> None:
    seen.halts, seen.endpoints = current.halts, current.endpoints
    seen.signed, seen.waking, seen.erasures = current.signed, current.waking, erasures


class LockedBook:
    """See `Book`: one transaction, from the first look to `flush` with `ending` set. Two messages:
    locks and reading, writing and commit.

    `light`: nobody waits for the disk, unless a record is written. What workers go by must outlive
        a crash of the
    server, because they outlive it themselves.
    """

    def __init__(self, db: Connection, remembered: Remembered, *, light: bool = False) -> None:
        self._db, self._remembered, self._light = db, remembered, light
        self._begun = False
        self._over = False
        self._found: dict[str, RunRow] = {}
        self._given: ReadResult | None = None
        self._held: set[tuple[Any, ...]] = set()
        self._gathered: list[Writes] = []
        self.writes: list[Writes] = []
        self.ending = False
        self.has_sent = False
        self.notify = ""

    # Reading

    def read(self, ask: ReadRequest) -> ReadResult:
        """See `Book.read`."""
        if self._over:
            return self._read_after(ask)
        if self._gathered and (not ask.run or ask.copied or self._is_gathered(ask.run)):
            self._send()
        found = self._found.get(ask.run)
        if found is not None and ask.tail < 0 and ask.head_at in (0, found.seq):
            return self._claimed(found)
        script = self._beginning(locks.is_configuring(ask))
        return self._ask(ask, [*script, *self._locking(ask)])

    def _is_gathered(self, run: str) -> bool:
        """Whether something of this run is to be written that was not sent yet."""
        return any(writes.row and writes.row.id == run for writes in self._gathered)

    def _locking(self, ask: ReadRequest) -> list[str]:
        """The locks of a rule that this transaction does not have yet."""
        fresh: list[str] = []
        for sql in locks.of(ask):
            lock = (sql, ask.run, ask.before, ask.copied, ask.last, ask.letters)
            if lock not in self._held:
                self._held.add(lock)
                fresh.append(sql)
        return fresh

    def _ask(self, ask: ReadRequest, script: list[str]) -> ReadResult:
        seen = _asked(self._db, self._remembered, ask, script, [])
        if ask.run and seen.row is None and ask.run in seen.audit:
            # it was begun between the two: what is read after its line has its row, unless it is gone
            seen = _asked(self._db, self._remembered, ask, list(locks.of(ask)), [])
        if ask.audit and ask.run and seen.row is None and "" not in ask.audit:
            self._read_global(seen)
        self._compare(ask, seen)
        return seen

    def _compare(self, ask: ReadRequest, seen: ReadResult) -> None:
        """A worker that has seen everything knows the hash of it: if there is another, somebody has
        put another past in its place."""
        known, row = self._remembered.run(ask.run), seen.row
        if (
            known is None
            or row is None
            or known.epoch != row.epoch
            or not ask.tail == ask.head_at == known.seq
        ):
            return
        if seen.head != known.head:
            self._remembered.forget(ask.run)
            text = (
                f"record {known.seq} is not the one that its worker wrote: the database "
                f"was restored, or lost its end"
            )
            raise LeaseLost(f"run {ask.run!r}: {text}")

    def _read_global(self, seen: ReadResult) -> None:
        """There is no such run: what is said of it stands in the global audit."""
        script = [locks.alone(locks.GLOBAL), AUDIT]
        for scope, number, head in messages(self._db, script, {"scopes": [""]})[-1]:
            seen.audit = {**seen.audit, scope: (number, head)}

    def _beginning(self, alone: bool) -> list[str]:
        if self._begun:
            return []
        self._begun = True
        return [*BEGIN, locks.alone(locks.HALTS) if alone else locks.SHARE_HALTS]

    def find(self, find: Find) -> list[str]:
        """See `Book.find`. What is found is locked."""
        known, given = self._remembered.config, self._remembered.now()
        values = {**due.values_of(find, given), "generation": known.generation}
        sets = messages(self._db, [*self._beginning(False), *due.FIND, config.READ], values)
        now, current, erasures = config.taken(sets[-1][0], known)
        self._given = ReadResult(self._remembered.heard(now, current))
        _configured(self._given, current, erasures)
        found: dict[str, RunRow] = {}
        for row in map(run_row, chain.from_iterable(sets[-1 - len(due.FIND) : -1])):
            found[row.id] = row
        chosen = sorted(found.values(), key=lambda row: (-row.priority, row.updated_at, row.n))[
            : find.limit
        ]
        self._found = {row.id: row for row in chosen}
        return list(self._found)

    def _claimed(self, row: RunRow) -> ReadResult:
        """What is known of a run that `find` has locked."""
        assert self._given is not None
        return replace(self._given, row=replace(row), head=row.head, until=row.lease_until)

    def conversation(self, run: str) -> list[str]:
        """See `Book.conversation`. All of them are locked."""
        first = messages(
            self._db, [*self._beginning(False), conversation_turns.CONVERSATION], {"run": run}
        )[-1]
        values = {"run": run, "all": first_column(first)}
        return first_column(
            messages(self._db, [LOCK_ALL, conversation_turns.CONVERSATION], values)[-1]
        )

    # Writing

    def write(self, writes: Writes) -> None:
        """See `Book.write`."""
        self._gathered.append(writes)
        self.writes.append(writes)

    def flush(self) -> None:
        """See `Book.flush`. If it is the end, it is also the commit, in the same message."""
        if self._over:
            return
        self._send()
        self._over = self.ending

    def _send(self) -> None:
        gathered, self._gathered = self._gathered, []
        script = written([writes for writes in gathered if not _is_nothing(writes)])
        if script.statements and self.notify:
            script.add(NOTIFY, notify=self.notify)
        if self.ending and self._begun:
            if self._light and not any(writes.journal for writes in self.writes):
                script.statements.insert(0, LIGHTLY)
            script.add("commit")
        if script.statements:
            self.has_sent = len(script.statements) > self.ending
            messages(self._db, script.statements, script.values)

    def _read_after(self, ask: ReadRequest) -> ReadResult:
        """What was committed, for who compares it; nothing of a run that others have gone on
        with."""
        seen = looked(self._db, self._remembered, ask)
        mine: RunRow | None = None
        for writes in self.writes:
            row = writes.row
            if row is not None and row.id == ask.run:
                mine = row
        if seen.row is not None and mine is not None and seen.row.seq != mine.seq:
            seen.row = None
        return seen

    def is_landed(self, earlier: list[Writes]) -> bool:
        """Whether a transaction of which nobody knows has been committed; asked under the locks
        that it needed itself.

        So whoever was about to commit it has done so, or never will: it would find other rows. That
        it can be read here does not mean that the standby has it: who waited for that was cut off.
        So this waits in its place, and the transaction is over.
        """
        proof = proof_of(earlier)
        if proof is None:
            return False
        script = [*self._beginning(any(map(is_config, earlier))), *proof.locks, proof.sql]
        if not messages(self._db, script, proof.values)[-1]:
            return False
        messages(self._db, [BEHIND, "commit"], {})
        return True


class ComparedBook:
    """See `Book`: rules work on remembered rows. All that they say goes in one message, which is a
    transaction of its own; `landed` are those runs that were still as remembered."""

    def __init__(self, db: Connection, remembered: Remembered) -> None:
        self._db, self._remembered = db, remembered
        self._config, self._now = remembered.config, remembered.now()
        self._gathered: list[Writes] = []
        self._used: dict[str, RunRow] = {}
        self._changed: set[str] = set()
        self._sent = False
        self.landed: set[int] = set()

    def read(self, ask: ReadRequest) -> ReadResult:
        """See `Book.read`. What is not remembered is read without a lock; if the run has moved by
        then, `Moved` is raised."""
        row = None if self._sent else self._remembered.answers(ask)
        if row is None:
            return self._look(ask)
        self._used[ask.run] = row
        current = self._config
        return ReadResult(
            self._now,
            row=replace(row),
            head=row.head,
            halts=current.halts,
            endpoints=current.endpoints,
            signed=current.signed,
        )

    def _look(self, ask: ReadRequest) -> ReadResult:
        seen = looked(self._db, self._remembered, ask)
        if self._sent:
            mine: RunRow | None = None
            for writes in self._gathered:
                row = writes.row
                if row is not None and row.id == ask.run and row.n in self.landed:
                    mine = row
            if seen.row is None or mine is None or mine.seq != seen.row.seq:
                seen.row = None
            return seen
        used = self._used.get(ask.run)
        if used is None or seen.row is None or used.head != seen.row.head:
            raise Moved(ask.run)
        return seen

    def write(self, writes: Writes) -> None:
        """See `Book.write`."""
        row = writes.row
        assert row is not None
        self._gathered.append(writes)
        self._changed.update(changed(self._used[row.id], row))

    def flush(self) -> None:
        """See `Book.flush`. From here on reading is looking at what came of it, also where nothing was to be sent."""
        if self._sent:
            return
        self._sent = True
        if not self._gathered:
            return
        items = sorted(self._gathered, key=lambda writes: writes.row.n if writes.row else 0)
        heads = {run: row.head for run, row in self._used.items()}
        written = step(items, sorted(self._changed), self._config.generation, heads)
        self.landed = set(first_column(messages(self._db, [locks.SHARE_HALTS, written])[-1]))

    def find(self, find: Find) -> list[str]:
        """See `Book.find`: nothing is found here."""
        raise AssertionError("runs are found under locks")

    def conversation(self, run: str) -> list[str]:
        """See `Book.conversation`: nothing is found here."""
        raise AssertionError("conversations are read under locks")


def is_plain(writes: Writes) -> bool:
    """Whether this is records of one run, and what follows from them alone: what a compared message
    can carry."""
    row, journal = writes.row, writes.journal
    if row is None or not journal or writes.new or writes.wiped or writes.removed is not None:
        return False
    return not (
        writes.request
        or writes.blobs
        or writes.beats
        or writes.gone
        or writes.audit
        or writes.post
        or writes.wakes
        or writes.misfit
    )


def _is_nothing(writes: Writes) -> bool:
    """Whether a rule has only looked."""
    return writes == Writes(row=writes.row) and not writes.new


class Proof(NamedTuple):
    """A statement that finds a row if a transaction was committed, what it is given, and the locks
    to ask under."""

    sql: str
    values: dict[str, Any]
    locks: list[str]


def proof_of(writes: list[Writes]) -> Proof | None:
    """None: nothing that was to be written says so."""
    for one in writes:
        if one.journal and one.row is not None:
            values = {"run": one.row.id, "seq": one.row.seq, "head": one.row.head}
            return Proof(_JOURNALED, values, [locks.ROW])
    for one in writes:
        if one.audit:
            line = one.audit[0]
            guards: dict[str, list[str]] = {
                "": [locks.alone(locks.GLOBAL)],
                SECURITY: [locks.alone(locks.SECURE)],
            }
            values = {"run": line.scope, "n": line.n, "head": line.head}
            return Proof(_AUDITED, values, guards.get(line.scope, [locks.ROW]))
    for one in writes:
        if one.seal is not None:
            return Proof(
                _SEALED, {"k": one.seal.k, "hash": one.seal.hash}, [locks.alone(locks.SEALS)]
            )
    return None


_JOURNALED = """
select 1 from adjourn.run r join adjourn.journal j on j.run = r.n where r.id = %(run)s and j.seq = %(seq)s and j.head = %(head)s
"""
_SEALED = "select 1 from adjourn.seal where k = %(k)s and hash = %(hash)s"
_AUDITED = "select 1 from adjourn.audit where scope = %(run)s and n = %(n)s and head = %(head)s"
