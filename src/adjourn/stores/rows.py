"""The row primitives of `rules.Tx`, in SQLite's SQL."""

from collections.abc import Sequence
from typing import Any

import msgspec

from adjourn.core.codec import decode, encode
from adjourn.core.interrupt import Interrupt
from adjourn.core.status import Status
from adjourn.stores.audit import AuditRow
from adjourn.stores.letter import Endpoint, Letter
from adjourn.stores.misfit import Misfit
from adjourn.stores.pulse import BEAT, FORGET
from adjourn.stores.rules.filters import shown
from adjourn.stores.rules.transaction import InterruptRow
from adjourn.stores.seals import Covered, Seal, sealed_head
from adjourn.stores.store import Halt, RunRow

_NAMES = (
    "id", "kind", "program", "session", "labels", "title", "input_digest", "seq", "head", "status", "epoch", "worker",
    "lease_until", "wake_at", "blocked", "opens", "errors", "stopped", "created_at", "updated_at", "requesters", "salt", "erased",
    "n",
)  # fmt: skip
_UNTIL = "coalesce((select until from worker where worker.id = run.worker), 0.0) as lease_until"
COLUMNS = ", ".join(_UNTIL if name == "lease_until" else name for name in _NAMES)
_STORED = tuple(name for name in _NAMES[:-1] if name != "lease_until")
_CHANGING = (
    "seq", "head", "status", "epoch", "worker", "wake_at", "blocked", "opens", "errors", "stopped",
    "requesters", "updated_at",
)  # fmt: skip
_SELECT = f"select {COLUMNS} from run where id = ?"
_INSERT = f"insert into run ({', '.join(_STORED)}) values ({', '.join('?' * len(_STORED))}) returning n"
_UPDATE = f"update run set {', '.join(f'{c} = ?' for c in _CHANGING)} where n = ?"
_ADVANCE = "update run set seq = ?, head = ?, updated_at = ? where n = ?"
TAIL = "select seq, body from journal where key > ? and key < ? and body is not null order by key"
LETTER = Letter.__struct_fields__
SEAL = ", ".join(Seal.__struct_fields__)
KNOWN = 4096
"""How many rows of runs are remembered between transactions."""
INTERRUPT = "i, seq, kind, state, digest, event, expires, undoing, approvers, by, votes, lives, disowned, rank"
_misfit = msgspec.json.Decoder(Misfit)
_STATUS = {s.value: s for s in Status}


def key(run: int, seq: int) -> int:
    """The key of a run's record: all of a run's lie together, in order."""
    return run << 32 | seq


def run_row(row: Any) -> RunRow:
    """A row of `COLUMNS` as a `RunRow`."""
    (id, kind, program, session, labels, title, input_digest, seq, head, status, epoch, worker,
     lease_until, wake_at, blocked, opens, errors, stopped, created_at, updated_at, requesters, salt, erased, n) = row  # fmt: skip
    return RunRow(
        id, kind, program, session, decode(labels) if labels != "{}" else {}, title, input_digest, seq, head, _STATUS[status],
        epoch, worker, lease_until, wake_at, tuple(blocked.split("\n")) if blocked else (), opens, errors, bool(stopped),
        created_at, updated_at, n, names_of(requesters), salt, erased,
    )  # fmt: skip


def interrupt_row(row: Any) -> InterruptRow:
    """A row of `INTERRUPT` as an `InterruptRow`."""
    i, seq, kind, state, digest, event, expires, undoing, approvers, by, votes, lives, disowned, rank = row
    named: dict[str, int] = decode(votes) if votes not in ("[]", "{}") else {}
    return InterruptRow(
        i, seq, kind, state, digest, event, expires, bool(undoing), approvers, by, named, lives, names_of(disowned),
        rank,
    )  # fmt: skip


def names_of(text: str) -> tuple[str, ...]:
    """Names as they are kept in a column; "" for none."""
    return tuple(decode(text)) if text else ()


