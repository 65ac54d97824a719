"""What lists show of large interrupts, kept: what was asked does not change, and its digests take a
while."""

from adjourn.core.interrupt import Interrupt
from adjourn.server.bounded_cache import BoundedCache
from adjourn.views.interrupt_view import InterruptSummary, Shortened, line_of, shortened

KEPT = 4_000_000
"""Bytes that are kept."""


class ShortenedInterrupts:
    """Interrupts that were cut for a list before."""

    def __init__(self) -> None:
        self._kept: BoundedCache[tuple[str, int, str], Shortened] = BoundedCache(KEPT)

    def line(self, interrupt: Interrupt, agent: str) -> InterruptSummary:
        """An interrupt as a list shows it; `agent` is that of its run."""
        key = (interrupt.run_id, interrupt.seq, interrupt.id)
        short = self._kept.get(key)
        if short is None and (short := shortened(interrupt)) is not None:
            self._kept.put(key, short)
        return line_of(interrupt, agent, short)
