"""Runs and what belongs to them as rows of SQLite: what a rule asks for is read, and what it says
is written."""

from collections.abc import Collection, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

import apsw

from adjourn.core.codec import decode, encode
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord
from adjourn.core.status import Status
from adjourn.errors import UnknownRun
from adjourn.stores.erasure import Hold
from adjourn.stores.guest_threads import KEY, LAST
from adjourn.stores.item_note import ItemMark
from adjourn.stores.outbox import Endpoint, Notification
from adjourn.stores.rows import parsed
from adjourn.stores.rules.inbox_filter import BRIEFLY, shown
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow, opened_bytes
from adjourn.stores.seals import Seal

if TYPE_CHECKING:
    from adjourn.stores.secret_keys import KeyRing

RUN = RunRow.__struct_fields__
_UNTIL = "coalesce((select until from worker where worker.id = run.worker), 0.0) as lease_until"
COLUMNS = ", ".join(_UNTIL if name == "lease_until" else name for name in RUN)
TAIL = "select seq, body from journal where key > ? and key < ? and body is not null order by key"
_TOGETHER = (
    "select min(seq), max(seq), group_concat(body, char(10) order by key) from journal "
    "where key > ? and key < ? and body is not null"
)
FEW = 32
"""So many lines of a journal are read as one row. SQLite hands every row over by itself, and for
each of them the thread that reads may have to wait for the others of the process."""
ENDED_RUNS = (  # the status is written out: only then its small index is used
    f"select {COLUMNS} from run indexed by run_{{status}} where status = '{{status}}' and "
    f"updated_at <= ? and (updated_at, id) < (?, ?) "
    "order by updated_at desc, id desc limit ?"
)
_KEY = f"""
select wrapped from run_key where kid = ?1
union all select cast(body as text) from guest_row where tag = '{KEY}' || ?1 and tag <> ''
"""
_KEYS = f"""
select kid, wrapped from run_key
union all select substr(tag, {len(KEY) + 1}), cast(body as text) from guest_row
where tag between '{KEY}' and '{KEY}{LAST}' and tag <> ''
"""
_REWRAP = (
    "update run_key set wrapped = ?1 where kid = ?2",
    f"update guest_row set body = cast(?1 as blob) where tag = '{KEY}' || ?2 and tag <> ''",
)
MISFITS = (
    "select m.body from misfit m join run r on r.n = m.run and r.seq = m.seq "
    "where r.status not in ('completed', 'cancelled') and (:runs = '[]' or r.id in (select "
    "value from json_each(:runs))) order by r.n"
)
LETTER = Notification.__struct_fields__
SEAL = ", ".join(Seal.__struct_fields__)
INTERRUPT = ", ".join(InterruptRow.__struct_fields__)
_STATUS = {status.value: status for status in Status}
_TEXT = {status: text for text, status in _STATUS.items()}


def key(run: int, seq: int) -> int:
    """The key of a run's record: all of a run's lie together, in order."""
    return run << 32 | seq


def read_row(db: Any, run: str) -> RunRow:
    """See `Store.get`."""
    row = db.execute(f"select {COLUMNS} from run where id = ?", (run,)).fetchone()
    if row is None:
        raise UnknownRun(run)
    return run_row(row)


def read_journal(db: Any, run: str, after: int) -> list[tuple[int, AnyRecord]]:
    """See `Store.load`."""
    found = db.execute("select n, seq from run where id = ?", (run,)).fetchone()
    if found is None:
        raise UnknownRun(run)
    number, last = found
    return parsed(read_tail(db, number, after, last))


def read_tail(db: Any, run: int, after: int, last: int) -> list[tuple[int, str]]:
    """The lines after `after` of the run with this number, but those that were erased; `last` is
    about the last of them."""
    span = (key(run, after), key(run + 1, 0))
    if last - after <= FEW and (found := _read_together(db, span)) is not None:
        return found
    return db.execute(TAIL, span).fetchall()


def _read_together(db: Any, span: tuple[int, int]) -> list[tuple[int, str]] | None:
    """The lines between these keys, as one row; None if they have to be read one by one."""
    try:
        first, last, text = db.execute(_TOGETHER, span).fetchone()
    except apsw.TooBigError:
        return None
    if text is None:
        return []
    lines: list[str] = text.split("\n")  # JSON of one line has no other end of a line in it
    if len(lines) != last - first + 1:  # one between them was erased
        return None
    return list(enumerate(lines, first))


def run_row(row: Any) -> RunRow:
    """A row of `COLUMNS` as a `RunRow`."""
    found: Any = RunRow(*row)
    found.labels = decode(found.labels) if found.labels != "{}" else {}
    found.status = _STATUS[found.status]
    found.blocked = tuple(found.blocked.split("\n")) if found.blocked else ()
    found.stopped = bool(found.stopped)
    found.requesters = names_of(found.requesters)
    return found


def interrupt_row(row: Any) -> InterruptRow:
    """A row of `INTERRUPT` as an `InterruptRow`."""
    found: Any = InterruptRow(*row)
    found.undoing = bool(found.undoing)
    found.votes = decode(found.votes) if found.votes not in ("[]", "{}") else {}
    found.disowned, found.groups = names_of(found.disowned), names_of(found.groups)
    found.snoozed = decode(found.snoozed) if found.snoozed != "{}" else {}
    return found


