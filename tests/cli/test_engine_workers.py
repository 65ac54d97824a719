"""`adjourn worker` and `adjourn serve` under a real engine: who is asked, how one of them drains, and that nothing runs twice."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import SECONDS, Run, Start, hear
from tests.cli.test_workers import begun, create, hall, journal, probe, until
from tests.engines.restate_server import restate
from tests.engines.temporal_server import temporal

from adjourn import Runtime
from adjourn.core.records import Returned

__all__ = ["hall", "restate", "temporal"]  # fixtures

SWEPT = "the engine did not wake it"
"""What a worker logs of a run that its sweep has found."""


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> dict[str, str]:
    """Variables that name a real engine, for the processes of a test."""
    options = request.getfixturevalue(request.param).options
    named = {f"ADJOURN_ENGINE_{name.upper()}": value for name, value in options.items() if name != "kind"}
    return {"ADJOURN_ENGINE": options["kind"], "ADJOURN_ENGINE_QUEUE": f"q-{request.param}", **named}


@pytest.fixture
def server(engine: dict[str, str], db: str) -> Iterator[None]:
    """A server that advances nothing: it tells the engine what is due."""
    with subprocess.Popen(
        [sys.executable, "-m", "adjourn", "serve", "--port", "0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **engine},
    ) as one:  # fmt: skip
        try:
            hear(one, "Serving")
            yield
        finally:
            one.send_signal(signal.SIGTERM)
            _, said = one.communicate(timeout=SECONDS)
    assert "Server stopped. All runs are saved." in said


def stopped(one: "subprocess.Popen[str]") -> str:
    """What a worker says after it was told to stop; it ends in order."""
    one.send_signal(signal.SIGTERM)
    _, said = one.communicate(timeout=SECONDS)
    assert one.returncode == 0, said
    return said


def states(adjourn: Run) -> dict[int, str]:
    """Of the workers that are listed, by their processes."""
    return {found["pid"]: found["state"] for found in adjourn("workers", "--json").json["workers"]}


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(("db", "engine"), [("postgres", "restate"), ("sqlite", "temporal")], indirect=True)
def test_a_worker_of_an_engine_that_drains_finishes_what_runs_and_the_engine_asks_another(
    adjourn: Run, db: str, engine: dict[str, str], hall: str, worker: Start
) -> None:
    start = partial(worker, f"{hall}:slow", "--log-level", "info", **engine)
    one = start("--grace", str(SECONDS), "--health", "0")
    ready = hear(one, "Health at ").split()[-1]
    hear(one, f"through {engine['ADJOURN_ENGINE'].title()}")
    until(lambda: probe(ready) == 200)
    create(db, "r-1")
    until(begun)
    two = start(until="through")
    one.send_signal(signal.SIGTERM)
    until(lambda: probe(ready) == 503)
    create(db, "r-2")
    until(lambda: len(begun()) == 2)
    until(lambda: states(adjourn) == {one.pid: "draining", two.pid: "working"})
    Path("go").touch()
    _, said = one.communicate(timeout=SECONDS)
    assert (one.returncode, SWEPT in said) == (0, False), said
    for run in ("r-1", "r-2"):
        assert adjourn("watch", run, "--json").code == 0
        assert sum(isinstance(record, Returned) for record in journal(db, run)) == 1
    assert begun() == ["r-1", "r-2"], "no call ran twice"
    assert SWEPT not in stopped(two)


@pytest.mark.parametrize("db", ["sqlite"], indirect=True)
def test_a_server_for_which_the_store_is_the_engine_ends_the_wakes_of_another(db: str) -> None:
    waking(db, True)
    with subprocess.Popen(
        [sys.executable, "-m", "adjourn", "serve", "--port", "0", "--engine", "store"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as one:  # fmt: skip
        hear(one, "Serving")
        assert not waking(db)
        stopped(one)


def waking(db: str, wanted: bool | None = None) -> bool:
    """Whether wakes are written for an engine; from now on, if that is said."""

    async def work() -> bool:
        async with Runtime(db) as rt:
            return await rt.store.waking(wanted)

    return asyncio.run(work())
