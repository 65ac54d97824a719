"""The page about capacity: what was measured on PostgreSQL and under engines, and what follows from it for larger machines."""

from typing import Any

from goals import ENGINES, FLEET_LINES, HEAD, Figures, rows, shown
from simulation import Station, carried

THINK, WITHIN, PAUSE_EVERY = 3.0, 0.25, 20
"""Of a run: seconds that its model takes for a turn, the delay that 99 of 100 turns keep under, and turns between two pauses."""
BUSY = 0.7
"""How much of the time a station may be at work: who plans for more has no room for a bad hour."""
SIZES = (2, 8, 32)
"""Cores of a database."""
NODES, CORES, COPIES = 3, 8, 2
"""A cluster of an engine: its nodes, their cores, and on how many of them everything is kept."""
ACTIVE, PARKED = 10_000, 1_000_000
CONNECTIONS, SLOTS = 12, 500
"""What a worker process has at most."""
Capacity = dict[str, Any]


def simulated(figures: Figures) -> Capacity:
    """What the simulation says of these figures; nothing where one is missing."""
    found: Capacity = {}
    worker, database = figures.get("fleet_cost.steps 40.cpu_ms"), figures.get("fleet_cost.steps 40.postgres_ms")
    if not worker or not database:
        return found
    for cores in SIZES:
        runs, load = carried(THINK, stations(worker, database, cores), WITHIN, BUSY)
        found[f"postgres {cores}"] = {
            "runs": runs,
            "turns": load.turns,
            "busy": load.busy,
            "worker_cores": load.turns * worker / 1e3,
        }
    for kind in ENGINES:
        spent = figures.get(f"fleet_cost.words 60 {kind}.engine_ms")
        if not spent:
            continue
        engine = Station(ENGINES[kind], NODES * CORES, spent / 1e3 * COPIES)
        alone, load = carried(THINK * PAUSE_EVERY, [engine], WITHIN, BUSY)
        both, whole = carried(
            THINK, [*stations(worker, database, SIZES[-1]), engine._replace(share=1 / PAUSE_EVERY)], WITHIN, BUSY
        )
        found[kind] = {"runs": alone, "pauses": load.turns, "whole": both, "busy": whole.busy}
    return found


def stations(worker: float, database: float, cores: int) -> list[Station]:
    """As many workers as are wanted, and one database."""
    return [Station("workers", cores * 20, worker / 1e3), Station("PostgreSQL", cores, database / 1e3)]


INTRODUCTION = """\
# Capacity

This page is made by `make bench-fleet` and `make fleet-campaign`: no figure is typed in.
What is simulated, with what was measured, says so.

A *turn* is a model step and a tool step, each durable before the next one. The *floor* is a commit of the same payload by hand on the
same server: one insert and one update, in one message. PostgreSQL, the workers and the engine's server share the cores of one machine, so
what is measured is a lower limit; each figure of CPU counts its own process alone. On a busy machine trust ratios, then CPU, and
wall time last.
"""
ASSUMED = f"""\
Simulated (`bench/simulation.py`): a model takes {THINK:g} s for a turn, a run pauses for a person every {PAUSE_EVERY} turns, 99 of
100 turns may be delayed by {WITHIN * 1000:.0f} ms at most, and nothing may be busy for more than {BUSY:.0%} of the time. All times are
exponential, so that bursts are in it. What it leaves out: the disk, the network, and that larger batches cost less.
"""


def page(fleet: dict[str, Any], under: str, markdown: Any, survived: str = "") -> str:
    """The page's text. `under` says on what it was measured, `markdown(head, rows)` makes a table; `survived`: what the campaign saw."""
    figures, capacity = fleet["medians"], fleet.get("capacity", {})
    goals = [ok for line in FLEET_LINES for _, ok in line.goals(figures)]
    parts = [INTRODUCTION, "## Measured\n", f"{under} {sum(goals)} of {len(goals)} goals reached.\n"]
    parts.append(markdown(HEAD, rows(figures, FLEET_LINES)) + "\n")
    if databases := _databases(capacity):
        parts += ["## What one PostgreSQL carries\n", ASSUMED]
        head = ("its cores", "active runs", "turns per second", "cores for workers", "how busy it is")
        parts.append(markdown(head, databases) + "\n")
    if engines := _engines(capacity):
        parts += ["## What an engine's cluster carries\n", _about_engines()]
        head = (
            "",
            "active runs, the engine alone",
            "pauses per second",
            f"with a PostgreSQL of {SIZES[-1]} cores",
            "what is busiest then",
        )
        parts.append(markdown(head, engines) + "\n")
    if costs := _costs(figures, capacity):
        parts += [f"## {ACTIVE:,} active runs, {PARKED:,} parked ones\n", markdown(("", "cost"), costs) + "\n"]
    if survived:
        parts.append(survived)
    if limit := _limit(capacity):
        parts += ["## Where the next limit is\n", limit]
    return "\n".join(parts)


