"""What a rule reads, made by hand: a run, what it waits for, and the records behind that. No store."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from adjourn.core.record_codec import dump
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import AnyRecord, Asked, Decided, Started, Suspended
from adjourn.core.status import Status
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import ReadResult
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.run_row import RunRow

NOW = 1000.0
LATER = NOW + 1
SEQ = 9
I = "1.0?0"  # noqa: E741 - an interrupt's id, as records call it
ROW = RunRow("r", "agent", "shop", seq=SEQ, status=Status.WAITING, opens=1, requesters=("ana",), epoch=3, worker="w")
STARTED = Started(run="r", kind="agent", program="shop", by="ana")
FINANCE = ApprovalSlot("big", ("finance",))
LEGAL = ApprovalSlot("far", ("legal",))
OTHER = ApprovalSlot("else", not_requester=True)
OPENED_AT = 4
"""The record that opened the interrupt."""
FIRST_VOTE = 5


def opening(kind: str, **fields: Any) -> Asked | Suspended:
    if kind in ("question", "event", "timer"):
        return Suspended(call="1.0", i=I, kind=kind, **fields)  # pyright: ignore[reportArgumentType]
    return Asked(i=I, kind=kind, call="1.0", tool="pay", **fields)  # pyright: ignore[reportArgumentType]


def read(
    row: RunRow | None = ROW,
    interrupt: InterruptRow | None = None,
    opened: Asked | Suspended | None = None,
    votes: Sequence[Decided] = (),
    halts: Sequence[str] = (),
    **seen: Any,
) -> ReadResult:
    """A run and at most one interrupt, whose votes are the records from `FIRST_VOTE` on."""
    records: dict[int, AnyRecord] = {1: STARTED}
    interrupts: dict[str, InterruptRow] = {}
    if interrupt is not None:
        assert opened is not None
        records[OPENED_AT] = opened
        records |= dict(enumerate(votes, FIRST_VOTE))
        found = {vote.by: number for number, vote in enumerate(votes, FIRST_VOTE)}
        interrupts[I] = replace(interrupt, seq=OPENED_AT, votes=found)
    return ReadResult(
        NOW,
        replace(row) if row is not None else None,
        records={number: dump(record) for number, record in records.items()},
        interrupts=interrupts,
        halts=[Halt(scope, "ops", "why", NOW) for scope in halts],
        audit={},
        **seen,
    )


def worked(rule: StoreRule, seen: ReadResult) -> tuple[Any, Sheet]:
    """What a rule gives for what was read, and the sheet on which it worked."""
    sheet = Sheet(rule.ask, seen)
    return rule.work(sheet), sheet


def appended(sheet: Sheet) -> list[int]:
    """The numbers of the records that the rule has appended."""
    return [line.seq for line in sheet.writes.journal]
