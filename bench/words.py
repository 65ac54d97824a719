"""The payload, the clock and the scratch folder: what the floor and Adjourn have in common."""

import gc
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE, LONG = 500, 1500
"""Bytes of a message, and of a long one."""
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


class Pace:
    """CPU per turn of the same run, early and late: the ratio depends little on who else is busy.

    Early is around the 300th turn: by then SQLite's log has been written over once, and appends no more to the file.
    """

    WINDOW = 100

    def __init__(self, turns: int) -> None:
        self._marks = dict.fromkeys((250, 250 + self.WINDOW, turns - self.WINDOW, turns), 0.0)

    def at(self, turn: int) -> None:
        """Told before every turn."""
        if turn in self._marks:
            self._marks[turn] = time.process_time()

    @property
    def growth(self) -> float:
        """The last hundred turns against those around the 300th; 1 for a run too short to tell."""
        a, b, c, d = self._marks.values() if len(self._marks) == 4 else (0.0, 1.0, 0.0, 1.0)
        return (d - c) / (b - a) if b > a and d > c > b else 1.0
