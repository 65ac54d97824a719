"""What people's words mean for a run, decisions excepted; and how it comes to rest or ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from adjourn.core import quarantine
from adjourn.core import records as r
from adjourn.core import upgraded_journal as upgrading
from adjourn.core.call import questions
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.state import State


def pause_asked(state: State, _seq: int, x: r.PauseAsked) -> None:
    state.pause, state.parked = x, None  # nothing but a person wakes it now
    if state.status == Status.PAUSED:
        state.resting = state.resting or x.at


def resumed(state: State, seq: int, x: r.Resumed) -> None:
    state.pause = None
    state._touched(x.at)
    if x.instruction:
        state._told(seq, x.instruction, x.at)


def accepted(state: State, _seq: int, x: r.Accepted) -> None:
    state.accepted = x


def upgraded(state: State, seq: int, x: r.Upgraded) -> None:
    state.belief.knows(seq)
    upgrading.upgraded(state, seq, x)


def cancel_asked(state: State, _seq: int, x: r.CancelAsked) -> None:
    state.cancel = x


def said(state: State, seq: int, x: r.Said) -> None:
    if x.abandon:
        for i in questions(state.open):
            record = state.open.pop(i).record
            if isinstance(record, r.Suspended) and (call := state.live.get(record.call)):
                state._unsuspend(call, record, "abandoned", None)
    state._told(seq, x.text, x.at)


def reminded(state: State, _seq: int, x: r.Reminded) -> None:
    if opened := state.open.get(x.i):
        opened.reminded = x.at


def parked(state: State, _seq: int, x: r.Parked) -> None:
    state.parked = x
    if state.pause is not None or any(o.record.kind not in ("timer", "event") for o in state.open.values()):
        state.resting = x.at  # from here on it waits for people
    # A worker that comes to rest was not killed by the run, unless that is what it asks a person about.
    if not quarantine.is_asked(state):
        state.deaths = state.lost = 0


def completed(state: State, _seq: int, x: r.RunCompleted | r.RunCancelled) -> None:
    if isinstance(x, r.RunCompleted) and x.spoken:
        x = msgspec.structs.replace(x, output=state.threads[""].text)
    state.ended = x
    state.open.clear()
    state.owed.clear()
