"""Agents as tools: what they are given, and conversations that are handed over."""

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from adjourn import (
    Agent,
    Cancelled,
    Completed,
    InvalidDefinition,
    MaxSteps,
    Policy,
    ProgramChanged,
    Runtime,
    Stopped,
    ToolContext,
    ask,
    deny,
    is_paused,
    pause_for,
    tool,
)
from adjourn.agent.agent_tool import HandoffTool
from adjourn.core.messages import AssistantMessage, ToolResult, UserMessage
from adjourn.core.records import Intended, Parked, Returned
from adjourn.hooks import HookedCall, HookedText, Veto, before_tool, check_output
from adjourn.testing import ScriptedModel, call, crash_points

LIMIT = 30.0


# What a nested agent is given.


class Ticket(BaseModel):
    """A ticket."""

    order: str = Field(description="the order's number")
    kind: Literal["refund", "exchange"] = "refund"


@dataclass
class Point:
    x: int
    y: int


def desk(child: Any, **args: Any) -> Agent[str]:
    return Agent("desk", model=ScriptedModel([call("child", **args)], "done"), tools=[child])


def child() -> Agent[str]:
    return Agent("child", model=ScriptedModel("handled"))


def told(agent: Agent[Any]) -> Any:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.requests[0].messages[0]


async def test_the_model_above_sees_the_schema_and_the_agent_reads_the_value_as_json() -> None:
    below = child()
    above = desk(below.as_tool(input_type=Ticket), order="4417")
    outcome = await above.run("go")
    assert isinstance(outcome, Completed)
    assert isinstance(above.model, ScriptedModel)
    [spec] = above.model.requests[0].tools
    assert set(spec.schema["properties"]) == {"order", "kind"} and spec.schema["required"] == ["order"]
    assert told(below) == UserMessage('{"order":"4417","kind":"refund"}')
    [intended] = [record for record in outcome.checkpoint.records if isinstance(record, Intended)]
    assert intended.input == {"order": "4417", "kind": "refund"}


async def test_a_function_puts_the_value_into_words() -> None:
    below = child()
    given = below.as_tool(input_type=Ticket, render=lambda ticket: f"{ticket.kind} of order {ticket.order}, please")
    assert isinstance(await desk(given, order="4417", kind="exchange").run("go"), Completed)
    assert told(below) == UserMessage("exchange of order 4417, please")


@pytest.mark.parametrize(
    ("type_", "args", "text"),
    [(Point, {"x": 1, "y": 2}, '{"x":1,"y":2}'), (list[int], {"input": [1, 2]}, "[1,2]"), (int, {"input": 7}, "7")],
)
async def test_other_types_than_models_do(type_: Any, args: Any, text: str) -> None:
    below = child()
    assert isinstance(await desk(below.as_tool(input_type=type_), **args).run("go"), Completed)
    assert told(below) == UserMessage(text)


@pytest.mark.parametrize(
    ("args", "render", "says"),
    [
        ({"order": 7, "kind": "refund"}, None, "invalid arguments for child"),
        ({"order": "1", "kind": "theft"}, None, "invalid arguments for child"),
        ({"order": "1", "more": 1}, None, "invalid arguments for child"),
        ({"order": "1"}, lambda ticket: ticket.nothing, "it cannot be rendered as text (AttributeError"),  # pyright: ignore
        ({"order": "1"}, lambda ticket: 7, "render= gave int, not a string"),  # pyright: ignore
    ],
)
async def test_what_does_not_fit_is_read_by_the_model_and_no_agent_begins(args: Any, render: Any, says: str) -> None:
    below = child()
    outcome = await desk(below.as_tool(input_type=Ticket, render=render), **args).run("go")
    assert isinstance(outcome, Completed)
    [returned] = [record for record in outcome.checkpoint.records if isinstance(record, Returned)]
    assert says in returned.error and not returned.ran
    assert isinstance(below.model, ScriptedModel) and not below.model.requests


async def test_a_policy_judges_the_fields_of_the_input() -> None:
    above = Agent(
        "desk",
        model=ScriptedModel([call("child", order="1")], "done"),
        tools=[child().as_tool(input_type=Ticket)],
        policy=Policy([ask("child", when={"kind": "refund"})], default="allow"),
    )
    waits = await above.run("go")
    assert is_paused(waits)
    assert waits.interrupts[0].call is not None and waits.interrupts[0].call.arguments == {
        "order": "1",
        "kind": "refund",
    }


