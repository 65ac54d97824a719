"""For a program that decides itself when a run is advanced: the wakes it is given, and what an
advance returns."""

from adjourn.runtime.advance_result import Busy, Rested, Unfit
from adjourn.runtime.wake_relay import WakeRelay

__all__ = ["Busy", "Rested", "Unfit", "WakeRelay"]
