"""States that are kept after a park: as many bytes as fit, the latest; whoever takes one has it alone."""

import asyncio
import gc
import tracemalloc
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, InvalidDefinition, Paused, Runtime, tool
from adjourn.core.record_codec import dump
from adjourn.core.state import State
from adjourn.driver.cold_start import size_of
from adjourn.runtime.state_cache import RECORD, Folded, StateCache
from adjourn.testing.scripted import ScriptedModel, call

MB = 1_000_000


def folded(size: int) -> Folded:
    return Folded(State(), size)


def test_what_is_taken_is_gone() -> None:
    hot, kept = StateCache(), folded(5)
    hot.keep("a", kept)
    assert hot.take("a") is kept
    assert hot.take("a") is None


def test_the_oldest_make_room_by_the_bytes_they_hold() -> None:
    hot = StateCache(limit=10)
    for run in "abc":
        hot.keep(run, folded(4))
    assert [run for run in "abc" if hot.take(run)] == ["b", "c"]
    assert hot.size == 0


def test_a_run_is_kept_once_and_counts_once() -> None:
    hot = StateCache(limit=10)
    for _ in range(5):
        hot.keep("a", folded(6))
    hot.keep("b", folded(4))
    assert len(hot) == 2


def test_a_state_larger_than_everything_is_not_kept() -> None:
    hot = StateCache(limit=10)
    hot.keep("a", folded(11))
    assert len(hot) == 0
    hot.keep("b", folded(10))
    assert hot.take("b") is not None


def test_many_small_records_weigh_more_than_their_words() -> None:
    state = State()
    state.seq = 1_000
    assert Folded(state, 10).weight == 10 + 1_000 * RECORD


@tool(policy="ask")
async def archive(text: str) -> str:
    """Keep a text."""
    return text


def archiver(size: int) -> Agent:
    return Agent("archiver", model=ScriptedModel([call("archive", text="x" * size)], "kept"), tools=[archive])


@pytest.mark.parametrize("place", ["memory", "sqlite"])
async def test_a_state_weighs_what_its_journal_has_by_whichever_way_it_came_here(address: str, place: str) -> None:
    agent = archiver(5_000)
    if place == "memory":
        address = "memory://"
    async with Runtime(address, [agent]) as rt:
        run = await rt.start(agent, "go", run_id="r")
        assert isinstance(await run.wait(LIMIT), Paused)
        kept = rt.worker.advancer.hot.take("r")
        journal = await rt.store.load("r")
        assert kept is not None
        assert kept.size == size_of(journal) == sum(len(dump(record)) for _, record in journal)
        await run.say("hello", by="ann")
        await rt.worker.rested("r")
        again = rt.worker.advancer.hot.take("r")
        assert again is not None
        assert again.size == size_of(await rt.store.load("r")) > kept.size


@pytest.mark.unwatched
async def test_a_thousand_parked_runs_of_200_kilobytes_are_not_all_kept(address: str) -> None:
    agent = archiver(200_000)
    gc.collect()
    tracemalloc.start()
    try:
        async with Runtime(address, [agent], hot_bytes=16 * MB) as rt:
            for first in range(0, 1_000, 50):
                names = [f"r{n}" for n in range(first, first + 50)]
                runs = await asyncio.gather(*(rt.start(agent, "go", run_id=id) for id in names))
                for task in asyncio.as_completed([run.wait(LIMIT) for run in runs]):
                    assert isinstance(await task, Paused)
            await rt.runs()
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            assert rt.worker.advancer.hot.size <= 16 * MB
    finally:
        tracemalloc.stop()
    assert held < 40 * MB, f"{held / MB:.0f} MB are held"


@pytest.mark.parametrize("wrong", [-1, 0.5, "much", True])
async def test_a_bound_that_is_no_number_of_bytes_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidDefinition, match="hot_bytes"):
        Runtime("memory://", hot_bytes=wrong)
