"""What a tool does to the world, and what that means for a call that was in flight when its process
died."""

from enum import StrEnum
from typing import Literal

EffectName = Literal["read", "idempotent", "verifiable", "unsafe"]


class Effect(StrEnum):
    """`read`: run again. `idempotent`: run again with the same key. `verifiable`: ask the world.
    `unsafe`: ask a person."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    VERIFIABLE = "verifiable"
    UNSAFE = "unsafe"
