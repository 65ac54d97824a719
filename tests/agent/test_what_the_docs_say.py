"""What writing the documentation brought to light: each of these once went wrong."""

import asyncio
import time

import pytest

from adjourn import (
    Agent,
    Cancelled,
    Checkpoint,
    Completed,
    Decision,
    InterruptClosed,
    ModelError,
    Paused,
    Policy,
    RunFailed,
    Runtime,
    ask,
    ask_human,
    tool,
)
from adjourn.testing import ScriptedModel, call

deleted: list[tuple[str, bool]] = []


@tool
async def delete(path: str, permanently: bool = False) -> str:
    """Delete a file."""
    deleted.append((path, permanently))
    return "deleted"


@tool(effect="read")
async def look(path: str) -> str:
    """Look at a file."""
    return "a file"


def cleaner(expires_in: float | None = None) -> Agent:
    model = ScriptedModel([call("delete", path="a")], lambda messages: str(messages[-1]))
    return Agent("cleaner", model=model, tools=[delete], policy=Policy([ask("delete", expires_in=expires_in)]))


async def paused(agent: Agent) -> Paused:
    outcome = await agent.run("go")
    assert isinstance(outcome, Paused)
    return outcome


async def test_an_edit_that_leaves_out_a_default_is_not_asked_about_again() -> None:
    deleted.clear()
    waiting = await paused(cleaner())
    outcome = await cleaner().resume(waiting.checkpoint, Decision.approve(edit={"path": "b"}), by="ana")
    assert isinstance(outcome, Completed)
    assert deleted == [("b", False)]


async def test_after_the_deadline_a_run_goes_on_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = await paused(cleaner(expires_in=60))
    monkeypatch.setattr("adjourn.runtime.local_runtime._now", lambda: time.time() + 61)
    with pytest.raises(InterruptClosed):
        await cleaner(expires_in=60).resume(waiting.checkpoint, approved=True)
    outcome = await cleaner(expires_in=60).resume(waiting.checkpoint)
    assert isinstance(outcome, Completed)
    assert "the approval expired" in outcome.output


async def test_a_failed_run_is_tried_again_by_answering_its_interrupt() -> None:
    agent = Agent("greeter", model=ScriptedModel(ModelError("bad key", kind="auth"), "hello"))
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "hi")
        with pytest.raises(RunFailed):
            await run.wait()
        [interrupt] = await rt.inbox()
        await rt.answer(interrupt.id, "retry", by="ana")
        outcome = await run.wait()
        assert isinstance(outcome, Completed)


async def cancelled(agent: Agent, checkpoint: Checkpoint) -> Cancelled:
    async with agent.stream(checkpoint=checkpoint, instruction="never mind") as run:
        await run.cancel(by="ana")
        outcome = await run.wait()
    assert isinstance(outcome, Cancelled)
    return outcome


async def test_what_only_looked_is_no_residue() -> None:
    model = ScriptedModel([call("look", path="a")], [call("ask_human", question="Go on?")])
    agent = Agent("reader", model=model, tools=[look, ask_human])
    waiting = await paused(agent)
    assert (await cancelled(agent, waiting.checkpoint)).residue == []


async def test_a_call_in_doubt_is_named_so_in_the_residue() -> None:
    @tool(timeout=0.01)
    async def slow() -> str:
        await asyncio.sleep(60)
        return ""

    agent = Agent("slow", model=ScriptedModel([call("slow")]), tools=[slow])
    waiting = await paused(agent)
    outcome = await agent.resume(waiting.checkpoint, "cancel")
    assert isinstance(outcome, Cancelled)
    assert [left["why"] for left in outcome.residue] == ["in doubt"]
