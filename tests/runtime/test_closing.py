"""Leaving `async with`: tools in flight finish and are recorded, model calls are cut, runs are handed back."""

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.again import in_time
from tests.runtime.conftest import Begin
from tests.runtime.world import Ledger, completed, notes, paused, slowly, thinks

from adjourn import Agent, Runtime, ToolContext, ToolFailed, tool
from adjourn.core.records import AnyRecord, Broke, Claimed, Fact, Move, Returned
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease
from adjourn.testing import ScriptedModel, call


async def test_leaving_waits_for_a_tool_in_flight_and_records_it(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        await rt.start(slowly(ledger), "go", run_id="r1")
        await ledger.until("began 1.0")
        asyncio.get_running_loop().call_later(0.05, ledger.open, "tool")
    async with Runtime(address) as rt:
        records = [record for _, record in await rt.store.load("r1")]
        assert [x.value for x in records if isinstance(x, Returned)] == ["slow result"]
        row = await rt.store.get("r1")
        assert (row.status, row.worker) == ("ready", "")  # handed back
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        await completed(await rt.get("r1"))
    assert ledger.lines() == ["began 1.0", "ended 1.0"]


async def test_leaving_waits_no_longer_than_grace_and_the_call_is_in_doubt(address: str, ledger: Ledger) -> None:
    options = {"resources": {"ledger": ledger}, "lease": 0.2}
    async with Runtime(address, [slowly(ledger)], grace=0.05, **options) as rt:  # type: ignore[arg-type]
        await rt.start(slowly(ledger), "go", run_id="r1")
        await ledger.until("began 1.0")
        left = time.monotonic()
    in_time(time.monotonic() - left, 5)
    async with Runtime(address, [slowly(ledger)], **options) as rt:  # type: ignore[arg-type]
        outcome = await paused(await rt.get("r1"))
        assert [i.kind for i in outcome.interrupts] == ["in_doubt"]
    assert ledger.lines() == ["began 1.0"]


async def test_leaving_cuts_a_model_call_and_the_next_process_finishes(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    async with Runtime(address, [thinks(ledger)], resources={"ledger": ledger}) as rt:
        await rt.start(thinks(ledger), "go", run_id="r1")
        await ledger.until("asked 0")
        left = time.monotonic()
    in_time(time.monotonic() - left, 3)  # the model's gate was never opened
    async with Runtime(address) as rt:
        row = await rt.store.get("r1")
        assert (row.status, row.worker, row.lease_until) == ("ready", "", 0.0)
    ledger.open("model")
    worker = await begin("thinks")
    assert (await worker.do("wait", run="r1"))["output"] == "thought"
    async with Runtime(address) as rt:
        records = [record for _, record in await rt.store.load("r1")]
    assert not [x for x in records if isinstance(x, Broke)]  # nobody paused it: it is simply asked again
    assert len([x for x in records if isinstance(x, Claimed)]) == 2


async def test_a_process_told_to_end_hands_its_run_over(begin: Begin, ledger: Ledger) -> None:
    first, second = await asyncio.gather(begin("thinks"), begin("thinks"))
    await first.do("start", agent="thinks", run="r1")
    await ledger.until("asked 0")
    await first.end()
    ledger.open("model")
    assert (await second.do("wait", run="r1"))["output"] == "thought"
    assert [line for line in ledger.lines() if line.startswith("note")] == ["note a"]


async def test_leaving_starts_nothing_new(address: str, ledger: Ledger) -> None:
    """The tool that runs finishes; the model is not called with its result."""
    agent = slowly(ledger)
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(agent, "go", run_id="r1")
        await ledger.until("began 1.0")
        asyncio.get_running_loop().call_later(0.05, ledger.open, "tool")
    assert len(agent.model.requests) <= 1  # type: ignore[attr-defined]
    async with Runtime(address) as rt:
        assert await (await rt.get(run.id)).status() == "ready"


async def test_leaving_while_a_hundred_runs_are_at_work_loses_nothing(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [notes(ledger)], resources={"ledger": ledger}) as rt:
        await asyncio.gather(*(rt.start(notes(ledger), "go", run_id=f"r{n}") for n in range(100)))
    async with Runtime(address, [notes(ledger)], resources={"ledger": ledger}) as rt:
        for n in range(100):
            await completed(await rt.get(f"r{n}"))
    assert sorted(ledger.lines()) == ["note a"] * 100 + ["note b"] * 100


def stubborn(then: Callable[[], str], began: asyncio.Event) -> Agent:
    """Its unsafe tool holds on when it is cut off, for a moment, and then ends in its own way."""

    @tool(effect="unsafe")
    async def pay() -> str:
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return then()

    return Agent("stubborn", model=ScriptedModel(call("pay"), "ok"), tools=[pay])


async def closed_upon(address: str, agent: Agent, began: asyncio.Event) -> list[AnyRecord]:
    """The records of a run whose worker closed while its tool was at work; whatever asyncio complains of is raised."""
    unheard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context["message"]))
    async with Runtime(address, [agent], grace=0.01) as rt:
        await rt.start(agent, "go", run_id="r1")
        await began.wait()
    gc.collect()
    assert not unheard
    async with Runtime(address) as rt:
        return [record for _, record in await rt.store.load("r1")]


