"""When a run itself is suspected of killing its workers: a property of the run, never of bad
weather.

A death counts against a run only if a body of it was executing: one that waited for a model, or was
handed back, has nothing to do with it. Anything that the run then records clears it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjourn.core.call import Phase
from adjourn.core.ids import POISON
from adjourn.core.records import Asked

if TYPE_CHECKING:
    from adjourn.core.state import State

MAX_DEATHS = 3
"""So many deaths in a row in a body of the run, before a person is asked whether to try again."""
LOST = 100
"""So many workers in a row that were lost without one fact, whatever they did: then a person is
asked as well."""
SILENT = "it was in flight when its worker died or stopped answering"
GONE = "it was in flight when its worker went away"
"""Why a call is in doubt, by how the run left the worker that had it."""


def is_executing(state: State) -> bool:
    """Whether a body was at work when the journal ended here: one that was intended, or one that
    needs no intent."""
    for call in state.in_phase(Phase.INTENDED):
        if call.id not in state.threads:
            return True
    return any(state.live[id].phase != Phase.FAULTED for id in state.owed)


def claimed(state: State, *, lost: bool) -> None:
    """The run was taken; `lost`: from a worker that died or fell silent. Called before its calls
    are put in doubt."""
    if lost:
        state.lost += 1
        state.deaths += is_executing(state)


def cleared(state: State) -> None:
    """The run has recorded something, or a person says that it is to be tried again."""
    state.deaths = state.lost = 0


def is_suspect(state: State) -> bool:
    """Whether the run is to be tried alone: a worker has died in a body of it, and nothing was
    recorded since."""
    return state.deaths > 0 and is_executing(state)


def is_asked(state: State) -> bool:
    """Whether a person has been asked about the deaths and has not answered."""
    return any(
        isinstance(record, Asked) and record.step == POISON for record in state.open_records()
    )


def is_poisoned(state: State, most: int) -> bool:
    """Whether nobody tries it again before a person agrees."""
    return state.deaths >= most or state.lost >= LOST


def question(state: State) -> Asked:
    """What a person is asked then. `core.failure_likeness` says which can be answered together."""
    running = sorted(
        {call.tool for call in state.live.values() if call.doubt or call.id in state.owed}
    )
    if state.deaths:
        what = f" while {', '.join(running)} ran" if running else ""
        if state.deaths == 1:
            workers = "1 worker"
        else:
            workers = f"{state.deaths} workers in a row"
        text = f"{workers} died{what}; the run may be crashing them"
    else:
        text = (
            f"{state.lost} workers in a row were lost before this run recorded anything; "
            f"the run may be crashing them"
        )
    payload: dict[str, Any] = {
        "error": text,
        "kind": "poison",
        "tool": ", ".join(running),
        "deaths": state.deaths or state.lost,
    }
    return Asked(i=state.next_interrupt(POISON), kind="error", step=POISON, payload=payload)
