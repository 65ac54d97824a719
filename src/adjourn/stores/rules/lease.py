"""What a worker does with a run that it holds: acquire, renew, release."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from adjourn.core.record_parts import stamped
from adjourn.core.records import Claimed, Released
from adjourn.core.status import RUNNABLE
from adjourn.errors import LeaseBusy, LeaseLost, RunErased, StoreError, bare
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Lease
from adjourn.stores.rows import parsed
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import check_names
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet, need
from adjourn.stores.rules.transaction import Each, Find, StoreRule
from adjourn.stores.run_row import RunRow

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
    known = taken.after if taken.head else 0
    tail = taken.after if taken.whole else -1
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
            f"record {taken.after} differs from the one that its worker knows: the store was "
            "restored or replaced"
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
    tail = sheet.tail(taken.after) if taken.whole else []
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
        size_of(tail),
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


def held_row(sheet: Sheet, lease: Lease) -> RunRow:
    """The row of a leased run, or `LeaseLost`."""
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
    row = held_row(sheet, lease)
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


def size_of(lines: Sequence[tuple[int, str]]) -> int:
    """How many characters these lines have."""
    return sum(len(body) for _, body in lines)
