"""A flow is a run: every verb of a runtime, its inbox, its audit, its workers, and what happens when one dies."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.places import new_folder

from adjourn import (
    Agent,
    AlreadyDecided,
    AlreadyResumed,
    Cancelled,
    Completed,
    Execution,
    Flow,
    FlowContext,
    Invalid,
    MaxSteps,
    MissingResource,
    Paused,
    ProgramChanged,
    Run,
    RunFailed,
    Runtime,
    Stopped,
    tool,
)
from adjourn.core.records import Intended
from adjourn.errors import ForkRefused
from adjourn.stores.memory import MemoryStore
from adjourn.testing import env
from adjourn.testing.scripted import ScriptedModel, call

LIMIT = 20.0


@pytest.fixture
def folder() -> Iterator[Path]:
    place = new_folder()
    yield place
    shutil.rmtree(place)


async def keep(ctx: FlowContext) -> None:
    ctx.state.setdefault("kept", []).append(ctx.input)


async def ask(ctx: FlowContext) -> None:
    ctx.pause_for("q", {"about": ctx.input})


def approval() -> Flow:
    flow = Flow("approval")
    flow.to(ask).to(keep)
    return flow


class Gate:
    """A flow whose first chunk says when it runs and waits to be let go."""

    def __init__(self) -> None:
        self.flow, self.inside, self.go, self.undone = Flow("gate"), asyncio.Event(), asyncio.Event(), list[Any]()

        @self.flow.chunk(undo=lambda ctx, args, result: self.undone.append(result))
        async def slow(ctx: FlowContext) -> str:
            self.inside.set()
            await self.go.wait()
            return f"slow {ctx.input}"

        self.flow.to(slow).to(keep)


async def paused(run: Run[Any]) -> Paused:
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused), outcome
    return outcome


async def completed(run: Run[Any]) -> Any:
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed), outcome
    return outcome.output


async def test_a_flow_runs_to_its_end_and_its_output_is_its_state() -> None:
    flow = Flow("f")
    flow.to(keep)
    async with Runtime(MemoryStore()) as rt:
        run = await rt.start(flow, 1, labels={"team": "a"})
        assert await completed(run) == {"kept": [1]}
        assert [row.id for row in await rt.runs(agent="f", label=("team", "a"))] == [run.id]


async def test_its_interrupts_are_in_the_inbox_and_anybody_may_answer_them() -> None:
    flow = Flow("f")
    child = Flow("child")
    child.to(ask)
    flow.for_each().to(child).end_for_each().to(keep)
    async with env([flow]) as test:
        rt = test.runtime
        run = await rt.start(flow, ["a", "b"])
        await paused(run)
        inbox = await rt.inbox(agent="f")
        assert [(i.payload, i.path) for i in inbox] == [
            ({"about": "a"}, "each#0[0]/child#0"), ({"about": "b"}, "each#0[1]/child#0"),
        ]  # fmt: skip
        await rt.answer(inbox[1].id, "B", by="bob", request_id="r1")
        await rt.answer(inbox[1].id, "B", by="bob", request_id="r1")
        with pytest.raises(AlreadyDecided, match="bob"):
            await rt.answer(inbox[1].id, "X", by="ann")
        state = await run.state()
        assert [i.id for i in state.interrupts] == [inbox[0].id]
        await rt.answer(inbox[0].id, "A", by="ann")
        assert await completed(run) == {"kept": [["A", "B"]]}
        verbs = [(e.verb, e.by, bool(e.refused)) for e in await run.audit()]
        assert verbs == [
            ("start", "", False),
            ("answer", "bob", False),
            ("answer", "ann", True),
            ("answer", "ann", False),
        ]
        assert await rt.verify() == []


async def test_pause_and_resume() -> None:
    gate = Gate()
    async with env([gate.flow]) as test:
        run = await test.runtime.start(gate.flow, 1)
        await gate.inside.wait()
        await run.pause(by="ann", reason="lunch")
        assert await run.status() == "pausing"
        gate.go.set()
        assert (await paused(run)).status == "paused"
        assert (await run.state()).state == {}
        await run.resume(by="ann")
        assert await completed(run) == {"kept": ["slow 1"]}


async def test_cancel_waits_for_the_chunk_in_flight_and_undoes_it() -> None:
    gate = Gate()
    async with env([gate.flow]) as test:
        run = await test.runtime.start(gate.flow, 1)
        await gate.inside.wait()
        preview = await run.cancel_preview()
        assert [c.tool for c in preview.in_flight] == ["slow"]
        await run.cancel(by="ann", reason="enough")
        gate.go.set()
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Cancelled)
        assert (outcome.undone, outcome.residue, gate.undone) == (["slow#0"], [], ["slow 1"])
        with pytest.raises(Exception, match="cancelled"):
            await run.resume()


async def test_an_undo_that_fails_waits_for_a_person() -> None:
    flow = Flow("f")
    broken = True

    def undo(ctx: FlowContext, args: Any, result: Any) -> None:
        if broken:
            raise ValueError("the bank is closed")

    flow.to(flow.chunk(name="pay", undo=undo)(keep)).to(ask)
    async with env([flow]) as test:
        run = await test.runtime.start(flow, 1)
        await paused(run)
        await run.cancel(by="ann")
        for _ in range(4):
            await test.skip(60)
        outcome = await paused(run)
        assert (outcome.status, [i.kind for i in outcome.interrupts]) == ("stuck", ["undo"])
        broken = False
        await test.runtime.answer(outcome.interrupts[0].id, "retry", by="ann")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Cancelled)
        assert outcome.undone == ["pay#0"]


@pytest.mark.parametrize("effect", ["read", "unsafe"])
@pytest.mark.parametrize("scope", ["*", "agent:f", "tool:second"])
async def test_a_halt_stops_the_next_chunk_and_lifting_it_goes_on(scope: str, effect: Any) -> None:
    flow = Flow("f")
    inside, go = asyncio.Event(), asyncio.Event()

    async def first(ctx: FlowContext) -> None:
        inside.set()
        await go.wait()

    @flow.chunk(effect=effect)
    async def second(ctx: FlowContext) -> str:
        return "second"

    flow.to(first).to(second).to(keep)
    async with env([flow]) as test:
        rt = test.runtime
        run = await rt.start(flow, 1)
        await inside.wait()
        await rt.halt(scope, by="ann", reason="incident")
        go.set()
        await test.settle()
        assert (await run.status(), (await run.state()).state) == ("held", {})
        await rt.unhalt(scope, by="ann")
        await test.skip(2)
        assert await completed(run) == {"kept": ["second"]}


async def test_a_halt_of_an_agent_reaches_it_inside_a_flow() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    agent = Agent("writer", model=ScriptedModel([call("look")], "written"), tools=[look])
    flow = Flow("f")
    flow.to(ask).to(agent).to(keep)
    async with env([flow]) as test:
        rt = test.runtime
        run = await rt.start(flow, 1)
        [interrupt] = (await paused(run)).interrupts
        await rt.halt("agent:writer", by="ann", reason="incident")
        await rt.answer(interrupt.id, "go", by="ann")
        await test.settle()
        assert await run.status() == "held"
        records = [r for _, r in await rt.store.load(run.id)]
        assert not [r for r in records if isinstance(r, Intended) and r.tool == "look"]
        await rt.unhalt("agent:writer", by="ann")
        await test.skip(2)
        assert await completed(run) == {"kept": ["written"]}
        looked = [r for _, r in await rt.store.load(run.id) if isinstance(r, Intended) and r.tool == "look"]
        assert [r.under for r in looked] == [("writer",)]


async def test_what_is_said_is_a_note_for_the_chunks_that_follow() -> None:
    flow = Flow("f")

    async def read(ctx: FlowContext) -> None:
        ctx.state["notes"] = ctx.notes

    flow.to(ask).to(read)
    async with env([flow]) as test:
        run = await test.runtime.start(flow, 1)
        [interrupt] = (await paused(run)).interrupts
        await run.say("be kind", by="ann")
        await run.pause()
        await run.resume("and brief")
        await test.runtime.answer(interrupt.id, 1, by="ann")
        assert await completed(run) == {"notes": ["be kind", "and brief"]}


async def test_an_event_to_a_run_resolves_what_waits_for_it() -> None:
    flow = Flow("f")

    async def wait(ctx: FlowContext) -> None:
        ctx.pause_for("payment", resume_event="paid")

    flow.to(wait)
    flow.when("paid").to(keep)
    async with env([flow]) as test:
        run = await test.runtime.start(flow, 1)
        assert (await paused(run)).interrupts[0].type == "payment"
        for reserved in ("@close", "@", ""):  # what ends an execution is not for everybody who may send an event
            with pytest.raises(Invalid, match="does not begin with '@'"):
                await run.emit(reserved, {"cancel": True})
        await run.emit("paid", {"cents": 5}, by="till")
        assert await completed(run) == {"kept": [{"cents": 5}]}
        assert await test.runtime.inbox() == []


async def test_a_fork_reuses_what_was_done_and_goes_its_own_way() -> None:
    flow = Flow("f")
    ran: list[Any] = []

    async def work(ctx: FlowContext) -> Any:
        ran.append(ctx.input)
        return ctx.input * 2

    flow.to(work).to(ask).to(keep)
    async with env([flow]) as test:
        rt = test.runtime
        run = await rt.start(flow, 1, run_id="one")
        [interrupt] = (await paused(run)).interrupts
        copy = await run.fork(answers={interrupt.id: "copy"}, run_id="two")
        assert await completed(copy) == {"kept": ["copy"]}
        assert await run.status() == "waiting"
        other = await run.fork(at=1, input=5, run_id="three")
        assert (await paused(other)).interrupts[0].payload == {"about": 10}
        await rt.answer(interrupt.id, "one", by="ann")
        assert await completed(run) == {"kept": ["one"]}
        assert ran == [1, 5]
        with pytest.raises(ForkRefused, match="cannot fork at record 3"):
            await run.fork(at=3)


async def test_a_failed_run_is_resumed_at_the_chunk_that_failed() -> None:
    flow = Flow("f")
    broken, ran = True, list[str]()

    async def first(ctx: FlowContext) -> None:
        ran.append("first")

    async def second(ctx: FlowContext) -> None:
        ran.append("second")
        if broken:
            raise ValueError("boom")

    flow.to(first).to(second).to(keep)
    async with env([flow]) as test:
        run = await test.runtime.start(flow, 1)
        with pytest.raises(RunFailed, match="boom") as failed:
            await run.wait(LIMIT)
        assert isinstance(failed.value.__cause__, ValueError)
        assert await run.status() == "failed"
        broken = False
        await run.resume(by="ann")
        assert await completed(run) == {"kept": [None]}
        assert ran == ["first", "second", "second"]


async def test_a_limit_ends_a_run_as_stopped() -> None:
    flow = Flow("f", stop=MaxSteps(5))
    flow.to(keep).emit("again")
    flow.when("again").to(keep).emit("again")
    async with env([flow]) as test:
        outcome = await (await test.runtime.start(flow, 1)).wait(LIMIT)
        assert isinstance(outcome, Stopped)
        assert outcome.by == "MaxSteps(5)"


async def test_a_run_has_a_picture_and_an_agents_has_none() -> None:
    flow, agent = approval(), Agent("a", model=ScriptedModel("x"))
    async with env([flow, agent]) as test:
        run = await test.runtime.start(flow, 1)
        await paused(run)
        assert 'n1["ask"]:::waiting' in await run.picture()
        with pytest.raises(Invalid, match="no graph"):
            await (await test.runtime.start(agent, "x")).picture()


async def test_time_passes_for_chunks_that_sleep() -> None:
    flow = Flow("f")

    async def nap(ctx: FlowContext) -> str:
        await ctx.sleep(3600)
        return "rested"

    flow.for_each().to(nap).end_for_each().to(keep)
    async with env([flow]) as test:
        run = await test.runtime.start(flow, [1, 2])
        await test.settle()
        await test.skip(3599)
        assert await run.status() == "waiting"
        await test.skip(2)
        assert await completed(run) == {"kept": [["rested", "rested"]]}


async def test_watching_a_run_of_a_flow() -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> None:
        ctx.publish("working")

    flow.to(ask).to(work)
    async with env([flow]) as test:
        run = await test.runtime.start(flow, 1)
        await paused(run)
        watching = asyncio.create_task(_types(run))
        await asyncio.sleep(0)
        [interrupt] = (await paused(run)).interrupts
        await test.runtime.answer(interrupt.id, 1, by="ann")
        await completed(run)
        types = await watching
        assert types[0] == "started"
        assert types[-1] == "completed"
        assert "published" in types


async def _types(run: Run[Any]) -> list[str]:
    return [event.type async for event in run.watch()]


async def test_an_execution_may_become_a_run_once() -> None:
    flow = approval()
    one: Execution = await flow.start_execution("x", auto_close=False)
    saved = one.save().to_json()
    async with env([flow]) as test:
        rt = test.runtime
        run = await rt.resume(saved, "yes", by="ann")
        assert await completed(run) == {"kept": ["yes"]}
        with pytest.raises(AlreadyResumed):
            await rt.resume(saved, "no", by="bob")
        other = flow.create_execution(auto_close=False).load((await run.checkpoint()).to_json())
        assert (other.status, other.state) == ("completed", {"kept": ["yes"]})


async def test_a_changed_flow_and_a_missing_resource_keep_the_answer_for_a_worker_that_can() -> None:
    def needy(name: str) -> Flow:
        flow = Flow("f")

        @flow.chunk(name=name, resources=["db"])
        async def store(ctx: FlowContext) -> None:
            ctx.resources["db"].append(ctx.input)

        flow.to(ask).to(store)
        return flow

    store, rows = MemoryStore(), list[Any]()
    async with Runtime(store, [needy("store")], resources={"db": rows}) as rt:
        run = await rt.start(needy("store"), 1, run_id="r")
        [interrupt] = (await paused(run)).interrupts
    async with Runtime(store) as desk:
        await desk.answer(interrupt.id, "row", by="ann")
    async with Runtime(store, [needy("renamed")], resources={"db": rows}) as rt:
        with pytest.raises(ProgramChanged, match="chunk 'store' is gone"):
            await (await rt.get("r")).wait(LIMIT)
    async with Runtime(store, [needy("store")]) as rt:
        with pytest.raises(MissingResource, match="needs the resource db"):
            await (await rt.get("r")).wait(LIMIT)
    assert rows == []
    async with Runtime(store, [needy("store")], resources={"db": rows}) as rt:
        assert await completed(await rt.get("r")) == {}
    assert rows == ["row"]


async def test_leaving_the_runtime_hands_a_flow_back_and_the_next_one_goes_on(folder: Path) -> None:
    address = f"sqlite:///{folder}/runs.db"
    flow = Flow("f")
    flow.for_each(concurrency=2).to(ask).end_for_each().to(keep)
    async with Runtime(address, [flow]) as rt:
        await paused(await rt.start(flow, [1, 2, 3], run_id="r"))
    for _ in range(3):
        async with Runtime(address, [flow]) as rt:
            interrupt = (await rt.inbox())[0]
            await rt.answer(interrupt.id, interrupt.payload["about"] * 10, by="ann")
            await rt.worker.rested("r")
    async with Runtime(address, [flow]) as rt:
        assert await completed(await rt.get("r")) == {"kept": [[10, 20, 30]]}


WORKER = """
import asyncio, os, sys
from adjourn import Flow, Runtime

