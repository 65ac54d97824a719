"""`output_type`: validated; the model is told what was wrong and tries again."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from adjourn import Agent, InvalidDefinition, MaxSteps, NoOutput, Stopped, is_paused, tool
from adjourn.core.messages import ToolResult, UserMessage
from adjourn.testing import ScriptedModel, call


class Refund(BaseModel):
    order: str
    cents: int = Field(gt=0)

    @field_validator("order")
    @classmethod
    def known(cls, value: str) -> str:
        if value == "nobody":
            raise ValueError("no such order")
        return value


@dataclass
class Pair:
    a: int
    b: str


def final(**args: Any) -> list[Any]:
    return [call("final_result", **args)]


async def test_the_output_is_an_object_of_the_type() -> None:
    model = ScriptedModel(final(order="1", cents=500))
    done = await Agent("typed", model=model, output_type=Refund).run("go")
    assert done.output == Refund(order="1", cents=500)
    [spec] = model.requests[0].tools
    assert spec.name == "final_result"
    assert spec.schema["required"] == ["order", "cents"]


async def test_json_as_the_last_text_is_taken_too() -> None:
    done = await Agent("typed", model=ScriptedModel('{"order": "1", "cents": 5}'), output_type=Refund).run("go")
    assert done.output == Refund(order="1", cents=5)


@pytest.mark.parametrize(
    ("type_", "reply", "output"),
    [
        (int, final(value=5), 5),
        (list[int], final(value=[1, 2]), [1, 2]),
        (Literal["yes", "no"], final(value="yes"), "yes"),
        (bool, "true", True),
        (dict[str, int], final(a=1), {"a": 1}),
        (Pair, final(a=1, b="x"), Pair(1, "x")),
        (Refund | None, final(value=None), None),
        (Refund | Pair, final(value={"a": 1, "b": "x"}), Pair(1, "x")),
        (str, "text", "text"),
        (list[Refund], final(value=[{"order": "1", "cents": 5}]), [Refund(order="1", cents=5)]),
    ],
)
async def test_any_type_that_pydantic_knows(type_: Any, reply: Any, output: Any) -> None:
    done = await Agent("typed", model=ScriptedModel(reply), output_type=type_).run("go")
    assert done.output == output


async def test_the_model_reads_what_was_wrong_and_tries_again() -> None:
    model = ScriptedModel(final(order="nobody", cents=0), "I cannot", final(order="1", cents=5))
    done = await Agent("typed", model=model, output_type=Refund).run("go")
    assert done.output == Refund(order="1", cents=5)
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolResult)
    assert (told.tool, told.error) == ("final_result", True)
    assert "no such order" in told.content
    assert "greater than 0" in told.content
    told = model.requests[2].messages[-1]
    assert isinstance(told, UserMessage)
    assert "not a valid final result" in told.text


async def test_a_model_that_never_gets_it_right_is_stopped_by_the_limit() -> None:
    model = ScriptedModel(*["no"] * 10)
    stopped = await Agent("typed", model=model, output_type=int, stop=MaxSteps(3)).run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.by, stopped.status) == ("MaxSteps(3)", "stopped")
    assert len(model.requests) == 3


async def test_a_result_beside_other_calls_is_not_taken_yet() -> None:
    ran: list[str] = []

    @tool
    async def work() -> str:
        """Work."""
        ran.append("work")
        return "worked"

    model = ScriptedModel([call("work"), *final(value=1)], final(value=2))
    done = await Agent("typed", model=model, output_type=int, tools=[work]).run("go")
    assert done.output == 2
    assert ran == ["work"]
    worked, refused = model.requests[1].messages[-2:]
    assert isinstance(worked, ToolResult)
    assert isinstance(refused, ToolResult)
    assert (worked.content, refused.error) == ("worked", True)
    assert "alone" in refused.content


async def test_the_type_survives_a_checkpoint() -> None:
    @tool(policy="ask")
    async def work() -> str:
        """Work."""
        return "worked"

    def agent() -> Agent[Refund]:
        return Agent(
            "typed", model=ScriptedModel([call("work")], final(order="1", cents=5)), output_type=Refund, tools=[work]
        )

    outcome = await agent().run("go")
    assert is_paused(outcome)
    assert (await agent().resume(outcome.checkpoint.to_json(), True)).output == Refund(order="1", cents=5)


async def test_an_outcome_without_an_output_says_what_to_do() -> None:
    @tool(policy="ask")
    async def work() -> str:
        """Work."""
        return "worked"

    outcome = await Agent("none", model=ScriptedModel([call("work")]), tools=[work]).run("go")
    with pytest.raises(NoOutput, match="answer its interrupts and resume it"):
        outcome.output
    stopped = await Agent("none", model=ScriptedModel([call("work")]), tools=[], stop=MaxSteps(1)).run("go")
    with pytest.raises(NoOutput, match=r"stopped by MaxSteps\(1\)"):
        stopped.output


def test_a_type_that_cannot_be_validated_is_refused() -> None:
    class Opaque:
        pass

    with pytest.raises(InvalidDefinition, match="output_type="):
        Agent("typed", model=ScriptedModel("x"), output_type=Opaque).run_sync("go")
