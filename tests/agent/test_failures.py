"""Failures: retried if that may help, else raised with a checkpoint from which the run goes on at the step that failed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from adjourn import (
    Agent,
    Checkpoint,
    CheckpointInvalid,
    MaxSteps,
    MissingResource,
    ModelError,
    RunFailed,
    Stopped,
    can_resume,
    tool,
)
from adjourn.bodies import retries
from adjourn.core.messages import ModelRequest
from adjourn.core.records import Faulted
from adjourn.core.state import State
from adjourn.driver.loop import Drive
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call
from adjourn.testing.scripted import ScriptedReply

ran: list[str] = []
busy = ModelError("rate limited", transient=True, kind="rate_limit")
wrong_key = ModelError("invalid api key", kind="credentials")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    ran.clear()
    monkeypatch.setattr(retries, "BACKOFF", 0.001)


@tool
async def work(n: int) -> str:
    """Work."""
    ran.append(f"work {n}")
    return f"worked {n}"


def agent_of(*replies: ScriptedReply | Callable[[Any], ScriptedReply], **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*replies)
    return Agent("failing", model=model, tools=[work], **options), model


async def failed(agent: Agent, input: str = "go") -> RunFailed:
    with pytest.raises(RunFailed) as caught:
        await agent.run(input)
    return caught.value


# Retries


@pytest.mark.parametrize(
    "error",
    [
        busy,
        ModelError("503", transient=True),
        TimeoutError("slow"),
        ConnectionResetError("gone"),
        TimeoutError(),
    ],
)
async def test_what_may_help_is_tried_again(error: BaseException) -> None:
    agent, model = agent_of(error, error, "done")
    done = await agent.run("go")
    assert done.output == "done"
    assert [r.index for r in model.requests] == [0, 1, 2]
    assert len({r.messages for r in model.requests}) == 1
    faults = [r for r in done.checkpoint.records if isinstance(r, Faulted)]
    assert [(f.step, f.transient) for f in faults] == [("model:", True)] * 2


async def test_retries_is_the_number_of_attempts_per_model_call() -> None:
    agent, model = agent_of(busy, busy, "x", retries=2)
    assert "rate limited" in str(await failed(agent))
    assert len(model.requests) == 2
    agent, model = agent_of(busy, [call("work", n=1)], busy, "done", retries=2)
    assert (await agent.run("go")).output == "done"
    agent, model = agent_of(busy, "x", retries=1)
    await failed(agent)
    assert len(model.requests) == 1


@pytest.mark.parametrize("error", [wrong_key, ModelError("invalid request"), ValueError("a bug"), KeyError("x")])
async def test_anything_else_fails_at_once(error: BaseException) -> None:
    agent, model = agent_of(error, "done")
    caught = await failed(agent)
    assert len(model.requests) == 1
    assert caught.__cause__ is error
    assert not can_resume(caught)


class Script:
    """A run on a store whose time only moves when the test says so."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.clock = agent, FakeClock()
        self.store = MemoryStore(now=self.clock.now)

    async def start(self) -> None:
        from adjourn.core.records import Started

        await self.store.create(
            Started(run="R", kind="agent", program=self.agent.name, fingerprint=self.agent.fingerprint, input="go")
        )
        await self.drive()

    async def drive(self) -> None:
        lease = await self.store.acquire("R", "w", 3600.0)
        assert lease is not None
        state = State().fold_all(lease.records)
        self.task = asyncio.ensure_future(
            Drive(self.store, self.agent.program, lease, state, ttl=3600.0, clock=self.clock).run()
        )
        await self.settle()

    async def settle(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)


@pytest.fixture
def backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "BACKOFF", 0.5)


