"""What rules read and write, in a SQLite file."""

from collections.abc import Callable
from itertools import starmap
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from adjourn.core.codec import encode
from adjourn.stores.outbox import Endpoint, Notification, Wake
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.lease import is_held
from adjourn.stores.rules.reads_and_writes import LAST, Before, ReadRequest, ReadResult, Writes
from adjourn.stores.rules.transaction import Find
from adjourn.stores.run_row import CHANGING, RunRow
from adjourn.stores.seals import Covered, Seal, sealed_head
from adjourn.stores.sqlite import removal
from adjourn.stores.sqlite.conversation_turns import read_conversation, read_last, read_later
from adjourn.stores.sqlite.due import ahead, asleep, due
from adjourn.stores.sqlite.fleet import tickets, write_cards
from adjourn.stores.sqlite.gathered import Gathered, writes_beside, writes_rarely
from adjourn.stores.sqlite.heartbeat import BEAT, FORGET
from adjourn.stores.sqlite.rows import (
    COLUMNS,
    INTERRUPT,
    LETTER,
    RUN,
    SEAL,
    changing_values,
    endpoints,
    erasures,
    holds,
    interrupt_row,
    interrupt_values,
    is_signed,
    is_waking,
    key,
    names_text,
    read_tail,
    run_row,
    steering_values,
    store_id,
)

_STORED = tuple(name for name in RUN if name not in ("lease_until", "n"))
_SELECT = f"select {COLUMNS} from run where id = ?"
_INSERT = (
    f"insert into run ({', '.join(_STORED)}) values ({', '.join('?' * len(_STORED))}) returning n"
)
_UPDATE = f"update run set {', '.join(f'{c} = ?' for c in CHANGING)} where n = ?"
_ADVANCE = "update run set seq = ?, head = ?, updated_at = ? where n = ?"
_FROM = (  # the hash of the first, and the bodies of all that come after it
    "select seq, iif(key = ?1, null, body), iif(key = ?1, head, null) from journal "
    "where key >= ?1 and key < ?2 order by key"
)
_APPEND = "insert into journal (key, epoch, body, head) values (?, ?, ?, ?)"
_LINE = (
    "insert into audit_head values (?, ?, ?) on conflict (scope) do update set n = "
    "excluded.n, head = excluded.head"
)
_LETTER = (
    f"insert into letter ({', '.join(LETTER[1:])}) values ({', '.join('?' * len(LETTER[1:]))})"
)
_MISFIT = (
    "insert into misfit select n, ?, ? from run where id = ? "
    "on conflict (run) do update set seq = excluded.seq, body = excluded.body"
)
_KEY = "insert into run_key values (?, ?, ?)"
_WAKE = "insert or replace into wake (run, not_before) select n, ? from run where id = ?"
KNOWN = 4096
"""How many rows of runs are remembered between transactions."""
_INTERRUPT = (
    f"insert into interrupt (run, {INTERRUPT}) values (?{', ?' * len(InterruptRow.__struct_fields__)}) "
    "on conflict (run, i) do update set state = excluded.state, by = excluded.by, votes = excluded.votes, "
    "lives = excluded.lives, disowned = excluded.disowned, assigned = excluded.assigned, "
    "snoozed = excluded.snoozed, uses = excluded.uses"
)


