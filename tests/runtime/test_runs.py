"""Finding runs and looking at them: get, start again, runs, inbox, messages, state."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.runtime.world import LIMIT, Ledger, changed, completed, notes, operator, paused, refunds

from adjourn import (
    Agent,
    Decision,
    Invalid,
    InvalidAnswer,
    InvalidDefinition,
    Misused,
    NotJSON,
    Refused,
    RunExists,
    RunFailed,
    Runtime,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.core.messages import AssistantMessage, ToolResult, UserMessage
from adjourn.testing.scripted import ScriptedModel


async def test_a_run_is_found_by_its_whole_id_and_by_nothing_else(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        await rt.start(refunds(ledger), "go", run_id="alpha-1")
        await rt.start(refunds(ledger), "go", run_id="alpha-2")
        await rt.start(refunds(ledger), "go", run_id="beta")
        assert (await rt.get("alpha-1")).id == "alpha-1"
        assert (await rt.get("beta")).run_id == "beta"
        for wrong in ("alpha", "bet", "gamma", "", "b%", "bet_", "alpha-1x"):
            with pytest.raises(UnknownRun):
                await rt.get(wrong)


async def test_starting_an_existing_id_with_the_same_input_gives_that_run(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        first = await rt.start(notes(ledger), {"a": [1, 2]}, run_id="r1")
        await first.wait(LIMIT)
        again = await rt.start(notes(ledger), {"a": [1, 2]}, run_id="r1")
        await completed(again)
        with pytest.raises(RunExists):
            await rt.start(notes(ledger), {"a": [1, 3]}, run_id="r1")
        with pytest.raises(RunExists):
            await rt.start(refunds(ledger), {"a": [1, 2]}, run_id="r1")
    assert ledger.lines() == ["note a", "note b"]


@pytest.mark.parametrize("wrong", ["", "a:b", "a?b", "a/b", "a!b", "a#b", "x" * 201, "a\nb", "a;b", "-a", "ü", 7])
async def test_a_run_id_that_cannot_be_one_is_refused(address: str, ledger: Ledger, wrong: Any) -> None:
    async with Runtime(address) as rt:
        with pytest.raises(Invalid, match="run_id"):
            await rt.start(refunds(ledger), "go", run_id=wrong)
        assert await rt.runs() == []


async def test_an_input_that_is_not_json_starts_nothing(address: str, ledger: Ledger) -> None:
    async with Runtime(address) as rt:
        with pytest.raises(NotJSON, match="input"):
            await rt.start(refunds(ledger), {"callback": print})
        assert await rt.runs() == []


async def test_two_different_agents_of_one_name_are_refused(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)]) as rt:
        await rt.start(refunds(ledger), "go")  # equal, though not the same object
        with pytest.raises(InvalidDefinition, match="refunds"):
            await rt.start(changed(ledger), "go")


async def test_runs_are_listed_newest_first_and_filtered(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        failing = Agent("failing", model=ScriptedModel(ValueError("no")))
        a = await rt.start(refunds(ledger), "go", run_id="a", session="s1", labels={"team": "north"})
        b = await rt.start(notes(ledger), "go", run_id="b", session="s1", labels={"team": "south"})
        c = await rt.start(failing, "go", run_id="c", labels={"team": "north", 'odd"name': "x"})
        await a.wait(LIMIT)
        await b.wait(LIMIT)
        with pytest.raises(RunFailed, match="no"):
            await c.wait(LIMIT)

        async def ids(**filters: Any) -> list[str]:
            return [row.id for row in await rt.runs(**filters)]

        assert await ids() == ["c", "b", "a"]
        assert await ids(status="waiting") == ["c", "a"]
        assert await ids(status="failed") == ["c"]
        assert await ids(status="completed") == ["b"]
        assert await ids(status="running") == []
        assert await ids(agent="refunds") == ["a"]
        assert await ids(session="s1") == ["b", "a"]
        assert await ids(label=("team", "north")) == ["c", "a"]
        assert await ids(limit=2) == ["c", "b"]
        assert await ids(after="b") == ["a"]
        with pytest.raises(Invalid, match="unknown status"):
            await rt.runs(status="sleeping")
        for wrong in (0, 1001, True, "3"):
            with pytest.raises(Invalid, match="limit"):
                await rt.runs(limit=wrong)  # type: ignore[arg-type]


async def test_the_inbox_is_what_waits_for_a_person_oldest_first(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        one = await rt.start(refunds(ledger), "go", run_id="one")
        await one.wait(LIMIT)
        two = await rt.start(operator(ledger), "go", run_id="two")
        await two.wait(LIMIT)
        assert [(i.run_id, i.kind, i.type) for i in await rt.inbox()] == [
            ("one", "approval", "approval"),
            ("two", "question", "approval"),
        ]
        assert [i.run_id for i in await rt.inbox(agent="operator")] == ["two"]
        assert [i.run_id for i in await rt.inbox(kind="approval")] == ["one"]
        assert [i.run_id for i in await rt.inbox(run="two")] == ["two"]
        first = (await rt.inbox(limit=1))[0]
        assert [i.run_id for i in await rt.inbox(after=first.id)] == ["two"]
        await rt.deny(first.id, by="ann")
        await one.wait(LIMIT)
        assert [i.run_id for i in await rt.inbox()] == ["two"]


async def test_a_pending_call_can_be_read_back_from_the_inbox(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        await run.wait(LIMIT)
        [interrupt] = await rt.inbox()
        assert interrupt.call is not None
        assert (interrupt.call.tool, interrupt.call.arguments) == ("refund", {"order": "A1", "cents": 500})
        assert await rt.interrupt(interrupt.id) == interrupt
        await rt.approve(interrupt.id, by="ann", digest=interrupt.call.digest)
        await run.wait(LIMIT)
        found = await rt.interrupt(interrupt.id)  # found whatever its state
        assert [seat.filled_by for seat in found.slots] == ["ann"]
        assert msgspec.structs.replace(found, slots=interrupt.slots) == interrupt


async def test_messages_and_state_show_where_a_run_is(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go", run_id="r1")
        await run.wait(LIMIT)
        state = await run.state()
        assert (state.status, state.steps, state.agent) == ("waiting", 1, "refunds")
        assert [c.phase for c in state.calls] == ["asked"]
        assert [type(m) for m in await run.messages()] == [UserMessage, AssistantMessage]
        await rt.approve(state.interrupts[0].id, by="ann")
        await run.wait(LIMIT)
        state = await run.state()
        assert (state.status, state.calls, state.text) == ("completed", (), "refunded")
        assert [call.result for call in state.effects] == [{"order": "A1", "cents": 500}]
        assert [type(m) for m in await run.messages()] == [UserMessage, AssistantMessage, ToolResult, AssistantMessage]
        assert await run.status() == "completed"


async def test_a_bad_answer_is_refused_and_the_question_stays_answerable(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go", run_id="r1")
        [interrupt] = (await paused(run)).interrupts
        seq = (await run.state()).seq
        for wrong in ("yes", 1, {"approved": True}, None, Decision.value(True)):
            with pytest.raises(InvalidAnswer):
                await rt.answer(interrupt.id, wrong, by="ann")
        with pytest.raises(InvalidAnswer):
            await rt.approve(interrupt.id, by="ann", edit={"order": "A1", "cents": "many"})
        with pytest.raises(NotJSON):
            await rt.approve(interrupt.id, by="ann", edit={"order": "A1", "cents": print})
        with pytest.raises(Invalid, match="by="):
            await rt.approve(interrupt.id, by="")
        for unknown in ("r1:9.0?0", "nothing", "r1:", ""):
            with pytest.raises(UnknownInterrupt, match="r1:"):
                await rt.approve(unknown, by="ann")
        with pytest.raises(UnknownRun):
            await rt.approve("other:1.0?0", by="ann")
        assert (await run.state()).seq == seq
        await rt.approve(interrupt.id, by="ann")
        await completed(run)
        with pytest.raises(Refused, match="it is (completed|cancelled)"):
            await run.say("too late")


async def test_wait_gives_up_after_its_timeout_and_the_run_goes_on(address: str, ledger: Ledger) -> None:
    from tests.runtime.world import slowly

    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(slowly(ledger), "go")
        with pytest.raises(TimeoutError):
            await run.wait(0.05)
        ledger.open("tool")
        await completed(run)


async def test_several_waiters_get_the_same_outcome(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        outcomes = await asyncio.gather(*(run.wait(LIMIT) for _ in range(5)))
    assert {o.output for o in outcomes} == {"all noted"}


async def test_a_runtime_that_is_not_open_says_so(address: str, ledger: Ledger) -> None:
    rt = Runtime(address)
    with pytest.raises(Misused, match="async with"):
        await rt.runs()
    async with rt:
        with pytest.raises(Misused, match="already open"):
            await rt.__aenter__()
        assert await rt.runs() == []
    async with rt:  # and once more
        assert await rt.runs() == []


@pytest.mark.parametrize("end", ["completed", "cancelled"])
async def test_a_run_that_has_ended_hears_nothing_more(address: str, ledger: Ledger, end: str) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        await paused(run)
        if end == "cancelled":
            await run.cancel(by="ann")
        else:
            await rt.deny((await rt.inbox())[0].id, by="ann")
        assert (await run.wait(LIMIT)).status == end
        seq = (await run.state()).seq
        for command in (run.say("hello"), run.pause(), run.resume()):
            with pytest.raises(Refused, match="it is (completed|cancelled)"):
                await command
        if end == "completed":
            with pytest.raises(Refused, match="it is (completed|cancelled)"):
                await run.cancel(by="ann")
        else:
            await run.cancel(by="ann")  # twice is the same as once
        assert (await run.state()).seq == seq
