"""What is judged, shown and agreed to is what runs: nothing is left out, drawn again, or ordered by chance."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from tests.agent.words import last

from adjourn import (
    Agent,
    Completed,
    Decision,
    InvalidAnswer,
    Outcome,
    Policy,
    Tool,
    ToolContext,
    ask,
    deny,
    eq,
    gt,
    is_paused,
    tool,
    under,
)
from adjourn.agent import model_call
from adjourn.core.records import Asked, Decided, Intended, Replied
from adjourn.testing import ScriptedModel, call, crash_points

ran: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


def explicit(properties: dict[str, Any], definitions: dict[str, Any] | None = None) -> Tool:
    async def run(args: dict[str, Any]) -> str:
        ran.append(json.loads(json.dumps(args)))
        args["seen"] = True
        for value in args.values():
            if isinstance(value, list):
                value.append("seen")  # pyright: ignore[reportUnknownMemberType]
        return "done"

    return Tool("refund", "", {"type": "object", "properties": properties, "$defs": definitions or {}}, run)


def make(one: Any, *rules: Any, **args: Any) -> Agent:
    policy = Policy(rules, default="allow")
    return Agent("refunds", model=ScriptedModel([call(one.name, **args)], last, last), tools=[one], policy=policy)


def pending(outcome: Outcome[Any]) -> dict[str, Any]:
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert interrupt.call is not None
    return interrupt.call.arguments


async def approved(agent: Agent, outcome: Outcome[Any], answer: Any = True) -> Outcome[Any]:
    assert is_paused(outcome)
    return await agent.resume(outcome.checkpoint.to_json(), answer, by="ana")


# Explicit schemas

CENTS = {"type": "integer", "default": 50_000}
WAYS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("cents", {"cents": CENTS}, {}, {"cents": 50_000}),
    ("cents", {"cents": {"$ref": "#/$defs/c"}}, {}, {"cents": 50_000}),
    ("p.cents", {"p": {"type": "object", "properties": {"cents": CENTS}}}, {"p": {}}, {"p": {"cents": 50_000}}),
    ("p.cents", {"p": {"$ref": "#/$defs/p"}}, {"p": {}}, {"p": {"cents": 50_000}}),
    ("p.cents", {"p": {"allOf": [{"$ref": "#/$defs/p"}], "default": {}}}, {}, {"p": {"cents": 50_000}}),
]
DEFS = {"c": CENTS, "p": {"type": "object", "properties": {"cents": CENTS}}}


@pytest.mark.parametrize(("key", "properties", "given", "complete"), WAYS)
async def test_a_default_of_an_explicit_schema_is_judged_shown_and_run(
    key: str, properties: dict[str, Any], given: dict[str, Any], complete: dict[str, Any]
) -> None:
    one = explicit({"order": {"type": "string"}, **properties}, DEFS)
    agent = make(one, ask("refund", when={key: gt(10_000)}), order="A", **given)
    outcome = await agent.run("go")
    assert pending(outcome) == {"order": "A", **complete}
    assert (await approved(agent, outcome)).status == "completed"
    assert ran == [{"order": "A", **complete}]
    denied = await make(one, deny("refund", when={key: gt(10_000)}, reason="too much"), order="A", **given).run("go")
    assert "too much" in denied.output
    assert len(ran) == 1


@pytest.mark.parametrize("rule", [ask, deny])
async def test_an_argument_that_is_not_given_and_has_no_default_asks_and_says_why(rule: Any) -> None:
    agent = make(explicit({"path": {"type": "string"}}), rule("refund", when={"path": under("/etc")}))
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert pending(outcome) == {}
    assert outcome.interrupts[0].call is not None
    assert "depends on 'path', which is not given" in outcome.interrupts[0].call.reason
    assert ran == []
    assert (await approved(agent, outcome)).status == "completed"
    assert ran == [{}]


async def test_a_field_of_an_argument_that_is_none_is_not_given() -> None:
    class Transfer(BaseModel):
        cents: int

    @tool
    async def pay(transfer: Transfer | None = None) -> str:
        ran.append(transfer)
        return "paid"

    outcome = await make(pay, ask("pay", when={"transfer.cents": gt(10)})).run("go")
    assert pending(outcome) == {"transfer": None}
    outcome = await make(pay, ask("pay", when={"transfer.cents": gt(10)}), transfer={"cents": 11}).run("go")
    assert pending(outcome) == {"transfer": {"cents": 11}}
    assert (
        await make(pay, ask("pay", when={"transfer.cents": gt(10)}), transfer={"cents": 10}).run("go")
    ).output == "paid"


async def test_an_extra_argument_with_a_dot_in_its_name_does_not_stand_before_the_field() -> None:
    one = explicit({"p": {"type": "object", "properties": {"cents": {"type": "integer"}}}})
    outcome = await make(one, ask("refund", when={"p.cents": gt(10)}), **{"p": {"cents": 99}, "p.cents": 1}).run("go")
    assert pending(outcome)["p"] == {"cents": 99}
    outcome = await make(one, deny("refund", when={"p.cents": gt(10)}), **{"p.cents": 1}).run("go")
    assert is_paused(outcome)


async def test_an_edit_is_completed_so_that_what_was_agreed_to_runs() -> None:
    one = explicit({"order": {"type": "string"}, "cents": CENTS})
    agent = make(one, ask("refund"), order="A", cents=5)
    outcome = await approved(agent, await agent.run("go"), Decision.approve(edit={"order": "B"}))
    assert outcome.status == "completed"
    assert ran == [{"order": "B", "cents": 50_000}]
    [decided] = [x for x in outcome.checkpoint.records if isinstance(x, Decided)]
    assert decided.edit == {"order": "B", "cents": 50_000}


async def test_an_edit_that_leaves_a_default_behind_which_another_rule_asks_is_asked_again() -> None:
    one = explicit({"order": {"type": "string"}, "cents": CENTS})
    agent = make(
        one, ask("refund", when={"order": eq("A")}), ask("refund", when={"cents": gt(10_000)}), order="A", cents=5
    )
    outcome = await approved(agent, await agent.run("go"), Decision.approve(edit={"order": "A"}))
    assert pending(outcome) == {"order": "A", "cents": 50_000}
    assert ran == []


async def test_a_body_that_changes_its_arguments_changes_nothing_that_was_agreed_to() -> None:
    one = explicit({"items": {"type": "array", "default": []}})
    agent = make(one, ask("refund"))
    for _ in range(2):
        outcome = await approved(agent, await agent.run("go"))
        assert outcome.status == "completed"
    assert ran == [{"items": []}] * 2
    assert one.schema["properties"] == {"items": {"type": "array", "default": []}}


# What is drawn


class Numbers:
    """A factory that counts how often it was asked."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count(1)
        self.drawn = 0

    def __call__(self) -> int:
        self.drawn = next(self._numbers)
        return self.drawn


