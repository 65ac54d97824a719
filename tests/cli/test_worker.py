"""`adjourn worker`: it advances what is due, hands runs back, and is replaced when it dies."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
from tests.again import wait_until
from tests.cli import shop
from tests.cli.conftest import SECONDS, Run, Start, begin

from adjourn import Runtime

SHOP = str(Path(shop.__file__))


@pytest.fixture
def worker(worker: Start) -> Start:
    """Workers whose output is read."""
    return partial(worker, stdout=subprocess.PIPE)


async def _start(agent: Any, run_id: str) -> None:
    """Put a run into the store as another process would, and do not advance it."""
    async with Runtime("sqlite:///adjourn.db") as rt:
        from adjourn.core.records import Started

        await rt.store.create(
            Started(run=run_id, kind="agent", program=agent.name, fingerprint=agent.fingerprint, input="x")
        )


def line_of(one: subprocess.Popen[str], stream: IO[str] | None = None) -> str:
    """The next line of a worker; a worker that says nothing is ended."""
    stream = stream or one.stdout
    assert stream is not None
    patience = threading.Timer(SECONDS, one.kill)
    patience.start()
    try:
        line = stream.readline()
    finally:
        patience.cancel()
    assert line, f"the worker said nothing within {SECONDS:g} s"
    return line


def test_a_worker_makes_the_database_advances_runs_and_stops_in_order(adjourn: Run, worker: Start) -> None:
    one = worker(f"{SHOP}:both")
    assert f"Worker {one.pid} advances refunds, asker on sqlite:///adjourn.db" in line_of(one, one.stderr)
    assert Path("adjourn.db").exists()
    asyncio.run(_start(shop.refunds, "order-1"))
    assert line_of(one).strip() == "◆ waiting  order-1  refunds  refund needs approval"
    said = adjourn("approve", "order-1:2.0?0", "--by", "ana", "--wait", str(SECONDS))
    assert said.code == 0 and "refund ran, " in said.out
    assert line_of(one).strip() == "✓ completed  order-1  refunds  Done."
    one.send_signal(signal.SIGTERM)
    _, err = one.communicate(timeout=SECONDS)
    assert one.returncode == 0 and "Stopped." in err


def test_the_wait_of_a_command_says_how_the_run_rested(adjourn: Run, worker: Start) -> None:
    first, second = asyncio.run(begin(shop.refunds, shop.refunds))
    worker(f"{SHOP}:refunds")
    assert adjourn("deny", f"{first}:2.0?0", "--wait", str(SECONDS)).code == 0
    assert adjourn("cancel", second, "--wait", str(SECONDS)).code == 4
    assert adjourn("say", second, "x").code == 1


def test_a_worker_prints_json_lines(worker: Start) -> None:
    asyncio.run(_start(shop.make(), "made-1"))
    one = worker(f"{SHOP}:make", "--json", "--db", "sqlite:///adjourn.db")
    seen = json.loads(line_of(one))
    assert (seen["run_id"], seen["status"], seen["now"]["text"]) == ("made-1", "completed", "Made.")


def test_a_killed_worker_is_replaced_and_the_key_is_the_same(worker: Start) -> None:
    asyncio.run(_start(shop.sender, "parcel-1"))
    ledger = Path("ledger")
    first = worker(f"{SHOP}:sender", SHOP_LEDGER=str(ledger), SHOP_SLOWLY="60")
    until = time.monotonic() + SECONDS
    while not ledger.exists() or not ledger.read_text():
        assert first.poll() is None
        wait_until(until)
        time.sleep(0.01)
    first.kill()
    first.wait(SECONDS)
    second = worker(f"{SHOP}:sender", SHOP_LEDGER=str(ledger))
    assert line_of(second).strip() == "✓ completed  parcel-1  sender  Sent."
    tries = [line.split() for line in ledger.read_text().splitlines()]
    assert [int(pid) for _, _, pid in tries] == [first.pid, second.pid]
    assert len({key for _, key, _ in tries}) == 1


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("nothing", "write app.py:agent"),
        ("absent.py:agent", "not found"),
        ("no_such_module:agent", "ModuleNotFoundError"),
        (f"{SHOP}:nobody", "ts agents and flows are: refunds, asker, failing, sender"),
        (f"{SHOP}:number", "is 7, not an agent or a flow"),
        (f"{SHOP}:broken", "RuntimeError: not today"),
        ("bad.py:agent", "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_advanced_is_wrong_input(adjourn: Run, reference: str, says: str) -> None:
    Path("bad.py").write_text("1 / 0\n")
    said = adjourn("worker", reference)
    assert said.code == 2 and says in said.err and said.err.count("✗ Not started:") == 1
    assert not Path("adjourn.db").exists()


def test_a_broken_module_shows_its_own_traceback(adjourn: Run) -> None:
    Path("worse.py").write_text("def f():\n    raise KeyError('mine')\nf()\n")
    said = adjourn("worker", "worse.py:agent")
    assert "raise KeyError('mine')" in said.err and "not_importable · 422" in said.err


def test_other_options_are_checked(adjourn: Run) -> None:
    for options in (["--lease", "0"], ["--on-change", "perhaps"], ["--resources", f"{SHOP}:number"]):
        assert adjourn("worker", f"{SHOP}:make", *options).code == 2


STUBBORN = """
import asyncio
from pathlib import Path

from adjourn import Agent, tool
from adjourn.testing import ScriptedModel, call


@tool(effect="unsafe")
async def holds_on() -> str:
    '''Never ends, whatever anybody says.'''
    Path("began").touch()
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass


agent = Agent("stubborn", model=ScriptedModel([call("holds_on")], "done"), tools=[holds_on])
"""


def test_a_worker_ends_although_a_body_does_not_and_says_which(worker: Start) -> None:
    Path("stubborn.py").write_text(STUBBORN)
    one = worker("stubborn.py:agent", "--grace", "0.2")
    line_of(one, one.stderr)
    sys.path.insert(0, str(Path.cwd()))
    try:
        from stubborn import agent  # type: ignore[import-not-found] # pyright: ignore
    finally:
        sys.path.pop(0)
    asyncio.run(_start(agent, "r-1"))
    until = time.monotonic() + SECONDS
    while not Path("began").exists():
        wait_until(until)
        time.sleep(0.02)
    one.send_signal(signal.SIGTERM)
    _, err = one.communicate(timeout=SECONDS)
    assert one.returncode == 0
    assert "holds_on (1.0) of run r-1" in err
    assert "in doubt" in err
