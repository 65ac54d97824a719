"""One reply, several calls: what is free runs at once, what is gated waits, every call gets exactly one result."""

import asyncio
import itertools
import threading
from collections.abc import Sequence

import pytest
from tests.agent.words import calls, results

from adjourn import Agent, Checkpoint, Decision, Paused, Policy, ask, is_paused, pause_for, tool
from adjourn.core.messages import AssistantMessage, Message, ToolResult
from adjourn.testing import ScriptedModel, call

ran: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


@tool(effect="read")
async def search(query: str) -> str:
    """Search."""
    ran.append(f"search {query}")
    return f"found {query}"


@tool
async def refund(order: str) -> str:
    """Refund an order."""
    ran.append(f"refund {order}")
    return f"refunded {order}"


FOUR = [call("search", query="a"), call("refund", order="1"), call("search", query="b"), call("refund", order="2")]


def make_agent() -> tuple[Agent, ScriptedModel]:
    """Made anew for every process."""
    model = ScriptedModel(FOUR, lambda messages: " | ".join(map(str, results(messages))))
    return Agent("four", model=model, tools=[search, refund], policy=Policy([ask("refund")], default="allow")), model


async def paused() -> Paused:
    outcome = await make_agent()[0].run("go")
    assert is_paused(outcome)
    return outcome


async def test_the_ungated_run_at_once_and_both_questions_are_listed() -> None:
    outcome = await paused()
    assert ran == ["search a", "search b"]
    assert [i.call.arguments for i in outcome.interrupts if i.call] == [{"order": "1"}, {"order": "2"}]
    assert len({i.id for i in outcome.interrupts}) == 2


async def test_an_ungated_call_keeps_its_result_while_others_wait() -> None:
    saved = (await paused()).checkpoint.to_json()
    one, two = [i.id for i in Checkpoint.from_json(saved).interrupts]
    done = await make_agent()[0].resume(saved, answers={one: True, two: True})
    assert ran == ["search a", "search b", "refund 1", "refund 2"]
    assert done.output == "found a | refunded 1 | found b | refunded 2"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("decisions", list(itertools.product([True, False], repeat=2)))
async def test_answers_in_any_order_in_different_processes(
    order: tuple[int, int], decisions: tuple[bool, bool]
) -> None:
    saved = (await paused()).checkpoint.to_json()
    ids = [i.id for i in Checkpoint.from_json(saved).interrupts]
    first, second = order
    half = await make_agent()[0].resume(saved, answers={ids[first]: decisions[first]}, by="ada")
    assert is_paused(half)
    assert [i.id for i in half.interrupts] == [ids[second]]
    agent, model = make_agent()
    done = await agent.resume(half.checkpoint.to_json(), decisions[second], by="bob")
    who = {first: "ada", second: "bob"}
    said = [f"refunded {n + 1}" if yes else f"denied by {who[n]}. It was not run." for n, yes in enumerate(decisions)]
    assert done.output == f"found a | {said[0]} | found b | {said[1]}"
    assert sorted(ran) == sorted(["search a", "search b", *(f"refund {n + 1}" for n in (0, 1) if decisions[n])])
    [request] = model.requests
    check_pairing(request.messages)


def check_pairing(messages: Sequence[Message]) -> None:
    """Right after a reply with calls come their results, one each, in call order, and nothing before them."""
    for n, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            ids = [part.id for part in calls(message)]
            following = messages[n + 1 : n + 1 + len(ids)]
            assert [m.call_id for m in following if isinstance(m, ToolResult)] == ids


async def test_a_subset_of_the_answers_leaves_the_rest_open_and_answerable() -> None:
    outcome = await paused()
    one, two = [i.id for i in outcome.interrupts]
    half = await make_agent()[0].resume(outcome.checkpoint, answers={two: Decision.approve()})
    assert is_paused(half)
    assert ran == ["search a", "search b", "refund 2"]
    done = await make_agent()[0].resume(half.checkpoint, answers={one: True})
    assert done.output == "found a | refunded 1 | found b | refunded 2"
    assert ran[-1] == "refund 1"


async def test_an_instruction_given_with_half_of_the_answers_is_read_after_the_results() -> None:
    outcome = await paused()
    one, two = [i.id for i in outcome.interrupts]
    half = await make_agent()[0].resume(outcome.checkpoint, answers={one: True}, instruction="be brief")
    assert is_paused(half)
    agent, model = make_agent()
    await agent.resume(half.checkpoint, answers={two: True})
    [request] = model.requests
    check_pairing(request.messages)
    assert getattr(request.messages[-1], "text", "") == "be brief"


