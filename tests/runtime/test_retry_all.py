"""An outage puts many runs before a person with the same failure: one look, one decision, each run tried again once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT, Ledger, refunds

from adjourn import (
    Agent,
    AlreadyDecided,
    Flow,
    FlowContext,
    Halted,
    InDoubt,
    Invalid,
    InvalidAnswer,
    RequestReused,
    RunFailed,
    Runtime,
    StaleDecision,
    tool,
)
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import ToolCall
from adjourn.core.records import Asked, Claimed, Decided, Intended, Parked, Replied, Started
from adjourn.errors import ModelError
from adjourn.stores.protocol import Filter
from adjourn.testing.scripted import ScriptedModel, call


class Weather:
    """What stands between this process and the rest of the world."""

    def __init__(self) -> None:
        self.bad = True
        self.fetched: list[str] = []

    def reply(self, _: Any) -> str:
        if self.bad:
            raise ModelError("the provider is away", kind="unavailable")
        return "done"


def asking(weather: Weather, name: str = "asks") -> Agent[Any]:
    return Agent(name, model=ScriptedModel(*[weather.reply] * 20), retries=1)


def fetching(weather: Weather, name: str = "fetches") -> Flow:
    flow = Flow(name)

    async def fetch(ctx: FlowContext) -> None:
        weather.fetched.append(ctx.run_id)
        if weather.bad:
            raise KeyError("no such page") if ctx.input == "odd" else ConnectionError(f"no way to {ctx.run_id}")

    flow.to(flow.chunk(fetch))
    return flow


@pytest.fixture
def weather() -> Weather:
    return Weather()


@pytest.fixture(params=["memory", "sqlite"])
async def rt(request: pytest.FixtureRequest, folder: Path, ledger: Ledger) -> AsyncIterator[Runtime]:
    address = "memory://" if request.param == "memory" else f"sqlite:///{folder / 'runs.db'}"
    async with Runtime(address, resources={"ledger": ledger}) as runtime:
        yield runtime


async def failed(rt: Runtime, program: Agent[Any] | Flow, *runs: str, input: Any = "go") -> list[Interrupt]:
    """Start these runs and wait until each has failed."""
    for run in runs:
        await rt.start(program, input, run_id=run)
    for run in runs:
        with pytest.raises(RunFailed):
            await (await rt.get(run)).wait(LIMIT)
    return [i for i in await rt.inbox(limit=1000) if i.run_id in runs]


async def decisions(rt: Runtime, run: str) -> list[Decided]:
    return [record for _, record in await rt.store.load(run) if isinstance(record, Decided)]


async def test_one_decision_tries_all_again_that_failed_alike_and_nothing_else(rt: Runtime, weather: Weather) -> None:
    agent, other, flow = asking(weather), asking(weather, "others"), fetching(weather)
    [one, *_] = await failed(rt, agent, "a1", "a2", "a3")
    await failed(rt, other, "b1")
    await failed(rt, flow, "f1")
    assert [i.run_id for i in await rt.alike(one)] == ["a1", "a2", "a3"]
    weather.bad = False
    found = await rt.retry_all(one, by="ana", note="the provider is back")
    assert [(r.interrupt.run_id, r.refused) for r in found] == [("a1", None), ("a2", None), ("a3", None)]
    for run in ("a1", "a2", "a3"):
        assert (await (await rt.get(run)).wait(LIMIT)).output == "done"
        [decision] = await decisions(rt, run)
        assert (decision.by, decision.note, decision.value) == ("ana", "the provider is back", {"choice": "retry"})
    assert {i.run_id for i in await rt.inbox()} == {"b1", "f1"}


async def test_the_same_chunk_with_another_kind_of_error_is_another_failure(rt: Runtime, weather: Weather) -> None:
    flow = fetching(weather)
    [one, two] = await failed(rt, flow, "f1", "f2")
    [odd] = await failed(rt, flow, "f3", input="odd")
    assert one.payload["effect"] == "unsafe" and one.payload["kind"] == "ConnectionError"
    assert [i.ref for i in await rt.alike(two)] == [two.ref, one.ref], "what was looked at comes first"
    assert [i.ref for i in await rt.alike(odd)] == [odd.ref]


async def test_more_than_a_page_of_failures_is_found_whole(rt: Runtime, weather: Weather) -> None:
    runs = [f"f{n:03}" for n in range(120)]
    [one, *_] = await failed(rt, fetching(weather), *runs)
    assert [i.run_id for i in await rt.alike(one)] == runs


async def test_two_clicks_decide_once(rt: Runtime, weather: Weather) -> None:
    [one, two] = await failed(rt, asking(weather), "a1", "a2")
    weather.bad = False
    first, second = await asyncio.gather(rt.retry_all(one, by="ana"), rt.retry_all(one, by="ana"))
    seqs = {r.interrupt.ref: r.seq for r in [*first, *second] if r.refused is None}
    assert set(seqs) == {one.ref, two.ref}
    assert all(r.refused is None and r.seq == seqs[r.interrupt.ref] for r in [*first, *second])
    for run in ("a1", "a2"):
        await (await rt.get(run)).wait(LIMIT)
        assert len(await decisions(rt, run)) == 1
    again = await rt.retry_all(one, by="ana")
    assert [(r.interrupt.ref, r.seq) for r in again] == [(one.ref, seqs[one.ref])], "nothing is left but the first"


async def test_of_two_people_each_failure_has_one_winner_and_the_other_is_told(rt: Runtime, weather: Weather) -> None:
    items = await failed(rt, asking(weather), *(f"a{n}" for n in range(8)))
    weather.bad = False
    ana, ben = await asyncio.gather(rt.retry_all(items[0], by="ana"), rt.retry_all(items[-1], by="ben"))
    won = {r.interrupt.ref: "ana" for r in ana if r.seq} | {r.interrupt.ref: "ben" for r in ben if r.seq}
    assert set(won) == {i.ref for i in items}
    assert sum(r.seq > 0 for r in (*ana, *ben)) == 8
    for lost in (r for r in (*ana, *ben) if r.refused):
        assert isinstance(lost.refused, AlreadyDecided) and won[lost.interrupt.ref] in str(lost.refused)
    for item in items:
        await (await rt.get(item.run_id)).wait(LIMIT)
        [decision] = await decisions(rt, item.run_id)
        assert decision.by == won[item.ref]


async def test_one_refusal_does_not_stop_the_others(rt: Runtime, weather: Weather) -> None:
    items = await failed(rt, asking(weather), "a1", "a2", "a3")
    store, real = rt.store, rt.deliver

    async def too_late(run_id: str, command: Any, request_id: str = "") -> int:
        if run_id == "a2" and command.by == "ana":  # somebody gives up just now
            await rt.answer(items[1], "cancel", by="ben")
        return await real(run_id, command, request_id)

    rt.deliver = too_late
    weather.bad = False
    found = await rt.retry_all(items[0], by="ana")
    assert [isinstance(r.refused, AlreadyDecided) for r in found] == [False, True, False]
    assert {(await rt.get(run)).id for run in ("a1", "a3")} == {"a1", "a3"}
    for run in ("a1", "a3"):
        assert (await (await rt.get(run)).wait(LIMIT)).output == "done"
    assert (await store.get("a2")).status.value in ("cancelling", "cancelled", "ready")


async def test_a_halt_holds_all_of_them_and_none_is_decided(rt: Runtime, weather: Weather) -> None:
    items = await failed(rt, asking(weather), "a1", "a2")
    await rt.halt("agent:asks", reason="stop", by="ana")
    found = await rt.retry_all(items[0], by="ana")
    assert all(isinstance(r.refused, Halted) for r in found) and len(found) == 2
    assert [i.ref for i in await rt.inbox()] == [i.ref for i in items]


async def test_only_what_was_there_when_somebody_looked_is_tried_again(rt: Runtime, weather: Weather) -> None:
    [one] = await failed(rt, asking(weather), "a1")
    looked = rt.store.now()
    while rt.store.now() <= looked:
        await asyncio.sleep(0)
    await failed(rt, asking(weather), "a2")
    assert [r.interrupt.run_id for r in await rt.retry_all(one, by="ana", until=looked)] == ["a1"]
    assert "a2" in {i.run_id for i in await rt.inbox()}


async def test_an_approval_is_never_decided_together_with_another(rt: Runtime, ledger: Ledger) -> None:
    agent = refunds(ledger)
    for run in ("r1", "r2"):
        await (await rt.start(agent, "go", run_id=run)).wait(LIMIT)
    [one, _] = await rt.inbox()
    assert await rt.alike(one) == []
    with pytest.raises(InvalidAnswer, match="must be decided alone"):
        await rt.retry_all(one, by="ana")
    assert len(await rt.inbox()) == 2 and ledger.lines() == []


async def test_a_call_in_doubt_is_never_run_together_with_another(rt: Runtime) -> None:
    paid: list[str] = []

    @tool(effect="unsafe")
    async def pay(order: str) -> str:
        """Pay."""
        paid.append(order)
        raise InDoubt("no answer came")

    agent = Agent("pays", model=ScriptedModel([call("pay", order="1")], "done"), tools=[pay])
    for run in ("r1", "r2"):
        await (await rt.start(agent, "go", run_id=run)).wait(LIMIT)
    [one, _] = await rt.inbox()
    assert one.kind == "in_doubt" and await rt.alike(one) == []
    with pytest.raises(InvalidAnswer):
        await rt.retry_all(one, by="ana")
    assert len(paid) == 2


async def test_of_runs_that_killed_their_workers_an_unsafe_call_is_asked_about_before_it_runs_again(
    rt: Runtime,
) -> None:
    """Such a run failed as a whole; what was in flight in it is still in doubt, each by itself."""
    paid: list[str] = []

    @tool(effect="unsafe")
    async def pay(order: str) -> str:
        """Pay."""
        paid.append(order)
        return "paid"

    agent = Agent("pays", model=ScriptedModel([call("pay", order="1")], "done"), tools=[pay])
    poison = {"error": "3 workers in a row died", "kind": "poison", "tool": "pay", "deaths": 3}
    for run in ("r1", "r2"):
        begun = Started(run=run, kind="agent", program="pays", fingerprint=agent.fingerprint, input="go")
        reply = Replied(parts=(ToolCall(id="c", tool="pay", args={"order": "1"}),))
        rest = [Claimed(epoch=1), reply, Intended(call="1.0", tool="pay", effect="unsafe"), Claimed(epoch=2, lost=True),
                Asked(i="poison?0", kind="error", step="poison", payload=poison), Parked()]  # fmt: skip
        assert await rt.store.create(begun, rest)
    [one, _] = await rt.inbox()
    other = await rt.start(agent, "go", run_id="other")  # from here on there is a worker with the program
    assert [r.refused for r in await rt.retry_all(one, by="ana")] == [None, None]
    for run in ("r1", "r2"):
        await (await rt.get(run)).wait(LIMIT)
        [item] = await rt.inbox(run=run)
        assert item.kind == "in_doubt"
    await other.wait(LIMIT)
    assert paid == ["1"], "that of the third run"


async def test_what_was_seen_must_still_be_there_and_somebody_must_decide(rt: Runtime, weather: Weather) -> None:
    [one, _] = await failed(rt, asking(weather), "a1", "a2")
    with pytest.raises(StaleDecision):
        await rt.retry_all(one.ref, by="ana", digest="0" * 64)
    with pytest.raises(Invalid, match="who decides"):
        await rt.retry_all(one, by="")
    [refused, _] = await rt.retry_all(one, by="asks")
    assert "cannot decide its own requests" in str(refused.refused)
    assert len(await rt.store.inbox(Filter())) == 2


async def test_a_name_that_is_given_for_a_list_of_groups_is_not_read_letter_by_letter(
    rt: Runtime, weather: Weather
) -> None:
    [like] = await failed(rt, asking(weather), "a")
    with pytest.raises(Invalid, match="names in a list"):
        await rt.retry_all(like, by="ana", groups="finance")
    assert await rt.alike(like)


async def test_a_resume_that_is_sent_again_tries_nothing_again_and_ends_no_later_pause(
    rt: Runtime, weather: Weather
) -> None:
    [_] = await failed(rt, asking(weather), "a1")
    run = await rt.get("a1")
    await run.resume("be brief", by="ana", request_id="click")
    with pytest.raises(RunFailed):
        await run.wait(LIMIT)
    await run.pause(by="ben")
    before = (await run.state()).seq
    await run.resume("be brief", by="ana", request_id="click")
    assert ((await run.state()).seq, await run.status(), len(await decisions(rt, "a1"))) == (before, "paused", 1)
    with pytest.raises(RequestReused):
        await run.resume("be long", by="ana", request_id="click")
