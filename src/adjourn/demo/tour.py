"""The tour: real processes, a real kill, and a ledger outside the store that says what really happened."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adjourn.cli.commands.inbox import Settled, settle
from adjourn.cli.database import with_runtime
from adjourn.cli.person import Person
from adjourn.cli.terminal.interrupt import Item, look
from adjourn.cli.terminal.prompt import Choice
from adjourn.core.records import Returned
from adjourn.demo.tour_agents import HANG, LEDGER, Entry, entries
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.runtime import Runtime
from adjourn.views.timeline import Timeline

ORDER, RETURN = "order-4417", "return-4417"
SECONDS = 30.0
"""What no part of the tour may last; each takes well under a second."""


class TourFailed(Exception):
    """Something was not as the tour says."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process of the tour that has ended."""

    pid: int
    code: int
    seconds: float
    said: str = ""


@dataclass(slots=True)
class Tour:
    """What the parts of the tour share. Every claim is checked; `checks` counts them."""

    folder: Path
    checks: int = 0
    killed: set[int] = field(default_factory=set[int])
    _begun: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    @property
    def database(self) -> str:
        """The one database of the tour."""
        return str(self.folder / "demo.db")

    @property
    def ledger(self) -> Path:
        """What the tools write, outside of the store."""
        return self.folder / "ledger.jsonl"

    def check(self, true: bool, what: str) -> None:
        """Go on only if it is so."""
        if not true:
            raise TourFailed(f"{what}: it is not so")
        self.checks += 1

    # Processes

    def begin(self, run: str, *start: str, hang: bool = False) -> subprocess.Popen[str]:
        """Begin a process that advances a run."""
        command = [sys.executable, "-m", "adjourn.demo.tour_process", self.database, run, *start]
        return self._begin(command, {HANG: "1"} if hang else {})

    def _begin(self, command: Sequence[str], extra: dict[str, str]) -> subprocess.Popen[str]:
        env = (
            {k: v for k, v in os.environ.items() if k not in (HANG, "ADJOURN_DB")} | {LEDGER: str(self.ledger)} | extra
        )
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._begun.append(process)
        return process

    def close(self) -> None:
        """Leave no process behind, whatever happened."""
        for process in self._begun:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def end(self, process: subprocess.Popen[str], began: float) -> Ended:
        """Wait for a process to end by itself."""
        try:
            said, complaint = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise TourFailed(f"process {process.pid} did not end within {SECONDS:g} s") from None
        return Ended(process.pid, process.returncode, time.monotonic() - began, said + complaint)

    def advance(self, run: str, *start: str) -> Ended:
        """A whole process, from its start to its end."""
        began = time.monotonic()
        done = self.end(self.begin(run, *start), began)
        if done.code not in (0, 3, 4):
            raise TourFailed(f"process {done.pid} ended with {done.code}:\n{done.said}")
        return done

    def approve_again(self, item: str, names: Sequence[str]) -> list[Ended]:
        """The same approval, sent at the same moment by a process for each name."""
        began = time.monotonic()
        base = [sys.executable, "-m", "adjourn", "approve", item, "--db", self.database, "--by"]
        processes = [self._begin([*base, name], {}) for name in names]
        return [self.end(process, began) for process in processes]

    def kill_in_the_middle(self, run: str, *start: str) -> Ended:
        """Begin a run, wait until both of its effects have happened and none is recorded, and kill -9 the process."""
        began = time.monotonic()
        process = self.begin(run, *start, hang=True)
        both = {"book_courier", "pay_supplier"}
        while not both <= {e.tool for e in self.entries() if e.pid == process.pid}:
            if process.poll() is not None or time.monotonic() - began > SECONDS:
                raise TourFailed(f"process {process.pid} did not come as far as its two effects")
            time.sleep(0.01)
        process.kill()
        process.communicate()
        self.killed.add(process.pid)
        return Ended(process.pid, process.returncode, time.monotonic() - began)

    # The store

    def item(self, run: str) -> Item:
        """The one thing that the run waits for."""

        async def work(rt: Runtime) -> Item:
            [interrupt] = await rt.inbox(run=run)
            return await look(rt, interrupt)

        return with_runtime(self.database, work)

    def decide(self, item: Item, choice: Choice, by: str) -> Settled:
        """A decision, from this process, which has no program."""
        seen = item.interrupt.digest
        return with_runtime(self.database, lambda rt: settle(rt, item.interrupt, choice, Person(by), seen))

    def checkpoint(self, run: str) -> Checkpoint:
        """The run's journal as it is now."""

        async def work(rt: Runtime) -> Checkpoint:
            return await (await rt.get(run)).checkpoint()

        return with_runtime(self.database, work)

    def timeline(self, run: str) -> Timeline:
        """The run's steps."""
        return Timeline.of(list(enumerate(self.checkpoint(run).records, 1)), time.time())

    # The ledger

    def entries(self) -> list[Entry]:
        """What the tools wrote."""
        return entries(self.ledger)

    def effects(self) -> Counter[str]:
        """How often each key took effect in the world."""
        return Counter(e.key for e in self.entries() if e.effect)

    def results(self) -> Counter[tuple[str, str]]:
        """How many results each call of each run has in the store."""
        return Counter(
            (run, record.call)
            for run in (ORDER, RETURN)
            for record in self.checkpoint(run).records
            if isinstance(record, Returned)
        )


def last_words(checkpoint: Checkpoint) -> Any:
    """A finished run's output."""
    return getattr(checkpoint.state.ended, "output", None)
