"""Runs that begin by the clock."""

from adjourn.runtime.schedules import Schedule, Scheduler

__all__ = ["Schedule", "Scheduler"]
