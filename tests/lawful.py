"""What holds for every plan of every test: nothing in it coincides with itself, and the status table admits all of it."""

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from adjourn.core.plan import Plan, plan
from adjourn.core.records import Asked, CancelAsked, Closed, Intended, RunCancelled, RunCompleted
from adjourn.core.state import State
from adjourn.core.status import after
from adjourn.driver import loop


def violations(state: State, made: Plan) -> list[str]:
    """What is wrong with a plan that was made from this state."""
    wrong = [f"it asks {i!r} twice" for i in _twice(x.i for x in made.moves if isinstance(x, Asked))]
    wrong += [f"it closes {i!r} twice" for i in _twice(x.i for x in made.moves if isinstance(x, Closed))]
    wrong += [f"it begins {call!r} twice" for call in _twice(x.call for x in made.moves if isinstance(x, Intended))]
    wrong += [f"it starts {step!r} twice" for step in _twice(step.id for step in made.start)]
    wrong += [f"it asks {x.i!r} again" for x in made.moves if isinstance(x, Asked) and x.i in state.ids]
    ends = [x for x in made.moves if isinstance(x, RunCompleted | RunCancelled | CancelAsked)]
    wrong += ["it ends the run twice"] if len(ends) > 1 else []
    status = state.status
    for move in made.moves:
        if (following := after(status, move)) is None:
            return [*wrong, f"a {type(move).__name__} cannot follow status {status}"]
        status = following
    return wrong


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


@contextmanager
def every_plan() -> Generator[list[str]]:
    """Inside, every plan that a driver makes is looked at; what was wrong is raised, and kept."""
    found: list[str] = []

    def checked(state: State, *args: Any) -> Plan:
        made = plan(state, *args)
        if wrong := violations(state, made):
            found.extend(wrong)
            raise AssertionError("; ".join(wrong))
        return made

    loop.plan = checked
    try:
        yield found
    finally:
        loop.plan = plan
