"""Speed, beside the raw SQLite floor in the same run: `make bench`. `ARGS="turns crowd"` measures only what is named so.

Every measurement has a process of its own; several repetitions, spread over the run, and their medians. The floor is
two synchronous commits a turn of the same payload, without an agent, a loop or a check: no runtime can be below it.
On a busy machine trust bytes, then ratios inside one run, then CPU, and wall time last.

`run.py --peers` (`make bench-peers`) measures the same turn in other frameworks, each in its own environment.
`run.py --fleet` (`make bench-fleet`) measures PostgreSQL and engines, beside a raw commit of the same server.
"""

import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from capacity import simulated
from goals import FLEET_LINES, HEAD, LINES, PEER_HEAD, PEERS, Figures, Line, peer_goals, peer_rows, rows, shown, table

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
ENVIRONMENTS = HERE.parent / ".venv-peers"
ADJOURN = "from adjourn import Agent, Runtime, tool"
FLOOR = "import asyncio, msgspec, apsw"
NAMES = {ADJOURN: "adjourn", FLOOR: "floor"}


class Measurement(NamedTuple):
    """What is measured: the function in this folder, its arguments, how often, by whose Python, and the name of its figures."""

    function: str
    arguments: tuple[str, ...]
    times: int
    python: str = sys.executable
    title: str = ""
    timeout: float = 300.0

    @property
    def name(self) -> str:
        return self.title or " ".join((self.function, *(NAMES.get(a, a) for a in self.arguments)))


def own() -> list[Measurement]:
    """Adjourn beside the floor."""
    plan = [
        *((name, (str(n),), times) for n, times in ((10, 3), (100, 5), (1000, 3))
          for name in ("floor.turns", "floor.threaded_turns", "turns")),
        ("cold_turns", ("100",), 5),
        *((name, ("1000", "1500"), 3) for name in ("floor.turns", "turns")),
        ("turns", ("10000",), 3),
        *(("long_lives.chat", (str(n),), times) for n, times in ((50, 3), (200, 3), (1000, 2))),
        *(("long_lives.answer_cold", (str(n),), times) for n, times in ((1000, 3), (20000, 2), (100000, 1))),
        *((name, (str(n),), 3) for n in (10, 100, 1000) for name in ("floor.load", "answer_hot", "answer_fresh")),
        *((name, ("1000",), 3) for name in ("floor.park", "park")),
        ("park", ("3000",), 2),
        *((name, ("100",), 3) for name in ("floor.crowd", "crowd")),
        *(("long_lives.processes", (str(n),), 5) for n in (1, 2)),
        ("long_lives.parked_memory", ("10000",), 1),
        *((name, ("100000",), 1) for name in ("floor.pending", "inbox")),
        ("lists.filters", ("100000",), 1),
        ("lists.filters", ("1000000",), 1),
        ("lists.hub", ("100000",), 1),
        ("served.status", ("5",), 3),
        ("floor.cancel", ("200",), 1),
        ("cancel", ("40",), 3),
        ("floor.fsync", ("200",), 3),
        ("imports", (ADJOURN,), 1),
        ("imports", (FLOOR,), 1),
    ]  # fmt: skip
    return [Measurement(*entry) for entry in plan]


def peers() -> list[Measurement]:
    """The same turn, cold, everywhere. Those whose cost grows with the square of the turns may not end in time: they have no figure."""
    found: list[Measurement] = []
    for n, times in ((100, 3), (1000, 1)):
        found.append(Measurement("floor.cold_turns", (str(n),), times, title=f"floor.turns {n}"))
        found.append(Measurement("cold_turns", (str(n),), times, title=f"adjourn.turns {n}"))
        found += [peer(name, "turns", n, times) for name in PEERS]
    for n in (100, 1000):
        found.append(Measurement("answer_hot", (str(n),), 3, title=f"adjourn.answer {n}"))
        found += [peer(name, "answer", n, 2) for name in PEERS]
    return found


def peer(name: str, what: str, n: int, times: int) -> Measurement:
    module, _, mode = name.partition("-")
    python = str(ENVIRONMENTS / module / "bin" / "python")
    return Measurement(f"peers.{module}.{what}", (str(n), mode or "default"), times, python, f"{name}.{what} {n}", 60.0)


def fleet() -> list[Measurement]:
    """PostgreSQL beside a raw commit, and what engines add."""
    plan = [
        ("commits", ("300",), 3),
        ("crowd", ("40",), 3),
        ("steps", ("40",), 3),
        ("words", ("60",), 3),
        ("beside", ("100000", "1000000"), 1),
        ("cuts", ("500",), 1),
        *((name, (count, kind), 1) for kind in ("restate", "temporal") for name, count in (("steps", "40"), ("words", "60"))),
    ]  # fmt: skip
    return [Measurement(f"fleet_cost.{name}", arguments, times) for name, arguments, times in plan]


