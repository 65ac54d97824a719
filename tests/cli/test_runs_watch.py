"""`adjourn runs --watch` and `adjourn show --web`: the list as it changes, and the page of a run."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import SECONDS, AtTerminal, Run, begin
from tests.cli.test_worker import line_of

SHOP = str(Path(shop.__file__))


@pytest.fixture
def watching() -> Iterator[subprocess.Popen[str]]:
    """`adjourn runs --watch --json`, in a pipe."""
    watcher = subprocess.Popen(
        [sys.executable, "-m", "adjourn", "runs", "--watch", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    yield watcher
    watcher.kill()
    watcher.communicate(timeout=SECONDS)


def test_in_a_pipe_there_is_a_line_for_every_run_that_has_changed(
    adjourn: Run, waiting: str, request: pytest.FixtureRequest
) -> None:
    watcher: subprocess.Popen[str] = request.getfixturevalue("watching")
    first = json.loads(line_of(watcher))
    assert (first["run_id"], first["status"]) == (waiting, "waiting")
    adjourn("pause", waiting)
    changed = json.loads(line_of(watcher))
    assert (changed["run_id"], changed["status"]) == (waiting, "paused")
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(SECONDS) == 0


def test_at_a_terminal_the_list_is_drawn_again(terminal: AtTerminal, adjourn: Run, waiting: str) -> None:
    pty = terminal("runs", "--watch")
    pty.see("◆ waiting")
    pty.see("Live. Ctrl-C exits.")
    adjourn("pause", waiting)
    pty.see("‖ paused")
    pty.see("Live. Ctrl-C exits.")
    pty.interrupt()
    assert pty.end() == 0


def test_the_page_of_a_run_is_found_while_a_server_runs_and_not_after(
    adjourn: Run, waiting: str, tmp_path: Path
) -> None:
    pytest.importorskip("uvicorn")
    before = adjourn("show", waiting, "--web")
    assert before.code == 2 and "adjourn serve" in before.err and before.out == ""
    served = subprocess.Popen(
        [sys.executable, "-m", "adjourn", "serve", "--port", "0", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    try:
        url = json.loads(line_of(served))["url"]
        assert adjourn("show", waiting[:6], "--web").out == f"{url.rstrip('/')}/runs/{waiting}\n"
        assert adjourn("show", waiting, "--web", "--json").json == {"url": f"{url.rstrip('/')}/runs/{waiting}"}
        assert "token" not in adjourn("show", waiting, "--web").out
    finally:
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=SECONDS)
    assert adjourn("show", waiting, "--web").code == 2


def test_a_server_that_was_killed_is_not_named(adjourn: Run, waiting: str) -> None:
    pytest.importorskip("uvicorn")
    served = subprocess.Popen(
        [sys.executable, "-m", "adjourn", "serve", "--port", "0", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    line_of(served)
    served.kill()
    served.communicate(timeout=SECONDS)
    assert adjourn("show", waiting, "--web").code == 2


def test_the_environment_says_where_the_console_is(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    [run] = asyncio.run(begin(shop.asker))
    monkeypatch.setitem(os.environ, "ADJOURN_CONSOLE", "https://ops.example.com/")
    assert adjourn("show", run, "--web").out == f"https://ops.example.com/runs/{run}\n"
