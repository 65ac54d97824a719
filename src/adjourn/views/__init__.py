"""Runs, steps and interrupts as people see them: pure functions of a journal and its rows."""

from adjourn.core.interrupt import PendingToolCall, Seat
from adjourn.core.sent_request import SentRequest

__all__ = ["PendingToolCall", "Seat", "SentRequest"]