def test_what_is_no_type_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidDefinition, match="as_tool of 'child': input_type= must be a type"):
        child().as_tool(input_type=object())
    with pytest.raises(InvalidDefinition, match="render= must be a function"):
        child().as_tool(render="x")  # pyright: ignore


# Handoffs.


class Bank:
    def __init__(self) -> None:
        self.done: list[str] = []

    def tools(self, *names: str) -> list[Any]:
        made: list[Any] = []
        for name in names:

            async def undo(ctx: ToolContext, args: dict[str, Any], result: Any, name: str = name) -> None:
                self.done.append(f"undo {name}")

            async def act(name: str = name) -> str:
                self.done.append(name)
                return f"{name} done"

            made.append(_tool(name, act, undo))
        return made


def _tool(name: str, act: Any, undo: Any) -> Any:
    async def run() -> str:
        return await act()

    return tool(name=name, description=name, effect="unsafe", undo=undo)(run)


def triage(bank: Bank, *second: Any, first: Any = None, **options: Any) -> Agent[str]:
    """An agent that notes something, and hands over to one that refunds."""
    billing = Agent(
        "billing",
        model=ScriptedModel(*(second or ([call("refund")], "refunded"))),
        tools=bank.tools("refund"),
        instructions="You refund.",
        **options.pop("billing", {}),
    )
    turns = first or [[call("note"), call("transfer_to_billing", reason="money")]]
    return Agent("triage", model=ScriptedModel(*turns), tools=[*bank.tools("note"), billing.as_handoff()], **options)


def taker(agent: Agent[Any]) -> ScriptedModel:
    """The model of the agent that takes over."""
    handoff = agent.tools["transfer_to_billing"]
    assert isinstance(handoff, HandoffTool) and isinstance(handoff.agent.model, ScriptedModel)
    return handoff.agent.model


async def test_the_agent_that_takes_over_has_the_conversation_and_gives_the_output(place: str) -> None:
    bank = Bank()
    agent = triage(bank)
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "refund me")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed) and outcome.output == "refunded" and bank.done == ["note", "refund"]
    request = taker(agent).requests[0]
    assert request.instructions == "You refund." and [spec.name for spec in request.tools] == ["refund"]
    asked, replied, noted, handed = request.messages
    assert asked == UserMessage("refund me") and isinstance(replied, AssistantMessage)
    assert isinstance(noted, ToolResult) and noted.content == "note done"
    assert isinstance(handed, ToolResult) and handed.content == "The conversation continues with billing."
    assert len(agent.model.requests) == 1  # pyright: ignore


async def test_a_cancel_undoes_what_both_did_each_with_its_own_undo(place: str) -> None:
    bank = Bank()

    @tool(effect="read")
    async def wait() -> None:
        """Wait."""
        pause_for("question")

    billing = Agent("billing", model=ScriptedModel([call("note")], [call("wait")]), tools=[*bank.tools("note"), wait])
    other = Bank()
    agent = Agent(
        "triage",
        model=ScriptedModel([call("note"), call("transfer_to_billing")]),
        tools=[*other.tools("note"), billing.as_handoff()],
    )
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "go")
        assert is_paused(await run.wait(LIMIT))
        await run.cancel(by="ana")
        assert isinstance(await run.wait(LIMIT), Cancelled)
    assert other.done == ["note", "undo note"] and bank.done == ["note", "undo note"]


async def test_the_rules_hooks_and_checks_of_the_one_before_hold_on() -> None:
    bank, asked = Bank(), list[str]()

    def looks(hooked: HookedCall) -> None:
        asked.append(f"{hooked.agent} {hooked.tool}")

    outcome = await triage(bank, policy=Policy([deny("refund")], default="allow"), hooks=[before_tool(looks)]).run("go")
    assert isinstance(outcome, Completed) and bank.done == ["note"]
    assert asked == ["triage note", "triage transfer_to_billing"]

    def no_money(text: HookedText) -> Veto | None:
        return Veto("no money") if "refunded" in text.text else None

    outcome = await triage(Bank(), hooks=[check_output(no_money)]).run("go")
    assert isinstance(outcome, Stopped) and outcome.by == "output refused by no_money: no money"


