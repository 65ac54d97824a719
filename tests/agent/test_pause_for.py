"""`pause_for`: one primitive. Nothing in a body can swallow it, and what was recorded is not executed again."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.agent.words import results

from adjourn import (
    Agent,
    Checkpoint,
    InvalidDefinition,
    Misused,
    Outcome,
    RunFailed,
    ToolContext,
    is_paused,
    pause_for,
    tool,
)
from adjourn.core.records import Returned, Stepped, Suspended
from adjourn.testing import ScriptedModel, call

ran: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


def last(messages: Any) -> str:
    return f"got {messages[-1].content!r}"


def agent_of(*tools: Any, calls: int = 1) -> Agent:
    model = ScriptedModel([call(tools[0].name)] * calls, last)
    return Agent("pausing", model=model, tools=tools)


async def again(agent: Agent, outcome: Outcome[Any], answer: Any) -> Outcome[str]:
    """Another process: only JSON crosses."""
    assert is_paused(outcome)
    return await agent.resume(outcome.checkpoint.to_json(), answer)


# next


async def test_next_the_answer_is_the_result_and_the_body_is_not_run_again() -> None:
    @tool
    async def work() -> str:
        """Work."""
        ran.append("body")
        pause_for("approval", {"question": "go?"})

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    [interrupt] = outcome.interrupts
    assert (interrupt.kind, interrupt.type, interrupt.payload) == ("question", "approval", {"question": "go?"})
    assert interrupt.call is None
    assert (await again(agent, outcome, [1, {"a": 2}])).output == "got [1, {'a': 2}]"
    assert ran == ["body"]


async def test_the_method_of_the_context_is_the_same_primitive() -> None:
    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        ctx.pause_for("webhook", {"n": 1}, interrupt_id="the-one")

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert [(i.id, i.type) for i in outcome.interrupts] == [("the-one", "webhook")]
    assert (await agent.resume(outcome.checkpoint, answers={"the-one": 5})).output == "got 5"


# self


async def test_self_the_body_runs_again_and_the_pause_returns_the_answer() -> None:
    @tool
    async def work() -> str:
        """Work."""
        ran.append("before")
        answer = pause_for("question", "how many?", resume_to="self")
        ran.append("after")
        return f"{answer} of them"

    agent = agent_of(work)
    done = await again(agent, await agent.run("go"), 3)
    assert done.output == "got '3 of them'"
    assert ran == ["before", "before", "after"]


async def test_several_pauses_in_one_body_are_told_apart_by_order() -> None:
    @tool
    async def work() -> list[Any]:
        """Work."""
        return [pause_for("question", n, resume_to="self") for n in range(3)]

    agent = agent_of(work)
    outcome = await agent.run("go")
    for n in range(3):
        assert is_paused(outcome)
        assert [i.payload for i in outcome.interrupts] == [n]
        outcome = await again(agent, outcome, f"answer {n}")
    assert outcome.output == "got ['answer 0', 'answer 1', 'answer 2']"


async def test_several_pauses_in_one_body_are_told_apart_by_id_whatever_the_order() -> None:
    @tool
    async def work(ctx: ToolContext) -> dict[str, Any]:
        """Work."""
        ran.append("body")
        names = ["price", "colour"] if len(ran) % 2 else ["colour", "price"]
        return {name: ctx.pause_for("question", name, resume_to="self", interrupt_id=name) for name in names}

    agent = agent_of(work)
    outcome = await again(agent, await agent.run("go"), 5)
    assert is_paused(outcome)
    assert [i.id for i in outcome.interrupts] == ["colour"]
    done = await again(agent, outcome, "red")
    assert done.output in ("got {'price': 5, 'colour': 'red'}", "got {'colour': 'red', 'price': 5}")


async def test_a_pause_may_end_with_next_after_pauses_to_self() -> None:
    @tool
    async def work() -> str:
        """Work."""
        ran.append("body")
        pause_for("question", "first", resume_to="self")
        pause_for("question", "second")

    agent = agent_of(work)
    done = await again(agent, await again(agent, await agent.run("go"), 1), "the end")
    assert done.output == "got 'the end'"
    assert ran == ["body", "body"]


# ctx.step


async def test_a_step_is_recorded_by_key_and_not_executed_again() -> None:
    async def charge(cents: int) -> dict[str, int]:
        ran.append(f"charge {cents}")
        return {"cents": cents}

    def notify() -> str:
        ran.append("notify")
        return "sent"

    @tool
    async def work(ctx: ToolContext) -> Any:
        """Work."""
        charged = await ctx.step("charge", charge, 500)
        answer = ctx.pause_for("question", charged, resume_to="self")
        return [charged, answer, await ctx.step("notify", notify)]

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert ran == ["charge 500"]
    done = await again(agent, outcome, "fine")
    assert done.output == "got [{'cents': 500}, 'fine', 'sent']"
    assert ran == ["charge 500", "notify"]
    stepped = [r.key for r in done.checkpoint.records if isinstance(r, Stepped)]
    assert stepped == ["step:charge", "step:notify"]


async def test_a_step_gives_json_the_first_time_too() -> None:
    seen: list[Any] = []

    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        seen.append(await ctx.step("pair", lambda: (1, {2: "two"})))
        ctx.pause_for(resume_to="self")
        return "ok"

    agent = agent_of(work)
    await again(agent, await agent.run("go"), None)
    assert seen == [[1, {"2": "two"}]] * 2


async def test_a_step_that_raised_is_not_executed_again_and_another_attempt_has_another_key() -> None:
    def flaky() -> str:
        ran.append("flaky")
        if len(ran) == 1:
            raise ValueError("not yet")
        return "ok"

    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        try:
            return await ctx.step("flaky", flaky)
        except ValueError:
            ctx.pause_for("question", "try again?", resume_to="self")
        return await ctx.step("flaky, once more", flaky)

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert (await again(agent, outcome, True)).status == "completed"
    assert ran == ["flaky", "flaky"]


async def test_steps_may_be_gathered() -> None:
    async def fetch(n: int) -> int:
        ran.append(f"fetch {n}")
        await asyncio.sleep(0)
        return n * n

    @tool
    async def work(ctx: ToolContext) -> Any:
        """Work."""
        squares = await asyncio.gather(*(ctx.step(f"fetch {n}", fetch, n) for n in range(4)))
        ctx.pause_for("question", squares, resume_to="self")
        return squares

    agent = agent_of(work)
    assert (await again(agent, await agent.run("go"), 0)).output == "got [0, 1, 4, 9]"
    assert sorted(ran) == [f"fetch {n}" for n in range(4)]


async def test_one_key_used_twice_in_a_body_is_refused() -> None:
    @tool
    async def work(ctx: ToolContext) -> Any:
        """Work."""
        await ctx.step("a", lambda: ran.append("first"))
        await ctx.step("a", lambda: ran.append("second"))

    assert "used twice" in (await agent_of(work).run("go")).output
    assert ran == ["first"]


async def test_a_body_that_leaves_a_recorded_step_unused_is_refused_not_guessed() -> None:
    changed = False

    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        if not changed:
            await ctx.step("charge", lambda: ran.append("charge"))
        ctx.pause_for("question", resume_to="self")
        return "done"

    agent = agent_of(work)
    outcome = await agent.run("go")
    changed = True
    with pytest.raises(RunFailed, match=r"left recorded work unused \(step:charge\)") as caught:
        await again(agent, outcome, True)
    changed = False
    assert caught.value.checkpoint is not None
    done = await agent.resume(caught.value.checkpoint.to_json())
    assert done.output == "got 'done'"
    assert ran == ["charge"]


# Ids


@pytest.mark.parametrize("wrong", ["", "a:b", "a?b", "a!b", "a\nb", "x" * 201, "a/b", "-a", "ü", 5, ["a"]])
async def test_an_id_that_could_be_mistaken_for_something_else_is_refused(wrong: Any) -> None:
    @tool
    async def work() -> str:
        """Work."""
        pause_for(interrupt_id=wrong)

    assert "interrupt_id must be a short string" in (await agent_of(work).run("go")).output


async def test_an_id_given_twice_in_one_run_is_refused() -> None:
    @tool
    async def work() -> str:
        """Work."""
        pause_for(interrupt_id="mine")

    agent = Agent("twice", model=ScriptedModel([call("work")], [call("work")], last), tools=[work])
    outcome = await agent.run("go")
    done = await again(agent, outcome, 1)
    assert "'mine' is already used" in done.output


async def test_an_id_given_twice_in_one_reply_is_refused_and_the_first_stays_answerable() -> None:
    @tool
    async def work() -> str:
        """Work."""
        pause_for(interrupt_id="mine")

    agent = Agent("twice", model=ScriptedModel([call("work"), call("work")], "done"), tools=[work])
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert [i.id for i in outcome.interrupts] == ["mine"]
    done = await again(agent, outcome, 1)
    first, second = results(done.checkpoint.messages)
    assert first == 1
    assert "already used" in str(second)


async def test_generated_ids_differ_between_runs_and_given_ones_do_not() -> None:
    @tool
    async def work() -> str:
        """Work."""
        pause_for()

    agent = agent_of(work, calls=2)
    ids: list[str] = []
    for _ in range(2):
        outcome = await agent.run("go")
        assert is_paused(outcome)
        ids += [i.id for i in outcome.interrupts]
    assert len(set(ids)) == 4


# Definitions


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"resume_to": "later"}, "resume_to must be 'next' or 'self'"),
        ({"on_expiry": "approve"}, "on_expiry must be"),
        ({"type": ""}, "type must be a non-empty string"),
        ({"type": 5}, "type must be a non-empty string"),
        ({"expires_in": -1}, "expires_in must be a non-negative number of seconds"),
        ({"expires_in": float("nan")}, "expires_in must be a non-negative number of seconds"),
        ({"answer_schema": {"type": "nonsense"}}, "not a valid JSON Schema"),
        ({"answer_schema": 5}, "answer_schema="),
        ({"payload": {"callback": print}}, "payload.callback: a value of type builtin_function_or_method"),
        ({"payload": float("inf")}, "payload: the number inf"),
    ],
)
async def test_a_pause_that_cannot_work_is_refused_where_it_stands(wrong: dict[str, Any], said: str) -> None:
    @tool
    async def work() -> str:
        """Work."""
        pause_for(**wrong)

    done = await agent_of(work).run("go")
    assert said in done.output


def test_outside_of_a_run_there_is_nothing_to_pause() -> None:
    with pytest.raises(Misused, match="inside a tool"):
        pause_for("question")


def test_a_sleep_of_negative_length_is_refused() -> None:
    @tool
    async def work(ctx: ToolContext) -> None:
        """Work."""
        with pytest.raises(InvalidDefinition):
            await ctx.sleep(-1)

    assert agent_of(work).run_sync("go").output == "got None"


# Swallowed


async def _except_exception() -> Any:
    try:
        pause_for("question", "swallow me")
    except Exception:
        return "swallowed"


async def _except_base_exception() -> Any:
    try:
        pause_for("question", "swallow me")
    except BaseException:
        return "swallowed"


async def _other_exception() -> Any:
    try:
        pause_for("question", "swallow me")
    finally:
        raise ValueError("instead")


async def _suppressed() -> Any:
    with contextlib.suppress(BaseException):
        pause_for("question", "swallow me")


async def _asks() -> Any:
    pause_for("question", "swallow me")


async def _waits() -> Any:
    await asyncio.sleep(30)


async def _gathered() -> Any:
    return await asyncio.gather(_asks(), asyncio.sleep(0))


async def _gathered_as_results() -> Any:
    return [repr(x) for x in await asyncio.gather(_asks(), asyncio.sleep(0), return_exceptions=True)]


async def _task_group() -> Any:
    async with asyncio.TaskGroup() as group:
        group.create_task(_asks())
        group.create_task(_waits())


async def _task_group_caught() -> Any:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_asks())
    except BaseExceptionGroup:
        return "swallowed"


async def _own_task() -> Any:
    await asyncio.wait([asyncio.ensure_future(_asks())])
    return "swallowed"


async def _wait_for() -> Any:
    return await asyncio.wait_for(_asks(), 5)


SWALLOWERS: list[Callable[[], Awaitable[Any]]] = [
    _except_exception, _except_base_exception, _other_exception, _suppressed, _gathered, _gathered_as_results,
    _task_group, _task_group_caught, _own_task, _wait_for,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("body", SWALLOWERS, ids=lambda f: f.__name__)
async def test_nothing_swallows_a_pause(body: Callable[[], Awaitable[Any]]) -> None:
    @tool
    async def work() -> Any:
        """Work."""
        return await body()

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert [i.payload for i in outcome.interrupts] == ["swallow me"]
    assert not [r for r in outcome.checkpoint.records if isinstance(r, Returned)]
    assert (await again(agent, outcome, "the answer")).output == "got 'the answer'"


async def test_after_a_swallowed_pause_a_body_gets_nothing_more_done_through_its_context() -> None:
    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        with contextlib.suppress(BaseException):
            ctx.pause_for("question", "first", resume_to="self")
        await ctx.step("charge", lambda: ran.append("charged"))
        return "done"

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert ran == []
    assert is_paused(outcome)
    assert [i.payload for i in outcome.interrupts] == ["first"]
    assert (await again(agent, outcome, True)).output == "got 'done'"
    assert ran == ["charged"]


@pytest.mark.parametrize("how", ["gather", "group"])
async def test_two_pauses_at_once_in_one_body_are_asked_one_after_the_other(how: str) -> None:
    async def ask(ctx: ToolContext, name: str) -> Any:
        await asyncio.sleep(0)
        return ctx.pause_for("question", name, resume_to="self", interrupt_id=name)

    @tool
    async def work(ctx: ToolContext) -> Any:
        """Work."""
        if how == "gather":
            return await asyncio.gather(ask(ctx, "a"), ask(ctx, "b"))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(ctx, name)) for name in "ab"]
        return [task.result() for task in tasks]

    agent = agent_of(work)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert [i.id for i in outcome.interrupts] == ["a"]
    outcome = await again(agent, outcome, 1)
    assert is_paused(outcome)
    assert [i.id for i in outcome.interrupts] == ["b"]
    assert (await again(agent, outcome, 2)).output == "got [1, 2]"


# Threads


async def test_a_sync_tool_pauses_from_its_thread() -> None:
    @tool
    def work(ctx: ToolContext) -> str:
        """Work."""
        ran.append("body")
        return f"{ctx.pause_for('question', 'a', resume_to='self')} {pause_for('question', 'b', resume_to='self')}"

    agent = agent_of(work)
    done = await again(agent, await again(agent, await agent.run("go"), "one"), "two")
    assert done.output == "got 'one two'"
    assert len(ran) == 3


@pytest.mark.parametrize("calls", [5])
async def test_sync_tools_in_parallel_threads_all_pause(calls: int) -> None:
    @tool
    def work() -> str:
        """Work."""
        pause_for("question", "x")

    agent = agent_of(work, calls=calls)
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert len(outcome.interrupts) == calls
    assert len([r for r in outcome.checkpoint.records if isinstance(r, Suspended)]) == calls


# ctx.sleep


async def test_a_sleep_is_recorded_and_the_body_runs_again_when_the_time_has_come() -> None:
    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        await ctx.step("before", lambda: ran.append("before"))
        await ctx.sleep(0.05)
        await ctx.step("between", lambda: ran.append("between"))
        await ctx.sleep(0.05)
        return "rested"

    agent = agent_of(work)
    begun = asyncio.get_running_loop().time()
    assert (await agent.run("go")).output == "got 'rested'"
    assert asyncio.get_running_loop().time() - begun > 0.09
    assert ran == ["before", "between"]


async def test_a_sleep_goes_on_from_a_checkpoint_for_the_rest_of_its_time() -> None:
    @tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        await ctx.sleep(0.1)
        return "rested"

    agent = agent_of(work)
    async with agent.stream("go") as run:
        async for event in run:
            if event.type == "parked":
                break
        saved = run.checkpoint.to_json()
    checkpoint = Checkpoint.from_json(saved)
    assert checkpoint.status == "waiting"
    assert [i.kind for i in checkpoint.interrupts] == ["timer"]
    await asyncio.sleep(0.1)
    begun = asyncio.get_running_loop().time()
    assert (await agent.resume(saved)).output == "got 'rested'"
    assert asyncio.get_running_loop().time() - begun < 0.09


async def test_a_sleeping_call_leaves_the_questions_of_its_siblings_open() -> None:
    @tool
    async def nap(ctx: ToolContext) -> str:
        """Sleep."""
        await ctx.sleep(3600)
        return "rested"

    @tool
    async def work() -> str:
        """Work."""
        pause_for("question", "x")

    agent = Agent("both", model=ScriptedModel([call("nap"), call("work")], last), tools=[nap, work])
    outcome = await agent.run("go")
    assert is_paused(outcome)
    assert sorted(i.kind for i in outcome.interrupts) == ["question", "timer"]
