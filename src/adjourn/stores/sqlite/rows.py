"""Runs and what belongs to them as rows of SQLite: what a rule asks for is read, and what it says
is written."""

from collections.abc import Sequence
from itertools import starmap
from typing import Any

import msgspec

from adjourn.core.codec import decode, encode
from adjourn.core.interrupt import Interrupt
from adjourn.core.status import Status
from adjourn.stores.erasure import Hold
from adjourn.stores.misfit import Misfit
from adjourn.stores.notification import Endpoint, Notification
from adjourn.stores.rows import first_column
from adjourn.stores.rules.filters import shown
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal

RUN = (
    "id",
    "kind",
    "program",
    "session",
    "labels",
    "title",
    "input_digest",
    "seq",
    "head",
    "status",
    "epoch",
    "worker",
    "lease_until",
    "wake_at",
    "blocked",
    "opens",
    "errors",
    "stopped",
    "created_at",
    "updated_at",
    "requesters",
    "salt",
    "erased",
    "chapter",
    "n",
)
_UNTIL = "coalesce((select until from worker where worker.id = run.worker), 0.0) as lease_until"
COLUMNS = ", ".join(_UNTIL if name == "lease_until" else name for name in RUN)
TAIL = "select seq, body from journal where key > ? and key < ? and body is not null order by key"
ENDED_RUNS = (  # the status is written out: only then its small index is used
    f"select {COLUMNS} from run indexed by run_{{status}} where status = '{{status}}' and "
    f"updated_at <= ? and (updated_at, id) < (?, ?) "
    "order by updated_at desc, id desc limit ?"
)
LETTER = Notification.__struct_fields__
SEAL = ", ".join(Seal.__struct_fields__)
INTERRUPT = (
    "i, seq, kind, state, digest, event, expires, undoing, approvers, by, votes, lives, "
    "disowned, rank, opened_at, type, tool, "
    "groups"
)
_misfit = msgspec.json.Decoder(Misfit)
_STATUS = {status.value: status for status in Status}


def key(run: int, seq: int) -> int:
    """The key of a run's record: all of a run's lie together, in order."""
    return run << 32 | seq


def run_row(row: Any) -> RunRow:
    """A row of `COLUMNS` as a `RunRow`."""
    (
        id,
        kind,
        program,
        session,
        labels,
        title,
        input_digest,
        seq,
        head,
        status,
        epoch,
        worker,
        lease_until,
        wake_at,
        blocked,
        opens,
        errors,
        stopped,
        created_at,
        updated_at,
        requesters,
        salt,
        erased,
        chapter,
        number,
    ) = row
    return RunRow(
        id,
        kind,
        program,
        session,
        decode(labels) if labels != "{}" else {},
        title,
        input_digest,
        seq,
        head,
        _STATUS[status],
        epoch,
        worker,
        lease_until,
        wake_at,
        tuple(blocked.split("\n")) if blocked else (),
        opens,
        errors,
        bool(stopped),
        created_at,
        updated_at,
        number,
        names_of(requesters),
        salt,
        erased,
        chapter,
    )


def interrupt_row(row: Any) -> InterruptRow:
    """A row of `INTERRUPT` as an `InterruptRow`."""
    (
        id,
        seq,
        kind,
        state,
        digest,
        event,
        expires,
        undoing,
        approvers,
        by,
        votes,
        lives,
        disowned,
        rank,
        opened_at,
        type,
        tool,
        groups,
    ) = row
    if votes not in ("[]", "{}"):
        named: dict[str, int] = decode(votes)
    else:
        named = {}
    return InterruptRow(
        id,
        seq,
        kind,
        state,
        digest,
        event,
        expires,
        bool(undoing),
        approvers,
        by,
        named,
        lives,
        names_of(disowned),
        rank,
        opened_at,
        type,
        tool,
        names_of(groups),
    )


def names_of(text: str) -> tuple[str, ...]:
    """Names as they are kept in a column; "" for none."""
    if text:
        return tuple(decode(text))
    return ()


def inbox_item(db: Any, row: Any) -> Interrupt:
    """An inbox item with who has agreed so far, from (run, seq, body, votes, requesters, number of
    the run, disowned)."""
    run, seq, body, votes, requesters, number, disowned = row
    decisions: Sequence[str] = ()
    if votes not in ("[]", "{}"):
        found: dict[str, int] = decode(votes)
        sql = "select body from journal where key = ?"
        decisions = [db.execute(sql, (key(number, at),)).fetchone()[0] for at in found.values()]
    return shown(run, seq, body, decisions, names_of(requesters), names_of(disowned))


def store_id(db: Any) -> str:
    """The random id that was made with the file; "" if somebody has taken it away."""
    found = db.execute("select value from meta where key = 'store'").fetchone()
    return found[0] if found else ""


def misfits(db: Any, runs: Sequence[str]) -> list[Misfit]:
    """See `Store.misfits`."""
    sql = (
        "select m.body from misfit m join run r on r.n = m.run and r.seq = m.seq "
        "where r.status not in ('completed', 'cancelled') and (?1 = '[]' or r.id in (select "
        "value from json_each(?1))) order by r.n"
    )
    return list(map(_misfit.decode, first_column(db.execute(sql, (encode(list(runs)).decode(),)))))


def holds(db: Any) -> list[Hold]:
    """The legal holds that are on."""
    return list(starmap(Hold, db.execute("select scope, by, reason, at from hold order by at")))


def is_signed(db: Any) -> bool:
    """Whether decisions must carry a seal."""
    return (
        db.execute("select 1 from meta where key = 'signed' and value = 'yes'").fetchone()
        is not None
    )


def erasures(db: Any) -> int:
    """How many runs were erased."""
    found = db.execute("select value from meta where key = 'erasures'").fetchone()
    return int(found[0]) if found else 0


def is_waking(db: Any) -> bool:
    """Whether wakes are wanted."""
    return (
        db.execute("select 1 from meta where key = 'wakes' and value = 'yes'").fetchone()
        is not None
    )


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
