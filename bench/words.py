"""The payload, the clock and the scratch folder: what the floor and Adjourn have in common."""

import gc
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 500
WORDS = "a run is its journal and everything else reads that list or appends to it, however long it has become; "


def text(n: int, size: int = SIZE) -> str:
    """The n-th message: `size` bytes, no two alike."""
    return (f"{n:06d} " + WORDS * (size // len(WORDS) + 1))[:size]


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of its own, on the disk where temporary files live."""
    folder = Path(tempfile.mkdtemp(prefix="adjourn-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Stopwatch:
    """Wall and CPU seconds (of all threads) between entering and leaving."""

    wall = cpu = 0.0

    def __enter__(self) -> "Stopwatch":
        gc.collect()
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
