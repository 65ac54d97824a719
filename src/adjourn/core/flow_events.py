"""Events of a flow: what they resolve when they come, and which of them came before anybody waited.

An event that resolves nothing is kept as long as a chain goes on that began before it. The first
wait that asks for it takes it, without beginning the event's chains again: they began when it came.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core import records as r
from adjourn.core.ids import CLOSE, local_event
from adjourn.core.person_name import is_known
from adjourn.core.record_parts import RINGS
from adjourn.core.schema import check
from adjourn.core.schema_document import TooMuchWork
from adjourn.errors import InvalidAnswer

if TYPE_CHECKING:
    from adjourn.core.state import State

STEPS = 3_000
"""The work of one look at whether an event fits a question: a few milliseconds."""


class FlowClosing(StrEnum):
    """Whether a flow is to end: as soon as nothing runs or waits, or without what it waits for. The
    values are a snapshot's."""

    NO = ""
    WAIT = "wait"
    CANCEL = "cancel"


class Heard(msgspec.Struct):
    """An event that nothing has taken yet.

    `n` counts the events of the run. `event` is the name behind its flow's path, or as it was sent
    if `sent` is the record of somebody outside: that one is for every flow of the run. `call`:
    whose body sent it, which does not wait for itself.
    """

    n: int
    event: str
    value: Any
    sent: r.Emitted | None = None
    call: str = ""

    def is_for(self, asked: r.Suspended) -> bool:
        """Whether this is the event that is waited for."""
        if self.sent is None:
            name = asked.event
        else:
            name = local_event(asked.event)
        return name == self.event and self.call != asked.call


def emitted(state: State, _seq: int, sent: r.Emitted) -> None:
    """An event from outside: it begins its chains, and resolves what waits for it, in every flow of
    the run."""
    state._touched(sent.at)
    if sent.event.startswith(RINGS):  # it is no word of the program's
        _resolve(state, lambda record: record.event == sent.event, sent.value, None)
        return
    state.flags |= {sent.event}
    heard: Heard | None = None
    if state.flow is not None:
        if sent.event == CLOSE:
            _closing(state, cancel=sent.value == {"cancel": True})
        heard = state.flow.hear(sent)
        state._activate()
    _resolve(state, lambda record: local_event(record.event) == sent.event, sent.value, heard)


def moved(state: State, done: r.Returned | r.Suspended) -> None:
    """A chunk's changes to its flow's state and its events, atomic with its result, and before its
    chain goes on."""
    state._touched(done.at)
    if state.flow is not None:
        state.flow.apply(done.call, done.changes)
    for event, value in done.emits:
        if state.flow is not None:
            heard = state.flow.emit(event, value, done.call)
        else:
            heard = None
        state._activate()
        _resolve(state, lambda record, event=event: record.event == event, value, heard)


def arrived(state: State) -> list[r.Closed]:
    """What resolves the waits whose event came before they began to wait. Each event is for one of
    them, the oldest first.

    One that came while several waited, from the graph itself, is for all of those.
    """
    if state.flow is None or not state.flow.heard:
        return []
    found: list[r.Closed] = []
    taken: set[int] = set()
    for opened in state.open.values():
        record = opened.record
        if not isinstance(record, r.Suspended) or not record.event:
            continue
        for heard in state.flow.heard_by(record.call):
            waited = opened.heard < heard.n
            if (
                heard.is_for(record)
                and (waited or heard.n not in taken)
                and _answers(state, heard, record)
            ):
                found.append(r.Closed(i=record.i, why="event", value=heard.value, heard=heard.n))
                taken.add(heard.n)
                break
    return found


def _answers(state: State, heard: Heard, asked: r.Suspended) -> bool:
    """Whether an earlier event settles this: a wait always; a question only if its sender could
    have answered it, here.

    What somebody sent to the run that this one is a fork of was no answer to this one's questions.
    """
    sent = heard.sent
    if asked.kind != "question" or sent is None:
        return True
    if state.flow is None or heard.n <= state.flow.inherited:
        return False
    if (
        not sent.decides
        or sent.by.startswith("@")
        or is_known(sent.by, (state.run, state.started.program))
    ):
        return False
    if state.trust is not None and state.trust.flaw(state.run, sent, ""):
        return False
    try:
        check(asked.schema, sent.value, "the event", STEPS)
    except (InvalidAnswer, TooMuchWork):
        return False
    return True


def _resolve(
    state: State, waits: Callable[[r.Suspended], bool], value: Any, heard: Heard | None
) -> None:
    """An event has come, and its chains have begun: what waited for it goes on as well, and has
    taken it."""
    for record in state.open_suspensions():
        if not record.event or not waits(record):
            continue
        del state.open[record.i]
        if heard is not None and state.flow is not None:
            state.flow.take(heard.n)
        if call := state.live.get(record.call):
            state._unsuspend(call, record, "event", value)


def _closing(state: State, *, cancel: bool) -> None:
    """A flow is to end as soon as nothing runs; with `cancel`, without what it still waits for."""
    assert state.flow is not None
    if cancel:
        state.flow.closing = FlowClosing.CANCEL
        state.open.clear()
    elif not state.flow.closing:
        state.flow.closing = FlowClosing.WAIT