numbers = Numbers()


class Envelope(BaseModel):
    to: str
    id: int = Field(default_factory=lambda: numbers())


@dataclass
class Slip:
    cents: int


async def _pay(ctx: ToolContext, cents: int, id: Annotated[int, Field(default_factory=lambda: numbers())]) -> str:
    """Pay."""
    ran.append((cents, id))
    return f"paid {cents} as {id}"


async def _mail(envelope: Envelope, id: int = Field(default_factory=lambda: numbers())) -> str:
    """Send."""
    ran.append((envelope.to, envelope.id, id))
    return f"sent {envelope.id} {id}"


@pytest.fixture(autouse=True)
def no_numbers() -> None:
    numbers.__init__()


async def test_what_was_drawn_and_shown_is_what_runs_in_another_process_too() -> None:
    def process() -> Agent:
        return make(tool(name="pay")(_pay), ask("pay"), cents=5)

    outcome = await process().run("go")
    shown = pending(outcome)
    assert shown == {"cents": 5, "id": numbers.drawn}
    once = numbers.drawn
    done = await approved(process(), outcome)
    assert done.output == f"paid 5 as {once}"
    assert numbers.drawn == once
    [replied, _] = [x for x in done.checkpoint.records if isinstance(x, Replied)]
    assert replied.drawn == {"0": shown}


@pytest.mark.parametrize("rules", [(), (ask("mail"),)])
async def test_what_is_inside_of_a_model_is_drawn_once_as_well(rules: Any) -> None:
    agent = make(tool(name="mail")(_mail), *rules, envelope={"to": "ana"})
    outcome = await agent.run("go")
    if rules:
        assert numbers.drawn == 2
        outcome = await approved(agent, outcome)
    assert outcome.status == "completed"
    assert ran == [("ana", 1, 2)]
    assert numbers.drawn == 2


async def test_two_calls_of_one_reply_have_their_own() -> None:
    one = tool(name="pay")(_pay)
    model = ScriptedModel(
        [call("pay", cents=1), call("look"), call("pay", cents=2), call("pay", cents=3, id=77)], last, last
    )

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "seen"

    agent = Agent("payer", model=model, tools=[one, look], policy=Policy([ask("pay")], default="allow"))
    outcome = await agent.run("go")
    assert is_paused(outcome)
    shown = {i.id: i.call.arguments for i in outcome.interrupts if i.call}
    assert list(shown.values()) == [{"cents": 1, "id": 1}, {"cents": 2, "id": 2}, {"cents": 3, "id": 77}]
    outcome = await agent.resume(outcome.checkpoint, answers=dict.fromkeys(shown, True), by="ana")
    assert outcome.status == "completed"
    assert sorted(ran) == [(1, 1), (2, 2), (3, 77)]


async def test_a_body_that_runs_again_has_what_it_had() -> None:
    @tool(effect="read")
    async def sign(ctx: ToolContext, id: Annotated[int, Field(default_factory=lambda: numbers())]) -> str:
        """Sign."""
        ran.append(id)
        answer = ctx.pause_for("signature", {"id": id}, resume_to="self")
        return f"{id} {answer}"

    agent = make(sign)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert outcome.interrupts[0].payload == {"id": 1}
    outcome = await agent.resume(outcome.checkpoint.to_json(), "Ana")
    assert outcome.output == "1 Ana"
    assert ran == [1, 1]


