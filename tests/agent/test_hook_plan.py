"""Guardrails: what an agent is told, and what it gives, passes, is refused, or is put before a person."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from adjourn import Agent, Completed, Flow, InvalidDefinition, ProgramChanged, RunFailed, Runtime, Stopped, is_paused
from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.core.records import Checked, RunCompleted
from adjourn.hooks import AskPerson, HookedText, Veto, check_input, check_output
from adjourn.testing import ScriptedModel, call, crash_points

LIMIT = 30.0
SECRET = "the launch code"


def said(*hooks: Any, replies: Any = ("fine",), **options: Any) -> Agent[Any]:
    return Agent("talker", model=ScriptedModel(*replies), hooks=hooks, **options)


def polite(text: HookedText) -> Veto | None:
    return Veto("it is rude") if "rude" in text.text else None


def closed(text: HookedText) -> Veto | None:
    return Veto("it is secret") if SECRET in text.text else None


def unsure(text: HookedText) -> AskPerson | None:
    return AskPerson("it may be rude.") if "rude" in text.text else None


def checks(outcome: Any) -> list[tuple[str, str]]:
    return [(record.step, record.verdict) for record in outcome.checkpoint.records if isinstance(record, Checked)]


async def test_what_passes_is_recorded_and_the_run_completes() -> None:
    saw: list[HookedText] = []
    outcome = await said(check_input(saw.append, name="in"), check_output(saw.append, name="out")).run(
        "hello", by="ana"
    )
    assert isinstance(outcome, Completed) and outcome.output == "fine"
    assert checks(outcome) == [("input:", "pass"), ("output:", "pass")]
    assert [(text.text, text.value, text.agent, text.requesters) for text in saw] == [
        ("hello", None, "talker", ("ana",)),
        ("fine", "fine", "talker", ("ana",)),
    ]


async def test_no_model_reads_an_input_that_is_refused(place: str) -> None:
    agent = said(check_input(polite))
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "rude words")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Stopped) and outcome.by == "input refused by polite: it is rude"
        assert isinstance(agent.model, ScriptedModel) and not agent.model.requests
        assert [line.entry["hook"] for line in await rt.store.audit(run.id) if line.entry["verb"] == "veto"] == [
            "polite"
        ]


async def test_an_output_that_is_refused_is_given_to_nobody(place: str) -> None:
    agent = said(check_output(closed), replies=(f"It is {SECRET}",))
    async with Runtime(place, [agent]) as rt:
        outcome = await (await rt.start(agent, "what is it?")).wait(LIMIT)
        assert isinstance(outcome, Stopped) and outcome.by == "output refused by closed: it is secret"
        assert not outcome.partial
        [end] = [record for record in outcome.checkpoint.records if isinstance(record, RunCompleted)]
        assert not end.output and not end.spoken


@pytest.mark.parametrize("choice", ["pass", "stop"])
@pytest.mark.parametrize("hook", [check_input(unsure), check_output(unsure)], ids=["input", "output"])
async def test_a_person_may_let_it_pass_or_stop_it(hook: Any, choice: str, place: str) -> None:
    agent = said(hook, replies=("rude too",))
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "rude words")
        outcome = await run.wait(LIMIT)
        assert is_paused(outcome)
        [interrupt] = outcome.interrupts
        assert interrupt.kind == "limit" and list(interrupt.choices) == ["pass", "stop"]
        assert interrupt.payload["question"] == f"unsure asks about the {hook.when}: it may be rude. Let it pass?"
        await rt.answer(interrupt, choice, by="ana")
        outcome = await run.wait(LIMIT)
        if choice == "pass":
            assert isinstance(outcome, Completed) and outcome.output == "rude too"
        else:
            assert isinstance(outcome, Stopped)
            assert outcome.by == f"{hook.when} doubted by unsure: ana stopped it" and not outcome.partial
        assert len(checks(outcome)) == 1  # once said, a hook is not asked again


async def test_what_people_say_later_is_checked_before_a_model_reads_it(place: str) -> None:
    inside, go = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedModel):
        async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            if not inside.is_set():
                inside.set()
                await go.wait()
            async for item in super().request(request):
                yield item

    agent = Agent("talker", model=Slow("first", "second"), hooks=[check_input(polite)])
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "hello")
        await asyncio.wait_for(inside.wait(), LIMIT)
        await run.say("and be kind", by="ana")
        go.set()
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed) and outcome.output == "second"
        assert checks(outcome) == [("input:", "pass"), ("input:", "pass")]
        inside.clear()
        go.clear()
        run = await rt.start(agent, "hello")
        await asyncio.wait_for(inside.wait(), LIMIT)
        await run.say("be rude", by="ana")
        go.set()
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Stopped) and outcome.by == "input refused by polite: it is rude"
        assert "be rude" not in str(agent.model.requests[-1].messages)  # pyright: ignore


async def test_a_check_that_fails_fails_the_run_and_is_asked_again_when_it_is_resumed() -> None:
    away = [ConnectionError("nobody answers")]

    def service(text: HookedText) -> None:
        if away:
            raise away.pop()

    agent = said(check_input(service))
    with pytest.raises(RunFailed, match=r"the hook service failed \(ConnectionError: nobody answers\)") as failed:
        await agent.run("hello")
    assert isinstance(agent.model, ScriptedModel) and not agent.model.requests
    assert failed.value.checkpoint is not None
    outcome = await agent.resume(failed.value.checkpoint)
    assert isinstance(outcome, Completed) and checks(outcome) == [("input:", "pass")]


async def test_a_check_that_gives_something_else_lets_nothing_pass() -> None:
    with pytest.raises(RunFailed, match="it gave bool, not None, Veto"):
        await said(check_output(lambda text: True, name="odd")).run("hello")


async def test_a_nested_agent_that_is_refused_is_an_error_for_the_one_above() -> None:
    child = Agent("child", model=ScriptedModel(SECRET), hooks=[check_output(closed)])
    parent = Agent("parent", model=ScriptedModel([call("child", input="tell me")], "sorry"), tools=[child.as_tool()])
    outcome = await parent.run("go")
    assert isinstance(outcome, Completed) and outcome.output == "sorry"
    assert isinstance(parent.model, ScriptedModel)
    assert "child was stopped: output refused by closed: it is secret" in str(parent.model.requests[1].messages)
    assert SECRET not in str(parent.model.requests[1].messages)


async def test_an_agent_of_a_flow_that_is_refused_stops_the_flow() -> None:
    flow = Flow("talk")
    flow.to(Agent("talker", model=ScriptedModel(SECRET), hooks=[check_output(closed)]))
    async with Runtime("memory://", [flow]) as rt:
        outcome = await (await rt.start(flow, "go")).wait(LIMIT)
        assert isinstance(outcome, Stopped) and "output refused by closed" in outcome.by


async def test_structured_output_is_checked_as_json() -> None:
    class Offer(BaseModel):
        cents: int

    def small(text: HookedText) -> Veto | None:
        return Veto("too much") if text.value["cents"] > 100 else None

    replies = ([call("final_result", cents=500)],)
    outcome = await said(check_output(small), replies=replies, output_type=Offer).run("go")
    assert isinstance(outcome, Stopped) and outcome.by == "output refused by small: too much"


async def test_wherever_a_worker_dies_a_check_that_is_recorded_is_not_made_again() -> None:
    points = 0
    for point in crash_points():
        agent = said(check_input(unsure), check_output(polite), replies=("fine",))
        outcome = await point.run(agent, "rude words", answer=lambda interrupt: "pass")
        assert isinstance(outcome, Completed) and outcome.output == "fine", point
        assert checks(outcome) == [("input:", "ask"), ("output:", "pass")], point
        points += 1
    assert points > 8


async def test_a_run_does_not_continue_without_a_check_it_began_with() -> None:
    waits = await said(check_input(unsure)).run("rude")
    assert is_paused(waits)
    with pytest.raises(ProgramChanged, match="hook «input: unsure» was removed"):
        await said().resume(waits.checkpoint, "pass")


def test_what_cannot_be_a_check_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match=r"check_input 'two': the function must take \(text\)"):
        check_input(lambda a, b: None, name="two")  # pyright: ignore
    with pytest.raises(InvalidDefinition, match="needs a sentence that a person reads"):
        AskPerson("")
