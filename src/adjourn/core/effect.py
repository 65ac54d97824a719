"""What a tool does to the world, and what that means for a call that was in flight when its process
died."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal, TypeGuard

EffectName = Literal["read", "idempotent", "verifiable", "unsafe"]


class Effect(StrEnum):
    """`read`: run again. `idempotent`: run again with the same key. `verifiable`: ask the world.
    `unsafe`: ask a person."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    VERIFIABLE = "verifiable"
    UNSAFE = "unsafe"


class RunsAsStep:
    """A body with an effect, which runs only as a step of a run. That it can be called, as its author's
    tests do, makes it no function that may stand wherever one is asked for."""


def is_function(value: object) -> TypeGuard[Callable[..., Any]]:
    """Whether something may be called whenever what it gives is needed: no rule has to agree."""
    return callable(value) and not isinstance(value, RunsAsStep)
