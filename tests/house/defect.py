"""A defect that is planted on purpose: what is wrong, how it is planted, and the test that must notice."""

import __future__

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple


class Defect(NamedTuple):
    """What is wrong, how it is planted, and which test must fail."""

    what: str
    plant: Callable[[], None]
    caught_by: str


def rewrite(owner: Any, name: str, old: str, new: str) -> None:
    """Replace a function by itself with one piece of its text changed. Fails if that piece is not there, once."""
    function = inspect.unwrap(getattr(owner, name))
    text = textwrap.dedent(inspect.getsource(function))
    if text.count(old) != 1:
        raise AssertionError(f"{owner.__name__}.{name} has no longer this text (or has it more than once): {old!r}")
    space: dict[str, Any] = {}
    made = text.replace(old, new)
    postponed = function.__code__.co_flags & __future__.annotations.compiler_flag
    if postponed:  # its annotations are never looked at, and name what is imported for types alone
        made = f"from __future__ import annotations\n{made}"
    exec(compile(made, inspect.getfile(function), "exec"), function.__globals__, space)
    setattr(owner, name, space[name])


def rewriting(owner: Any, name: str, old: str, new: str) -> Callable[[], None]:
    return lambda: rewrite(owner, name, old, new)


def replacing(owner: Any, name: str, new: Any) -> Callable[[], None]:
    return lambda: setattr(owner, name, new)
