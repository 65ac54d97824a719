"""What should be reached, beside what was measured. A goal is a limit, or a multiple of another figure of the same run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Figures = dict[str, float]
Figure = Callable[[Figures], float | None]


@dataclass(frozen=True)
class Line:
    """One line of the table: how to get its figures out of the medians, and what they should be.

    `beside` is what it is compared with: the floor, or the same work when there is less of it.
    """

    what: str
    unit: str
    figure: Figure
    beside: Figure = lambda _: None
    most: float | None = None
    least: float | None = None
    times: float | None = None
    more: float | None = None

    def goals(self, figures: Figures) -> list[tuple[str, bool]]:
        """Each goal as text, and whether it is reached."""
        value, beside = self.figure(figures), self.beside(figures)
        found: list[tuple[str, bool]] = []
        if value is None:
            return found
        if self.most is not None:
            found.append((f"≤ {self.most:g}", value <= self.most))
        if self.least is not None:
            found.append((f"≥ {self.least:,.0f}", value >= self.least))
        if self.times is not None and beside:
            found.append((f"≤ {self.times:g}×", value <= self.times * beside))
        if self.more is not None and beside is not None:
            found.append((f"≤ +{self.more:g}", value <= self.more + beside))
        return found


def at(name: str) -> Figure:
    return lambda figures: figures.get(name)


def ratio(long: str, short: str) -> Figure:
    """How much more the first is than the second."""

    def quotient(figures: Figures) -> float | None:
        a, b = figures.get(long), figures.get(short)
        return a / b if a and b else None

    return quotient


def growth(name: str, figure: str, short: int, long: int) -> Figure:
    return ratio(f"{name} {long}.{figure}", f"{name} {short}.{figure}")


LINES = [
    # A durable turn
    Line("durable turn, CPU, 1,000 turns, warm", "ms", at("turns 1000.cpu_ms"), at("floor.threaded_turns 1000.cpu_ms"), most=1.0, times=2),
    Line("durable turn, CPU, 100 turns, cold", "ms", at("cold_turns 100.cpu_ms"), at("floor.turns 100.cpu_ms"), most=1.3),
    *(Line(f"durable turn, CPU, {n:,} turns, beside a synchronous loop", "ms", at(f"turns {n}.cpu_ms"), at(f"floor.turns {n}.cpu_ms"))
      for n in (10, 100, 1000)),
    *(Line(f"durable turn, wall, {n:,} turns", "ms", at(f"turns {n}.wall_ms"), at(f"floor.turns {n}.wall_ms")) for n in (100, 1000)),
    Line("growth of CPU per turn, 100 → 1,000 turns", "×", growth("turns", "cpu_ms", 100, 1000), most=1.05),
    Line("growth of CPU per turn, 1,000 → 10,000 turns", "×", growth("turns", "cpu_ms", 1000, 10000), most=1.1),
    Line("disk per turn, messages of 500 bytes", "bytes", at("turns 1000.bytes"), at("floor.turns 1000.bytes"), times=1.5),
    Line("disk per turn, messages of 1,500 bytes", "bytes", at("turns 1000 1500.bytes"), at("floor.turns 1000 1500.bytes"), times=1.5),
    # A chat
    Line("chat, CPU of a turn, 50 → 200", "×", growth("long_lives.chat", "cpu_ms", 50, 200), most=1.1),
    Line("chat, CPU of a turn, 50 → 1,000", "×", growth("long_lives.chat", "cpu_ms", 50, 1000), most=1.1),
    Line("chat, disk per turn, 50 → 1,000", "×", growth("long_lives.chat", "bytes", 50, 1000), most=1.1),
    Line("chat, CPU of a turn, 1,000 turns", "ms", at("long_lives.chat 1000.cpu_ms")),
    Line("chat, disk per turn, 1,000 turns", "bytes", at("long_lives.chat 1000.bytes")),
    # A long journal
    *(Line(f"answer → tool body, cold, {n:,} records", "ms", at(f"long_lives.answer_cold {n}.ms"),
           at("long_lives.answer_cold 1000.ms") if n > 1000 else lambda _: None, times=2 if n > 1000 else None)
      for n in (1000, 20000, 100000)),
    *(Line(f"the same, longest stall of the loop, {n:,} records", "ms", at(f"long_lives.answer_cold {n}.stall_ms"), most=50)
      for n in (1000, 20000, 100000)),
    *(Line(f"answer → tool body, same process, {n:,} messages", "ms", at(f"answer_hot {n}.ms"), at(f"floor.load {n}.ms"),
           most=3) for n in (10, 100, 1000)),
    *(Line(f"spawn → continue, fresh process, {n:,} messages", "ms", at(f"answer_fresh {n}.ms"),
           most=230 if n == 100 else None) for n in (10, 100, 1000)),
    # Many runs
    Line("CPU of a park, 1,000 runs", "ms", at("park 1000.park_cpu_ms"), most=0.7),
    Line("CPU of a resume to the end, 1,000 runs", "ms", at("park 1000.resume_cpu_ms"), most=1.0),
    Line("CPU of a park, 3,000 waiters", "ms", at("park 3000.park_cpu_ms"), at("park 1000.park_cpu_ms"), times=1.1),
    Line("CPU of a resume to the end, 3,000 waiters", "ms", at("park 3000.resume_cpu_ms"), at("park 1000.resume_cpu_ms"), times=1.1),
    Line("runs parked per second", "/s", at("park 1000.park_s"), at("floor.park 1000.park_s")),
    Line("runs resumed to the end per second", "/s", at("park 1000.resume_s"), at("floor.park 1000.resume_s")),
    Line("durable steps per second, 100 runs at once", "/s", at("crowd 100.steps_s"), at("floor.crowd 100.steps_s"), least=7000),
    Line("the same, CPU per turn", "ms", at("crowd 100.cpu_ms"), at("floor.crowd 100.cpu_ms")),
    Line("the same, commits per fsync", "", at("crowd 100.commits_per_fsync")),
    Line("two processes on one file, durable steps per second beside one", "×",
         growth("long_lives.processes", "steps_s", 1, 2), least=1),
    Line("two processes on one file, CPU per turn beside one", "×", growth("long_lives.processes", "cpu_ms", 1, 2), most=1.1),
    Line("memory of an open runtime with 10,000 parked runs of 200 KB", "MB", at("long_lives.parked_memory 10000.mb"), most=150),
    # People
    Line("first 50 of 100,000 pending", "ms", at("inbox 100000.ms"), at("floor.pending 100000.ms"), most=0.5),
    *(Line(f"the slowest filter of runs or of the audit, {n:,} finished runs, CPU", "ms", at(f"lists.filters {n}.worst_ms"), most=5)
      for n in (100000, 1000000)),
    *(Line(f"two broad filters that no run fulfils together, {n:,} finished runs, CPU", "ms", at(f"lists.filters {n}.both_ms"))
      for n in (100000, 1000000)),
    *(Line(f"the same, longest look: other lists have their turn after it, {n:,} finished runs, CPU", "ms",
           at(f"lists.filters {n}.look_ms"), most=5) for n in (100000, 1000000)),
    Line("a look of the console's hub, 100,000 pending", "ms", at("lists.hub 100000.ms"), most=5),
    Line("its first look, longest stall of the loop", "ms", at("lists.hub 100000.stall_ms"), most=50),
    Line("run status over HTTP beside a working worker, requests per second", "/s", at("served.status 5.rps"), least=500),
    Line("the same, 99 of 100 within", "ms", at("served.status 5.p99_ms")),
    Line("the same, the server's CPU for each", "ms", at("served.status 5.cpu_ms")),
    Line("the same, turns per second of the worker", "/s", at("served.status 5.turns_s")),
    Line("cancel acknowledged → model call cut", "µs", at("cancel 40.us"), at("floor.cancel 200.us"), most=200),
    Line("cancel asked → model call cut (one fsync within)", "µs", at("cancel 40.from_call_us")),
    Line("from adjourn import Agent, Runtime, tool; CPU", "ms", at("imports adjourn.ms"), at("imports floor.ms"), more=50),
]  # fmt: skip

ENGINES = {"store": "workers alone", "restate": "Restate", "temporal": "Temporal"}


def cost(measurement: str, figure: str) -> Figure:
    return at(f"fleet_cost.{measurement}.{figure}")


def engine_lines(kind: str, title: str) -> list[Line]:
    return [
        Line(f"{title}: durable steps per second, 40 runs in one worker", "/s", cost(f"steps 40 {kind}", "steps_s"),
             cost("steps 40", "steps_s")),
        Line(f"{title}: word → claimed in another process", "ms", cost(f"words 60 {kind}", "ms"), cost("words 60", "ms")),
        Line(f"{title}: CPU of its server for a start, a pause and an answer", "ms", cost(f"words 60 {kind}", "engine_ms")),
        Line(f"{title}: CPU of the worker for them", "ms", cost(f"words 60 {kind}", "worker_ms"), cost("words 60", "worker_ms")),
    ]  # fmt: skip


BESIDE = "beside 100000 1000000"
FLEET_LINES = [
    Line("durable steps per second, 40 runs in one worker", "/s", cost("steps 40", "steps_s"), cost("crowd 40", "floor_s"), least=2500),
    Line("the same, CPU of the worker for a turn", "ms", cost("steps 40", "cpu_ms")),
    Line("the same, CPU of PostgreSQL for a turn", "ms", cost("steps 40", "postgres_ms")),
    Line("the same, write-ahead log of a turn", "bytes", cost("steps 40", "wal_bytes")),
    Line("one commit of one run", "ms", cost("commits 300", "ms"), cost("commits 300", "floor_ms"), times=3),
    Line("commits per second, 40 runs at once", "/s", cost("crowd 40", "commits_s"), cost("crowd 40", "floor_s")),
    Line("word → claimed in another process, median", "ms", cost("words 60", "ms"), most=10),
    Line("the same, 95 of 100 within", "ms", cost("words 60", "p95_ms")),
    Line("the same, acknowledged", "ms", cost("words 60", "told_ms")),
    Line("40 commits at once beside 100,000 parked runs", "ms", cost(BESIDE, "parked_ms"), cost(BESIDE, "none_ms"), times=1.1),
    Line("40 commits at once beside 1,000,000 finished runs", "ms", cost(BESIDE, "finished_ms"), cost(BESIDE, "none_ms"), times=1.1),
    Line("first 50 of 100,000 pending", "ms", cost(BESIDE, "inbox_ms"), most=2),
    Line("first 50 of 1,000,000 finished runs", "ms", cost(BESIDE, "list_ms")),
    Line("a parked run on disk", "bytes", cost("words 60", "parked_bytes")),
    Line("connections cut under load (pg_terminate_backend)", "", cost("cuts 500", "cut"), least=500),
    Line("facts twice or missing after that", "", cost("cuts 500", "wrong"), most=0),
    *(line for kind, title in ENGINES.items() if kind != "store" for line in engine_lines(kind, title)),
]  # fmt: skip

PEERS = {
    "langgraph": "LangGraph", "langgraph-delta": "LangGraph, delta channel", "dbos": "DBOS", "pydantic_ai": "Pydantic AI + DBOS",
    "openai_agents": "OpenAI Agents", "agent_framework": "Microsoft Agent Framework", "agently": "Agently",
}  # fmt: skip
UNDER = 4.0
"""A durable turn costs so many times less CPU than every peer's."""


