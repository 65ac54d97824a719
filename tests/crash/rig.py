"""Kills real processes at chosen places, has others recover, and compares with a run that nobody disturbed.

`python -m tests.crash.rig CAMPAIGN SCENARIO…` prints a report as JSON. Everything is imported once, and each life is a fork
of this process: made before any thread, event loop or database exists in it, so that a child is as good as a new process.
"""

import argparse
import asyncio
import gc
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.crash.death import Death, Observer, arm, disarm, disk, name_of, trace
from tests.crash.ground import FOLDERS, Databases, Folders
from tests.crash.life import inspect, live
from tests.crash.scenarios import SCENARIOS, Scenario, World
from tests.stores.postgres.server import PostgresServer, programs

from adjourn import Decision
from adjourn.testing.oracle import every_transaction

HANGS = 60
THREADS = ("MainThread", "adjourn-writer", "adjourn-reader")


class Failed(Exception):
    """A life that ended neither where it had to die nor well."""


class Report:
    """What a campaign did to one scenario."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.counts: dict[str, int] = {}
        self.failures: list[str] = []

    def add(self, what: str, times: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + times

    def json(self) -> dict[str, Any]:
        return {**self.counts, "failures": self.failures, "seconds": round(time.monotonic() - self.began, 2)}


def forked(folder: Path, work: Callable[[], Any]) -> bool:
    """Do the work in a process of its own; False if it was killed. Its result is left in the folder."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(HANGS)
            (folder / "result").write_text(json.dumps(work()))
            code = 0
        except BaseException:
            (folder / "error").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status != 0:
        error = folder / "error"
        raise Failed(error.read_text() if error.exists() else f"it ended with status {status}")
    return True


def life(folder: Path, scenario: Scenario, death: Death | None = None) -> bool:
    """Let a process live in the folder; True if it came to the end, False if it died where it had to."""

    def work() -> Any:
        if death is not None:
            arm(death)
            if death.kind != "commit":  # nothing but the package itself may have instructions to die at
                return asyncio.run(live(folder, scenario))
        with every_transaction() as oracle:
            result = asyncio.run(live(folder, scenario))
        wrong = asyncio.run(inspect(folder)) if death is None else []
        return {**result, "wrong": [*wrong, *oracle.failures]}

    return forked(folder, work)


