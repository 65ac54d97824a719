"""`adjourn watch`: a run of another process as it goes by, at a terminal with keys, and in a pipe."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.again import wait_until
from tests.cli import yard
from tests.cli.conftest import SECONDS, AtTerminal, Pty, Run
from tests.cli.test_run import ledger, only_run, reached

YARD = str(Path(yard.__file__))
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def _gates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("YARD", str(tmp_path))


@pytest.fixture
def background() -> Iterator[Start]:
    """A run that another process advances."""
    begun: list[subprocess.Popen[str]] = []

    def start(program: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "adjourn", "run", f"{YARD}:{program}", "Ship it", "--id", "ship-1"]
        begun.append(
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
                env=dict(os.environ),
            )
        )  # fmt: skip
        return begun[-1]

    yield start
    for one in begun:
        one.kill()
        one.wait(SECONDS)


@pytest.fixture
def watching(background: Start, terminal: AtTerminal) -> Callable[[], Pty]:
    """A terminal that watches a run which is in the middle of a tool."""

    def begin() -> Pty:
        background("deploy")
        reached("healthy")
        pty = terminal("watch", "ship-1")
        pty.see("q leave")
        return pty

    return begin


def test_the_past_is_told_and_what_is_new_follows(watching: Callable[[], Pty]) -> None:
    pty = watching()
    assert "✓ create" in pty.plain and "Two servers first." in pty.plain and "● wait_healthy" in pty.plain
    Path("healthy").touch()
    pty.see("✓ wait_healthy")
    pty.see("✓ completed")
    assert pty.end() == 0


def test_text_arrives_while_the_model_still_writes(background: Start, terminal: AtTerminal, adjourn: Run) -> None:
    background("talker")
    until = time.monotonic() + SECONDS
    while adjourn("show", "ship-1").code:
        wait_until(until)
        time.sleep(0.05)
    pty = terminal("watch", "ship-1")
    pty.see("word1")
    assert "word199" not in pty.plain
    pty.press("P")
    pty.see("cut off")
    pty.see("‖ paused")
    pty.press("q")
    pty.see("leaving did not stop it")
    assert pty.end() == 0
    assert only_run(adjourn)["status"] == "paused"


def test_keys_pause_say_and_resume(watching: Callable[[], Pty], background: Start, adjourn: Run) -> None:
    pty = watching()
    pty.press("p")
    pty.see("‖ pausing…")
    pty.press("s")
    pty.see("Say › ")
    pty.type("be quick about it")
    pty.see("be quick about it")
    pty.see("said")
    Path("healthy").touch()
    pty.see("‖ paused")
    pty.press("r")
    pty.see("resumed")
    pty.press("q")
    assert pty.end() == 0
    assert adjourn("show", "ship-1", "--json").json["status"] in ("ready", "running", "completed")


def test_cancel_shows_what_it_would_do_and_asks(watching: Callable[[], Pty]) -> None:
    pty = watching()
    pty.press("c")
    pty.see("undo  create")
    pty.see("stays announce")
    pty.see("Cancel and undo 2? yes/no › ")
    pty.type("")
    pty.see("› ")
    pty.type("no")
    pty.see("q leave")
    pty.press("c")
    pty.see("Cancel and undo 2? yes/no › ")
    pty.type("yes")
    Path("healthy").touch()
    pty.see("⊘ cancelled")
    assert pty.end() == 4
    assert ledger()[-2:] == ["remove b", "remove a"]


def test_ctrl_c_leaves_and_stops_nothing(watching: Callable[[], Pty], adjourn: Run) -> None:
    pty = watching()
    pty.interrupt()
    pty.see("leaving did not stop it")
    assert pty.end() == 0
    assert only_run(adjourn)["status"] == "running"
    Path("healthy").touch()


def test_in_a_pipe_every_step_is_a_line(process: Run) -> None:
    Path("healthy").touch()
    process("run", f"{YARD}:deploy", "Ship it", "--id", "ship-1")
    said = process("watch", "ship-1")
    assert said.code == 0 and "\x1b" not in said.out and "q leave" not in said.out
    names = [line.split()[2] for line in said.out.splitlines() if " ✓ " in line]
    assert names[:2] == ["✓", "✓"] and "Deployed." in said.out
    assert process("watch", "ship-1", "--after", "3").out.count("started") == 0


def test_json_is_one_event_a_line_and_misses_nothing(background: Start, process: Run) -> None:
    running = background("deploy")
    reached("healthy")
    watcher = subprocess.Popen(
        [sys.executable, "-m", "adjourn", "watch", "ship-1", "--json"], stdout=subprocess.PIPE, text=True
    )
    assert watcher.stdout is not None
    first = json.loads(watcher.stdout.readline())
    assert first["seq"] == 1 and first["record"]["t"] == "started"
    Path("healthy").touch()
    rest = [json.loads(line) for line in watcher.stdout]
    watcher.stdout.close()
    watcher.wait(SECONDS)
    running.wait(SECONDS)
    journal = process("show", "ship-1", "--journal").out.splitlines()
    assert [e["seq"] for e in rest if e["event"] == "record"] == [*range(2, len(journal) + 1)]
    assert rest[-1] == {"event": "end", "run_id": "ship-1", "status": "completed", "output": "Deployed."}
    assert watcher.returncode == 0


def test_it_leaves_at_a_rest_if_that_is_wanted(process: Run) -> None:
    process("run", f"{YARD}:guarded", "x", "--id", "ship-1")
    said = process("watch", "ship-1", "--rest")
    assert said.code == 3 and "needs approval: servers cost money" in said.out


def test_a_run_that_is_not_there(process: Run) -> None:
    assert process("watch", "ship-1").code == 2
