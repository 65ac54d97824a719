"""The demo waits for its visitor: nothing of it ends by itself, its card names what lives now, and it ends with their own."""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.again import wait_until

from adjourn import Runtime
from adjourn.core.records import Asked
from adjourn.demo import programs
from adjourn.demo.guide import tasks
from adjourn.demo.ledger import LEDGER
from adjourn.demo.now_yours import yours
from adjourn.demo.programs import PROGRAMS, RUNS
from adjourn.demo.stage import alive

LIMIT = 30
README = Path(__file__).parents[2] / "README.md"
IDLE = 30 * 60.0


class Clock:
    """Time passes when something sleeps, and only then."""

    def __init__(self) -> None:
        self.passed = 0.0
        self._sleep = asyncio.sleep

    async def sleep(self, seconds: float) -> None:
        self.passed += seconds
        await self._sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger.jsonl"))
    monkeypatch.delenv(programs.TOUR, raising=False)
    monkeypatch.delenv(programs.PACE, raising=False)
    monkeypatch.setattr(programs, "sleep", made.sleep)
    yield made


@pytest.mark.parametrize("run, still", [("DEMO-2", "running"), ("DEMO-3", "running"), ("DEMO-4", "running")])
async def test_after_thirty_idle_minutes_the_runs_still_wait_for_their_visitor(
    clock: Clock, run: str, still: str
) -> None:
    by_name = {program.name: program for program in PROGRAMS}
    name, input = RUNS[run]
    async with Runtime("memory://", PROGRAMS) as rt:
        handle = await rt.start(by_name[name], input, run_id=run, by="demo")
        async with asyncio.timeout(LIMIT):
            while clock.passed < IDLE:
                await asyncio.sleep(0.005)
        assert await handle.status() == still


async def test_the_refund_does_not_expire_while_nobody_looks(clock: Clock) -> None:
    name, input = RUNS["DEMO-1"]
    async with Runtime("memory://", PROGRAMS) as rt:
        run = await rt.start(programs.support, input, run_id="DEMO-1", by="demo")
        assert name == programs.support.name
        await run.wait(LIMIT)
        [asked] = [record for _, record in await rt.store.load("DEMO-1") if isinstance(record, Asked)]
    assert asked.expires - asked.at > 7 * 24 * 3600


def test_what_nobody_looks_at_gets_slower_so_that_it_does_not_fill_the_disk(clock: Clock) -> None:
    assert [programs.patience(steps) for steps in (0, 10, 1000)] == [1, 2, 20]


async def test_the_card_names_the_worker_that_lives_now_and_none_while_there_is_none(clock: Clock) -> None:
    by_name = {program.name: program for program in PROGRAMS}
    async with Runtime("memory://", PROGRAMS, work=False) as rt:
        for run, (name, input) in RUNS.items():
            await rt.start(by_name[name], input, run_id=run, by="demo")
        assert (await tasks(rt, 4711))[3]["command"] == "kill -9 4711"
        assert (await tasks(rt, None))[3]["command"] == ""


def test_a_process_that_has_ended_is_not_the_present_worker() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        pids = [1, process.pid]
        assert alive(pids) == process.pid
        process.kill()
        process.wait(LIMIT)
        assert alive(pids) is None
    assert alive([]) is None


def in_a_console(folder: Path, serve: str, start: str, asks: str) -> str:
    """Paste both commands in a folder; what then waits for a person there, once it is a call of `asks`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ADJOURN")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])

    def paste(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    with subprocess.Popen(
        ["sh", "-c", f"exec {serve}"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert "#token=" in server.stdout.readline()
            started = paste(start)
            assert started.returncode == 0, started.stderr
            program = shlex.split(serve)[0]
            until = time.monotonic() + LIMIT
            while f'"{asks}"' not in (found := paste(f"{shlex.quote(program)} inbox --db mine.db --json").stdout):
                wait_until(until, f"it does not wait in the inbox: {found}")
            return found
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(LIMIT)


def test_now_yours_works_as_it_is_pasted(tmp_path: Path) -> None:
    made = yours()
    (tmp_path / made.file).write_text(made.text)
    (serve, _), (start, _) = made.commands
    assert "kari@example.no" in in_a_console(tmp_path, serve, start, "send")


def test_the_readme_leads_to_the_own_agent_in_the_console(tmp_path: Path) -> None:
    readme = README.read_text("utf-8")
    code = readme.partition("```python\n")[2].partition("```")[0]
    program = re.match(r".*?^agent = [^\n]*\n", code, re.DOTALL | re.MULTILINE)
    assert program is not None
    (tmp_path / "agent.py").write_text(program[0])
    section = readme.partition("## Your own agent in the console")[2].partition("```text\n")[2].partition("```")[0]
    serve, start = [re.split(r" {3,}", line)[0] for line in section.splitlines()]
    assert "48250" in in_a_console(tmp_path, serve, start, "refund")