def inbox_item(db: Any, row: Any) -> Interrupt:
    """An inbox item with who has agreed so far, from (run, seq, body, title, program, votes, requesters, number of the run,
    disowned)."""
    run, seq, body, _, _, votes, requesters, n, disowned = row
    decisions: list[str] = []
    if votes not in ("[]", "{}"):
        found: dict[str, int] = decode(votes)
        sql = "select body from journal where key = ?"
        decisions = [db.execute(sql, (key(n, at),)).fetchone()[0] for at in found.values()]
    return shown(run, seq, body, decisions, names_of(requesters), names_of(disowned))


class Rows:
    """`rules.Tx` over the one connection that writes.

    Runs and halts that were read are remembered from one transaction to the next, as long as the file's data version
    says that no other connection has written in between. Whoever takes a transaction back must `forget`.
    """

    def __init__(self, db: Any) -> None:  # apsw's types are not complete
        self._db = db
        self._version = -1
        self._runs: dict[str, RunRow] = {}
        self._saved: dict[int, tuple[Any, ...]] = {}
        self._halts: list[Halt] | None = None
        self._endpoints: list[Endpoint] | None = None
        self._signed: bool | None = None
        self._wrote: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def begun(self) -> None:
        """A transaction has begun, so the data version is that of the file: what others wrote ends what we know."""
        if self._db.data_version() != self._version or len(self._runs) > KNOWN:
            self.forget()

    def committed(self) -> None:
        """Our own transaction is in the file; from here on the data version changes only if others write."""
        self._version = self._db.data_version()

    def forget(self) -> None:
        """Read everything again."""
        self._version, self._halts, self._endpoints, self._signed = -1, None, None, None
        self._runs.clear()
        self._saved.clear()
        self._wrote.clear()
        self._until.clear()

    def head(self, id: str) -> int:
        """The seq that this connection has lately appended to a run, 0 if none; from any thread.

        Not the last it has read: that may be another's word, of which somebody here is still to be told.
        """
        return self._wrote.get(id, 0)

    def run(self, id: str) -> RunRow | None:
        """See `rules.Tx`."""
        known = self._runs.get(id)
        if known is None and (row := self._db.execute(_SELECT, (id,)).fetchone()):
            known = self._runs[id] = run_row(row)
            self._saved[known.n] = _steering(known)
        return known

    def insert(self, row: RunRow) -> None:
        """See `rules.Tx`."""
        values = (
            row.id, row.kind, row.program, row.session, encode(row.labels).decode(), row.title, row.input_digest,
            *_changing(row)[:10], row.created_at, row.updated_at, _names(row.requesters), row.salt, row.erased,
        )  # fmt: skip
        [(row.n,)] = self._db.execute(_INSERT, values).fetchall()
        self._runs[row.id], self._saved[row.n] = row, _steering(row)

    def save(self, row: RunRow) -> None:
        """See `rules.Tx`."""
        steering = _steering(row)
        if self._saved.get(row.n) == steering:  # then no index changes either
            self._db.execute(_ADVANCE, (row.seq, row.head, row.updated_at, row.n))
        else:
            self._db.execute(_UPDATE, (*_changing(row), row.n))
            self._saved[row.n] = steering

    def append(self, row: RunRow, seq: int, epoch: int, body: str, head: bytes) -> None:
        """See `rules.Tx`."""
        self._db.execute(
            "insert into journal (key, epoch, body, head) values (?, ?, ?, ?)", (key(row.n, seq), epoch, body, head)
        )
        self._wrote[row.id] = seq

    def tail(self, row: RunRow, after: int) -> list[tuple[int, str]]:
        """See `rules.Tx`."""
        return self._db.execute(TAIL, (key(row.n, after), key(row.n + 1, 0))).fetchall()

    def record(self, row: RunRow, seq: int) -> str:
        """See `rules.Tx`."""
        [(body,)] = self._db.execute("select body from journal where key = ?", (key(row.n, seq),)).fetchall()
        return body

    def head_at(self, row: RunRow, seq: int) -> bytes:
        """See `rules.Tx`."""
        [(head,)] = self._db.execute("select head from journal where key = ?", (key(row.n, seq),)).fetchall()
        return head

    def wipe(self, row: RunRow) -> None:
        """See `rules.Tx`."""
        db, whole = self._db, (key(row.n, 0), key(row.n + 1, 0))
        db.pragma("secure_delete", 1)  # what is deleted is overwritten at once; the rest is for `scrub`
        db.execute("update journal set body = null where key between ? and ?", whole)
        db.execute("update journal set head = x'' where key between ? and ? - 1", (whole[0], key(row.n, row.seq)))
        for table in ("interrupt", "request", "misfit"):
            db.execute(f"delete from {table} where run = ?", (row.n,))
        db.execute("delete from letter where run = ?", (row.id,))
        sql = "update run set labels = ?, title = ?, input_digest = ?, salt = ?, erased = ? where n = ?"
        db.execute(sql, (encode(row.labels).decode(), row.title, row.input_digest, row.salt, row.erased, row.n))
        db.execute("insert or replace into meta values ('scrub', 'yes')")

    def until(self, worker: str) -> float:
        """See `rules.Tx`."""
        if worker not in self._until:
            found = self._db.execute("select until from worker where id = ?", (worker,)).fetchone()
            self._until[worker] = found[0] if found else 0.0
        return self._until[worker]

    def beat(self, worker: str, until: float) -> None:
        """See `rules.Tx`."""
        self._db.execute(BEAT, (worker, until))
        self._until[worker] = until

    def forget_worker(self, worker: str) -> None:
        """See `rules.Tx`."""
        self._db.execute(FORGET, (worker,))
        self._until.pop(worker, None)

    def audit(self, entry: AuditRow) -> None:
        """See `audit.AuditTx`."""
        self._db.execute("insert into audit values (?, ?, ?, ?)", (entry.scope, entry.n, entry.body, entry.head))
        sql = "insert into audit_head values (?, ?, ?) on conflict (scope) do update set n = excluded.n, head = excluded.head"
        self._db.execute(sql, (entry.scope, entry.n, entry.head))

    def audit_head(self, scope: str) -> tuple[int, bytes]:
        """See `audit.AuditTx`."""
        found = self._db.execute("select n, head from audit_head where scope = ?", (scope,)).fetchone()
        return (found[0], found[1]) if found else (0, b"")

    def touch(self, scope: str, at: float) -> None:
        """See `audit.AuditTx`."""
        self._db.execute("insert into touched values (?, ?) on conflict do nothing", (scope, at))

    def store_id(self) -> str:
        """See `seals.SealTx`."""
        return store_id(self._db)

    def touched(self, most: int) -> list[Covered]:
        """See `seals.SealTx`."""
        sql = (
            "select t.scope, coalesce(a.n, 0), lower(hex(a.head)), coalesce(r.seq, 0), coalesce(r.salt, x''), coalesce(r.head, x'') "
            "from touched t left join audit_head a on a.scope = t.scope left join run r on r.id = t.scope "
            "order by t.scope limit ?"
        )
        return [
            Covered(scope, n, line, seq, sealed_head(salt, head))
            for scope, n, line, seq, salt, head in self._db.execute(sql, (most,))
        ]

    def untouch(self, upto: str) -> None:
        """See `seals.SealTx`."""
        self._db.execute("delete from touched where scope <= ?", (upto,))

    def seal(self, k: int = 0) -> Seal | None:
        """See `seals.SealTx`."""
        where = "where k = ?1" if k else "where ?1 = 0 order by k desc limit 1"
        found = self._db.execute(f"select {SEAL} from seal {where}", (k,)).fetchone()
        return Seal(*found) if found else None

    def put_seal(self, seal: Seal) -> None:
        """See `seals.SealTx`."""
        values = tuple(getattr(seal, name) for name in Seal.__struct_fields__)
        self._db.execute(f"insert into seal ({SEAL}) values ({', '.join('?' * len(values))})", values)

    def interrupt(self, row: RunRow, i: str) -> InterruptRow | None:
        """See `rules.Tx`."""
        found = self._db.execute(f"select {INTERRUPT} from interrupt where run = ? and i = ?", (row.n, i)).fetchone()
        return interrupt_row(found) if found else None

    def open_interrupts(self, row: RunRow) -> list[InterruptRow]:
        """See `rules.Tx`."""
        if not row.opens:
            return []
        sql = f"select {INTERRUPT} from interrupt where run = ? and state = 'open' order by seq"
        return [interrupt_row(x) for x in self._db.execute(sql, (row.n,)).fetchall()]

    def lived_on(self, row: RunRow, call: str) -> list[InterruptRow]:
        """See `rules.Tx`."""
        sql = f"select {INTERRUPT} from interrupt where run = ? and lives = ?"
        return [interrupt_row(x) for x in self._db.execute(sql, (row.n, call)).fetchall()]

    def put_interrupt(self, row: RunRow, interrupt: InterruptRow) -> None:
        """See `rules.Tx`."""
        x = interrupt
        sql = (
            f"insert into interrupt (run, {INTERRUPT}, opened_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "on conflict (run, i) do update set state = excluded.state, by = excluded.by, votes = excluded.votes, "
            "lives = excluded.lives, disowned = excluded.disowned"
        )
        votes = encode(x.votes).decode()
        values = (
            row.n,
            x.i,
            x.seq,
            x.kind,
            x.state,
            x.digest,
            x.event,
            x.expires,
            int(x.undoing),
            x.approvers,
            x.by,
            votes,
            x.lives,
            _names(x.disowned),
            x.rank,
        )
        self._db.execute(sql, (*values, row.updated_at))

    def request(self, row: RunRow, id: str) -> tuple[int, str] | None:
        """See `rules.Tx`."""
        return self._db.execute("select seq, body from request where run = ? and id = ?", (row.n, id)).fetchone()

    def put_request(self, row: RunRow, id: str, seq: int, body: str) -> None:
        """See `rules.Tx`."""
        self._db.execute("insert into request values (?, ?, ?, ?)", (row.n, id, seq, body))

    def is_signed(self) -> bool:
        """See `rules.Tx`."""
        if self._signed is None:
            self._signed = is_signed(self._db)
        return self._signed

    def set_signed(self, required: bool) -> None:
        """See `rules.Tx`."""
        self._signed = None
        self._db.execute("delete from meta where key = 'signed'")
        if required:
            self._db.execute("insert into meta values ('signed', 'yes')")

    def halts(self) -> list[Halt]:
        """See `rules.Tx`."""
        if self._halts is None:
            found = self._db.execute("select scope, by, reason, at from halt order by at").fetchall()
            self._halts = [Halt(*row) for row in found]
        return list(self._halts)

    def put_halt(self, halt: Halt) -> None:
        """See `rules.Tx`."""
        self._halts = None
        self._db.execute("insert into halt values (?, ?, ?, ?)", (halt.scope, halt.by, halt.reason, halt.at))

    def drop_halt(self, scope: str) -> None:
        """See `rules.Tx`."""
        self._halts = None
        self._db.execute("delete from halt where scope = ?", (scope,))

    def put_misfit(self, misfit: Misfit) -> None:
        """See `Store.misfits`."""
        sql = (
            "insert into misfit select n, ?, ? from run where id = ? "
            "on conflict (run) do update set seq = excluded.seq, body = excluded.body"
        )
        self._db.execute(sql, (misfit.seq, msgspec.json.encode(misfit).decode(), misfit.run))

    def endpoints(self) -> list[Endpoint]:
        """See `outbox.OutboxTx`."""
        if self._endpoints is None:
            self._endpoints = endpoints(self._db)
        return self._endpoints

    def put_endpoint(self, endpoint: Endpoint) -> None:
        """See `outbox.OutboxTx`."""
        self._endpoints, x = None, endpoint
        values = (x.name, x.kind, x.url, x.secret, "\n".join(x.topics), x.at)
        self._db.execute("insert or replace into endpoint values (?, ?, ?, ?, ?, ?)", values)

    def drop_endpoint(self, name: str) -> None:
        """See `outbox.OutboxTx`."""
        self._endpoints = None
        self._db.execute("delete from endpoint where name = ?", (name,))
        self._db.execute("delete from letter where endpoint = ?", (name,))

    def post(self, letter: Letter) -> None:
        """See `outbox.OutboxTx`."""
        sql = f"insert into letter ({', '.join(LETTER[1:])}) values ({', '.join('?' * len(LETTER[1:]))})"
        self._db.execute(sql, tuple(getattr(letter, name) for name in LETTER[1:]))

    def letter(self, n: int) -> Letter | None:
        """See `outbox.OutboxTx`."""
        found = self._db.execute(f"select {', '.join(LETTER)} from letter where n = ?", (n,)).fetchone()
        return Letter(*found) if found else None

    def put_letter(self, letter: Letter) -> None:
        """See `outbox.OutboxTx`."""
        values = (letter.state, letter.tries, letter.due_at, letter.error, letter.n)
        self._db.execute("update letter set state = ?, tries = ?, due_at = ?, error = ? where n = ?", values)

    def drop_letter(self, n: int) -> None:
        """See `outbox.OutboxTx`."""
        self._db.execute("delete from letter where n = ?", (n,))

    def due_letters(self, now: float, limit: int, but: Sequence[str]) -> list[Letter]:
        """See `outbox.OutboxTx`."""
        sql = (
            f"select {', '.join(LETTER)} from letter x where state = 'due' and due_at <= ? and not exists (select 1 from letter o "
            "where o.endpoint = x.endpoint and o.run = x.run and o.state = 'due' and o.n < x.n) "
            "and endpoint not in (select value from json_each(?)) order by n limit ?"
        )
        return [Letter(*row) for row in self._db.execute(sql, (now, encode(list(but)).decode(), limit))]


