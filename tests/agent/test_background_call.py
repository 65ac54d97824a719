"""A model call in the background: handed in once, waited for as data, fetched once, withdrawn when nobody wants it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adjourn import Agent, Cancelled, Completed, Flow, MaxTime, Outcome, Run, Stopped, testing, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, ToolCall
from adjourn.core.records import CancelAsked, Emitted, Replied, Started, Submitted
from adjourn.core.usage import Usage
from adjourn.errors import ModelError
from adjourn.models import BackgroundModel, Price, ResponseEnd
from adjourn.runtime.provider_events import response_ended
from adjourn.stores.memory.store import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call
from adjourn.testing.env import Env


class Provider:
    """Keeps what was handed in; the test says when it is ready."""

    def __init__(self) -> None:
        self.handed_in: list[str] = []
        self.fetched: list[str] = []
        self.withdrawn: list[str] = []
        self.ready: dict[str, Reply | ResponseEnd] = {}
        self.failures: list[Exception] = []
        self.seen: list[ModelRequest] = []


class Thinker:
    """See `BackgroundModel`."""

    name = "thinker"

    def __init__(self, provider: Provider, *, honours_keys: bool = False) -> None:
        self.provider, self.honours_keys = provider, honours_keys

    def wait(self, polls: int) -> float:
        return 60.0

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield Reply((Text(text="in the foreground"),))

    async def submit(self, request: ModelRequest, key: str) -> str | Reply:
        provider = self.provider
        if provider.failures:
            raise provider.failures.pop(0)
        provider.seen.append(request)
        if self.honours_keys and key in provider.handed_in:
            return f"resp_{provider.handed_in.index(key)}"
        provider.handed_in.append(key)
        return f"resp_{len(provider.handed_in) - 1}"

    async def fetch(self, request: ModelRequest, id: str) -> Reply | ResponseEnd | None:
        self.provider.fetched.append(id)
        if self.provider.failures:
            raise self.provider.failures.pop(0)
        return self.provider.ready.get(id)

    async def withdraw(self, id: str) -> Usage:
        if self.provider.failures:
            raise self.provider.failures.pop(0)
        self.provider.withdrawn.append(id)
        return Usage(1, 50, 5)


def said(text: str, *calls: ToolCall) -> Reply:
    return Reply((Text(text=text), *calls), Usage(1, 1000, 200), "thinker-1")


async def journal(env: Env, run: Run[Any], kind: type[Any]) -> list[Any]:
    return [record for _, record in await env.runtime.store.load(run.id) if isinstance(record, kind)]


async def begun(env: Env, agent: Agent[Any] | Flow, **options: Any) -> Run[Any]:
    """A run whose response is at work."""
    run = await env.runtime.start(agent, "research", **options)
    await env.settle()
    return run


async def ended(run: Run[Any]) -> Outcome[Any]:
    async with asyncio.timeout(10):
        return await run.wait()


async def ring(env: Env, id: str, request: str) -> str:
    found = await response_ended(env.runtime, id, "response.completed", request_id=request, origin="test")
    await env.settle()
    return found


async def test_the_reply_is_fetched_when_its_time_has_come_and_is_recorded_once() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    assert isinstance(agent.model, BackgroundModel)
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        [interrupt] = (await run.state()).interrupts
        assert (interrupt.kind, interrupt.type) == ("timer", "response")
        assert interrupt.payload == {"model": "thinker", "response": "resp_0"}
        assert await run.status() == "waiting"
        await env.skip(61)
        provider.ready["resp_0"] = said("found it")
        await env.skip(61)
        outcome = await ended(run)
        assert isinstance(outcome, Completed)
        assert (outcome.output, outcome.usage) == ("found it", Usage(1, 1000, 200))
        assert (len(provider.handed_in), provider.fetched) == (1, ["resp_0", "resp_0"])
        [replied] = await journal(env, run, Replied)
        assert 122 <= replied.took < 125
        assert (await run.requests())[0].proof == "as sent"


async def test_an_id_is_recorded_behind_the_intent_and_before_anything_else() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        kinds = [type(record).__name__ for _, record in await env.runtime.store.load(run.id)]
        assert kinds == ["Started", "Claimed", "Submitted", "Suspended", "Parked"]


async def test_two_webhooks_and_a_timer_at_once_give_one_reply() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        provider.ready["resp_0"] = said("once")
        env.clock.advance(61)
        told = await asyncio.gather(ring(env, "resp_0", "a"), ring(env, "resp_0", "b"), ring(env, "resp_0", "a"))
        assert (await ended(run)).output == "once"
        assert set(told) <= {run.id, ""}
        assert len(await journal(env, run, Replied)) == 1
        assert len(provider.handed_in) == 1
        assert await ring(env, "resp_0", "c") == ""  # it has ended
        assert await ring(env, "resp_9", "d") == ""  # nobody's


async def test_a_webhook_wakes_it_before_its_time() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        assert await ring(env, "resp_0", "early") == run.id  # too early: it is not ready, and waits again
        provider.ready["resp_0"] = said("woken")
        assert await ring(env, "resp_0", "a") == run.id
        assert (await ended(run)).output == "woken"
        assert (await journal(env, run, Emitted))[0].decides is False


async def test_a_word_of_a_person_meanwhile_is_read_by_the_next_request_and_not_by_this_one() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await run.say("and the price", by="ana")
        await env.settle()
        provider.ready |= {"resp_0": said("first"), "resp_1": said("with the price")}
        await env.skip(61)
        await env.skip(61)
        assert (await ended(run)).output == "with the price"
        assert len(provider.handed_in) == 2
        assert [len(request.messages) for request in provider.seen][0] == 1


async def test_cancel_withdraws_it_at_the_provider_and_counts_what_it_used() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await run.cancel(by="ana")
        outcome = await ended(run)
        assert isinstance(outcome, Cancelled)
        assert (provider.withdrawn, outcome.residue) == (["resp_0"], [])
        assert outcome.usage == Usage(1, 50, 5)


async def test_what_cannot_be_withdrawn_is_tried_three_times_and_is_residue() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        provider.failures = [ModelError("down", transient=True)] * 3
        await run.cancel(by="ana")
        for _ in range(3):
            await env.settle()
            await env.skip(6)
        outcome = await ended(run)
        assert isinstance(outcome, Cancelled)
        [left] = outcome.residue
        assert "could not cancel the response" in left["why"]
        assert (left["arguments"], provider.withdrawn) == ({"response": "resp_0"}, [])


async def test_a_limit_of_time_withdraws_it() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider), stop=MaxTime(100))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await env.skip(61)
        assert await run.status() == "waiting"
        await env.skip(40)
        outcome = await ended(run)
        assert isinstance(outcome, Stopped)
        assert (outcome.by, provider.withdrawn) == ("MaxTime(100)", ["resp_0"])


async def test_a_limit_that_asks_leaves_it_at_work_and_more_time_takes_its_reply() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider), stop=MaxTime(100).then("pause"))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await env.skip(61)
        await env.skip(41)
        [limit] = [i for i in (await run.state()).interrupts if i.kind == "limit"]
        provider.ready["resp_0"] = said("in the end")
        await env.runtime.answer(limit.ref, {"choice": "extend", "amount": 1000}, by="ana")
        await env.skip(61)
        assert (await ended(run)).output == "in the end"
        assert (provider.withdrawn, len(provider.handed_in)) == ([], 1)


async def test_the_limit_of_a_nested_agent_withdraws_its_own() -> None:
    provider = Provider()
    child = Agent("child", model=Thinker(provider), stop=MaxTime(90))
    root = Agent("root", model=ScriptedModel([call("child", input="x")], "went on"), tools=[child.as_tool()])
    async with testing.env([root]) as env:
        run = await begun(env, root)
        [interrupt] = (await run.state()).interrupts
        assert interrupt.path == "1.0"
        await env.skip(61)
        await env.skip(31)
        assert (await ended(run)).output == "went on"
        assert provider.withdrawn == ["resp_0"]


async def test_a_flow_waits_for_its_agents_response() -> None:
    provider = Provider()
    flow = Flow("f")
    flow.to(Agent("r", model=Thinker(provider)))
    async with testing.env([flow]) as env:
        run = await begun(env, flow)
        provider.ready["resp_0"] = said("in a flow")
        assert await ring(env, "resp_0", "a") == run.id
        await env.skip(61)
        assert isinstance(await ended(run), Completed)
        assert len(provider.handed_in) == 1


async def test_a_paused_run_looks_when_it_is_resumed() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await run.pause(by="ana", now=True)
        provider.ready["resp_0"] = said("later")
        await ring(env, "resp_0", "a")
        await env.skip(10_000)
        assert (provider.fetched, await run.status()) == ([], "paused")
        await run.resume(by="ana")
        assert (await ended(run)).output == "later"
        assert len(provider.handed_in) == 1


async def test_a_halt_keeps_it_from_being_looked_at_and_a_cancel_withdraws_it_all_the_same() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await env.runtime.halt("agent:r", by="ana", reason="too dear")
        await env.skip(61)
        assert provider.fetched == []
        await run.cancel(by="ana")
        assert isinstance(await ended(run), Cancelled)
        assert provider.withdrawn == ["resp_0"]


async def test_a_response_that_failed_is_handed_in_again_and_one_that_is_gone_asks_a_person() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    provider.ready |= {
        "resp_0": ResponseEnd("overloaded", "server", True),
        "resp_1": ResponseEnd("it may have been paid for", "not_found"),
        "resp_2": said("third"),
    }
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await env.skip(61)
        await env.skip(61)
        await env.skip(61)
        assert await run.status() == "failed"
        [error] = (await run.state()).interrupts
        assert "may have been paid for" in error.payload["error"]
        await env.runtime.answer(error.ref, "retry", by="ana")
        await env.settle()
        await env.skip(61)
        assert (await ended(run)).output == "third"
        assert len(provider.handed_in) == 3


async def test_a_failed_look_is_no_failure_of_the_response() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        provider.failures = [ModelError("down", transient=True, kind="connection"), ModelError("no key", kind="auth")]
        provider.ready["resp_0"] = said("kept")
        await env.skip(61)
        assert await run.status() == "waiting"
        await env.skip(61)
        assert await run.status() == "failed"
        [error] = (await run.state()).interrupts
        await env.runtime.answer(error.ref, "retry", by="ana")
        assert (await ended(run)).output == "kept"
        assert len(provider.handed_in) == 1


@pytest.mark.parametrize("honours", [False, True])
async def test_a_request_that_may_have_arrived_is_repeated_only_with_a_key_that_counts(honours: bool) -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider, honours_keys=honours))
    provider.failures = [ModelError("cut off", transient=True, kind="connection")]
    provider.ready["resp_0"] = said("done")
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        if not honours:
            [error] = (await run.state()).interrupts
            assert error.payload["kind"] == "perhaps_paid"
            assert "adjourn_key=" in error.payload["error"]
            assert provider.handed_in == []
            await env.runtime.answer(error.ref, "retry", by="ana")
        for _ in range(3):
            await env.skip(61)
        assert (await ended(run)).output == "done"
        keys = {record.of.key for record in await journal(env, run, Submitted) if record.of}
        assert len(keys) == (1 if honours else 2)


async def test_a_request_that_was_refused_is_repeated_by_itself() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    provider.failures = [ModelError("slow down", transient=True, kind="rate_limit")]
    provider.ready["resp_0"] = said("done")
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        for _ in range(3):
            await env.skip(61)
        assert (await ended(run)).output == "done"


@pytest.mark.parametrize("honours", [False, True])
async def test_a_worker_that_died_between_handing_in_and_recording(honours: bool) -> None:
    """The journal ends with the intent; the provider has it."""
    provider = Provider()
    agent = Agent("r", model=Thinker(provider, honours_keys=honours))
    clock = FakeClock()
    store = MemoryStore(now=clock.now)
    async with testing.env([agent], store=store, clock=clock) as env:
        run = await begun(env, agent)
        records = [record for _, record in await store.load(run.id)]
    first = records[0]
    assert isinstance(first, Started)
    place = next(n for n, record in enumerate(records) if isinstance(record, Submitted))
    other = MemoryStore(now=clock.now)
    await other.create(first, records[1 : place + 1])
    provider.ready["resp_0"] = said("paid once")
    async with testing.env([agent], store=other, clock=clock) as env:
        await env.skip(120)
        run = await env.runtime.get(first.run)
        if honours:
            await env.skip(61)
            assert (await ended(run)).output == "paid once"
        else:
            [error] = (await run.state()).interrupts
            assert "the provider may be working on it, and charge for it" in error.payload["error"]
        assert len(provider.handed_in) == 1


async def test_a_cancel_after_such_a_death_lists_what_may_be_at_work() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    clock = FakeClock()
    store = MemoryStore(now=clock.now)
    async with testing.env([agent], store=store, clock=clock) as env:
        run = await begun(env, agent)
        records = [record for _, record in await store.load(run.id)]
    first = records[0]
    assert isinstance(first, Started)
    other = MemoryStore(now=clock.now)
    await other.create(first, records[1:3])
    await other.deliver(first.run, CancelAsked(by="ana"))
    async with testing.env([agent], store=other, clock=clock) as env:
        await env.skip(120)
        outcome = await ended(await env.runtime.get(first.run))
        assert isinstance(outcome, Cancelled)
        assert "it may be at work at the provider" in outcome.residue[0]["why"]


async def test_a_fork_hands_in_its_own_and_withdraws_nothing_of_the_original() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        fork = await run.fork(by="ana")
        await env.settle()
        assert len(provider.handed_in) == 2
        await fork.cancel(by="ana")
        await ended(fork)
        assert provider.withdrawn == ["resp_1"]
        provider.ready["resp_0"] = said("the original's")
        await env.skip(61)
        assert (await ended(run)).output == "the original's"


async def test_a_price_counts_and_tools_are_called() -> None:
    provider, ran = Provider(), list[str]()

    @tool
    async def look(name: str) -> str:
        """Look."""
        ran.append(name)
        return "seen"

    agent = Agent("r", model=Thinker(provider), tools=[look], prices=Price(input=1.0, output=10.0))
    provider.ready["resp_0"] = said("", ToolCall(id="c1", tool="look", args={"name": "a"}))
    provider.ready["resp_1"] = said("done")
    async with testing.env([agent]) as env:
        run = await begun(env, agent)
        await env.skip(61)
        await env.skip(61)
        outcome = await ended(run)
        assert (outcome.output, ran) == ("done", ["a"])
        assert outcome.usage.cost == pytest.approx(2 * (1000 * 1 + 200 * 10) / 1e6)


async def test_a_checkpoint_of_it_continues_without_a_store() -> None:
    provider = Provider()
    agent = Agent("r", model=Thinker(provider))
    async with testing.env([agent], clock=FakeClock(1_700_000_000.0)) as env:
        run = await begun(env, agent)
        await run.pause(by="ana")
        saved = await run.checkpoint()
    provider.ready["resp_0"] = said("elsewhere")
    # its time is long past by the clock of this machine's own store
    async with asyncio.timeout(10):
        outcome = await agent.resume(saved)
    assert outcome.output == "elsewhere"
    assert len(provider.handed_in) == 1
