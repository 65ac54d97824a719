"""A run that cannot be advanced here says so, keeps its answers, and goes on where it can be."""

from typing import Any

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, changed, completed, paused, refunds

from adjourn import Agent, Completed, MissingResource, ProgramChanged, Run, Runtime, tool
from adjourn.core.records import Claimed, Released, Started
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.scripted import ScriptedModel


async def answered_elsewhere(address: str, ledger: Ledger) -> None:
    """A run `r1` that was started, and approved after its worker had gone."""
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go", run_id="r1")
        outcome = await paused(run)
    async with Runtime(address) as desk:
        await desk.approve(outcome.interrupts[0].id, by="ann")


async def refused(run: Run, error: type[Exception], match: str) -> None:
    before = await _records(run)
    with pytest.raises(error, match=match):
        await run.wait(LIMIT)
    assert await _records(run) == before  # nothing was consumed


async def _records(run: Run) -> list[Any]:
    """What has happened in it, except that workers took it and gave it back."""
    return [x for x in (await run.checkpoint()).records if not isinstance(x, Claimed | Released)]


async def test_a_changed_program_surfaces_in_wait_before_the_answer_is_consumed(address: str, ledger: Ledger) -> None:
    await answered_elsewhere(address, ledger)
    async with Runtime(address, [changed(ledger)], resources={"ledger": ledger}) as rt:
        await refused(await rt.get("r1"), ProgramChanged, "refund")
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        await completed(await rt.get("r1"))
    assert ledger.lines() == ["refund r1 A1 500"]


async def test_a_missing_resource_surfaces_in_wait_before_the_answer_is_consumed(address: str, ledger: Ledger) -> None:
    await answered_elsewhere(address, ledger)
    async with Runtime(address, [refunds(ledger)]) as rt:
        await refused(await rt.get("r1"), MissingResource, "ledger")
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        await completed(await rt.get("r1"))
    assert ledger.lines() == ["refund r1 A1 500"]


async def test_a_right_runtime_beside_a_wrong_one_goes_on(begin: Begin, address: str, ledger: Ledger) -> None:
    await answered_elsewhere(address, ledger)
    async with Runtime(address, [changed(ledger)], resources={"ledger": ledger}) as wrong:
        await refused(await wrong.get("r1"), ProgramChanged, "refund")
        right = await begin("refunds")
        assert (await right.do("wait", run="r1"))["output"] == "refunded"
        await completed(await wrong.get("r1"))  # and the wrong one sees it end
    assert ledger.lines() == ["refund r1 A1 500"]


async def test_a_new_run_without_its_resources_says_so(address: str, ledger: Ledger) -> None:
    async with Runtime(address) as rt:
        run = await rt.start(refunds(ledger), "go")
        await refused(run, MissingResource, "ledger")


async def test_a_changed_program_is_taken_with_a_warning_if_the_runtime_says_so(
    address: str, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    await answered_elsewhere(address, ledger)
    options = {"resources": {"ledger": ledger}, "on_change": "warn"}
    async with Runtime(address, [changed(ledger)], **options) as rt:  # type: ignore[arg-type]
        outcome = await (await rt.get("r1")).wait(LIMIT)
    assert "refund" in caplog.text
    assert isinstance(outcome, Completed)  # the approval was for another definition: the call was refused, not run
    assert ledger.lines() == []


async def test_g19_a_changed_tool_definition_voids_the_approval(address: str, ledger: Ledger) -> None:
    """The same name and the same arguments, but not what the person saw."""
    await answered_elsewhere(address, ledger)

    @tool(policy="ask", name="refund")
    async def refund_to_anybody(order: str, cents: int, to: str = "whoever asks") -> None:
        """Pay money back."""
        ledger.write("refunded to", to)

    agent = Agent("refunds", model=ScriptedModel("", "refunded"), tools=[refund_to_anybody])
    async with Runtime(address, [agent], on_change="warn") as rt:
        run = await rt.get("r1")
        [interrupt] = (await paused(run)).interrupts  # asked again, about what would run now
        assert interrupt.call is not None
        assert interrupt.call.arguments["to"] == "whoever asks"
        assert ledger.lines() == []


async def test_a_hundred_runs_that_cannot_go_on_do_not_keep_another_from_going_on(db: str, ledger: Ledger) -> None:
    """The sweep sees the oldest runs first; those it must leave alone are in the way."""
    store = SQLiteStore(db)
    fingerprints = {"stuck": changed(ledger).fingerprint, "fine": refunds(ledger).fingerprint}
    for run in [*(f"stuck-{n}" for n in range(120)), "fine"]:
        fingerprint = fingerprints[run.partition("-")[0]]
        await store.create(Started(run=run, kind="agent", program="refunds", fingerprint=fingerprint, input="go"))
    async with Runtime(store, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        await paused(await rt.get("fine"))
    await store.close()
