"""The heartbeat of a worker on a store in memory. Each method is one operation on a dict, so any
thread may use it."""

from collections.abc import Callable

from adjourn.stores.protocol import LEFT


class MemoryPulse:
    """See `Pulse`."""

    def __init__(self, now: Callable[[], float], workers: dict[str, float]) -> None:
        self._now, self._workers = now, workers

    def beat(self, worker: str, ttl: float) -> bool:
        """See `Pulse.beat`."""
        now = self._now()
        late = self._workers.get(worker, 0.0) <= now
        self._workers[worker] = now + ttl
        return late

    def end(self, worker: str, *, left: bool = False) -> None:
        """See `Pulse.end`."""
        if left:
            self._workers[worker] = LEFT
        else:
            self._workers.pop(worker, None)

    def close(self) -> None:
        """See `Pulse.close`."""
