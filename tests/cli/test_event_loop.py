"""Processes that are Adjourn's own use uvloop where it is installed; whoever uses the library keeps their loop."""

import asyncio
import gc
import subprocess
import sys
from typing import Any

import pytest

from adjourn.cli import event_loop


async def which() -> str:
    return type(asyncio.get_running_loop()).__module__


@pytest.fixture
def unfrozen() -> Any:
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("unfrozen")
def test_a_worker_runs_on_uvloop_where_it_is_installed() -> None:
    pytest.importorskip("uvloop")
    assert event_loop.name() == "uvloop"
    assert not gc.get_freeze_count()
    assert event_loop.run(which()).startswith("uvloop")
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("unfrozen")
def test_without_it_asyncio_s_own_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> None:
        return None

    monkeypatch.setattr(event_loop, "find_spec", absent)
    assert event_loop.name() == "asyncio"
    assert event_loop.run(which()).startswith("asyncio")


def test_whoever_uses_the_library_keeps_their_loop() -> None:
    code = (
        "import asyncio, sys\nfrom adjourn import Runtime\n"
        "async def main():\n"
        "    async with Runtime('memory://'):\n"
        "        print(type(asyncio.get_running_loop()).__module__, 'uvloop' in sys.modules)\n"
        "asyncio.run(main())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["asyncio.unix_events", "False"]
