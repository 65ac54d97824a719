"""A chunk that raises fails the run, which can be resumed; what runs beside it finishes."""

import asyncio
from typing import Any

import pytest
from tests.flow.world import execution, only, records, reloaded, started

from adjourn import Agent, Flow, FlowContext, InDoubt, MaxSteps, ModelError, RunFailed
from adjourn.core.records import Asked, Faulted, Intended
from adjourn.testing.scripted import ScriptedModel


async def keep(ctx: FlowContext) -> None:
    ctx.state.setdefault("kept", []).append(ctx.input)


class Flaky:
    """Fails until it is mended; remembers each time it ran."""

    __name__ = "flaky"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error: BaseException | None = error or ValueError("boom")
        self.ran = 0

    async def __call__(self, ctx: FlowContext) -> Any:
        self.ran += 1
        if self.error is not None:
            raise self.error
        return f"mended {ctx.input}"


async def test_a_chunk_that_raises_fails_the_run_with_the_cause_chained() -> None:
    flow, flaky = Flow("f"), Flaky()
    flow.to(flaky).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed, match="ValueError: boom") as failed:
        await one.start("x")
    assert failed.value.__cause__ is flaky.error
    assert failed.value.run_id == one.run_id
    assert failed.value.checkpoint is not None
    assert one.status == "failed"
    assert [i.kind for i in one.pending_interrupts.values()] == ["error"]


@pytest.mark.parametrize("reload", [False, True])
async def test_resuming_runs_only_the_chunk_that_failed(reload: bool) -> None:
    flow, flaky, other = Flow("f"), Flaky(), Flaky()
    other.error = None
    flow.batch(("bad", flaky), ("good", flow.chunk(name="other")(other))).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed) as failed:
        await one.start("x")
    flaky.error = None
    if reload:
        assert failed.value.checkpoint is not None
        one = execution(flow).load(failed.value.checkpoint.to_json())
        assert one.status == "failed"
    await one.resume(by="ann")
    assert await one.close() == {"kept": [{"bad": "mended x", "good": "mended x"}]}
    assert (flaky.ran, other.ran) == (2, 1)


async def test_an_error_is_answered_like_any_interrupt() -> None:
    flow, flaky = Flow("f"), Flaky()
    flow.to(flaky).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start("x")
    with pytest.raises(RunFailed, match="boom"):
        await one.continue_with(only(one), "retry")
    flaky.error = None
    await one.continue_with(only(one), "retry", by="ann")
    assert await one.close() == {"kept": ["mended x"]}
    assert flaky.ran == 3


async def test_siblings_finish_all_they_have_to_do() -> None:
    flow, flaky = Flow("f"), Flaky()
    failed = asyncio.Event()

    async def bad(ctx: FlowContext) -> Any:
        failed.set()
        return await flaky(ctx)

    async def slow(ctx: FlowContext) -> Any:
        await failed.wait()
        await asyncio.sleep(0)
        return ctx.input

    flow.to(bad)
    flow.to(slow).to(slow).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed, match="boom"):
        await one.start(1)
    assert one.state == {"kept": [1]}


async def test_beside_an_open_question_an_error_is_one_more_interrupt_and_raises_when_it_is_all_that_is_left() -> None:
    flow, flaky = Flow("f"), Flaky()

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", interrupt_id="q")

    flow.to(flaky)
    flow.to(ask).to(keep)
    one = await started(flow)
    assert one.status == "waiting"
    assert sorted(i.kind for i in one.pending_interrupts.values()) == ["error", "question"]
    with pytest.raises(RunFailed) as failed:
        await one.continue_with("q", "answer")
    assert failed.value.__cause__ is flaky.error
    assert one.state == {"kept": ["answer"]}


async def test_close_of_a_failed_execution_says_why_and_leaves_it_open() -> None:
    flow, flaky = Flow("f"), Flaky()
    flow.to(flaky).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start("x")
    with pytest.raises(RunFailed, match="boom"):
        await one.close()
    flaky.error = None
    await one.resume()
    assert await one.close() == {"kept": ["mended x"]}


async def test_close_may_drop_what_failed() -> None:
    flow = Flow("f")
    flow.to(Flaky())
    flow.to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start("x")
    assert await one.close(pending_interrupts="cancel") == {"kept": ["x"]}


async def test_a_failure_may_be_given_up_and_undone() -> None:
    flow = Flow("f")
    undone: list[Any] = []

    @flow.chunk(undo=lambda ctx, args, result: undone.append((args, result)))
    async def pay(ctx: FlowContext) -> str:
        return "paid"

    flow.to(pay).to(Flaky())
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start("x")
    await one.continue_with(only(one), "cancel", by="ann")
    assert one.status == "cancelled"
    assert undone == [("x", "paid")]


