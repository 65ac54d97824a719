"""What every framework is made to do, and how it is timed. Nothing of any framework is imported here.

A turn is one model step (a text of 500 bytes and one tool call) and one tool step (500 bytes back), each of which must be on disk
before the next begins. A run is `n` turns and a last word. The model takes no time. Nobody warms up, Adjourn included: from the
first call of a framework whose modules are imported to the end of the run, in a process of its own.
"""

import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from words import Stopwatch, text

TOOL = "look"


def arguments(n: int) -> dict[str, int]:
    return {"n": n}


class Marks:
    """When a tool's body began."""

    began = 0.0
    count = 0

    @classmethod
    def body(cls, n: int) -> str:
        """What the tool does."""
        cls.began = time.perf_counter()
        cls.count += 1
        return text(n)


def size_of(folder: Path) -> int:
    """Bytes of all files below."""
    found = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # a file that its owner removed meanwhile
            found += path.stat().st_size if path.is_file() else 0
    return found


def costs(watch: Stopwatch, n: int, folder: Path) -> dict[str, float]:
    """The figures of a run of n turns."""
    return {"cpu_ms": watch.cpu / n * 1e3, "wall_ms": watch.wall / n * 1e3, "bytes": size_of(folder) / n}


async def answered(resume: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Milliseconds from the answer to the tool's body, and CPU until the run has ended."""
    before = Marks.count
    with Stopwatch() as watch:
        began = time.perf_counter()
        await resume()
    assert Marks.count == before + 1, "the tool's body ran once"
    return (Marks.began - began) * 1e3, watch.cpu * 1e3


class OwnRows:
    """The smallest store that a user of a framework without one writes: a row of JSON for each run."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=full")
        self._db.execute("create table if not exists run (id text primary key, status text, body blob)")

    def put(self, id: str, status: str, body: str | bytes) -> None:
        self._db.execute(
            "insert into run values (?, ?, ?) on conflict (id) do update set status = excluded.status, body = excluded.body",
            (id, status, body),
        )

    def get(self, id: str) -> Any:
        return self._db.execute("select body from run where id = ?", (id,)).fetchone()[0]

    def close(self) -> None:
        self._db.close()
