"""Stop conditions: they end the run, or ask a person to extend them; nothing is lost when they trip."""

# pyright: reportUnknownMemberType=false

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.control.lives import stage
from tests.control.world import TOOLS, Ledger, Play, act, call, does, says, script, tell

from adjourn import (
    Agent,
    Completed,
    External,
    InvalidAnswer,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Policy,
    Stopped,
    TextMention,
    ToolCalled,
    ask,
)  # fmt: skip
from adjourn.core.records import Asked, Broke, Replied, Returned, RunCompleted
from adjourn.core.stop_conditions import Stop


def limited(stop: Stop, **options: Any) -> Callable[[Ledger], Agent]:
    return lambda ledger: Agent("limited", model=Play(ledger), tools=TOOLS, stop=stop, **options)


def nesting(root: Stop, lead: Stop, hand: Stop, **options: Any) -> Callable[[Ledger], Agent]:
    """Three levels, each with a limit of its own."""

    def make(ledger: Ledger) -> Agent:
        low = Agent("hand", model=Play(ledger), tools=TOOLS, stop=hand)
        middle = Agent("lead", model=Play(ledger), tools=[*TOOLS, low.as_tool()], stop=lead)
        return Agent("top", model=Play(ledger), tools=[*TOOLS, middle.as_tool()], stop=root, **options)

    return make


ROUNDS = [does(act(f"a{n}"), text=f"round {n}", usage=(100, 50, 0.5)) for n in range(9)]

LEAVES: list[tuple[Stop, str, int]] = [
    (MaxSteps(2), "MaxSteps(2)", 2),
    (MaxTokens(400), "MaxTokens(400)", 3),
    (MaxCost(1.5), "MaxCost(1.5)", 3),
    (MaxSteps(5) | MaxTokens(200), "MaxTokens(200)", 2),
    (MaxTokens(200) & MaxSteps(4), "MaxSteps(4)", 4),
    ((TextMention("round 1") & MaxSteps(3)) | MaxCost(3), "MaxSteps(3)", 3),
    ((TextMention("nobody says this") & MaxSteps(1)) | MaxCost(2), "MaxCost(2)", 4),
]


@pytest.mark.parametrize(("stop", "by", "rounds"), LEAVES, ids=lambda x: repr(x))
async def test_a_limit_stops_the_run_and_the_leaf_that_tripped_is_recorded(
    folder: Path, stop: Stop, by: str, rounds: int
) -> None:
    async with stage(folder, limited(stop)) as on:
        run = await on.start(script("r", *ROUNDS))
        assert await on.rest(run) == "stopped"
        outcome = await on.outcome(run)
        assert isinstance(outcome, Stopped)
        assert outcome.by == by
        assert outcome.partial == f"round {rounds - 1}"
        assert on.ledger.lines("r", "acted") == [f"acted a{n}" for n in range(rounds)]
        assert [x.stopped for x in await on.records("r") if isinstance(x, RunCompleted)] == [by]


@pytest.mark.parametrize(
    ("stop", "by"), [(TextMention("round 1"), "TextMention('round 1')"), (ToolCalled("act"), "ToolCalled('act')")]
)
async def test_a_condition_of_success_completes_the_run_with_the_last_text(folder: Path, stop: Stop, by: str) -> None:
    async with stage(folder, limited(stop | MaxSteps(5))) as on:
        run = await on.start(script("r", *ROUNDS))
        assert await on.rest(run) == "completed"
        outcome = await on.outcome(run)
        assert isinstance(outcome, Completed)
        assert outcome.by == by
        assert outcome.output == ("round 1" if "round" in by else "round 0")


async def test_an_event_from_outside_stops_the_run_at_the_next_boundary(folder: Path) -> None:
    async with stage(folder, limited(External("enough") | MaxSteps(50))) as on:
        run = await on.start(script("r", does(act("a", gate="a")), *ROUNDS))
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        await run.emit("enough", by="ann")
        on.ledger.open("r", "a")
        await on.rest(run, "stopped")
        assert (await on.outcome(run)).by == "External('enough')"
        assert on.ledger.lines("r", "model") == ["model asked 0"]


async def test_a_limit_on_time_counts_waiting_too(folder: Path) -> None:
    async with stage(folder, limited(MaxTime(3600))) as on:
        run = await on.start(script("r", does(call("wonder", question="?")), does(act("a")), says("done")))
        await on.rest(run, "waiting")
        on.clock.advance(3600)
        [question] = (await run.state()).interrupts
        assert on.rt is not None
        await on.rt.answer(question.id, "go on", by="ann")
        await on.rest(run, "stopped")
        assert (await on.outcome(run)).by == "MaxTime(3600)"
        assert on.ledger.lines("r", "act") == []