class Campaign:
    """One scenario, its undisturbed result, and a report."""

    def __init__(self, scenario: Scenario, ground: Folders = FOLDERS) -> None:
        self.scenario, self.ground, self.report = scenario, ground, Report()
        with ground.place() as folder:
            assert life(folder, scenario)
            self.expected = self._result(folder)
        assert self.expected["wrong"] == []

    @staticmethod
    def _result(folder: Path) -> dict[str, Any]:
        return json.loads((folder / "result").read_text())

    def dies(self, folder: Path, death: Death) -> bool:
        """Whether a life died there; what it lived through otherwise is compared as well."""
        try:
            if not life(folder, self.scenario, death):
                self.report.add("deaths")
                return True
            self._compare(folder, f"it came past {death}")
        except Failed as e:
            self.report.failures.append(f"{self.scenario.name}: on the way to {death}: {e}")
        return False

    def recovers(self, folder: Path, after: str) -> None:
        """A process comes, finishes, and everything is as if nobody had died."""
        self.report.add("recoveries")
        try:
            if not life(folder, self.scenario):
                raise Failed("it was killed by somebody else")
            self._compare(folder, f"after {after}")
        except Failed as e:
            self.report.failures.append(f"{self.scenario.name}: after {after}: {e}")

    def _compare(self, folder: Path, when: str) -> None:
        got: dict[str, Any] = {"wrong": [], **self._result(folder)}
        if got != self.expected:
            self.report.failures.append(f"{self.scenario.name}: {when}: expected {self.expected}, got {got}")

    # Campaigns

    def commits(self, stride: int = 1) -> None:
        """Die on every side of every (or every `stride`-th) transaction."""
        for turn, side in enumerate(self.ground.sides):
            at, died = turn % stride, True
            while died:
                with self.ground.place() as folder:
                    if died := self.dies(folder, death := Death("commit", at, side)):
                        self.recovers(folder, str(death))
                at += stride

    def pairs(self, stride: int = 1) -> None:
        """Die at every transaction, and then in the recovery at every (or every `stride`-th) of its transactions."""
        turn = 0
        for side in self.ground.sides:
            at, died = 0, True
            while died:
                with self.ground.place() as saved:
                    if died := self.dies(saved, first := Death("commit", at, side)):
                        turn += 1
                        self._second(saved, first, turn % stride, stride)
                at += 1

    def _second(self, saved: Path, first: Death, start: int, stride: int) -> None:
        for side in self.ground.sides:
            at, died = start, True
            while died:
                with self.ground.place() as folder:
                    self.ground.copy(saved, folder)
                    if died := self.dies(folder, second := Death("commit", at, side)):
                        self.recovers(folder, f"{first}, then {second}")
                at += stride

    def instructions(self, seconds: float, part: int = 0, parts: int = 1) -> None:
        """Look at the disk before every instruction, recover from every state seen; and kill for real, as often as time allows."""
        with self.ground.place() as states:
            passes = self._observe(states, counted=part == 0)
            edges = [Death(kind, at, thread) for (kind, thread), found in passes.items() for at, _ in found["edges"]]
            spots = [Death(d.kind, at, d.where) for d in edges for at in (d.at - 1, d.at) if at >= 0]
            spots += spread([Death(*p[:1], at, p[1]) for p, found in passes.items() for at in range(found["count"])])
            known = {name.name for name in states.iterdir()}
            for n, spot in enumerate(spots[part::parts]):
                if n >= 2 * len(edges) / parts and time.monotonic() - self.report.began > seconds:
                    break
                self._kill(spot, known, always=n % 25 == 0)

    def _observe(self, states: Path, *, counted: bool) -> dict[tuple[str, str], dict[str, Any]]:
        """What every thread's instructions see, and, if it counts, a recovery from each state that one of them saw."""
        passes: dict[tuple[str, str], dict[str, Any]] = {}
        for kind in ("opcode", "line"):
            for thread in THREADS:
                with self.ground.place() as folder:
                    forked(
                        folder,
                        lambda kind=kind, thread=thread, folder=folder: observe(
                            self.scenario, kind, thread, folder, states
                        ),
                    )
                    passes[kind, thread] = found = self._result(folder)
                self.report.add(f"{kind}s", found["count"] if counted else 0)
        for state in sorted(states.iterdir()) if counted else ():
            self.report.add("states")
            with self.ground.place() as folder:
                shutil.copytree(state, folder, dirs_exist_ok=True)
                self.recovers(folder, f"the state {state.name}")
        return passes

    def _kill(self, spot: Death, known: set[str], *, always: bool) -> None:
        with self.ground.place() as folder:
            if self.dies(folder, spot):
                state = name_of(disk(folder))
                if always or state not in known:
                    known.add(state)
                    self.recovers(folder, str(spot))


def observe(scenario: Scenario, kind: str, thread: str, folder: Path, states: Path) -> dict[str, Any]:
    """Live with an eye on the disk."""
    observer = Observer(folder, states)
    trace(kind, thread, observer.tick)
    asyncio.run(live(folder, scenario))
    disarm()
    return {"count": observer.instructions, "edges": observer.edges}


def spread(spots: list[Death]) -> list[Death]:
    """The same, in an order of which every beginning is spread evenly over the whole."""
    golden = 0.6180339887498949
    return [spot for _, spot in sorted((n * golden % 1.0, spot) for n, spot in enumerate(spots))]


async def warm() -> None:
    """Import what is imported on first use, so that no child has to."""
    agent = SCENARIOS["edit"].agent()
    with FOLDERS.place() as folder:
        resources = {"world": World(folder / "world")}
        outcome = await agent.run("go", resources=resources)
        await agent.resume(outcome.checkpoint.to_json(), Decision.approve(edit={"x": "b"}), resources=resources)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("campaign", choices=["commits", "pairs", "instructions"])
    parser.add_argument("scenarios", nargs="+", choices=list(SCENARIOS))
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of its own instead of SQLite")
    asked = parser.parse_args()
    asyncio.run(warm())
    gc.collect()
    gc.freeze()
    with ExitStack() as until:
        ground = FOLDERS
        if asked.postgres:
            found = programs()
            assert found is not None, "tests/stores/postgres/install.sh installs PostgreSQL"
            ground = Databases(until.enter_context(PostgresServer(found)))
        json.dump(reported(asked, ground), sys.stdout)


def reported(asked: argparse.Namespace, ground: Folders) -> dict[str, Any]:
    """What the campaign that was asked for found, by scenario."""
    reports: dict[str, Any] = {}
    for name in asked.scenarios:
        campaign = Campaign(SCENARIOS[name], ground)
        if asked.campaign == "commits":
            campaign.commits(asked.stride)
        elif asked.campaign == "pairs":
            campaign.pairs(asked.stride)
        else:
            campaign.instructions(asked.seconds, asked.part, asked.parts)
        reports[name] = campaign.report.json()
    return reports


if __name__ == "__main__":
    main()
