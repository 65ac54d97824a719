"""`subscribe` and `close`: who hears of a change, and how it ends."""

import asyncio
import threading
from typing import Any

import pytest

from adjourn.core.records import Said, Stepped
from adjourn.core.status import Status
from adjourn.errors import AlreadyDecided, LeaseBusy, RequestReused, StoreError
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    approval,
    at_once,
    begin,
    bring,
    commit,
    ids,
    open_ids,
    seqs,
    started,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock

SOON = 5.0


class Ear:
    """Counts rings."""

    def __init__(self) -> None:
        self.rings = 0
        self.threads: set[int] = set()
        self._rung = asyncio.Event()

    def __call__(self) -> None:
        self.rings += 1
        self.threads.add(threading.get_ident())
        self._rung.set()

    async def heard(self) -> None:
        """Wait until it has rung."""
        await asyncio.wait_for(self._rung.wait(), SOON)


class Ringing(ContractFixtures):
    """A bell rings after a run may have changed. It may ring for nothing, but never not."""

    async def test_who_follows_a_run_hears_of_a_word_to_it(self, store: Store) -> None:
        await store.create(started())
        ear = Ear()
        store.subscribe("r1", ear)
        await store.deliver("r1", Said(text="hi"))
        await ear.heard()

    async def test_who_follows_a_run_hears_of_its_progress(self, store: Store) -> None:
        lease = await begin(store)
        ear = Ear()
        store.subscribe("r1", ear)
        await commit(store, lease, [Stepped(call="1.0", key="a")])
        await ear.heard()

    async def test_who_follows_every_run_hears_of_a_new_one(self, store: Store) -> None:
        ear = Ear()
        store.subscribe("", ear)
        await store.create(started())
        await ear.heard()

    async def test_who_waits_for_the_words_of_others_hears_them(self, store: Store) -> None:
        await begin(store)
        ear = Ear()
        store.subscribe("r1", ear, words=True)
        await store.deliver("r1", Said(text="hi"))
        await ear.heard()

    async def test_who_waits_for_the_words_of_others_is_left_alone_by_the_holders_commits(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        all_of_it, words = Ear(), Ear()
        store.subscribe("r1", all_of_it)
        store.subscribe("r1", words, words=True)
        for number in range(20):
            await commit(store, lease, [Stepped(call="1.0", key=str(number))])
        assert all_of_it.rings >= 20
        assert words.rings <= 5  # a few for nothing are allowed

    @pytest.mark.parametrize("lift", [False, True])
    async def test_everybody_hears_of_a_halt(self, store: Store, lift: bool) -> None:
        await begin(store)
        if lift:
            await store.halt("*")
        ears = [Ear(), Ear(), Ear()]
        store.subscribe("r1", ears[0], words=True)
        store.subscribe("r1", ears[1])
        store.subscribe("", ears[2])
        await store.halt("*", lift=lift)
        for ear in ears:
            await ear.heard()

    async def test_everybody_who_follows_a_run_hears(self, store: Store) -> None:
        await store.create(started())
        ears = [Ear() for _ in range(3)]
        for ear in ears:
            store.subscribe("r1", ear)
        await store.deliver("r1", Said(text="hi"))
        for ear in ears:
            await ear.heard()

    async def test_who_has_ended_the_subscription_hears_nothing_more(self, store: Store) -> None:
        await store.create(started())
        gone, stays = Ear(), Ear()
        end = store.subscribe("r1", gone)
        store.subscribe("r1", stays)
        end()
        end()
        await store.deliver("r1", Said(text="hi"))
        await stays.heard()
        assert gone.rings == 0

    async def test_a_bell_rings_in_the_loop_of_who_subscribed(self, store: Store) -> None:
        await store.create(started())
        ear = Ear()
        store.subscribe("r1", ear)
        await at_once(10, lambda number: store.deliver("r1", Said(text=str(number))))
        await ear.heard()
        assert ear.threads == {threading.get_ident()}

    async def test_a_run_can_be_followed_before_it_exists(self, store: Store) -> None:
        ear = Ear()
        store.subscribe("r1", ear)
        await store.create(started())
        await ear.heard()

    async def test_what_is_seen_after_a_ring_is_what_was_written(self, store: Store) -> None:
        await store.create(started())
        ear = Ear()
        store.subscribe("r1", ear)
        await store.deliver("r1", Said(text="hi"))
        await ear.heard()
        assert seqs(await store.load("r1")) == [1, 2]


async def _both(store: Store) -> list[Any]:
    """All of two runs."""
    return [
        await store.get("r1"),
        await store.load("r1"),
        await store.get("r2"),
        await store.load("r2"),
    ]


class Closing(ContractFixtures):
    """A store that is closed has finished what it accepted; one that is opened again has all of
    it."""

    async def test_what_was_accepted_before_the_close_has_landed(self, clock: FakeClock) -> None:
        store = await self.open_store(clock.now)
        await store.create(started())
        words = [
            asyncio.ensure_future(store.deliver("r1", Said(text=str(number))))
            for number in range(50)
        ]
        await asyncio.sleep(0)
        await store.close()
        assert sorted(await asyncio.gather(*words)) == list(range(2, 52))

    async def test_a_store_can_be_closed_twice_and_with_subscribers(self, clock: FakeClock) -> None:
        store = await self.open_store(clock.now)
        store.subscribe("", Ear())
        store.subscribe("r1", Ear(), words=True)
        await store.create(started())
        await store.close()
        await store.close()

    async def test_a_closed_store_answers_or_says_that_it_is_closed(self, clock: FakeClock) -> None:
        store = await self.open_store(clock.now)
        await store.create(started())
        await store.close()
        try:
            assert (await store.get("r1")).id == "r1"
        except StoreError as e:
            assert "closed" in str(e)

    async def test_journals_rows_and_interrupts_are_there_again(self, clock: FakeClock) -> None:
        store = await self.open_store(clock.now)
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        await bring(store, Status.STUCK, "r2")
        before = await _both(store)
        shown = await open_ids(store)
        async with self.reopened(store, clock) as again:
            assert await _both(again) == before
            assert (await ids(again), await open_ids(again)) == (["r2", "r1"], shown)
            with pytest.raises(AlreadyDecided):
                await again.deliver("r1", yes(by="ana"))
            await again.deliver("r1", yes(by="bo"))

    async def test_leases_requests_and_halts_are_there_again(self, clock: FakeClock) -> None:
        store = await self.open_store(clock.now)
        lease = await begin(store)
        seq = await store.deliver("r1", Said(text="once"), request="q1")
        await store.halt("tool:send", by="ana", reason="spilled")
        async with self.reopened(store, clock) as again:
            with pytest.raises(LeaseBusy):
                await again.acquire("r1", "w2", TTL)
            assert (await again.commit(lease, [], [], seen=seq)).clean
            assert await again.deliver("r1", Said(text="once"), request="q1") == seq
            with pytest.raises(RequestReused):
                await again.deliver("r1", Said(text="twice"), request="q1")
            [halt] = await again.halt("")
            assert (halt.scope, halt.by, halt.reason) == ("tool:send", "ana", "spilled")