def shown(value: float | None) -> str:
    """Three digits, or as many as there are before the point."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rows(figures: Figures, lines: Sequence[Line] = LINES) -> list[tuple[str, ...]]:
    """The measured figures beside what they are compared with, and the goals."""
    found: list[tuple[str, ...]] = []
    for line in lines:
        value, beside = line.figure(figures), line.beside(figures)
        if value is None:
            continue
        goals = "; ".join(f"{text} {'ok' if reached else 'missed'}" for text, reached in line.goals(figures))
        what = f"{line.what} ({line.unit})" if line.unit else line.what
        found.append((what, shown(value), shown(beside), f"{value / beside:.2f}" if beside else "–", goals))
    return found


def peer_rows(figures: Figures) -> list[tuple[str, ...]]:
    """A durable turn, cold, in every framework."""
    found: list[tuple[str, ...]] = []
    names = {"floor": "floor (SQLite by hand)", "adjourn": "Adjourn", **PEERS}
    for peer, title in names.items():
        cells: list[str] = []
        for n in (100, 1000):
            ours, theirs = figures.get(f"adjourn.turns {n}.cpu_ms"), figures.get(f"{peer}.turns {n}.cpu_ms")
            times = f"{theirs / ours:.1f}×" if ours and theirs else "–"
            cells += [
                shown(theirs),
                times,
                shown(figures.get(f"{peer}.turns {n}.wall_ms")),
                shown(figures.get(f"{peer}.turns {n}.bytes")),
            ]
        if set(cells) != {"–"}:
            found.append((title, *cells))
    return found


def peer_goals(figures: Figures) -> list[tuple[str, bool]]:
    """Whether a turn costs so much less than every peer's, at each length that was measured."""
    found: list[tuple[str, bool]] = []
    for n in (100, 1000):
        ours = figures.get(f"adjourn.turns {n}.cpu_ms")
        theirs = [v for peer in PEERS if (v := figures.get(f"{peer}.turns {n}.cpu_ms"))]
        if ours and theirs:
            found.append((f"≥ {UNDER:g}× under every peer at {n:,} turns, cold", min(theirs) >= UNDER * ours))
    return found


def table(found: list[tuple[str, ...]]) -> str:
    """Columns of text; the first and the last are words."""
    widths = [max(len(row[k]) for row in found) for k in range(len(found[0]))]
    words = (0, len(widths) - 1)
    return "\n".join(
        "  ".join(cell.ljust(w) if k in words else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in found
    )  # fmt: skip


HEAD = ("", "measured", "beside", "×", "goal")
PEER_HEAD = (
    "", "100 turns: CPU ms", "× ours", "wall ms", "bytes", "1,000 turns: CPU ms", "× ours", "wall ms", "bytes a turn",
)  # fmt: skip
