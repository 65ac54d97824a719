"""How a run begins, and what its models' answers mean for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjourn.core import records as r
from adjourn.core.call import Call
from adjourn.core.codec import encode
from adjourn.core.conversation_state import root_thread
from adjourn.core.flow_state import FlowFold
from adjourn.core.graph import read_graph
from adjourn.core.ids import call_number, model_step, parse_fork, summary_step

if TYPE_CHECKING:
    from adjourn.core.state import State


def started(state: State, _seq: int, record: r.Started) -> None:
    state.run, state.started = record.run, record
    state.requesters |= set(record.requesters)
    if record.forked_from:
        state.forked_at = parse_fork(record.forked_from)[1]
    if record.kind == "agent":
        state.threads[""] = root_thread(record, input_text(record.input), state.before)
    elif record.graph is not None:
        state.flow = FlowFold(read_graph(record.graph), touched=record.at)
        state.flow.begin(record.input)
        state._activate()


def released(state: State, _seq: int, record: r.Released) -> None:
    # What was cut off was paid for. It is no step: it will be taken again.
    state.usage = state.usage + record.usage


def replied(state: State, _seq: int, record: r.Replied) -> None:
    _counted(state, record)
    state.faults.pop(model_step(record.path), None)
    for id, part in state.threads[record.path].replied(record):
        state.called.add(part.tool)
        if record.drawn:
            args = record.drawn.get(call_number(id), part.args)
        else:
            args = part.args
        state._spawn(Call(id, part.tool, args, record.path))


def broke(state: State, _seq: int, record: r.Broke) -> None:
    _counted(state, record)
    state.threads[record.path].broke(record)


def summarised(state: State, _seq: int, record: r.Summarised) -> None:
    _counted(state, record)
    state.faults.pop(summary_step(record.path), None)
    state.threads[record.path].summarised(record)


def _counted(state: State, record: r.Replied | r.Broke | r.Summarised) -> None:
    """A model call."""
    state.usage = state.usage + record.usage
    if record.sent is not None:
        state.bodies |= record.sent.bodies
    state.steps += 1
    state.deaths = state.lost = 0


def input_text(value: Any) -> str:
    """An input as the words of a user."""
    if isinstance(value, str):
        return value
    return encode(value).decode()
