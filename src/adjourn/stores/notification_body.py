"""What a notification says: where to look, never what an agent said. The names are those of the
views."""

import msgspec

from adjourn.core.ids import public_id, ref_of
from adjourn.core.interrupt import Kind
from adjourn.core.records import Asked, Reminded, Suspended
from adjourn.core.status import RunStatus


class InterruptNotice(msgspec.Struct, frozen=True, kw_only=True):
    """Something waits for a person. `escalated`: it was not decided in time, so it is asked once
    more."""

    run_id: str
    agent: str
    id: str
    ref: str
    kind: Kind
    type: str
    tool: str
    reason: str
    opened_at: float
    expires_at: float | None
    approvers: int
    groups: tuple[str, ...]
    escalated: bool


class ReminderNotice(msgspec.Struct, frozen=True, kw_only=True):
    """Something still waits for a person."""

    run_id: str
    agent: str
    id: str
    ref: str


class RunNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A run has ended, or needs a person. `residue_count`: how much of what it did was not
    undone."""

    run_id: str
    agent: str
    status: RunStatus
    residue_count: int


class HaltNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A halt was set or lifted."""

    scope: str
    by: str
    reason: str


Notice = InterruptNotice | ReminderNotice | RunNotice | HaltNotice


def interrupt_notice(run: str, agent: str, record: Asked | Suspended) -> InterruptNotice:
    """What is said of an interrupt that was opened.

    Args:
        run: the id of its run.
        agent: the run's agent or flow.
        record: what opened it.
    """
    asked = record if isinstance(record, Asked) else None
    return InterruptNotice(
        run_id=run,
        agent=agent,
        id=public_id(run, record.i),
        ref=ref_of(run, record.i),
        kind=record.kind,
        type=record.type[:200] if isinstance(record, Suspended) else record.kind,
        tool=asked.tool if asked else "",
        reason=asked.reason[:500] if asked else "",
        opened_at=record.at,
        expires_at=record.expires or None,
        approvers=asked.approvers if asked else 1,
        groups=asked.groups if asked else (),
        escalated=bool(asked and asked.escalated),
    )


def reminder_notice(run: str, agent: str, record: Reminded) -> ReminderNotice:
    """What is said of an interrupt that is still open.

    Args:
        run: the id of its run.
        agent: the run's agent or flow.
        record: the reminder.
    """
    return ReminderNotice(
        run_id=run, agent=agent, id=public_id(run, record.i), ref=ref_of(run, record.i)
    )
