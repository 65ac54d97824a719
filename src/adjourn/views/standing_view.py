"""The standing decisions of a run, as people see them."""

from enum import StrEnum

import msgspec

from adjourn.core.approval_votes import agreed_to
from adjourn.core.decision import decided_at
from adjourn.core.ids import ref_of
from adjourn.core.standing_decision import StandingDecision
from adjourn.core.state import State


class StandingState(StrEnum):
    """Whether a standing decision still answers calls, and if not, why."""

    STANDS = "stands"
    USED_UP = "used up"
    EXPIRED = "expired"
    REVOKED = "revoked"
    ENDED = "ended"


class StandingView(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that stands for later calls of its run. `ref`: the interrupt that it was made
    about; `says`: what it stands for, in words; `until`: null if its time is not limited; `times`:
    0 for any number; `uses`: the calls that it has answered, the first included."""

    ref: str
    run_id: str
    tool: str
    denies: bool
    by: tuple[str, ...]
    note: str
    says: str
    where: tuple[str, ...]
    made_at: float
    until: float | None
    times: int
    uses: int
    state: StandingState


def standing_views(state: State, now: float) -> list[StandingView]:
    """The standing decisions of a run, the latest first.

    Args:
        state: the run.
        now: the time for which it is asked.
    """
    found: list[StandingView] = []
    for id, standing in state.standing.items():
        if (view := _view(state, id, standing, now)) is not None:
            found.append(view)
    found.reverse()
    return found


def _view(state: State, id: str, standing: StandingDecision, now: float) -> StandingView | None:
    says = standing.says
    if says is None:
        return None
    made = standing.decisions
    if not standing.denies:
        made = agreed_to(standing.made, made)
    return StandingView(
        ref=ref_of(state.run, id),
        run_id=state.run,
        tool=standing.made.tool,
        denies=standing.denies,
        by=tuple(decided.by for decided in made),
        note="; ".join(decided.note for decided in made if decided.note),
        says=says.text,
        where=says.where,
        made_at=max(map(decided_at, made), default=0.0),
        until=standing.until or None,
        times=says.times or 0,
        uses=standing.uses,
        state=_state(standing.over(now) or _over(state)),
    )


def _over(state: State) -> str:
    """A run that has ended asks for nothing more."""
    if state.ended is None:
        return ""
    return "the run has ended"


_STATES = {state.value: state for state in StandingState}


def _state(why: str) -> StandingState:
    if not why:
        return StandingState.STANDS
    return _STATES.get(why, StandingState.ENDED)
