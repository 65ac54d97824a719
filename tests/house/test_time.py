"""Time is an argument: who reads a clock, and which tests hope that a while is enough. Both lists get only shorter."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "adjourn"
TESTS = ROOT / "tests"
LAYERS = ("core", "stores", "models", "views", "driver", "bodies", "runtime", "agent", "flow")

CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
READERS = {
    "bodies/isolation.py": "another process has no store to ask",
    "runtime/local_runtime.py": "a run without a store has the machine's clock; tests replace it",
    "bodies/runner.py": "a body's time limit is the event loop's",
    "driver/clock.py": "the clock that everybody else is given",
    "stores/postgres/connections.py": "how old a connection is, and how long it was not used",
    "stores/postgres/row_cache.py": "the database's clock, as far as a process can tell between two messages",
    "stores/postgres/store.py": "how long a database that is away is waited for",
    "stores/sqlite/connection.py": "how long a busy file is tried again",
    "stores/sqlite/store.py": "how long one look through a list may hold up the others",
    "stores/sqlite/live_channel.py": "how long a watcher's interest is remembered, across processes",
    "stores/sqlite/write_ahead_log.py": "how long it waits for readers of the log",
}

LONG = 5.0
"""A body that sleeps so long stands for one that does not end; no test waits for it."""

# How often a file's tests sleep once and hope that this was enough. A loop that looks again does not count.
HOPING: dict[str, int] = {
    "agent/test_parallel.py": 1,
    "agent/test_pause_for.py": 1,
    "cli/shop.py": 1,
    "control/parked.py": 2,
    "control/test_approvals.py": 3,
    "control/test_halt.py": 1,
    "control/test_handle.py": 1,
    "control/test_limits.py": 1,
    "control/test_pause.py": 5,
    "control/test_points.py": 1,
    "control/test_retries.py": 2,
    "control/test_say.py": 2,
    "control/test_seed.py": 4,
    "control/test_workers.py": 1,
    "control/world.py": 1,
    "driver/test_alarm.py": 1,
    "engines/process.py": 1,
    "engines/test_campaign.py": 1,
    "engines/world.py": 1,
    "models/test_providers.py": 1,
    "runtime/test_advance_result.py": 4,
    "runtime/test_closing.py": 1,
    "runtime/test_pruner.py": 1,
    "runtime/world.py": 2,
    "server/test_failures.py": 1,
    "stores/test_channel.py": 3,
    "stores/test_processes.py": 2,
    "stores/test_sqlite.py": 5,
    "zoo/animals.py": 8,
}


CLOCK = re.compile(r"\b(time|datetime|date|loop)\s*\.")
"""A file without one of these reads none."""


def is_clock(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=name)):
            return name in CLOCKS
        case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime" | "date"), attr="now" | "utcnow" | "today")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="loop") | ast.Attribute(attr="loop"), attr="time")):
            return True
        case _:
            return False


@cache
def readers() -> set[str]:
    found: set[str] = set()
    for layer in LAYERS:
        for path in (SOURCE / layer).rglob("*.py"):
            text = path.read_text("utf-8")
            if CLOCK.search(text) and any(map(is_clock, ast.walk(ast.parse(text)))):
                found.add(path.relative_to(SOURCE).as_posix())
    return found


def test_below_the_runtime_only_these_files_read_a_clock() -> None:
    more = readers() - {*READERS}
    assert not more, f"take the time as an argument in {more}"
    assert not {*READERS} - readers(), "remove from READERS"


def hopes(tree: ast.AST, looping: bool = False) -> Iterator[int]:
    """The lines of sleeps that are not in a loop, neither for no time nor for ever."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="asyncio" | "time" | "anyio"), attr="sleep"), args=[length, *_]
            ):
                known = length.value if isinstance(length, ast.Constant) else None
                endless = isinstance(known, int | float) and (known == 0 or known >= LONG)
                if not looping and not endless:
                    yield node.lineno
            case _:
                pass
        inside = isinstance(node, ast.While | ast.For | ast.AsyncFor) or (
            looping and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        )
        yield from hopes(node, inside)


@cache
def hoping() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in sorted(TESTS.rglob("*.py")):
        if "node_modules" not in path.parts:
            text = path.read_text("utf-8")
            if ".sleep(" in text and (count := len([*hopes(ast.parse(text))])):
                found[path.relative_to(TESTS).as_posix()] = count
    return found


def test_no_test_sleeps_that_did_not_before() -> None:
    more = {file: count for file, count in hoping().items() if count > HOPING.get(file, 0)}
    assert not more, f"wait for what happened, with `FakeClock` or in a loop that looks: {more}"


def test_the_list_of_tests_that_sleep_gets_shorter() -> None:
    found = hoping()
    fewer = {file: found[file] for file, count in HOPING.items() if found[file] < count}
    assert not fewer, f"very good; write these numbers into HOPING: {fewer}"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("await asyncio.sleep(0.1)", [1]),
        ("time.sleep(patience)", [1]),
        ("await asyncio.sleep(0)", []),
        ("await asyncio.sleep(60)", []),
        ("while not done:\n    if x:\n        await asyncio.sleep(0.01)", []),
        ("while not done:\n    async def body():\n        await asyncio.sleep(0.01)", [3]),
        ("await ctx.sleep(5)", []),
    ],
)
def test_what_counts_as_a_hope(code: str, lines: list[int]) -> None:
    assert [*hopes(ast.parse(code))] == lines


@pytest.mark.parametrize("code", ["time.time()", "datetime.now(UTC)", "loop.time()", "desk.loop.time()"])
def test_what_counts_as_reading_a_clock(code: str) -> None:
    assert any(is_clock(node) for node in ast.walk(ast.parse(code)))


def test_what_has_a_sync_form_is_a_wrapper_of_a_few_lines() -> None:
    """The sync form calls the async one: there is no second implementation."""
    found: dict[str, int] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in {"run_sync", "resume_sync"}:
                statements = [
                    s for s in node.body if not isinstance(s, ast.Expr) or not isinstance(s.value, ast.Constant)
                ]
                found[f"{path.relative_to(SOURCE)}:{node.name}"] = len(statements)
    assert len(found) >= 2
    assert max(found.values()) <= 2, found
