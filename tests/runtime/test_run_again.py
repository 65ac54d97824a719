"""Run again: a new run that begins as another did, once per request, and without its authority."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, NotAllowed, NotFound, Policy, RunErased, RunExists, Runtime, ask, tool
from adjourn.core.records import Started
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call

LIMIT = 20.0


@tool(effect="unsafe")
def refund(order: str) -> str:
    """Pay back."""
    return f"re_{order}"


def desk(**rule: Any) -> Agent[Any]:
    model = ScriptedModel([call("refund", order="4417")], "Done.")
    return Agent("desk", model=model, tools=[refund], policy=Policy([ask("refund", **rule)]))


talker = Agent("talker", model=ScriptedModel("One.", "Two.", "Three."))


@pytest.fixture
async def rt() -> AsyncIterator[Runtime]:
    async with Runtime(MemoryStore(), [talker, desk()]) as opened:
        yield opened


async def first_of(rt: Runtime, run: str) -> Started:
    [(_, first), *_] = await rt.store.load(run)
    assert isinstance(first, Started)
    return first


async def test_it_begins_as_the_other_did_and_says_which_run_it_repeats(rt: Runtime) -> None:
    old = await rt.start(talker, {"order": 1}, session="s", labels={"team": "eu"}, by="ana", priority=3)
    await old.wait(LIMIT)
    before = await rt.store.load(old.id)
    new = await old.again(by="ben")
    await new.wait(LIMIT)
    state = await new.state()
    assert (state.again_of, state.input, state.labels, state.session) == (old.id, {"order": 1}, {"team": "eu"}, "")
    assert (state.status, state.started_by, state.forked_from) == ("completed", "ben", "")
    assert (await first_of(rt, new.id)).priority == 3
    assert (await old.state()).again_of == "" and await rt.store.load(old.id) == before
    [line] = [line for line in await new.audit() if line.verb == "again"]
    assert (line.by, line.more["again_of"]) == ("ben", old.id)
    assert str(line.told).startswith("ben ran again")


async def test_the_input_the_labels_and_the_session_may_be_others(rt: Runtime) -> None:
    old = await rt.start(talker, "one", session="s", labels={"team": "eu"}, by="ana")
    await old.wait(LIMIT)
    new = await old.again(input="two", labels={}, same_session=True, by="ben")
    state = await new.state()
    assert (state.input, state.labels, state.session) == ("two", {}, "s")


async def test_the_same_request_begins_one_run_and_an_id_of_another_is_refused(rt: Runtime) -> None:
    old, other = [await rt.start(talker, "hi", by="ana") for _ in range(2)]
    made = await asyncio.gather(*(old.again(run_id="new", by="ben") for _ in range(5)))
    assert {run.id for run in made} == {"new"} and len(await rt.runs()) == 3
    for run, input in ((old, "ho"), (other, "hi")):
        with pytest.raises(RunExists):
            await run.again(run_id="new", by="ben", input=input)
    with pytest.raises(RunExists):
        await old.again(run_id=other.id, by="ben")


async def test_nothing_is_started_where_the_program_is_not_known() -> None:
    store = MemoryStore()
    async with Runtime(store, [talker]) as rt:
        old = await rt.start(talker, "hi", by="ana")
        await old.wait(LIMIT)
    async with Runtime(store) as elsewhere:
        with pytest.raises(NotFound, match="no program 'talker'.*nothing was started"):
            await (await elsewhere.get(old.id)).again(by="ben")
        assert len(await elsewhere.runs()) == 1


async def test_what_was_erased_cannot_be_run_again(rt: Runtime) -> None:
    old = await rt.start(talker, "hi", by="ana")
    await old.wait(LIMIT)
    await old.erase(by="ana", reason="asked for")
    with pytest.raises(RunErased):
        await old.again(by="ben")


@pytest.mark.parametrize("how", ["fork", "again"])
@pytest.mark.parametrize("tenant", ["", "acme"])
async def test_what_is_erased_while_it_is_copied_is_in_no_other_run(
    how: str, tenant: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, agent = f"sqlite:///{folder / 'runs.db'}", Agent("a", model=ScriptedModel("hello", "again"))
    async with Runtime(address, [agent]) as worker, Runtime(address, [agent], work=False, tenant=tenant) as rt:
        labels = {"tenant": tenant} if tenant else {}
        await (await worker.start(agent, "the secret", run_id="r", labels=labels)).wait(LIMIT)
        run, create = await rt.get("r"), rt.store.create

        async def slow(*given: Any, **more: Any) -> bool:
            await worker.erase("r", by="dpo", reason="request 7")
            return await create(*given, **more)

        monkeypatch.setattr(rt.store, "create", slow)
        with pytest.raises(RunErased, match="run r was"):
            await (run.fork(run_id="new") if how == "fork" else run.again(run_id="new"))
        assert [found.run_id for found in await worker.runs()] == ["r"]


async def test_a_turn_of_a_conversation_is_run_again_in_its_place(rt: Runtime) -> None:
    first = await rt.start(talker, "a", session="s", by="ana")
    await first.wait(LIMIT)
    second = await rt.start(talker, "b", session="s", by="ana")
    await second.wait(LIMIT)
    third = await rt.start(talker, "c", session="s", by="ana")
    await third.wait(LIMIT)
    again = await second.again(by="ben")
    await again.wait(LIMIT)
    said = [str(message) for message in await again.messages()]
    assert said == [str(message) for message in await second.messages()]


async def test_who_started_the_other_run_cannot_approve_in_this_one() -> None:
    strict = desk(not_requester=True)
    async with Runtime(MemoryStore(), [strict]) as rt:
        old = await rt.start(strict, "refund me", by="ana")
        await old.wait(LIMIT)
        for run in (await old.again(by="ben"), await (await old.again(by="ben")).again(by="cleo")):
            await run.wait(LIMIT)
            [item] = (await run.state()).interrupts
            for name in ("ana", "ben"):
                with pytest.raises(NotAllowed):
                    await rt.approve(item.ref, by=name)
            await rt.approve(item.ref, by="dora")
            await run.wait(LIMIT)


async def test_no_approval_is_taken_over(rt: Runtime) -> None:
    old = await rt.start(rt.programs["desk"], "refund", by="ana")
    await old.wait(LIMIT)
    [item] = (await old.state()).interrupts
    await rt.approve(item.ref, by="ben", scope="run")
    await old.wait(LIMIT)
    new = await old.again(by="ben")
    assert (await new.wait(LIMIT)).status == "waiting"
