"""Agents of other frameworks under Adjourn: they think as they always did, and every tool call of
theirs is ours."""

from adjourn.guests.adopt import adopt

__all__ = ["adopt"]