@pytest.mark.usefixtures("backoff")
async def test_the_time_between_attempts_doubles() -> None:
    agent, model = agent_of(busy, busy, busy, "done", retries=4)
    script = Script(agent)
    await script.start()
    for attempt, wait in enumerate([0.5, 1.0, 2.0], 1):
        script.clock.advance(wait - 0.01)
        await script.settle()
        assert len(model.requests) == attempt
        script.clock.advance(0.02)
        await script.settle()
        assert len(model.requests) == attempt + 1
    assert (await script.task).status == "completed"


@pytest.mark.usefixtures("backoff")
async def test_the_providers_own_word_about_when_is_honoured() -> None:
    agent, model = agent_of(ModelError("429", transient=True, retry_after=7.0), "done")
    script = Script(agent)
    await script.start()
    script.clock.advance(6.9)
    await script.settle()
    assert len(model.requests) == 1
    script.clock.advance(0.2)
    assert (await script.task).status == "completed"


@pytest.mark.usefixtures("backoff")
async def test_for_a_long_wait_the_run_is_parked_and_holds_nothing() -> None:
    agent, model = agent_of(ModelError("429", transient=True, retry_after=600.0), "done")
    script = Script(agent)
    await script.start()
    assert (await script.task).status == "waiting"
    row = await script.store.get("R")
    assert (row.worker, row.wake_at) == ("", script.clock.now() + 600)
    assert await script.store.acquire("R", "w", 10.0) is None
    script.clock.advance(600)
    await script.drive()
    assert (await script.task).status == "completed"
    assert len(model.requests) == 2


async def test_an_attempt_is_counted_in_the_journal_not_in_memory() -> None:
    """A worker that dies between attempts does not start counting again."""
    agent, model = agent_of(*[busy] * 9, "done", retries=3)
    caught = await failed(agent)
    assert caught.checkpoint is not None
    cut = Checkpoint(caught.checkpoint.records[:4])
    assert [type(r).__name__ for r in cut.records].count("Faulted") == 2
    with pytest.raises(RunFailed):
        await agent.resume(cut.to_json())
    assert [r.index for r in model.requests] == [0, 1, 2, 2]


# Resuming


async def test_a_failure_of_the_very_first_model_call_is_resumable() -> None:
    agent, _ = agent_of(wrong_key, "done")
    caught = await failed(agent, "refund order 123")
    assert caught.checkpoint is not None
    assert caught.run_id == caught.checkpoint.run_id
    assert (caught.checkpoint.status, caught.checkpoint.input) == ("waiting", "refund order 123")
    assert [i.kind for i in caught.checkpoint.interrupts] == ["error"]
    done = await agent.resume(caught.checkpoint.to_json())
    assert (done.output, done.run_id) == ("done", caught.run_id)


async def test_resuming_goes_on_at_the_step_that_failed_and_runs_no_tool_again() -> None:
    agent, model = agent_of([call("work", n=1), call("work", n=2)], wrong_key, [call("work", n=3)], "done")
    caught = await failed(agent)
    assert ran == ["work 1", "work 2"]
    assert caught.checkpoint is not None
    done = await agent.resume(caught.checkpoint.to_json())
    assert done.output == "done"
    assert ran == ["work 1", "work 2", "work 3"]
    assert [len(r.messages) for r in model.requests] == [1, 4, 4, 6]


async def test_budgets_carry_over() -> None:
    agent, model = agent_of([call("work", n=1)], wrong_key, [call("work", n=2)], "never", stop=MaxSteps(2))
    caught = await failed(agent)
    assert caught.checkpoint is not None
    spent = caught.checkpoint.usage
    assert spent.requests == 1
    stopped = await agent.resume(caught.checkpoint.to_json())
    assert isinstance(stopped, Stopped)
    assert stopped.by == "MaxSteps(2)"
    assert stopped.usage.requests == 2
    assert stopped.usage.total_tokens > spent.total_tokens
    assert len(model.requests) == 3


