"""A rolling deploy: two versions of one agent in real worker processes. A run is finished where it fits, and waits visibly where
that is nowhere."""

import asyncio
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.conftest import SECONDS, Run, Start, hear
from tests.cli.test_workers import until
from tests.server.world import Client

from adjourn import Runtime
from adjourn.core.records import Started
from adjourn.server import serving

TILL = """
from adjourn import Agent, ToolContext, tool
from adjourn.testing import ScriptedModel, call


@tool(effect="unsafe", policy="ask")
async def refund(ctx: ToolContext, {version}_cents: int) -> str:
    '''Pay money back.'''
    with open("ledger", "a") as file:
        file.write("{version} " + ctx.run_id + chr(10))
    return "paid"


till = Agent("till", model=ScriptedModel([call("refund", {version}_cents=5)], "Paid."), tools=[refund])
"""
Version = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def version(worker: Start) -> Version:
    """Workers of a version; each answers probes."""

    def start(name: str) -> subprocess.Popen[str]:
        Path(f"{name}.py").write_text(TILL.replace("{version}", name))
        return worker(f"{name}.py:till", "--health", "0")

    return start


def create(db: str, run: str, version: str) -> None:
    """A run that a version has begun; nobody advances it here."""
    scope: dict[str, Any] = {"__name__": version}
    exec(compile(Path(f"{version}.py").read_text(), f"{version}.py", "exec"), scope)
    start = Started(run=run, kind="agent", program="till", fingerprint=scope["till"].fingerprint)

    async def work() -> None:
        async with Runtime(db) as rt:
            await rt.store.create(start)

    asyncio.run(work())


async def over_http(db: str, run: str) -> dict[str, str]:
    """What the operations say that the console asks for its lists, a run and the workers."""
    async with serving(db, [], port=0, token=True) as up, Client(up, up.token) as admin:
        paths = (f"runs/{run}", f"glances?runs={run}", "workers")
        return {path: (await admin.get(path)).text.replace("\\u0027", "'") for path in paths}


def paid() -> list[str]:
    """Which version paid for which run, in the order of it."""
    try:
        return Path("ledger").read_text().splitlines()
    except FileNotFoundError:
        return []


def test_a_paused_run_finishes_where_it_fits_and_waits_visibly_where_no_worker_does(
    adjourn: Run, db: str, version: Version
) -> None:
    old = version("old")
    hear(old, "advances")
    create(db, "begun-with-old", "old")
    until(lambda: adjourn("inbox", "--json").json)
    old.send_signal(signal.SIGTERM)
    assert old.wait(SECONDS) == 0
    new = version("new")
    health = hear(new, "Health at ").split()[-1]
    hear(new, "advances")
    create(db, "begun-with-new", "new")
    until(lambda: len(adjourn("inbox", "--json").json) == 2)
    for run in ("begun-with-old", "begun-with-new"):
        assert adjourn("approve", run, "--by", "ana").code == 0
    until(lambda: paid() == ["new begun-with-new"])
    [unfit] = until(lambda: adjourn("workers", "--json").json["unfit"])
    assert (unfit["agent"], unfit["runs"], unfit["run_id"]) == ("till", 1, "begun-with-old")
    assert unfit["why"] == "tool 'refund' has another schema or effect"
    shown = adjourn("show", "begun-with-old")
    assert unfit["why"] in shown.out + shown.err
    assert unfit["why"] in adjourn("workers").out
    assert unfit["why"] in adjourn("runs").out
    [listed] = [run for run in adjourn("runs", "--json").json if run["run_id"] == "begun-with-old"]
    assert listed["misfit"]["why"] == listed["now"]["reason"] == unfit["why"]
    for path, told in asyncio.run(over_http(db, "begun-with-old")).items():
        assert unfit["why"] in told, path
    assert 'adjourn_runs_unfit{agent="till"} 1\n' in httpx.get(health.replace("readyz", "metrics")).text
    assert httpx.get(health).status_code == 200, "a worker that waits for another is no worse a worker"
    again = version("old")
    hear(again, "advances")
    until(lambda: paid() == ["new begun-with-new", "old begun-with-old"])
    for run in ("begun-with-old", "begun-with-new"):
        assert adjourn("watch", run, "--json").code == 0
    assert adjourn("workers", "--json").json["unfit"] == []
    assert len(paid()) == 2