def _databases(capacity: Capacity) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for cores in SIZES:
        if one := capacity.get(f"postgres {cores}"):
            busy = f"{one['busy']['PostgreSQL']:.0%}"
            found.append((str(cores), shown(one["runs"]), shown(one["turns"]), shown(one["worker_cores"]), busy))
    return found


def _engines(capacity: Capacity) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for kind, title in ENGINES.items():
        if one := capacity.get(kind):
            busy: dict[str, float] = one["busy"]
            busiest = max(busy, key=lambda name, busy=busy: busy[name])
            found.append((title, shown(one["runs"]), shown(one["pauses"]), shown(one["whole"]), busiest))
    return found


def _about_engines() -> str:
    return (
        f"A cluster of {NODES} nodes with {CORES} cores each, which keeps everything {COPIES} times. Only ids of runs cross, and only\n"
        f"when a run begins, pauses, is answered or has a timer: an engine sees one pause in {PAUSE_EVERY} turns, and no step. The CPU\n"
        "of a pause is that of one node of Restate, and of Temporal's development server, which keeps its data in SQLite and is\n"
        "slower than a cluster that is tuned: take its line as the least.\n"
    )


def _costs(figures: Figures, capacity: Capacity) -> list[tuple[str, str]]:
    worker, database = figures.get("fleet_cost.steps 40.cpu_ms"), figures.get("fleet_cost.steps 40.postgres_ms")
    log, parked = figures.get("fleet_cost.steps 40.wal_bytes"), figures.get("fleet_cost.words 60.parked_bytes")
    if not worker or not database or not log:
        return []
    turns = ACTIVE / THINK
    processes = -(-ACTIVE // SLOTS)
    found = [
        (f"{ACTIVE:,} active: turns per second", shown(turns)),
        (f"{ACTIVE:,} active: cores for workers", shown(turns * worker / 1e3)),
        (f"{ACTIVE:,} active: cores of PostgreSQL", shown(turns * database / 1e3)),
        (f"{ACTIVE:,} active: write-ahead log (MB/s)", shown(turns * log / 1e6)),
        (f"{ACTIVE:,} active: worker processes of {SLOTS} slots, and their connections at most", f"{processes}, {processes * CONNECTIONS}"),
    ]  # fmt: skip
    if parked:
        found.append((f"{PARKED:,} parked: disk (GB)", shown(parked * PARKED / 1e9)))
        found.append((f"{PARKED:,} parked: processes, memory, connections", "none"))
    for count, figure in (("100,000 parked", "parked_ms"), ("1,000,000 finished", "finished_ms")):
        many, none = (figures.get(f"fleet_cost.beside 100000 1000000.{name}") for name in (figure, "none_ms"))
        if many and none:
            found.append(
                (f"{count} runs beside: a batch of commits takes", f"{many / none:.2f}× of what it takes without them")
            )
    return found


def _limit(capacity: Capacity) -> str:
    one = capacity.get(f"postgres {SIZES[-1]}")
    if not one:
        return ""
    return (
        "A run that thinks costs nothing, so the first limit is turns per second: the CPU of the one PostgreSQL that is written to. "
        f"At {SIZES[-1]} cores that is {shown(one['turns'])} turns per second here. Before it come `max_connections` (put a "
        "[pooler](guides/postgresql.md#behind-a-pooler) in between) and, on a slow disk, the write-ahead log. Beyond it, split by tenant: "
        "a database for each, with workers of its own; runs of two databases share nothing.\n"
    )