async def test_a_person_extends_a_limit_again_and_again_and_then_stops_it(folder: Path) -> None:
    async with stage(folder, limited(MaxSteps(2).then("pause") | MaxCost(100))) as on:
        run = await on.start(script("r", *ROUNDS))
        assert await on.rest(run) == "waiting"
        assert on.rt is not None
        [item] = (await run.state()).interrupts
        assert (item.kind, sorted(item.choices)) == ("limit", ["extend", "stop"])
        assert item.payload["condition"] == "MaxSteps(2)"
        for wrong in ({"choice": "extend", "amount": -1}, {"choice": "extend", "amount": 0}, "more", True):
            with pytest.raises(InvalidAnswer):
                await on.rt.answer(item.id, wrong, by="ann")
        await on.rt.answer(item.id, {"choice": "extend", "amount": 3}, by="ann")
        await on.until(lambda: "acted a4" in on.ledger.lines("r"))
        assert await on.rest(run, "waiting", "completed", "stopped") == "waiting"
        assert len(on.ledger.lines("r", "acted")) == 5
        [item] = (await run.state()).interrupts
        await on.rt.answer(item.id, "extend", by="ann")  # by as much as the limit itself
        await on.until(lambda: "acted a6" in on.ledger.lines("r"))
        assert await on.rest(run, "waiting", "completed", "stopped") == "waiting"
        [item] = (await run.state()).interrupts
        await on.rt.answer(item.id, "stop", by="ann")
        await on.rest(run, "stopped")
        assert (await on.outcome(run)).by == "MaxSteps(2)"
        assert len(on.ledger.lines("r", "acted")) == 7


async def test_counts_survive_resume_and_include_calls_that_were_cut_off(folder: Path) -> None:
    async with stage(folder, limited(MaxCost(1.2))) as on:
        words = "x" * 4000
        play = script("r", ROUNDS[0], ROUNDS[1], says("", pieces=[words], gate="never"), ROUNDS[2], says("done"))
        run = await on.start(play)
        await on.until(lambda: "model asked 2" in on.ledger.lines("r"))
        await asyncio.sleep(0.02)
        await run.pause(now=True, by="ann")
        await on.rest(run, "paused")
        [broke] = [x for x in await on.records("r") if isinstance(x, Broke)]
        assert broke.usage.estimated
        assert broke.usage.output_tokens == 1000
        assert broke.usage.cost == pytest.approx(broke.usage.total_tokens * 1.0 / 300, abs=1e-5)
        await run.resume(by="ann")
        await on.rest(run, "stopped")
        outcome = await on.outcome(run)
        assert outcome.by == "MaxCost(1.2)"
        assert outcome.usage.cost == pytest.approx(1.0 + broke.usage.cost)
        assert outcome.usage.requests == 3
        assert on.ledger.lines("r", "acted") == ["acted a0", "acted a1"]


async def test_counts_survive_the_death_of_the_worker(folder: Path) -> None:
    async with stage(folder, limited(MaxSteps(4))) as on:
        run = await on.start(script("r", ROUNDS[0], ROUNDS[1], does(call("put", name="p", gate="p")), *ROUNDS))
        await on.until(lambda: "act p" in on.ledger.lines("r"))
        await on.die()
        rt = await on.live()
        run = await rt.get("r")
        on.ledger.open("r", "p")
        await on.rest(run, "stopped")
        assert (await on.outcome(run)).usage.requests == 4


async def test_a_run_is_stopped_only_when_the_calls_in_flight_have_ended(folder: Path) -> None:
    policy = Policy([ask("act", queue=True)], default="allow")
    async with stage(folder, limited(MaxSteps(2), policy=policy)) as on:
        looks = does(call("look", name="l", gate="l"))
        run = await on.start(
            script("r", does(act("a", gate="a"), call("look", name="k", gate="k")), looks, says("end"))
        )
        assert on.rt is not None
        async with asyncio.timeout(10):
            while not (inbox := await on.rt.inbox()):
                await asyncio.sleep(0.002)
        await on.rt.approve(inbox[0].id, by="ann")
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        on.ledger.open("r", "k", "l")
        await on.until(lambda: "look l" in on.ledger.lines("r"))
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert await run.status() == "running"
        on.ledger.open("r", "a")
        await on.rest(run, "stopped")
        records = await on.records("r")
        assert [x.value for x in records if isinstance(x, Returned) and x.call == "1.0"] == [{"did": "a"}]
        assert isinstance(records[-1], RunCompleted)


