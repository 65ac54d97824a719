"""`acquire`, `renew` and `release`: one worker at a time, and its authority is the epoch."""

from contextlib import closing
from typing import Any

import pytest
from msgspec.structs import replace

from adjourn.core.records import (
    CancelAsked,
    Claimed,
    Parked,
    PauseAsked,
    Released,
    RunCompleted,
    Said,
)
from adjourn.core.status import ENDED, Status
from adjourn.core.usage import Usage
from adjourn.errors import LeaseBusy, LeaseLost, StoreError, UnknownRun
from adjourn.stores.protocol import LEFT, Lease, Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    approval,
    at_once,
    begin,
    bring,
    check_fields,
    claim,
    commit,
    created,
    due_ids,
    how_many,
    names,
    recorded,
    refused,
    replied,
    seqs,
    started,
    tried_at_once,
    unchanged,
    wait_for,
)
from adjourn.testing.fake_clock import FakeClock


class Acquiring(ContractFixtures):
    """A run that is due and free can be taken."""

    async def test_a_free_run_is_taken_with_the_next_epoch(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started())
        lease = await claim(store)
        assert (lease.run, lease.worker, lease.epoch, lease.seq) == ("r1", "w1", 1, 2)
        check_fields(await store.get("r1"), epoch=1, worker="w1", lease_until=clock.now() + TTL)

    async def test_taking_a_run_is_a_record(self, store: Store, clock: FakeClock) -> None:
        await begin(store)
        assert (await store.load("r1", 1)) == [(2, Claimed(epoch=1, worker="w1", at=clock.now()))]

    async def test_a_lease_carries_the_journal_with_its_own_claim(self, store: Store) -> None:
        await store.create(started())
        await store.deliver("r1", Said(text="hi"))
        lease = await claim(store)
        assert list(lease.records) == await store.load("r1")
        assert lease.records[-1][0] == lease.seq

    async def test_a_lease_carries_only_what_is_new_to_who_asks(self, store: Store) -> None:
        await store.create(started())
        await store.deliver("r1", Said(text="hi"))
        lease = await claim(store, after=2)
        assert seqs(lease.records) == [3]

    async def test_who_knows_the_journal_by_its_head_gets_what_is_new(self, store: Store) -> None:
        lease = await begin(store)
        assert lease.head == (await store.get("r1")).head
        done = await store.commit(lease, [replied()], [], seen=2)
        assert done.head == (await store.get("r1")).head
        await store.deliver("r1", Said(text="hi"))
        again = await claim(store, worker="w2", after=3, head=done.head, replaces="w1")
        assert seqs(again.records) == [4, 5]
        assert (
            await store.acquire("r1", "w3", TTL, after=5, head=again.head, replaces="w2")
            is not None
        )

    @pytest.mark.parametrize("after", [1, 2, 3, 4, 9])
    async def test_who_knows_another_history_gets_nothing(self, store: Store, after: int) -> None:
        lease = await begin(store)
        await begin(store, "r2", worker="w2")
        await store.commit(lease, [replied()], [], seen=2)
        before = await store.load("r1"), await store.get("r1")
        with pytest.raises(StoreError, match="restored or replaced"):
            await store.acquire("r1", "w1", TTL, after=after, head=(await store.get("r2")).head)
        assert (await store.load("r1"), await store.get("r1")) == before
        assert await store.acquire("r1", "w1", TTL, after=3, replaces="w1") is not None, (
            "who folds anew continues"
        )

    async def test_a_commit_of_who_has_seen_more_than_there_is_lands_nowhere(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        before = await store.load("r1")
        for facts, moves in (([replied()], []), ([], [Parked()]), ([], [])):
            with pytest.raises(LeaseLost, match="restored"):
                await store.commit(lease, facts, moves, seen=3)
        assert await store.load("r1") == before

    async def test_a_commit_that_is_made_again_gives_the_same_head(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        fact = replace(replied(), at=clock.now())
        first = await store.commit(lease, [fact], [], seen=2)
        await store.deliver("r1", Said(text="hi"))
        again = await store.commit(lease, [fact], [], seen=2)
        assert (again.seq, again.head) == (first.seq, first.head)

    async def test_a_lease_carries_the_halts(self, store: Store) -> None:
        await store.create(started())
        await store.halt("tool:send")
        assert (await claim(store)).halts == {"tool:send"}

    async def test_a_run_that_somebody_has_is_busy(self, store: Store, clock: FakeClock) -> None:
        await begin(store)
        clock.advance(TTL - 1)
        async with refused(store, LeaseBusy, "worker w1 is running run"):
            await store.acquire("r1", "w2", TTL)

    async def test_a_worker_is_busy_with_its_own_run_too(self, store: Store) -> None:
        await begin(store)
        with pytest.raises(LeaseBusy):
            await store.acquire("r1", "w1", TTL)

    async def test_an_expired_lease_can_be_taken_by_another(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store)
        clock.advance(TTL)
        assert (await claim(store, worker="w2")).epoch == 2
        assert (await store.get("r1")).worker == "w2"

    async def test_a_worker_known_to_be_dead_can_be_replaced_at_once(self, store: Store) -> None:
        await begin(store)
        lease = await claim(store, worker="w2", replaces="w1")
        assert (lease.epoch, (await store.get("r1")).worker) == (2, "w2")

    async def test_only_the_worker_that_is_named_is_replaced(self, store: Store) -> None:
        await begin(store)
        async with refused(store, LeaseBusy):
            await store.acquire("r1", "w2", TTL, replaces="w3")

    async def test_a_worker_that_is_spared_is_not_robbed_because_time_has_passed(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.create(started())
        await claim(store, worker="here|1")
        clock.advance(100 * TTL)
        async with refused(store, LeaseBusy):
            await store.acquire("r1", "w2", TTL, spares="here|")

    async def test_a_worker_that_is_spared_is_replaced_when_it_is_named(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.create(started())
        await claim(store, worker="here|1")
        lease = await claim(store, worker="w2", spares="here|", replaces="here|1")
        assert lease.epoch == 2

    async def test_sparing_some_does_not_spare_others(self, store: Store, clock: FakeClock) -> None:
        await begin(store)
        clock.advance(TTL)
        assert await store.acquire("r1", "w2", TTL, spares="here|") is not None

    async def test_only_one_of_many_workers_gets_a_run(self, store: Store) -> None:
        await store.create(started())
        got = await tried_at_once(20, lambda number: store.acquire("r1", f"w{number}", TTL))
        assert (how_many(got, Lease), how_many(got, LeaseBusy)) == (1, 19)
        assert (await store.get("r1")).epoch == 1

    @pytest.mark.parametrize(
        "status", [Status.WAITING, Status.PAUSED, Status.STUCK, Status.COMPLETED, Status.CANCELLED]
    )
    async def test_there_is_nothing_to_do_for_a_run_that_is(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        async with unchanged(store):
            assert await store.acquire("r1", "w2", TTL) is None

    async def test_a_run_that_wants_to_pause_or_to_cancel_is_taken(self, store: Store) -> None:
        for run, word in (("r1", PauseAsked()), ("r2", CancelAsked())):
            await store.create(started(run))
            await store.deliver(run, word)
            before = (await store.get(run)).status
            await claim(store, run)
            assert (await store.get(run)).status == before

    async def test_a_sleeping_run_is_taken_when_its_time_has_come(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, parked=Parked(wake_at=clock.now() + 60))
        clock.advance(59)
        assert await store.acquire("r1", "w1", TTL) is None
        clock.advance(1)
        await claim(store)
        check_fields(await store.get("r1"), status=Status.READY, wake_at=0.0)

    async def test_a_cancel_that_waits_is_taken_up_when_its_time_has_come(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        await store.deliver("r1", CancelAsked())
        await commit(store, lease, (), [Parked(wake_at=clock.now() + 60)])
        assert (await store.get("r1")).status == Status.STUCK
        clock.advance(60)
        await claim(store)
        assert (await store.get("r1")).status == Status.CANCELLING

    async def test_a_blocked_run_is_taken_when_its_last_halt_is_lifted(self, store: Store) -> None:
        await store.halt("tool:send")
        await store.halt("agent:clerk")
        await wait_for(store, parked=Parked(blocked=("agent:clerk", "tool:send")))
        assert await store.acquire("r1", "w1", TTL) is None
        await store.halt("tool:send", lift=True)
        assert await store.acquire("r1", "w1", TTL) is None
        await store.halt("agent:clerk", lift=True)
        await claim(store)
        assert (await store.get("r1")).blocked == ()

    async def test_an_unknown_run_cannot_be_taken(self, store: Store) -> None:
        with pytest.raises(UnknownRun):
            await store.acquire("r1", "w1", TTL)


class Claiming(ContractFixtures):
    """Many runs are taken in one transaction, and none by two."""

    async def take(
        self, store: Store, worker: str = "w1", limit: int = 10, **options: Any
    ) -> list[str]:
        """The runs that a worker gets."""
        return [lease.run for lease in await store.claim(["clerk"], worker, TTL, limit, **options)]

    async def test_what_is_free_and_due_is_taken_oldest_first_and_no_more_than_wanted(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run in ("c", "a", "b"):
            await store.create(started(run))
            clock.advance(1)
        leases = await store.claim(["clerk"], "w1", TTL, 2)
        assert [lease.run for lease in leases] == ["c", "a"]
        for lease in leases:
            assert (lease.worker, lease.epoch, lease.seq) == ("w1", 1, 2)
            row = await store.get(lease.run)
            assert (row.worker, row.lease_until, row.head) == ("w1", clock.now() + TTL, lease.head)
            assert (await store.load(lease.run, 1)) == [
                (2, Claimed(epoch=1, worker="w1", at=clock.now()))
            ]
        assert await self.take(store, "w2") == ["b"]
        assert await self.take(store, "w3") == []

    async def test_those_of_a_higher_priority_are_taken_first_and_then_the_oldest(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run, priority in (("low", -1), ("old", 0), ("new", 0), ("high", 5)):
            await store.create(started(run, options={"priority": priority} if priority else {}))
            clock.advance(1)
        assert [row.id for row in await store.due(["clerk"])] == ["high", "old", "new", "low"]
        assert [row.priority for row in await store.due(["clerk"])] == [5, 0, 0, -1]
        assert await self.take(store, limit=1) == ["high"]
        assert await self.take(store, "w2", limit=2) == ["old", "new"]
        assert await self.take(store, "w3") == ["low"]

    async def test_one_of_a_higher_priority_whose_time_has_come_passes_by_those_that_are_ready(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started("urgent", options={"priority": 1}))
        lease = await claim(store, "urgent")
        await commit(store, lease, [replied()], [Parked(wake_at=clock.now() + 10)])
        await store.create(started("ready"))
        assert await self.take(store, limit=1) == ["ready"]
        await store.create(started("later"))
        clock.advance(10)
        assert await self.take(store, "w2", limit=1) == ["urgent"]

    async def test_what_is_no_priority_counts_as_none(self, store: Store) -> None:
        for run, said in (("a", "high"), ("b", True), ("c", 10**9), ("d", None)):
            await store.create(started(run, options={"priority": said}))
        found = {row.id: row.priority for row in await store.due(["clerk"])}
        assert found == {"a": 0, "b": 0, "c": 1000, "d": 0}

    async def test_it_is_a_lease_like_any_other(self, store: Store, clock: FakeClock) -> None:
        await store.create(started())
        [lease] = await store.claim(["clerk"], "w1", TTL, 1)
        assert lease.now == clock.now()
        assert (await store.commit(lease, [replied()], [Parked()], seen=lease.seq)).clean

    async def test_a_lease_carries_the_records_of_those_who_know_some(self, store: Store) -> None:
        for run in ("r1", "r2"):
            await store.create(started(run))
            await store.deliver(run, Said(text="hi"))
        leases = await store.claim(["clerk"], "w1", TTL, 5, after={"r1": (1, b"")})
        assert {lease.run: seqs(lease.records) for lease in leases} == {"r1": [2, 3], "r2": []}

    async def test_whoever_knows_another_history_takes_nothing(self, store: Store) -> None:
        await created(store, "r1", "r2")
        head = (await store.get("r1")).head
        async with refused(store, StoreError, "restored or replaced", runs=("r1", "r2")):
            await store.claim(["clerk"], "w1", TTL, 5, after={"r1": (1, bytes(len(head)))})
        [lease] = await store.claim(["clerk"], "w1", TTL, 1, after={"r1": (1, head)})
        assert seqs(lease.records) == [2]

    async def test_one_that_is_queued_waits_until_all_before_it_in_its_session_have_ended(
        self, store: Store
    ) -> None:
        queue: Any = {"session": "s", "options": {"queue": "session"}}
        await store.create(started("r0", session="s"))
        await store.create(started("r1", **queue))
        await store.create(started("r2", **queue))
        await store.create(started("r3", session="t", options={"queue": "session"}))
        assert await due_ids(store) == ["r0", "r3"]
        first, _ = await store.claim(["clerk"], "w1", TTL, 5)
        assert first.run == "r0"
        async with unchanged(store, "r1", "r2"):
            assert await self.take(store) == []
            assert await store.acquire("r1", "w1", TTL) is None
        await commit(store, first, [replied()], [RunCompleted(output="done")])
        assert await self.take(store) == ["r1"]
        assert await store.acquire("r2", "w1", TTL) is None
        await store.deliver("r2", CancelAsked())
        assert await self.take(store) == ["r2"], "what is to be cancelled waits for no one"

    async def test_one_that_was_queued_and_has_begun_waits_for_nobody(self, store: Store) -> None:
        await store.create(started("r1", session="s", options={"queue": "session"}))
        await store.release(await claim(store))
        await store.create(started("r0", session="s"))
        assert sorted(await self.take(store)) == ["r0", "r1"]

    async def test_the_workers_that_have_runs_are_known(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.workers() == {}
        await begin(store, "r1", "w1")
        clock.advance(1)
        lease = await begin(store, "r2", "w2")
        assert await store.workers() == {"w1": clock.now() - 1 + TTL, "w2": clock.now() + TTL}
        await store.release(lease)
        with closing(store.pulse()) as pulse:
            pulse.end("w1", left=True)
        assert (await store.workers())["w1"] == LEFT

    async def test_other_programs_and_runs_that_are_not_wanted_are_left_alone(
        self, store: Store
    ) -> None:
        await store.create(started("r1"))
        await store.create(started("r2"))
        await store.create(started("r3", program="other"))
        async with unchanged(store, "r1", "r3"):
            assert await self.take(store, but={"r1"}) == ["r2"]
        assert await store.claim([], "w1", TTL, 5) == []
        assert [lease.run for lease in await store.claim(["other", "clerk"], "w1", TTL, 5)] == [
            "r1",
            "r3",
        ]

    async def test_two_claimers_never_get_the_same_run(self, store: Store) -> None:
        runs = names(30)
        await created(store, *runs)
        taken: list[str] = []

        async def claimer(number: int) -> None:
            while len(taken) <= len(runs) and (
                got := await self.take(store, f"w{number}", limit=4)
            ):
                taken.extend(got)

        await at_once(4, claimer)
        assert sorted(taken) == sorted(runs)
        assert {(await store.get(run)).epoch for run in runs} == {1}

    async def test_what_others_hold_is_skipped_until_they_are_not_heard_of(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store, "r1", "w1")
        await store.create(started("r2"))
        assert await self.take(store, "w2") == ["r2"]
        clock.advance(TTL)
        assert await self.take(store, "w3") == ["r1", "r2"]
        [*_, (_, claimed)] = await store.load("r1")
        assert isinstance(claimed, Claimed) and claimed.lost

    async def test_a_lease_says_since_when_the_run_could_be_taken_and_whether_it_was_lost(
        self, store: Store, clock: FakeClock
    ) -> None:
        born = clock.now()
        await store.create(started("r1"))
        clock.advance(3)
        [first] = await store.claim(["clerk"], "w1", TTL, 1)
        assert (first.ready_at, first.lost) == (born, False)
        wake = clock.now() + 10
        await commit(store, first, [replied("refund")], [approval(), Parked(wake_at=wake)])
        clock.advance(12)
        [second] = await store.claim(["clerk"], "w1", TTL, 1)
        assert (second.ready_at, second.lost) == (wake, False)
        clock.advance(TTL)
        third = await claim(store, worker="w2")
        assert (third.ready_at, third.lost) == (0.0, True)

    async def test_those_of_the_dead_are_taken_at_once_and_those_of_the_spared_never(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run, worker in (("r1", "here/1"), ("r2", "here/2"), ("r3", "there/1")):
            await begin(store, run, worker)
        assert await self.take(store, "w9", replaces=["here/1", "unknown"]) == ["r1"]
        clock.advance(TTL)
        assert await self.take(store, "w8", spares="here/") == ["r1", "r3"]
        assert await self.take(store, "w7", spares="here/", replaces=["here/2"]) == ["r2"]

    async def test_a_worker_does_not_get_again_what_it_has(self, store: Store) -> None:
        await store.create(started())
        assert await self.take(store, "w1") == ["r1"]
        assert await self.take(store, "w1") == []

    async def test_those_that_are_to_be_stopped_that_slept_and_that_were_halted_are_taken(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started("pausing"))
        await store.deliver("pausing", PauseAsked())
        await wait_for(store, approval(), run="asleep", parked=Parked(wake_at=clock.now() + 10))
        await store.halt("*")
        await wait_for(store, approval(), run="halted", parked=Parked(blocked=("*",)))
        await wait_for(store, approval(), run="waiting")
        assert await self.take(store) == ["pausing"]
        clock.advance(10)
        assert await self.take(store) == ["asleep"]
        await store.halt("*", lift=True)
        assert await self.take(store) == ["halted"]
        assert await self.take(store) == []

    @pytest.mark.parametrize("status", sorted({*ENDED, Status.PAUSED}))
    async def test_what_rests_is_not_claimed(self, store: Store, status: Status) -> None:
        await bring(store, status)
        async with unchanged(store):
            assert await self.take(store) == []

    async def test_taking_rings_for_each(self, store: Store) -> None:
        rung: list[str] = []
        for run in ("r1", "r2"):
            await store.create(started(run))
            store.subscribe(run, lambda run=run: rung.append(run))
        await self.take(store)
        assert sorted(set(rung)) == ["r1", "r2"]


class Keeping(ContractFixtures):
    """A lease is kept until somebody else has the run, and given back when its holder says so."""

    async def test_a_renewed_lease_lasts_from_now(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        clock.advance(10)
        await store.renew(lease, 5)
        assert (await store.get("r1")).lease_until == clock.now() + 5

    async def test_renewing_keeps_others_away(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        clock.advance(TTL - 1)
        await store.renew(lease, TTL)
        clock.advance(TTL - 1)
        with pytest.raises(LeaseBusy):
            await store.acquire("r1", "w2", TTL)

    async def test_renewing_is_not_a_record(self, store: Store) -> None:
        lease = await begin(store)
        await store.renew(lease, TTL)
        assert (await store.get("r1")).seq == 2

    async def test_a_lease_that_expired_and_that_nobody_took_is_renewed(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        clock.advance(10 * TTL)
        await store.renew(lease, TTL)
        with pytest.raises(LeaseBusy):
            await store.acquire("r1", "w2", TTL)

    async def test_a_lease_that_another_took_is_lost(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        clock.advance(TTL)
        await claim(store, worker="w2")
        async with refused(store, LeaseLost, "epoch 2"):
            await store.renew(lease, TTL)

    async def test_a_released_run_is_free_at_once(self, store: Store) -> None:
        await store.release(await begin(store))
        check_fields(await store.get("r1"), worker="", lease_until=0.0, status=Status.READY)
        assert (await claim(store, worker="w2")).epoch == 2

    async def test_handing_a_run_back_is_a_record_that_says_why(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        await store.release(lease, Released(why="the worker closes", usage=Usage(1, 10, 5)))
        assert (await store.load("r1", 2)) == [
            (3, Released(why="the worker closes", usage=Usage(1, 10, 5), at=clock.now()))
        ]

    async def test_taking_a_run_that_was_given_back_loses_nobody(self, store: Store) -> None:
        await store.release(await begin(store))
        last = (await claim(store, worker="w2")).records[-1][1]
        assert isinstance(last, Claimed) and not last.lost

    async def test_taking_a_run_from_a_silent_or_dead_worker_says_so(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store)
        clock.advance(TTL)
        silent = await claim(store, worker="w2")
        dead = await claim(store, worker="w3", replaces="w2")
        for lease in (silent, dead):
            _, claimed = lease.records[-1]
            assert isinstance(claimed, Claimed) and claimed.lost

    async def test_taking_a_run_from_a_worker_that_has_ended_is_no_loss(self, store: Store) -> None:
        await begin(store)
        with closing(store.pulse()) as pulse:
            pulse.end("w1")
        last = (await claim(store, worker="w2")).records[-1][1]
        assert isinstance(last, Claimed) and not last.lost

    async def test_releasing_twice_does_nothing(self, store: Store) -> None:
        lease = await begin(store)
        await store.release(lease)
        async with unchanged(store):
            await store.release(lease)

    async def test_a_lost_lease_releases_nothing(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        clock.advance(TTL)
        await claim(store, worker="w2")
        async with unchanged(store):
            await store.release(lease)

    async def test_renewing_a_lease_that_was_given_back_does_not_take_it_again(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await store.release(lease)
        async with unchanged(store):
            await store.renew(lease, TTL)

    async def test_a_worker_that_parked_cannot_keep_the_run(self, store: Store) -> None:
        lease = await wait_for(store, approval())
        async with unchanged(store):
            await store.renew(lease, TTL)
            await store.release(lease)

    async def test_leases_of_different_runs_have_nothing_to_do_with_each_other(
        self, store: Store
    ) -> None:
        first, second = await begin(store, "r1"), await begin(store, "r2", worker="w2")
        await store.release(first)
        assert (await commit(store, second, [replied()])).clean
        assert (await store.get("r2")).worker == "w2"

    async def test_every_claim_is_one_epoch_more(self, store: Store) -> None:
        await store.create(started())
        for epoch in range(1, 6):
            lease = await claim(store)
            assert lease.epoch == epoch
            await store.release(lease)
        assert [claimed.epoch for claimed in await recorded(store, Claimed)] == [1, 2, 3, 4, 5]
