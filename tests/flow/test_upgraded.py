"""A stored run of a flow follows renamed chunks, conditions and agents: its calls keep the ids that people have seen."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Flow, FlowContext, ProgramChanged, Runtime, register_upgrader
from adjourn.core.records import Upgraded
from adjourn.core.renamed_chunks import keeping_ids, named_now
from adjourn.core.state import State
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.scripted import ScriptedModel

LIMIT = 20.0
V1 = {"pay": "pay", "is_large": "is_large", "tell": "tell", "writer": "writer", "inner": "inner"}
V2 = {"pay": "charge", "is_large": "is_big", "tell": "notify", "writer": "author", "inner": "core"}
V3 = {"pay": "bill", "is_large": "is_big", "tell": "notify", "writer": "poet", "inner": "core"}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No upgrader outlives its test."""
    yield
    register_upgrader("f", None)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(str(tmp_path / "a.db"))
    yield made
    await made.close()


def make(names: dict[str, str], done: list[str], *more: str) -> Flow:
    """Asks whether to pay, twice; then tells, by way of an agent and a flow inside of it."""

    async def ask(ctx: FlowContext) -> Any:
        done.append(names["pay"])
        answer = ctx.pause_for("approval", {"question": "sure?"}, resume_to="self")
        return f"{ctx.input}:{answer}"

    def tell(name: str) -> Any:
        async def told(ctx: FlowContext) -> Any:
            done.append(name)
            return ctx.input

        return told

    def large(ctx: FlowContext) -> bool:
        done.append(names["is_large"])
        return True

    async def undo(ctx: Any, args: Any, result: Any) -> None:
        done.append(f"undo {names['pay']}")

    flow, inside = Flow("f"), Flow("inside")
    inside.to(inside.chunk(name=names["inner"])(tell(names["inner"])))
    pay = flow.chunk(name=names["pay"], undo=undo)(ask)
    writer = Agent(names["writer"], model=ScriptedModel("written", "written"))
    chain = flow.to(pay).to(pay).if_(flow.chunk(name=names["is_large"], effect="read")(large))
    chain = chain.to(flow.chunk(name=names["tell"])(tell(names["tell"]))).end_if().to(writer).to(inside)
    for name in more:
        chain = chain.to(flow.chunk(name=name)(tell(name)))
    return flow


def upgrade(old: dict[str, str], new: dict[str, str]) -> Any:
    def renamed(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        text = json.dumps(records)
        for key, name in old.items():
            text = text.replace(f'"{name}"', f'"{new[key]}"')
        return json.loads(text)

    return renamed


async def answered(store: Store) -> str:
    """The id of the one question that is open, which is answered then by somebody who has no worker."""
    async with Runtime(store, work=False) as rt:
        [item] = await rt.inbox(run="r1")
        await rt.answer(item.id, "yes", by="ana")
        return item.local


async def test_renamed_chunks_go_on_where_they_were_under_the_ids_that_they_had(store: Store) -> None:
    done: list[str] = []
    first, second, third = (make(names, done) for names in (V1, V2, V3))
    async with Runtime(store, [first]) as rt:
        await (await rt.start(first, "T", run_id="r1")).wait(LIMIT)
    assert await answered(store) == "pay#0?0"
    register_upgrader("f", upgrade(V1, V2))
    async with Runtime(store, [second]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
        assert await rt.verify() == []
    assert await answered(store) == "pay#1?0"
    register_upgrader("f", upgrade(V2, V3))
    async with Runtime(store, [third]) as rt:
        outcome = await (await rt.get("r1")).wait(LIMIT)
        assert outcome.status == "completed"
        assert await rt.verify() == []
        picture = await (await rt.get("r1")).picture()
        assert all(f'"{name}"' in picture for name in ("bill", "is_big", "notify", "agent poet", "core"))
    assert done == ["pay", "charge", "charge", "bill", "is_big", "notify", "core"]
    assert len([x for _, x in await store.load("r1") if isinstance(x, Upgraded)]) == 2
    state = State().fold_all(await store.load("r1"))
    assert {"bill", "notify", "poet"} <= (state.flow.called if state.flow else set())


async def test_what_a_renamed_chunk_did_is_undone_under_its_new_name(store: Store) -> None:
    done: list[str] = []
    first, second = make(V1, done), make(V2, done)
    async with Runtime(store, [first]) as rt:
        await (await rt.start(first, "T", run_id="r1")).wait(LIMIT)
        [item] = await rt.inbox(run="r1")
        await rt.answer(item.id, "yes", by="ana")
        await (await rt.get("r1")).wait(LIMIT)
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).cancel(by="ana")
    register_upgrader("f", upgrade(V1, V2))
    async with Runtime(store, [second]) as rt:
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "cancelled"
        assert await rt.verify() == []
    assert done.count("undo charge") == 2 and "undo pay" not in done, "one has ended, the other waited"


async def test_a_chunk_more_at_the_end_is_followed_and_one_less_where_the_run_is_is_not(store: Store) -> None:
    done: list[str] = []
    first, longer = make(V1, done), make(V2, done, "archive")
    async with Runtime(store, [first]) as rt:
        await (await rt.start(first, "T", run_id="r1")).wait(LIMIT)
    await answered(store)
    before = await store.load("r1")

    def shorter(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        records[0]["graph"]["chains"][0]["items"] = records[0]["graph"]["chains"][0]["items"][2:]
        return records

    register_upgrader("f", shorter)
    async with Runtime(store, [longer]) as rt:
        with pytest.raises(ProgramChanged, match="its upgrader failed"):
            await (await rt.get("r1")).wait(LIMIT)
    assert await store.load("r1") == before

    def follow(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        records[0]["graph"] = longer.to_dict()
        return records

    register_upgrader("f", follow)
    async with Runtime(store, [longer]) as rt:
        await (await rt.get("r1")).wait(LIMIT)
        [item] = await rt.inbox(run="r1")
        await rt.answer(item.id, "yes", by="ana")
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "completed"
    assert done[-2:] == ["core", "archive"], "the chunk that came later is the last"


def test_names_are_kept_for_ids_and_shown_as_they_are_now() -> None:
    old, new = make(V1, []).to_dict(), make(V2, []).to_dict()
    kept = keeping_ids(old, new)
    assert kept["renamed"] == {"pay": "charge", "is_large": "is_big", "tell": "notify", "writer": "author"}
    assert named_now(kept) == new
    again = keeping_ids(kept, make(V3, []).to_dict())
    assert named_now(again) == make(V3, []).to_dict()
    assert again["renamed"]["pay"] == "bill"


def test_a_name_that_would_mean_two_chunks_is_refused() -> None:
    old, new = make(V1, []).to_dict(), make(V2, []).to_dict()
    new["chains"][0]["items"][1]["name"] = "another"
    with pytest.raises(ValueError, match="would become both"):
        keeping_ids(old, new)
    with pytest.raises(ValueError, match="would become both"):
        keeping_ids(old, make(V2, [], "pay").to_dict())
