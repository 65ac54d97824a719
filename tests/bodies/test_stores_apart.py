"""Two stores that are open in one process may each have a run of the same id: neither has anything of the other's."""

import asyncio
import logging
import os
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.bodies.cases import KINDS, LIMIT, Bank, Kind, Place, cancelled, program
from tests.logs import ours

from adjourn import Agent, Completed, Decision, Paused, Policy, Runtime, Tool, ToolContext, ask
from adjourn.agent.cost_limits import warn_of_no_cost
from adjourn.core.messages import Reply
from adjourn.core.records import Returned
from adjourn.core.usage import Usage
from adjourn.driver import unfinished_bodies as flights
from adjourn.driver.located_run import LocatedRun, home_of
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.run_row import MARKED, RunRow, is_saying, note_worker
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import ScriptedModel, call

Stores = Literal["memory", "sqlite"]
STORES: tuple[Stores, ...] = ("memory", "sqlite")


class World:
    """Two stores, each with a runtime of a program that is made for it."""

    def __init__(self, kind: Stores, folder: Path) -> None:
        self.places = [Place(), Place()]
        self.stores: list[Store] = [place.store for place in self.places]
        if kind == "sqlite":
            self.stores = [SQLiteStore(str(folder / f"{name}.db")) for name in ("one", "two")]

    def runtimes(self, *programs: Any) -> list[Runtime]:
        return [Runtime(store, [one], grace=0.3) for store, one in zip(self.stores, programs, strict=True)]

    async def close(self) -> None:
        for store in self.stores:
            await store.close()


def asks(ctx: ToolContext) -> None:
    ctx.pause_for("question", "go on?")


async def waits(*runs: Any) -> None:
    """Until each of the runs rests."""
    async with asyncio.timeout(LIMIT):
        while not all([await run.status() == "waiting" for run in runs]):
            await asyncio.sleep(0.005)


