"""An adopted graph that was compiled with our saver: its state is in a thread, and the journal pins the checkpoint."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (LangGraph's own types are unknown in part)

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from tests.guests.test_langgraph import ASKED, Says, pays

from adjourn import Agent, Completed, Runtime, is_paused
from adjourn.core.messages import ModelRequest
from adjourn.core.records import Replied
from adjourn.errors import InvalidDefinition, ModelError
from adjourn.guests import adopt
from adjourn.guests.langgraph import AdjournSaver
from adjourn.guests.langgraph_kept import KeptState
from adjourn.parts import Image
from adjourn.secrets import KeyRing
from adjourn.stores.address import open_store
from adjourn.stores.memory import MemoryStore
from adjourn.testing import GuestContract, GuestScript, call


class TestLangChainOnASaver(GuestContract):
    store: Any

    @pytest.fixture(autouse=True)
    def _with_a_store(self) -> None:
        self.store = MemoryStore()

    def guest(self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any) -> Agent[Any]:
        return adopt(agent_on(self.store, script, *tools), **terms)

    def marked_guest(self, script: GuestScript, tool: Callable[..., Any], **terms: Any) -> Agent[Any]:
        gate = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
        return adopt(agent_on(self.store, script, tool, middleware=[gate]), **terms)


def agent_on(store: Any, script: GuestScript, *tools: Any, **options: Any) -> Any:
    saver = AdjournSaver(store)
    return create_agent(Says(script=script), list(tools), name="support", checkpointer=saver, **options)


def paying(*orders: str) -> GuestScript:
    return GuestScript(*([call("pays", order=order, cents=5)] for order in orders), "done")


async def spoken(rt: Runtime, run: str) -> list[dict[str, Any]]:
    """The details of the replies of a run."""
    found = [record for _, record in await rt.store.load(run) if isinstance(record, Replied)]
    return [record.details or {} for record in found]


async def test_the_journal_pins_the_checkpoint_and_langgraph_reads_it_by_the_runs_id() -> None:
    store, script = MemoryStore(), paying("A1", "B2")
    graph = agent_on(store, script, pays)
    async with Runtime(store, [agent := adopt(graph, policy=ASKED)]) as rt:
        run = await rt.start(agent, "pay", run_id="run-1")
        for _ in range(2):
            await run.wait()
            [waiting] = await rt.inbox()
            last = (await spoken(rt, run.id))[-1]
            state = await graph.aget_state({"configurable": {"thread_id": "run-1"}})
            assert state.config["configurable"]["checkpoint_id"] == last["checkpoint_id"]
            assert last["thread"] == "run-1" and "messages" not in last
            await rt.approve(waiting, by="ana")
        assert (await run.wait()).output == "done"
        state = await graph.aget_state({"configurable": {"thread_id": "run-1"}})
        assert [message.type for message in state.values["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]


async def test_a_fork_and_the_next_turn_have_threads_of_their_own_and_leave_the_first_as_it_is() -> None:
    store, script = (
        MemoryStore(),
        GuestScript([call("pays", order="A1", cents=5)], "done", [call("pays", order="B2", cents=6)], "done again"),
    )
    async with Runtime(store, [agent := adopt(agent_on(store, script, pays), policy=ASKED)]) as rt:
        run = await rt.start(agent, "pay", run_id="run-1")
        await run.wait()
        fork = await run.fork(run_id="fork")
        await fork.wait()
        [theirs] = [item for item in await rt.inbox() if item.run_id == "fork"]
        await rt.approve(theirs, by="ana")
        assert (await fork.wait()).output == "done"
        before = await store.guest_threads().rows("run-1", "")
        assert await store.guest_threads().rows("fork", "") and before
        [ours] = await rt.inbox()
        await rt.approve(ours, by="ana")
        assert (await run.wait()).output == "done"
        after = await store.guest_threads().rows("run-1", "")
        later = await rt.start(agent, "and B2", run_id="run-2", after=run)
        await later.wait()
        await rt.approve((await rt.inbox())[0], by="ana")
        assert (await later.wait()).output == "done again"
        assert await store.guest_threads().rows("run-1", "") == after
        await rt.erase("fork", by="ana", reason="asked for")
        assert await store.guest_threads().threads() == ["run-1", "run-2"]
        await rt.erase("run-1", by="ana", reason="asked for")  # the next turn's thread holds what it was about
        assert await store.guest_threads().threads() == []


async def test_what_a_worker_wrote_that_died_before_its_reply_was_recorded_is_never_read() -> None:
    store, script = MemoryStore(), paying("A1", "B2")
    async with Runtime(store, [agent := adopt(agent_on(store, script, pays), policy=ASKED)]) as rt:
        run = await rt.start(agent, "pay", run_id="run-1")
        await run.wait()
    # the dead worker got further than the journal knows
    other = agent_on(store, GuestScript("", "something else", "more"), pays)
    config: Any = {"configurable": {"thread_id": "run-1"}}
    await other.aupdate_state(config, {"messages": [("user", "nobody said this")]})
    async with Runtime(store, [agent := adopt(agent_on(store, script, pays), policy=ASKED)]) as rt:
        for _ in range(2):
            await rt.approve((await rt.inbox())[0], by="ana")
            await (run := await rt.get("run-1")).wait()
        assert (await run.wait()).output == "done"
    assert not any("nobody" in text for text in script.heard)


async def test_a_deep_agents_sub_agent_goes_on_in_another_process() -> None:
    store = MemoryStore()
    task = call("task", description="pay A1", subagent_type="clerk")
    outer, inner = GuestScript([task], "all is well"), GuestScript([call("pays", order="A1", cents=7)], "paid it")

    def deep() -> Agent[Any]:
        clerk: Any = {
            "name": "clerk", "description": "Pays.", "system_prompt": "You pay.", "tools": [pays], "model": Says(script=inner),
        }  # fmt: skip
        saver = AdjournSaver(store)
        graph = create_deep_agent(
            model=Says(script=outer), tools=[], subagents=[clerk], name="deep", checkpointer=saver
        )
        return adopt(graph, policy=ASKED)

    waits = await deep().run("have A1 paid")
    assert is_paused(waits)
    done = await deep().resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "all is well"
    assert "paid 7 of A1" in inner.heard and "paid it" in outer.heard


async def test_pruned_threads_go_on_and_deleted_ones_say_so() -> None:
    store, script = MemoryStore(), paying("A1", "B2", "C3")

    def fresh() -> Agent[Any]:
        return adopt(agent_on(store, script, pays), policy=ASKED)

    waits = await fresh().run("pay")
    for _ in range(2):
        assert is_paused(waits)
        waits = await fresh().resume(waits.checkpoint, approved=True)
    assert is_paused(waits)
    [thread] = await store.guest_threads().threads()
    before = await store.guest_threads().rows(thread, "c/")
    await AdjournSaver(store).aprune([thread])
    assert len(await store.guest_threads().rows(thread, "c/")) == 1 < len(before)
    done = await fresh().resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and len([text for text in script.heard if "paid" in text]) == 3
    await AdjournSaver(store).adelete_thread(thread)
    with pytest.raises(Exception, match="no longer in the saver's store"):
        await fresh().resume(waits.checkpoint, approved=True)


def test_the_saver_alone_says_what_a_state_may_hold() -> None:
    with pytest.raises(InvalidDefinition, match="AdjournSaver"):
        adopt(agent_on(MemoryStore(), paying("A1")), allow=[GuestScript])


async def test_a_worker_that_was_replaced_writes_nothing() -> None:
    store = MemoryStore()
    saver = AdjournSaver(store)
    graph = agent_on(store, paying("A1"), pays)
    async with Runtime(store, [agent := adopt(graph, policy=ASKED)]) as rt:
        run = await rt.start(agent, "pay", run_id="run-1")
        await run.wait()
        [details] = await spoken(rt, run.id)
    states = [KeptState(saver), KeptState(saver)]
    for state in states:
        state.add(details)
        await state.load()
    request = ModelRequest([], run="run-1")
    await states[0].save(request)
    rows = await store.guest_threads().rows("run-1", "")
    with pytest.raises(ModelError, match="another process") as raised:
        await states[1].save(request)
    assert raised.value.transient and await store.guest_threads().rows("run-1", "") == rows


CANARY = "canary-Hx4Rm8Tn2-0123456789"
FORMS = (CANARY.encode(), base64.b64encode(CANARY.encode()), CANARY.encode().hex().encode())
"""As it is, in base64 as LangGraph's bytes and files are, and in hex as PostgreSQL shows bytes."""


