"""Stop conditions at work: limits stop, success completes, and `.then("pause")` asks a person for more."""

import asyncio
from typing import Any

import pytest
from tests.agent.words import last, results

from adjourn import (
    Agent,
    Completed,
    InvalidAnswer,
    InvalidDefinition,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Stopped,
    TextMention,
    ToolCalled,
    is_paused,
    pause_for,
    tool,
)
from adjourn.core.messages import Reply, ToolCall
from adjourn.core.usage import Usage
from adjourn.testing import FakeClock, ScriptedModel, call


@tool
async def work(n: int = 0) -> str:
    """Work."""
    return f"worked {n}"


def working(stop: Any, turns: int = 20, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*[["still at it ", call("work", n=n)] for n in range(turns)], "finished")
    return Agent("limits", model=model, tools=[work], stop=stop, **options), model


async def test_a_limit_stops_before_the_next_model_call_and_names_the_leaf() -> None:
    agent, model = working(MaxSteps(3) | MaxTokens(10**9))
    stopped = await agent.run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.status, stopped.by, stopped.partial) == ("stopped", "MaxSteps(3)", "still at it ")
    assert stopped.usage.requests == len(model.requests) == 3
    assert stopped.checkpoint.status == "completed"


async def test_fifty_steps_are_the_default() -> None:
    model = ScriptedModel(*[[call("work")]] * 60)
    stopped = await Agent("limits", model=model, tools=[work]).run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.by, len(model.requests)) == ("MaxSteps(50)", 50)


async def test_the_work_of_the_last_reply_is_done_before_a_limit_stops() -> None:
    agent, _ = working(MaxSteps(1))
    stopped = await agent.run("go")
    assert results(stopped.checkpoint.messages) == ["worked 0"]


async def test_tokens_are_counted() -> None:
    costly = Reply((ToolCall(id="c", tool="work", args={}),), Usage(1, 60, 40))
    agent = Agent("tokens", model=ScriptedModel(costly, costly, costly, "done"), tools=[work], stop=MaxTokens(200))
    stopped = await agent.run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.by, stopped.usage.total_tokens) == ("MaxTokens(200)", 200)


async def test_the_end_is_the_end_even_at_the_limit() -> None:
    assert (await Agent("end", model=ScriptedModel("done"), stop=MaxSteps(1)).run("go")).output == "done"


@pytest.mark.parametrize(
    ("stop", "by"), [(TextMention("at it"), "TextMention('at it')"), (ToolCalled("work"), "ToolCalled('work')")]
)
async def test_a_condition_of_success_completes_the_run(stop: Any, by: str) -> None:
    agent, model = working(stop)
    done = await agent.run("go")
    assert isinstance(done, Completed)
    assert (done.by, done.output, done.status) == (by, "still at it ", "completed")
    assert len(model.requests) == 1


async def test_time_counts_from_the_start_waiting_included(clock: FakeClock) -> None:
    @tool
    async def ask_it() -> str:
        """Ask."""
        pause_for("question")

    agent = Agent("time", model=ScriptedModel([call("ask_it")], "done"), tools=[ask_it], stop=MaxTime(60))
    outcome = await agent.run("go")
    assert is_paused(outcome)
    clock.advance(61)
    stopped = await agent.resume(outcome.checkpoint.to_json(), 1)
    assert isinstance(stopped, Stopped)
    assert stopped.by == "MaxTime(60)"


async def test_then_pause_asks_a_person_who_may_extend_or_stop() -> None:
    agent, model = working(MaxSteps(2).then("pause"), turns=6)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert (interrupt.kind, list(interrupt.choices)) == ("limit", ["extend", "stop"])
    assert interrupt.payload["condition"] == "MaxSteps(2)"
    saved = outcome.checkpoint.to_json()
    for wrong in (True, "go on", {"choice": "extend", "amount": -1}, 5):
        with pytest.raises(InvalidAnswer):
            await agent.resume(saved, wrong)
    stopped = await agent.resume(saved, "stop")
    assert isinstance(stopped, Stopped)
    assert stopped.by == "MaxSteps(2)"
    assert len(model.requests) == 2
    again = await agent.resume(saved, {"choice": "extend", "amount": 1})
    assert is_paused(again)
    assert len(model.requests) == 3
    more = await agent.resume(again.checkpoint.to_json(), "extend")
    assert is_paused(more)
    assert len(model.requests) == 5


