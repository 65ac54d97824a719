"""A backup is a past: what its runs were about to do may have been done since. Nothing unsafe is done again unasked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Book, Ledger, completed, paused, refunds

from adjourn import (
    Agent,
    Cancelled,
    Flow,
    FlowContext,
    Interrupt,
    Policy,
    Run,
    Runtime,
    ToolContext,
    ask,
    is_paused,
    tool,
)
from adjourn.core.records import AnyRecord, Intended, Restored, Resumed, Returned, Said, Started, Verified
from adjourn.core.state import State
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.restore import copy_database, restore
from adjourn.testing.oracle import check_rows
from adjourn.testing.scripted import ScriptedModel, call


@pytest.fixture
def backup(folder: Path) -> str:
    return str(folder / "backup.db")


def back_up(db: str, to: str) -> None:
    connection: Any = apsw.Connection(db)
    try:
        copy_database(connection, to)
    finally:
        connection.close()


async def found_in_ledger(ctx: ToolContext, args: dict[str, Any]) -> Any:
    """Whether a transfer is in the ledger."""
    ledger: Ledger = ctx.resources["ledger"]
    ledger.write("looked", ctx.call_id)
    done = f"wire {ctx.call_id}" in ledger.lines()
    return ("happened", "found") if done else "not"


@tool(effect="unsafe")
async def pay(ctx: ToolContext, n: int, ledger: Book) -> str:
    """Pay."""
    ledger.write("pay", ctx.call_id)
    return f"paid {n}"


@tool(effect="unsafe")
async def pay_much(ctx: ToolContext, n: int, ledger: Book) -> str:
    """Pay, if somebody agrees."""
    ledger.write("pay_much", ctx.call_id)
    return f"paid {n}"


@tool(effect="verifiable", verify=found_in_ledger)
async def wire(ctx: ToolContext, n: int, ledger: Book) -> str:
    """Transfer, so that one can look."""
    ledger.write("wire", ctx.call_id)
    return f"wired {n}"


@tool(effect="idempotent")
async def put(ctx: ToolContext, n: int, ledger: Book) -> str:
    """The same twice is the same as once."""
    ledger.write("put", ctx.idempotency_key)
    return f"put {n}"


def payers() -> Agent:
    calls = [call("pay", n=1), call("pay_much", n=2), call("wire", n=3), call("put", n=4), call("pay", n=5)]
    model = ScriptedModel(calls, "all paid")
    return Agent(
        "payers", model=model, tools=[pay, pay_much, wire, put], policy=Policy([ask("pay_much")], default="allow")
    )


def wirers() -> Agent:
    model = ScriptedModel([call("wire", n=1)], "wired")
    return Agent("wirers", model=model, tools=[wire], policy=Policy([ask("wire")]))


def shop() -> Flow:
    flow = Flow("shop")

    @flow.chunk(effect="unsafe")
    async def order(ctx: FlowContext) -> str:
        ctx.resources["ledger"].write("order", ctx.call_id)
        return "ordered"

    @flow.chunk(effect="unsafe")
    async def charge(ctx: FlowContext) -> str:
        ctx.resources["ledger"].write("charge", ctx.call_id)
        return "charged"

    flow.to(order).to(charge)
    return flow


async def decide(rt: Runtime, interrupt: Interrupt, ledger: Ledger) -> None:
    """A person who looks whether it happened before they say so."""
    if interrupt.kind == "approval":
        await rt.approve(interrupt.id, by="ann")
        return
    assert interrupt.kind == "in_doubt" and interrupt.call is not None
    happened = f"{interrupt.call.tool} {interrupt.call.call_id}" in ledger.lines()
    await rt.answer(interrupt.id, {"choice": "happened" if happened else "run"}, by="ann")


async def to_its_end(rt: Runtime, run: Run[Any], ledger: Ledger) -> list[str]:
    """Act for the person until the run has ended; about what they were asked, as kind and call."""
    asked: list[str] = []
    while (outcome := await run.wait(LIMIT)).status != "completed":
        assert is_paused(outcome), outcome
        for interrupt in outcome.interrupts:
            asked.append(f"{interrupt.kind} {interrupt.call.call_id if interrupt.call else ''}")
            await decide(rt, interrupt, ledger)
    return asked


def doubled(ledger: Ledger, effects: Sequence[str]) -> list[str]:
    lines = [line for line in ledger.lines() if line.split()[0] in effects]
    return sorted({line for line in lines if lines.count(line) > 1})


async def test_what_was_approved_at_the_time_of_the_backup_is_not_done_twice(
    begin: Begin, db: str, address: str, backup: str, ledger: Ledger
) -> None:
    desk = await begin("refunds")
    await desk.do("start", agent="refunds", run="r1")
    await desk.do("wait", run="r1")
    await desk.end()
    async with Runtime(address) as rt:  # has no program: nobody spends the approval
        await rt.approve("r1:1.0?0", by="ann")
    back_up(db, backup)
    worker = await begin("refunds")
    assert (await worker.do("wait", run="r1"))["status"] == "completed"
    await worker.kill()
    assert ledger.lines() == ["refund r1 A1 500"]

    done = await restore(backup, db, by="ops")

    assert (done.runs, done.held) == (1, 1)
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.get("r1")
        assert await run.status() == "paused"
        await run.resume(by="ops")
        [interrupt] = (await paused(run)).interrupts
        assert interrupt.kind == "in_doubt" and interrupt.call and "restored from a backup" in interrupt.call.reason
        await rt.answer(interrupt.id, {"choice": "happened", "result": "paid"}, by="ann")
        assert (await completed(run)).output == "refunded"
        assert ledger.lines() == ["refund r1 A1 500"]
        assert await rt.store.verify() == []


async def test_what_was_in_flight_at_the_time_of_the_backup_is_in_doubt(
    begin: Begin, db: str, address: str, backup: str, ledger: Ledger
) -> None:
    worker = await begin("slowly")
    await worker.do("start", agent="slowly", run="r1")
    await ledger.until("began 1.0")
    back_up(db, backup)
    ledger.open("tool")
    assert (await worker.do("wait", run="r1"))["status"] == "completed"
    await worker.kill()
    await restore(backup, db)
    again = await begin("slowly")
    async with Runtime(address) as rt:
        run = await rt.get("r1")
        assert await run.status() == "paused"
        await run.resume(by="ops")
        [interrupt] = (await again.do("wait", run="r1"))["interrupts"]
        await rt.answer(interrupt, {"choice": "happened", "result": "seen"}, by="ann")
    assert (await again.do("wait", run="r1"))["status"] == "completed"
    assert ledger.lines() == ["began 1.0", "ended 1.0"]


async def test_verify_settles_by_itself_what_the_backup_does_not_know(
    db: str, address: str, backup: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(wirers(), "go", run_id="r1")
        await paused(run)
        other = await rt.start(wirers(), "go", run_id="r2")
        await paused(other)
        back_up(db, backup)
        await rt.approve("r1:1.0?0", by="ann")
        await completed(run)
    await restore(backup, db)
    async with Runtime(address, [wirers()], resources={"ledger": ledger}) as rt:
        run = await rt.get("r1")
        await run.resume(by="ops")
        assert (await completed(run)).output == "wired"
        assert [x.answer for _, x in await rt.store.load("r1") if isinstance(x, Verified)] == ["happened"]
        assert ledger.lines().count("wire 1.0") == 1
        assert [x for _, x in await rt.store.load("r1") if isinstance(x, Intended)] == []


async def the_whole_journal(agent: Agent | Flow, folder: Path) -> tuple[list[AnyRecord], list[str]]:
    """A run from its beginning to its end, with what it did to the world."""
    ledger = Ledger(folder / "first")
    async with Runtime(f"sqlite:///{folder / 'first.db'}", resources={"ledger": ledger}) as rt:
        run = await rt.start(agent, "go", run_id="r1")
        await to_its_end(rt, run, ledger)
        return [record for _, record in await rt.store.load("r1")], ledger.lines()


@pytest.mark.parametrize("program", [payers, shop])
async def test_wherever_the_backup_ends_no_call_that_it_knows_is_done_twice(program: Any, folder: Path) -> None:
    """Every beginning of a journal is a backup. The world is the one of the end: all of it has happened."""
    records, happened = await the_whole_journal(program(), folder)
    started = records[0]
    assert isinstance(started, Started)
    bothered = 0
    for length in range(2, len(records)):
        past, db, ledger = str(folder / f"past{length}"), str(folder / f"now{length}"), Ledger(folder / f"l{length}")
        store = SQLiteStore(past)
        await store.create(started, records[1:length])
        await store.close()
        for line in happened:
            ledger.write(line)
        await restore(past, db)
        known = State().fold_all(list(enumerate(records[:length], 1)))
        async with Runtime(f"sqlite:///{db}", [program()], resources={"ledger": ledger}) as rt:
            await check_rows(rt.store, "r1")
            run = await rt.get("r1")
            await run.resume(by="ops")
            bothered += len(await to_its_end(rt, run, ledger))
            await check_rows(rt.store, "r1")
            assert await rt.store.verify() == []
        twice = doubled(ledger, ("pay", "pay_much", "wire", "order", "charge"))
        assert not [line for line in twice if line.split()[1] in known.live], (length, twice)
        assert len({line for line in ledger.lines() if line.startswith("put")}) <= 1, "the same key as before"
    assert bothered


async def test_a_call_that_may_have_begun_is_named_if_the_run_is_cancelled_instead(
    db: str, address: str, backup: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        await paused(await rt.start(refunds(ledger), "go", run_id="r1"))
        back_up(db, backup)
    await restore(backup, db)
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        assert await rt.inbox() == [], "nobody approves what may have happened already"
        run = await rt.get("r1")
        await run.cancel(by="ops")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Cancelled)
        assert [(x["tool"], x["why"]) for x in outcome.residue] == [("refund", "in doubt")]


async def test_two_restores_in_a_row_leave_every_earlier_worker_behind(
    db: str, address: str, backup: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        await paused(await rt.start(refunds(ledger), "go", run_id="r1"))
        await paused(await rt.start(refunds(ledger), "go", run_id="r2"))
    back_up(db, backup)
    epochs: list[int] = []
    for _ in range(2):
        await restore(backup, db, by="ops")
        async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
            for id in ("r1", "r2"):
                run = await rt.get(id)
                await run.resume(by="ops")
                await paused(run)
            rows = [await rt.store.get(id) for id in ("r1", "r2")]
            journal = [record for _, record in await rt.store.load("r1")]
            assert sum(isinstance(x, Restored) for x in journal) == 1
            assert [x.by for x in journal if isinstance(x, Resumed)] == ["ops"]
            assert await rt.store.verify() == []
        assert not epochs or min(row.epoch for row in rows) > max(epochs)
        epochs += [row.epoch for row in rows]
    await restore(db_of(db), backup)  # what was restored is itself a backup that can be restored
    store = SQLiteStore(backup)
    assert sum(isinstance(x, Restored) for _, x in await store.load("r1")) == 2
    assert await store.verify() == []
    await store.close()


def db_of(db: str) -> str:
    copy = f"{db}.copy"
    back_up(db, copy)
    return copy


async def test_a_run_that_had_ended_is_left_as_it_was(db: str, address: str, backup: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(wirers(), "go", run_id="r1")
        await paused(run)
        await rt.approve("r1:1.0?0", by="ann")
        await completed(run)
        before = await rt.store.load("r1")
    back_up(db, backup)
    assert (await restore(backup, db)).held == 0
    async with Runtime(address) as rt:
        assert await rt.store.load("r1") == before
        assert any(isinstance(x, Returned) for _, x in before)


# In place, under a worker that is at work


def two_payments() -> Agent:
    calls = [call("pay_much", n=1)], [call("pay_much", n=2)]
    return Agent("two", model=ScriptedModel(*calls, "both paid"), tools=[pay_much], policy=Policy([ask("pay_much")]))


def overwrite(db: str, backup: str) -> None:
    """As `.restore` of the sqlite3 shell does: the same file, other pages."""
    source, target = apsw.Connection(backup), apsw.Connection(db)
    with target.backup("main", source, "main") as copying:
        while not copying.done:
            copying.step()
    source.close()
    target.close()


async def test_a_worker_notices_that_the_database_was_restored_in_place_under_what_it_keeps(
    db: str, address: str, backup: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        runs = [await rt.start(two_payments(), "go", run_id=id) for id in ("r1", "r2")]
        for run in runs:
            await paused(run)
        back_up(db, backup)
        for run in runs:
            await rt.approve(f"{run.id}:1.0?0", by="ann")
            assert [i.id for i in (await paused(run)).interrupts] == [f"{run.id}:2.0?0"]

        overwrite(db, backup)

        for run in runs:
            await rt.approve(f"{run.id}:1.0?0", by="ann")
            assert [i.id for i in (await paused(run)).interrupts] == [f"{run.id}:2.0?0"]
            await rt.approve(f"{run.id}:2.0?0", by="ann")
            assert (await completed(run)).output == "both paid"
            await check_rows(rt.store, run.id)
        assert await rt.store.verify() == []


async def test_a_worker_notices_another_history_of_the_same_length(
    db: str, address: str, backup: str, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(two_payments(), "go", run_id="r1")
        await paused(run)
        back_up(db, backup)
        other = SQLiteStore(backup)
        for n in range(20):
            await other.deliver("r1", Said(text=f"word {n}"))
        await other.close()
        await rt.approve("r1:1.0?0", by="ann")
        assert [i.id for i in (await paused(run)).interrupts] == ["r1:2.0?0"]

        overwrite(db, backup)

        await rt.approve("r1:1.0?0", by="ann")
        assert [i.id for i in (await paused(run)).interrupts] == ["r1:2.0?0"]
        intents = [x.call for _, x in await rt.store.load("r1") if isinstance(x, Intended)]
        assert intents == ["1.0"], "what was agreed to in this history"
        assert "the store was restored or replaced" in caplog.text and "driver failed" not in caplog.text
        assert await rt.store.verify() == []
        await check_rows(rt.store, "r1")


async def test_a_worker_notices_that_the_database_was_restored_in_place_while_it_drives(
    db: str, address: str, backup: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(slow_payer(), "go", run_id="r1")
        await ledger.until("began 1.0")
        back_up(db, backup)
        ledger.open("tool")
        await ledger.until("began 2.0")
        overwrite(db, backup)
        Path(f"{ledger.path}.second").touch()
        [interrupt] = (await paused(run)).interrupts
        assert interrupt.kind == "in_doubt" and interrupt.call and interrupt.call.call_id == "1.0"
        assert await rt.store.verify() == []
        await check_rows(rt.store, "r1")


@tool(effect="unsafe")
async def slow_pay(ctx: ToolContext, gate: str, ledger: Book) -> str:
    """Pays when the gate is open."""
    ledger.write("began", ctx.call_id)
    await ledger.gate(gate)
    return "paid"


def slow_payer() -> Agent:
    model = ScriptedModel([call("slow_pay", gate="tool")], [call("slow_pay", gate="second")], "paid")
    return Agent("slow_payer", model=model, tools=[slow_pay])
