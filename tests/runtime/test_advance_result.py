"""`advance`: one run, taken, driven until it rests or its time is over, and handed back. Nothing is done twice."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.runtime.world import LIMIT, GatedModel, Ledger, changed, naps, note, notes, refunds, slowly, thinks

from adjourn import Agent, Busy, InvalidDefinition, Rested, Runtime, StoreError, Unfit, UnknownRun, tool
from adjourn.core.records import AnyRecord, Broke, Claimed, Doubted, Intended, Released, Replied, Returned, RunCompleted
from adjourn.runtime.advancer import CANCELLED, OVER
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.scripted import ScriptedModel, call

CALLS = 30


@pytest.fixture(params=["memory", "sqlite"])
async def stores(request: pytest.FixtureRequest, db: str) -> AsyncIterator[tuple[Store, Store]]:
    """The same runs for two workers: one store in memory, or a file that is open twice."""
    if request.param == "memory":
        both = MemoryStore()
        yield both, both
        await both.close()
        return
    one, two = SQLiteStore(db), SQLiteStore(db)
    yield one, two
    await one.close()
    await two.close()


def many(ledger: Ledger) -> Agent:
    @tool(effect="unsafe")
    async def count(n: int) -> int:
        """Count."""
        ledger.write("count", n)
        await asyncio.sleep(0.002)
        return n

    return Agent("many", model=ScriptedModel(*([call("count", n=n)] for n in range(CALLS)), "counted"), tools=[count])


async def records(store: Store, run: str, *kinds: type[AnyRecord]) -> list[Any]:
    return [record for _, record in await store.load(run) if isinstance(record, kinds)]


async def test_two_that_alternate_do_every_call_once(stores: tuple[Store, Store], ledger: Ledger) -> None:
    async with Runtime(stores[0], work=False) as one, Runtime(stores[1], [many(ledger)], work=False) as two:
        run = await one.start(many(ledger), "go", run_id="r")
        turns, done = 0, None
        while not isinstance(done, Rested) or done.more:
            done = await (one, two)[turns % 2].advance(run if turns % 3 else "r", at_most=0.01)
            assert isinstance(done, Rested), done
            turns += 1
        assert (done.status, done.more) == ("completed", False)
        assert turns > 2
        assert Counter(x.call for x in await records(stores[0], "r", Intended)).most_common(1)[0][1] == 1
        assert len(await records(stores[0], "r", Intended)) == len(await records(stores[0], "r", Returned)) == CALLS
        assert await records(stores[0], "r", Doubted) == []
        assert {x.why for x in await records(stores[0], "r", Released)} == {OVER}
        assert not any(x.lost for x in await records(stores[0], "r", Claimed))
    assert ledger.lines() == [f"count {n}" for n in range(CALLS)]


async def test_of_two_at_the_same_time_one_has_the_run(stores: tuple[Store, Store], ledger: Ledger) -> None:
    async with (
        Runtime(stores[0], [many(ledger)], work=False) as one,
        Runtime(stores[1], [many(ledger)], work=False) as two,
    ):
        await one.start(many(ledger), "go", run_id="r")
        found = await asyncio.gather(one.advance("r"), two.advance("r"), one.advance("r"))
        [rested] = [x for x in found if isinstance(x, Rested)]
        busy = [x for x in found if isinstance(x, Busy)]
        assert len(busy) == 2
        assert {x.worker for x in busy} <= {one.worker.id, two.worker.id}
        assert rested.status == "completed"
    assert ledger.lines() == [f"count {n}" for n in range(CALLS)]


async def test_when_its_time_is_over_a_model_call_in_flight_ends_and_nothing_new_begins(
    address: str, ledger: Ledger
) -> None:
    async with Runtime(address, [thinks(ledger)], resources={"ledger": ledger}, work=False) as rt:
        await rt.start(thinks(ledger), "go", run_id="r")
        advancing = asyncio.create_task(rt.advance("r", at_most=0.001))
        await ledger.until("asked 0")
        await asyncio.sleep(0.01)
        assert not advancing.done()
        ledger.open("model")
        done = await asyncio.wait_for(advancing, LIMIT)
        assert isinstance(done, Rested)
        assert (done.status, done.more) == ("ready", True)
        assert len(await records(rt.store, "r", Replied)) == 1
        assert await records(rt.store, "r", Broke, Intended) == []
        assert [x.why for x in await records(rt.store, "r", Released)] == [OVER]
        assert (await rt.store.get("r")).worker == ""
    assert ledger.lines() == ["asked 0"]


async def test_a_run_whose_last_reply_comes_when_its_time_is_over_ends_at_once(address: str, ledger: Ledger) -> None:
    agent = Agent("last", model=GatedModel(ledger, "the end"))
    async with Runtime(address, [agent], work=False) as rt:
        await rt.start(agent, "go", run_id="r")
        advancing = asyncio.create_task(rt.advance("r", at_most=0.001))
        await ledger.until("asked 0")
        await asyncio.sleep(0.01)
        ledger.open("model")
        done = await asyncio.wait_for(advancing, LIMIT)
        assert isinstance(done, Rested)
        assert (done.status, done.more) == ("completed", False)
        assert await records(rt.store, "r", Released) == []
        assert len(await records(rt.store, "r", RunCompleted)) == 1
        assert await rt.advance("r") == Rested(status="completed", seq=done.seq)


async def test_a_rest_says_when_the_run_goes_on_and_what_it_waits_for(address: str, ledger: Ledger) -> None:
    agents = [naps(ledger), notes(ledger)]
    async with Runtime(address, agents, resources={"ledger": ledger}, work=False) as rt:
        await rt.start(agents[0], "go", run_id="nap")
        await rt.start(agents[1], "go", run_id="held")
        await rt.halt("agent:notes", by="ann", reason="a look first")
        nap = await rt.advance("nap", at_most=LIMIT)
        assert isinstance(nap, Rested)
        assert nap.status == "waiting"
        assert 0 < nap.wake_at <= rt.store.now() + 1
        held = await rt.advance("held")
        assert isinstance(held, Rested)
        assert (held.status, held.blocked, held.more) == ("waiting", ("agent:notes",), False)
        again = await rt.advance("held")
        assert again == held, "there is nothing to do"


async def test_a_run_that_fits_no_program_here_keeps_its_answers(address: str, ledger: Ledger) -> None:
    resources = {"ledger": ledger}
    async with Runtime(address, [refunds(ledger)], resources=resources, work=False) as rt:
        await rt.start(refunds(ledger), "go", run_id="r")
        parked = await rt.advance("r")
        assert isinstance(parked, Rested)
        assert parked.status == "waiting"
        [interrupt] = await rt.inbox()
        await rt.approve(interrupt, by="ann")
        seq = (await rt.store.get("r")).seq
        async with Runtime(address, [changed(ledger)], resources=resources, work=False) as other:
            found = await other.advance("r")
            assert isinstance(found, Unfit)
            assert any("refund" in change for change in found.changes)
        async with Runtime(address, [notes(ledger)], work=False) as other:
            missing = await other.advance("r")
            assert isinstance(missing, Unfit)
            assert "refunds" in missing.why
            assert missing.changes == ()
        async with Runtime(address, [refunds(ledger)], work=False) as other:
            poor = await other.advance("r")
            assert isinstance(poor, Unfit)
            assert "ledger" in poor.why
        assert (await rt.store.get("r")).seq == seq
        done = await rt.advance("r")
        assert isinstance(done, Rested)
        assert done.status == "completed"
    assert ledger.lines() == ["refund r A1 500"]


async def test_who_is_cancelled_hands_the_run_back(stores: tuple[Store, Store], ledger: Ledger) -> None:
    resources = {"ledger": ledger}
    agent = thinks(ledger)
    async with (
        Runtime(stores[0], [agent], resources=resources, work=False) as one,
        Runtime(stores[1], [thinks(ledger)], resources=resources, work=False) as two,
    ):
        await one.start(agent, "go", run_id="r")
        advancing = asyncio.create_task(one.advance("r"))
        await ledger.until("asked 0")
        advancing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await advancing
        assert (await stores[1].get("r")).worker == ""
        assert [x.why for x in await records(stores[1], "r", Released)] == [CANCELLED]
        ledger.open("model")
        done = await two.advance("r")
        assert isinstance(done, Rested)
        assert done.status == "completed"
        assert not any(x.lost for x in await records(stores[1], "r", Claimed))


async def test_who_is_cancelled_keeps_the_run_until_its_thread_has_ended(
    stores: tuple[Store, Store], ledger: Ledger
) -> None:
    gate, begun = threading.Event(), threading.Event()

    @tool(effect="unsafe")
    def stubborn() -> str:
        """Does not end before the gate is open."""
        ledger.write("began")
        begun.set()
        gate.wait(LIMIT)
        return "ended"

    agent = Agent("stubborn", model=ScriptedModel([call("stubborn")], "done"), tools=[stubborn])
    async with Runtime(stores[0], [agent], work=False) as one, Runtime(stores[1], [agent], work=False) as two:
        await one.start(agent, "go", run_id="r")
        advancing = asyncio.create_task(one.advance("r"))
        await asyncio.to_thread(begun.wait, LIMIT)
        advancing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await advancing
        found = await two.advance("r")
        assert isinstance(found, Busy)
        assert found.worker == one.worker.id
        gate.set()
        async with asyncio.timeout(LIMIT):
            while isinstance(done := await two.advance("r"), Busy):
                await asyncio.sleep(0.01)
        assert isinstance(done, Rested)
        assert done.status == "completed", "its result was recorded when it came"
    assert ledger.lines() == ["began"]


async def test_who_is_cancelled_while_it_takes_a_run_does_not_keep_it(
    stores: tuple[Store, Store], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, acquire = asyncio.Event(), stores[0].acquire

    async def slow_acquire(*args: Any, **options: Any) -> Any:
        lease = await acquire(*args, **options)
        if not given.is_set():
            given.set()
            await asyncio.Event().wait()
        return lease

    async with (
        Runtime(stores[0], [many(ledger)], work=False) as one,
        Runtime(stores[1], [many(ledger)], work=False) as two,
    ):
        await one.start(many(ledger), "go", run_id="r")
        monkeypatch.setattr(stores[0], "acquire", slow_acquire)
        advancing = asyncio.create_task(one.advance("r"))
        await given.wait()
        if stores[0] is stores[1]:
            monkeypatch.undo()
        advancing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await advancing
        async with asyncio.timeout(LIMIT):
            while isinstance(done := await two.advance("r"), Busy):
                await asyncio.sleep(0.005)
        assert isinstance(done, Rested)
        assert done.status == "completed"


def once(_: Any, error: Exception, *__: Any, **___: Any) -> Any:
    raise error


async def test_a_driver_that_fails_is_heard_of_and_the_run_is_taken_again(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(address, [notes(ledger)], resources={"ledger": ledger}, work=False) as rt:
        await rt.start(notes(ledger), "go", run_id="r")
        for error in (RuntimeError("a bug"), StoreError("the disk is full")):

            async def failing(*_: Any, error: Exception = error, **__: Any) -> Any:
                raise error

            with monkeypatch.context() as broken:
                broken.setattr(rt.store, "commit", failing)
                broken.setattr("adjourn.driver.commit_retry.Landing._again", once)
                with pytest.raises(type(error), match=str(error)):
                    await rt.advance("r")
        done = await rt.advance("r")
        assert isinstance(done, Rested)
        assert done.status == "completed"
    assert ledger.lines() == ["note a", "note b"]


async def test_what_is_to_be_stopped_needs_no_slot(address: str, ledger: Ledger) -> None:
    agents = [slowly(ledger), notes(ledger)]
    async with Runtime(address, agents, resources={"ledger": ledger}, concurrency=1, work=False) as rt:
        for id, agent in (("slow", agents[0]), ("waits", agents[1]), ("stops", agents[1])):
            await rt.start(agent, "go", run_id=id)
        slow = asyncio.create_task(rt.advance("slow"))
        await ledger.until("began 1.0")
        waits = asyncio.create_task(rt.advance("waits"))
        await (await rt.get("stops")).cancel(by="ann")
        stopped = await asyncio.wait_for(rt.advance("stops"), LIMIT)
        assert isinstance(stopped, Rested)
        assert stopped.status == "cancelled"
        await (await rt.get("waits")).pause(by="ann")
        paused = await asyncio.wait_for(waits, LIMIT)
        assert isinstance(paused, Rested)
        assert paused.status == "paused"
        assert not slow.done()
        ledger.open("tool")
        assert isinstance(await slow, Rested)


async def test_a_run_that_the_worker_has_is_busy_here_too(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        await rt.start(slowly(ledger), "go", run_id="r")
        await ledger.until("began 1.0")
        found = await rt.advance("r")
        assert isinstance(found, Busy)
        assert found.worker == rt.worker.id
        assert found.until > rt.store.now()
        ledger.open("tool")
        await (await rt.get("r")).wait(LIMIT)


async def test_whoever_advances_a_run_is_told_that_it_is_at_work(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}, work=False, lease=0.1) as rt:
        await rt.start(slowly(ledger), "go", run_id="r")
        beats = 0
        enough = asyncio.Event()

        def beat() -> None:
            nonlocal beats
            beats += 1
            if beats == 4:
                enough.set()

        advancing = asyncio.create_task(rt.advance("r", beat=beat))
        await asyncio.wait_for(enough.wait(), LIMIT)
        ledger.open("tool")
        await advancing
        after = beats
        await asyncio.sleep(0.1)
        assert beats == after


async def test_a_beat_that_fails_ends_it_and_the_run_is_handed_back(address: str, ledger: Ledger) -> None:
    agent = Agent("thinks", model=GatedModel(ledger, [call("note", text="a")], "thought"), tools=[note])
    async with Runtime(address, [agent], resources={"ledger": ledger}, work=False) as rt:
        await rt.start(agent, "go", run_id="r")

        def gone() -> None:
            raise ConnectionError("nobody listens")

        with pytest.raises(ConnectionError, match="nobody listens"):
            await rt.advance("r", beat=gone)
        assert (await rt.store.get("r")).worker == ""
        ledger.open("model")
        done = await rt.advance("r")
        assert isinstance(done, Rested)
        assert done.status == "completed"


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "soon", True])
async def test_a_time_that_is_none_is_refused(address: str, ledger: Ledger, wrong: Any) -> None:
    async with Runtime(address, [notes(ledger)], resources={"ledger": ledger}, work=False) as rt:
        await rt.start(notes(ledger), "go", run_id="r")
        with pytest.raises(InvalidDefinition, match="at_most"):
            await rt.advance("r", at_most=wrong)
        with pytest.raises(UnknownRun):
            await rt.advance("s")
        assert await (await rt.get("r")).status() == "ready"