async def test_a_timeout_of_a_chunk_that_is_not_read_is_in_doubt() -> None:
    flow = Flow("f")

    @flow.chunk(timeout=0.01)
    async def slow(ctx: FlowContext) -> None:
        await asyncio.Event().wait()

    flow.to(slow).to(keep)
    one = await started(flow, {"order": 7})
    [doubt] = one.pending_interrupts.values()
    assert doubt.kind == "in_doubt"
    assert doubt.call is not None
    assert doubt.call.arguments == {"order": 7}
    await one.continue_with(doubt.id, {"choice": "happened", "result": "paid"}, by="ann")
    assert await one.close() == {"kept": ["paid"]}


async def test_a_read_chunk_that_takes_too_long_fails() -> None:
    flow = Flow("f")

    @flow.chunk(timeout=0.01, effect="read")
    async def slow(ctx: FlowContext) -> None:
        await asyncio.Event().wait()

    flow.to(slow)
    with pytest.raises(RunFailed, match="slow did not end within 0.01 s"):
        await started(flow)


async def test_a_chunk_may_say_that_it_does_not_know() -> None:
    flow, flaky = Flow("f"), Flaky(InDoubt("no answer from the bank"))
    flow.to(flaky).to(keep)
    one = await started(flow, "x")
    [doubt] = one.pending_interrupts.values()
    assert doubt.call is not None
    assert (doubt.kind, doubt.call.reason, doubt.call.arguments) == (
        "in_doubt",
        "no answer from the bank",
        {"input": "x"},
    )
    flaky.error = None
    await one.continue_with(doubt.id, "run")
    assert await one.close() == {"kept": ["mended x"]}


async def test_a_result_that_is_no_json_fails_and_says_that_the_chunk_ran() -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> Any:
        return {"socket": object()}

    flow.to(work)
    with pytest.raises(
        RunFailed, match=("work ran, but its result cannot be recorded: result.socket: a value of type object")
    ):
        await started(flow)


async def test_a_sub_flows_failure_has_its_path() -> None:
    child, flow, flaky = Flow("child"), Flow("f"), Flaky()
    child.to(flaky)
    flow.for_each().to(child).end_for_each().to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start(["x"])
    [error] = one.pending_interrupts.values()
    assert (error.path, error.payload["tool"]) == ("each#0[0]/child#0", "flaky")
    flaky.error = None
    await one.resume()
    assert await one.close() == {"kept": [["mended x"]]}


async def test_an_agents_model_that_fails_is_resumed_where_it_failed() -> None:
    agent = Agent("writer", model=ScriptedModel(ModelError("no credit"), "written"))
    flow = Flow("f")
    flow.to(agent).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed, match="no credit") as failed:
        await one.start("x")
    assert isinstance(failed.value.__cause__, ModelError)
    await one.resume()
    assert await one.close() == {"kept": ["written"]}


async def test_closing_with_cancel_drops_an_agent_that_waits_or_failed() -> None:
    agent = Agent("writer", model=ScriptedModel(ModelError("no credit")))
    flow = Flow("f")
    flow.to(agent).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start("x")
    assert await one.close(pending_interrupts="cancel") == {}
    assert one.status == "completed"


async def test_an_agent_that_its_own_limit_stops_fails_its_chunk_and_goes_on_with_a_higher_one() -> None:
    from adjourn import tool
    from adjourn.testing.scripted import call

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "seen"

    def flow(limit: int) -> Flow:
        replies = [call("look")], [call("look")], "written"
        flow = Flow("f")
        flow.to(Agent("writer", model=ScriptedModel(*replies), tools=[look], stop=MaxSteps(limit))).to(keep)
        return flow

    one = execution(flow(2))
    with pytest.raises(RunFailed, match=r"agent 'writer' was stopped by MaxSteps\(2\)"):
        await one.start("x")
    with pytest.raises(RunFailed, match=r"MaxSteps\(2\)"):
        await one.resume()
    one = reloaded(flow(3), one)
    await one.resume()
    assert await one.close() == {"kept": ["written"]}


async def test_a_failing_attempt_is_on_record_and_asks_once() -> None:
    flow = Flow("f")
    flow.to(Flaky())
    one = execution(flow)
    with pytest.raises(RunFailed):
        await one.start()
    assert [type(r).__name__ for r in records(one, Intended, Faulted, Asked)] == ["Intended", "Faulted", "Asked"]


async def test_an_error_text_with_a_lone_surrogate_is_recorded() -> None:
    flow = Flow("f")
    flow.to(Flaky(ValueError("bad \ud800 text")))
    with pytest.raises(RunFailed, match=r"bad \? text"):
        await started(flow)
