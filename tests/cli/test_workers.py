"""A fleet of real workers: who is listed, how one drains, and which runs no worker fits."""

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.again import in_time, wait_until
from tests.cli.conftest import SECONDS, AtTerminal, Run, Start, hear

from adjourn import Runtime
from adjourn.core.records import Returned, Started
from adjourn.stores.fleet import WorkerCard

HALL = """
import asyncio
from pathlib import Path

from adjourn import Agent, ToolContext, tool
from adjourn.testing import ScriptedModel, call


@tool(effect="unsafe")
async def works(ctx: ToolContext) -> str:
    '''Writes down that it began, and ends when there is a file that says so.'''
    with open("ledger", "a") as file:
        file.write(ctx.run_id + chr(10))
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return "done"


slow = Agent("slow", model=ScriptedModel([call("works")], "Ended."), tools=[works])
other = Agent("other", model=ScriptedModel("Ended."))
both = [slow, other]
"""


@pytest.fixture
def hall() -> str:
    """A file with two agents."""
    Path("hall.py").write_text(HALL)
    return "hall.py"


@pytest.fixture
def worker(worker: Start) -> Start:
    """Workers that advance runs."""
    return partial(worker, until="advances")


def until(true: Callable[[], Any]) -> Any:
    """What it gives, once that is something."""
    limit = time.monotonic() + SECONDS
    while not (found := true()):
        wait_until(limit)
        time.sleep(0.02)
    return found


