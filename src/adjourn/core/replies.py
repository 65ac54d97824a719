"""How a run begins, and what its models' answers mean for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjourn.core import records as r
from adjourn.core.call import Call
from adjourn.core.codec import encode
from adjourn.core.conversation import root_thread
from adjourn.core.flow_state import FlowFold
from adjourn.core.graph import read_graph
from adjourn.core.ids import call_number, model_step, parse_fork, summary_step

if TYPE_CHECKING:
    from adjourn.core.state import State


def started(state: State, _seq: int, x: r.Started) -> None:
    state.run, state.started = x.run, x
    state.requesters |= set(x.requesters)
    if x.forked_from:
        state.forked_at = parse_fork(x.forked_from)[1]
    if x.kind == "agent":
        state.threads[""] = root_thread(x, input_text(x.input), state.before)
    elif x.graph is not None:
        state.flow = FlowFold(read_graph(x.graph), touched=x.at)
        state.flow.begin(x.input)
        state._activate()


def released(state: State, _seq: int, x: r.Released) -> None:
    # What was cut off was paid for. It is no step: it will be taken again.
    state.usage = state.usage + x.usage


def replied(state: State, _seq: int, x: r.Replied) -> None:
    _counted(state, x)
    state.faults.pop(model_step(x.path), None)
    for id, part in state.threads[x.path].replied(x):
        state.called.add(part.tool)
        args = x.drawn.get(call_number(id), part.args) if x.drawn else part.args
        state._spawn(Call(id, part.tool, args, x.path))


def broke(state: State, _seq: int, x: r.Broke) -> None:
    _counted(state, x)
    state.threads[x.path].broke(x)


def summarised(state: State, _seq: int, x: r.Summarised) -> None:
    _counted(state, x)
    state.faults.pop(summary_step(x.path), None)
    state.threads[x.path].summarised(x)


def _counted(state: State, x: r.Replied | r.Broke | r.Summarised) -> None:
    """A model call."""
    state.usage = state.usage + x.usage
    if x.sent is not None:
        state.bodies |= x.sent.bodies
    state.steps += 1
    state.deaths = state.lost = 0


def input_text(value: Any) -> str:
    """An input as the words of a user."""
    return value if isinstance(value, str) else encode(value).decode()
