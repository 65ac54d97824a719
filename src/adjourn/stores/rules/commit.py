"""What a worker commits: its facts and moves, in one transaction, and what is asked of each before it is
appended."""

from collections.abc import Sequence
from functools import partial

from adjourn.core.authority import NONE_STANDS, Support, objection
from adjourn.core.halt import halted
from adjourn.core.record_codec import dump
from adjourn.core.record_parts import stamped
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Checked,
    Closed,
    Decided,
    Fact,
    Intended,
    Late,
    Move,
    Suspended,
    Upgraded,
)
from adjourn.core.signatures import Trust, is_genuine
from adjourn.core.status import ENDED
from adjourn.core.upgrade_rule import flaw
from adjourn.errors import LeaseLost, Refused, Unauthorised, bare
from adjourn.stores.audit import chain
from adjourn.stores.protocol import Committed, Lease
from adjourn.stores.rows import parsed
from adjourn.stores.rules.audit_lines import LISTED, NAMED, audit_deadline, audit_veto
from adjourn.stores.rules.journal import append, needs
from adjourn.stores.rules.lease import NOT_WRITTEN, held_row, size_of
from adjourn.stores.rules.names import check_record
from adjourn.stores.rules.outbox import tell
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.rules.votes import agreed
from adjourn.stores.run_row import RunRow, stored

UPGRADE = "upgrade"
"""The verb of the audit."""


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
    row = held_row(sheet, lease)
    if row.seq < seen:
        raise LeaseLost(
            f"run {bare(lease.run)} has {row.seq} records, but worker {bare(lease.worker)} has seen {seen}: "
            "the store was restored from a backup",
            consequence=NOT_WRITTEN,
        )
    halts = sheet.halted()
    tail = sheet.tail(seen) if row.seq > seen else []
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
        size += size_of(tail)
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
        unseen, seq, clean and not first, halts, head, size_of(tail[: last + 1]), sheet.now
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
    found = sheet.interrupt(intended.grant) if intended.grant else None
    if found is None:
        raise Unauthorised(row.id, intended.call, intended.tool, "no person was asked")
    asked = sheet.opening(found.seq)
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