def steering_values(row: RunRow) -> tuple[Any, ...]:
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
        row.chapter,
    )


def changing_values(row: RunRow) -> tuple[Any, ...]:
    """What a step may change, in the order of `CHANGING`."""
    return (
        row.seq,
        row.head,
        _TEXT[row.status],
        row.epoch,
        row.worker,
        row.wake_at,
        "\n".join(row.blocked),
        row.opens,
        row.errors,
        int(row.stopped),
        names_text(row.requesters),
        row.updated_at,
        row.chapter,
    )


def interrupt_values(run: int, row: InterruptRow) -> tuple[Any, ...]:
    """An interrupt of the run with this number, in the order of `INTERRUPT`."""
    return (
        run,
        row.i,
        row.seq,
        row.kind,
        row.state,
        row.digest,
        row.event,
        row.expires,
        int(row.undoing),
        row.approvers,
        row.by,
        encode(row.votes).decode(),
        row.lives,
        names_text(row.disowned),
        row.rank,
        row.opened_at,
        row.type,
        row.tool,
        names_text(row.groups),
        row.assigned,
        encode(row.snoozed).decode(),
        row.uses,
    )


def names_text(names: tuple[str, ...]) -> str:
    """Names as they are kept in a column, see `names_of`."""
    if names:
        return encode(list(names)).decode()
    return ""


def names_of(text: str) -> tuple[str, ...]:
    """Names as they are kept in a column; "" for none."""
    if text:
        return tuple(decode(text))
    return ()


def inbox_item(db: Any, row: Any) -> Interrupt:
    """An inbox item with who has agreed so far, from what `briefly` takes, and (body, votes,
    requesters, number of the run, disowned)."""
    body, votes, requesters, number, disowned = row[BRIEFLY:]
    decisions: Sequence[str] = ()
    if votes not in ("[]", "{}"):
        found: dict[str, int] = decode(votes)
        sql = "select body from journal where key = ?"
        decisions = [db.execute(sql, (key(number, at),)).fetchone()[0] for at in found.values()]
    return shown(row[:BRIEFLY], body, decisions, names_of(requesters), names_of(disowned))


def marks(db: Any, items: Sequence[tuple[str, str]]) -> dict[tuple[str, str], ItemMark]:
    """See `Store.marks`."""
    found: dict[tuple[str, str], ItemMark] = {}
    sql = (
        "select assigned, snoozed from interrupt where run = (select n from run where id = ?) "
        "and i = ? and (assigned <> '' or snoozed <> '{}')"
    )
    for item in items:
        for assigned, snoozed in db.execute(sql, item):
            found[item] = ItemMark(assigned, decode(snoozed))
    return found


def store_id(db: Any) -> str:
    """The random id that was made with the file; "" if somebody has taken it away."""
    found = db.execute("select value from meta where key = 'store'").fetchone()
    return found[0] if found else ""


def holds(db: Any) -> list[Hold]:
    """The legal holds that are on."""
    return list(starmap(Hold, db.execute("select scope, by, reason, at from hold order by at")))


def is_signed(db: Any) -> bool:
    """Whether decisions must carry a seal."""
    return _says(db, "signed")


def erasures(db: Any) -> int:
    """How many runs were erased."""
    found = db.execute("select value from meta where key = 'erasures'").fetchone()
    return int(found[0]) if found else 0


def is_waking(db: Any) -> bool:
    """Whether wakes are wanted."""
    return _says(db, "wakes")


def _says(db: Any, key: str) -> bool:
    sql = "select 1 from meta where key = ? and value = 'yes'"
    return db.execute(sql, (key,)).fetchone() is not None


def endpoints(db: Any) -> list[Endpoint]:
    """Who is told of events."""
    found: list[Endpoint] = []
    for name, kind, url, key, topics, at in db.execute(
        "select name, kind, url, secret, topics, at from endpoint order by name"
    ):
        found.append(
            Endpoint(name, kind, url, key, tuple(topics.split("\n")) if topics else (), at)
        )
    return found


def read_blobs(db: Any, run: str, digests: Collection[str] | None) -> dict[str, bytes]:
    """See `Store.blobs`."""
    sql = "select b.digest, b.body, r.salt from run r join blob b on b.run = r.n where r.id = ?"
    values = [run]
    if digests is not None:
        sql += " and b.digest in (select value from json_each(?))"
        values.append(encode(list(digests)).decode())
    return {digest: opened_bytes(salt, body) for digest, body, salt in db.execute(sql, values)}


def read_key(db: Any, kid: str) -> str | None:
    """The wrapped key of this id."""
    found = db.execute(_KEY, (kid,)).fetchone()
    return found[0] if found else None


def rewrap(db: Any, ring: "KeyRing") -> int:
    """See `Ruled.rewrap`; inside of a transaction."""
    from adjourn.stores.run_keys import rewrapped

    made = [(rewrapped(ring, kid, wrapped), kid) for kid, wrapped in db.execute(_KEYS)]
    for sql in _REWRAP:
        db.executemany(sql, made)
    return len(made)