def create(db: str, run: str, agent: str = "slow", priority: int = 0) -> None:
    """Put a run into the store as another process would, and do not advance it."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        import hall  # type: ignore[import-not-found] # pyright: ignore
    finally:
        sys.path.pop(0)
        sys.modules.pop("hall", None)
    program: Any = getattr(hall, agent)  # pyright: ignore
    options = {"priority": priority}
    start = Started(run=run, kind="agent", program=agent, fingerprint=program.fingerprint, options=options)

    async def work() -> None:
        async with Runtime(db) as rt:
            await rt.store.create(start)

    asyncio.run(work())


def journal(db: str, run: str) -> list[Any]:
    """Its records."""

    async def work() -> list[Any]:
        async with Runtime(db) as rt:
            return [record for _, record in await rt.store.load(run)]

    return asyncio.run(work())


def begun() -> list[str]:
    """The runs whose tool began, as often as it did."""
    try:
        return Path("ledger").read_text().split()
    except FileNotFoundError:
        return []


def test_a_worker_that_drains_finishes_what_runs_takes_nothing_new_and_says_so(
    adjourn: Run, db: str, hall: str, worker: Start
) -> None:
    one = worker(f"{hall}:slow", "--grace", str(SECONDS))
    create(db, "r-1")
    until(begun)
    one.send_signal(signal.SIGTERM)
    hear(one, "Stopping")
    create(db, "r-2")
    [seen] = until(lambda: [x for x in adjourn("workers", "--json").json["workers"] if x["state"] == "draining"])
    assert (seen["pid"], seen["slots"], seen["running"], seen["programs"]) == (one.pid, 100, 1, ["slow"])
    Path("go").touch()
    assert one.wait(SECONDS) == 0
    assert sum(isinstance(record, Returned) for record in journal(db, "r-1")) == 1
    assert len(journal(db, "r-2")) == 1, "nobody has taken it"
    assert adjourn("workers", "--json").json["workers"] == []
    two = worker(f"{hall}:slow")
    for run in ("r-1", "r-2"):
        assert adjourn("watch", run, "--json").code == 0
    assert sorted(begun()) == ["r-1", "r-2"], "no call ran twice"
    two.send_signal(signal.SIGTERM)
    assert two.wait(SECONDS) == 0


def test_a_second_signal_ends_a_worker_at_once_and_its_call_is_in_doubt(
    adjourn: Run, db: str, hall: str, worker: Start
) -> None:
    one = worker(f"{hall}:slow", "--grace", "600")
    create(db, "r-1")
    until(begun)
    one.send_signal(signal.SIGTERM)
    hear(one, "Stopping")
    start = time.monotonic()
    one.send_signal(signal.SIGTERM)
    assert one.wait(SECONDS) == 130
    in_time(time.monotonic() - start, 5.0)
    Path("go").touch()
    worker(f"{hall}:slow")
    [item] = until(lambda: adjourn("inbox", "--json").json)
    assert (item["run_id"], item["kind"]) == ("r-1", "in_doubt")
    assert begun() == ["r-1"], "it is a person who says whether it runs again"


def test_workers_are_listed_with_what_they_advance_and_what_no_worker_has(
    adjourn: Run, db: str, hall: str, worker: Start
) -> None:
    one = worker(f"{hall}:both", "--agent", "slow", "--concurrency", "3")
    create(db, "o-1", "other")
    create(db, "r-1")
    until(begun)
    found = until(lambda: [x for x in [adjourn("workers", "--json").json] if x["alive"]])[0]
    [seen] = found["workers"]
    assert (seen["pid"], seen["slots"], seen["programs"]) == (one.pid, 3, ["slow"])
    queues = {queue["agent"]: (queue["ready"], queue["working"], queue["workers"]) for queue in found["queues"]}
    assert queues == {"other": (1, 0, 0), "slow": (0, 1, 1)}
    [unfit] = found["unfit"]
    assert (unfit["agent"], unfit["runs"], unfit["why"]) == ("other", 1, "no worker has this agent or flow")
    said = adjourn("workers")
    assert said.code == 0 and "no worker has this agent" in said.out and "1 run fits no worker" in said.err
    one.kill()
    one.wait(SECONDS)
    [dead] = adjourn("workers", "--json").json["workers"]
    assert (dead["pid"], dead["state"]) == (one.pid, "not_answering")
    assert "not answering" in adjourn("workers").out


def test_a_worker_of_many_agents_is_one_line_of_a_terminal_and_whole_in_a_pipe(
    adjourn: Run, db: str, terminal: AtTerminal
) -> None:
    agents = {f"agent-number-{number}": "a1" for number in range(12)}

    async def enrol() -> None:
        async with Runtime(db, work=False) as rt:
            await rt.store.roster(WorkerCard("app-01:4411:a", "app-01", 4411, "1.4.0", agents, 8, 6, every=1e9))

    asyncio.run(enrol())
    at = terminal("workers", columns=80)
    assert at.end() == 0
    [line] = [line for line in at.plain.splitlines() if "app-01" in line]
    assert len(line) <= 80 and "agent-number-0" in line and line.endswith("1.4.0")
    assert all(name in adjourn("workers").out for name in agents)


def test_ready_runs_of_a_higher_priority_are_taken_first(adjourn: Run, db: str, hall: str, worker: Start) -> None:
    Path("go").touch()
    for run, priority in (("low", -5), ("normal", 0), ("high", 5)):
        create(db, run, priority=priority)
    worker(f"{hall}:both", "--agent", "slow", "--concurrency", "1")
    until(lambda: len(begun()) == 3)
    assert begun() == ["high", "normal", "low"]


def test_a_limit_counts_over_processes_and_the_calls_that_wait_for_it_are_listed(
    adjourn: Run, db: str, hall: str, worker: Start
) -> None:
    """The first worker is killed at work: the place is free when the second one has its run."""
    create(db, "first")
    one = worker(f"{hall}:slow", "--limit", "tool:works=1", "--lease", "5")
    until(lambda: begun() == ["first"])
    create(db, "second")
    worker(f"{hall}:slow", "--limit", "tool:works=1", "--lease", "5")
    [seen] = until(lambda: [x for x in adjourn("workers", "--json").json["limits"] if x["waiting"]])
    assert (seen["tool"], seen["most"], seen["working"], seen["run_id"]) == ("works", 1, 1, "second")
    assert "tool:works  1 of 1" in adjourn("workers").out
    assert begun() == ["first"]
    one.kill()
    until(lambda: begun() == ["first", "second"])


def test_a_limit_for_a_tool_that_no_program_has_is_said(hall: str, worker: Start) -> None:
    one = worker(f"{hall}:both", "--limit", "tool:works=1", "--limit", "tool:wroks=1", until="")
    said = hear(one, "--limit tool:")
    assert "--limit tool:wroks: no agent or flow here has this tool; they have works." in said
    hear(one, "advances")


def test_what_is_no_limit_is_wrong_input(adjourn: Run, hall: str) -> None:
    said = adjourn("worker", f"{hall}:slow", "--limit", "works=5")
    assert said.code == 2 and "the scope of a limit must be 'tool:NAME'" in said.err


def test_an_agent_that_is_none_of_the_programs_is_wrong_input(adjourn: Run, hall: str) -> None:
    said = adjourn("worker", f"{hall}:slow", "--agent", "nobody")
    assert said.code == 2 and "They are 'slow'" in said.err


def probe(address: str) -> int:
    """The status of an answer."""
    return httpx.get(address).status_code


def test_a_worker_answers_probes_and_is_not_ready_while_it_drains(hall: str, worker: Start) -> None:
    one = worker(f"{hall}:slow", "--health", "0", "--grace", str(SECONDS), until="")
    said = hear(one, "Health at ").split()[-1]
    hear(one, "advances")
    alive = said.replace("readyz", "healthz")
    assert (probe(alive), probe(said), probe(said + "x")) == (200, 200, 404)
    create("sqlite:///adjourn.db", "r-1")
    until(begun)
    one.send_signal(signal.SIGTERM)
    hear(one, "Stopping")
    until(lambda: probe(said) == 503)
    assert probe(alive) == 200
    Path("go").touch()
    assert one.wait(SECONDS) == 0


@pytest.mark.parametrize("place", ["x", "70000", "a:b", ":"])
def test_a_place_for_probes_that_is_none_is_wrong_input(adjourn: Run, hall: str, place: str) -> None:
    said = adjourn("worker", f"{hall}:slow", "--health", place)
    assert said.code == 2 and "--health must be PORT or HOST:PORT" in said.err