async def test_a_result_that_comes_after_the_cut_is_recorded_and_nobody_is_asked(address: str) -> None:
    agent = stubborn(lambda: "paid", began := asyncio.Event())
    records = await closed_upon(address, agent, began)
    assert [x.value for x in records if isinstance(x, Returned)] == ["paid"]
    async with Runtime(address, [agent]) as rt:
        await completed(await rt.get("r1"))


class Far(MemoryStore):
    """A store that takes its time for a late result."""

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], **more: Any) -> Committed:
        if any(isinstance(fact, Returned) for fact in facts):
            await asyncio.sleep(0.1)
        return await super().commit(lease, facts, moves, **more)


async def test_a_result_that_comes_after_the_cut_is_recorded_before_closing_ends() -> None:
    store, agent = Far(), stubborn(lambda: "paid", began := asyncio.Event())
    async with Runtime(store, [agent], grace=0.01) as rt:
        await rt.start(agent, "go", run_id="r1")
        await began.wait()
    assert [x.value for _, x in store.peek("r1") if isinstance(x, Returned)] == ["paid"]


async def test_an_error_that_the_cut_may_have_caused_is_not_taken_for_a_failure(address: str) -> None:
    def breaks() -> str:
        raise ConnectionError("the connection was closed in the middle")

    agent = stubborn(breaks, began := asyncio.Event())
    assert not [x for x in await closed_upon(address, agent, began) if isinstance(x, Returned)]
    async with Runtime(address, [agent]) as rt:
        outcome = await paused(await rt.get("r1"))
        assert [i.kind for i in outcome.interrupts] == ["in_doubt"]


async def test_a_tool_that_says_itself_that_it_failed_is_believed_after_the_cut(address: str) -> None:
    def fails() -> str:
        raise ToolFailed("nothing was paid")

    agent = stubborn(fails, began := asyncio.Event())
    assert [x.error for x in await closed_upon(address, agent, began) if isinstance(x, Returned)] == [
        "nothing was paid"
    ]
    async with Runtime(address, [agent]) as rt:
        await completed(await rt.get("r1"))


async def test_what_ends_badly_after_the_run_was_handed_back_is_heard_by_nobody(address: str) -> None:
    async def steps() -> None: ...

    @tool(effect="unsafe")
    async def pay(ctx: ToolContext) -> str:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            await ctx.step("release", steps)
        return "never"

    began = asyncio.Event()
    agent = Agent("stubborn", model=ScriptedModel(call("pay"), "ok"), tools=[pay])
    assert not [x for x in await closed_upon(address, agent, began) if isinstance(x, Returned)]
