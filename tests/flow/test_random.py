"""Random flows with random pauses, answered in random order, saved and loaded on the way, give what plain recursion gives."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tests.flow.random_flows import Built, Plain, said, shapes
from tests.flow.world import execution, settled

from adjourn import Completed, Execution, Flow, RunFailed
from adjourn.stores.memory import MemoryStore
from adjourn.testing import Env, FakeClock, env

INPUT = {"x": 1}
moves = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from(["", "", "load", "pause", "sleep"])), min_size=1, max_size=12
)


async def by_hand(built: Built, choices: list[tuple[int, str]]) -> Any:
    """Run it as an execution: answer in the order of the choices, with saves, loads and pauses between the answers."""
    clock = FakeClock()
    one = execution(built.flow, clock)
    await tolerated(one.start(INPUT))
    turn = 0
    while one.status != "completed":
        which, also = choices[turn % len(choices)]
        turn += 1
        assert turn < 2_000, one.status
        if also == "load":
            one._sleep_no_more()  # its process is gone
            built = built.again()
            one = execution(built.flow, clock).load(one.save().to_json())
        elif also == "pause":
            await one.pause()
            await tolerated(one.resume())
        elif also == "sleep":
            clock.advance(2)
            await settled()
        waiting = list(one.pending_interrupts.values())
        if waiting:
            interrupt = waiting[which % len(waiting)]
            await tolerated(one.continue_with(interrupt.id, said(interrupt)))
        elif sleeps(one):
            clock.advance(2)
            await tolerated(one.resume())
        else:
            await one.close()
    return one.state.get("ends", [])


def sleeps(one: Execution) -> bool:
    return any(i.kind == "timer" for i in one.save().interrupts)


async def tolerated(work: Any) -> None:
    """A chunk that fails is answered like any other interrupt."""
    try:
        await work
    except RunFailed:
        pass


async def in_a_runtime(built: Built, choices: list[tuple[int, str]]) -> Any:
    """Run it in a runtime: answer through the inbox, with pauses, and with other runtimes on the same store."""
    clock = FakeClock()
    store = MemoryStore(now=clock.now)
    turns = itertools.islice(itertools.cycle(choices), 2_000)
    while True:
        async with env([built.flow], store=store, clock=clock) as test:
            outcome = await in_one_runtime(test, built.flow, turns)
        if outcome is not None:
            return outcome.output.get("ends", [])
        built = built.again()


async def in_one_runtime(test: Env, flow: Flow, turns: Iterator[tuple[int, str]]) -> Completed[Any] | None:
    """The outcome; None if it is to go on in another one."""
    rt = test.runtime
    run = await rt.start(flow, INPUT, run_id="r")
    for which, also in turns:
        await test.settle()
        if await run.status() == "completed":
            outcome = await run.wait(10)
            assert isinstance(outcome, Completed)
            return outcome
        if also == "pause" and await run.status() in ("waiting", "running"):
            await run.pause()
            await test.settle()
            await run.resume()
        elif also == "sleep":
            await test.skip(2)
        waiting = await rt.inbox(limit=1000)
        if waiting:
            interrupt = waiting[which % len(waiting)]
            await rt.answer(interrupt.id, said(interrupt), by="ann")
        else:
            await test.skip(2)
        if also == "load":
            return None
    raise AssertionError(await run.status())


def same(built: Built, ends: Any) -> None:
    plain = Plain(built.shape, INPUT)
    assert sorted(map(repr, ends)) == sorted(map(repr, plain.state))
    assert built.ran == plain.ran


def check(shape: Any, choices: list[tuple[int, str]], drive: Any) -> None:
    built = Built(shape)
    same(built, asyncio.run(drive(built, choices)))


EVERY: Any = list(HealthCheck)
quick = settings(max_examples=90, deadline=None, suppress_health_check=EVERY)
long = settings(max_examples=500, deadline=None, suppress_health_check=EVERY)


@quick
@given(shapes(), moves)
def test_a_random_flow_gives_what_plain_recursion_gives(shape: Any, choices: list[tuple[int, str]]) -> None:
    check(shape, choices, by_hand)


@quick
@given(shapes(), moves)
def test_a_random_flow_in_a_runtime_gives_what_plain_recursion_gives(
    shape: Any, choices: list[tuple[int, str]]
) -> None:
    check(shape, choices, in_a_runtime)


@pytest.mark.crash
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("drive", [by_hand, in_a_runtime])
def test_many_random_flows_give_what_plain_recursion_gives(drive: Any, part: int) -> None:
    @seed(part)
    @long
    @given(shapes(), moves)
    def many(shape: Any, choices: list[tuple[int, str]]) -> None:
        check(shape, choices, drive)

    many()