async def test_a_limit_of_the_root_cuts_the_model_calls_of_children_and_counts_them(folder: Path) -> None:
    async with stage(folder, nesting(MaxSteps(4), MaxSteps(50), MaxSteps(50))) as on:
        slow = tell("lead", "r", says("", pieces=["much to say"], gate="never"))
        quick = tell("lead", "r", does(act("a")), does(act("b")), does(act("c")), says("quick"))
        run = await on.start(script("r", does(slow, quick), says("done")))
        await on.rest(run, "stopped")
        records = await on.records("r")
        assert [x.text for x in records if isinstance(x, Broke)] == ["much to say"]
        assert (await on.outcome(run)).usage.requests == 5  # the one in flight was begun before the limit
        assert len([x for x in records if isinstance(x, Replied)]) == 4
        assert "lead cut 0" in on.ledger.lines("r")
        done = [line.split()[1] for line in on.ledger.lines("r", "acted")]
        assert done == [line.split()[1] for line in on.ledger.lines("r", "act")]


SPENDS = [does(act(f"h{n}"), text=f"h{n}", usage=(100, 50, 0.5)) for n in range(6)]

NESTED: list[tuple[Stop, Stop, int, str]] = [
    # of the one in the middle, of the lowest, how often the lowest acts, who ended it
    (MaxSteps(50), MaxSteps(2), 2, "MaxSteps(2)"),
    (MaxSteps(50), MaxTokens(300), 2, "MaxTokens(300)"),
    (MaxSteps(50), MaxCost(1.0), 2, "MaxCost(1.0)"),
    (MaxSteps(4), MaxSteps(50), 3, "MaxSteps(4)"),
    (MaxTokens(302), MaxSteps(50), 2, "MaxTokens(302)"),
    (MaxCost(1.0), MaxCost(2.0), 2, "MaxCost(1.0)"),
    (MaxSteps(2) & MaxCost(0.5), MaxSteps(50), 1, "MaxCost(0.5)"),
]


@pytest.mark.parametrize(("middle", "low", "acts", "by"), NESTED, ids=lambda x: repr(x))
async def test_the_limits_of_nested_agents_hold_and_the_strictest_wins(
    folder: Path, middle: Stop, low: Stop, acts: int, by: str
) -> None:
    async with stage(folder, nesting(MaxSteps(60), middle, low)) as on:
        hand = tell("hand", "r", *SPENDS, says("hand done"))
        lead = tell("lead", "r", does(hand, usage=(1, 1, 0.0)), says("lead done", usage=(1, 1, 0.0)))
        run = await on.start(script("r", does(lead), says("top done")))
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == [f"acted h{n}" for n in range(acts)]
        told = [x.error for x in await on.records("r") if isinstance(x, Returned) and x.error]
        assert f"stopped by {by}" in told[0]


async def test_a_limit_of_a_nested_agent_on_time_counts_from_its_own_beginning(folder: Path) -> None:
    async with stage(folder, nesting(MaxSteps(60), MaxTime(100), MaxSteps(50))) as on:
        lead = tell("lead", "r", does(call("wonder", question="?")), does(act("a")), says("lead done"))
        run = await on.start(script("r", does(call("wonder", question="?")), does(lead), says("top done")))
        assert on.rt is not None
        for waits in (1_000, 50):
            await on.rest(run, "waiting")
            on.clock.advance(waits)
            [question] = (await run.state()).interrupts
            await on.rt.answer(question.id, "go on", by="ann")
            await asyncio.sleep(0.05)
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]


async def test_a_person_extends_the_limit_of_one_nested_agent_and_no_other(folder: Path) -> None:
    pausing = MaxSteps(2).then("pause")
    async with stage(folder, nesting(MaxSteps(60), MaxSteps(50), pausing)) as on:

        def hand(name: str) -> list[Any]:
            return tell("hand", "r", *(does(act(f"{name}{n}")) for n in range(3)), says(f"{name} done"))

        run = await on.start(
            script("r", does(tell("lead", "r", does(hand("x")), does(hand("y")), says("ok"))), says("done"))
        )
        assert on.rt is not None
        await on.rest(run, "waiting")
        [item] = (await run.state()).interrupts
        assert (item.kind, item.path) == ("limit", "1.0/1.0")
        await on.rt.answer(item.id, {"choice": "extend", "amount": 5}, by="ann")
        await on.until(lambda: "acted y1" in on.ledger.lines("r"))
        await on.rest(run, "waiting")
        [item] = (await run.state()).interrupts
        assert (item.kind, item.path) == ("limit", "1.0/2.0")
        await on.rt.answer(item.id, "extend", by="ann")
        await on.rest(run, "completed")
        assert len([x for x in await on.records("r") if isinstance(x, Asked)]) == 2
