"""What the fold makes of an erased run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjourn.core import records as r
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.state import State


def erased(state: State, seq: int, record: r.Erased) -> None:
    """Whatever was folded before, this is all there is: a state that somebody kept says no more
    than a new one."""
    state.become(type(state)(state.trust))
    state.run, state.started = (
        record.run,
        r.Started(run=record.run, kind=record.kind, program=record.program),
    )
    state.status, state.seq, state.at, state.erased = Status(record.status), seq, record.at, record


def tombstone(record: r.Erased) -> str:
    """What is said of an erased run wherever its content would be."""
    return f"erased by {record.by or 'somebody'}" + (f": {record.reason}" if record.reason else "")
