"""What a worker does with a run that it holds: acquire, renew, release, commit."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from adjourn.core.authority import NONE_STANDS, Support, objection
from adjourn.core.halt import halted
from adjourn.core.record_codec import dump
from adjourn.core.record_parts import stamped
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Checked,
    Claimed,
    Closed,
    Decided,
    Fact,
    Intended,
    Late,
    Move,
    Released,
    Suspended,
    Upgraded,
)
from adjourn.core.signatures import Trust, is_genuine
from adjourn.core.status import ENDED, RUNNABLE
from adjourn.core.upgrade_rule import flaw
from adjourn.errors import LeaseBusy, LeaseLost, Refused, RunErased, StoreError, Unauthorised, bare
from adjourn.stores.audit import chain
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Committed, Lease
from adjourn.stores.rows import parsed
from adjourn.stores.rules.journal import LISTED, NAMED, append, needs
from adjourn.stores.rules.names import check_names, check_record
from adjourn.stores.rules.outbox import tell
from adjourn.stores.rules.transaction import Each, Find, Sheet, StoreRule, need, opened_by
from adjourn.stores.rules.unasked_audit import audit_deadline, audit_veto
from adjourn.stores.rules.values import ReadRequest
from adjourn.stores.rules.votes import agreed
from adjourn.stores.run_row import RunRow, stored

UPGRADE = "upgrade"
"""The verb of the audit."""
NOT_WRITTEN = "nothing of this worker was written"


class Taken(msgspec.Struct, frozen=True, gc=False):
    """Who wants to take which run, and from whom. See `Store.acquire`."""

    run: str
    worker: str
    ttl: float
    after: int = 0
    head: bytes = b""
    replaces: tuple[str, ...] = ()
    spares: str = ""
    whole: bool = True
    """Whether the lease carries records: those after `after`."""


def claiming(find: Find, worker: str, ttl: float, after: Mapping[str, tuple[int, bytes]]) -> Each:
    """See `Store.claim`."""
    gone, spares = find.replaces, find.spares

    def rule(run: str) -> StoreRule:
        known = after.get(run)
        seq, head = known or (0, b"")
        return acquiring(Taken(run, worker, ttl, seq, head, gone, spares, whole=known is not None))

    return Each(find, rule, light=True)


def acquiring(taken: Taken) -> StoreRule:
    """See `Store.acquire`."""
    if taken.head:
        known = taken.after
    else:
        known = 0
    if taken.whole:
        tail = taken.after
    else:
        tail = -1
    ask = ReadRequest(
        taken.run, tail=tail, head_at=known, halts=True, owner=True, queue=True, erasures=True
    )
    return StoreRule(ask, partial(acquire, taken=taken), light=True)


def acquire(sheet: Sheet, taken: Taken) -> Lease | None:
    """See `Store.acquire`."""
    now = sheet.now
    check_names(worker=taken.worker)
    row = need(sheet, taken.run)
    if row.erased:
        return None
    if taken.head and sheet.head_at(taken.after) != taken.head:
        text = (
            f"record {taken.after} is not the one that its worker knows: the store was "
            f"restored or replaced under it"
        )
        raise StoreError(f"run {row.id!r}: {text}", consequence="nothing was changed")
    halts = sheet.halted()
    owner, until = row.worker, sheet.until
    if is_held(owner, until, now, taken.replaces, taken.spares):
        raise LeaseBusy(f"worker {bare(row.worker)} is running run {bare(row.id)}")
    if not row.due(now, halts) or sheet.ahead:
        return None
    lost, ready_at = until > 0 and owner != taken.worker, _ready_at(row)
    row.epoch += 1
    row.worker = taken.worker
    sheet.beat(taken.worker, now + taken.ttl)
    claim = Claimed(epoch=row.epoch, worker=taken.worker, lost=lost)
    append(sheet, row, row.epoch, stamped(claim, now))
    sheet.save(row)
    if owner and owner != taken.worker:
        sheet.forget_worker(owner)
    if taken.whole:
        tail = sheet.tail(taken.after)
    else:
        tail = []
    records = parsed(tail)
    return Lease(
        row.id,
        taken.worker,
        row.epoch,
        row.seq,
        records,
        halts,
        None,
        row.head,
        _size(tail),
        now,
        sheet.erasures,
        ready_at,
        lost,
    )


def _ready_at(row: RunRow) -> float:
    """Since when a run that is due could be taken; 0 if that is not known."""
    if row.worker:
        return 0.0
    if row.status in RUNNABLE:
        return row.updated_at
    return row.wake_at


def is_held(owner: str, until: float, now: float, replaces: Sequence[str], spares: str) -> bool:
    """Whether another worker has the run. One that is spared has it however much time has passed,
    unless it has said that it works no more."""
    if not owner or owner in replaces or not until:
        return False
    spared = bool(spares) and owner.startswith(spares)
    return spared or until > now


def _held(sheet: Sheet, lease: Lease) -> RunRow:
    row = need(sheet, lease.run)
    if row.erased:  # also what a body comes to late is not recorded
        raise RunErased(row.id, row.title)
    if row.epoch != lease.epoch:
        raise LeaseLost(
            (
                f"another worker (epoch {row.epoch}) has run {bare(lease.run)}; worker "
                f"{bare(lease.worker)} had epoch {lease.epoch}"
            ),
            consequence=NOT_WRITTEN,
        )
    return row


def renewing(lease: Lease, ttl: float) -> StoreRule:
    """See `Store.renew`."""
    return StoreRule(ReadRequest(lease.run), lambda sheet: renew(sheet, lease, ttl), light=True)


def renew(sheet: Sheet, lease: Lease, ttl: float) -> None:
    """See `Store.renew`."""
    row = _held(sheet, lease)
    if row.worker == lease.worker:
        sheet.beat(lease.worker, sheet.now + ttl)


def releasing(lease: Lease, released: Released) -> StoreRule:
    """See `Store.release`."""
    return StoreRule(
        ReadRequest(lease.run), lambda sheet: release(sheet, lease, released), light=True
    )


def release(sheet: Sheet, lease: Lease, released: Released) -> None:
    """See `Store.release`."""
    row = sheet.row
    if row is not None and row.epoch == lease.epoch and row.worker == lease.worker:
        append(sheet, row, row.epoch, stamped(released, sheet.now))
        row.worker = ""
        sheet.save(row)


def misfitting(misfit: Misfit) -> StoreRule:
    """The first half of `Store.misfits`: a worker says why it cannot advance a run."""

    def work(sheet: Sheet) -> None:
        if sheet.row is not None:
            sheet.put_misfit(misfit)

    return StoreRule(ReadRequest(misfit.run), work, light=True)


def committing(lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], seen: int) -> StoreRule:
    """See `Store.commit`."""
    records = (*facts, *moves)
    need = needs(records)
    tail = 0 if need.whole else seen
    gated = need.openings
    ask = ReadRequest(
        lease.run,
        tail,
        seen,
        opens=need.opens,
        named=need.named,
        lives=need.lives,
        all_interrupts=need.whole,
        openings=gated,
        halts=True,
        endpoints=need.told,
        signed=gated,
        audit=(lease.run,) if need.audited else (),
    )
    work = partial(commit, lease=lease, facts=facts, moves=moves, seen=seen)
    return StoreRule(ask, work, light=not records)


def commit(
    sheet: Sheet, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], seen: int
) -> Committed:
    """See `Store.commit`."""
    row = _held(sheet, lease)
    if row.seq < seen:
        raise LeaseLost(
            f"run {bare(lease.run)} has {row.seq} records, but worker {bare(lease.worker)} has seen {seen}: "
            "the store was restored from a backup",
            consequence=NOT_WRITTEN,
        )
    halts = sheet.halted()
    if row.seq > seen:
        tail = sheet.tail(seen)
    else:
        tail = []
    if tail and (landed := _landed(sheet, tail, facts, moves, seen, halts)):
        return landed
    if row.status in ENDED and (
        moves or not facts or not all(type(fact) is Late for fact in facts)
    ):
        raise Refused(lease.run, "commit to", row.status.value)
    unseen = parsed(tail) if tail else []
    clean = not unseen and not (halts and any(halted(move, row.program, halts) for move in moves))
    appended = (*facts, *moves) if clean else facts
    for record in appended:
        record = stamped(record, sheet.now)
        if type(record) in _ADMITTED:
            _admit(sheet, row, record, lease)
        append(sheet, row, lease.epoch, record)
    sheet.save(row)
    tell(sheet, row, appended)
    size = sheet.size
    if tail:
        size += _size(tail)
    files = tuple(sheet.files)
    return Committed(unseen, row.seq, clean, halts, row.head, size, sheet.now, files)


_ADMITTED = frozenset({Intended, Decided, Asked, Suspended, Upgraded, Closed, Checked})


def _admit(sheet: Sheet, row: RunRow, record: AnyRecord, lease: Lease) -> None:
    """What is asked of a worker's record before it is appended; raises if it may not be. Of those
    that are not `_ADMITTED`, which is most of a journal, nothing is."""
    if type(record) is Intended and (record.gate or record.grant):
        _authorised(sheet, row, record, sheet.now, lease.trust)
    if type(record) is Decided:
        from adjourn.stores.rules.standing_decisions import admit_use

        admit_use(sheet, row, record, lease.trust)
    if type(record) is Asked or type(record) is Suspended:
        check_record(record)
    if type(record) is Upgraded:
        _admit_upgrade(sheet, row, record, lease.worker)
    if type(record) is Closed or type(record) is Asked:
        audit_deadline(sheet, row, record)
    if type(record) is Checked:
        audit_veto(sheet, row, record)


def _size(lines: Sequence[tuple[int, str]]) -> int:
    return sum(len(body) for _, body in lines)


def _landed(
    sheet: Sheet,
    tail: list[tuple[int, str]],
    facts: Sequence[Fact],
    moves: Sequence[Move],
    seen: int,
    halts: frozenset[str],
) -> Committed | None:
    """What a commit gave whose answer was lost: its worker makes it again, and its records are here
    already."""
    salt = sheet.row.salt if sheet.row is not None else b""
    lines = [stored(salt, dump(record)) for record in (*facts, *moves) if record.at]
    bodies = [body for _, body in tail]
    if not lines or lines[0] not in bodies:
        return None
    first = bodies.index(lines[0])
    clean = bodies[first : first + len(lines)] == lines
    last = first + len(lines if clean else facts) - 1
    seq, unseen = tail[last][0], parsed(tail[:first])
    head = sheet.head_at(seen)
    for body in bodies[: last + 1]:
        head = chain(head, body)
    return Committed(
        unseen, seq, clean and not first, halts, head, _size(tail[: last + 1]), sheet.now
    )


def _admit_upgrade(sheet: Sheet, row: RunRow, upgraded: Upgraded, worker: str) -> None:
    """An upgrade changes nothing that has happened: asked of the whole journal, here and now. The
    audit says what it is."""
    records = [record for _, record in parsed(sheet.tail(0))]
    if why := flaw(records, upgraded):
        raise Refused(row.id, UPGRADE, row.status.value, why)
    told = [what[:NAMED] for what in upgraded.changes[:LISTED]]
    sheet.audited(
        row.id, {"verb": UPGRADE, "by": worker, "from": "", "seq": row.seq + 1, "changes": told}
    )


def _authorised(
    sheet: Sheet, row: RunRow, intended: Intended, now: float, trust: Trust | None
) -> None:
    """Behind a gated intent stand decisions, here and now: from the records that say so, whatever
    led to it."""
    if intended.grant:
        found = sheet.interrupt(intended.grant)
    else:
        found = None
    if found is None:
        raise Unauthorised(row.id, intended.call, intended.tool, "no person was asked")
    asked = opened_by(sheet, found)
    if not isinstance(asked, Asked):
        raise Unauthorised(row.id, intended.call, intended.tool, "people were asked something else")
    decisions = agreed(sheet, found)
    again = found.lives == intended.call and intended.effect in ("read", "idempotent")
    spent = (
        bool(found.lives) and not again and not all(decided.scope == "run" for decided in decisions)
    )
    standing = NONE_STANDS
    if intended.standing:
        from adjourn.stores.rules.standing_decisions import behind

        standing = behind(sheet, [intended.standing])
    why = objection(
        row.id,
        intended,
        asked,
        decisions,
        frozenset(row.requesters),
        now,
        spent,
        Support(lambda decided: is_genuine(trust, row.id, asked, decided, standing), standing),
    )
    if trust is None and sheet.is_signed():
        why = (
            "decisions in this store are signed, and its worker has no deciders to verify them with"
        )
    if found.state != "decided":
        why = why or f"its question is {found.state}"
    if why:
        raise Unauthorised(row.id, intended.call, intended.tool, why)
