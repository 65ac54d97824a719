"""The kill switch: no new intent and no new model call while it is on; denying is still possible."""

import asyncio

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, completed, notes, paused, refunds, slowly, thinks

from adjourn import Cancelled, Halted, Invalid, InvalidDefinition, Runtime
from adjourn.core.records import Broke, Intended, Parked


async def parked(rt: Runtime, run: str) -> None:
    async with asyncio.timeout(LIMIT):
        while (await rt.store.get(run)).status != "waiting":
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("scope", ["*", "agent:notes", "tool:note"])
async def test_g15_nothing_starts_while_halted_and_the_run_goes_on_afterwards(
    address: str, ledger: Ledger, scope: str
) -> None:
    agent = notes(ledger)
    async with Runtime(address, [agent], resources={"ledger": ledger}) as rt:
        await rt.halt(scope, reason="incident", by="ann")
        run = await rt.start(agent, "go")
        await parked(rt, run.id)
        assert len(agent.model.requests) == (1 if scope == "tool:note" else 0)  # type: ignore[attr-defined]
        assert [h.scope for h in await rt.halts()] == [scope]
        assert ledger.lines() == []
        await rt.unhalt(scope, by="ann")
        await completed(run)
        records = [record for _, record in await rt.store.load(run.id)]
    assert [x.blocked for x in records if isinstance(x, Parked)] == [(scope,)]
    assert ledger.lines() == ["note a", "note b"]


async def test_a_halt_cuts_the_model_call_in_flight(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [thinks(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(thinks(ledger), "go")
        await ledger.until("asked 0")
        await rt.halt("*", reason="incident", by="ann")
        await parked(rt, run.id)
        assert [x for _, x in await rt.store.load(run.id) if isinstance(x, Broke)]
        ledger.open("model")
        await rt.unhalt("*", by="ann")
        await run.wait(LIMIT)


async def test_g15_a_halt_from_another_process_reaches_a_run_at_work_and_lifting_it_too(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    other = await begin()
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(slowly(ledger), "go")
        await ledger.until("began 1.0")
        assert await other.do("halt", scope="agent:slowly") == 1
        ledger.open("tool")  # what is in flight finishes and is recorded
        await parked(rt, run.id)
        assert ledger.lines() == ["began 1.0", "ended 1.0"]
        assert len(await run.messages()) == 3  # its result is there; the model was not asked again
        assert await other.do("unhalt", scope="agent:slowly") == 0
        await completed(run)


async def test_an_approval_is_refused_while_halted_and_a_denial_is_not(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        for scope in ("*", "agent:refunds", "tool:refund"):
            run = await rt.start(refunds(ledger), "go", run_id=f"run-{len(scope)}")
            outcome = await paused(run)
            [interrupt] = outcome.interrupts
            await rt.halt(scope, reason="incident 7", by="ann")
            with pytest.raises(Halted, match="incident 7"):
                await rt.approve(interrupt.id, by="bob")
            await rt.deny(interrupt.id, by="bob")
            await rt.unhalt(scope, by="ann")
            await completed(run)
    assert ledger.lines() == []


async def test_an_approval_given_before_the_halt_waits_for_its_end(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go", run_id="r1")
        outcome = await paused(run)
    async with Runtime(address) as desk:
        await desk.approve(outcome.interrupts[0].id, by="ann")
        await desk.halt("tool:refund", reason="incident", by="ann")
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        await parked(rt, "r1")
        assert ledger.lines() == []
        assert not [x for _, x in await rt.store.load("r1") if isinstance(x, Intended)]
        await rt.unhalt("tool:refund", by="ann")
        await completed(await rt.get("r1"))
    assert ledger.lines() == ["refund r1 A1 500"]


async def test_a_halted_run_can_be_cancelled(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [notes(ledger)], resources={"ledger": ledger}) as rt:
        await rt.halt("*", reason="incident", by="ann")
        run = await rt.start(notes(ledger), "go")
        await parked(rt, run.id)
        await run.cancel(by="ann")
        assert isinstance(await run.wait(LIMIT), Cancelled)


async def test_a_halt_needs_a_reason_a_name_and_a_scope(address: str) -> None:
    async with Runtime(address) as rt:
        for scope in ("", "tool:", "refund", "run:1"):
            with pytest.raises((Invalid, InvalidDefinition)):
                await rt.halt(scope, reason="x", by="ann")
        with pytest.raises(Invalid):
            await rt.halt("*", reason="", by="ann")
        with pytest.raises(Invalid):
            await rt.halt("*", reason="x", by="")
        assert list(await rt.halts()) == []
