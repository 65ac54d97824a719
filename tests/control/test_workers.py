"""Several processes share the runs of one file: they divide them, take over from the dead, and shut out the frozen."""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.again import in_time
from tests.control.conftest import Begin
from tests.control.world import LIMIT, Ledger, act, call, does, says, script, solo

from adjourn import Runtime
from adjourn.core.records import AnyRecord, Claimed, Intended, Replied, Returned, Started
from adjourn.core.status import RunStatus
from adjourn.stores.protocol import Filter

CREATED = 8


async def records(rt: Runtime, run: str) -> list[AnyRecord]:
    return [record for _, record in await rt.store.load(run)]


async def test_two_workers_share_runs_that_a_third_process_began(begin: Begin, address: str, ledger: Ledger) -> None:
    await asyncio.gather(*(begin("solo", concurrency=3) for _ in range(2)))
    async with Runtime(address) as desk:
        about = solo(ledger).fingerprint
        for n in range(CREATED):
            play = script(f"r{n}", does(act("a")), does(act("b", gate="b")), says("done"))
            await desk.store.create(Started(run=f"r{n}", kind="agent", program="solo", fingerprint=about, input=play))
        async with asyncio.timeout(LIMIT):
            while len({row.worker for row in await desk.store.runs(Filter(status=RunStatus.RUNNING))}) < 2:
                await asyncio.sleep(0.02)
        for n in range(CREATED):
            ledger.open(f"r{n}", "b")
        owners: set[str] = set()
        for n in range(CREATED):
            run = await desk.get(f"r{n}")
            assert (await run.wait(LIMIT)).status == "completed"
            claims = [x.worker for x in await records(desk, f"r{n}") if isinstance(x, Claimed)]
            assert len(claims) == 1, "nobody took a run from a worker that lives"
            owners.update(claims)
            assert ledger.lines(f"r{n}", "acted") == ["acted a", "acted b"]
    assert len(owners) == 2


async def test_a_killed_worker_is_replaced_at_once_and_nothing_that_is_recorded_runs_again(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    lost = await begin("solo", lease=60.0)
    play = script("r", does(act("a")), does(call("put", name="p", gate="p")), says("done"))
    await lost.do("start", agent="solo", run="r", input=play)
    await ledger.until("r", "act p")
    await begin("solo", lease=60.0)
    killed = time.monotonic()
    await lost.kill()
    async with Runtime(address) as desk:
        async with asyncio.timeout(LIMIT):
            while (await desk.store.get("r")).epoch < 2:
                await asyncio.sleep(0.005)
        took = time.monotonic() - killed
        print(f"a killed worker was replaced after {took:.2f} s; its lease was 60 s")
        in_time(took, 5)
        ledger.open("r", "p")
        assert (await (await desk.get("r")).wait(LIMIT)).status == "completed"
    assert ledger.lines("r", "act") == ["act a", "act p", "act p"]


async def test_g6_a_worker_frozen_past_its_lease_and_thawed_commits_nothing(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    """Frozen in a tool, in a model call, and in a run that is cancelled meanwhile."""
    frozen = await begin("solo", lease=0.5)
    plays = {
        "tool": script("tool", does(act("a", gate="go")), does(act("b")), says("done")),
        "model": script("model", does(call("look", name="l"), gate="go"), does(act("b")), says("done")),
        "gone": script("gone", does(act("a")), does(act("b")), says("", gate="go")),
    }
    for name, play in plays.items():
        await frozen.do("start", agent="solo", run=name, input=play)
    await ledger.until("tool", "act a")
    await ledger.until("model", "model asked 0")
    await ledger.until("gone", "model asked 2")
    frozen.signal(signal.SIGSTOP)
    other = await begin("solo", lease=0.5)
    async with Runtime(address) as desk:
        runs = {name: await desk.get(name) for name in plays}
        await runs["gone"].cancel(by="ann")
        assert (await runs["gone"].wait(LIMIT)).status == "cancelled"
        assert (await runs["tool"].wait(LIMIT)).status == "waiting"
        async with asyncio.timeout(LIMIT):
            while ledger.lines("model").count("model asked 0") < 2:
                await asyncio.sleep(0.01)
        taken = {name: await records(desk, name) for name in plays}
        for name in ("tool", "gone"):
            ledger.open(name, "go")
        frozen.signal(signal.SIGCONT)
        await ledger.until("tool", "acted a")  # its body may still act; only the target could refuse that
        await asyncio.sleep(1.0)
        for name in plays:
            assert await records(desk, name) == taken[name], f"{name}: it wrote something"
        [item] = (await runs["tool"].state()).interrupts
        assert item.kind == "in_doubt"
        await desk.answer(item.id, {"choice": "happened", "result": {"did": "a"}}, by="ann")
        ledger.open("model", "go")
        for name in ("tool", "model"):
            assert (await runs[name].wait(LIMIT)).status == "completed"
            after = await records(desk, name)
            claims = [x for x in after if isinstance(x, Claimed)]
            assert f"|{other.pid}|" in claims[1].worker
            assert len([x for x in after if isinstance(x, Replied)]) == 3
            assert ledger.lines(name, "acted").count("acted b") == 1
        assert not [x for x in await records(desk, "tool") if isinstance(x, Returned) and x.call == "1.0"]
        assert [x.call for x in await records(desk, "tool") if isinstance(x, Intended)] == ["1.0", "2.0"]
        assert await desk.verify() == []
    assert ledger.lines("gone", "undone") == ["undone b", "undone a"]


async def parked(folder: Path, *words: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.control.parked", words[0], str(folder / "parked.db"), *words[1:],
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    return json.loads(out)


async def test_g12_a_thousand_paused_runs_use_no_cpu(folder: Path) -> None:
    found = await parked(folder, "both", "1000", "2.5")
    print(f"1000 paused runs and an open runtime: {found['ticks']} CPU ticks in 2.5 s")
    assert found["paused"] == 1_000
    assert found["ticks"] <= 1


@pytest.mark.crash
async def test_g12_ten_thousand_paused_runs_use_at_most_one_tick_in_ten_seconds(folder: Path) -> None:
    await parked(folder, "make", "10000")
    found = await parked(folder, "sit", "10000", "10")
    memory = await parked(folder, "memory", "10000")
    print(
        f"10000 paused runs and an open runtime: {found['ticks']} CPU ticks in 10 s, "
        f"{memory['bytes_per_run']:.0f} bytes of memory per run"
    )
    assert found["paused"] == 1_000  # as many as a page holds
    assert found["ticks"] <= 1
    assert memory["bytes_per_run"] < 200
