"""Tools: what a model sees of them, and every way a body can end."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from adjourn import (
    Agent,
    Cancelled,
    Checkpoint,
    InDoubt,
    InvalidDefinition,
    MaxSteps,
    MissingResource,
    NotJSON,
    Policy,
    Resource,
    Tool,
    ToolContext,
    ToolFailed,
    ask,
    is_paused,
    tool,
)
from adjourn.core.messages import Reply, ToolCall, ToolResult
from adjourn.core.records import Asked, Doubted, Intended, Returned
from adjourn.testing import ScriptedModel, call

ran: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


def last(messages: Any) -> str:
    return str(messages[-1].content)


def agent_of(one: Tool, *args: dict[str, Any], **options: Any) -> Agent:
    calls = [call(one.name, **a) for a in (args or ({},))]
    return Agent("tools", model=ScriptedModel(calls, last), tools=[one], **options)


# What the model sees


class Colour(Enum):
    RED = "red"


class Address(BaseModel):
    city: str


@dataclass
class Parcel:
    weight: float
    to: Address


async def test_the_schema_comes_from_signature_and_docstring() -> None:
    @tool
    async def send(
        parcel: Parcel, colour: Colour, due: date | None = None, copies: Annotated[int, Field(ge=1)] = 1
    ) -> str:
        """Send a parcel.

        It takes a day.

        Args:
            parcel: What to send.
            due: When it must be there,
                at the latest.
        """
        ran.append((parcel, colour, due, copies))
        return "sent"

    assert (send.name, send.description) == ("send", "Send a parcel.\n\nIt takes a day.")
    schema = send.schema
    assert schema["required"] == ["parcel", "colour"]
    assert list(schema["properties"]) == ["parcel", "colour", "due", "copies"]
    assert schema["properties"]["due"]["description"] == "When it must be there, at the latest."
    assert schema["properties"]["copies"]["minimum"] == 1
    assert schema["additionalProperties"] is False
    args = {"parcel": {"weight": 1, "to": {"city": "Bern"}}, "colour": "red", "due": "2025-02-03"}
    assert (await agent_of(send, args).run("go")).output == "sent"
    assert ran == [(Parcel(1.0, Address(city="Bern")), Colour.RED, date(2025, 2, 3), 1)]


async def test_context_and_resources_are_injected_and_hidden_from_the_model() -> None:
    @tool
    async def work(n: int, ctx: ToolContext, bank: Annotated[list[str], Resource("bank")]) -> str:
        """Work."""
        bank.append(f"{n} {ctx.call_id} {ctx.resources['bank'] is bank}")
        return ctx.run_id

    assert list(work.schema["properties"]) == ["n"]
    bank: list[str] = []
    done = await agent_of(work, {"n": 5}).run("go", resources={"bank": bank})
    assert done.output == done.run_id
    assert bank == ["5 1.0 True"]
    assert "bank" not in done.checkpoint.to_json()


@pytest.mark.parametrize(
    "name", ["json", "schema", "model_dump", "self", "class_", "copy", "validate", "ctx", "input", "args", "kwargs"]
)
async def test_a_parameter_may_have_any_name(name: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def work({name}: int = 1) -> int:\n    'Work.'\n    return {name} + 1", space)
    assert (await agent_of(tool(space["work"]), {name: 5}).run("go")).output == "6"


@pytest.mark.parametrize("takes", ["dict", "named", "context", "kwargs"])
async def test_a_tool_with_a_schema_of_its_own(takes: str) -> None:
    def by_dict(args: dict[str, Any]) -> Any:
        return args

    async def by_name(a: int, b: str = "x") -> Any:
        return {"a": a, "b": b}

    async def with_context(ctx: ToolContext, args: dict[str, Any]) -> Any:
        return {**args, "call": ctx.call_id}

    def by_kwargs(**args: Any) -> Any:
        return args

    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    run: Callable[..., Any] = {"dict": by_dict, "named": by_name, "context": with_context, "kwargs": by_kwargs}[takes]
    made = Tool("work", "Work.", schema, run)
    assert made.schema == schema
    done = await agent_of(made, {"a": 1, "b": "y"}).run("go")
    assert done.output.startswith("{'a': 1, 'b': 'y'")
    assert "'a' is a required property" in (await agent_of(made, {"b": "y"}).run("go")).output


def takes_anything(*args: Any) -> None: ...


def takes_any_name(**kwargs: Any) -> None: ...


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tool("a b", "", {}, print),
        lambda: Tool("", "", {}, print),
        lambda: Tool("x" * 65, "", {}, print),
        lambda: Tool("final_result", "", {}, print),
        lambda: Tool("x", "", {"type": "nonsense"}, print),
        lambda: Tool("x", "", {}, "print"),  # pyright: ignore[reportArgumentType]
        lambda: tool(effect="harmless")(lambda: 1),  # pyright: ignore[reportArgumentType, reportCallIssue]
        lambda: tool(policy="maybe")(lambda: 1),  # pyright: ignore[reportArgumentType, reportCallIssue]
        lambda: tool(name="x", effect="verifiable")(lambda: 1),
        lambda: tool(name="x", verify=takes_anything)(lambda: 1),
        lambda: tool(name="x", undo="void")(lambda: 1),  # pyright: ignore[reportArgumentType, reportCallIssue]
        lambda: tool(name="x", timeout=-1)(lambda: 1),
        lambda: tool(name="x")(takes_anything),
        lambda: tool(name="x")(takes_any_name),
        lambda: tool(int),
        lambda: Agent("x", model=ScriptedModel(), tools=[tool(name="a")(lambda: 1), tool(name="a")(lambda: 2)]),
    ],
)
def test_a_tool_that_cannot_work_is_refused_when_it_is_made(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidDefinition):
        make()


def test_a_tool_can_be_called_like_the_function_it_was() -> None:
    @tool
    def double(n: int) -> int:
        """Double."""
        return 2 * n

    assert double(4) == 8


async def test_a_plain_function_is_a_tool_too() -> None:
    def double(n: int) -> int:
        """Double."""
        return 2 * n

    model = ScriptedModel([call("double", n=4)], last)
    assert (await Agent("plain", model=model, tools=[double]).run("go")).output == "8"


# Arguments


async def test_invalid_arguments_give_the_model_the_error_text_before_any_approval_is_asked() -> None:
    @tool(policy="ask")
    async def refund(cents: int) -> str:
        """Refund."""
        ran.append(cents)
        return "done"

    model = ScriptedModel(
        [call("refund", cents="a lot"), call("refund"), call("refund", cents=1, more=2)],
        lambda m: " # ".join(str(x.content) for x in m if isinstance(x, ToolResult)),
    )
    done = await Agent("refunds", model=model, tools=[refund]).run("go")
    assert not is_paused(done)
    one, two, three = done.output.split(" # ")
    assert "invalid arguments for refund: cents: Input should be a valid integer" in one
    assert "cents: Field required" in two
    assert "more: Extra inputs are not permitted" in three
    assert ran == []
    assert not [r for r in done.checkpoint.records if isinstance(r, Asked | Intended)]


@pytest.mark.parametrize(
    "args", ["{not json", "", None, [1], "\ud800", {"x": float("nan")}, {"x": "\udfff"}, {"x": 2**70}]
)
@pytest.mark.parametrize("explicit", [False, True])
async def test_whatever_a_model_sends_as_arguments_ends_in_an_error_it_can_read(args: Any, explicit: bool) -> None:
    async def work(x: Annotated[int, Field(le=10)]) -> str:
        ran.append(x)
        return "done"

    schema = {"type": "object", "properties": {"x": {"type": "integer", "maximum": 10}}, "required": ["x"]}
    one = Tool("work", "Work.", schema, work) if explicit else tool(work)
    made = ToolCall(id="c1", tool="work", args=args)

    done = await Agent("bad", model=ScriptedModel(Reply((made,)), last), tools=[one]).run("go")
    assert "arguments" in done.output
    assert ran == []
    assert Checkpoint.from_json(done.checkpoint.to_json()).messages == done.checkpoint.messages


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-inf"])
async def test_a_text_that_turns_into_no_json_number_is_an_invalid_argument(text: str) -> None:
    @tool
    async def pay(amount: float) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    assert "arguments" in (await agent_of(pay, {"amount": text}).run("go")).output
    assert ran == []


async def test_an_unknown_tool_gives_the_model_the_names_of_the_known_ones() -> None:
    @tool
    async def known() -> str:
        """Work."""
        return "x"

    done = await Agent("u", model=ScriptedModel([call("unknown")], last), tools=[known]).run("go")
    assert done.output == "there is no tool 'unknown'; the tools are: known"


# Ends


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such order"), "ValueError: no such order"),
        (KeyError("x"), "KeyError: 'x'"),
        (ToolFailed("no such order"), "no such order"),
        (RuntimeError(), "RuntimeError: RuntimeError"),
        (ExceptionGroup("several", [ValueError("a")]), "ExceptionGroup: several (1 sub-exception)"),
        (StopIteration("x"), "StopIteration"),
        (AssertionError("no"), "AssertionError: no"),
        (TimeoutError("slow bank"), "TimeoutError: slow bank"),
        (ValueError("bad \udcff.txt"), "ValueError: bad ?.txt"),
    ],
)
@pytest.mark.parametrize("sync", [False, True])
async def test_a_tool_that_raises_gives_the_model_the_error_and_the_loop_goes_on(
    error: Exception, said: str, sync: bool
) -> None:
    async def fails() -> str:
        """Fail."""
        raise error

    def fails_in_a_thread() -> str:
        """Fail."""
        raise error

    done = await agent_of(tool(name="fails")(fails_in_a_thread if sync else fails)).run("go")
    assert said in done.output
    assert done.status == "completed"
    assert done.checkpoint.to_json()


async def test_a_tool_that_cancels_itself_has_failed() -> None:
    @tool
    async def work() -> str:
        """Work."""
        raise asyncio.CancelledError

    assert "cancelled from inside" in (await agent_of(work).run("go")).output


async def test_a_result_that_is_not_json_is_told_to_the_model_and_the_call_counts_as_run() -> None:
    @tool
    async def work() -> Any:
        """Work."""
        ran.append("ran")
        return {"value": [1.0, float("nan")]}

    done = await agent_of(work).run("go")
    assert done.output.startswith("it ran, but its result cannot be recorded: result.value[1]: the number nan")
    [returned] = [r for r in done.checkpoint.records if isinstance(r, Returned)]
    assert returned.ran
    assert ran == ["ran"]


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        (Parcel(1, Address(city="Bern")), "{'weight': 1, 'to': {'city': 'Bern'}}"),
        (Colour.RED, "red"),
        (timedelta(minutes=1), "PT1M"),
        (None, "None"),
        ((1, 2), "[1, 2]"),
        (2**70, str(2**70)),
        ("é\N{PILE OF POO}", "é\N{PILE OF POO}"),
    ],
)
async def test_a_result_may_be_whatever_pydantic_turns_into_json(result: Any, seen: str) -> None:
    @tool
    async def work() -> Any:
        """Work."""
        return result

    done = await agent_of(work).run("go")
    assert done.output == seen
    assert Checkpoint.from_json(done.checkpoint.to_json()).messages == done.checkpoint.messages


# Time


async def test_a_read_that_times_out_is_an_error_like_any_other() -> None:
    @tool(effect="read", timeout=0.02)
    async def work() -> str:
        """Work."""
        await asyncio.sleep(5)
        return "late"

    done = await agent_of(work).run("go")
    assert not is_paused(done)
    assert "TimeoutError" in done.output or "within 0.02 s" in done.output


@pytest.mark.parametrize("effect", ["unsafe", "idempotent"])
async def test_what_is_not_a_read_and_times_out_is_in_doubt(effect: Any) -> None:
    @tool(name="work", effect=effect, timeout=0.02)
    async def slow() -> str:
        """Work."""
        ran.append("begun")
        await asyncio.sleep(5)
        return "late"

    outcome = await agent_of(slow).run("go")
    doubts = [r.why for r in outcome.checkpoint.records if isinstance(r, Doubted)]
    assert set(doubts) == {"it did not end within 0.02 s"}
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert interrupt.kind == "in_doubt"
    assert list(interrupt.choices) == ["happened", "run", "cancel"]
    assert len(ran) == (1 if effect == "unsafe" else 5)


async def test_a_timeout_of_the_bodys_own_is_an_error_like_any_other() -> None:
    @tool(timeout=30)
    async def work() -> str:
        """Work."""
        raise TimeoutError("the bank did not answer")

    assert "the bank did not answer" in (await agent_of(work).run("go")).output


# In doubt


@tool
async def transfer(cents: int) -> str:
    """Transfer."""
    ran.append(cents)
    if len(ran) == 1:
        raise InDoubt("the line went dead")
    return f"transferred {cents}"


async def doubtful() -> Any:
    outcome = await agent_of(transfer, {"cents": 5}).run("go")
    assert is_paused(outcome)
    return outcome


async def test_a_tool_may_say_that_it_does_not_know() -> None:
    [interrupt] = (await doubtful()).interrupts
    assert (interrupt.kind, interrupt.call.tool, interrupt.call.arguments) == ("in_doubt", "transfer", {"cents": 5})
    assert interrupt.call.reason == "the line went dead"


async def test_in_doubt_it_happened_with_this_result() -> None:
    saved = (await doubtful()).checkpoint.to_json()
    done = await agent_of(transfer, {"cents": 5}).resume(saved, {"choice": "happened", "result": "booked 5"})
    assert done.output == "booked 5"
    assert ran == [5]


async def test_in_doubt_it_did_not_so_it_runs_once_more_under_the_same_key() -> None:
    saved = (await doubtful()).checkpoint.to_json()
    done = await agent_of(transfer, {"cents": 5}).resume(saved, "run")
    assert done.output == "transferred 5"
    assert ran == [5, 5]
    intents = [r for r in done.checkpoint.records if isinstance(r, Intended)]
    assert [(r.attempt, r.digest == intents[0].digest) for r in intents] == [(1, True), (2, True)]


async def test_in_doubt_give_up_and_undo() -> None:
    saved = (await doubtful()).checkpoint.to_json()
    done = await agent_of(transfer, {"cents": 5}).resume(saved, "cancel")
    assert isinstance(done, Cancelled)
    assert ran == [5]
    assert [(r["tool"], r["why"]) for r in done.residue] == [("transfer", "in doubt")]


@pytest.mark.parametrize("answer", [("happened", "found"), ("not", ""), (None, "")])
async def test_a_verifiable_call_in_doubt_asks_the_world_first(answer: tuple[Any, str]) -> None:
    asked: list[dict[str, Any]] = []

    async def verify(ctx: ToolContext, args: dict[str, Any]) -> Any:
        asked.append(args)
        return answer if answer[0] == "happened" else answer[0]

    @tool(effect="verifiable", verify=verify)
    async def work(n: int) -> str:
        """Work."""
        ran.append(n)
        if len(ran) == 1:
            raise InDoubt
        return "done"

    outcome = await agent_of(work, {"n": 5}).run("go")
    assert asked == [{"n": 5}]
    if answer[0] is None:
        assert is_paused(outcome)
        assert [i.kind for i in outcome.interrupts] == ["in_doubt"]
    else:
        assert outcome.output == ("found" if answer[0] == "happened" else "done")
        assert len(ran) == (1 if answer[0] == "happened" else 2)


# Keys


async def test_the_idempotency_key_is_the_same_for_every_attempt_and_different_for_every_call() -> None:
    keys: list[str] = []

    @tool(effect="idempotent", timeout=0.05)
    async def work(ctx: ToolContext, n: int) -> str:
        """Work."""
        keys.append(ctx.idempotency_key)
        if keys.count(ctx.idempotency_key) < 3:
            raise InDoubt
        return "done"

    done = await agent_of(work, {"n": 1}, {"n": 1}, {"n": 2}).run("go")
    assert done.status == "completed"
    assert sorted(keys.count(k) for k in set(keys)) == [3, 3, 3]
    assert {len(k) for k in keys} == {64}


# Resources


@tool
async def pay(cents: int, bank: Annotated[list[int], Resource("bank")]) -> str:
    """Pay."""
    bank.append(cents)
    return "paid"


async def test_a_missing_resource_is_reported_before_an_answer_is_consumed() -> None:
    agent = agent_of(pay, {"cents": 5}, policy=Policy([ask("pay")]))
    with pytest.raises(MissingResource, match="needs the resource bank"):
        await agent.run("go")
    bank: list[int] = []
    outcome = await agent.run("go", resources={"bank": bank})
    saved = outcome.checkpoint.to_json()
    with pytest.raises(MissingResource, match="needs the resource bank") as caught:
        await agent.resume(saved, True)
    assert caught.value.names == ["bank"]
    with pytest.raises(MissingResource):
        await agent.resume(saved, True, resources={"banks": bank})
    assert bank == []
    assert (await agent.resume(saved, True, resources={"bank": bank})).output == "paid"
    assert bank == [5]


# Agents


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": "a:b"}, {"name": "a/b"}, {"name": 5}, {"stop": 5}, {"stop": MaxSteps}, {"policy": []},
        {"retries": 0}, {"retries": True}, {"retries": 1.5}, {"instructions": 5}, {"on_change": "ignore"}, {"model": 5},
        {"tools": [5]},
    ],
)  # fmt: skip
def test_an_agent_that_cannot_work_is_refused_when_it_is_made(wrong: dict[str, Any]) -> None:
    options: dict[str, Any] = {"name": "agent", "model": ScriptedModel("x")} | wrong
    with pytest.raises(InvalidDefinition):
        Agent(options.pop("name"), **options)


async def test_instructions_may_be_a_function_over_the_runs_context() -> None:
    def instructions(ctx: Any) -> str:
        return f"You serve {ctx.resources['tenant']} in {ctx.run_id}, {len(ctx.state.messages)} messages so far."

    model = ScriptedModel([call("known")], "done")

    @tool
    async def known() -> str:
        """Work."""
        return "x"

    agent = Agent("i", model=model, instructions=instructions, tools=[known])
    done = await agent.run("go", resources={"tenant": "acme"})
    assert [r.instructions for r in model.requests] == [
        f"You serve acme in {done.run_id}, {n} messages so far." for n in (1, 3)
    ]


async def test_the_settings_reach_the_model() -> None:
    model = ScriptedModel("done")
    await Agent("s", model=model, settings={"temperature": 0.5}, instructions="Be brief.").run("go")
    assert (model.requests[0].settings, model.requests[0].instructions) == ({"temperature": 0.5}, "Be brief.")


async def test_the_input_may_be_any_json_and_what_is_not_is_refused_by_path() -> None:
    model = ScriptedModel("done", "done")
    agent = Agent("s", model=model)
    done = await agent.run({"order": 5, "when": date(2025, 1, 2)})
    assert done.checkpoint.input == {"order": 5, "when": "2025-01-02"}
    assert getattr(model.requests[0].messages[0], "text", "") == '{"order":5,"when":"2025-01-02"}'
    with pytest.raises(NotJSON, match=r"^input\.then: a value of type function"):
        await agent.run({"then": lambda: None})


def test_a_tool_may_use_what_is_assigned_after_it() -> None:
    @tool(effect="read")
    def looks(n: int) -> str:
        """Look."""
        return later * n

    later = "a"
    assert looks.run(2) == "aa"
    assert looks.schema["properties"]["n"]["type"] == "integer"
