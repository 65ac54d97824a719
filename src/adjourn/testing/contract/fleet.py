"""`roster` and `queues`: who works here, and what waits for them."""

import pytest
from msgspec.structs import replace

from adjourn.core.records import Parked, RunCompleted
from adjourn.errors import Invalid
from adjourn.stores.fleet import Queue, RunCount, WorkerCard
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    approval,
    begin,
    claim,
    commit,
    created,
    replied,
    started,
)
from adjourn.testing.fake_clock import FakeClock

CARD = WorkerCard(
    "w1", host="app-01", pid=7, version="1", programs={"clerk": "a1"}, slots=4, running=1, every=5.0
)


class Listing(ContractFixtures):
    """Workers say that they are there, and people see what waits for them."""

    async def test_a_card_is_kept_with_the_time_of_the_store(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.roster() == []
        [found] = await store.roster(CARD)
        assert found == replace(CARD, seen_at=clock.now())
        assert await store.roster() == [found]

    async def test_a_newer_card_is_put_in_the_place_of_the_older_one(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.roster(CARD)
        await store.roster(replace(CARD, id="w0"))
        clock.advance(5)
        later = replace(CARD, running=0, draining=True)
        zero, one = await store.roster(later)
        assert (zero.id, zero.seen_at) == ("w0", clock.now() - 5)
        assert one == replace(later, seen_at=clock.now())

    async def test_cards_are_dropped_and_those_that_are_not_there_do_not_matter(
        self, store: Store
    ) -> None:
        await store.roster(CARD)
        assert [
            card.id for card in await store.roster(replace(CARD, id="w2"), drop=["w1", "x"])
        ] == ["w2"]
        assert await store.roster(drop=["w2"]) == []

    async def test_a_card_needs_a_name_that_can_be_kept(self, store: Store) -> None:
        with pytest.raises(Invalid):
            await store.roster(replace(CARD, id="a\0b"))
        assert await store.roster() == []

    async def test_a_card_takes_no_run_and_frees_none(self, store: Store) -> None:
        await store.create(started())
        await claim(store, worker="w1")
        await store.roster(CARD)
        await store.roster(drop=["w1"])
        assert list(await store.workers()) == ["w1"]
        assert await store.claim(["clerk"], "w2", TTL, 1) == []

    async def test_queues_count_what_is_ready_and_what_is_taken(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.queues() == []
        first = clock.now()
        for run, program in (("a", "clerk"), ("b", "clerk"), ("c", "writer")):
            await store.create(started(run, program=program))
            clock.advance(1)
        await claim(store, "b")
        assert await store.queues() == [
            Queue("clerk", 1, first, 1),
            Queue("writer", 1, first + 2, 0),
        ]

    async def test_queues_leave_out_what_rests_until_its_time_has_come(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        wake = clock.now() + 10
        await commit(store, lease, [replied("refund")], [approval(), Parked(wake_at=wake)])
        assert await store.queues() == []
        clock.advance(12)
        assert await store.queues() == [Queue("clerk", 1, wake, 0)]

    async def test_a_census_counts_what_has_not_ended_by_program_and_status(
        self, store: Store
    ) -> None:
        assert (await store.census()).runs == ()
        for run, program in (("a", "writer"), ("b", "clerk"), ("c", "clerk"), ("d", "clerk")):
            await store.create(started(run, program=program))
        await commit(store, await claim(store, "b"), [replied("refund")], [approval(), Parked()])
        await commit(store, await claim(store, "d"), [], [RunCompleted()])
        assert (await store.census()).runs == (
            RunCount("clerk", "ready", 1),
            RunCount("clerk", "waiting", 1),
            RunCount("writer", "ready", 1),
        )

    async def test_a_census_counts_only_so_many_of_a_kind(self, store: Store) -> None:
        await created(store, "a", "b", "c")
        assert (await store.census(2)).runs == (RunCount("clerk", "ready", 2),)
