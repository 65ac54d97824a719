"""`pulse`: one heartbeat keeps all runs of a worker, whatever its event loop does."""

import asyncio
from contextlib import closing

import pytest

from adjourn.core.records import Claimed, Parked
from adjourn.errors import LeaseBusy, LeaseLost
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    begin,
    claim,
    commit,
    recorded,
    replied,
    started,
    unchanged,
)
from adjourn.testing.fake_clock import FakeClock


class Beating(ContractFixtures):
    """A worker's runs are its own while it beats; the epoch of each run stays the only
    authority."""

    async def test_one_beat_keeps_all_runs_of_a_worker_and_no_others(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run in ("r1", "r2"):
            await begin(store, run)
        await begin(store, "r3", worker="w2")
        with closing(store.pulse()) as pulse:
            clock.advance(TTL - 1)
            assert not pulse.beat("w1", TTL)
            clock.advance(TTL - 1)
            for run in ("r1", "r2"):
                assert (await store.get(run)).lease_until == clock.now() + 1
                with pytest.raises(LeaseBusy):
                    await store.acquire(run, "w9", TTL)
            assert await store.acquire("r3", "w9", TTL) is not None

    async def test_a_beat_that_comes_too_late_says_so(self, store: Store, clock: FakeClock) -> None:
        await begin(store)
        with closing(store.pulse()) as pulse:
            clock.advance(TTL)
            assert pulse.beat("w1", TTL)
            assert not pulse.beat("w1", TTL)

    async def test_a_beat_gives_nothing_back_that_another_has_taken(
        self, store: Store, clock: FakeClock
    ) -> None:
        old = await begin(store)
        with closing(store.pulse()) as pulse:
            clock.advance(TTL)
            await claim(store, worker="w2")
            async with unchanged(store):
                pulse.beat("w1", TTL)
                with pytest.raises(LeaseLost):
                    await commit(store, old, [replied()])

    async def test_a_commit_is_no_beat(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        clock.advance(TTL - 1)
        await commit(store, lease, [replied()])
        assert (await store.get("r1")).lease_until == clock.now() + 1

    async def test_taking_another_run_is_a_beat_for_all(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store)
        clock.advance(TTL - 1)
        await begin(store, "r2")
        clock.advance(TTL - 1)
        with pytest.raises(LeaseBusy):
            await store.acquire("r1", "w2", TTL)

    async def test_what_names_a_worker_that_has_ended_is_free_at_once(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started())
        await claim(store, worker="here|1")
        with closing(store.pulse()) as pulse:
            pulse.end("here|1")
        assert await store.acquire("r1", "w2", TTL, spares="here|") is not None

    async def test_what_a_worker_that_ended_has_left_at_work_is_waited_for_where_that_can_be_seen(
        self, store: Store
    ) -> None:
        await store.create(started())
        await claim(store, worker="here|1")
        with closing(store.pulse()) as pulse:
            pulse.end("here|1", left=True)
            assert (await store.get("r1")).lease_until < 0
            with pytest.raises(LeaseBusy):
                await store.acquire("r1", "here|2", TTL, spares="here|")
            pulse.end("here|1")
        await claim(store, worker="here|2", spares="here|")
        assert not any(claimed.lost for claimed in await recorded(store, Claimed))

    async def test_what_was_left_at_work_elsewhere_is_taken_and_is_no_death(
        self, store: Store
    ) -> None:
        await store.create(started())
        await claim(store, worker="there|1")
        with closing(store.pulse()) as pulse:
            pulse.end("there|1", left=True)
        assert await store.acquire("r1", "here|2", TTL, spares="here|") is not None
        assert not any(claimed.lost for claimed in await recorded(store, Claimed))

    async def test_a_worker_that_ends_without_runs_leaves_nothing_behind(
        self, store: Store, clock: FakeClock
    ) -> None:
        await commit(store, await begin(store), (), [Parked()])
        with closing(store.pulse()) as pulse:
            pulse.end("w1")
            assert pulse.beat("w1", TTL), "it was forgotten"

    async def test_a_worker_whose_last_run_was_taken_is_forgotten(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run in ("r1", "r2"):
            await begin(store, run)
        clock.advance(TTL)
        await claim(store, "r1", worker="w2")
        await claim(store, "r2", worker="w2")
        with closing(store.pulse()) as pulse:
            assert pulse.beat("w1", TTL), "as if it had never been there"

    async def test_beats_from_a_thread_and_commits_do_not_disturb_each_other(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        with closing(store.pulse()) as pulse:

            def beats() -> int:
                return sum(not pulse.beat("w1", TTL) for _ in range(50))

            beating = asyncio.get_running_loop().run_in_executor(None, beats)
            for _ in range(50):
                assert (await commit(store, lease, [replied()])).clean
            assert await beating == 50