def store_id(db: Any) -> str:
    """The random id that was made with the file; "" if somebody has taken it away."""
    found = db.execute("select value from meta where key = 'store'").fetchone()
    return found[0] if found else ""


def misfits(db: Any, runs: Sequence[str]) -> list[Misfit]:
    """See `Store.misfits`."""
    sql = (
        "select m.body from misfit m join run r on r.n = m.run and r.seq = m.seq "
        "where r.status not in ('completed', 'cancelled') and (?1 = '[]' or r.id in (select value from json_each(?1))) order by r.n"
    )
    return [_misfit.decode(body) for (body,) in db.execute(sql, (encode(list(runs)).decode(),))]


def is_signed(db: Any) -> bool:
    """Whether decisions must carry a seal."""
    return db.execute("select 1 from meta where key = 'signed' and value = 'yes'").fetchone() is not None


def endpoints(db: Any) -> list[Endpoint]:
    """Who is told of events."""
    found = db.execute("select name, kind, url, secret, topics, at from endpoint order by name").fetchall()
    return [Endpoint(n, kind, url, key, tuple(t.split("\n")) if t else (), at) for n, kind, url, key, t, at in found]


def _steering(row: RunRow) -> tuple[Any, ...]:
    """What a step on its way does not change."""
    return (
        row.status,
        row.epoch,
        row.worker,
        row.wake_at,
        row.blocked,
        row.opens,
        row.errors,
        row.stopped,
        row.requesters,
    )


def _changing(row: RunRow) -> tuple[Any, ...]:
    return (
        row.seq, row.head, row.status.value, row.epoch, row.worker, row.wake_at, "\n".join(row.blocked),
        row.opens, row.errors, int(row.stopped), _names(row.requesters), row.updated_at,
    )  # fmt: skip


def _names(names: tuple[str, ...]) -> str:
    return encode(list(names)).decode() if names else ""
