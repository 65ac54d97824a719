"""What standing decisions answer now: a pure question over a state and what it is about to ask."""

from collections.abc import Iterable

from adjourn.core.approval_votes import is_filled, votes_of
from adjourn.core.authority import standing_flaw
from adjourn.core.records import Asked, Decided, Record
from adjourn.core.standing_decision import UNDER, StandingDecision, covers
from adjourn.core.state import State

MARGIN = 1.0
"""Seconds before its time is over in which a standing decision answers nothing more: whoever
records an answer does so a little later."""


def answers(state: State, moves: Iterable[Record], now: float) -> list[Decided]:
    """The decisions by which standing ones answer the open approvals, and those that these moves
    ask for. A refusal comes first."""
    if not any(not standing.ended for standing in state.standing.values()):
        return []
    uses = {id: standing.uses for id, standing in state.standing.items()}
    found: list[Decided] = []
    for asked in (*_waiting(state), *_asked(moves)):
        for id, standing in _fitting(state, asked, now):
            says = standing.says
            if says is None or (says.times and uses[id] >= says.times):
                continue
            following = _following(id, standing, asked)
            if not _is_enough(state, standing, asked, following, now):
                continue
            uses[id] += 1
            found += following
            break
    return found


def _waiting(state: State) -> list[Asked]:
    """The approvals that are open and nobody has agreed to yet."""
    found: list[Asked] = []
    for opened in state.open.values():
        if (
            isinstance(opened.record, Asked)
            and opened.record.kind == "approval"
            and not opened.votes
        ):
            found.append(opened.record)
    return found


def _asked(moves: Iterable[Record]) -> list[Asked]:
    return [move for move in moves if isinstance(move, Asked) and move.kind == "approval"]


def _fitting(state: State, asked: Asked, now: float) -> list[tuple[str, StandingDecision]]:
    """Those that cover it, refusals first."""
    found: list[tuple[str, StandingDecision]] = []
    for id, standing in state.standing.items():
        if not standing.over(now + MARGIN) and covers(standing, asked):
            found.append((id, standing))
    return sorted(found, key=lambda one: not one[1].denies)


def _following(id: str, standing: StandingDecision, asked: Asked) -> list[Decided]:
    """What each of those who made it says to this."""
    found: list[Decided] = []
    for made in standing.decisions:
        found.append(
            Decided(
                i=asked.i,
                verdict=made.verdict,
                value={UNDER: id},
                by=made.by,
                note=made.note,
                digest=asked.digest,
                groups=made.groups,
            )
        )
    return found


def _is_enough(
    state: State,
    standing: StandingDecision,
    asked: Asked,
    following: list[Decided],
    now: float,
) -> bool:
    """Whether it would be settled by these: seats are filled by whoever may sit in them now."""
    if standing.denies:
        return True
    if standing_flaw(state.run, state.standing, asked, following, now):
        return False
    return is_filled(asked.gate, votes_of(following), state.requesters)