async def is_kept(store: Any) -> bool:
    """Whether a row of any thread has the canary, in one of its forms."""
    threads = store.guest_threads()
    rows = [row for thread in await threads.threads() for row in await threads.rows(thread, "")]
    return any(form in row.body for row in rows for form in FORMS)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_a_graph_kept_for_an_encrypted_run_is_encrypted_and_erased_with_it(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    address = f"sqlite:///{tmp_path}/runs.db"
    if kind == "postgres":
        address = request.getfixturevalue("postgres").fresh()
    photo = Image(b"\x89PNG\r\n\x1a\n\0" + CANARY.encode())  # so that its base64 is that of the canary
    for encrypt in (KeyRing({"k1": b"k" * 32}), False):
        script = GuestScript([call("pays", order=CANARY, cents=5)], f"done with {CANARY}")
        store = open_store(address)
        async with Runtime(store, [agent := adopt(agent_on(store, script, pays), policy=ASKED)], encrypt=encrypt) as rt:
            run = await rt.start(agent, ["pay", photo, CANARY])
            await run.wait()
            assert await is_kept(store) == (not encrypt), "without encryption this test sees the canary"
            await rt.approve((await rt.inbox())[0], by="ana")
            assert (await run.wait()).output == f"done with {CANARY}"
            await rt.erase(run.id, by="ana", reason="asked for")
            assert await store.guest_threads().threads() == []
        await store.close()
        found = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        assert not [form for form in FORMS if form in found]
