"""A way to a PostgreSQL server on which one message can be held until somebody lets it pass."""

import asyncio
import threading

from tests.stores.postgres.proxy import Proxy


class Gate(Proxy):
    """Holds the message of a number, and all that come after it on its connection."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._number = -1
        self._here = threading.Event()
        self._passes = threading.Event()
        self._passes.set()

    def hold(self, at: int) -> None:
        """From now on messages are counted anew, and number `at` (from 0) is held."""
        with self._lock:
            self.count, self._number = 0, at
            self._here.clear()
            self._passes.clear()

    async def reached(self, work: "asyncio.Future[object]") -> bool:
        """Wait until it is held; False if the work has ended before it came to that."""
        held = asyncio.ensure_future(asyncio.to_thread(self._until, work))
        return await held

    def _until(self, work: "asyncio.Future[object]") -> bool:
        while not self._here.wait(0.005):
            if work.done():
                return self._here.is_set()
        return True

    def open(self) -> None:
        """Let it pass."""
        self._number = -1
        self._passes.set()

    def _is_cut(self, message: bytes) -> bool:
        with self._lock:
            here = self.count == self._number
            self.count += 1
        if here:
            self._here.set()
            self._passes.wait(30)
        return False
