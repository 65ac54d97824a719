"""The zoo of bodies: each, as tool and chunk, of every effect, run, paused at once, cancelled, closed upon, killed.

Every case ends; nobody is left waiting for nothing; effects are counted outside of any store.
"""

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.again import in_time, wait_until
from tests.control.world import Ledger
from tests.zoo.animals import ANIMALS, Zoo

from adjourn import Cancelled, Interrupt, Refused, Run, Runtime
from adjourn.bodies import retries
from adjourn.core.doubt import AGAIN
from adjourn.stores.protocol import Filter

LIMIT = 40.0
GRACE = 0.3
PATIENCE = 2
"""So often a person lets the same call run again."""
ENDED = ("completed", "cancelled")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "BACKOFF", 0.01)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/zoo.db"


def runtime(address: str, zoo: Zoo, animal: str) -> Runtime:
    return Runtime(address, zoo.programs(animal), grace=GRACE, lease=1.0)


async def start(rt: Runtime) -> list[Run[Any]]:
    return [await rt.start(program, "go", run_id=name) for name, program in list(rt.programs.items())]


async def begun(ledger: Ledger, runs: list[str]) -> None:
    """Wait until every body has begun, if it will: a neighbour may hold it up."""
    until = time.monotonic() + 3.0
    while time.monotonic() < until and not all(ledger.lines(run, "began") for run in runs):
        await asyncio.sleep(0.01)


def answer(ledger: Ledger, item: Interrupt, asked: int) -> Any:
    """What a person who knows the world says, and whose patience ends."""
    if item.kind == "in_doubt":
        if asked > PATIENCE and "cancel" in item.choices:
            return {"choice": "cancel"}
        if ledger.lines(item.run_id, "effect"):
            return {"choice": "happened", "result": "it did"}
        return {"choice": "not" if "not" in item.choices else "run"}
    return {"choice": "cancel" if item.kind == "error" else "leave"}


async def to_the_end(rt: Runtime, ledger: Ledger, run: Run[Any]) -> str:
    """Until it has ended, answering truthfully. A run that waits while nobody is asked is stranded."""
    until, alone, asked = time.monotonic() + LIMIT, 0, 0
    while (status := (await rt.store.get(run.id)).status.value) not in ENDED:
        wait_until(until, f"{run.id} does not end: {status}")
        items = await rt.inbox(run=run.id)
        if status == "paused":
            await run.resume(by="ann")
        elif status in ("waiting", "stuck"):
            alone = 0 if items else alone + 1
            assert alone < 200, f"{run.id} is {status}, and nobody is asked"
            for item in items:
                asked += 1
                await rt.answer(item, answer(ledger, item, asked), by="ann")
        await asyncio.sleep(0.01)
    return status


def account(ledger: Ledger, outcome: Cancelled) -> None:
    """What happened and was not taken back is listed; a body that is still at work is listed as well."""
    run = outcome.run_id
    stands = ledger.lines(run, "effect") and not ledger.lines(run, "undone")  # one key: however often, it is one effect
    if stands and not run.endswith("-read"):
        assert [item["tool"] for item in outcome.residue] == ["work"], f"{run} left something, and nobody is told"


def judge(ledger: Ledger, run: str) -> None:
    """What really happened, against what the effect allows."""
    effects, began = ledger.lines(run, "effect"), ledger.lines(run, "began")
    effect = run.partition("-")[2]
    assert len(set(effects)) <= 1, "one call, one key"
    if effect in ("unsafe", "verifiable"):
        assert len(effects) <= 1, f"{run} happened {len(effects)} times"
    else:
        assert len(began) <= AGAIN + PATIENCE + 1, f"{run} began {len(began)} times"
    assert len(ledger.lines(run, "undone")) <= 1


@pytest.mark.parametrize("animal", ANIMALS)
async def test_run(animal: str, address: str, ledger: Ledger) -> None:
    zoo = Zoo(ledger)
    async with runtime(address, zoo, animal) as rt:
        for run in await start(rt):
            await to_the_end(rt, ledger, run)
            judge(ledger, run.id)


@pytest.mark.parametrize("animal", ANIMALS)
async def test_pause_now(animal: str, address: str, ledger: Ledger) -> None:
    zoo = Zoo(ledger)
    async with runtime(address, zoo, animal) as rt:
        runs = await start(rt)
        await begun(ledger, [run.id for run in runs])
        for run in runs:
            with contextlib.suppress(Refused):  # it has ended
                await run.pause(by="ann", now=True)
        for run in runs:
            await to_the_end(rt, ledger, run)
            judge(ledger, run.id)


@pytest.mark.parametrize("animal", ANIMALS)
async def test_cancel(animal: str, address: str, ledger: Ledger) -> None:
    zoo = Zoo(ledger)
    async with runtime(address, zoo, animal) as rt:
        runs = await start(rt)
        await begun(ledger, [run.id for run in runs])
        late: set[str] = set()
        for run in runs:
            try:
                await run.cancel(by="ann")
            except Refused:  # it has ended
                late.add(run.id)
        for run in runs:
            status = await to_the_end(rt, ledger, run)
            assert status == "cancelled" or run.id in late
            outcome = await run.wait(LIMIT)
            judge(ledger, run.id)
            if isinstance(outcome, Cancelled):
                account(ledger, outcome)


@pytest.mark.parametrize("animal", ANIMALS)
async def test_close(animal: str, address: str, ledger: Ledger) -> None:
    zoo = Zoo(ledger)
    rt = await runtime(address, zoo, animal).__aenter__()
    runs = [run.id for run in await start(rt)]
    await begun(ledger, runs)
    began = time.monotonic()
    await rt.__aexit__(None, None, None)
    blocked = 0.1 * len(runs) if animal == "blocks" else 0.0
    in_time(time.monotonic() - began, GRACE + 1.0 + blocked)
    async with runtime(address, zoo, animal) as rt:
        for run in runs:
            await to_the_end(rt, ledger, await rt.get(run))
            judge(ledger, run)


@pytest.mark.parametrize("animal", ANIMALS)
async def test_kill(animal: str, address: str, ledger: Ledger) -> None:
    command = [sys.executable, "-m", "tests.zoo.process", address, str(ledger.folder), animal]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    zoo = Zoo(ledger)
    runs = [program.name for program in zoo.programs(animal)]
    try:
        until = time.monotonic() + LIMIT
        while not any(ledger.lines(run, "began") for run in runs):
            wait_until(until, "nothing began")
            await asyncio.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    async with runtime(address, zoo, animal) as rt:
        for run in [row.id for row in await rt.store.runs(Filter())]:
            await to_the_end(rt, ledger, await rt.get(run))
            judge(ledger, run)