async def test_a_run_may_fail_and_be_resumed_again_and_again() -> None:
    agent, _ = agent_of(*[wrong_key] * 8, "done")
    caught = await failed(agent)
    for _ in range(7):
        assert caught.checkpoint is not None
        with pytest.raises(RunFailed) as again:
            await agent.resume(caught.checkpoint.to_json())
        caught = again.value
    assert caught.checkpoint is not None
    assert (await agent.resume(caught.checkpoint.to_json())).output == "done"


async def test_a_failed_run_may_be_given_up() -> None:
    agent, _ = agent_of([call("work", n=1)], wrong_key, "done")
    caught = await failed(agent)
    assert caught.checkpoint is not None
    done = await agent.resume(caught.checkpoint, "cancel")
    assert done.status == "cancelled"


async def test_the_error_says_what_failed_and_what_to_do() -> None:
    agent, _ = agent_of(wrong_key)
    caught = await failed(agent)
    assert "invalid api key" in str(caught)
    assert "resume(" in str(caught)
    assert caught.__cause__ is wrong_key


async def test_the_cause_is_the_error_of_the_step_that_failed() -> None:
    hiccup = ModelError("a hiccup of another step", transient=True)
    helper = Agent("helper", model=ScriptedModel(hiccup, "helped"), instructions="Help.")
    agent = Agent("causes", model=ScriptedModel([call("helper", input="x")], wrong_key), tools=[helper.as_tool()])
    assert (await failed(agent)).__cause__ is wrong_key


async def test_instructions_that_raise_fail_the_run_resumably() -> None:
    answers = [KeyError("tenant"), "You are kind."]

    def instructions(_: Any) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    agent = Agent("i", model=ScriptedModel("unused", "done"), instructions=instructions)
    caught = await failed(agent)
    assert caught.checkpoint is not None
    assert isinstance(caught.__cause__, KeyError)
    assert (await agent.resume(caught.checkpoint.to_json())).output == "done"


@pytest.mark.parametrize("reply", [object(), 5, {"a": 1}])
async def test_a_model_that_breaks_its_contract_fails_the_run_resumably(reply: Any) -> None:
    class Broken:
        name = "broken"

        async def request(self, request: ModelRequest) -> Any:
            if reply == 5:
                return
            yield reply

    agent = Agent("b", model=Broken())  # pyright: ignore[reportArgumentType]
    caught = await failed(agent)
    assert caught.checkpoint is not None
    fixed = Agent("b", model=ScriptedModel("unused", "done"))
    assert (await fixed.resume(caught.checkpoint.to_json())).output == "done"


async def test_words_that_no_record_can_hold_are_replaced_not_lost() -> None:
    agent, _ = agent_of("good \ud800 day")
    done = await agent.run("go")
    assert done.output == "good ? day"
    assert Checkpoint.from_json(done.checkpoint.to_json()).status == "completed"
    agent, _ = agent_of(ModelError("bad \udcff"))
    assert (await failed(agent)).checkpoint is not None


# can_resume


@pytest.mark.parametrize(
    ("error", "may"),
    [
        (busy, True),
        (TimeoutError(), True),
        (ConnectionError(), True),
        (wrong_key, False),
        (ModelError("invalid request"), False),
        (MissingResource(["bank"], "x"), False),
        (CheckpointInvalid("altered"), False),
        (RunFailed("x", resumable=True), True),
        (RunFailed("x", resumable=False), False),
    ],
)
def test_whether_trying_again_may_help(error: BaseException, may: bool) -> None:
    assert can_resume(error) is may


def test_the_answer_is_found_in_the_chain_of_causes() -> None:
    outer = RuntimeError("x")
    outer.__cause__ = wrong_key
    assert can_resume(outer) is False


async def test_a_failure_that_outlived_its_retries_may_be_resumed() -> None:
    agent, _ = agent_of(busy, busy, busy, "done")
    caught = await failed(agent)
    assert can_resume(caught)
    assert caught.checkpoint is not None
    assert (await agent.resume(caught.checkpoint)).output == "done"
