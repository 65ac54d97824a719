"""Halt, the kill switch: read in the transaction of every intent, so that it works when workers hang."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from tests.again import in_time
from tests.control.conftest import Begin, Office
from tests.control.lives import stage
from tests.control.world import LIMIT, Ledger, act, boss, call, does, says, script, tell

from adjourn import Completed, Halted, Paused, Run, Runtime
from adjourn.core.records import Broke, Decided, Intended, Parked, Replied
from adjourn.stores.sqlite import SQLiteStore


async def blocked(run: Run[Any], rt: Runtime) -> tuple[str, ...]:
    """What the run is blocked by, once it rests."""
    async with asyncio.timeout(LIMIT):
        while not (row := await rt.store.get(run.id)).blocked:
            await asyncio.sleep(0.005)
    return row.blocked


@pytest.mark.parametrize("scope", ["*", "agent:solo", "tool:act"])
async def test_g15_a_halt_set_on_the_bare_file_stops_a_worker_in_another_process(office: Office, scope: str) -> None:
    name, ledger = f"bare-{scope.replace(':', '-').replace('*', 'all')}", office.ledger
    play = script(name, does(call("look", name="l"), pieces=["hm"], gate="go"), does(act("a")), says("done"))
    run = await office.start("solo", play)
    await ledger.until(name, "model asked 0")
    store = SQLiteStore(office.db)  # no runtime is needed for this
    try:
        asked = time.monotonic()
        await store.halt(scope, by="ann", reason="incident 7")
        if scope == "tool:act":
            ledger.open(name, "go")
        else:
            await ledger.until(name, "model cut 0")
            took = ledger.at(name, "model cut 0") - asked
            print(f"halt {scope}: the model call in another process was cut after {took * 1000:.0f} ms")
            in_time(took, 1.0)
        assert await blocked(run, office.desk) == (scope,)
        count = len(ledger.lines(name))
        await asyncio.sleep(0.5)  # some sweeps
        assert len(ledger.lines(name)) == count
        assert [x for _, x in await store.load(name) if isinstance(x, Intended)] == []
    finally:
        assert [h.scope for h in await store.halt(scope, by="ann", lift=True)] == []
        await store.close()
    assert isinstance(await run.wait(LIMIT), Completed)
    assert ledger.lines(name, "acted") == ["acted a"]


async def test_a_worker_whose_event_loop_is_blocked_starts_nothing_after_the_halt(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    worker = await begin("solo", lease=60.0)
    play = script("r", does(call("blocker")), does(act("a"), call("look", name="l")), says("done"))
    await worker.do("start", agent="solo", run="r", input=play)
    await ledger.until("r", "blocking")
    async with Runtime(address) as desk:
        await desk.halt("*", reason="incident 7", by="ann")
        ledger.open("r", "block")
        run = await desk.get("r")
        assert await blocked(run, desk) == ("*",)
        assert ledger.lines("r") == ["model asked 0", "blocking", "unblocked"]
        await desk.unhalt("*", by="ann")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert ledger.lines("r", "acted", "look") == ["look l", "acted a"] or ledger.lines("r", "acted", "look") == [
        "acted a", "look l",
    ]  # fmt: skip


async def test_approvals_are_refused_while_halted_and_denials_are_not(office: Office) -> None:
    play = script("deny-halt", does(call("pay", name="a"), call("pay", name="b")), says("done"))
    run = await office.start("solo", play)
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    first, second = outcome.interrupts
    await office.desk.halt("tool:pay", reason="incident 7", by="ann")
    with pytest.raises(Halted, match="incident 7"):
        await office.desk.approve(first.id, by="bob")
    await office.desk.deny(second.id, by="bob")
    assert [i.id for i in await office.desk.inbox(run="deny-halt")] == [first.id]
    await office.desk.unhalt("tool:pay", by="ann")
    await office.desk.approve(first.id, by="bob")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("deny-halt", "acted") == ["acted a"]
    refused = [x for x in await run.audit() if x.refused]
    assert [(x.by, x.verdict) for x in refused] == [("bob", "approve")]


async def test_an_approval_given_before_the_halt_is_not_spent_and_holds_afterwards(office: Office) -> None:
    run = await office.start("solo", script("before-halt", does(call("pay", name="a")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    await run.pause(by="ann")
    await office.desk.approve(outcome.interrupts[0].id, by="bob")
    await office.desk.halt("tool:pay", reason="incident 7", by="ann")
    await run.resume(by="ann")
    assert await blocked(run, office.desk) == ("tool:pay",)
    assert office.ledger.lines("before-halt", "act") == []
    await office.desk.unhalt("tool:pay", by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert len([x for x in await office.records("before-halt") if isinstance(x, Decided)]) == 1


async def test_a_halt_stops_an_undo_and_lifting_it_lets_the_cancel_end(office: Office) -> None:
    run = await office.start("solo", script("undo-halt", does(act("a")), says("", gate="never")))
    await office.ledger.until("undo-halt", "model asked 1")
    await office.desk.halt("tool:act", reason="incident 7", by="ann")
    await run.cancel(by="bob")
    assert await blocked(run, office.desk) == ("tool:act",)
    assert await run.status() == "held"
    assert office.ledger.lines("undo-halt", "undo") == []
    await office.desk.unhalt("tool:act", by="ann")
    assert (await run.wait(LIMIT)).status == "cancelled"
    assert office.ledger.lines("undo-halt", "undone") == ["undone a"]


async def test_a_read_call_in_flight_is_cut_and_runs_again_when_the_halt_is_lifted(office: Office) -> None:
    run = await office.start("solo", script("read-halt", does(call("look", name="l", gate="l")), says("done")))
    await office.ledger.until("read-halt", "look l")
    await office.desk.halt("tool:look", reason="incident 7", by="ann")
    assert await blocked(run, office.desk) == ("tool:look",)
    office.ledger.open("read-halt", "l")
    await office.desk.unhalt("tool:look", by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("read-halt", "look") == ["look l", "look l"]


async def test_a_halt_of_one_agent_leaves_the_others_alone(office: Office) -> None:
    one = tell(
        "lead", "one-halt", does(tell("hand", "one-halt", does(act("x"), gate="x"), says("x"))), says("one-halt")
    )
    play = script("one-halt", does(one, act("z")), says("done"))
    run = await office.start("boss", play)
    other = await office.start("solo", script("two-halt", does(act("y"), gate="y"), says("done")))
    await office.ledger.until("one-halt", "hand asked 0", "acted z")
    await office.ledger.until("two-halt", "model asked 0")
    await office.desk.halt("agent:hand", reason="incident 7", by="ann")
    assert await blocked(run, office.desk) == ("agent:hand",)
    office.ledger.open("two-halt", "y")
    assert isinstance(await other.wait(LIMIT), Completed)
    office.ledger.open("one-halt", "x")
    await office.desk.unhalt("agent:hand", by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("one-halt", "acted") == ["acted z"]  # the script's first reply was cut off
    assert [x.path for x in await office.records("one-halt") if isinstance(x, Broke)] == ["1.0/1.0"]


async def test_a_halted_child_does_not_cut_its_siblings_model_calls(folder: Path) -> None:
    async with stage(folder, boss) as on:
        lead = tell("lead", "r", does(tell("hand", "r", says("never said"))), says("lead done"))
        run = await on.start(script("r", does(lead, tell("lead", "r", says("slow", gate="slow"))), says("done")))
        await on.store.halt("agent:hand", by="ann", reason="x")
        await on.until(lambda: on.ledger.lines("r").count("lead asked 0") == 2)
        for _ in range(20):  # long enough for many plans
            on.clock.advance(30)
            await asyncio.sleep(0.005)
        assert not [x for x in on.ledger.lines("r") if "cut" in x]
        on.ledger.open("r", "slow")
        await on.until(lambda: on.ledger.lines("r").count("lead asked 0") == 2)
        assert on.rt is not None
        assert await blocked(run, on.rt) == ("agent:hand",)
        await on.rt.unhalt("agent:hand", by="ann")
        await on.rest(run, "completed")


async def test_a_halt_of_a_nested_agent_refuses_its_approvals_and_stops_its_undos(folder: Path) -> None:
    async with stage(folder, boss) as on:
        pay = tell("lead", "r", does(act("a")), does(call("pay", name="b")), says("lead done"))
        run = await on.start(script("r", does(pay), says("done")))
        assert await on.rest(run) == "waiting"
        [question] = (await run.state()).interrupts
        assert on.rt is not None
        await on.rt.halt("agent:lead", reason="incident 7", by="ann")
        with pytest.raises(Halted):
            await on.rt.approve(question.id, by="bob")
        await run.cancel(by="bob")
        assert await blocked(run, on.rt) == ("agent:lead",)
        assert on.ledger.lines("r", "undo") == []
        await on.rt.unhalt("agent:lead", by="ann")
        assert await on.rest(run, "cancelled") == "cancelled"
        assert on.ledger.lines("r", "undone") == ["undone a"]


async def test_a_halted_run_is_blocked_once_and_does_not_spin(folder: Path) -> None:
    async with stage(folder) as on:
        await on.store.halt("tool:act", by="ann", reason="x")
        run = await on.start(script("r", does(act("a"), call("look", name="l")), says("done")))
        assert await on.rest(run) == "held"
        for _ in range(20):
            on.clock.advance(5)
            await asyncio.sleep(0.002)
        records = await on.records("r")
        assert len([x for x in records if isinstance(x, Parked)]) == 1
        assert len([x for x in records if isinstance(x, Replied)]) == 1
        assert on.ledger.lines("r", "look", "act") == ["look l"]


async def test_halting_twice_keeps_the_first_reason_and_both_are_in_the_audit(office: Office) -> None:
    await office.desk.halt("tool:crawl", reason="first", by="ann")
    await office.desk.halt("tool:crawl", reason="second", by="bob")
    assert [(h.scope, h.reason) for h in await office.desk.halts()] == [("tool:crawl", "first")]
    await office.desk.unhalt("tool:crawl", by="carl", reason="over")
    await office.desk.unhalt("tool:crawl", by="dora")
    lines = [x for x in await office.desk.audit(limit=1000) if x.scope == "tool:crawl"]
    assert [(x.verb, x.by, x.reason, x.refused or "") for x in lines[::-1]] == [
        ("halt", "ann", "first", ""),
        ("halt", "bob", "second", ""),
        ("unhalt", "carl", "over", ""),
        ("unhalt", "dora", "", "it was not halted"),
    ]