@pytest.mark.parametrize("gated", [False, True])
async def test_wherever_its_worker_dies_a_call_has_the_id_that_was_drawn(gated: bool) -> None:
    one = tool(name="pay", effect="idempotent")(_pay)
    for point in crash_points():
        ran.clear()
        shown: list[Any] = []

        def person(interrupt: Any, shown: list[Any] = shown) -> bool:
            shown.append(interrupt.call.arguments["id"])
            return True

        outcome = await point.run(make(one, *([ask("pay")] if gated else []), cents=5), "go", answer=person)
        assert isinstance(outcome, Completed), point
        assert len(set(ran)) == 1, point
        assert set(shown) <= {ran[0][1]}, point
        intents = {x.digest for x in outcome.checkpoint.records if isinstance(x, Intended)}
        assert len(intents) == 1, point


async def test_an_edit_must_give_what_is_drawn_and_is_then_asked_no_more() -> None:
    agent = make(tool(name="pay")(_pay), ask("pay"), cents=5)
    outcome = await agent.run("go")
    with pytest.raises(InvalidAnswer, match="'id' is a required property"):
        await approved(agent, outcome, Decision.approve(edit={"cents": 6}))
    done = await approved(agent, outcome, Decision.approve(edit={"cents": 6, "id": 9}))
    assert "paid 6 as 9" in done.output
    assert ran == [(6, 9)]
    assert len([x for x in done.checkpoint.records if isinstance(x, Asked)]) == 1


async def test_a_nested_id_must_be_given_in_an_edit_too() -> None:
    agent = make(tool(name="mail")(_mail), ask("mail"), envelope={"to": "ana"})
    outcome = await agent.run("go")
    with pytest.raises(InvalidAnswer, match="'id' is a required property"):
        await approved(agent, outcome, Decision.approve(edit={"envelope": {"to": "bob"}, "id": 3}))
    assert agent.tools["mail"].schema["properties"]["id"] == {"type": "integer"}
    assert agent.tools["mail"].schema.get("required") == ["envelope"]


async def test_a_call_from_before_draws_were_recorded_is_made_again_and_not_asked_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(tools: Any, reply: Any) -> dict[str, Any]:
        return {}

    monkeypatch.setattr(model_call, "drawn_for", nothing)
    outcome = await make(tool(name="pay")(_pay), ask("pay"), cents=5).run("go")
    assert outcome.status == "completed"
    assert "call it again" in outcome.output
    assert ran == []


# One form


async def test_sets_are_shown_in_one_order_in_every_process() -> None:
    script = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
from adjourn import *
from adjourn.testing import *
@tool
async def tag(tags: set[str], more: dict[str, frozenset[int]], plain: list[str]) -> str:
    "Tag."
    return "done"
args = dict(tags=["pear", "fig", "apple", "kiwi"], more={"a": [3, 1, 2]}, plain=["b", "a"])
agent = Agent("a", model=ScriptedModel([call("tag", **args)], "done"), tools=[tag], policy=Policy([ask("tag")]))
outcome = asyncio.run(agent.run("go"))
print(json.dumps(outcome.interrupts[0].call.arguments))
"""
    found: set[str] = set()
    for seed in ("0", "1", "99"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parents[2] / "src")], capture_output=True, text=True,
            timeout=60, check=False, env={"PYTHONHASHSEED": seed, "PATH": ""},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert [json.loads(one) for one in found] == [
        {"tags": ["apple", "fig", "kiwi", "pear"], "more": {"a": [1, 2, 3]}, "plain": ["b", "a"]}
    ]


async def test_a_set_beside_a_list_is_not_put_in_order() -> None:
    @tool
    async def tag(tags: list[str] | set[int]) -> str:
        """Tag."""
        return str(tags)

    assert (await make(tag, tags=["b", "a"]).run("go")).output == "['b', 'a']"


@pytest.mark.parametrize(
    "validator", [AfterValidator(lambda n: n + 1), BeforeValidator(lambda n: n * 2), AfterValidator(lambda _: numbers())]
)  # fmt: skip
async def test_a_validator_that_changes_what_it_gave_is_told_and_nothing_runs(validator: Any) -> None:
    @tool
    async def pay(cents: Annotated[int, validator]) -> str:
        """Pay."""
        ran.append(cents)
        return "paid"

    outcome = await make(pay, ask("pay"), cents=5).run("go")
    assert outcome.status == "completed"
    assert "cents: validating it changes it every time" in outcome.output
    assert ran == []


async def test_a_validator_that_settles_is_fine() -> None:
    @tool
    async def pay(name: Annotated[str, AfterValidator(str.upper)], slip: Slip) -> str:
        """Pay."""
        return f"{name} {slip.cents}"

    agent = make(pay, ask("pay"), name="ana", slip={"cents": "5"})
    outcome = await agent.run("go")
    assert pending(outcome) == {"name": "ANA", "slip": {"cents": 5}}
    assert (await approved(agent, outcome)).output == "ANA 5"
