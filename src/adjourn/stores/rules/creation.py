"""How a run begins in a store: created, taken over from elsewhere, or cut from another one."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.files import check_blobs
from adjourn.core.record_parts import stamped
from adjourn.core.records import (
    AnyRecord,
    Claimed,
    Erased,
    Forked,
    Restored,
    Started,
)
from adjourn.core.state import input_text
from adjourn.core.upgrade_rule import objections
from adjourn.errors import Invalid, RunErased, RunExists, RunPruned
from adjourn.stores.rules.audit_lines import begins_by, begins_from
from adjourn.stores.rules.conversation_turns import check_after, follows
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import check_record, cleaned
from adjourn.stores.rules.outbox import tell
from adjourn.stores.rules.reads_and_writes import NOTHING, ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.signatures import check_sealed
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.run_row import MARKED, RunRow, hide, keyed_digest

if TYPE_CHECKING:
    from adjourn.stores.run_keys import NewRunKey


def creating(
    started: Started,
    rest: Sequence[AnyRecord],
    origin: str,
    blobs: Mapping[str, bytes] = NOTHING,
    key: "NewRunKey | None" = None,
) -> StoreRule:
    """See `Store.create`. `key`: it is encrypted with this one."""
    before = (started.before.run, started.before.seq) if started.before else None
    copied = _copied(started, rest)
    ask = ReadRequest(
        started.run,
        audit=(started.run, copied) if copied else (started.run,),
        endpoints=bool(rest),
        signed=bool(rest),
        halts=bool(rest),
        before=before,
        copied=copied,
        last=None if rest else follows(started),
    )
    check_blobs(started.run, (started.input, started.history), blobs)
    work = partial(create, started=started, rest=rest, origin=origin, blobs=blobs, key=key)
    return StoreRule(ask, work)


def create(
    sheet: Sheet,
    started: Started,
    rest: Sequence[AnyRecord],
    origin: str,
    blobs: Mapping[str, bytes] = NOTHING,
    key: "NewRunKey | None" = None,
) -> bool:
    """See `Store.create`."""
    started = stamped(msgspec.structs.replace(started), sheet.now)
    row = new_row(started)
    for record in (started, *rest):
        check_record(record)
    old = sheet.row
    if old is not None:
        if old.erased:
            raise RunErased(old.id, old.title)
        if old.input_digest != keyed_digest(old.salt, row.input_digest):
            raise RunExists(started.run)
        return False
    if sheet.is_audited(started.run):
        raise RunPruned(started.run)
    check_after(sheet, started, new=not rest)
    _check_copied(sheet, _copied(started, rest))
    _begin_chain(sheet, row, key)
    sheet.insert(row)
    sheet.put_blobs(blobs)
    kept = _fork_of(rest)
    told = {"by": started.by, "from": origin, "seq": 1 + len(rest), "agent": row.program}
    if any(isinstance(record, Erased) for record in rest):
        raise Invalid(
            f"run {started.run!r} cannot be imported: only a store can record that a run was erased"
        )
    sheet.audited(
        row.id, {"verb": begins_by(started, rest), **told, **begins_from(started, rest, kept)}
    )
    if rest and (wrong := next(objections((started, *rest)), "")):
        raise Invalid(f"run {started.run!r} cannot be imported: {wrong}")
    # a fork that is made here and now
    if kept is not None and kept.answers == "keep" and not kept.at:
        check_sealed(sheet, started.run, kept)
    for record in (started, *rest):
        append(
            sheet,
            row,
            0,
            record if record.at else stamped(msgspec.structs.replace(record), sheet.now),
        )
    if rest:  # an imported journal belongs to nobody here, and its epochs are over
        row.worker = ""
        row.epoch = _last_epoch(rest)
    sheet.save(row)
    # what happened was told elsewhere, but what is open waits for people here
    if rest and sheet.endpoints():
        tell(sheet, row, [sheet.opening(found.seq) for found in sheet.open_interrupts()])
    return True


def _copied(started: Started, rest: Sequence[AnyRecord]) -> str:
    """The run of this store whose records were read to make this one, here and now; "" if there is
    none, or if that was elsewhere."""
    if not rest:
        return started.again_of
    fork = _fork_of(rest)
    return fork.of if fork is not None and not fork.at else ""


def _check_copied(sheet: Sheet, run: str) -> None:
    """What was read to begin a run is still there: nobody has erased or pruned it since."""
    if not run:
        return
    row = sheet.copied(run)
    if row is not None and row.erased:
        raise RunErased(row.id, row.title)
    if row is None and sheet.is_audited(run):
        raise RunPruned(run)


def _begin_chain(sheet: Sheet, row: RunRow, key: "NewRunKey | None") -> None:
    """What the hashes of a new run begin with; with a key, it is encrypted from its first record
    on."""
    row.salt = row.head = key.salt if key is not None else os.urandom(MARKED - 1)
    if key is not None:
        hide(row, key.salt)
        sheet.writes.key = key.wrapped


def _fork_of(rest: Sequence[AnyRecord]) -> Forked | None:
    """The last record that says that the journal was cut."""
    for record in reversed(rest):
        if isinstance(record, Forked):
            return record
    return None


def _last_epoch(rest: Sequence[AnyRecord]) -> int:
    epoch = 0
    for record in rest:
        if isinstance(record, Claimed | Restored):
            epoch = max(epoch, record.epoch)
    return epoch


def new_row(started: Started) -> RunRow:
    """The row of a run that begins, before its first record is in it."""
    if not started.run or started.run.startswith("@"):
        raise Invalid(
            f"a run's id must be a non-empty string that does not begin with '@', got {started.run!r:.80}"
        )
    return RunRow(
        started.run,
        started.kind,
        started.program,
        started.session,
        dict(started.labels),
        cleaned(input_text(started.input)[:200]),
        digest(started.kind, started.program, started.input),
        created_at=started.at,
        updated_at=started.at,
        priority=started.priority,
    )
