"""Several processes share the runs of one file: they divide them, take over from the dead, and shut out the frozen."""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.control.conftest import Begin
from tests.control.world import LIMIT, Ledger, act, call, does, says, script, solo

from adjourn import Runtime
from adjourn.core.records import AnyRecord, Claimed, Intended, Replied, Returned, Started

CREATED = 12


async def records(rt: Runtime, run: str) -> list[AnyRecord]:
    return [record for _, record in await rt.store.load(run)]


async def test_three_workers_share_runs_that_a_fourth_process_began(begin: Begin, address: str, ledger: Ledger) -> None:
    await asyncio.gather(*(begin("solo", concurrency=3) for _ in range(3)))
    async with Runtime(address) as desk:
        about = solo(ledger).fingerprint
        for n in range(CREATED):
            play = script(f"r{n}", does(act("a")), does(act("b", gate="b")), says("done"))
            await desk.store.create(Started(run=f"r{n}", kind="agent", program="solo", fingerprint=about, input=play))
        async with asyncio.timeout(LIMIT):
            while len({row.worker for row in await desk.runs(status="running")}) < 3:
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
    assert len(owners) == 3


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
        assert took < 5
        ledger.open("r", "p")
        assert (await (await desk.get("r")).wait(LIMIT)).status == "completed"
    assert ledger.lines("r", "act") == ["act a", "act p", "act p"]


@pytest.mark.parametrize("what", ["tool", "model"])
async def test_g6_a_worker_frozen_past_its_lease_and_thawed_commits_nothing(
    begin: Begin, address: str, ledger: Ledger, what: str
) -> None:
    frozen = await begin("solo", lease=0.5)
    first = does(act("a", gate="go")) if what == "tool" else does(call("look", name="l"), gate="go")
    await frozen.do("start", agent="solo", run="r", input=script("r", first, does(act("b")), says("done")))
    await ledger.until("r", "act a" if what == "tool" else "model asked 0")
    frozen.signal(signal.SIGSTOP)
    other = await begin("solo", lease=0.5)
    async with Runtime(address) as desk:
        run = await desk.get("r")
        async with asyncio.timeout(LIMIT):
            while (await desk.store.get("r")).epoch < 2:
                await asyncio.sleep(0.01)
        if what == "tool":
            assert (await run.wait(LIMIT)).status == "waiting"
        else:
            await asyncio.sleep(0.2)
        taken = await records(desk, "r")
        ledger.open("r", "go")
        frozen.signal(signal.SIGCONT)
        if what == "tool":
            await ledger.until("r", "acted a")  # its body may still act; only the target could refuse that
            await asyncio.sleep(1.0)
            assert await records(desk, "r") == taken, "it wrote something"
            [item] = (await run.state()).interrupts
            assert item.kind == "in_doubt"
            await desk.answer(item.id, {"choice": "happened", "result": {"did": "a"}}, by="ann")
        assert (await run.wait(LIMIT)).status == "completed"
        after = await records(desk, "r")
        claims = [x for x in after if isinstance(x, Claimed)]
        assert f"|{other.pid}|" in claims[1].worker
        assert len([x for x in after if isinstance(x, Replied)]) == 3
        assert len([x for x in after if isinstance(x, Returned) and x.call == "1.0"]) == (0 if what == "tool" else 1)
        assert [x.call for x in after if isinstance(x, Intended)] == (["1.0", "2.0"] if what == "tool" else ["2.0"])
        assert await desk.verify() == []
    assert ledger.lines("r", "acted").count("acted b") == 1


async def test_a_frozen_worker_cannot_answer_for_a_run_that_was_cancelled_meanwhile(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    frozen = await begin("solo", lease=0.5)
    await frozen.do(
        "start", agent="solo", run="r", input=script("r", does(act("a")), does(act("b")), says("", gate="x"))
    )
    await ledger.until("r", "model asked 2")
    frozen.signal(signal.SIGSTOP)
    await begin("solo", lease=0.5)
    async with Runtime(address) as desk:
        run = await desk.get("r")
        await run.cancel(by="ann")
        assert (await run.wait(LIMIT)).status == "cancelled"
        count = len(await records(desk, "r"))
        frozen.signal(signal.SIGCONT)
        ledger.open("r", "x")
        await asyncio.sleep(1.0)
        assert len(await records(desk, "r")) == count
    assert ledger.lines("r", "undone") == ["undone b", "undone a"]


async def parked(folder: Path, runs: int, seconds: float) -> dict[str, Any]:
    async def do(*words: str) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.control.parked", *words, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        return json.loads(out)

    path = str(folder / "parked.db")
    await do("make", path, str(runs))
    found = await do("sit", path, str(runs), str(seconds))
    print(
        f"{runs} paused runs and an open runtime: {found['ticks']} CPU ticks in {seconds:g} s, "
        f"{found['bytes_per_run']:.0f} bytes of memory per run"
    )
    return found


async def test_g12_a_thousand_paused_runs_use_no_cpu(folder: Path) -> None:
    found = await parked(folder, 1_000, 3.0)
    assert found["paused"] == 1_000
    assert found["ticks"] <= 1


@pytest.mark.crash
async def test_g12_ten_thousand_paused_runs_use_at_most_one_tick_in_ten_seconds(folder: Path) -> None:
    found = await parked(folder, 10_000, 10.0)
    assert found["paused"] == 1_000  # as many as a page holds
    assert found["ticks"] <= 1
    assert found["bytes_per_run"] < 200
