"""What a worker does with a run that it holds: acquire, renew, release, commit."""

from collections.abc import Sequence

import msgspec

from adjourn.core.authority import (
    objection,
)
from adjourn.core.halt import halted
from adjourn.core.records import (
    Asked,
    Claimed,
    Fact,
    Intended,
    Late,
    Move,
    Released,
    Upgraded,
    dump,
    parse,
)
from adjourn.core.signatures import Trust, is_genuine
from adjourn.core.status import ENDED
from adjourn.core.upgrade_rule import flaw
from adjourn.errors import (
    LeaseBusy,
    LeaseLost,
    Refused,
    RunErased,
    StoreError,
    Unauthorised,
)
from adjourn.stores.audit import audited
from adjourn.stores.outbox import tell
from adjourn.stores.rules.journal import LISTED, NAMED, agreed, append
from adjourn.stores.rules.transaction import Tx, need, opened_by, stamped
from adjourn.stores.store import Committed, Lease, RunRow

UPGRADE = "upgrade"
"""The verb of the audit."""


class Taken(msgspec.Struct, frozen=True):
    """Who wants to take which run, and from whom. See `Store.acquire`."""

    run: str
    worker: str
    ttl: float
    after: int = 0
    head: bytes = b""
    replaces: str = ""
    spares: str = ""


def acquire(tx: Tx, now: float, taken: Taken) -> Lease | None:
    """See `Store.acquire`."""
    row = need(tx, taken.run)
    if row.erased:
        return None
    if taken.head and _head_at(tx, row, taken.after) != taken.head:
        text = f"record {taken.after} is not the one that its worker knows: the store was restored or replaced under it"
        raise StoreError(f"run {row.id!r}: {text}. Nothing was changed")
    halts = frozenset(h.scope for h in tx.halts())
    owner, until = row.worker, tx.until(row.worker) if row.worker else 0.0
    if _is_held(owner, until, now, taken):
        raise LeaseBusy(f"run {row.id!r} is being advanced by {row.worker!r}")
    if not row.due(now, halts):
        return None
    row.epoch += 1
    row.worker = taken.worker
    tx.beat(taken.worker, now + taken.ttl)
    claim = Claimed(epoch=row.epoch, worker=taken.worker, lost=until > 0 and owner != taken.worker)
    append(tx, row, row.epoch, stamped(claim, now))
    tx.save(row)
    if owner and owner != taken.worker:
        tx.forget_worker(owner)
    records = [(seq, parse(body)) for seq, body in tx.tail(row, taken.after)]
    return Lease(row.id, taken.worker, row.epoch, row.seq, records, halts, head=row.head)


def _head_at(tx: Tx, row: RunRow, seq: int) -> bytes:
    """The hash of the chain at a record; b"" if there is none."""
    if seq == row.seq:
        return row.head
    return tx.head_at(row, seq) if 0 < seq < row.seq else b""


def _is_held(owner: str, until: float, now: float, taken: Taken) -> bool:
    """Whether another worker has the run. One that is spared has it however much time has passed, unless it has said
    that it works no more."""
    if not owner or owner == taken.replaces or not until:
        return False
    spared = bool(taken.spares) and owner.startswith(taken.spares)
    return spared or until > now


def _held(tx: Tx, lease: Lease) -> RunRow:
    row = need(tx, lease.run)
    if row.erased:  # also what a body comes to late is not recorded
        raise RunErased(row.id, row.title)
    if row.epoch != lease.epoch:
        raise LeaseLost(f"run {lease.run!r} is at epoch {row.epoch}; {lease.worker!r} had {lease.epoch}")
    return row


def renew(tx: Tx, now: float, lease: Lease, ttl: float) -> None:
    """See `Store.renew`."""
    row = _held(tx, lease)
    if row.worker == lease.worker:
        tx.beat(lease.worker, now + ttl)


def release(tx: Tx, now: float, lease: Lease, released: Released) -> None:
    """See `Store.release`."""
    row = tx.run(lease.run)
    if row is not None and row.epoch == lease.epoch and row.worker == lease.worker:
        append(tx, row, row.epoch, stamped(released, now))
        row.worker = ""
        tx.save(row)