async def test_parallel_calls_really_run_in_parallel() -> None:
    meeting = asyncio.Barrier(3)

    @tool
    async def meet(n: int) -> int:
        """Wait for the others."""
        async with asyncio.timeout(5):
            await meeting.wait()
        return n

    model = ScriptedModel([call("meet", n=n) for n in range(3)], lambda m: str(results(m)))
    assert (await Agent("meeting", model=model, tools=[meet]).run("go")).output == "[0, 1, 2]"


async def test_sync_tools_run_in_threads_of_their_own_in_parallel() -> None:
    meeting = threading.Barrier(3)
    threads: set[int] = set()

    @tool
    def meet(n: int) -> int:
        """Wait for the others."""
        threads.add(threading.get_ident())
        meeting.wait(5)
        return n

    model = ScriptedModel([call("meet", n=n) for n in range(3)], lambda m: str(results(m)))
    assert (await Agent("meeting", model=model, tools=[meet]).run("go")).output == "[0, 1, 2]"
    assert len(threads) == 3
    assert threading.get_ident() not in threads


async def test_results_stand_in_call_order_whoever_is_first() -> None:
    @tool
    async def wait(n: int) -> int:
        """Wait."""
        await asyncio.sleep(0.03 * (3 - n))
        return n

    model = ScriptedModel([call("wait", n=n) for n in range(4)], lambda m: str(results(m)))
    assert (await Agent("waiting", model=model, tools=[wait]).run("go")).output == "[0, 1, 2, 3]"


async def test_a_call_that_fails_does_not_disturb_its_siblings() -> None:
    @tool
    async def divide(n: int) -> float:
        """Divide."""
        return 1 / n

    model = ScriptedModel([call("divide", n=n) for n in (1, 0, 2)], lambda m: str(results(m)))
    done = await Agent("dividing", model=model, tools=[divide]).run("go")
    assert done.output == "[1.0, 'ZeroDivisionError: division by zero', 0.5]"


async def test_a_hundred_calls_in_one_reply_a_third_of_them_gated() -> None:
    def agent() -> Agent:
        reply = [
            call("refund" if n % 3 == 0 else "search", **{"order" if n % 3 == 0 else "query": str(n)})
            for n in range(100)
        ]
        model = ScriptedModel(reply, lambda m: ",".join(str(r).rpartition(" ")[2] for r in results(m)))
        return Agent("hundred", model=model, tools=[search, refund], policy=Policy([ask("refund")], default="allow"))

    outcome = await agent().run("go")
    assert is_paused(outcome)
    assert len(outcome.interrupts) == 34
    assert [i.call.arguments["order"] for i in outcome.interrupts if i.call] == [str(n) for n in range(0, 100, 3)]
    done = await agent().resume(outcome.checkpoint.to_json(), answers={i.id: True for i in outcome.interrupts})
    assert done.output == ",".join(map(str, range(100)))
    assert len(ran) == len(set(ran)) == 100


async def test_many_questions_can_be_answered_one_process_at_a_time() -> None:
    @tool
    async def ask_person(n: int) -> int:
        """Ask."""
        pause_for("question", {"n": n}, answer_schema=int)

    def agent() -> Agent:
        model = ScriptedModel([call("ask_person", n=n) for n in range(12)], lambda m: str(results(m)))
        return Agent("asking", model=model, tools=[ask_person])

    outcome = await agent().run("go")
    for n in reversed(range(12)):
        assert is_paused(outcome)
        assert [i.kind for i in outcome.interrupts] == ["question"] * (n + 1)
        outcome = await agent().resume(outcome.checkpoint.to_json(), answers={outcome.interrupts[-1].id: n * 10})
    assert outcome.output == str([n * 10 for n in range(12)])


async def test_many_words_to_a_waiting_run_wake_it_and_change_nothing_else() -> None:
    outcome = await paused()
    for n in range(8):
        outcome = await make_agent()[0].resume(outcome.checkpoint.to_json(), instruction=f"word {n}")
        assert is_paused(outcome)
        assert [i.kind for i in outcome.interrupts] == ["approval", "approval"]
    agent, model = make_agent()
    assert (await agent.resume(outcome.checkpoint, answers={i.id: True for i in outcome.interrupts})).output
    assert [getattr(m, "text", "") for m in model.requests[0].messages[-8:]] == [f"word {n}" for n in range(8)]
