"""Where a process dies: around a transaction, or at the n-th instruction of one of its threads."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import adjourn
from adjourn.stores.postgres import PostgresStore
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.guest_threads import SQLiteThreads

PACKAGE = str(Path(adjourn.__file__).parent)
COMMIT_PATH = frozenset(
    f"{PACKAGE}/{name}.py"
    for name in (
        "stores/sqlite/batch_thread",
        "stores/sqlite/store",
        "stores/sqlite/transaction",
        "stores/rules/sheet",
        "stores/rules/transaction",
        "stores/rules/creation",
        "stores/rules/journal",
        "stores/rules/lease",
        "stores/rules/commit",
        "stores/rules/commands",
        "driver/loop",
    )
)


class Death(NamedTuple):
    """`kind` is what is counted. `where`: the side of the transaction, or the thread."""

    kind: str
    at: int
    where: str

    def __str__(self) -> str:
        return f"{self.kind} {self.at} ({self.where})"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(death: Death) -> None:
    """Make this process die there. For a process that has no other threads yet."""
    if death.kind == "commit":
        _arm_commit(death)
        return

    def tick(n: int) -> None:
        if n >= death.at:
            die()

    trace(death.kind, death.where, tick)


def _arm_commit(death: Death) -> None:
    """`before` it begins, `after` its commit, or `held`: worked out, under its locks, and not committed."""
    counted, here = count(), threading.local()

    def dying(transact: Any) -> Any:
        def transacts(self: Any, *given: Any) -> Any:
            here.mine = mine = next(counted) == death.at
            if mine and death.where == "before":
                die()
            found = transact(self, *given)
            if mine:
                die()
            return found

        return transacts

    settled = rule_transaction.settled

    def dying_at_last(book: Any) -> None:
        if death.where == "held" and getattr(here, "mine", False):
            die()
        settled(book)

    rule_transaction.settled = dying_at_last
    for writer in (SQLiteStore, SQLiteThreads):
        writer._transact = dying(writer._transact)
    for name in ("_attempt", "_compare"):
        setattr(PostgresStore, name, dying(getattr(PostgresStore, name)))


def trace(kind: str, thread: str, tick: Callable[[int], None]) -> None:
    """Call `tick(n)` before the n-th opcode of the commit path, or line of the rest of the package, in that thread."""
    wanted: dict[str, bool] = {}
    opcodes = kind == "opcode"
    numbers = count()

    def step(frame: FrameType, event: str, arg: Any) -> Any:
        if event == kind:
            tick(next(numbers))
        return step

    def begin(frame: FrameType, event: str, arg: Any) -> Any:
        if threading.current_thread().name != thread:
            sys.settrace(None)
            return None
        file = frame.f_code.co_filename
        if file not in wanted:
            wanted[file] = file in COMMIT_PATH if opcodes else file.startswith(PACKAGE) and file not in COMMIT_PATH
        if not wanted[file]:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = opcodes, not opcodes
        return step

    threading.settrace(begin)
    if thread == threading.main_thread().name:
        sys.settrace(begin)


def disarm() -> None:
    """From here on this process is left alone."""
    threading.settrace(None)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    sys.settrace(None)


Disk = tuple[int, ...]
"""What a death would leave: the sizes of the database, of its log, and of the world. All three only grow here."""


def disk(folder: Path) -> Disk:
    return tuple(_size(folder / name) for name in ("runs.db", "runs.db-wal", "world"))


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return -1


class Observer:
    """Looks at the disk before every instruction and keeps a copy of every state that a death there would leave."""

    def __init__(self, folder: Path, states: Path) -> None:
        self._folder, self._states = folder, states
        self.instructions = 0
        self.edges: list[tuple[int, Disk]] = []
        self._last: Disk | None = None

    def tick(self, n: int) -> None:
        self.instructions = n + 1
        now = disk(self._folder)
        if now != self._last:
            self._last = now
            self.edges.append((n, now))
            copy_state(self._folder, self._states / name_of(now))


def name_of(state: Disk) -> str:
    return "-".join(map(str, state))


def copy_state(folder: Path, to: Path) -> None:
    """The files that a new process finds; the shared memory dies with its last user."""
    if to.exists():
        return
    to.mkdir()
    for name in ("runs.db", "runs.db-wal", "world", "deaths"):
        if (folder / name).exists():
            shutil.copyfile(folder / name, to / name)
