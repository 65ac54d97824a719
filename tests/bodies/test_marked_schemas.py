"""What a schema marks as a secret is one wherever the tool comes from; and a body says none of what it was given."""

import asyncio
from typing import Annotated, Any

import pytest

from adjourn import Agent, Flow, FlowContext, InvalidDefinition, Runtime, Tool, ToolContext, tool
from adjourn.agent.dict_tool import DictTool
from adjourn.core.records import Stepped, Suspended
from adjourn.secrets import KeyRing, Secret, seal, unseal
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call
from adjourn.toolsets import ToolsetContext

CANARY = "canary-7Vw2Rk9Qp"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "card": {"type": "string", "writeOnly": True, "x-secret": "card", "maxLength": 20},
        "cents": {"type": "integer"},
    },
    "required": ["card"],
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())


async def told(agent: Agent[Any], input: Any = "go") -> str:
    """A run to its end, or until it waits: its whole checkpoint."""
    async with Runtime(MemoryStore(), [agent]) as rt:
        run = await rt.start(agent, input, by="ana")
        return (await run.wait(30)).checkpoint.to_json()


async def test_a_tool_that_is_found_while_the_run_goes_on_has_its_secrets_sealed() -> None:
    saw: list[str] = []

    @tool
    async def pay(card: Annotated[str, Secret()]) -> str:
        """Pay."""
        saw.append(card)
        return f"paid with {card}"

    def find(context: ToolsetContext) -> list[Tool]:
        return [pay]

    agent = Agent("buyer", model=ScriptedModel([call("pay", card=CANARY)], "done"), tools=find)
    assert CANARY not in await told(agent)
    assert saw == [CANARY]


def named(saw: list[Any]) -> Tool:
    async def pay(card: str, cents: int = 0) -> str:
        saw.append(card)
        return f"paid with {card}"

    return Tool("pay", "Pay.", SCHEMA, pay)


def whole(saw: list[Any]) -> Tool:
    async def pay(ctx: ToolContext, args: dict[str, Any]) -> str:
        saw.append(args["card"])
        raise ValueError(f"{args['card']} is blocked")

    return DictTool("pay", "Pay.", SCHEMA, pay)


@pytest.mark.parametrize("card", [CANARY, seal], ids=["in clear", "sealed"])
@pytest.mark.parametrize("made", [named, whole])
async def test_what_a_given_schema_marks_is_sealed_and_opened_for_the_body(made: Any, card: Any) -> None:
    saw: list[Any] = []
    given = card if isinstance(card, str) else card(CANARY, "card")
    agent = Agent("buyer", model=ScriptedModel([call("pay", card=given)], "done"), tools=[made(saw)])
    text = await told(agent)
    assert saw == [CANARY] and CANARY not in text and "••• " in text


async def test_what_does_not_fit_is_not_quoted_and_does_not_reach_the_body() -> None:
    saw: list[Any] = []
    long = CANARY * 2
    agent = Agent("buyer", model=ScriptedModel([call("pay", card=long)], "done"), tools=[named(saw)])
    text = await told(agent)
    assert saw == [] and CANARY not in text and "does not fit" in text


@pytest.mark.parametrize(
    "marked",
    [
        {"type": "object", "properties": {"card": {"type": "integer", "writeOnly": True}}},
        {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True, "default": "x"}}},
        {"type": "object", "properties": {"of": {"type": "object", "properties": {"card": SCHEMA["properties"]["card"]}}}},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string", "writeOnly": True}},
    ],
    ids=["no string", "a default", "inside of another", "no name"],
)  # fmt: skip
def test_what_cannot_be_sealed_is_refused_where_the_tool_is_defined(marked: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition, match="marks a secret"):
        Tool("pay", "Pay.", marked, print)


def test_without_a_key_a_marked_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADJOURN_SECRET_KEYS")
    with pytest.raises(InvalidDefinition, match="'card' is a Secret"):
        named([])


async def test_a_body_says_its_secret_neither_in_a_question_nor_in_a_step_that_failed() -> None:
    @tool
    async def pay(ctx: ToolContext, card: Annotated[str, Secret()]) -> str:
        """Pay."""

        async def charge() -> None:
            raise ValueError(f"{card} is blocked")

        try:
            await ctx.step("charge", charge)
        except ValueError:
            pass
        return ctx.pause_for("other", {"question": f"{card} is blocked. Another?"}, resume_to="self")

    store, model = MemoryStore(), ScriptedModel([call("pay", card=CANARY)], "done")
    agent = Agent("buyer", model=model, tools=[pay])
    async with Runtime(store, [agent]) as rt:
        run = await rt.start(agent, "go", by="ana")
        waiting = await run.wait(30)
        records = [record for _, record in await store.load(run.id)]
        assert [record for record in records if isinstance(record, Stepped)]
        [asked] = [record for record in records if isinstance(record, Suspended)]
        assert asked.payload == {"question": "••• is blocked. Another?"}
        assert CANARY not in waiting.checkpoint.to_json()
        [item] = await rt.inbox()
        await rt.answer(item, "yes", by="ana")
        assert (await run.wait(30)).output == "done"


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("says", ["value", "error"])
async def test_a_chunk_opens_what_was_sealed_in_a_flows_input_and_says_nothing_of_it(says: str, sync: bool) -> None:
    saw: list[str] = []

    def work(ctx: FlowContext) -> str:
        card = unseal(ctx.input["card"], "card")
        saw.append(card)
        if says == "error":
            raise ValueError(f"{card} is blocked")
        return f"paid with {card}"

    async def works(ctx: FlowContext) -> str:
        await asyncio.sleep(0)
        return work(ctx)

    flow = Flow("pays")
    flow.to(flow.chunk(name="work")(work if sync else works))
    store = MemoryStore()
    async with Runtime(store, [flow]) as rt:
        run = await rt.start(flow, {"card": seal(CANARY, "card")}, by="ana")
        try:
            await run.wait(30)
        except Exception as error:  # a chunk that raised
            assert CANARY not in str(error)
        text = (await run.checkpoint()).to_json()
    assert saw == [CANARY] * len(saw) and saw
    assert CANARY not in text and ("••• is blocked" in text or "paid with •••" in text)


def test_outside_of_a_body_a_sealed_value_is_just_opened() -> None:
    assert unseal(seal(CANARY, "card"), "card") == CANARY
