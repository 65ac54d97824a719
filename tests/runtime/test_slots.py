"""Slots: how many runs are at work, who is alone, and who never waits."""

import asyncio
from collections.abc import Callable

import pytest

from adjourn.runtime.slots import Slots


class Hall:
    """Slots, who has come in so far, and time that a test moves."""

    def __init__(self, number: int) -> None:
        self.timers: list[Callable[[], None]] = []
        self.slots = Slots(number, lambda _, do: self.timers.append(do))
        self.inside: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def comes(self, *runs: str, suspect: bool = False) -> None:
        for run in runs:
            self.tasks[run] = asyncio.ensure_future(self._enter(run, suspect))
        await self.settle()

    async def _enter(self, run: str, suspect: bool) -> None:
        await self.slots.enter(run)
        if suspect:
            await self.slots.alone(run)
        self.inside.append(run)

    async def leaves(self, *runs: str) -> None:
        for run in runs:
            self.slots.leave(run)
            self.inside.remove(run)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_so_many_at_a_time_first_come_first_served() -> None:
    hall = Hall(2)
    await hall.comes("a", "b", "c", "d")
    assert hall.inside == ["a", "b"]
    await hall.leaves("a")
    assert hall.inside == ["b", "c"]
    await hall.leaves("b", "c")
    assert hall.inside == ["d"]


async def test_a_suspect_waits_until_the_others_have_ended_and_nobody_begins_beside_it() -> None:
    hall = Hall(3)
    await hall.comes("a", "b")
    await hall.comes("s", suspect=True)
    await hall.comes("c")
    assert hall.inside == ["a", "b"]
    await hall.leaves("a", "b")
    assert hall.inside == ["s"]
    await hall.leaves("s")
    assert hall.inside == ["c"]


async def test_two_suspects_are_alone_one_after_the_other() -> None:
    hall = Hall(3)
    await hall.comes("s", "t", suspect=True)
    assert hall.inside == ["s"]
    await hall.leaves("s")
    assert hall.inside == ["t"]


async def test_a_suspect_that_is_cleared_lets_others_in() -> None:
    hall = Hall(2)
    await hall.comes("s", suspect=True)
    await hall.comes("a", "b")
    assert hall.inside == ["s"]
    hall.slots.clear("s")
    await hall.settle()
    assert hall.inside == ["s", "a"]
    await hall.leaves("s")
    assert hall.inside == ["a", "b"]


async def test_a_suspect_waits_only_so_long_for_the_others() -> None:
    hall = Hall(3)
    await hall.comes("a")
    await hall.comes("s", suspect=True)
    assert hall.inside == ["a"]
    hall.timers[0]()
    await hall.settle()
    assert hall.inside == ["a", "s"]
    await hall.comes("b")
    assert hall.inside == ["a", "s"], "and still nobody begins beside it"


async def test_whoever_only_stops_things_passes_by() -> None:
    hall = Hall(1)
    await hall.comes("a", "b", "c")
    hall.slots.wave("c")
    await hall.settle()
    assert hall.inside == ["a", "c"]
    await hall.leaves("c")
    assert hall.inside == ["a"], "it had no slot, so it gives none back"
    await hall.leaves("a")
    assert hall.inside == ["b"]


@pytest.mark.parametrize("suspect", [False, True])
async def test_who_stops_waiting_holds_up_nobody(suspect: bool) -> None:
    hall = Hall(1)
    await hall.comes("a")
    await hall.comes("x", suspect=suspect)
    await hall.comes("b")
    hall.tasks["x"].cancel()
    await hall.settle()
    await hall.leaves("a")
    assert hall.inside == ["b"]


async def test_who_is_cancelled_just_as_it_comes_in_gives_its_slot_back() -> None:
    hall = Hall(1)
    await hall.comes("a", "x", "b")
    hall.slots.leave("a")
    hall.tasks["x"].cancel()
    await hall.settle()
    assert hall.inside == ["a", "b"]


async def test_who_is_cancelled_just_before_it_comes_in_gives_its_slot_back() -> None:
    hall = Hall(1)
    await hall.comes("a", "x", "b")
    hall.tasks["x"].cancel()
    hall.slots.leave("a")
    await hall.settle()
    assert hall.inside == ["a", "b"]


async def test_a_place_in_the_queue_is_enough_and_can_be_given_up() -> None:
    hall = Hall(1)
    called: list[str] = []
    for run in ("a", "b", "c", "d"):
        hall.slots.call(run, lambda run=run: called.append(run))
    await hall.comes("e")
    assert called == ["a"]
    assert hall.slots.queued == ["b", "c", "d", "e"]
    hall.slots.withdraw("b")
    hall.slots.wave("d")
    assert called == ["a", "d"], "what only stops things takes no slot"
    hall.slots.leave("d")
    hall.slots.leave("a")
    assert called == ["a", "d", "c"]
    hall.slots.leave("c")
    await hall.settle()
    assert hall.inside == ["e"]


async def test_those_of_a_higher_priority_come_first_and_of_these_first_come_first_served() -> None:
    slots, inside = Slots(1), list[str]()
    for run, priority in (("a", 0), ("low", -1), ("b", 0), ("high", 2), ("higher", 3), ("c", 0)):
        slots.call(run, lambda run=run: inside.append(run), priority)
    slots.withdraw("b")
    assert slots.queued == ["low", "high", "higher", "c"]
    for run in ("a", "higher", "high", "c"):
        assert inside[-1] == run
        slots.leave(run)
    assert inside == ["a", "higher", "high", "c", "low"]


async def test_a_run_that_comes_again_waits_at_its_new_place() -> None:
    slots, inside = Slots(1), list[str]()
    for run, priority in (("a", 0), ("b", 5), ("c", 1)):
        slots.call(run, lambda run=run: inside.append(run), priority)
    slots.withdraw("b")
    slots.call("b", lambda: inside.append("b"))
    slots.leave("a")
    slots.leave("c")
    assert inside == ["a", "c", "b"]
