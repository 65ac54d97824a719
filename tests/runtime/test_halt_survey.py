"""What a halt would hold: counted over the open runs, their calls in flight and their questions."""

import pytest
from tests.runtime.world import LIMIT, Ledger, completed, paused, refunds, slowly

from adjourn import Runtime
from adjourn.core.state import State
from adjourn.runtime import halt_survey
from adjourn.runtime.halt_survey import HaltSurvey


async def test_a_call_in_flight_is_named_and_counts_as_held(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(slowly(ledger), "go")
        await ledger.until("began 1.0")
        found = (await HaltSurvey(rt).look()).of("agent:slowly")
        assert (found.holds, found.finishing, found.waiting) == (1, 1, 0)
        assert [(call.run_id, call.tool) for call in found.in_flight] == [(run.id, "slow")]
        ledger.open("tool")
        await completed(run)
        assert (await HaltSurvey(rt).look()).of("agent:slowly").holds == 0


async def test_what_was_read_is_read_again_only_when_it_has_moved(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        await paused(run)
        read: list[str] = []

        async def state_of(id: str) -> State:
            read.append(id)
            return State().fold_all(await rt.store.load(id))

        survey = HaltSurvey(rt, state_of)
        for _ in range(2):
            assert (await survey.look()).of("tool:refund").waiting == 1
        assert read == [run.id]
        await run.cancel(by="ann")
        await run.wait(LIMIT)
        assert (await survey.look()).of("tool:refund").holds == 0


async def test_beyond_what_is_read_runs_are_counted_by_their_agent_and_it_is_said(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halt_survey, "JOURNALS", 1)
    monkeypatch.setattr(halt_survey, "PAGE", 2)
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        for _ in range(5):
            await paused(await rt.start(refunds(ledger), "go"))
        found = await HaltSurvey(rt).look()
    assert not found.complete
    assert (found.of("*").holds, found.of("agent:refunds").holds, found.of("tool:refund").holds) == (5, 5, 1)
