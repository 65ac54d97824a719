"""A chain of models: the next one is asked when one fails, as the journal says, in any process."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from adjourn import Agent, Checkpoint, InvalidDefinition, ModelError, RunFailed, summarise, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, ToolCall
from adjourn.core.records import Faulted, Replied
from adjourn.core.usage import Usage
from adjourn.models import Price
from adjourn.testing import FakeClock


class Half:
    """Half an answer, and then this."""

    def __init__(self, then: Exception) -> None:
        self.then = then


class Named:
    """A model with a name that gives one answer after the other, or raises it."""

    reports_cost = True

    def __init__(self, name: str, *answers: Any) -> None:
        self.name, self.answers = name, list(answers)
        self.asked = 0

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.asked += 1
        answer: Any = self.answers.pop(0)
        if isinstance(answer, Half):
            yield TextDelta("half an answer")
            answer = answer.then
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            answer = Reply((Text(text=answer),), Usage(1, 1_000_000, 0))
        yield answer


def records(checkpoint: Checkpoint, kind: type[Any]) -> list[Any]:
    return [record for record in checkpoint.records if isinstance(record, kind)]


def faults(checkpoint: Checkpoint) -> list[str]:
    return [fault.error for fault in records(checkpoint, Faulted)]


@tool
async def work() -> str:
    """Work."""
    return "worked"


async def test_the_next_model_is_asked_at_once_and_the_journal_says_who_answered() -> None:
    first = Named("first", ModelError("no such key", kind="auth"))
    second = Named("second", "done")
    done = await Agent("a", model=[first, second]).run("go")
    assert (done.output, first.asked, second.asked) == ("done", 1, 1)
    [replied] = records(done.checkpoint, Replied)
    assert (replied.model, "second" in replied.sent.bodies.values()) == ("second", True)
    [fault] = records(done.checkpoint, Faulted)
    assert fault.error == "no such key; second is asked instead"
    assert (fault.transient, fault.kind, fault.retry_at) == (True, "auth", 0.0)


@pytest.mark.parametrize(
    "failure",
    [
        ModelError("late", transient=True, kind="timeout"),
        TimeoutError("late"),
        ConnectionResetError("late"),
        Half(ModelError("late", kind="server")),
        Reply((Text(text=b"x"),)),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_a_request_that_may_have_been_answered_is_not_repeated_without_saying_so(failure: Any) -> None:
    done = await Agent("a", model=[Named("first", failure), Named("second", "done")]).run("go")
    [said] = faults(done.checkpoint)
    assert said.endswith("; it may have answered, and the answer may be charged; second is asked instead")


async def test_a_refusal_is_not_said_to_have_been_paid() -> None:
    refused = ModelError("slow down", transient=True, kind="rate_limit")
    done = await Agent("a", model=[Named("first", refused), Named("second", "done")]).run("go")
    assert faults(done.checkpoint) == ["slow down; second is asked instead"]


async def test_the_whole_chain_is_tried_as_often_as_retries_say(clock: FakeClock) -> None:
    busy = ModelError("busy", transient=True, kind="rate_limit", retry_after=0)
    first, second = Named("first", busy, busy, busy), Named("second", busy, "done")
    done = await Agent("a", model=[first, second], retries=2).run("go")
    assert (done.output, first.asked, second.asked) == ("done", 2, 2)
    first, second = Named("first", busy, busy, busy), Named("second", busy, busy, busy)
    with pytest.raises(RunFailed, match="busy"):
        await Agent("a", model=[first, second], retries=2).run("go")
    assert (first.asked, second.asked) == (2, 2)


async def test_the_end_of_a_chain_that_cannot_pass_asks_a_person_and_a_retry_begins_with_the_first() -> None:
    wrong = ModelError("wrong", kind="auth")
    first, second = Named("first", wrong, "done"), Named("second", wrong)
    agent = Agent("a", model=[first, second])
    with pytest.raises(RunFailed) as caught:
        await agent.run("go")
    assert (first.asked, second.asked) == (1, 1)
    assert caught.value.checkpoint is not None
    done = await agent.resume(caught.value.checkpoint.to_json(), "retry")
    assert (done.output, first.asked) == ("done", 2)


async def test_a_fault_of_the_program_is_no_reason_to_ask_another_model() -> None:
    def broken(messages: Any) -> Any:
        raise ValueError("a bug in the history")

    first, second = Named("first", "x"), Named("second", "x")
    with pytest.raises(RunFailed, match="a bug in the history"):
        await Agent("a", model=[first, second], history=[broken]).run("go")
    assert (first.asked, second.asked) == (0, 0)


async def test_the_next_turn_begins_with_the_first_again() -> None:
    first = Named("first", ModelError("busy", transient=True, kind="server"), "done by the first")
    second = Named("second", Reply((ToolCall(id="c", tool="work"),), Usage(1, 1, 1)))
    done = await Agent("a", model=[first, second], tools=[work]).run("go")
    assert done.output == "done by the first"
    assert [replied.model for replied in records(done.checkpoint, Replied)] == ["second", "first"]


async def test_each_model_of_a_chain_has_its_price() -> None:
    first = Named("first", ModelError("no", kind="auth"))
    prices = {"first": Price(input=1, output=1), "second": Price(input=7, output=1)}
    done = await Agent("a", model=[first, Named("second", "done")], prices=prices).run("go")
    assert done.usage.cost == pytest.approx(7)


async def test_a_summary_is_asked_of_the_next_model_too() -> None:
    down = ModelError("down", kind="server")
    asks = Reply((ToolCall(id="c", tool="work"),), Usage(1, 1, 1))
    first, second = Named("first", asks, asks, down, "done"), Named("second", "what was said")
    agent = Agent("a", model=[first, second], tools=[work], history=[summarise(after=4, keep=2)])
    assert (await agent.run("go")).output == "done"
    assert second.asked == 1


def test_a_chain_needs_a_model_and_says_its_names() -> None:
    with pytest.raises(InvalidDefinition, match="at least one"):
        Agent("a", model=[])
    with pytest.raises(InvalidDefinition, match="not a model"):
        Agent("a", model=["openai:gpt-5-mini", 3])  # pyright: ignore[reportArgumentType]
    assert repr(Agent("a", model=[Named("x"), Named("y")])) == "Agent('a', model=['x', 'y'], tools=[])"
