"""What a record means for a run that is no step of a program and no decision: it is taken, paused,
spoken to, forked, comes to rest, ends, is erased. With it, what can be delivered to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from adjourn.core import quarantine
from adjourn.core import records as r
from adjourn.core import upgraded_journal as upgrading
from adjourn.core.call import Phase, questions
from adjourn.core.doubt import into_doubt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.state import State


class Together(msgspec.Struct, frozen=True, gc=False):
    """Commands for one run, in their order. Each must still apply behind those before it.

    Attributes:
        commands: none of them: there was nothing to do. That it was asked for is remembered, and
            the number of its record is 0.
        asked: what a request with an id is recognised by if it comes again, where that is not the
            commands themselves: what they were made of may have changed by then. Needed where there
            are none.
    """

    commands: tuple[r.Command, ...]
    asked: r.Command | None = None


Commands = r.Command | Together
"""What can be delivered to a run."""


def pause_asked(state: State, _seq: int, record: r.PauseAsked) -> None:
    state.pause, state.parked = record, None  # nothing but a person wakes it now
    if state.status == Status.PAUSED:
        state.resting = state.resting or record.at


def resumed(state: State, seq: int, record: r.Resumed) -> None:
    state.pause = None
    state._touched(record.at)
    if record.instruction:
        state._told(seq, record.instruction, record.at)


def accepted(state: State, _seq: int, record: r.Accepted) -> None:
    state.accepted = record


def revoked(state: State, _seq: int, record: r.Revoked) -> None:
    if standing := state.standing.get(record.i):
        standing.ended = "revoked"
    state.grants.pop(record.i, None)


def upgraded(state: State, seq: int, record: r.Upgraded) -> None:
    state.belief.knows(seq)
    upgrading.upgraded(state, seq, record)


def cancel_asked(state: State, _seq: int, record: r.CancelAsked) -> None:
    state.cancel = record


def said(state: State, seq: int, word: r.Said) -> None:
    if word.abandon:
        for interrupt in questions(state.open):
            record = state.open.pop(interrupt).record
            if isinstance(record, r.Suspended) and (call := state.live.get(record.call)):
                state._unsuspend(call, record, "abandoned", None)
    state._told(seq, word.text, word.at, word.parts)


def reminded(state: State, _seq: int, record: r.Reminded) -> None:
    if opened := state.open.get(record.i):
        opened.reminded = record.at


def parked(state: State, _seq: int, record: r.Parked) -> None:
    state.parked = record
    if state.pause is not None or any(
        asked.kind not in NOT_FOR_PEOPLE for asked in state.open_records()
    ):
        state.resting = record.at  # from here on it waits for people
    # A worker that comes to rest was not killed by the run, unless that is what it asks a person
    # about.
    if not quarantine.is_asked(state):
        state.deaths = state.lost = 0


def completed(state: State, _seq: int, record: r.RunCompleted | r.RunCancelled) -> None:
    if isinstance(record, r.RunCompleted) and record.spoken:
        record = msgspec.structs.replace(record, output=state.threads[""].text)
    state.ended = record
    state.open.clear()
    state.owed.clear()


def erased(state: State, seq: int, record: r.Erased) -> None:
    """Whatever was folded before, this is all there is: a state that somebody kept says no more
    than a new one."""
    state.become(type(state)(state.trust))
    state.run, state.started = (
        record.run,
        r.Started(run=record.run, kind=record.kind, program=record.program),
    )
    state.status, state.seq, state.at, state.erased = Status(record.status), seq, record.at, record


def claimed(state: State, _seq: int, record: r.Claimed) -> None:
    """Another worker has the run: what was in flight is in doubt, and no body is left at work."""
    state.epoch = record.epoch
    state.parked = None
    if state.resting:
        state.waited, state.resting = state.waited + max(0.0, record.at - state.resting), 0.0
    quarantine.claimed(state, lost=record.lost)
    why = quarantine.SILENT if record.lost else quarantine.GONE
    for call in state.live.values():
        call.left = False
        if call.phase == Phase.INTENDED and call.id not in state.threads:
            into_doubt(state, call, why, 0.0, record.at)


def forked(state: State, seq: int, record: r.Forked) -> None:
    """What stands before is another run's: nobody has agreed to anything here, and nobody has
    paused it."""
    state.requesters |= frozenset(record.requesters)
    state.pause, state.parked = None, None
    state.deaths = state.lost = 0
    state.grants, state.granted, state.standing = {}, {}, {}
    for submission in state.submitted.values():  # the provider works for the original
        state.open.pop(submission.wait, None)
    state.submitted = {}
    if state.flow is not None:
        state.flow.inherited = state.flow.events
    for interrupt, opened in list(state.open.items()):
        if opened.record.kind == "approval":
            del state.open[interrupt]
    for call in state.live.values():
        call.grant = ""
        if call.phase in (Phase.ASKED, Phase.APPROVED):
            state._phase(call, Phase.NEW)
    if record.instruction:
        state._told(seq, record.instruction, record.at)
