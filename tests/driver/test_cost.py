"""A step costs what it adds, never what came before it: operations are counted, not seconds."""

import gc
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from adjourn import Agent, MaxSteps, Policy, Runtime, ask, is_paused, tool
from adjourn.core.messages import ModelRequest, Reply, Text, ToolCall
from adjourn.core.record_codec import dump
from adjourn.core.records import Intended, Replied, Returned
from adjourn.core.state import State
from adjourn.core.usage import Usage
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.unwatched]

TURNS, WINDOW = 1000, 20
EARLY, LATE = 100, TURNS - WINDOW
"""Where `WINDOW` turns are looked at closely: after 100 turns, and at the end of 1,000."""
GROWTH = 1.05
TURN, NESTED, WRITER = 14_100, 21_400, 3_500
"""Instructions of the interpreter for a turn, for one with a nested agent, and in the store's thread: a twentieth more than it takes.
They are counted, not timed, so a noisy machine changes nothing. A higher number here needs a reason in the commit."""
STATEMENTS = 10
"""Of SQL, for a turn."""
MOST_OBJECTS = {"id": 11, "outcome": 17}
"""That a parked run holds, and the same with its outcome."""


class Talker:
    """Says 500 bytes and calls a tool, `TURNS` times; `at(turn)` is told before each reply."""

    name = "talker"

    def __init__(self, at: Callable[[int], None], parameter: str) -> None:
        self._at, self._parameter = at, parameter

    async def request(self, request: ModelRequest) -> AsyncIterator[Reply]:
        turn = request.index
        self._at(turn)
        said = Text(text="x" * 500)
        if turn < TURNS:
            call = ToolCall(id=f"c{turn}", tool="look", args={self._parameter: f"{turn}"})
            yield Reply((said, call), Usage(1, 100, 100), "talker")
        else:
            yield Reply((said,), Usage(1, 100, 100), "talker")


@tool
async def look(n: str) -> str:
    """Look it up."""
    return "y" * 500


class Brief:
    """Says one word."""

    name = "brief"

    async def request(self, request: ModelRequest) -> AsyncIterator[Reply]:
        yield Reply((Text(text="z" * 500),), Usage(1, 100, 100), "brief")


async def converse(store: MemoryStore | SQLiteStore, at: Callable[[int], None], *, nested: bool = False) -> None:
    """A run of `TURNS` turns under a clock that stands still, so that only the turns cost anything."""
    child = Agent("child", model=Brief()).as_tool(name="look") if nested else look
    agent = Agent("talker", model=Talker(at, "input" if nested else "n"), tools=[child], stop=MaxSteps(3 * TURNS))
    runtime = Runtime(store, [agent], lease=3600)
    runtime.clock = FakeClock()
    async with runtime as rt:
        outcome = await (await rt.start(agent, "begin")).wait()
    assert outcome.status == "completed"


class Windows:
    """Counts whatever `count` is told, separately for the turns from `EARLY` and from `LATE` on."""

    def __init__(self, opened: Callable[[], None] = lambda: None) -> None:
        self.now = 0
        self.found: dict[int, Counter[str]] = {EARLY: Counter(), LATE: Counter()}
        self._opened = opened

    def at(self, turn: int) -> None:
        for start in self.found:
            if turn == start:
                self.now = start
                self._opened()
            elif turn == start + WINDOW:
                self.now = 0
                self._opened()

    def count(self, what: str, much: int = 1) -> None:
        if self.now:
            self.found[self.now][what] += much

    def per_turn(self, what: str) -> tuple[float, float]:
        """Per turn, early and late."""
        return self.found[EARLY][what] / WINDOW, self.found[LATE][what] / WINDOW


