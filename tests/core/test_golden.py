"""Every format that was ever written loads for ever: `golden/versionN` has checkpoints as version N wrote them."""

import json
from pathlib import Path
from typing import Any

import pytest

from adjourn import (
    Agent,
    Checkpoint,
    CheckpointInvalid,
    Flow,
    FlowContext,
    Policy,
    Runtime,
    ToolContext,
    ask,
    gt,
    pause_for,
    tool,
)
from adjourn.core.envelope import VERSION
from adjourn.core.messages import UserMessage
from adjourn.core.record_codec import dump_list
from adjourn.stores.memory import MemoryStore
from adjourn.testing.scripted import ScriptedModel, call

GOLDEN = Path(__file__).parent / "golden"
KEY = "the-key-of-the-golden-checkpoints-of-version-1"
FILES = sorted(path for path in GOLDEN.glob("version*/*.json") if path.stem != "signed")
STATUS = {
    "question": "waiting", "question-answered": "completed", "self-one-of-two-answered": "waiting", "approval": "waiting",
    "approval-spent": "completed", "approval-edited": "completed", "approval-denied": "completed", "approval-unspent": "ready",
    "one-of-two-votes": "waiting", "paused": "paused", "fork": "completed", "cancelled": "cancelled", "flow": "waiting",
    "turn": "waiting", "turn-ended": "completed", "photo": "waiting",
}  # fmt: skip

paid: list[int] = []


@tool(effect="unsafe")
async def refund(order: str, cents: int) -> str:
    """Pay money back."""
    paid.append(cents)
    return f"paid {cents}"


@tool(effect="read")
async def look(order: str) -> dict[str, Any]:
    """Look it up."""
    return {"order": order}


@tool
async def ask_operator(question: str) -> dict[str, Any]:
    """Ask a human operator for approval."""
    pause_for("approval", {"question": question, "severity": "high"})


@tool
async def twice(ctx: ToolContext, what: str) -> str:
    """Ask twice."""
    await ctx.step("began", lambda: 1)
    one = ctx.pause_for("one", {"q": what}, resume_to="self")
    two = ctx.pause_for("two", {"q": what}, resume_to="self", interrupt_id="second")
    return f"{one} {two}"


def program(name: str) -> Agent | Flow:
    """What the checkpoint was made with."""
    large = ask("refund", when={"cents": gt(100)}, reason="large", expires_in=10**9, approvers=2, groups=("leads",))
    match name:
        case "refunds":
            script = ScriptedModel([call("look", order="7"), call("refund", order="7", cents=4200)], "refunded")
            return Agent(name, model=script, tools=[look, refund], policy=Policy([large], default="allow"))
        case "simple":
            script = ScriptedModel([call("refund", order="7", cents=4200)], "refunded")
            return Agent(name, model=script, tools=[refund], policy=Policy([ask("refund")], default="allow"))
        case "operator":
            script = ScriptedModel([call("ask_operator", question="ok?")], "done")
            return Agent(name, model=script, tools=[ask_operator])
        case "asker":
            return Agent(name, model=ScriptedModel([call("twice", what="x")], "done"), tools=[twice])
        case _:
            return _flow()


def _flow() -> Flow:
    flow = Flow("approval")

    @flow.chunk
    async def ask_manager(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": f"Approve {ctx.input}?"}, resume_to="next")

    @flow.chunk
    async def done(ctx: FlowContext) -> None:
        ctx.state["decision"] = ctx.input

    flow.to(ask_manager).to(done)
    return flow


def test_there_are_files_of_every_version() -> None:
    found = {json.loads(path.read_text())["version"] for path in GOLDEN.glob("version*/*.json")}
    assert found == set(range(1, VERSION + 1))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_loads_and_means_what_it_meant(path: Path) -> None:
    saved = Checkpoint.from_json(path.read_text())
    assert saved.status == STATUS[path.stem]
    again = json.loads(saved.to_json())
    assert again["version"] == VERSION
    assert again["records"] == json.loads(path.read_text())["records"] == dump_list(list(saved.records))
    assert Checkpoint.from_json(again).records == saved.records


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_its_models_were_sent_is_shown_with_the_proof_that_there_was(path: Path) -> None:
    saved = Checkpoint.from_json(path.read_text())
    recorded = path.parent.name != "version1"
    assert {request.proof for request in saved.requests} <= {"as sent" if recorded else "not recorded"}
    assert all(request.messages and (request.terms is not None) == recorded for request in saved.requests)
    assert bool(saved.requests) == (path.stem != "flow")


@pytest.mark.parametrize("again", [False, True], ids=["as it was", "written anew"])
@pytest.mark.parametrize("version", [2, 3])
async def test_a_turn_that_has_what_was_said_before_it_goes_on_and_is_gone_on_with(version: int, again: bool) -> None:
    """In its first record, or, from version 3 on, beside its records."""
    paid.clear()
    saved = Checkpoint.from_json((GOLDEN / f"version{version}" / "turn.json").read_text())
    if again:
        saved = Checkpoint.from_json(saved.to_json())
    assert (saved.before is None) == (version == 2)
    assert [m.text for m in saved.messages if isinstance(m, UserMessage)] == ["hi", "refund order 7"]
    script = ScriptedModel("-", "-", "refunded", "you are welcome")
    agent = Agent("simple", model=script, tools=[refund], policy=Policy([ask("refund")], default="allow"))
    async with Runtime(MemoryStore(), [agent]) as rt:
        run = await rt.resume(saved, approved=True, by="ana")
        assert (await run.wait(10)).status == "completed" and paid == [4200]
        third = await rt.start(agent, "thanks", after=run)
        await third.wait(10)
        assert [m.text for m in await third.messages() if isinstance(m, UserMessage)] == [
            "hi",
            "refund order 7",
            "thanks",
        ]


def test_a_signed_one_needs_its_key() -> None:
    text = (GOLDEN / "version1" / "signed.json").read_text()
    assert Checkpoint.from_json(text, secret=KEY).status == "waiting"
    with pytest.raises(CheckpointInvalid, match="no secret is set"):
        Checkpoint.from_json(text)
    with pytest.raises(CheckpointInvalid, match="modified"):
        Checkpoint.from_json(text.replace("order 123", "order 124"), secret=KEY)


@pytest.mark.parametrize(
    ("name", "answer", "output"),
    [("question", {"approved": True}, "done"), ("self-one-of-two-answered", "yes", "done"), ("flow", "yes", None)],
)
async def test_what_it_asked_can_be_answered_now(name: str, answer: Any, output: Any) -> None:
    saved = Checkpoint.from_json((GOLDEN / "version1" / f"{name}.json").read_text())
    async with Runtime(MemoryStore(), [program(saved.started.program)]) as rt:
        done = await (await rt.resume(saved, answer, by="ana")).wait(10)
        assert done.status == "completed"
        assert name == "flow" or done.output == output


@pytest.mark.parametrize("name", ["approval", "approval-unspent"])
async def test_an_approval_of_then_is_asked_for_once_more_and_runs_once(name: str) -> None:
    """It was given for less than what is shown now."""
    paid.clear()
    saved = Checkpoint.from_json((GOLDEN / "version1" / f"{name}.json").read_text())
    async with Runtime(MemoryStore(), [program("simple")]) as rt:
        run = await rt.resume(saved, approved=True if name == "approval" else None, by="ana")
        await run.wait(10)
        assert paid == []
        [again] = await rt.inbox()
        await rt.approve(again.id, by="ana")
        assert (await run.wait(10)).status == "completed"
    assert paid == [4200]
