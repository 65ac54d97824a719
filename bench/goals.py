"""What should be reached, beside what was measured. A goal is a limit, or a multiple of the floor of the same run."""

from collections.abc import Callable
from dataclasses import dataclass

Figures = dict[str, float]


@dataclass(frozen=True)
class Line:
    """One line of the table: how to get its figures out of the medians, and what they should be."""

    what: str
    unit: str
    figure: Callable[[Figures], float | None]
    floor: Callable[[Figures], float | None] = lambda _: None
    most: float | None = None
    least: float | None = None
    times: float | None = None

    def goals(self, figures: Figures) -> list[tuple[str, bool]]:
        """Each goal as text, and whether it is reached."""
        value, floor = self.figure(figures), self.floor(figures)
        found: list[tuple[str, bool]] = []
        if value is None:
            return found
        if self.most is not None:
            found.append((f"≤ {self.most:g}", value <= self.most))
        if self.least is not None:
            found.append((f"≥ {self.least:,.0f}", value >= self.least))
        if self.times is not None and floor:
            found.append((f"≤ {self.times:g}× floor", value <= self.times * floor))
        return found


def at(name: str) -> Callable[[Figures], float | None]:
    return lambda figures: figures.get(name)


def growth(name: str) -> Callable[[Figures], float | None]:
    def ratio(figures: Figures) -> float | None:
        short, long = figures.get(f"{name} 100.cpu_ms"), figures.get(f"{name} 1000.cpu_ms")
        return long / short if short and long else None

    return ratio


def disk(name: str) -> Callable[[Figures], float | None]:
    return lambda figures: figures[f"{name} 1000.bytes"] / 1e3 if f"{name} 1000.bytes" in figures else None


LINES = [
    *(Line(f"durable turn, CPU, {n:,} turns", "ms", at(f"turns {n}.cpu_ms"), at(f"floor.turns {n}.cpu_ms"),
           most=1.2 if n > 10 else None, times=3 if n > 10 else None) for n in (10, 100, 1000)),
    *(Line(f"the same by an async journal with a writer thread, {n:,} turns", "ms", at(f"floor.threaded_turns {n}.cpu_ms"),
           at(f"floor.turns {n}.cpu_ms")) for n in (10, 100, 1000)),
    *(Line(f"durable turn, wall, {n:,} turns", "ms", at(f"turns {n}.wall_ms"), at(f"floor.turns {n}.wall_ms"))
      for n in (10, 100, 1000)),
    Line("growth of CPU per turn, runs of 100 → 1,000 turns", "×", growth("turns"), growth("floor.turns"), most=1.05),
    Line("the same inside one run, turn 300 → 1,000", "×", at("turns 1000.growth"), at("floor.turns 1000.growth"), most=1.05),
    Line("disk for 1,000 turns", "MB", disk("turns"), disk("floor.turns"), most=2.1, times=1.5),
    *(Line(f"answer → tool body, same process, {n:,} messages", "ms", at(f"answer_hot {n}.ms"), at(f"floor.load {n}.ms"),
           most=3) for n in (10, 100, 1000)),
    *(Line(f"spawn → continue, fresh process, {n:,} messages", "ms", at(f"answer_fresh {n}.ms"),
           most=300 if n == 100 else None) for n in (10, 100, 1000)),
    Line("the same, CPU, 100 messages", "ms", at("answer_fresh 100.cpu_ms")),
    Line("runs parked per second", "/s", at("park 1000.park_s"), at("floor.park 1000.park_s"), least=3000),
    Line("runs resumed to the end per second", "/s", at("park 1000.resume_s"), at("floor.park 1000.resume_s"), least=2000),
    Line("CPU of a park", "ms", at("park 1000.park_cpu_ms")),
    Line("CPU of a resume to the end", "ms", at("park 1000.resume_cpu_ms")),
    Line("durable steps per second, 100 runs at once", "/s", at("crowd 100.steps_s"), at("floor.crowd 100.steps_s"), least=8000),
    Line("the same, CPU per turn", "ms", at("crowd 100.cpu_ms"), at("floor.crowd 100.cpu_ms")),
    Line("the same, commits per fsync", "", at("crowd 100.commits_per_fsync")),
    Line("first 50 of 100,000 pending", "ms", at("inbox 100000.ms"), at("floor.pending 100000.ms"), most=0.5),
    Line("run status over HTTP beside a working worker, requests per second", "/s", at("served.status 5.rps"), least=500),
    Line("the same, 99 of 100 within", "ms", at("served.status 5.p99_ms")),
    Line("the same, the server's CPU for each", "ms", at("served.status 5.cpu_ms")),
    Line("the same, turns per second of the worker", "/s", at("served.status 5.turns_s")),
    Line("cancel acknowledged → model call cut", "µs", at("cancel 40.us"), at("floor.cancel 200.us"), most=200),
    Line("cancel asked → model call cut (one fsync within)", "µs", at("cancel 40.from_call_us")),
    Line("from adjourn import Agent, Runtime, tool; CPU", "ms", at("imports adjourn.ms"), at("imports floor.ms"), most=200),
]  # fmt: skip


def shown(value: float | None) -> str:
    """Three digits, or as many as there are before the point."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(figures: Figures) -> str:
    """The measured figures beside the floor and the goals."""
    rows = [("", "measured", "floor", "× floor", "goal")]
    for line in LINES:
        value, floor = line.figure(figures), line.floor(figures)
        if value is None:
            continue
        goals = "; ".join(f"{text} {'ok' if reached else 'MISSED'}" for text, reached in line.goals(figures))
        ratio = f"{value / floor:.2f}" if floor else "–"
        what = f"{line.what} ({line.unit})" if line.unit else line.what
        rows.append((what, shown(value), shown(floor), ratio, goals))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(w) if k in (0, 4) else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    )  # fmt: skip
