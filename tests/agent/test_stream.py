"""The live handle: watching, pausing, steering and cancelling a run while it works."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agent.words import last

from adjourn import (
    Agent,
    Cancelled,
    Checkpoint,
    InDoubt,
    Misused,
    Policy,
    Published,
    Recorded,
    Refused,
    RunFailed,
    TextArrived,
    ToolCallApprovalRequired,
    ToolContext,
    ask,
    is_paused,
    pause_for,
    tool,
)
from adjourn.core.messages import AssistantMessage, Delta, ModelRequest, Reply, Text, TextDelta, ToolCall, UserMessage
from adjourn.core.records import Broke, Intended, Returned
from adjourn.testing import ScriptedModel, call, streamed

ran: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


class Slow:
    """A model that says one piece and then waits until it is let go."""

    name = "slow"

    def __init__(self, *replies: str) -> None:
        self.replies = replies
        self.requests: list[ModelRequest] = []
        self.said = asyncio.Event()
        self.go = asyncio.Event()
        self.closed = 0

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.requests.append(request)
        try:
            yield TextDelta("thinking about ")
            self.said.set()
            await self.go.wait()
            yield Reply((Text(text=self.replies[request.index]),))
        finally:
            self.closed += 1


# Watching


async def test_every_record_is_seen_once_and_in_order_with_the_text_as_it_arrives() -> None:
    agent = Agent("stream", model=ScriptedModel(streamed("Hel", "lo", "!"), delay=0.001))
    seen: list[Any] = []
    async with agent.stream("go") as run:
        async for event in run:
            seen.append(event)
        outcome = run.outcome
    assert outcome.output == "Hello!"
    assert [e.text for e in seen if isinstance(e, TextArrived)] == ["Hel", "lo", "!"]
    records = [e for e in seen if isinstance(e, Recorded)]
    assert [e.seq for e in records] == list(range(1, outcome.checkpoint.seq + 1))
    assert [e.type for e in records] == ["started", "claimed", "replied", "completed"]
    assert all(e.run_id == run.run_id == outcome.run_id for e in seen)
    replied = next(n for n, e in enumerate(seen) if e.type == "replied")
    assert all(n < replied for n, e in enumerate(seen) if isinstance(e, TextArrived))


async def test_the_event_of_an_approval_carries_the_call_exactly_as_it_would_run() -> None:
    @tool
    async def refund(cents: int, note: str = "-") -> str:
        """Refund."""
        return "done"

    agent = Agent(
        "s", model=ScriptedModel([call("refund", cents=5)], "done"), tools=[refund], policy=Policy([ask("refund")])
    )
    async with agent.stream("go") as run:
        events = [e async for e in run if isinstance(e, ToolCallApprovalRequired)]
        outcome = run.outcome
    assert is_paused(outcome)
    [event] = events
    assert event.type == "approval_required"
    assert event.interrupt == outcome.interrupts[0]
    assert (event.call.tool, event.call.arguments) == ("refund", {"cents": 5, "note": "-"})


async def test_what_a_body_publishes_is_seen_and_not_journaled() -> None:
    @tool
    def work(ctx: ToolContext) -> str:
        """Work."""
        ctx.publish({"percent": 50})
        return "done"

    agent = Agent("s", model=ScriptedModel([call("work")], "done"), tools=[work])
    async with agent.stream("go") as run:
        items = [e.item async for e in run if isinstance(e, Published)]
    assert items == [{"percent": 50}]
    assert "percent" not in run.checkpoint.to_json()


async def test_a_stream_resumes_a_checkpoint() -> None:
    @tool
    async def ask_it() -> str:
        """Ask."""
        pause_for("question")

    agent = Agent("s", model=ScriptedModel([call("ask_it")], lambda m: f"got {last(m)}"), tools=[ask_it])
    outcome = await agent.run("go")
    async with agent.stream(checkpoint=outcome.checkpoint.to_json(), answer=7) as run:
        async for _ in run:
            pass
        assert run.outcome.output == "got 7"


async def test_a_stream_takes_an_input_or_a_checkpoint() -> None:
    agent = Agent("s", model=ScriptedModel("done"))
    with pytest.raises(Misused, match="one of the two"):
        agent.stream()
    with pytest.raises(Misused, match="one of the two"):
        agent.stream("go", checkpoint="{}")


async def test_the_outcome_of_a_run_that_still_works_is_refused() -> None:
    agent = Agent("s", model=Slow("done"))
    async with agent.stream("go") as run:
        with pytest.raises(Misused, match="still active"):
            run.outcome
        assert run.checkpoint.status == "ready"
    handle: Any = agent.stream("go")
    with pytest.raises(Misused, match="async with"):
        handle.run_id


async def test_a_failure_is_raised_by_outcome_and_by_wait() -> None:
    agent = Agent("s", model=ScriptedModel(ValueError("broken")))
    async with agent.stream("go") as run:
        async for _ in run:
            pass
        with pytest.raises(RunFailed, match="broken"):
            run.outcome
        with pytest.raises(RunFailed, match="broken"):
            await run.wait()


async def test_leaving_the_block_stops_the_model_call() -> None:
    model = Slow("done")
    async with Agent("s", model=model).stream("go") as run:
        await model.said.wait()
    assert model.closed == 1
    assert Checkpoint.from_json(run.checkpoint.to_json()).status == "ready"


# Pausing


async def test_a_pause_at_a_boundary_lets_the_model_finish_and_starts_nothing_new() -> None:
    @tool
    async def work() -> str:
        """Work."""
        ran.append("work")
        return "worked"

    class Calling(Slow):
        async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            async for item in super().request(request):
                if isinstance(item, Reply) and request.index == 0:
                    yield Reply((ToolCall(id="c", tool="work", args={}),))
                else:
                    yield item

    model = Calling("", "done")
    agent = Agent("s", model=model, tools=[work])
    async with agent.stream("go") as run:
        await model.said.wait()
        await run.pause(by="ada", reason="look first")
        assert run.checkpoint.status == "pausing"
        model.go.set()
        outcome = await run.wait()
    assert is_paused(outcome)
    assert (outcome.status, outcome.interrupts) == ("paused", [])
    assert ran == []
    assert not [r for r in outcome.checkpoint.records if isinstance(r, Intended | Broke)]
    done = await agent.resume(outcome.checkpoint.to_json())
    assert done.output == "done"
    assert ran == ["work"]


async def test_a_pause_waits_for_the_tool_in_flight_and_keeps_its_result() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        ran.append("work")
        begun.set()
        await go.wait()
        return "worked"

    for now in (False, True):
        begun.clear()
        go.clear()
        agent = Agent("s", model=ScriptedModel([call("work")], last), tools=[work])
        async with agent.stream("go") as run:
            await begun.wait()
            await run.pause(now=now)
            go.set()
            outcome = await run.wait()
        assert outcome.status == "paused"
        assert [r.value for r in outcome.checkpoint.records if isinstance(r, Returned)] == ["worked"]
        assert (await agent.resume(outcome.checkpoint.to_json())).output == "worked"
    assert ran == ["work", "work"]


async def test_pause_now_cuts_the_model_call_and_keeps_what_it_had_said() -> None:
    model = Slow("the end", "the end")
    agent = Agent("s", model=model)
    async with agent.stream("go") as run:
        await model.said.wait()
        await run.pause(now=True)
        outcome = await run.wait()
    assert outcome.status == "paused"
    assert model.closed == 1
    [broke] = [r for r in outcome.checkpoint.records if isinstance(r, Broke)]
    assert broke.text == "thinking about "
    assert broke.usage.estimated
    assert outcome.checkpoint.messages[-1] == AssistantMessage((Text(text="thinking about "),), interrupted=True)


async def test_resuming_with_an_instruction_puts_it_after_the_interrupted_thought() -> None:
    model = Slow("never", "the summary")
    agent = Agent("s", model=model)
    async with agent.stream("find suppliers") as run:
        await model.said.wait()
        await run.pause(now=True)
        outcome = await run.wait()
    model.go.set()
    done = await agent.resume(outcome.checkpoint.to_json(), instruction="summarise and stop", by="ada")
    assert done.output == "the summary"
    goal, thought, *between, instruction = model.requests[-1].messages
    assert goal == UserMessage("find suppliers")
    assert thought == AssistantMessage((Text(text="thinking about "),), interrupted=True)
    assert all(isinstance(m, UserMessage) and "find suppliers" in m.text for m in between)  # what was broken into
    assert instruction == UserMessage("summarise and stop")


async def test_a_body_that_saves_its_progress_stops_there_and_goes_on_from_there() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def count(ctx: ToolContext) -> int:
        """Count."""
        for n in range(ctx.progress or 0, 10):
            ran.append(str(n))
            if n == 3 and not go.is_set():
                begun.set()
                await go.wait()
            await ctx.save(n + 1)
        return 10

    agent = Agent("s", model=ScriptedModel([call("count")], last), tools=[count])
    async with agent.stream("go") as run:
        await begun.wait()
        await run.pause()
        go.set()
        outcome = await run.wait()
    assert outcome.status == "paused"
    assert ran == ["0", "1", "2", "3"]
    assert (await agent.resume(outcome.checkpoint.to_json())).output == "10"
    assert ran == [str(n) for n in range(10)]


# Saying


async def test_what_is_said_during_a_model_call_is_read_exactly_once() -> None:
    model = Slow("first", "second", "third")
    agent = Agent("s", model=model)
    async with agent.stream("go") as run:
        await model.said.wait()
        await run.say("also look at Norway")
        model.go.set()
        outcome = await run.wait()
    assert outcome.output == "second"
    told = [[m.text for m in r.messages if isinstance(m, UserMessage)] for r in model.requests]
    assert told == [["go"], ["go", "also look at Norway"]]
    assert [m.text for m in outcome.checkpoint.messages if isinstance(m, UserMessage)].count("also look at Norway") == 1


async def test_after_the_end_nothing_is_said_paused_or_cancelled() -> None:
    agent = Agent("s", model=ScriptedModel("done"))
    async with agent.stream("go") as run:
        await run.wait()
        for verb in (run.say("more"), run.pause(), run.cancel()):
            with pytest.raises(Refused, match="completed"):
                await verb


# Cancelling


def trail() -> tuple[Agent, asyncio.Event, asyncio.Event]:
    begun, go = asyncio.Event(), asyncio.Event()

    async def give_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        ran.append(f"undo {args['n']} {result} {len(ctx.idempotency_key)}")

    @tool(undo=give_back)
    async def book(n: int) -> str:
        """Book."""
        ran.append(f"book {n}")
        return f"booked {n}"

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "nice"

    @tool
    async def mail() -> str:
        """Mail."""
        begun.set()
        await go.wait()
        return "sent"

    model = ScriptedModel([call("book", n=1), call("look")], [call("book", n=2)], [call("mail")], "done")
    return Agent("s", model=model, tools=[book, look, mail]), begun, go


async def test_cancel_undoes_in_reverse_and_lists_what_stays() -> None:
    agent, begun, go = trail()
    async with agent.stream("go") as run:
        await begun.wait()
        await run.cancel(by="ada", reason="no longer wanted")
        go.set()
        outcome = await run.wait()
    assert isinstance(outcome, Cancelled)
    assert ran == ["book 1", "book 2", "undo 2 booked 2 64", "undo 1 booked 1 64"]
    assert outcome.undone == ["2.0", "1.0"]
    assert [(r["tool"], r["why"]) for r in outcome.residue] == [("mail", "it has no undo")]
    assert outcome.status == outcome.checkpoint.status == "cancelled"


async def test_cancelling_twice_is_the_same_as_once() -> None:
    agent, begun, go = trail()
    async with agent.stream("go") as run:
        await begun.wait()
        await run.cancel()
        await run.cancel()
        with pytest.raises(Refused, match="it is being cancelled"):
            await run.pause()
        with pytest.raises(Refused, match="it is being cancelled"):
            await run.say("wait")
        go.set()
        outcome = await run.wait()
        await run.cancel()
    assert outcome.status == "cancelled"
    assert len(ran) == 4


async def test_cancel_stops_the_model_call_and_keeps_the_partial_work() -> None:
    model = Slow("never")
    async with Agent("s", model=model).stream("go") as run:
        await model.said.wait()
        await run.cancel()
        outcome = await run.wait()
    assert isinstance(outcome, Cancelled)
    assert model.closed == 1
    assert outcome.checkpoint.messages[-1] == AssistantMessage((Text(text="thinking about "),), interrupted=True)


async def test_an_undo_that_fails_is_tried_again_and_then_asks_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    from adjourn.bodies import retries

    monkeypatch.setattr(retries, "BACKOFF", 0.001)
    broken = True

    async def give_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        ran.append(ctx.idempotency_key)
        if broken:
            raise ConnectionError("the hotel does not answer")

    @tool(undo=give_back)
    async def book() -> str:
        """Book."""
        return "booked"

    @tool(policy="ask")
    async def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent("s", model=ScriptedModel([call("book")], [call("pay")]), tools=[book, pay])
    outcome = await agent.run("go")
    async with agent.stream(checkpoint=outcome.checkpoint, instruction="x") as run:
        await run.cancel()
        stuck = await run.wait()
    assert is_paused(stuck)
    assert stuck.status == "stuck"
    [interrupt] = stuck.interrupts
    assert (interrupt.kind, list(interrupt.choices)) == ("undo", ["retry", "done", "leave"])
    assert len(ran) == 3
    assert len(set(ran)) == 1
    left = await agent.resume(stuck.checkpoint.to_json(), "leave")
    assert isinstance(left, Cancelled)
    assert [(r["tool"], r["why"]) for r in left.residue] == [("book", "left: its undo failed")]
    broken = False
    done = await agent.resume(stuck.checkpoint.to_json(), "retry")
    assert isinstance(done, Cancelled)
    assert (done.undone, done.residue) == (["1.0"], [])
    assert len(set(ran)) == 1


async def test_a_compensation_that_a_waiting_body_registered_runs_on_cancel() -> None:
    async def release(lock: str) -> None:
        ran.append(f"release {lock}")

    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        await ctx.on_cancel(release, "A")
        await ctx.on_cancel(release, "B")
        ctx.pause_for("question")

    agent = Agent("s", model=ScriptedModel([call("work")], "done"), tools=[work])
    outcome = await agent.run("go")
    async with agent.stream(checkpoint=outcome.checkpoint, instruction="x") as run:
        await run.cancel()
        cancelled = await run.wait()
    assert cancelled.status == "cancelled"
    assert ran == ["release B", "release A"]
    ran.clear()
    assert (await agent.resume(outcome.checkpoint, 1)).output == "done"
    assert ran == []


# Cancelling the asyncio task is not `cancel`.


async def test_cancelling_the_task_stops_the_model_call_and_undoes_nothing() -> None:
    agent, begun, _ = trail()
    task = asyncio.ensure_future(agent.run("go"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ran == ["book 1", "book 2"]


async def test_cancelling_the_task_closes_the_models_stream() -> None:
    model = Slow("never")
    agent = Agent("s", model=model)
    before = asyncio.all_tasks()
    for start in (lambda: agent.run("go"), lambda: agent.run("again")):
        model.said.clear()
        task = asyncio.ensure_future(start())
        await model.said.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert model.closed == 2
    assert asyncio.all_tasks() == before


async def test_a_timeout_around_a_run_stops_it() -> None:
    model = Slow("never")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await Agent("s", model=model).run("go")
    assert model.closed == 1


async def test_a_checkpoint_taken_with_a_call_in_flight_leaves_it_in_doubt() -> None:
    agent, begun, go = trail()
    async with agent.stream("go") as run:
        await begun.wait()
        saved = run.checkpoint.to_json()
    go.set()
    assert Checkpoint.from_json(saved).status == "ready"
    outcome = await agent.resume(saved)
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert interrupt.kind == "in_doubt"
    assert interrupt.call is not None
    assert (interrupt.call.tool, interrupt.call.reason) == ("mail", "it was in flight when its worker went away")
    done = await agent.resume(outcome.checkpoint.to_json(), {"choice": "happened", "result": "sent"})
    assert done.output == "done"
    assert ran == ["book 1", "book 2"]


# A cancel and a call in doubt


@pytest.mark.parametrize(
    ("answer", "undone", "left"),
    [("happened", [("book", None)], []), ("not", [], []), ("leave", [], [("book", "in doubt: left")])],
)
async def test_a_cancel_asks_a_person_about_a_call_in_doubt_that_could_be_undone(
    answer: str, undone: list[Any], left: list[Any]
) -> None:
    taken_back: list[Any] = []

    async def give_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        taken_back.append(("book", result))

    @tool(undo=give_back)
    async def book() -> str:
        """Book."""
        raise InDoubt("the line went dead")

    agent = Agent("s", model=ScriptedModel([call("book")], "done"), tools=[book])
    outcome = await agent.run("go")
    async with agent.stream(checkpoint=outcome.checkpoint, instruction="x") as run:
        await run.cancel()
        stuck = await run.wait()
    assert is_paused(stuck)
    assert stuck.status == "stuck"
    [interrupt] = stuck.interrupts
    assert (interrupt.kind, list(interrupt.choices)) == ("in_doubt", ["happened", "not", "leave"])
    assert taken_back == []
    done = await agent.resume(stuck.checkpoint.to_json(), answer)
    assert isinstance(done, Cancelled)
    assert taken_back == undone
    assert [(r["tool"], r["why"]) for r in done.residue] == left


async def test_the_epoch_grows_whenever_another_worker_takes_the_run() -> None:
    epochs: list[int] = []

    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        epochs.append(ctx.epoch)
        ctx.pause_for("question", resume_to="self")
        return "done"

    agent = Agent("s", model=ScriptedModel([call("work")], "done"), tools=[work])
    outcome = await agent.run("go")
    await agent.resume(outcome.checkpoint.to_json(), 1)
    assert epochs == [1, 2]


async def test_a_block_that_was_left_early_has_a_checkpoint_and_no_outcome_and_says_so() -> None:
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "seen"

    agent = Agent("early", model=ScriptedModel([call("look")], "end"), tools=[look])
    async with agent.stream("go") as run:
        async for _ in run:
            break
    with pytest.raises(Misused, match="ended while the run was still active"):
        _ = run.outcome
    with pytest.raises(Misused, match=r"resume `run\.checkpoint`"):
        await run.wait()
    assert (await agent.resume(run.checkpoint)).status == "completed"


async def test_what_was_answered_before_is_not_asked_again_in_a_stream() -> None:
    @tool(effect="unsafe", policy="ask")
    async def pay(n: int) -> str:
        """Pay."""
        return f"paid {n}"

    agent = Agent("asks", model=ScriptedModel([call("pay", n=1), call("pay", n=2)], "end"), tools=[pay])

    async def asked(**begin: Any) -> tuple[list[str], Checkpoint]:
        async with agent.stream(**begin) as run:
            found = [event.interrupt.id async for event in run if isinstance(event, ToolCallApprovalRequired)]
        return found, run.checkpoint

    both, saved = await asked(input="go")
    assert len(both) == 2
    one, saved = await asked(checkpoint=saved, answers={both[0]: True})
    assert one == both[1:], "what is open is asked"
    none, saved = await asked(checkpoint=saved, answer=True)
    assert none == [] and saved.status == "completed"
