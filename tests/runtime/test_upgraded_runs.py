"""A stored run whose program changed goes on by its upgrader: nothing is written again, and nobody has agreed to anything new."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import (
    Agent,
    Checkpoint,
    InDoubt,
    Policy,
    ProgramChanged,
    Runtime,
    ToolContext,
    ask,
    pause_for,
    register_upgrader,
    tool,
)
from adjourn.core.action_digest import idempotency_key
from adjourn.core.records import Asked, Claimed, Closed, Decided, Intended, Upgraded
from adjourn.core.state import State
from adjourn.models import Result
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease, Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import ScriptedModel, call
from adjourn.views.timeline import Timeline

NAMES = {1: "transfer", 2: "pay", 3: "settle"}
Plain = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No upgrader outlives its test."""
    yield
    register_upgrader("shop", None)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(str(tmp_path / "a.db"))
    yield made
    await made.close()


class World:
    """What was really done, whatever a journal says."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.keys: list[str] = []


def shop(
    version: int, world: World, *rules: Any, many: int = 1, wonders: int = 1, pays_again: bool = False
) -> Agent[Any]:
    """The same agent with another name for its tool in each version, and in the third for its argument."""
    name = NAMES[version]

    async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        world.done.append(("undo", name, args, result))
        world.keys.append(ctx.idempotency_key)

    async def done(ctx: ToolContext, cents: int) -> str:
        world.done.append((name, cents))
        world.keys.append(ctx.idempotency_key)
        return f"paid {cents}"

    @tool(name=name, undo=take_back)
    async def cents(ctx: ToolContext, cents: int) -> str:
        """Pay."""
        return await done(ctx, cents)

    @tool(name=name, undo=take_back)
    async def amount(ctx: ToolContext, amount: int) -> str:
        """Pay."""
        return await done(ctx, amount)

    @tool(effect="read")
    async def wonder(question: str) -> str:
        """Ask."""
        pause_for("question", {"question": question})

    asked = [call(name, **{"amount" if version == 3 else "cents": 5 + n}) for n in range(many)]
    words = [[call("wonder", question=f"more {n}?")] for n in range(wonders)]
    model = ScriptedModel(asked, *words, *([asked] if pays_again else []), *["done"] * 4)
    policy = Policy(rules, default="allow")
    return Agent("shop", model=model, tools=[amount if version == 3 else cents, wonder], policy=policy)


def renaming(*versions: int, seen: list[list[str]] | None = None) -> Callable[[Plain, list[str]], Plain]:
    """An upgrader from the first of these versions to the last."""
    old, new = NAMES[versions[0]], NAMES[versions[-1]]

    def upgrade(records: Plain, changes: list[str]) -> Plain:
        if seen is not None:
            seen.append(changes)
        for named in [*records, *(part for record in records for part in record.get("parts", ()))]:
            if named.get("tool") == old:
                named["tool"] = new
                for key in ("args", "edit"):
                    if versions[-1] == 3 and isinstance(named.get(key), dict):
                        named[key] = {"amount": named[key].get("cents", named[key].get("amount"))}
        for record in records:
            if versions[-1] == 3 and isinstance(record.get("edit"), dict):
                record["edit"] = {"amount": record["edit"].get("cents", record["edit"].get("amount"))}
        return records

    return upgrade


async def begun(store: Store, agent: Agent[Any], *names: str) -> None:
    """Runs of this version, at rest; its runtime is closed."""
    async with Runtime(store, [agent]) as rt:
        for name in names or ("r1",):
            await (await rt.start(agent, "go", run_id=name, by="olga")).wait(LIMIT)


async def decided(store: Store, run: str = "r1", **how: Any) -> None:
    async with Runtime(store, work=False) as rt:
        for item in await rt.inbox(run=run):
            if item.kind == "approval":
                await rt.approve(item.id, by="ana", **how)
            else:
                await rt.answer(item.id, how.get("value", "yes"), by="ana")


async def records(store: Store, run: str = "r1") -> list[Any]:
    return [record for _, record in await store.load(run)]


async def only(store: Store, kind: type[Any], run: str = "r1") -> list[Any]:
    return [record for record in await records(store, run) if isinstance(record, kind)]


async def test_a_stored_run_follows_a_renamed_tool_and_says_so_everywhere(store: Store) -> None:
    world, seen = World(), list[list[str]]()
    await begun(store, shop(1, world), "r1", "r2")
    before = await records(store)
    register_upgrader("shop", renaming(1, 2, seen=seen))
    for name in ("r1", "r2"):
        await decided(store, name)
    async with Runtime(store, [shop(2, world)]) as rt:
        for name in ("r1", "r2"):
            run = await rt.get(name)
            outcome = await run.wait(LIMIT)
            assert outcome.status == "completed"
            assert [m.tool for m in await run.messages() if isinstance(m, Result)] == ["pay", "wonder"]
            [step] = [x for x in Timeline.of(await store.load(name), 0.0).steps if x.kind == "upgrade"]
            assert "'transfer' is gone" in step.text
            [line] = [line for line in await run.audit() if line.verb == "upgrade"]
            assert line.more["changes"] == seen[0]
        assert await rt.verify() == []
    assert (await records(store))[: len(before)] == before, "nothing is written again"
    assert world.done == [("transfer", 5)] * 2
    [upgraded] = await only(store, Upgraded)
    assert upgraded.changes == tuple(seen[0])


async def test_what_waits_for_an_approval_is_asked_again_under_its_new_name(store: Store) -> None:
    """Two calls wait. One was approved as `transfer`, and that was all that anybody agreed to."""
    world = World()
    await begun(store, shop(1, world, ask("transfer"), many=2))
    async with Runtime(store, work=False) as rt:
        first, second = await rt.inbox(run="r1")
        await rt.approve(first.id, by="ana")
    register_upgrader("shop", renaming(1, 2))
    async with Runtime(store, [shop(2, world, ask("pay"))]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
        items = await rt.inbox(run="r1")
        assert [item.call.tool for item in items if item.call] == ["pay", "pay"]
        assert not {first.id, second.id} & {item.id for item in items}
        shown = [step for step in Timeline.of(await store.load("r1")).steps if step.kind == "tool"]
        assert [(step.name, step.arguments) for step in shown] == [("pay", {"cents": 5}), ("pay", {"cents": 6})]
        assert world.done == []
        for item in items:
            await rt.approve(item.id, by="ana")
        await (await rt.get("r1")).wait(LIMIT)
        assert sorted(world.done) == [("pay", 5), ("pay", 6)]
        assert await rt.verify() == []
    assert [x.i for x in await only(store, Closed)] == ["1.1?0", "1.0?0"]


async def test_what_was_approved_and_has_run_stays_so_and_is_undone_once_under_its_new_name(store: Store) -> None:
    world = World()
    await begun(store, shop(1, world, ask("transfer")))
    async with Runtime(store, [shop(1, world, ask("transfer"))]) as rt:
        [item] = await rt.inbox(run="r1")
        await rt.approve(item.id, by="ana", edit={"cents": 7})
        await (await rt.get("r1")).wait(LIMIT)
        [item] = await rt.inbox(run="r1")
        assert item.kind == "question"
    assert world.done == [("transfer", 7)]
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).cancel(by="ana")
    register_upgrader("shop", renaming(1, 3))
    async with Runtime(store, [shop(3, world, ask("settle"))]) as rt:
        outcome = await (await rt.get("r1")).wait(LIMIT)
        assert outcome.status == "cancelled"
        assert await rt.verify() == []
    assert world.done == [("transfer", 7), ("undo", "settle", {"amount": 7}, "paid 7")]
    assert world.keys[1:] == [idempotency_key("r1", "1.0!undo", "transfer", {"cents": 7})]


async def test_a_call_in_doubt_stays_in_doubt_and_runs_again_only_as_somebody_agrees_to_it_now(store: Store) -> None:
    world = World()

    @tool(name="transfer")
    async def lost(ctx: ToolContext, cents: int) -> str:
        """Pay."""
        world.done.append(("transfer", cents))
        world.keys.append(ctx.idempotency_key)
        raise InDoubt("no answer came")

    first = shop(1, world, ask("transfer"))
    model = ScriptedModel([call("transfer", cents=5)], "done")
    policy = Policy([ask("transfer")], default="allow")
    first = Agent("shop", model=model, tools=[lost, first.tools["wonder"]], policy=policy)
    await begun(store, first)
    async with Runtime(store, [first]) as rt:
        [item] = await rt.inbox(run="r1")
        await rt.approve(item.id, by="ana")
        await (await rt.get("r1")).wait(LIMIT)
        [item] = await rt.inbox(run="r1")
        assert item.kind == "in_doubt"
    register_upgrader("shop", renaming(1, 2))
    async with Runtime(store, work=False) as rt:
        await rt.answer(item.id, {"choice": "run"}, by="ana")
    async with Runtime(store, [shop(2, world, ask("pay"), wonders=0)]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
        assert world.done == [("transfer", 5)], "somebody said that `transfer` shall run, nobody that `pay` shall"
        [item] = await rt.inbox(run="r1")
        assert item.call and item.call.tool == "pay"
        await rt.approve(item.id, by="ana")
        await (await rt.get("r1")).wait(LIMIT)
        assert await rt.verify() == []
    assert world.done == [("transfer", 5), ("pay", 5)]
    assert len(set(world.keys)) == 1, "its target knows it by the key that it began with"


async def test_two_upgrades_in_a_row(store: Store) -> None:
    world = World()
    await begun(store, shop(1, world, wonders=2))
    register_upgrader("shop", renaming(1, 2))
    await decided(store)
    async with Runtime(store, [shop(2, world, wonders=2)]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
    register_upgrader("shop", renaming(2, 3))
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).cancel(by="ana")
    async with Runtime(store, [shop(3, world)]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
        assert await rt.verify() == []
    assert world.done == [("transfer", 5), ("undo", "settle", {"amount": 5}, "paid 5")]
    assert world.keys[1:] == [idempotency_key("r1", "1.0!undo", "transfer", {"cents": 5})]
    assert len(await only(store, Upgraded)) == 2


async def test_a_checkpoint_of_an_upgraded_run_needs_no_upgrader_and_nor_does_a_fork(store: Store) -> None:
    """Wherever it is cut: before the upgrade as well, which a fork that asks people again always is."""
    world = World()
    await begun(store, shop(1, world))
    register_upgrader("shop", renaming(1, 2))
    await decided(store)
    agent = shop(2, world, wonders=2)
    async with Runtime(store, [agent]) as rt:
        run = await rt.get("r1")
        await run.wait(LIMIT)
        register_upgrader("shop", None)
        saved = (await run.checkpoint()).to_json()
        forks = [await run.fork(by="ada"), await run.fork(2, by="ada"), await run.fork(by="ada", answers="keep")]
        forks.append(await forks[0].fork(by="ada"))
        for fork in forks:
            await fork.wait(LIMIT)
            assert await fork.status() == "waiting"
            assert {m.tool for m in await fork.messages() if isinstance(m, Result)} <= {"pay", "wonder"}
        assert len([x for x in await only(store, Upgraded, forks[2].id)]) == 1
        assert await rt.verify() == []
    assert sorted(world.done) == [("pay", 5), ("transfer", 5)], "the one that was cut before it pays by itself"
    assert Checkpoint.from_json(saved).state.fingerprint == agent.fingerprint
    async with Runtime(MemoryStore(), [agent]) as rt:
        run = await rt.resume(saved, "yes", by="ada")
        assert (await run.wait(LIMIT)).status == "completed"
        assert await rt.verify() == []


async def test_an_upgrader_is_not_asked_about_a_run_that_fits(store: Store) -> None:
    world, seen = World(), list[list[str]]()
    await begun(store, shop(1, world))
    register_upgrader("shop", renaming(1, 2, seen=seen))
    await decided(store)
    async with Runtime(store, [shop(1, world)]) as rt:
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "completed"
    assert seen == [] and await only(store, Upgraded) == []


def fails(records: Plain, changes: list[str]) -> Plain:
    raise LookupError("no such tool")


def loses(records: Plain, changes: list[str]) -> Plain:
    return renaming(1, 2)(records, changes)[:-1]


def invents(records: Plain, changes: list[str]) -> Plain:
    return [*renaming(1, 2)(records, changes), {"t": "decided", "i": "0.0?0", "verdict": "approve", "by": "ana"}]


def impersonates(records: Plain, changes: list[str]) -> Plain:
    for record in records:
        if record["t"] == "started":
            record["by"] = "somebody else"
    return records


def swaps(records: Plain, changes: list[str]) -> Plain:
    records[-1] = {"t": "completed", "output": "it is over"}
    return records


def nonsense(records: Plain, changes: list[str]) -> Any:
    return "what?"


@pytest.mark.parametrize("upgrade", [fails, loses, invents, impersonates, swaps, nonsense])
async def test_a_failing_upgrader_leaves_the_run_untouched_and_visible(store: Store, upgrade: Any) -> None:
    world = World()
    await begun(store, shop(1, world))
    await decided(store)
    before = await records(store)
    register_upgrader("shop", upgrade)
    async with Runtime(store, [shop(2, world)]) as rt:
        with pytest.raises(ProgramChanged, match="its upgrader failed"):
            await (await rt.get("r1")).wait(LIMIT)
        [misfit] = await store.misfits(runs=["r1"])
        assert "its upgrader failed" in misfit.why and "'transfer' is gone" in misfit.why
        assert await records(store) == before
        register_upgrader("shop", renaming(1, 2))  # it is asked again, by the next sweep
        bell = asyncio.Event()
        end = store.subscribe("r1", bell.set)
        async with asyncio.timeout(LIMIT):
            while (await store.get("r1")).status != "completed":
                await bell.wait()
                bell.clear()
        end()
        assert await rt.verify() == []


async def test_of_two_workers_the_one_with_the_upgrader_takes_it_and_the_old_version_lets_go(store: Store) -> None:
    world = World()
    await begun(store, shop(1, world))
    await decided(store)
    async with Runtime(store, [shop(2, world, wonders=2)]) as without:
        with pytest.raises(ProgramChanged):
            await (await without.get("r1")).wait(LIMIT)
        register_upgrader("shop", renaming(1, 2))
        async with Runtime(store, [shop(2, world, wonders=2)]) as rt:
            await (await rt.get("r1")).wait(LIMIT)
            assert len(await only(store, Upgraded)) == 1
    await decided(store)
    register_upgrader("shop", None)
    async with Runtime(store, [shop(1, world)]) as old:
        with pytest.raises(ProgramChanged):
            await (await old.get("r1")).wait(LIMIT)


class Lossy:
    """A store that dies in the moment of the upgrade, once."""

    def __init__(self, store: Any) -> None:
        self._store, self.died = store, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, lease: Lease, facts: Any, moves: Any, *, seen: int) -> Committed:
        if not self.died and any(isinstance(move, Upgraded) for move in moves):
            self.died = True
            raise RuntimeError("the process dies here")
        return await self._store.commit(lease, facts, moves, seen=seen)


async def test_a_crash_between_taking_the_run_and_the_upgrade_costs_nothing(store: Store) -> None:
    world = World()
    await begun(store, shop(1, world))
    await decided(store)
    register_upgrader("shop", renaming(1, 2))
    lossy: Any = Lossy(store)
    async with Runtime(lossy, [shop(2, world)]) as rt:
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "completed"
        assert lossy.died
    assert len(await only(store, Upgraded)) == 1
    assert len([x for x in await only(store, Claimed)]) >= 3
    assert world.done == [("transfer", 5)]


async def test_what_somebody_says_in_between_is_upgraded_as_well(store: Store) -> None:
    """The upgrade lands only if its worker has seen everything; else it is made anew."""
    world = World()
    await begun(store, shop(1, world))
    await decided(store)
    times = 0

    def upgrade(records: Plain, changes: list[str]) -> Plain:
        nonlocal times
        times += 1
        return renaming(1, 2)(records, changes)

    class Interrupted(Lossy):
        async def commit(self, lease: Lease, facts: Any, moves: Any, *, seen: int) -> Committed:
            if not self.died and any(isinstance(move, Upgraded) for move in moves):
                self.died = True
                async with Runtime(self._store, work=False) as rt:
                    await (await rt.get("r1")).say("hurry", by="olga")
            return await self._store.commit(lease, facts, moves, seen=seen)

    register_upgrader("shop", upgrade)
    interrupted: Any = Interrupted(store)
    async with Runtime(interrupted, [shop(2, world)]) as rt:
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "completed"
        assert await rt.verify() == []
    assert times == 4, "before it was taken, once it was, in the commit that came too late, and in the one that landed"
    assert len(await only(store, Upgraded)) == 1


async def test_an_agreement_for_the_whole_run_is_not_one_for_the_new_name(store: Store) -> None:
    world = World()
    first = shop(1, world, ask("transfer"))
    await begun(store, first)
    async with Runtime(store, [shop(1, world, ask("transfer"))]) as rt:
        [item] = await rt.inbox(run="r1")
        await rt.approve(item.id, by="ana", scope="run")
        await (await rt.get("r1")).wait(LIMIT)
    register_upgrader("shop", renaming(1, 2))
    await decided(store)
    async with Runtime(store, [shop(2, world, ask("pay"), pays_again=True)]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
        [item] = await rt.inbox(run="r1")
        assert item.kind == "approval" and item.call and item.call.tool == "pay"
        assert world.done == [("transfer", 5)]
        assert await rt.verify() == []


async def test_whoever_folds_only_what_is_new_is_told_to_fold_again(store: Store) -> None:
    world = World()
    await begun(store, shop(1, world))
    before = State().fold_all(await store.load("r1"))
    register_upgrader("shop", renaming(1, 2))
    await decided(store)
    async with Runtime(store, [shop(2, world)]) as rt:
        watched = [x async for x in (await rt.get("r1")).watch() if getattr(x, "record", None)]
        assert watched
    with pytest.raises(ValueError, match="upgraded"):
        before.fold_all(await store.load("r1", before.seq))
    whole = State().fold_all(await store.load("r1"))
    assert whole.called >= {"pay"} and "transfer" not in whole.called
    assert not [x for x in await only(store, Intended) if x.tool == "pay"] and await only(store, Decided)
    assert not await only(store, Asked)


async def test_an_upgrade_comes_after_what_somebody_had_accepted(store: Store) -> None:
    """They accepted the second version; the third has an upgrader, and is what the run is of from then on."""
    world = World()
    await begun(store, shop(1, world))
    await decided(store)
    async with Runtime(store, [shop(2, world)]) as rt:
        with pytest.raises(ProgramChanged):
            await (await rt.get("r1")).wait(LIMIT)
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).accept(by="ana")
    register_upgrader("shop", renaming(1, 3))
    third = shop(3, world)
    async with Runtime(store, [third]) as rt:
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "completed"
        assert await rt.verify() == []
    assert State().fold_all(await store.load("r1")).fingerprint == third.fingerprint
    assert len(await only(store, Upgraded)) == 1
