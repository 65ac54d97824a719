"""The floor: the least that any durable runtime pays on this machine, by hand, without an agent, a check or a lock."""

import asyncio
import os
import queue
import sqlite3
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import apsw
import msgspec
from words import SIZE, Pace, Stopwatch, scratch, text

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode

TABLE = "create table journal (key integer primary key, body text, at real, state text)"  # run << 32 | seq
INSERT = "insert into journal values (?, ?, ?, ?)"
PENDING = "create index pending on journal (at) where state = 'open'"


def open_file(path: Path) -> apsw.Connection:
    """One table, write-ahead log, synchronous FULL."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "full")
    db.execute(TABLE)
    return db


def reply(n: int, size: int = SIZE) -> str:
    return encode(
        {"role": "assistant", "text": text(n, size), "calls": [{"id": f"call_{n}", "tool": "look", "args": {"n": n}}]}
    ).decode()


def result(n: int, size: int = SIZE) -> str:
    return encode({"role": "tool", "call": f"call_{n}", "tool": "look", "text": text(n, size)}).decode()


def row(run: int, seq: int, body: str, state: str = "") -> tuple[Any, ...]:
    return (run << 32 | seq, body, time.time(), state)


def turns(n: int, size: int = SIZE) -> dict[str, float]:
    """Two synchronous commits a turn."""
    pace = Pace(n)

    def drive(path: Path, n: int) -> apsw.Connection:
        db = open_file(path)
        for k in range(n):
            pace.at(k)
            db.execute(INSERT, row(1, 2 * k, reply(k, size)))
            db.execute(INSERT, row(1, 2 * k + 1, result(k, size)))
        pace.at(n)
        return db

    with scratch() as folder:
        drive(folder / "warm.db", 5).close()
        with Stopwatch() as watch:
            db = drive(folder / "floor.db", n)
        db.close()
        size = (folder / "floor.db").stat().st_size
    return {"cpu_ms": watch.cpu / n * 1e3, "wall_ms": watch.wall / n * 1e3, "bytes": size / n, "growth": pace.growth}


def cold_turns(n: int) -> dict[str, float]:
    """Each step by Python's own `sqlite3`: its message and its run's row in one transaction. As the peers: nothing warmed up."""
    with scratch() as folder:
        db = sqlite3.connect(folder / "floor.db", isolation_level=None)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute(TABLE)
        db.execute("create table run (n integer primary key, seq integer, at real)")
        db.execute("insert into run values (1, 0, 0)")
        with Stopwatch() as watch:
            for k in range(n):
                for seq, body in ((2 * k, reply(k)), (2 * k + 1, result(k))):
                    db.execute("begin immediate")
                    db.execute(INSERT, row(1, seq, body))
                    db.execute("update run set seq = ?, at = ? where n = 1", (seq, time.time()))
                    db.execute("commit")
        db.close()
        size = (folder / "floor.db").stat().st_size
    return {"cpu_ms": watch.cpu / n * 1e3, "wall_ms": watch.wall / n * 1e3, "bytes": size / n}


class Journal:
    """An asynchronous journal: one writer thread, which commits whatever waits as one transaction."""

    def __init__(self, path: Path) -> None:
        self.loop = asyncio.get_running_loop()
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.db = open_file(path)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    async def append(self, *values: Any) -> None:
        future = self.loop.create_future()
        self.queue.put((values, future))
        await future

    def close(self) -> None:
        self.queue.put(None)
        self.thread.join()
        self.db.close()

    def _run(self) -> None:
        while True:
            batch = [self.queue.get()]
            while not self.queue.empty():
                batch.append(self.queue.get())
            waiting = [item for item in batch if item is not None]
            if waiting:
                self.db.execute("begin immediate")
                for values, _ in waiting:
                    self.db.execute(INSERT, values)
                self.db.execute("commit")
                self.loop.call_soon_threadsafe(settle, [future for _, future in waiting])
            if len(waiting) < len(batch):
                return


def settle(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


async def converse(journal: Journal, run: int, n: int) -> None:
    for k in range(n):
        await journal.append(*row(run, 2 * k, reply(k)))
        await journal.append(*row(run, 2 * k + 1, result(k)))


async def threaded_turns(n: int) -> dict[str, float]:
    """Two commits a turn through a writer thread."""
    with scratch() as folder:
        warm = Journal(folder / "warm.db")
        await converse(warm, 1, 5)
        warm.close()
        journal = Journal(folder / "floor.db")
        with Stopwatch() as watch:
            await converse(journal, 1, n)
        journal.close()
    return {"cpu_ms": watch.cpu / n * 1e3, "wall_ms": watch.wall / n * 1e3}


async def crowd(runs: int, n: int = 20) -> dict[str, float]:
    """`runs` journals at once through that thread: group commit."""
    with scratch() as folder:
        journal = Journal(folder / "floor.db")
        with Stopwatch() as watch:
            await asyncio.gather(*(converse(journal, run, n) for run in range(runs)))
        journal.close()
    return {"steps_s": runs * n * 2 / watch.wall, "cpu_ms": watch.cpu / (runs * n) * 1e3}


def park(runs: int) -> dict[str, float]:
    """A commit for each run that parks, and one for each that is resumed."""
    with scratch() as folder:
        db = open_file(folder / "floor.db")
        with Stopwatch() as parking:
            for k in range(runs):
                db.execute(INSERT, row(k, 1, reply(k), "open"))
        with Stopwatch() as resuming:
            for k in range(runs):
                decode(db.execute("select body from journal where key = ?", (k << 32 | 1,)).get)
                db.execute("update journal set state = 'done' where key = ?", (k << 32 | 1,))
        db.close()
    return {"park_s": runs / parking.wall, "resume_s": runs / resuming.wall}


def load(messages: int) -> dict[str, float]:
    """Read a conversation back and decode it: what an answer costs if nothing is kept in memory."""
    with scratch() as folder:
        db = open_file(folder / "floor.db")
        with db:
            for k in range(messages):
                db.execute(INSERT, row(1, k, reply(k) if k % 2 == 0 else result(k)))
        times: list[float] = []
        for _ in range(20):
            began = time.perf_counter()
            found = [
                decode(body) for (body,) in db.execute("select body from journal where key >> 32 = 1 order by key")
            ]
            times.append((time.perf_counter() - began) * 1e3)
            assert len(found) == messages
        db.close()
    return {"ms": statistics.median(times)}


def pending(rows: int) -> dict[str, float]:
    """The first 50 of many open rows, by an index."""
    with scratch() as folder:
        db = open_file(folder / "floor.db")
        db.execute(PENDING)
        with db:
            db.executemany(INSERT, (row(k, 1, reply(k), "open") for k in range(rows)))
        times: list[float] = []
        for _ in range(100):
            began = time.perf_counter()
            found = db.execute("select body from journal where state = 'open' order by at limit 50").fetchall()
            decoded = [decode(body) for (body,) in found]
            times.append((time.perf_counter() - began) * 1e3)
            assert len(decoded) == 50
        db.close()
    return {"ms": statistics.median(times)}


async def cancel(times: int) -> dict[str, float]:
    """`task.cancel()` to `CancelledError` in the task."""
    spent: list[float] = []
    for _ in range(times):
        ended = 0.0

        async def call() -> None:
            nonlocal ended
            try:
                await asyncio.sleep(60)
            finally:
                ended = time.perf_counter()

        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        began = time.perf_counter()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        spent.append((ended - began) * 1e6)
    return {"us": statistics.median(spent)}


def fsync(times: int) -> dict[str, float]:
    """Append 4 KiB and fsync."""
    spent: list[float] = []
    with scratch() as folder, (folder / "file").open("wb", buffering=0) as f:
        for _ in range(times):
            f.write(b"x" * 4096)
            began = time.perf_counter()
            os.fsync(f.fileno())
            spent.append((time.perf_counter() - began) * 1e6)
    return {"us": statistics.median(spent)}


assert len(text(1)) == SIZE
