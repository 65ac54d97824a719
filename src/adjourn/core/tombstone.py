"""What the fold makes of an erased run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjourn.core import records as r
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.state import State


def erased(state: State, seq: int, x: r.Erased) -> None:
    """Whatever was folded before, this is all there is: a state that somebody kept says no more than a new one."""
    state.become(type(state)(state.trust))
    state.run, state.started = x.run, r.Started(run=x.run, kind=x.kind, program=x.program)
    state.status, state.seq, state.at, state.erased = Status(x.status), seq, x.at, x


def tombstone(x: r.Erased) -> str:
    """What is said of an erased run wherever its content would be."""
    return f"erased by {x.by or 'somebody'}" + (f": {x.reason}" if x.reason else "")
