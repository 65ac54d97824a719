"""Every error that Adjourn raises survives a process pool: pickled and back it is what it was."""

import copy
import inspect
import pickle
from typing import Any

import pytest

from adjourn import errors
from adjourn.errors import AdjournError, PauseRequest

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, AdjournError) and kind.__module__ == errors.__name__
]
SAMPLES: dict[str, Any] = {"int": 3, "float": 1.5, "str": "words", "bool": True}


def sample(parameter: inspect.Parameter) -> Any:
    """Something that fits the annotation, as far as an error's text needs it."""
    named = str(parameter.annotation)
    if "tuple[str, str]" in named:
        return [("i", "question")]
    if "Sequence" in named or "Iterable" in named or "list" in named or "tuple" in named:
        return ["a", "b"]
    return next((value for name, value in SAMPLES.items() if name in named), "x")


def made(kind: type[AdjournError]) -> AdjournError:
    if kind.__init__ is Exception.__init__:
        return kind("what happened")
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return kind("what happened")
    wanted = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return kind(**{p.name: sample(p) for p in wanted})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", ["pickle", "copy"])
def test_an_error_is_the_same_on_the_other_side(kind: type[AdjournError], way: str) -> None:
    error = made(kind)
    again = pickle.loads(pickle.dumps(error)) if way == "pickle" else copy.copy(error)
    assert type(again) is kind
    assert (str(again), again.args, again.status) == (str(error), error.args, error.status)
    assert again.__dict__ == error.__dict__


def test_a_pause_survives_as_well() -> None:
    """It is no error, and public all the same."""
    again = pickle.loads(pickle.dumps(PauseRequest(kind="question", payload={"n": 1})))
    assert (type(again), again.fields) == (PauseRequest, {"kind": "question", "payload": {"n": 1}})


def test_an_error_is_known_by_its_public_name_wherever_it_is_written() -> None:
    """The identity of a rule that names it, and with it an approval that was given, does not depend on our files."""
    assert len(KINDS) > 40
    assert {kind.__module__ for kind in (*KINDS, PauseRequest)} == {"adjourn.errors"}
    assert all(getattr(errors, kind.__name__) is kind for kind in KINDS)