class SQLiteBook:
    """See `Book`: over the one connection that writes. What is written is gathered, and goes to
    SQLite table by table.

    What was read is remembered from one transaction to the next. When the file's data version says
    that another connection has written in between, the row of a run is good as long as the hash of
    its journal is still the same; the rest is read again. Whoever takes a transaction back must
    `forget`.
    """

    def __init__(self, db: Any, now: Callable[[], float]) -> None:  # apsw's types are not complete
        self._db = db
        self._now = now
        self._version = -1
        self.begins = self.noticed = 0
        """So many transactions have begun, and so many of them found that another connection may
        have written."""
        self._runs: dict[str, RunRow] = {}
        self._sure: set[str] = set()
        self._saved: dict[int, tuple[Any, ...]] = {}
        self._halts: list[Halt] | None = None
        self._endpoints: list[Endpoint] | None = None
        self._signed: bool | None = None
        self._erasures: int | None = None
        self._waking: bool | None = None
        self._lines: dict[str, tuple[int, bytes]] = {}
        self._until: dict[str, float] = {}
        self._wrote: dict[str, int] = {}
        self._gathered = Gathered()

    def begun(self) -> None:
        """A transaction has begun, so the data version is that of the file: what others wrote is
        looked at again."""
        others = self._db.data_version() != self._version
        if len(self._runs) > KNOWN:
            self.forget()
        elif others:
            self._sure.clear()
            self._forget_others()
        self.noticed += others
        self.begins += 1  # last: whoever sees it in another thread sees what was noticed, too

    def committed(self) -> None:
        """Our own transaction is in the file; from here on the data version changes only if others
        write."""
        self._version = self._db.data_version()

    def forget(self) -> None:
        """Read everything again, and write nothing of what was gathered."""
        self._version = -1
        self._gathered = Gathered()
        self._forget_others()
        for known in (self._runs, self._saved, self._wrote, self._sure):
            known.clear()

    def _forget_others(self) -> None:
        self._halts = self._endpoints = self._signed = self._waking = self._erasures = None
        self._lines.clear()
        self._until.clear()

    def head(self, id: str) -> int:
        """The seq that this connection has lately appended to a run, 0 if none; from any thread.

        Not the last it has read: that may be another's word, of which somebody here is still to be
        told.
        """
        return self._wrote.get(id, 0)

    # Reading: what an `ReadRequest` names, and no more

    def read(self, ask: ReadRequest) -> ReadResult:
        """See `Book.read`. What waits in the batch is written first, where this would look at
        it."""
        return (self._read_little(ask) if ask.is_little else None) or self._read_much(ask)

    def _read_much(self, ask: ReadRequest) -> ReadResult:
        earlier = ask.before[0] if ask.before else ask.run
        waits = not self._gathered.runs.isdisjoint((ask.run, earlier))
        outbox = ask.take or ask.letters or ask.asleep or ask.wakes
        if waits or ask.copied or ask.last or ask.later or ask.touched or outbox:
            self.flush()
        row = self._run(ask.run) if ask.run else None
        if row is None:
            seen = ReadResult(self._now())
        else:
            seen = ReadResult(self._now(), replace(row))
            self._read_run(row, ask, seen)
        self._read_origins(ask, seen)
        if ask.last:
            seen.last = read_last(self._db, ask.last)
        if ask.queue and row is not None and row.session and not row.epoch:
            self.flush()  # one before it may have ended in this batch
            seen.ahead = ahead(self._db, row)
        if ask.later:
            seen.later = read_later(self._db, ask.run)
        if ask.audit:
            if row or not ask.run:
                scopes = ask.audit
            else:
                scopes = (*ask.audit, "")
            seen.audit = {scope: self._last_line(scope) for scope in scopes}
        self._read_shared(ask, seen)
        if ask.letters or ask.take:
            self._read_letters(ask, seen)
        if ask.run or ask.waking or ask.asleep or ask.wakes:
            self._read_wakes(ask, seen)
        if ask.touched:
            self._read_seals(ask, seen)
        return seen

    def _read_origins(self, ask: ReadRequest, seen: ReadResult) -> None:
        """The runs from which one begins."""
        if ask.before and (before := self._run(ask.before[0])):
            seen.before = Before(replace(before), self._head_at(before, ask.before[1]))
        if ask.copied and (original := self._run(ask.copied)):
            seen.copied = replace(original)

    def _read_little(self, ask: ReadRequest) -> ReadResult | None:
        """What most commits ask for; None if it is not that simple."""
        if ask.run in self._gathered.runs or (row := self._run(ask.run)) is None:
            return None
        if self._waking is None:
            self._waking = is_waking(self._db)
        seen = ReadResult(self._now(), replace(row), halts=self._read_halts(), waking=self._waking)
        if ask.tail < row.seq or ask.head_at < row.seq:
            self._read_run(row, ask, seen)
        return seen

    def _read_shared(self, ask: ReadRequest, seen: ReadResult) -> None:
        """What holds for all runs."""
        if ask.halts:
            seen.halts = self._read_halts()
        if ask.holds:
            seen.holds = holds(self._db)
        if ask.endpoints:
            if self._endpoints is None:
                self._endpoints = endpoints(self._db)
            seen.endpoints = self._endpoints
        if ask.signed:
            if self._signed is None:
                self._signed = is_signed(self._db)
            seen.signed = self._signed
        if ask.erasures:
            if self._erasures is None:
                self._erasures = erasures(self._db)
            seen.erasures = self._erasures
        if ask.tickets:
            seen.tickets = tickets(self._db)

    def find(self, find: Find) -> list[str]:
        """See `Book.find`."""
        self.flush()
        now = self._now()
        found: list[str] = []
        for row in due(self._db, find.programs, now):
            if len(found) == find.limit:
                break
            free = not is_held(row.worker, row.lease_until, now, find.replaces, find.spares)
            if free and row.id not in find.but:
                found.append(row.id)
        return found

    def conversation(self, run: str) -> list[str]:
        """See `Book.conversation`."""
        return read_conversation(self._db, run)

    def _run(self, id: str) -> RunRow | None:
        known = self._runs.get(id)
        if known is not None and id not in self._sure:
            same = "select 1 from run where n = ? and id = ? and head = ?"
            if self._db.execute(same, (known.n, id, known.head)).fetchone() is None:
                known = None
        if known is None:
            row = self._db.execute(_SELECT, (id,)).fetchone()
            if row is None:
                self._runs.pop(id, None)
                return None
            known = self._runs[id] = run_row(row)
            self._saved[known.n] = steering_values(known)
        self._sure.add(id)
        return known

    def _read_run(self, row: RunRow, ask: ReadRequest, seen: ReadResult) -> None:
        db = self._db
        if 0 < ask.tail == ask.head_at < row.seq:
            found = db.execute(_FROM, (key(row.n, ask.tail), key(row.n + 1, 0))).fetchall()
            if found and found[0][0] == ask.tail:
                seen.head = found[0][2]
            else:
                seen.head = b""
            seen.tail = [(seq, body) for seq, body, _ in found if body is not None]
        else:
            if 0 <= ask.tail < row.seq:
                seen.tail = read_tail(db, row.n, ask.tail, row.seq)
            if 0 < ask.head_at < row.seq:
                seen.head = self._head_at(row, ask.head_at)
        if ask.opens or ask.named or ask.lives or ask.all_interrupts:
            seen.interrupts = self._read_interrupts(row, ask)
        if ask.records or ask.openings:
            wanted = {row.seq if seq == LAST else seq for seq in ask.records}
            for id in ask.named if ask.openings else ():
                if found := seen.interrupts.get(id):
                    wanted.update((found.seq, *found.votes.values()))
            sql = (
                f"select seq, body from journal where key in "
                f"({', '.join('?' * len(wanted))}) and body is not null"
            )
            seen.records = dict(db.execute(sql, tuple(key(row.n, seq) for seq in wanted)))
        if ask.request:
            sql = "select seq, body from request where run = ? and id = ?"
            seen.request = db.execute(sql, (row.n, ask.request)).fetchone()
        if ask.owner and row.worker:
            seen.until = self._read_until(row.worker)

    def _head_at(self, row: RunRow, seq: int) -> bytes:
        """The hash of a run's chain at a record; b"" if there is none such."""
        found = self._db.execute(
            "select head from journal where key = ?", (key(row.n, seq),)
        ).fetchone()
        if found and 0 < seq <= row.seq:
            return found[0]
        return b""

    def _read_interrupts(self, row: RunRow, ask: ReadRequest) -> dict[str, InterruptRow]:
        found: dict[str, InterruptRow] = {}

        def look(where: str, *values: Any) -> None:
            sql = f"select {INTERRUPT} from interrupt where run = ? and {where}"
            for interrupt in map(interrupt_row, self._db.execute(sql, (row.n, *values))):
                found[interrupt.i] = interrupt

        if ask.all_interrupts:
            look("true")
            return found
        for id in ask.named:
            look("i = ?", id)
        missing = ask.otherwise_opens and not found.keys() >= set(ask.named)
        if (ask.opens or missing) and row.opens:
            look("state = 'open'")
        for call in ask.lives:
            look("lives = ?", call)
        return found

    def _read_until(self, worker: str) -> float:
        if worker not in self._until:
            found = self._db.execute("select until from worker where id = ?", (worker,)).fetchone()
            self._until[worker] = found[0] if found else 0.0
        return self._until[worker]

    def _last_line(self, scope: str) -> tuple[int, bytes]:
        if scope not in self._lines:
            found = self._db.execute(
                "select n, head from audit_head where scope = ?", (scope,)
            ).fetchone()
            self._lines[scope] = found or (0, b"")
        return self._lines[scope]

    def _read_halts(self) -> list[Halt]:
        if self._halts is None:
            found = self._db.execute(
                "select scope, by, reason, at from halt order by at"
            ).fetchall()
            self._halts = list(starmap(Halt, found))
        return self._halts

    def _read_letters(self, ask: ReadRequest, seen: ReadResult) -> None:
        columns = ", ".join(LETTER)
        if ask.letters:
            sql = f"select {columns} from letter where n in (select value from json_each(?))"
            rows = self._db.execute(sql, (encode(list(ask.letters)).decode(),))
            seen.letters = {letter.n: letter for letter in starmap(Notification, rows)}
        if ask.take:
            sql = (
                f"select {columns} from letter x where state = 'due' and due_at <= ? and "
                f"not exists (select 1 from letter o "
                "where o.endpoint = x.endpoint and o.run = x.run and o.state = 'due' and o.n < x.n) "
                "and endpoint not in (select value from json_each(?)) order by n limit ?"
            )
            values = (seen.now, encode(list(ask.but)).decode(), ask.take)
            seen.due = list(starmap(Notification, self._db.execute(sql, values)))

    def _read_wakes(self, ask: ReadRequest, seen: ReadResult) -> None:
        if self._waking is None:
            self._waking = is_waking(self._db)
        seen.waking = self._waking
        if ask.asleep == "all" or (ask.asleep and self._waking):
            seen.asleep = asleep(self._db, blocked=ask.asleep == "blocked")
        if ask.wakes:
            sql = (
                "select w.n, r.id, w.not_before from wake w join run r on r.n = w.run where "
                "w.not_before <= ? "
                "order by w.not_before, w.n limit ?"
            )
            seen.wakes = list(starmap(Wake, self._db.execute(sql, (seen.now, ask.wakes))))

    def _read_seals(self, ask: ReadRequest, seen: ReadResult) -> None:
        seen.store = store_id(self._db)
        sql = (
            "select t.scope, coalesce(a.n, 0), lower(hex(a.head)), coalesce(r.seq, 0), "
            "r.salt, r.head from touched t "
            "left join audit_head a on a.scope = t.scope left join run r on r.id = t.scope "
            "order by t.scope limit ?"
        )
        touched: list[Covered] = []
        for scope, number, line, seq, salt, head in self._db.execute(sql, (ask.touched,)):
            touched.append(
                Covered(scope, number, line, seq, sealed_head(salt, head) if head else "")
            )
        seen.touched = touched
        seals: dict[int, Seal] = {}
        if last := self._db.execute(f"select {SEAL} from seal order by k desc limit 1").fetchone():
            seals[0] = Seal(*last)
        if named := self._db.execute(
            f"select {SEAL} from seal where k = ?", (ask.seal,)
        ).fetchone():
            seals[ask.seal] = Seal(*named)
        seen.seals = seals

    # Writing: what a sheet says. Whatever fails here fails the transaction

    def write(self, writes: Writes) -> None:
        """See `Book.write`."""
        if writes.row is not None:
            self._write_run(writes.row, writes)
        if removed := writes.removed:
            removal.remove(self._db, removed)
            for known in (self._runs, self._wrote):
                known.pop(removed.id, None)
            self._saved.pop(removed.n, None)
        if writes_beside(writes):
            self._write_beside(writes)

    def _write_beside(self, writes: Writes) -> None:
        """What most commits do not write."""
        gathered = self._gathered
        gathered.more = True
        for line in writes.audit:
            self._lines[line.scope] = (line.n, line.head)
            gathered.lines.append((line.scope, line.n, line.body, line.head))
        gathered.touched += writes.touched.items()
        for worker, until in writes.beats.items():
            self._until[worker] = gathered.beats[worker] = until
        for letter in writes.post:
            gathered.letters.append(astuple(letter)[1:])
        gathered.wakes += ((at, run) for run, at in writes.wakes.items())
        if writes_rarely(writes):
            self.flush()
            self._write_rare(writes)

    def _write_run(self, row: RunRow, writes: Writes) -> None:
        gathered = self._gathered
        if writes.new:
            values = (
                row.id,
                row.kind,
                row.program,
                row.session,
                encode(row.labels).decode(),
                row.title,
                row.input_digest,
                *changing_values(row)[:10],
                row.created_at,
                row.updated_at,
                names_text(row.requesters),
                row.salt,
                row.erased,
                row.chapter,
                row.priority,
            )
            [(row.n,)] = self._db.execute(_INSERT, values).fetchall()
            if writes.key:
                from adjourn.stores.run_keys import kid_of

                self._db.execute(_KEY, (row.n, kid_of(row.salt), writes.key))
        elif writes.wiped:
            removal.wipe(self._db, row, row.seq - len(writes.journal))
            self._erasures = None
        steering = steering_values(row)
        if not writes.new:
            if self._saved.get(row.n) == steering:  # then no index changes either
                gathered.advanced.append((row.seq, row.head, row.updated_at, row.n))
            else:
                gathered.changed.append((*changing_values(row), row.n))
        gathered.runs.add(row.id)
        self._runs[row.id], self._saved[row.n] = row, steering
        self._sure.add(row.id)
        if writes.journal:
            self._wrote[row.id] = row.seq
            first = key(row.n, 0)
            for line in writes.journal:
                gathered.journal.append((first | line.seq, line.epoch, line.body, line.head))
        if writes.interrupts or writes.blobs or writes.request:
            self._gather_more(row, writes)

    def _gather_more(self, row: RunRow, writes: Writes) -> None:
        gathered = self._gathered
        gathered.more = True
        for interrupt in writes.interrupts.values():
            gathered.interrupts.append(interrupt_values(row.n, interrupt))
        for digest, body in writes.blobs.items():
            gathered.blobs.append((row.n, digest, body))
        if writes.request:
            gathered.requests.append((row.n, *writes.request))

    def flush(self) -> None:
        """See `Book.flush`. A run waits here at most once, so the order of the tables does not
        matter."""
        gathered, self._gathered = self._gathered, Gathered()
        write = self._db.executemany
        if gathered.changed:
            write(_UPDATE, gathered.changed)
        if gathered.advanced:
            write(_ADVANCE, gathered.advanced)
        if gathered.journal:
            write(_APPEND, gathered.journal)
        if gathered.more:
            self._flush_more(gathered)

    def _flush_more(self, gathered: Gathered) -> None:
        write = self._db.executemany
        if gathered.interrupts:
            write(_INTERRUPT, gathered.interrupts)
        if gathered.beats:
            write(BEAT, list(gathered.beats.items()))
        if gathered.lines:
            write("insert into audit values (?, ?, ?, ?)", gathered.lines)
            write(_LINE, [(scope, n, head) for scope, n, _, head in gathered.lines])
        if gathered.touched:
            write("insert into touched values (?, ?) on conflict do nothing", gathered.touched)
        for sql, rows in (
            ("insert into request values (?, ?, ?, ?)", gathered.requests),
            ("insert or ignore into blob values (?, ?, ?)", gathered.blobs),
            (_LETTER, gathered.letters),
            (_WAKE, gathered.wakes),
        ):
            if rows:
                write(sql, rows)

    def _write_rare(self, writes: Writes) -> None:
        db = self._db
        for worker in writes.gone:
            db.execute(FORGET, (worker,))
            self._until.pop(worker, None)
        if writes.put_halts or writes.drop_halts:
            self._halts = None
        for halt in writes.put_halts:
            db.execute(
                "insert into halt values (?, ?, ?, ?)", (halt.scope, halt.by, halt.reason, halt.at)
            )
        for scope in writes.drop_halts:
            db.execute("delete from halt where scope = ?", (scope,))
        for hold in writes.put_holds:
            db.execute(
                "insert into hold values (?, ?, ?, ?)", (hold.scope, hold.by, hold.reason, hold.at)
            )
        for scope in writes.drop_holds:
            db.execute("delete from hold where scope = ?", (scope,))
        if writes.signed is not None:
            self._signed = None
            db.execute("delete from meta where key = 'signed'")
            if writes.signed:
                db.execute("insert into meta values ('signed', 'yes')")
        if misfit := writes.misfit:
            db.execute(_MISFIT, (misfit.seq, msgspec.json.encode(misfit).decode(), misfit.run))
        write_cards(db, writes)
        self._write_outbox(writes)
        self._write_wakes(writes)
        if seal := writes.seal:
            values = astuple(seal)
            db.execute(f"insert into seal ({SEAL}) values ({', '.join('?' * len(values))})", values)
            if writes.untouch is not None:
                db.execute("delete from touched where scope <= ?", (writes.untouch,))

    def _write_outbox(self, writes: Writes) -> None:
        db = self._db
        if writes.put_endpoints or writes.drop_endpoints:
            self._endpoints = None
        for put in writes.put_endpoints:
            values = (put.name, put.kind, put.url, put.secret, "\n".join(put.topics), put.at)
            db.execute("insert or replace into endpoint values (?, ?, ?, ?, ?, ?)", values)
        for name in writes.drop_endpoints:
            db.execute("delete from endpoint where name = ?", (name,))
            db.execute("delete from letter where endpoint = ?", (name,))
        sql = "update letter set state = ?, tries = ?, due_at = ?, error = ? where n = ?"
        for letter in writes.put_letters:
            db.execute(sql, (letter.state, letter.tries, letter.due_at, letter.error, letter.n))
        for number in writes.drop_letters:
            db.execute("delete from letter where n = ?", (number,))

    def _write_wakes(self, writes: Writes) -> None:
        db = self._db
        if writes.waking is not None:
            self._waking = None
            db.execute("delete from meta where key = 'wakes'")
            if writes.waking:
                db.execute("insert into meta values ('wakes', 'yes')")
            else:
                db.execute("delete from wake")
        for wake in writes.put_wakes:
            db.execute("update wake set not_before = ? where n = ?", (wake.not_before, wake.n))
        for number in writes.drop_wakes:
            db.execute("delete from wake where n = ?", (number,))
