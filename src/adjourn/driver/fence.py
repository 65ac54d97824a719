"""How long a worker may believe, without asking, that a run is still its own."""

import time
from collections.abc import Callable

Mark = tuple[float, float]


class Fence:
    """Passed when the lease may have run out by either clock: the store's, and one that nobody can
    set.

    Only the epoch decides who owns a run. The fence says when it must be asked again before a body
    touches the world: after the process was frozen, after its event loop was blocked, after the
    clock was set.
    """

    def __init__(
        self, now: Callable[[], float], ttl: float, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._now, self._ttl, self._steady = now, ttl, steady
        self._since = self.mark()
        self.gaps = 0
        """How often the worker may have been taken for dead. Whoever drives a run asks for it once
        after each: that the worker is known again does not say that the run is still its own."""

    def mark(self) -> Mark:
        """This moment; taken before the write that `keep` is told of."""
        return self._now(), self._steady()

    def keep(self, since: Mark, *, late: bool = False) -> None:
        """The store knew at `since` that this worker lives. `late`: it had not known for a
        while."""
        if late or self.is_passed():
            self.gaps += 1
        self._since = since

    def is_passed(self) -> bool:
        """Whether another worker may have taken the run by now. A clock that was set back says
        nothing, so it may."""
        was, began = self._since
        return not 0 <= self._now() - was < self._ttl or self._steady() - began >= self._ttl
