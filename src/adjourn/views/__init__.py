"""Runs, steps and interrupts as people see them: pure functions of a journal and its rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjourn.core.interrupt import PendingToolCall, Seat
    from adjourn.core.rebuilt_requests import SentRequest

__all__ = ["PendingToolCall", "Seat", "SentRequest"]

_HOMES = {
    "PendingToolCall": "core.interrupt",
    "Seat": "core.interrupt",
    "SentRequest": "core.rebuilt_requests",
}
"""Where each name is defined: every module of this package loads this one, and should not load them
all."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"adjourn.{_HOMES[name]}"), name)