@contextmanager
def traced(windows: Windows) -> Generator[None]:
    """Count every bytecode of every thread while a window is open."""

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if not windows.now:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        name = threading.current_thread().name

        def inside(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "opcode":
                windows.count(name)
            return inside

        return inside

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # a collection runs the finalizers of whatever earlier tests left behind, in the middle of a window
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        yield
    finally:
        gc.enable()
        sys.settrace(before)
        threading.settrace(before)  # pyright: ignore[reportArgumentType]


async def test_a_turn_runs_the_same_code_after_1000_turns_as_after_100() -> None:
    windows = Windows()
    with traced(windows):
        await converse(MemoryStore(), windows.at)
    early, late = windows.per_turn("MainThread")
    assert early > 1000, "nothing was counted"
    assert late <= early * GROWTH
    assert late <= TURN, f"a turn takes {late:.0f} instructions"


async def test_a_nested_agent_costs_the_same_after_1000_others_as_after_100() -> None:
    windows = Windows()
    with traced(windows):
        await converse(MemoryStore(), windows.at, nested=True)
    early, late = windows.per_turn("MainThread")
    assert early > 1000, "nothing was counted"
    assert late <= early * GROWTH
    assert late <= NESTED, f"a turn with a nested agent takes {late:.0f} instructions"


async def test_a_commit_runs_the_same_code_and_the_same_statements(tmp_path: Path) -> None:
    windows = Windows()
    with traced(windows):
        store = SQLiteStore(str(tmp_path / "adjourn.db"))

    def statement(_cursor: Any, sql: str, _values: Any) -> bool:
        windows.count("reads of the journal" if "from journal" in sql else "statements")
        windows.count("touches", "touched" in sql)
        return True

    store._db.exec_trace = statement
    await converse(store, windows.at)
    await store.close()
    early, late = windows.per_turn("adjourn-writer")
    assert early > 100, "nothing was counted"
    assert late <= early * GROWTH
    assert late <= WRITER, f"the writer takes {late:.0f} instructions a turn"
    early, late = windows.per_turn("statements")
    assert 6 <= late <= STATEMENTS, f"a turn takes {late} statements"
    assert late <= early * GROWTH, "two transactions a turn: begin, append, save, commit"
    assert windows.per_turn("reads of the journal") == (0, 0)
    assert windows.per_turn("touches") == (0, 0), (
        "sealing costs nothing but where a run starts, parks, ends, or is spoken to"
    )


async def test_a_turn_adds_the_same_bytes_after_1000_turns_as_after_100(tmp_path: Path) -> None:
    sizes: list[int] = []
    store = SQLiteStore(str(tmp_path / "adjourn.db"))

    def measure() -> None:
        [(pages,)] = store._watching.execute("pragma page_count").fetchall()
        sizes.append(pages * 4096)

    def at(turn: int) -> None:
        if turn in (100, 300, 800, 1000):
            measure()

    await converse(store, at)
    await store.close()
    early, late = (sizes[1] - sizes[0]) / 200, (sizes[3] - sizes[2]) / 200
    assert 1000 < late <= early * GROWTH
    assert late < 2100, "1,000 turns fit in 2.1 MB"


async def test_a_turn_leaves_nothing_for_the_collector_to_look_at_again() -> None:
    counted: dict[int, int] = {}

    def at(turn: int) -> None:
        if turn in (EARLY, LATE):
            gc.collect()
            counted[turn] = len(gc.get_objects())

    await converse(MemoryStore(), at)
    left = (counted[LATE] - counted[EARLY]) / (LATE - EARLY)
    assert left < 0.3, f"a turn leaves {left} objects that the collector walks through as long as the run is driven"


@tool
async def pay(n: str) -> str:
    """Pay somebody."""
    return "paid"


class Payer:
    """Pays once, then says so."""

    name = "payer"

    async def request(self, request: ModelRequest) -> AsyncIterator[Reply]:
        if request.index:
            yield Reply((Text(text="paid"),), Usage(1, 100, 100), "payer")
        else:
            yield Reply((ToolCall(id="c", tool="pay", args={"n": "1"}),), Usage(1, 100, 100), "payer")


async def test_a_park_and_a_resume_take_so_many_statements_whatever_came_before(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "adjourn.db"))
    counted: Counter[str] = Counter()
    now = ""

    def statement(_cursor: Any, sql: str, _values: Any) -> bool:
        counted[now] += 1
        return True

    agent = Agent("payer", model=Payer(), tools=[pay], policy=Policy([ask("pay")]))
    runtime = Runtime(store, [agent], lease=3600)
    runtime.clock = FakeClock()
    async with runtime as rt:
        await rt.runs()  # the writer is there
        store._db.exec_trace = statement
        for k in range(60):
            now = f"park {k // 20}"
            run = await rt.start(agent, f"begin {k}")
            waiting = await run.wait()
            assert is_paused(waiting)
            now = f"resume {k // 20}"
            await rt.approve(waiting.interrupts[0].id, by="ann")
            assert (await run.wait()).status == "completed"
    for what, most in (("park", 24), ("resume", 36)):
        first, last = counted[f"{what} 0"] / 20, counted[f"{what} 2"] / 20
        assert 3 < last <= first * GROWTH
        assert last <= most, f"a {what} takes {last} statements"


