"""Races, one at a time: somebody speaks at the worst moment, which is just before the worker commits."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tests.runtime.world import LIMIT, GatedModel, Ledger, completed, note, notes, operator, paused

from adjourn import Agent, Cancelled, Run, ToolContext, tool
from adjourn.core.messages import UserMessage
from adjourn.core.records import (
    CancelAsked,
    Command,
    Fact,
    Intended,
    Move,
    PauseAsked,
    Record,
    Replied,
    RunCompleted,
    Said,
    Suspended,
)
from adjourn.runtime.runtime import Runtime
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease
from adjourn.testing.scripted import ScriptedModel, call


class Interrupted(MemoryStore):
    """A store in which a command arrives just before the first commit that has a record of some kind."""

    def __init__(self, command: Command, before: type[Record]) -> None:
        super().__init__()
        self._command: Command | None = command
        self._interrupts_before = before

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        if self._command and any(isinstance(x, self._interrupts_before) for x in (*facts, *moves)):
            command, self._command = self._command, None
            await self.deliver(lease.run, command)
        return await super().commit(lease, facts, moves, seen=seen)


def kinds(records: Sequence[tuple[int, Record]]) -> list[str]:
    return [type(record).__name__ for _, record in records]


async def heard(rt: Runtime, run: Run[Any]) -> None:
    """Wait until the worker has folded what was said."""
    said = (await rt.store.get(run.id)).seq
    async with asyncio.timeout(LIMIT):
        while rt.worker.advancer.running[run.id].state.seq < said:
            await asyncio.sleep(0.001)


async def test_g11_no_call_starts_after_a_pause_is_acknowledged(ledger: Ledger) -> None:
    store = Interrupted(PauseAsked(by="ann"), Intended)
    async with Runtime(store, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        assert (await paused(run)).status == "paused"
        assert ledger.lines() == []
        assert "Intended" not in kinds(await store.load(run.id))
        await run.resume(by="ann")
        await completed(run)
    assert ledger.lines() == ["note a", "note b"]


async def test_g11_no_call_starts_after_a_cancel_is_acknowledged(ledger: Ledger) -> None:
    store = Interrupted(CancelAsked(by="ann"), Intended)
    async with Runtime(store, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        assert isinstance(await run.wait(LIMIT), Cancelled)
        assert "Intended" not in kinds(await store.load(run.id))
    assert ledger.lines() == []


async def test_g13_a_cancel_before_the_end_wins(ledger: Ledger) -> None:
    store = Interrupted(CancelAsked(by="ann"), RunCompleted)
    async with Runtime(store, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        assert isinstance(await run.wait(LIMIT), Cancelled)
        ends = [kind for kind in kinds(await store.load(run.id)) if kind in ("RunCompleted", "RunCancelled")]
    assert ends == ["RunCancelled"]


async def test_what_is_said_before_the_end_is_read(ledger: Ledger) -> None:
    store = Interrupted(Said(text="and Norway", by="ann"), RunCompleted)
    model = ScriptedModel("done", "done, with Norway")
    async with Runtime(store) as rt:
        run = await rt.start(Agent("talks", model=model), "go")
        assert (await completed(run)).output == "done, with Norway"
    assert [m.text for m in model.requests[1].messages if isinstance(m, UserMessage)] == ["go", "and Norway"]


async def test_a_message_during_a_model_call_is_read_once_by_the_next(ledger: Ledger) -> None:
    model = GatedModel(ledger, [call("note", text="a")], "done")
    async with Runtime(MemoryStore(), resources={"ledger": ledger}) as rt:
        run = await rt.start(Agent("talks", model=model, tools=[note]), "go")
        await ledger.until("asked 0")
        await run.say("and Norway", by="ann")
        await heard(rt, run)
        ledger.open("model")
        await completed(run)
        times = [[m.text for m in r.messages if isinstance(m, UserMessage)].count("and Norway") for r in model.requests]
        assert times == [0, 1]
        assert [m.text for m in await run.messages() if isinstance(m, UserMessage)].count("and Norway") == 1


async def test_a_message_during_the_last_model_call_brings_one_more(ledger: Ledger) -> None:
    model = GatedModel(ledger, "done", "done, with Norway")
    async with Runtime(MemoryStore()) as rt:
        run = await rt.start(Agent("talks", model=model), "go")
        await ledger.until("asked 0")
        await run.say("and Norway", by="ann")
        await heard(rt, run)
        ledger.open("model")
        assert (await completed(run)).output == "done, with Norway"


@pytest.mark.parametrize(
    "command", [Said(text="hurry", by="ann"), PauseAsked(by="ann")], ids=lambda c: type(c).__name__
)
async def test_a_tool_that_stops_to_wait_while_somebody_speaks_still_waits(ledger: Ledger, command: Command) -> None:
    store = Interrupted(command, Suspended)
    async with Runtime(store, resources={"ledger": ledger}) as rt:
        run = await rt.start(operator(ledger), "go")
        outcome = await paused(run)
        [interrupt] = outcome.interrupts
        assert interrupt.kind == "question"
        await rt.answer(interrupt.id, "yes", by="ann")
        if outcome.status == "paused":
            await run.resume(by="ann")
        assert (await completed(run)).output == "they said yes"


async def test_pausing_now_at_the_end_of_a_model_call_keeps_the_reply_and_starts_nothing(ledger: Ledger) -> None:
    store = Interrupted(PauseAsked(by="ann", now=True), Replied)
    async with Runtime(store, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        assert (await paused(run)).status == "paused"
        found = kinds(await store.load(run.id))
        assert "Replied" in found
        assert "Intended" not in found


async def test_words_to_a_run_that_waits_make_it_look_again_and_wait_again(ledger: Ledger) -> None:
    """However many: the workers that look and find nothing to do are not being killed by it."""
    async with Runtime(MemoryStore(), resources={"ledger": ledger}) as rt:
        run = await rt.start(operator(ledger), "go")
        await paused(run)
        for n in range(12):
            await run.say(f"hurry {n}", by="ann")
            assert [i.kind for i in (await paused(run)).interrupts] == ["question"]
        [interrupt] = await rt.inbox()
        await rt.answer(interrupt.id, "yes", by="ann")
        assert (await completed(run)).output == "they said yes"


async def test_g6_a_worker_that_was_replaced_writes_nothing_more(ledger: Ledger) -> None:
    """It was frozen; when it thaws, its body has ended, and its epoch is over."""
    thawed = asyncio.Event()

    @tool
    async def freeze(ctx: ToolContext) -> str:
        """Ends long after its worker was replaced."""
        ledger.write("epoch", ctx.epoch)
        if ctx.epoch == 1:
            await thawed.wait()
        return f"epoch {ctx.epoch}"

    agent = Agent("frozen", model=ScriptedModel([call("freeze")], "done"), tools=[freeze])
    store = MemoryStore()
    async with Runtime(store, [agent]) as rt:
        run = await rt.start(agent, "go")
        await ledger.until("epoch 1")
        first = (await store.get(run.id)).worker
        lease = await store.acquire(run.id, "other", 60.0, replaces=first)
        assert lease is not None
        thawed.set()
        async with asyncio.timeout(LIMIT):
            await rt.worker.rested(run.id)
        assert kinds(await store.load(run.id, 2))[-1] == "Claimed"  # the result of epoch 1 is nowhere
        await store.release(lease)
        rt.worker.wake(run.id)
        assert [i.kind for i in (await paused(run)).interrupts] == ["in_doubt"]


async def test_commands_of_many_kinds_at_once_leave_one_end(ledger: Ledger) -> None:
    """Whatever wins, everybody else is told, and there is one end."""

    async def tried(work: Awaitable[Any]) -> str:
        try:
            await work
        except Exception as e:
            return type(e).__name__
        return "ok"

    async def settle(run: Run[Any]) -> str:
        verbs: list[Callable[[], Awaitable[Any]]] = [
            lambda: run.pause(by="a"),
            lambda: run.say("hello", by="b"),
            lambda: run.cancel(by="c"),
            lambda: run.resume(by="d"),
        ]
        told = await asyncio.gather(*(tried(verb()) for verb in verbs))
        assert set(told) <= {"ok", "Refused"}
        return (await run.wait(LIMIT)).status

    async with Runtime(MemoryStore(), resources={"ledger": ledger}) as rt:
        for n in range(20):
            run = await rt.start(notes(ledger), "go", run_id=f"r{n}")
            await asyncio.sleep(0)
            status = await settle(run)
            assert status in ("completed", "cancelled")
            found = kinds(await rt.store.load(run.id))
            assert len([kind for kind in found if kind in ("RunCompleted", "RunCancelled")]) == 1
