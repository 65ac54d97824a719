"""What a process knows of a run that it has just let go of is not read again, and says what the store says."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.runtime.world import LIMIT, Ledger, notes, operator, refunds, slowly

from adjourn import Agent, AlreadyDecided, Completed, Paused, Runtime, UnknownInterrupt, is_paused
from adjourn.core.messages import ModelRequest, Reply
from adjourn.core.state import State
from adjourn.driver.loop import Drive
from adjourn.stores.protocol import Filter


async def seen_by_both(rt: Runtime, desk: Runtime, id: str) -> list[Any]:
    """The outcome of a run as the process says it that drives it, and as one says it that only reads."""
    return [await (await which.get(id)).wait(LIMIT) for which in (rt, desk)]


@pytest.mark.parametrize("make", [refunds, operator])
async def test_an_outcome_is_the_same_whether_its_run_was_folded_here_or_is_read(
    address: str, ledger: Ledger, make: Any
) -> None:
    async with (
        Runtime(address, [make(ledger)], resources={"ledger": ledger}) as rt,
        Runtime(address, work=False) as desk,
    ):
        for id in ("one", "two"):
            run = await rt.start(make(ledger), "go", run_id=id, by="ann")
            assert is_paused(await run.wait(LIMIT))
            here, there = await seen_by_both(rt, desk, id)
            assert is_paused(here) and here.interrupts
            assert here.interrupts == there.interrupts
            assert (here.status, here.usage) == (there.status, there.usage)
            assert here.checkpoint.to_json() == there.checkpoint.to_json()
            await rt.answer(here.interrupts[0].ref, here.interrupts[0].kind == "approval" or {"ok": 1}, by="bea")
            assert isinstance(await run.wait(LIMIT), Completed)
            here, there = await seen_by_both(rt, desk, id)
            assert (here.status, here.usage, here.output) == (there.status, there.usage, there.output)
            assert here.checkpoint.to_json() == there.checkpoint.to_json()


@pytest.mark.unwatched
async def test_whoever_waits_for_a_run_of_this_process_folds_nothing(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        folded: list[str] = []
        fold = State.fold

        def counting(state: State, seq: int, record: Any, **more: Any) -> None:
            folded.append(type(record).__name__)
            fold(state, seq, record, **more)

        monkeypatch.setattr(State, "fold", counting)
        run = await rt.start(refunds(ledger), "go", run_id="r")
        waiting = await asyncio.gather(run.wait(LIMIT), run.wait(LIMIT))
        assert isinstance(waiting[0], Paused)
        assert folded == ["Started", "Claimed", "Replied", "Asked", "Parked"], "each once, by the worker"
        folded.clear()
        await rt.approve(waiting[0].interrupts[0], by="ann")
        assert isinstance((await asyncio.gather(run.wait(LIMIT), run.wait(LIMIT)))[1], Completed)
        assert folded == ["Decided", "Claimed", "Intended", "Returned", "Replied", "RunCompleted"]


async def test_what_a_caller_does_to_an_outcome_does_not_reach_the_run(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go", run_id="r")
        for outcome in await asyncio.gather(run.wait(LIMIT), run.wait(LIMIT)):
            assert is_paused(outcome)
            [interrupt] = outcome.interrupts
            assert interrupt.call is not None
            assert interrupt.call.arguments == {"order": "A1", "cents": 500}
            interrupt.call.arguments["cents"] = 5_000_000
        await rt.approve("r:1.0?0", by="ann")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert ledger.lines() == ["refund r A1 500"]


async def test_an_answer_to_what_was_asked_here_reads_nothing_and_elsewhere_what_is_needed(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt,
        Runtime(address, work=False) as desk,
    ):
        asked: list[Filter] = []
        for runtime in (rt, desk):
            inbox = runtime.store.inbox

            async def counting(filter: Filter, inbox: Any = inbox) -> Any:
                asked.append(filter)
                return await inbox(filter)

            monkeypatch.setattr(runtime.store, "inbox", counting)
        runs = [await rt.start(refunds(ledger), "go", run_id=id) for id in ("one", "two")]
        for run in runs:
            assert is_paused(await run.wait(LIMIT))
        await rt.approve("one:1.0?0", by="ann")
        assert not asked
        await desk.approve("two:1.0?0", by="ann")
        assert len(asked) == 1
        for run in runs:
            assert isinstance(await run.wait(LIMIT), Completed)
        with pytest.raises(UnknownInterrupt):
            await rt.approve("one:1.0?7", by="ann")


async def test_what_somebody_else_has_decided_is_not_decided_again_by_whoever_still_knows_it_as_open(
    address: str, ledger: Ledger
) -> None:
    async with (
        Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt,
        Runtime(address, work=False) as desk,
    ):
        run = await rt.start(refunds(ledger), "go", run_id="r")
        outcome = await run.wait(LIMIT)
        assert is_paused(outcome)
        kept = rt.worker.advancer.hot.take("r")
        assert kept is not None
        await desk.deny("r:1.0?0", by="bea")
        assert isinstance(await run.wait(LIMIT), Completed)
        rt.worker.advancer.hot.keep("r", kept)  # as if it had not heard of it
        with pytest.raises(AlreadyDecided, match="bea"):
            await rt.approve(outcome.interrupts[0], by="ann")
    assert ledger.lines() == []


def at_work() -> list[str]:
    """The runs that have a task."""
    names = (task.get_name() for task in asyncio.all_tasks())
    return sorted(name.partition(":")[2] for name in names if name.startswith("adjourn-run:"))


@pytest.mark.parametrize("slots", [1, 2])
async def test_a_run_that_waits_for_a_slot_is_a_place_in_a_queue_and_no_task(
    address: str, ledger: Ledger, slots: int
) -> None:
    agents: list[Agent[Any]] = [slowly(ledger), notes(ledger)]
    async with Runtime(address, agents, resources={"ledger": ledger}, concurrency=slots) as rt:
        for n in range(slots):
            await rt.start(agents[0], "go", run_id=f"slow{n}")
        await ledger.until("began 1.0")
        behind = [await rt.start(agents[1], "go", run_id=f"behind{n}") for n in range(3)]
        for run in behind:
            rt.worker.wake(run.id)
        assert at_work() == [f"slow{n}" for n in range(slots)]
        await behind[1].cancel(by="ann")
        assert (await behind[1].wait(LIMIT)).status == "cancelled", "to stop something takes no slot"
        assert at_work() == [f"slow{n}" for n in range(slots)]
        ledger.open("tool")
        for run in (behind[0], behind[2]):
            assert isinstance(await run.wait(LIMIT), Completed)


async def test_what_waits_for_a_slot_when_its_process_leaves_is_not_begun_there(address: str, ledger: Ledger) -> None:
    agents: list[Agent[Any]] = [slowly(ledger), notes(ledger)]
    async with Runtime(address, agents, resources={"ledger": ledger}, concurrency=1) as rt:
        await rt.start(agents[0], "go", run_id="slow")
        await ledger.until("began 1.0")
        for n in range(3):
            await rt.start(agents[1], "go", run_id=f"behind{n}")
        ledger.open("tool")
    assert at_work() == []
    async with Runtime(address, work=False) as desk:
        assert [await (await desk.get(f"behind{n}")).status() for n in range(3)] == ["ready"] * 3
    async with Runtime(address, agents, resources={"ledger": ledger}) as rt:
        for id in ("slow", "behind0", "behind1", "behind2"):
            assert isinstance(await (await rt.get(id)).wait(LIMIT), Completed)


class Silent:
    """A model that never answers, and says when its call is cut."""

    name = "silent"

    def __init__(self, said: list[str]) -> None:
        self._said = said
        self.asked = asyncio.Event()

    async def request(self, request: ModelRequest) -> AsyncIterator[Reply]:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._said.append("cut")
        yield Reply()


@pytest.mark.parametrize("place", ["memory", "sqlite"])
async def test_a_cancel_cuts_a_model_call_before_the_driver_thinks_about_it(
    address: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    planned = Drive._plan

    def planning(drive: Drive, own: Any) -> Any:
        said.append("planned")
        return planned(drive, own)

    monkeypatch.setattr(Drive, "_plan", planning)
    model = Silent(said)
    agent = Agent("silent", model=model)
    async with Runtime("memory://" if place == "memory" else address, [agent]) as rt:
        for id in ("one", "two"):
            model.asked.clear()
            run = await rt.start(agent, "go", run_id=id)
            await model.asked.wait()
            await asyncio.sleep(0)
            said.clear()
            await run.cancel(by="ann")
            assert (await run.wait(LIMIT)).status == "cancelled"
            assert said[:2] == ["cut", "planned"]
