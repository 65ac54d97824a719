"""Journals in memory."""

from adjourn.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
