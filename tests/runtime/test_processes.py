"""Several real processes on one database: any of them decides, one with the program goes on, the dead are replaced."""

import asyncio
import time

from tests.again import in_time
from tests.runtime.conftest import Begin, on_both
from tests.runtime.world import LIMIT, Ledger, completed, notes, paused, refunds, slowly, slowly_again

from adjourn import Runtime
from adjourn.core.records import Claimed, Intended, Returned, Started
from adjourn.stores.address import open_store

pytestmark = on_both


async def test_a_process_without_programs_decides_and_the_run_goes_on_where_its_program_is(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go", run_id="r1")
        outcome = await paused(run)
        desk = await begin()
        assert await desk.do("inbox") == [outcome.interrupts[0].id] == ["r1:1.0?0"]
        await desk.do("approve", interrupt="r1:1.0?0", by="ann")
        outcome = await completed(run)
        assert outcome.output == "refunded"
        assert (await desk.do("wait", run="r1"))["output"] == "refunded"
    assert ledger.lines() == ["refund r1 A1 500"]


async def test_three_processes_one_starts_one_decides_one_goes_on(begin: Begin, ledger: Ledger) -> None:
    first = await begin("refunds")
    await first.do("start", agent="refunds", run="r1")
    [interrupt] = (await first.do("wait", run="r1"))["interrupts"]
    await first.end()
    second = await begin()
    assert await second.do("edit", interrupt=interrupt, edit={"order": "A1", "cents": 7}, by="ann")
    assert await second.do("status", run="r1") == "ready"
    third = await begin("refunds")
    assert (await third.do("wait", run="r1"))["status"] == "completed"
    assert ledger.lines() == ["refund r1 A1 7"]


async def test_an_answer_in_one_process_is_read_by_the_model_in_another(begin: Begin, ledger: Ledger) -> None:
    worker, desk = await asyncio.gather(begin("operator"), begin())
    await worker.do("start", agent="operator", run="r1")
    [interrupt] = (await worker.do("wait", run="r1"))["interrupts"]
    await desk.do("answer", interrupt=interrupt, value={"approved": True}, by="ann")
    assert (await desk.do("wait", run="r1"))["output"] == "they said {'approved': True}"


async def test_a_run_created_by_another_process_is_picked_up_within_a_second(address: str, begin: Begin) -> None:
    """The second of three: one may meet a busy moment of the machine, a sweep that is too slow is slow each time."""
    await begin("notes")
    store, fingerprint = open_store(address), notes(Ledger("")).fingerprint
    delays: list[float] = []
    try:
        for run in ("r1", "r2", "r3"):
            await store.create(Started(run=run, kind="agent", program="notes", fingerprint=fingerprint, input="go"))
            created = time.monotonic()
            async with asyncio.timeout(LIMIT):
                while (await store.get(run)).epoch == 0:
                    await asyncio.sleep(0.01)
            delays.append(time.monotonic() - created)
        assert sorted(delays)[1] < 1.5, delays
    finally:
        await store.close()


async def test_a_killed_process_is_replaced_at_once_and_its_unsafe_call_is_in_doubt(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    lost = await begin("slowly", lease=60.0)
    await lost.do("start", agent="slowly", run="r1")
    await ledger.until("began 1.0")
    await lost.kill()
    killed = time.monotonic()
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.get("r1")
        outcome = await paused(run)
        in_time(time.monotonic() - killed, 10)  # not the lease of 60 s
        [interrupt] = outcome.interrupts
        assert interrupt.kind == "in_doubt"
        await rt.answer(interrupt.id, {"choice": "happened", "result": "I looked"}, by="ann")
        outcome = await completed(run)
    assert ledger.lines() == ["began 1.0"]


async def test_a_killed_process_is_replaced_and_its_idempotent_call_runs_again_with_the_same_key(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    lost = await begin("slowly_again", lease=60.0)
    await lost.do("start", agent="slowly_again", run="r1")
    await ledger.until("began 1.0")
    async with Runtime(address, [slowly_again(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.get("r1")
        ledger.open("tool")
        await lost.kill()
        await completed(run)
        records = [record for _, record in await rt.store.load("r1")]
    assert ledger.lines().count("began 1.0") >= 1
    intents = [x for x in records if isinstance(x, Intended)]
    assert [x.attempt for x in intents] == list(range(1, len(intents) + 1))
    assert len({x.digest for x in intents}) == 1
    assert len([x for x in records if isinstance(x, Returned)]) == 1


async def test_a_live_worker_is_left_alone(begin: Begin, address: str, ledger: Ledger) -> None:
    worker = await begin("slowly", lease=0.2)
    await worker.do("start", agent="slowly", run="r1")
    await ledger.until("began 1.0")
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.get("r1")
        first = (await rt.store.get("r1")).lease_until
        async with asyncio.timeout(LIMIT):
            while (await rt.store.get("r1")).lease_until < first + 1.0:  # five leases later it is still renewed
                rt.worker.wake("r1")
                await asyncio.sleep(0.02)
        assert await run.status() == "running"
        ledger.open("tool")
        await completed(run)
        records = [record for _, record in await rt.store.load("r1")]
    assert len([x for x in records if isinstance(x, Claimed)]) == 1
    assert ledger.lines() == ["began 1.0", "ended 1.0"]


async def test_a_message_from_another_process_is_heard_by_the_run(begin: Begin, address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(slowly(ledger), "go", run_id="r1")
        await ledger.until("began 1.0")
        other = await begin()
        await other.do("say", run="r1", text="and Norway")
        ledger.open("tool")
        await run.wait(LIMIT)
        texts = [getattr(m, "text", "") for m in await run.messages()]
    assert texts.count("and Norway") == 1


async def test_runs_started_in_two_processes_do_not_disturb_each_other(begin: Begin, ledger: Ledger) -> None:
    one, two = await asyncio.gather(begin("notes"), begin("notes"))
    for n in range(10):
        one.tell("start", agent="notes", run=f"one-{n}")
        two.tell("start", agent="notes", run=f"two-{n}")
    for _ in range(10):
        await one.hear()
        await two.hear()
    for n in range(10):
        assert (await two.do("wait", run=f"one-{n}"))["output"] == "all noted"
        assert (await one.do("wait", run=f"two-{n}"))["output"] == "all noted"
    assert sorted(ledger.lines()) == ["note a"] * 20 + ["note b"] * 20


async def test_the_same_run_started_in_two_processes_is_one_run(begin: Begin, ledger: Ledger) -> None:
    one, two = await asyncio.gather(begin("notes"), begin("notes"))
    one.tell("start", agent="notes", run="r1")
    two.tell("start", agent="notes", run="r1")
    assert [await one.hear(), await two.hear()] == ["r1", "r1"]
    assert (await one.do("wait", run="r1"))["output"] == "all noted"
    assert ledger.lines() == ["note a", "note b"]
    assert (await two.do("start", agent="notes", run="r1", input="other"))["error"] == "RunExists"


async def test_a_second_runtime_in_the_same_process_goes_on_as_well(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [notes(ledger)], resources={"ledger": ledger}) as one, Runtime(address) as two:
        run = await two.get((await one.start(notes(ledger), "go")).id)
        await completed(run)


async def test_a_runtime_that_does_not_work_starts_runs_and_another_advances_them(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}, work=False) as desk:
        run = await desk.start(refunds(ledger), "go", run_id="r1")
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert await run.status() == "ready" and not desk.worker.drives("r1")
        async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}):
            await paused(run)
        await desk.approve("r1:1.0?0", by="ann")
        async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}):
            await completed(run)
    assert ledger.lines() == ["refund r1 A1 500"]
