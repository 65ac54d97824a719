"""Speed, beside the raw SQLite floor in the same run: `make bench`. `ARGS="turns crowd"` measures only what is named so.

Every measurement has a process of its own; several repetitions, spread over the run, and their medians. The floor is
two synchronous commits a turn of the same payload, without an agent, a loop or a check: no runtime can be below it.
On a busy machine trust bytes, then ratios inside one run, then CPU, and wall time last.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from goals import LINES, Figures, shown, table

HERE = Path(__file__).parent
ADJOURN = "from adjourn import Agent, Runtime, tool"
FLOOR = "import asyncio, msgspec, apsw"

# (name of the measurement, arguments, repetitions)
PLAN: list[tuple[str, tuple[str, ...], int]] = [
    *((name, (str(n),), times) for n, times in ((10, 5), (100, 5), (1000, 3))
      for name in ("floor.turns", "floor.threaded_turns", "turns")),
    ("floor.plain_turns", ("100",), 3),
    *((name, (str(n),), 3) for n in (10, 100, 1000) for name in ("floor.load", "answer_hot", "answer_fresh")),
    *((name, ("1000",), 3) for name in ("floor.park", "park")),
    *((name, ("100",), 3) for name in ("floor.crowd", "crowd")),
    *((name, ("100000",), 1) for name in ("floor.pending", "inbox")),
    ("served.status", ("5",), 3),
    ("floor.cancel", ("200",), 1),
    ("cancel", ("40",), 3),
    ("floor.fsync", ("200",), 3),
    ("imports", (ADJOURN,), 1),
    ("imports", (FLOOR,), 1),
]  # fmt: skip
NAMES = {ADJOURN: "adjourn", FLOOR: "floor"}


def measure(name: str, arguments: tuple[str, ...], compiled: str) -> dict[str, float]:
    """One measurement in a fresh process; `compiled` is where it finds bytecode, as an installed package has it."""
    command = [sys.executable, str(HERE / "one.py"), name, *arguments]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def rounds(wanted: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Repetitions interleaved, so that a busy minute falls on all of them."""
    plan = [entry for entry in PLAN if not wanted or any(word in entry[0] for word in wanted)]
    most = max((times for *_, times in plan), default=0)
    return [(name, arguments) for k in range(most) for name, arguments, times in plan if k < times]


def main() -> None:
    began, load = time.time(), os.getloadavg()[0]
    seen: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="adjourn-bench-") as compiled:
        for name, arguments in rounds(sys.argv[1:]):
            if sys.stderr.isatty():
                print(f"\r{time.time() - began:5.0f} s  {name:24s}\r", end="", file=sys.stderr, flush=True)
            for figure, value in measure(name, arguments, compiled).items():
                argument = " ".join(NAMES.get(a, a) for a in arguments)
                seen.setdefault(f"{name} {argument}.{figure}", []).append(value)
    medians: Figures = {name: statistics.median(values) for name, values in seen.items()}
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {time.time() - began:.0f} s at load {load:.1f}",
        end="",
    )
    print(f"; an fsync takes {shown(medians.get('floor.fsync 200.us'))} µs\n\n{table(medians)}\n")
    goals = [reached for line in LINES for _, reached in line.goals(medians)]
    print(f"{sum(goals)} of {len(goals)} goals reached")
    (HERE / "results.json").write_text(json.dumps({"medians": medians, "all": seen}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