async def test_a_turn_writes_little_beside_its_texts() -> None:
    agent = Agent(
        "talker",
        model=Talker(lambda _: None, "n"),
        tools=[look],
        policy=Policy(default="allow"),
        stop=MaxSteps(TURNS + 10),
    )
    done = await agent.run("go")
    sizes = [len(dump(x)) for x in done.checkpoint.records if isinstance(x, Replied | Intended | Returned)]
    beside = sum(sizes) / TURNS - 1000
    assert beside <= 470, f"{beside:.0f} bytes a turn: two turns and a reply no longer fit on one page of a file"


class Calls:
    """Counts what is asked of a store and of the fold, for each of several stretches of time."""

    STORE = (
        *("get", "load", "blobs", "inbox", "runs", "create"),
        *("acquire", "commit", "deliver", "release", "renew", "subscribe"),
    )

    def __init__(self, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = ""
        self.found: dict[str, Counter[str]] = {}
        for name in self.STORE:
            self._count(monkeypatch, store, name)
        for name in ("fold", "fold_all"):
            self._count(monkeypatch, State, name)

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def counting(*given: Any, **named: Any) -> Any:
            self.found.setdefault(self.now, Counter())[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counting)


@pytest.mark.parametrize("slots", [1, 100])
async def test_a_park_and_a_resume_ask_for_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    store = SQLiteStore(str(tmp_path / "adjourn.db"))
    agent = Agent("payer", model=Payer(), tools=[pay], policy=Policy([ask("pay")]))
    runtime = Runtime(store, [agent], lease=3600, concurrency=slots)
    runtime.clock = FakeClock()
    async with runtime as rt:
        await rt.runs()
        calls = Calls(store, monkeypatch)
        for k in range(3):
            calls.now = f"park {k}"
            run = await rt.start(agent, f"begin {k}")
            waiting = await run.wait()
            assert is_paused(waiting)
            calls.now = f"resume {k}"
            await rt.approve(waiting.interrupts[0].id, by="ann")
            assert (await run.wait()).status == "completed"
        calls.now = ""
    await store.close()
    waited = {"load": 1, "subscribe": 2}  # one to listen for others' words, and one for whoever waits
    for k in range(3):
        parked, resumed = calls.found[f"park {k}"], calls.found[f"resume {k}"]
        assert parked == {"create": 1, "acquire": 1, "commit": 1, "fold": 5, "fold_all": 2, **waited}
        assert resumed == {"deliver": 1, "acquire": 1, "commit": 3, "fold": 6, "fold_all": 1, **waited}


@pytest.mark.parametrize("kept", ["id", "outcome"])
async def test_a_parked_run_leaves_few_objects_for_the_collector(tmp_path: Path, kept: str) -> None:
    store = SQLiteStore(str(tmp_path / "adjourn.db"))
    agent = Agent("payer", model=Payer(), tools=[pay], policy=Policy([ask("pay")]))
    async with Runtime(store, [agent], lease=3600) as rt:

        async def park(k: int) -> object:
            outcome = await (await rt.start(agent, f"begin {k}")).wait()
            assert is_paused(outcome)
            return outcome.run_id if kept == "id" else outcome

        await park(0)
        gc.collect()
        before = len(gc.get_objects())
        found = [await park(k) for k in range(1, 101)]
        gc.collect()
        held = (len(gc.get_objects()) - before) / len(found)
    await store.close()
    assert held <= MOST_OBJECTS[kept], f"a parked run holds {held} objects that the collector walks through"