async def returned(rt: Runtime) -> list[Any]:
    """The values of all calls in the journal of the run."""
    return [record.value for _, record in await rt.store.load("r") if isinstance(record, Returned)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stores", STORES)
async def test_each_store_runs_the_body_of_its_own_run(stores: Stores, kind: Kind, bank: Bank, tmp_path: Path) -> None:
    world = World(stores, tmp_path)

    def paying(name: str) -> Any:
        def pay(ctx: ToolContext) -> str:
            bank.write(f"{name} begins")
            bank.hold("bank")
            bank.write(f"{name} paid")
            return name

        return program(kind, pay, effect="unsafe")

    first, second = paying("one"), paying("two")
    one, two = world.runtimes(first, second)
    async with one, two:
        runs = [await one.start(first, "go", run_id="r")]
        await bank.until("one begins")
        runs.append(await two.start(second, "go", run_id="r"))
        await bank.until("two begins")
        bank.gate("bank").set()
        for run in runs:
            assert isinstance(await run.wait(LIMIT), Completed)
        assert (await returned(one), await returned(two)) == (["one"], ["two"])
    await world.close()
    assert sorted(bank.lines[2:]) == ["one paid", "two paid"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stores", STORES)
async def test_each_store_undoes_what_its_own_run_did(stores: Stores, kind: Kind, bank: Bank, tmp_path: Path) -> None:
    world = World(stores, tmp_path)

    def paying(name: str) -> Any:
        async def pay(ctx: ToolContext) -> str:
            return name

        def refund(ctx: ToolContext, args: Any, result: Any) -> None:
            bank.write(f"refund of {name}")
            bank.hold("refund")
            bank.write(f"refunded {result}")

        return program(kind, pay, asks, effect="unsafe", undo=refund)

    first, second = paying("one"), paying("two")
    one, two = world.runtimes(first, second)
    async with one, two:
        runs = [await one.start(first, "go", run_id="r"), await two.start(second, "go", run_id="r")]
        await waits(*runs)
        await runs[0].cancel(by="ann")
        await bank.until("refund of one")
        await runs[1].cancel(by="ann")
        await bank.until("refund of two")
        bank.gate("refund").set()
        assert [len((await cancelled(run)).undone) for run in runs] == [1, 1]
    await world.close()
    assert sorted(bank.lines[2:]) == ["refunded one", "refunded two"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stores", STORES)
async def test_a_store_runs_no_compensation_that_another_ones_body_gave(
    stores: Stores, kind: Kind, bank: Bank, tmp_path: Path
) -> None:
    world = World(stores, tmp_path)

    def holding(name: str) -> Any:
        def release() -> None:
            bank.write(f"released {name}")

        async def hold(ctx: ToolContext) -> str:
            await ctx.on_cancel(release)
            bank.write(f"{name} holds")
            await asyncio.sleep(60)
            return name

        return program(kind, hold, effect="unsafe")

    first, second = holding("one"), holding("two")
    one, two = world.runtimes(first, second)
    async with one, two:
        runs = [await one.start(first, "go", run_id="r"), await two.start(second, "go", run_id="r")]
        await bank.until("one holds", "two holds")
        await runs[0].cancel(by="ann")
        assert (await cancelled(runs[0])).residue == []
        assert bank.lines[2:] == ["released one"]
        await runs[1].cancel(by="ann")
        assert (await cancelled(runs[1])).residue == []
    await world.close()
    assert bank.lines[2:] == ["released one", "released two"]


# Without a store


def payer(bank: Bank, gate: str = "bank") -> Agent:
    def pay(ctx: ToolContext, to: str) -> str:
        bank.write(f"{to} begins")
        bank.hold(gate)
        bank.write(f"{to} paid")
        return f"paid {to}"

    tool = Tool("pay", "Pay.", {"type": "object", "properties": {"to": {"type": "string"}}}, pay, effect="unsafe")
    model = ScriptedModel([call("pay", to="nobody")], lambda messages: str(messages[-1]))
    return Agent("payer", model=model, tools=[tool], policy=Policy([ask("pay")]))


async def paused(agent: Agent) -> str:
    outcome = await agent.run("go")
    assert isinstance(outcome, Paused)
    return outcome.checkpoint.to_json()


def resumed(agent: Agent, saved: str, to: str) -> "asyncio.Task[Any]":
    return asyncio.ensure_future(agent.resume(saved, Decision.approve(edit={"to": to}), by="ann"))


async def test_a_checkpoint_that_is_resumed_twice_at_once_pays_each_its_own_way(bank: Bank) -> None:
    agent = payer(bank)
    saved = await paused(agent)
    first = resumed(agent, saved, "alice")
    await bank.until("alice begins")
    second = resumed(agent, saved, "bob")
    await bank.until("bob begins")
    bank.gate("bank").set()
    one, two = await asyncio.gather(first, second)
    assert "paid alice" in one.output and "paid bob" in two.output
    assert "alice" not in two.output


async def test_a_checkpoint_that_is_resumed_again_after_a_cut_waits_for_its_own_body(bank: Bank) -> None:
    agent = payer(bank)
    saved = await paused(agent)
    first = resumed(agent, saved, "alice")
    await bank.until("alice begins")
    first.cancel()
    await asyncio.wait({first})
    assert first.cancelled()
    again = resumed(agent, saved, "alice")
    asyncio.get_running_loop().call_later(0.1, bank.gate("bank").set)
    assert "paid alice" in (await again).output
    assert bank.lines == ["alice begins", "alice paid"]


async def test_of_two_answers_to_one_checkpoint_each_is_heard(bank: Bank) -> None:
    """The arguments of the body are the same; what it was answered is not."""

    def choose(ctx: ToolContext) -> str:
        who = ctx.pause_for("question", "who?", resume_to="self")
        bank.write(f"{who} begins")
        bank.hold("bank")
        return f"chose {who}"

    agent = Agent(
        "one",
        model=ScriptedModel([call("choose")], lambda messages: str(messages[-1])),
        tools=[Tool("choose", "Choose.", {"type": "object", "properties": {}}, choose, effect="unsafe")],
    )
    saved = await paused(agent)
    first = asyncio.ensure_future(agent.resume(saved, "alice"))
    await bank.until("alice begins")
    second = asyncio.ensure_future(agent.resume(saved, "bob"))
    await bank.until("bob begins")
    bank.gate("bank").set()
    one, two = await asyncio.gather(first, second)
    assert "chose alice" in one.output and "chose bob" in two.output


# What else is kept of runs


def test_a_database_is_one_place_however_often_and_by_whatever_name_it_is_opened(tmp_path: Path) -> None:
    os.symlink(tmp_path / "runs.db", tmp_path / "also.db")
    opened = [SQLiteStore(str(tmp_path / name)) for name in ("runs.db", "runs.db", "also.db")]
    other = SQLiteStore(str(tmp_path / "other.db"))
    memories = [MemoryStore(), MemoryStore()]
    try:
        assert len({home_of(store) for store in opened}) == 1
        assert len({home_of(store) for store in (opened[0], other, *memories)}) == 4
        assert home_of(memories[0]) == home_of(memories[0])
    finally:
        for store in (*opened, other):
            asyncio.run(store.close())


async def test_a_store_does_not_wait_for_the_bodies_of_another(bank: Bank) -> None:
    place, other = Place(), Place()

    def works(ctx: ToolContext) -> str:
        bank.write("begins")
        bank.hold("work")
        return "done"

    one = program("tool", works, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        assert flights.are_at_work(home_of(place.store), {"r"})
        assert not flights.are_at_work(home_of(other.store), {"r"})
        [at] = [at for at in flights._threads if at.run == "r"]  # pyright: ignore[reportPrivateUsage]
        assert flights.calls_at_work(LocatedRun(home_of(place.store), "r"), {}) == {at.call}
        assert not flights.calls_at_work(LocatedRun(home_of(other.store), "r"), {})
        bank.gate("work").set()
        assert isinstance(await run.wait(LIMIT), Completed)


def test_an_encrypted_run_is_silent_until_no_store_has_a_worker_for_it() -> None:
    """The other store gives its run back: what this one says still goes to nobody."""
    rows = [RunRow("same", "agent", "a", worker="w", salt=bytes([n]) * MARKED) for n in (1, 2)]
    for row in rows:
        note_worker(row)
    rows[0].worker = ""
    note_worker(rows[0])
    assert is_saying("same")
    rows[1].worker = ""
    note_worker(rows[1])
    assert not is_saying("same")


def test_of_each_store_it_is_said_that_a_reply_has_no_cost(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("a", model=ScriptedModel("done"))
    free = Reply(usage=Usage(1, 10, 10))
    with caplog.at_level(logging.WARNING, "adjourn"):
        for home in ("one", "two", "one"):
            warn_of_no_cost(agent, LocatedRun(home, "no-cost"), free)
    assert len([line for line in ours(caplog) if "no-cost" in line.getMessage()]) == 2