@contextmanager
def database() -> Generator[None]:
    """A server of the tests, with its files on the disk where temporary files live; measurements find it in their environment."""
    sys.path.insert(0, str(HERE.parent))
    from tests.stores.postgres.server import PostgresServer, programs

    found = programs()
    if found is None:
        raise SystemExit("there is no PostgreSQL here: tests/stores/postgres/install.sh installs it on Debian")
    server = PostgresServer(found, Path(tempfile.gettempdir()))
    server.settings |= {"shared_buffers": "256MB", "max_wal_size": "4GB"}
    with server:
        os.environ["ADJOURN_BENCH_POSTGRES"] = json.dumps({"address": server.address(""), "pid": server.pid})
        os.environ["PYTHONPATH"] = str(HERE.parent)
        try:
            yield
        finally:
            server.stop(signal.SIGQUIT)  # its files go: nobody waits for a last checkpoint of a million runs


FAILED: list[str] = []
"""What did not end well. The others are measured all the same."""


def measure(what: Measurement, compiled: str) -> dict[str, float]:
    """One measurement in a fresh process; `compiled` is where it finds bytecode, as an installed package has it.

    Nothing if it fails, or if a peer does not end in time."""
    command = [what.python, str(HERE / "one.py"), what.function, *what.arguments]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    out, err = (
        Path(compiled) / "out",
        Path(compiled) / "err",
    )  # files: whoever it started may hold a pipe open after its end
    with out.open("w") as told, err.open("w") as why:
        process = subprocess.Popen(
            command, stdout=told, stderr=why, env=environment, cwd=compiled, start_new_session=True
        )
        try:
            code = process.wait(what.timeout)
        except subprocess.TimeoutExpired:
            if what.python == sys.executable:
                FAILED.append(f"{what.name} did not end within {what.timeout:.0f} s")
            return {}
        finally:
            end_all(process)
    if code:
        FAILED.append(f"{' '.join(command[1:])} failed:\n{err.read_text()}")
        return {}
    return json.loads(out.read_text().splitlines()[-1])


def end_all(process: "subprocess.Popen[bytes]") -> None:
    """End a measurement and whatever it started: its worker, an engine's server."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def rounds(plan: list[Measurement], wanted: list[str]) -> list[Measurement]:
    """Repetitions interleaved, so that a busy minute falls on all of them."""
    plan = [entry for entry in plan if not wanted or any(word in entry.name for word in wanted)]
    most = max((entry.times for entry in plan), default=0)
    return [entry for k in range(most) for entry in plan if k < entry.times]


def main() -> None:
    words = sys.argv[1:]
    section = next((name for name in ("peers", "fleet") if f"--{name}" in words), "own")
    wanted = [word for word in words if not word.startswith("-")]
    began, load = time.time(), os.getloadavg()[0]
    seen: dict[str, list[float]] = {}
    plan = {"own": own, "peers": peers, "fleet": fleet}[section]()
    with ExitStack() as stack:
        compiled = stack.enter_context(tempfile.TemporaryDirectory(prefix="adjourn-bench-"))
        if section == "fleet":
            stack.enter_context(database())
        for entry in rounds(plan, wanted):
            since = time.time()
            for figure, value in measure(entry, compiled).items():
                seen.setdefault(f"{entry.name}.{figure}", []).append(value)
            print(f"{since - began:5.0f} s + {time.time() - since:4.0f}  {entry.name}", file=sys.stderr, flush=True)
    medians: Figures = {name: statistics.median(values) for name, values in seen.items()}
    machine: dict[str, Any] = {
        "python": platform.python_version(), "cores": os.cpu_count(), "load": round(load, 1), "seconds": round(time.time() - began),
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "load_end": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    print(
        f"Python {machine['python']}, {machine['cores']} cores, {machine['seconds']} s at load {machine['load']}",
        end="",
    )
    print(f"; an fsync takes {shown(medians.get('floor.fsync 200.us'))} µs\n" if section == "own" else "\n")
    goals = told(section, medians)
    print(f"\n{sum(reached for _, reached in goals)} of {len(goals)} goals reached")
    if not wanted:
        found = {"machine": machine, "medians": medians, "all": seen}
        keep(section, {**found, "capacity": simulated(medians)} if section == "fleet" else found)
    if FAILED:
        raise SystemExit("\n".join(FAILED))


def told(section: str, medians: Figures) -> list[tuple[str, bool]]:
    """Print the table; its goals."""
    if section == "peers":
        print(table([PEER_HEAD, *peer_rows(medians)]))
        goals = peer_goals(medians)
        print("\n" + "\n".join(f"{text}: {'ok' if reached else 'missed'}" for text, reached in goals))
        return goals
    lines: list[Line] = LINES if section == "own" else FLEET_LINES
    print(table([HEAD, *rows(medians, lines)]))
    return [goal for line in lines for goal in line.goals(medians)]


def keep(section: str, found: dict[str, Any]) -> None:
    """What a whole run found, beside what the other one did. `report.py` makes the documentation's page of it."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept[section] = found
    RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