async def test_a_limit_does_not_wait_for_an_unanswered_question() -> None:
    """The limit is asked for when a model call is due, not while a call of the last reply still waits."""

    @tool
    async def ask_it() -> str:
        """Ask."""
        pause_for("question")

    agent = Agent("both", model=ScriptedModel([call("ask_it")], "x"), tools=[ask_it], stop=MaxSteps(1).then("pause"))
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert [i.kind for i in outcome.interrupts] == ["question"]
    limited = await agent.resume(outcome.checkpoint, 1)
    assert is_paused(limited)
    assert [i.kind for i in limited.interrupts] == ["limit"]
    assert (await agent.resume(limited.checkpoint, "extend")).output == "x"


# Nested agents are paths inside the run.


async def test_a_nested_agents_question_surfaces_with_its_path() -> None:
    @tool(policy="ask")
    async def pay(cents: int) -> str:
        """Pay."""
        return f"paid {cents}"

    def make() -> Agent:
        helper = Agent(
            "helper",
            model=ScriptedModel([call("pay", cents=5)], lambda m: f"helped: {last(m)}"),
            tools=[pay],
        )
        model = ScriptedModel([call("helper", input="pay five"), call("work", n=1)], lambda m: str(results(m)))
        return Agent("root", model=model, tools=[helper.as_tool(), work])

    outcome = await make().run("go")
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert interrupt.path == "1.0"
    done = await make().resume(outcome.checkpoint.to_json(), True)
    assert done.output == "['helped: paid 5', 'worked 1']"
    assert done.usage.requests == 4


async def test_the_roots_limit_counts_its_children() -> None:
    helper = Agent("helper", model=ScriptedModel(*[[call("work")]] * 9), tools=[work])
    model = ScriptedModel([call("helper", input="x")], "never")
    stopped = await Agent("root", model=model, tools=[helper.as_tool()], stop=MaxSteps(4)).run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.by, stopped.usage.requests) == ("MaxSteps(4)", 4)


async def test_a_childs_limit_ends_the_child_only() -> None:
    helper = Agent(
        "helper", model=ScriptedModel(*[["so far so good", call("work")]] * 9), tools=[work], stop=MaxSteps(2)
    )
    model = ScriptedModel([call("helper", input="x")], last)
    done = await Agent("root", model=model, tools=[helper.as_tool()]).run("go")
    assert "stopped by MaxSteps(2)" in done.output
    assert "so far so good" in done.output


async def test_the_model_call_of_a_stopped_run_is_not_left_running() -> None:
    before = asyncio.all_tasks()
    agent, _ = working(MaxSteps(2))
    await agent.run("go")
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize(
    "stop", [ToolCalled("wrok"), MaxSteps(3) | ToolCalled("wrok"), MaxSteps(3) & ToolCalled("wrok")]
)
def test_a_condition_on_a_tool_that_there_is_not_is_refused(stop: Any) -> None:
    with pytest.raises(InvalidDefinition, match=r"never stop it.*'wrok'.*did you mean 'work'\?"):
        working(stop)


def test_a_condition_may_be_on_a_tool_of_an_agent_below_and_on_the_output() -> None:
    below, _ = working(MaxSteps(3))
    Agent("above", model=ScriptedModel("x"), tools=[below.as_tool()], stop=ToolCalled("work") | ToolCalled("limits"))
    Agent("alone", model=ScriptedModel("x"), stop=ToolCalled("final_result"), output_type=int)
