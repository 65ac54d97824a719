"""LangGraph's checkpoints in our stores: its own conformance kit, and what it does not ask for."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (LangGraph's own types are unknown in part)

import asyncio
import enum
import operator
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from adjourn.errors import Invalid, InvalidDefinition
from adjourn.guests.langgraph import AdjournSaver
from adjourn.secrets import KeyRing
from adjourn.stores.guest_threads import ThreadChange, ThreadRow
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock

Opens = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Opens:
    """Opens the same store of each kind."""
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    if request.param == "sqlite":
        return lambda: SQLiteStore(str(tmp_path / "adjourn.db"))
    from adjourn.stores.postgres.store import PostgresStore

    address = request.getfixturevalue("postgres").fresh()
    return lambda: PostgresStore(address)


@pytest.mark.parametrize("encrypt", [False, KeyRing({"k1": b"k" * 32})], ids=["clear", "encrypted"])
async def test_every_test_of_the_conformance_kit_passes(opens: Opens, encrypt: Any) -> None:
    store = opens()

    @checkpointer_test(name="AdjournSaver")
    async def ours() -> AsyncGenerator[Any]:
        yield AdjournSaver(store, encrypt=encrypt)

    report = await validate(ours)
    counts = {name: (result.tests_passed, result.tests_failed) for name, result in report.results.items()}
    failures = [failure for result in report.results.values() for failure in result.failures or ()]
    assert not failures and len(counts) == 8, "\n".join(failures)
    assert sum(passed for passed, _ in counts.values()) == 81, counts
    await store.close()


class Order(BaseModel):
    number: str


class Status(enum.Enum):
    PAID = "paid"


class Notes(TypedDict):
    notes: Annotated[list[Any], operator.add]


def graph_of(saver: Any, *added: Any) -> Any:
    """Adds what it is told to, then asks, then adds the answer."""

    def first(state: Notes) -> Any:
        return {"notes": list(added)}

    def second(state: Notes) -> Any:
        return {"notes": [interrupt("which?")]}

    builder = StateGraph(Notes)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder.compile(checkpointer=saver)


def thread(id: str = "t") -> Any:
    return {"configurable": {"thread_id": id}}


async def test_a_graph_that_was_interrupted_goes_on_in_another_process(opens: Opens) -> None:
    one, allow = opens(), [Order, Status]
    given = [Order(number="A1"), Status.PAID, HumanMessage("hello"), ("a", 1)]
    found = await graph_of(AdjournSaver(one, allow=allow), *given).ainvoke({"notes": ["in"]}, thread())
    assert found["__interrupt__"][0].value == "which?"
    other = opens()
    graph = graph_of(AdjournSaver(other, allow=allow))
    done = await graph.ainvoke(Command(resume="this"), thread())
    assert done["notes"][:1] + done["notes"][1:3] + done["notes"][4:] == ["in", *given[:2], ("a", 1), "this"]
    assert done["notes"][3].text == "hello"
    states = [state.values.get("notes", []) async for state in graph.aget_state_history(thread())]
    assert [len(notes) for notes in states] == [6, 5, 1, 0]
    await other.close()
    await one.close()


def test_a_program_without_an_event_loop_has_the_same(tmp_path: Path) -> None:
    saver = AdjournSaver(f"sqlite:///{tmp_path}/adjourn.db")
    graph = graph_of(saver, "one")
    graph.invoke({"notes": ["in"]}, thread())
    saver.copy_thread("t", "copy")
    assert graph.invoke(Command(resume="yes"), thread())["notes"] == ["in", "one", "yes"]
    assert len(list(graph.get_state_history(thread()))) == 4
    saver.prune(["t"])
    assert len(list(saver.list(None))) == 1 + 3
    assert graph.get_state(thread()).values["notes"] == ["in", "one", "yes"]
    assert graph.invoke(Command(resume="no"), thread("copy"))["notes"] == ["in", "one", "no"]
    saver.delete_thread("t")
    assert saver.get_tuple(thread()) is None and saver.sweep() == 0
    saver.delete_for_runs(["nothing"])
    asyncio.run(saver.aclose())


async def test_a_class_that_was_not_named_is_neither_written_nor_built(opens: Opens) -> None:
    store = opens()
    with pytest.raises(Invalid, match=r"test_langgraph_saver:Order.*allow="):
        await graph_of(AdjournSaver(store), Order(number="A1")).ainvoke({"notes": []}, thread("a"))
    await graph_of(AdjournSaver(store, allow=[Order]), Order(number="A1")).ainvoke({"notes": []}, thread("b"))
    with pytest.raises(Invalid, match="not allowed"):
        await AdjournSaver(store).aget_tuple(thread("b"))

    threads = store.guest_threads()
    for row in await threads.rows("b", "v/"):  # somebody who can write rows writes what they like
        evil = row.body.replace(b"test_langgraph_saver:Order", b"os:system")
        await threads.change("b", ThreadChange(put=[ThreadRow(row.key, evil)]))
    with pytest.raises(Invalid, match="os:system"):
        await AdjournSaver(store, allow=[Order]).aget_tuple(thread("b"))
    await store.close()


async def test_threads_that_nobody_writes_are_deleted_after_their_time(tmp_path: Path) -> None:
    clock = FakeClock()
    store = SQLiteStore(str(tmp_path / "adjourn.db"), clock.now)
    saver = AdjournSaver(store, ttl=timedelta(days=30))
    graph = graph_of(saver, "one")
    await graph.ainvoke({"notes": []}, thread("old"))
    await store.guest_threads().change("waits", ThreadChange(put=[ThreadRow("c//1", b"")], run="r1"))
    clock.advance(timedelta(days=20))
    await graph.ainvoke({"notes": []}, thread("young"))
    clock.advance(timedelta(days=20))
    assert await saver.aget_tuple(thread("old"))
    await graph.ainvoke(Command(resume="x"), thread("young"))
    assert await store.guest_threads().threads() == ["waits", "young"]
    clock.advance(timedelta(days=40))
    assert await saver.asweep() == 1
    assert await store.guest_threads().threads() == ["waits"]
    await store.close()
    for wrong in (0, 30, "0d", timedelta(0), "soon"):
        with pytest.raises(InvalidDefinition, match="ttl"):
            AdjournSaver(store, ttl=wrong)


async def test_pruning_keeps_what_the_last_checkpoint_is_put_together_of(opens: Opens) -> None:
    class Deltas(TypedDict):
        notes: Annotated[list[str], DeltaChannel(lambda old, new: [*old, *(one for part in new for one in part)])]

    def say(state: Deltas) -> Any:
        return {"notes": [f"said {len(state['notes'])}"]}

    builder = StateGraph(Deltas)
    builder.add_node("say", say)
    builder.add_edge(START, "say")
    store = opens()
    saver = AdjournSaver(store)
    graph: Any = builder.compile(checkpointer=saver)
    for number in range(3):
        await graph.ainvoke({"notes": [f"in {number}"]}, thread())
    before = (await graph.aget_state(thread())).values
    assert len(before["notes"]) == 6
    await saver.aprune(["t"])
    assert (await graph.aget_state(thread())).values == before
    await store.close()


async def test_a_fork_of_what_was_pruned_brings_its_values_along(opens: Opens) -> None:
    store = opens()
    saver = AdjournSaver(store)
    first = await saver.aput(*_put({}, {"old": "1", "new": "1"}, {"old": "1", "new": "1"}))
    await saver.aput(*_put(first, {"old": "2", "new": "2"}, {"old": "2", "new": "2"}))
    await saver.aprune(["fork"])
    assert not await saver.aget_tuple(first)
    fork = await saver.aput(*_put(first, {"old": "1", "new": "3"}, {"new": "3"}))
    found = await saver.aget_tuple(fork)
    assert found is not None and found.checkpoint["channel_values"] == {"old": "old 1", "new": "new 3"}
    await store.close()


async def test_pruning_looks_again_if_somebody_writes_meanwhile(opens: Opens) -> None:
    store, other = opens(), opens()
    saver, broom = AdjournSaver(store), AdjournSaver(other)
    first = await saver.aput(*_put({}, {"old": "1", "new": "1"}, {"old": "1", "new": "1"}))
    await saver.aput(*_put(first, {"old": "2", "new": "2"}, {"old": "2", "new": "2"}))
    forks: list[Any] = []

    threads = other.guest_threads()

    async def look(thread: str, prefix: str) -> Any:
        found = await threads.rows(thread, prefix)
        if not forks:
            forks.append(await saver.aput(*_put(first, {"old": "1", "new": "3"}, {"new": "3"})))
        return found

    broom.threads = cast("Any", SimpleNamespace(version=threads.version, change=threads.change, rows=look))
    await broom.aprune(["fork"])
    found = await saver.aget_tuple(forks[0])
    assert found is not None and found.checkpoint["channel_values"] == {"old": "old 1", "new": "new 3"}
    assert [one.config async for one in saver.alist(thread("fork"))] == forks
    await store.close()
    await other.close()


def _put(parent: Any, versions: dict[str, str], new: dict[str, str]) -> Any:
    """A checkpoint whose channels have these versions."""
    checkpoint: Any = empty_checkpoint()
    checkpoint["channel_values"] = {name: f"{name} {version}" for name, version in versions.items()}
    checkpoint["channel_versions"] = versions
    config = parent or {"configurable": {"thread_id": "fork", "checkpoint_ns": ""}}
    return config, checkpoint, {}, new


async def test_odd_names_are_kept_apart_and_missing_ones_are_told(opens: Opens) -> None:
    store = opens()
    saver = AdjournSaver(store)
    graph = graph_of(saver, "one")
    for name in ("a/b", "a", "a%2Fb", "ü \0\n", ""):
        await graph.ainvoke({"notes": [name]}, thread(name))
    for name in ("a/b", "a", "a%2Fb", "ü \0\n", ""):
        assert (await graph.aget_state(thread(name))).values["notes"] == [name, "one"]
    await saver.adelete_thread("a")
    assert await saver.aget_tuple(thread("a/b")) and not await saver.aget_tuple(thread("a"))
    with pytest.raises(Invalid, match="cannot be a thread"):
        await saver.aget_tuple(thread("\ud800"))
    with pytest.raises(InvalidDefinition, match="thread_id"):
        await saver.aget_tuple({"configurable": {}})
    with pytest.raises(InvalidDefinition, match="address"):
        AdjournSaver(cast("Any", None))
    with pytest.raises(InvalidDefinition, match="keep_latest"):
        await saver.aprune(["a"], strategy="everything")
    await store.close()