flow = Flow("pair")

@flow.chunk(effect=sys.argv[3])
async def first(ctx):
    with open(sys.argv[2], "a") as file:
        file.write(f"{os.getpid()} {ctx.idempotency_key}\\n")
    while not os.path.exists(sys.argv[2] + ".go"):
        await asyncio.sleep(0.005)
    return ctx.input + 1

@flow.chunk
async def keep(ctx):
    ctx.state["kept"] = ctx.input

flow.to(first).to(keep)

async def main():
    async with Runtime(sys.argv[1], [flow], lease=0.5) as rt:
        run = await rt.start(flow, 1, run_id="r")
        print("started", flush=True)
        outcome = await run.wait()
        print(outcome.status, getattr(outcome, "output", "") if outcome.status == "completed" else outcome.interrupts[0].kind, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize(("effect", "ends"), [("idempotent", "completed {'kept': 2}"), ("unsafe", "waiting in_doubt")])
async def test_a_worker_that_is_killed_is_replaced_by_another_process(folder: Path, effect: str, ends: str) -> None:
    command = [sys.executable, "-c", WORKER, f"sqlite:///{folder}/runs.db", str(folder / "ledger"), effect]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "started\n"
    async with asyncio.timeout(LIMIT):
        while not (folder / "ledger").exists() or not (folder / "ledger").read_text().endswith("\n"):
            await asyncio.sleep(0.005)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    (folder / "ledger.go").touch()
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.stdout.splitlines()[-1] == ends, second.stderr
    lines = [line.split() for line in (folder / "ledger").read_text().splitlines()]
    assert len(lines) == (2 if effect == "idempotent" else 1)
    assert len({key for _, key in lines}) == 1
