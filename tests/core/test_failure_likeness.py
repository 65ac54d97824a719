"""Which failures a person may have tried again together: a table of what is like what."""

from typing import Any

import pytest

from adjourn.core.failure_likeness import likeness
from adjourn.core.interrupt import CHOICES, Interrupt


def opened(what: Any, local: str, run: str = "r1", **payload: Any) -> Interrupt:
    choices = CHOICES.get(what, {})
    return Interrupt(f"{run}:{local}", run, what, what, payload={"error": run, **payload}, choices=choices)


def error(local: str = "model:?0", run: str = "r1", **payload: Any) -> Interrupt:
    return opened("error", local, run, **payload)


MODEL = {"kind": "rate_limit", "agent": "desk", "step": "model:"}
CHUNK = {"kind": "ConnectionError", "tool": "fetch", "effect": "read"}
POISON = {"kind": "poison", "tool": "parse"}

LIKE: dict[str, tuple[Interrupt, Interrupt]] = {
    "a model that fails in the same way": (error(**MODEL), error("model:?3", "r2", attempts=4, **MODEL)),
    "the model of the same nested agent, called elsewhere": (error("model:1.0?0", **MODEL), error("model:4.2?0", "r2", **MODEL)),
    "the same chunk, reached on another way": (error("3?0", **CHUNK), error("8?1", "r2", **CHUNK)),
    "deaths in the same tool, however many": (error("poison?0", deaths=3, **POISON), error("poison?2", "r2", deaths=5, **POISON)),
    "a step of the program's own": (error("graph?0"), error("graph?0", "r2")),
}  # fmt: skip
OTHER: dict[str, tuple[Interrupt, Interrupt]] = {
    "another kind of error": (error(**MODEL), error(run="r2", **{**MODEL, "kind": "auth"})),
    "another agent's model": (error(**MODEL), error(run="r2", **{**MODEL, "agent": "clerk"})),
    "another chunk": (error("3?0", **CHUNK), error("3?0", "r2", **{**CHUNK, "tool": "store"})),
    "another exception of the same chunk": (error("3?0", **CHUNK), error("3?0", "r2", **{**CHUNK, "kind": "KeyError"})),
    "deaths in another tool": (error("poison?0", **POISON), error("poison?0", "r2", **{**POISON, "tool": "fetch"})),
    "a step beside deaths": (error("graph?0"), error("poison?0", "r2")),
}
ALONE = {
    "an approval": opened("approval", "1.0?0"), "a call in doubt": opened("in_doubt", "1.0?0"), "a limit": opened("limit", "MaxSteps?0"),
    "a question": opened("question", "1.0?0"), "an undo that failed": opened("undo", "undo:1.0?0"),
    "a call that nobody may let begin": error("1.0?0", **{**CHUNK, "kind": "unauthorised"}),
}  # fmt: skip


@pytest.mark.parametrize("case", LIKE)
def test_it_is_the_same_failure(case: str) -> None:
    one, two = LIKE[case]
    assert likeness("a", one) is not None
    assert likeness("a", one) == likeness("a", two)
    assert likeness("a", one) != likeness("b", two), "of another program"


@pytest.mark.parametrize("case", OTHER)
def test_it_is_another_failure(case: str) -> None:
    one, two = OTHER[case]
    assert likeness("a", one) != likeness("a", two)


@pytest.mark.parametrize("case", ALONE)
def test_nothing_else_is_decided_with_it(case: str) -> None:
    assert likeness("a", ALONE[case]) is None
