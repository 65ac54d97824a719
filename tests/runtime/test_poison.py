"""Deaths, hand-backs and suspects with real workers: one bad run bothers nobody but the person who must look at it."""

import asyncio

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, completed, killer, note, thinks

from adjourn import Agent, MaxTokens, RunFailed, Runtime
from adjourn.core.records import Asked, Claimed, Released

INNOCENT = 5


async def journal(rt: Runtime, run: str, kind: type) -> list[object]:
    return [record for _, record in await rt.store.load(run) if isinstance(record, kind)]


async def test_a_rolling_restart_while_a_model_thinks_counts_nothing_however_often(
    address: str, ledger: Ledger
) -> None:
    agent, resources = thinks(ledger), {"ledger": ledger}
    async with Runtime(address, [agent], resources=resources, work=False) as desk:
        await desk.start(agent, "go", run_id="r1")
    for restart in range(8):
        async with Runtime(address, [agent], resources=resources) as rt:
            async with asyncio.timeout(LIMIT):
                while ledger.lines().count("asked 0") <= restart:
                    await asyncio.sleep(0.005)
            assert await (await rt.get("r1")).status() == "running"
    ledger.open("model")
    async with Runtime(address, [agent], resources=resources) as rt:
        outcome = await completed(await rt.get("r1"))
        assert outcome.output == "thought"
        released = await journal(rt, "r1", Released)
        assert len(released) == 8
        assert all(isinstance(x, Released) and x.why == "the worker is closing" for x in released)
        assert not await journal(rt, "r1", Asked)
        assert not any(isinstance(x, Claimed) and x.lost for x in await journal(rt, "r1", Claimed))


async def test_model_calls_that_a_restart_cut_off_count_for_limits(address: str, ledger: Ledger) -> None:
    agent = Agent("thinks", model=thinks(ledger).model, tools=[note], stop=MaxTokens(40))
    resources = {"ledger": ledger}
    async with Runtime(address, [agent], resources=resources, work=False) as desk:
        await desk.start(agent, "x" * 120, run_id="r1")
    for restart in range(2):
        async with Runtime(address, [agent], resources=resources):
            async with asyncio.timeout(LIMIT):
                while ledger.lines().count("asked 0") <= restart:
                    await asyncio.sleep(0.005)
    async with Runtime(address, [agent], resources=resources) as rt:
        outcome = await (await rt.get("r1")).wait(LIMIT)
    assert outcome.status == "stopped"
    assert ledger.lines().count("asked 0") == 2


async def test_one_run_that_kills_its_workers_bothers_one_person_once_and_none_of_its_neighbours(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    async with Runtime(address) as desk:
        resources = {"ledger": ledger}
        async with Runtime(address, resources=resources, work=False) as starter:
            for n in range(INNOCENT):
                await starter.start(thinks(ledger), "go", run_id=f"good-{n}")
            await starter.start(killer(ledger), "go", run_id="bad")
        for _ in range(3):
            assert await (await begin("killer", "thinks")).ended() == 139
        last = await begin("killer", "thinks")
        with pytest.raises(RunFailed):
            await (await desk.get("bad")).wait(LIMIT)
        [item] = await desk.inbox()
        assert (item.run_id, item.kind) == ("bad", "error")
        assert "3 workers in a row died while kill ran" in str(item.payload)
        ledger.open("model")
        for n in range(INNOCENT):
            await completed(await desk.get(f"good-{n}"))
        ledger.open("mended")
        await desk.answer(item.id, {"choice": "retry"}, by="ana")
        assert (await completed(await desk.get("bad"))).output == "survived"
        await last.end()
    assert len({line.split()[2] for line in ledger.lines() if line.startswith("kill ")}) == 4


async def test_a_suspect_is_tried_alone(begin: Begin, address: str, ledger: Ledger) -> None:
    """After the second death no neighbour is claimed while the suspect is at work: what dies with it is nobody's."""
    async with Runtime(address, resources={"ledger": ledger}, work=False) as desk:
        await desk.start(killer(ledger), "go", run_id="bad")
        for _ in range(2):
            assert await (await begin("killer")).ended() == 139
        for n in range(INNOCENT):
            await desk.start(thinks(ledger), "go", run_id=f"good-{n}")
        ledger.open("model")
        again = await begin("killer", "thinks")
        assert await again.ended() == 139
        rows = [await desk.store.get(f"good-{n}") for n in range(INNOCENT)]
        assert not [row.id for row in rows if row.worker], (
            "a neighbour was at work beside the suspect, and died with it"
        )
        assert len([line for line in ledger.lines() if line.startswith("kill bad")]) == 3


async def test_the_number_of_deaths_is_a_setting(begin: Begin, address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}, work=False) as desk:
        await desk.start(killer(ledger), "go", run_id="bad")
        assert await (await begin("killer", max_deaths=1)).ended() == 139
        await begin("killer", max_deaths=1)
        with pytest.raises(RunFailed, match="1 worker died while kill ran"):
            await (await desk.get("bad")).wait(LIMIT)
