"""Answers by kind. What does not fit is refused before anything is recorded, and the question stays answerable."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from adjourn import (
    Agent,
    AnswerRequired,
    Checkpoint,
    Decision,
    Invalid,
    InvalidAnswer,
    NotJSON,
    Paused,
    Policy,
    Refused,
    UnknownInterrupt,
    ask,
    ask_human,
    is_paused,
    pause_for,
    tool,
)
from adjourn.core.records import Decided
from adjourn.testing import ScriptedModel, call


class Approval(BaseModel):
    approved: bool
    amount: int = 0


@tool
async def ask_operator(question: str) -> Any:
    """Ask."""
    pause_for("approval", {"question": question}, answer_schema=Approval)


@tool
async def refund(order: str, cents: int) -> str:
    """Refund."""
    return f"refunded {cents} of {order}"


def last(messages: Any) -> str:
    return f"got {messages[-1].content!r}"


def asking(tool_name: str = "ask_operator", **args: Any) -> Agent:
    model = ScriptedModel([call(tool_name, **args)], last)
    return Agent(
        "asking", model=model, tools=[ask_operator, refund, ask_human], policy=Policy([ask("refund")], "allow")
    )


async def question() -> Paused:
    outcome = await asking(question="approve?").run("go")
    assert is_paused(outcome)
    return outcome


async def approval() -> Paused:
    outcome = await asking("refund", order="1", cents=500).run("go")
    assert is_paused(outcome)
    return outcome


# A question


async def test_an_answer_that_fits_its_schema_is_the_tools_result() -> None:
    done = await asking(question="?").resume((await question()).checkpoint, {"approved": True, "amount": 500})
    assert done.output == "got {'approved': True, 'amount': 500}"


@pytest.mark.parametrize(
    "answer",
    ["yes", True, None, 5, [], {}, {"approved": "perhaps"}, {"amount": 5}, {"approved": True, "amount": "much"}],
)
async def test_an_answer_of_another_shape_is_refused_and_the_question_stays_answerable(answer: Any) -> None:
    saved = (await question()).checkpoint.to_json()
    with pytest.raises(InvalidAnswer, match="nothing was recorded"):
        await asking().resume(saved, answer)
    with pytest.raises(InvalidAnswer, match="nothing was recorded"):
        await asking().resume(saved, Decision.value(answer))
    assert (await asking().resume(saved, {"approved": True})).status == "completed"


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ({"approved": True, "then": lambda: None}, r"^answer\.then: a value of type function"),
        ({"approved": True, "amount": float("nan")}, r"^answer\.amount: the number nan"),
        ({"approved": "\ud800"}, r"^answer\.approved: a lone surrogate"),
        (object(), "^answer: a value of type object"),
    ],
)
async def test_an_answer_that_is_not_json_is_refused_naming_the_path(answer: Any, where: str) -> None:
    saved = (await question()).checkpoint.to_json()
    with pytest.raises(NotJSON, match=where):
        await asking().resume(saved, answer)
    assert (await asking().resume(saved, {"approved": True})).status == "completed"


async def test_an_answer_may_be_a_model_itself() -> None:
    done = await asking().resume((await question()).checkpoint, Approval(approved=True, amount=7))
    assert done.output == "got {'approved': True, 'amount': 7}"


async def test_none_is_an_answer() -> None:
    @tool
    async def ask_anything() -> Any:
        """Ask."""
        pause_for()

    agent = Agent("any", model=ScriptedModel([call("ask_anything")], last), tools=[ask_anything])
    outcome = await agent.run("go")
    assert (await agent.resume(outcome.checkpoint, None)).output == "got None"


async def test_approve_and_deny_mean_true_and_false_to_a_question() -> None:
    @tool
    async def ask_yes_no() -> bool:
        """Ask."""
        pause_for("approval", "go?", answer_schema=bool)

    agent = Agent("any", model=ScriptedModel([call("ask_yes_no")], last), tools=[ask_yes_no])
    saved = (await agent.run("go")).checkpoint
    assert (await agent.resume(saved, Decision.approve(note="fine"))).output == "got True"
    assert (await agent.resume(saved, Decision.deny())).output == "got False"
    assert (await agent.resume(saved, approved=False)).output == "got False"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (str, "x", 5),
        (int, 5, "5"),
        (list[int], [1, 2], [1, "2"]),
        (Literal["a", "b"], "a", "c"),
        ({"type": "string", "maxLength": 3}, "abc", "abcd"),
        ({"enum": [1, 2]}, 2, 3),
        (None, {"anything": [1]}, None),
        (Approval | None, None, {"approved": []}),
    ],
)
async def test_a_schema_is_a_python_type_or_json_schema(schema: Any, good: Any, bad: Any) -> None:
    @tool
    async def ask_it() -> Any:
        """Ask."""
        pause_for("x", answer_schema=schema)

    agent = Agent("any", model=ScriptedModel([call("ask_it")], last), tools=[ask_it])
    saved = (await agent.run("go")).checkpoint.to_json()
    if schema is not None:
        with pytest.raises(InvalidAnswer):
            await agent.resume(saved, bad)
    assert (await agent.resume(saved, good)).output == f"got {good!r}"


async def test_ask_human_is_a_ready_tool() -> None:
    outcome = await asking("ask_human", question="which order?").run("go")
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert (interrupt.kind, interrupt.payload) == ("question", {"question": "which order?"})
    with pytest.raises(InvalidAnswer):
        await asking().resume(outcome.checkpoint, 5)
    assert (
        await asking("ask_human", question="").resume(outcome.checkpoint, "the red one")
    ).output == "got 'the red one'"


# An approval


@pytest.mark.parametrize("answer", [True, Decision.approve(), Decision.approve(note="ok")])
async def test_an_approval_takes_true_or_a_decision(answer: Any) -> None:
    done = await asking("refund", order="1", cents=500).resume((await approval()).checkpoint, answer)
    assert done.output == "got 'refunded 500 of 1'"


@pytest.mark.parametrize("answer", ["yes", 1, "true", None, {"approved": True}, [], Decision.value(True)])
async def test_what_is_not_literally_a_decision_approves_nothing(answer: Any) -> None:
    saved = (await approval()).checkpoint.to_json()
    with pytest.raises(InvalidAnswer, match="nothing was approved"):
        await asking("refund", order="1", cents=500).resume(saved, answer)
    with pytest.raises(InvalidAnswer):
        await asking("refund", order="1", cents=500).resume(saved, approved=1)  # pyright: ignore[reportArgumentType]
    assert (await asking("refund", order="1", cents=500).resume(saved, False, by="ada")).output == (
        "got 'denied by ada. It was not run.'"
    )


# Which interrupt


async def test_an_unknown_id_is_refused_and_the_pending_ones_are_listed() -> None:
    outcome = await question()
    with pytest.raises(UnknownInterrupt) as caught:
        await asking().resume(outcome.checkpoint, answers={"nonsense": True})
    assert caught.value.pending == (outcome.interrupts[0].id,)
    assert f"open interrupts: {outcome.interrupts[0].id}" in str(caught.value)
    assert "interrupt nonsense not found" in str(caught.value)


async def test_one_wrong_answer_among_several_records_none() -> None:
    model = ScriptedModel([call("refund", order="1", cents=1), call("refund", order="2", cents=2)], last)
    agent = Agent("two", model=model, tools=[refund], policy=Policy([ask("refund")]))
    outcome = await agent.run("go")
    assert is_paused(outcome)
    one, two = [i.id for i in outcome.interrupts]
    with pytest.raises(InvalidAnswer):
        await agent.resume(outcome.checkpoint, answers={one: True, two: "yes"})
    assert not [r for r in outcome.checkpoint.records if isinstance(r, Decided)]
    with pytest.raises(AnswerRequired) as caught:
        await agent.resume(outcome.checkpoint, True)
    assert one in str(caught.value)
    assert two in str(caught.value)


async def test_resuming_a_waiting_run_without_an_answer_says_what_it_waits_for() -> None:
    outcome = await question()
    with pytest.raises(AnswerRequired) as caught:
        await asking().resume(outcome.checkpoint)
    assert outcome.interrupts[0].id in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [{"answer": True, "approved": True}, {"answers": {}, "approved": True}, {"answers": {}, "answer": 1}],
)
async def test_one_way_of_answering_at_a_time(given: dict[str, Any]) -> None:
    outcome = await question()
    with pytest.raises(InvalidAnswer, match="not several"):
        await asking().resume(outcome.checkpoint, **given)


async def test_a_finished_run_takes_no_answer_and_says_why() -> None:
    done = await asking(question="?").resume((await question()).checkpoint, {"approved": True})
    with pytest.raises(Refused, match="completed"):
        await asking(question="?").resume(done.checkpoint, {"approved": True})


async def test_an_advanced_run_takes_no_answer_to_an_older_question() -> None:
    model = ScriptedModel([call("ask_human", question="1")], [call("ask_human", question="2")], last)
    agent = Agent("two", model=model, tools=[ask_human])
    first = await agent.run("go")
    assert is_paused(first)
    second = await agent.resume(first.checkpoint, "one")
    assert is_paused(second)
    with pytest.raises(UnknownInterrupt, match="open interrupts"):
        await agent.resume(second.checkpoint, answers={first.interrupts[0].id: "again"})
    assert (await agent.resume(second.checkpoint, "two")).output == "got 'two'"


async def test_a_run_that_a_person_paused_waits_for_no_answer() -> None:
    agent = Agent("plain", model=ScriptedModel("done"))
    async with agent.stream("go") as run:
        await run.pause()
        outcome = await run.wait()
    assert outcome.status == "paused"
    with pytest.raises(InvalidAnswer, match="the run is not waiting for an answer: it is paused"):
        await agent.resume(outcome.checkpoint, True)
    assert (await agent.resume(outcome.checkpoint)).output == "done"


# Who and when


@pytest.mark.parametrize("by", [5, ["ada"], lambda: None])
async def test_who_decided_is_a_text(by: Any) -> None:
    outcome = await question()
    with pytest.raises(Invalid, match="cannot be recorded"):
        await asking().resume(outcome.checkpoint, {"approved": True}, by=by)
    assert (await asking().resume(outcome.checkpoint, {"approved": True}, by="ada")).status == "completed"


async def test_the_same_checkpoint_can_be_resumed_twice_without_a_store() -> None:
    saved = (await question()).checkpoint.to_json()
    for answer in (True, False):
        done = await asking().resume(saved, {"approved": answer})
        assert done.output == f"got {{'approved': {answer}}}"
    assert Checkpoint.from_json(saved).status == "waiting"