async def test_a_handoff_may_need_a_person_and_one_that_is_denied_does_not_happen() -> None:
    agent = triage(Bank(), first=[[call("transfer_to_billing")], "then I do it"], policy=Policy([ask("transfer_*")]))
    waits = await agent.run("go")
    assert is_paused(waits)
    outcome = await agent.resume(waits.checkpoint, approved=False)
    assert isinstance(outcome, Completed) and outcome.output == "then I do it"


async def test_a_reply_hands_over_once() -> None:
    bank = Bank()
    first = [[call("transfer_to_billing"), call("transfer_to_billing")]]
    outcome = await triage(bank, first=first).run("go")
    assert isinstance(outcome, Completed) and outcome.output == "refunded"
    errors = [r.error for r in outcome.checkpoint.records if isinstance(r, Returned) and r.error]
    assert errors == ["only one handoff per reply is allowed: this reply already has one"]


async def test_the_limits_of_the_run_hold_on() -> None:
    outcome = await triage(Bank(), stop=MaxSteps(2)).run("go")
    assert isinstance(outcome, Stopped) and outcome.by == "MaxSteps(2)"


async def test_what_people_say_is_read_by_who_has_the_conversation_now() -> None:
    bank = Bank()
    agent = triage(bank, [call("refund")], "heard", billing={"policy": Policy([ask("refund")])})
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "go")
        waits = await run.wait(LIMIT)
        assert is_paused(waits)
        await run.say("thank you", by="ana")
        await rt.approve(waits.interrupts[0], by="bo")
        outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed) and outcome.output == "heard"
    assert "thank you" in str(taker(agent).requests[-1].messages)


async def test_a_halt_of_the_agent_that_took_over_holds_the_run(place: str) -> None:
    bank = Bank()
    agent = triage(bank)
    async with Runtime(place, [agent]) as rt:
        await rt.halt("agent:billing", by="ana", reason="look first")
        run = await rt.start(agent, "go")
        rings, blocked = asyncio.Event(), list[Parked]()
        unsubscribe = rt.store.subscribe(run.id, rings.set)
        while not blocked:
            rings.clear()
            found = [record for _, record in await rt.store.load(run.id)]
            blocked = [record for record in found if isinstance(record, Parked) and record.blocked]
            if not blocked:
                await asyncio.wait_for(rings.wait(), LIMIT)
        unsubscribe()
        assert blocked[0].blocked == ("agent:billing",) and bank.done == ["note"]
        await rt.unhalt("agent:billing", by="ana")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed) and bank.done == ["note", "refund"]


async def test_wherever_a_worker_dies_it_is_handed_over_once_and_ends_the_same() -> None:
    for point in crash_points():
        bank = Bank()

        def person(interrupt: Any, bank: Bank = bank) -> Any:
            if interrupt.kind != "in_doubt":
                return True
            done = interrupt.call.tool in bank.done
            return {"choice": "happened", "result": "it did"} if done else {"choice": "run"}

        outcome = await point.run(triage(bank), "go", answer=person)
        assert isinstance(outcome, Completed) and outcome.output == "refunded", point
        assert sorted(bank.done) == ["note", "refund"], point
        handed = [r.agent for r in outcome.checkpoint.records if isinstance(r, Returned) and r.agent]
        assert handed == ["billing"], point


async def test_a_run_does_not_continue_without_the_agent_it_may_hand_over_to() -> None:
    waits = await triage(Bank(), billing={"policy": Policy([ask("refund")])}).run("go")
    assert is_paused(waits)
    lonely = Agent("triage", model=ScriptedModel("x"), tools=Bank().tools("note"))
    with pytest.raises(ProgramChanged, match="agent 'billing' is gone"):
        await lonely.resume(waits.checkpoint, approved=True)


def test_who_takes_over_has_the_same_output_type() -> None:
    with pytest.raises(InvalidDefinition, match="'billing', which has another output_type"):
        Agent("triage", model="test", tools=[Agent("billing", model="test", output_type=int).as_handoff()])