def commit(tx: Tx, now: float, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], seen: int) -> Committed:
    """See `Store.commit`."""
    row = _held(tx, lease)
    if row.seq < seen:
        raise LeaseLost(
            f"run {lease.run!r} has {row.seq} records; {lease.worker!r} has seen {seen}: the store was restored under it"
        )
    halts = frozenset(h.scope for h in tx.halts())
    tail = tx.tail(row, seen) if row.seq > seen else []
    if tail and (landed := _landed(tx, row, tail, facts, moves, halts)):
        return landed
    if row.status in ENDED and (moves or not facts or not all(type(fact) is Late for fact in facts)):
        raise Refused(lease.run, "commit to", row.status.value)
    unseen = [(seq, parse(body)) for seq, body in tail]
    clean = not unseen and not (halts and any(halted(m, row.program, halts) for m in moves))
    appended = (*facts, *moves) if clean else facts
    for record in appended:
        record = stamped(record, now)
        if type(record) is Intended and (record.gate or record.grant):
            _authorised(tx, row, record, now, lease.trust)
        if type(record) is Upgraded:
            _admit_upgrade(tx, row, record, lease.worker, now)
        append(tx, row, lease.epoch, record)
    tx.save(row)
    tell(tx, row, appended)
    return Committed(unseen, row.seq, clean, halts, row.head)


def _landed(
    tx: Tx,
    row: RunRow,
    tail: list[tuple[int, str]],
    facts: Sequence[Fact],
    moves: Sequence[Move],
    halts: frozenset[str],
) -> Committed | None:
    """What a commit gave whose answer was lost: its worker makes it again, and its records are here already."""
    lines = [dump(record) for record in (*facts, *moves) if record.at]
    bodies = [body for _, body in tail]
    if not lines or lines[0] not in bodies:
        return None
    first = bodies.index(lines[0])
    clean = bodies[first : first + len(lines)] == lines
    last = first + len(lines if clean else facts) - 1
    seq, unseen = tail[last][0], [(seq, parse(body)) for seq, body in tail[:first]]
    return Committed(unseen, seq, clean and not first, halts, _head_at(tx, row, seq))


def _admit_upgrade(tx: Tx, row: RunRow, upgraded: Upgraded, worker: str, now: float) -> None:
    """An upgrade changes nothing that has happened: asked of the whole journal, here and now. The audit says what it is."""
    if why := flaw([parse(body) for _, body in tx.tail(row, 0)], upgraded):
        raise Refused(row.id, UPGRADE, row.status.value, why)
    told = [what[:NAMED] for what in upgraded.changes[:LISTED]]
    audited(tx, now, row.id, {"verb": UPGRADE, "by": worker, "from": "", "seq": row.seq + 1, "changes": told})


def _authorised(tx: Tx, row: RunRow, intended: Intended, now: float, trust: Trust | None) -> None:
    """Behind a gated intent stand decisions, here and now: from the records that say so, whatever led to it."""
    found = tx.interrupt(row, intended.grant) if intended.grant else None
    if found is None:
        raise Unauthorised(row.id, intended.call, intended.tool, "nobody was asked")
    asked = opened_by(tx, row, found)
    if not isinstance(asked, Asked):
        raise Unauthorised(row.id, intended.call, intended.tool, "people were asked something else")
    decisions = agreed(tx, row, found)
    again = found.lives == intended.call and intended.effect in ("read", "idempotent")
    spent = bool(found.lives) and not again and not all(x.scope == "run" for x in decisions)
    why = objection(
        row.id, intended, asked, decisions, frozenset(row.requesters), now, spent,
        lambda decided: is_genuine(trust, row.id, asked, decided),
    )  # fmt: skip
    if trust is None and tx.is_signed():
        why = "decisions in this store are signed, and its worker has no deciders to verify them with"
    if found.state != "decided":
        why = why or f"its question is {found.state}"
    if why:
        raise Unauthorised(row.id, intended.call, intended.tool, why)
