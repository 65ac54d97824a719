"""`waking` and `wakes`: where somebody wants to be told which runs are due, no transaction makes
one due without a wake."""

import asyncio

import pytest

from adjourn.core.records import (
    CancelAsked,
    Command,
    Emitted,
    Parked,
    PauseAsked,
    Released,
    Resumed,
    RunCompleted,
    Said,
    Stepped,
)
from adjourn.core.status import Status
from adjourn.errors import AdjournError, Refused
from adjourn.stores.erasure import Pruning
from adjourn.stores.outbox import Wake
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    bring,
    claim,
    commit,
    created,
    entries,
    names,
    started,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock

HOLD = 60.0
WORDS: list[tuple[Status, Command]] = [
    (Status.WAITING, Said(text="hi")),
    (Status.WAITING, yes()),
    (Status.WAITING, Emitted(event="paid", value=1)),
    (Status.READY, PauseAsked()),
    (Status.WAITING, CancelAsked()),
    (Status.PAUSED, Resumed()),
    (Status.PAUSED, CancelAsked()),
    (Status.READY, Said(text="while it is held")),
]


async def woken(store: Store) -> list[str]:
    """The runs for which there are wakes that are due, in order; they are acknowledged."""
    taken = await store.wakes(take=100, hold=HOLD)
    await store.wakes(taken)
    return [wake.run for wake in taken]


async def take(store: Store) -> Wake:
    """The only wake that is due."""
    [taken] = await store.wakes(take=100, hold=HOLD)
    return taken


class Waking(ContractFixtures):
    """What writes a wake."""

    async def test_where_nobody_wants_wakes_none_are_written(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.waking() is False
        await wait_for(store, parked=Parked(wake_at=clock.now() + 5))
        await store.create(started("r2"))
        await store.deliver("r2", Said(text="hi"))
        clock.advance(10)
        assert await woken(store) == []

    async def test_when_they_are_wanted_there_is_one_for_every_run_that_is_due_or_will_be(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, approval(), run="waits")
        await wait_for(store, run="sleeps", parked=Parked(wake_at=clock.now() + 5))
        await wait_for(store, run="free", parked=Parked(blocked=("agent:lifted",)))
        await store.halt("agent:clerk")
        await wait_for(store, run="halted", parked=Parked(blocked=("agent:clerk",)))
        await bring(store, Status.COMPLETED, "over")
        await store.create(started("new"))
        assert await store.waking(True, by="ana") is True
        assert sorted(await woken(store)) == ["free", "new"]
        clock.advance(5)
        assert await woken(store) == ["sleeps"]
        await store.halt("agent:clerk", lift=True)
        assert await woken(store) == ["halted"]

    async def test_that_they_are_wanted_is_said_once_and_is_in_the_audit(
        self, store: Store
    ) -> None:
        await store.create(started())
        for wanted, by in ((True, "ana"), (True, "bo"), (False, "cy"), (False, "di")):
            assert await store.waking(wanted, by=by) is wanted
            assert await store.waking() is wanted
        lines = [(entry["verb"], entry["by"]) for entry in await entries(store, "")]
        assert lines == [("want wakes", "ana"), ("want no wakes", "cy")]

    async def test_when_they_are_not_wanted_any_more_there_are_none(self, store: Store) -> None:
        await store.waking(True)
        await store.create(started())
        await store.waking(False)
        assert await woken(store) == []
        await store.deliver("r1", Said(text="hi"))
        assert await woken(store) == []

    async def test_that_they_are_wanted_and_those_that_there_are_outlive_the_process(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await store.create(started())
        async with self.reopened(store, clock) as again:
            assert (await again.waking(), await woken(again)) == (True, ["r1"])
            await again.deliver("r1", Said(text="hi"))
            assert await woken(again) == ["r1"]

    async def test_a_new_run_is_woken_and_one_that_is_there_already_is_not(
        self, store: Store
    ) -> None:
        await store.waking(True)
        await created(store, "r1", "r2")
        assert await woken(store) == ["r1", "r2"]
        assert not await store.create(started("r1"))
        assert await woken(store) == []

    async def test_of_runs_that_are_imported_those_are_woken_in_which_there_is_something_to_do(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await store.halt("agent:clerk")
        ends = {
            "over": RunCompleted(at=1.0),
            "waits": Parked(at=1.0),
            "sleeps": Parked(at=1.0, wake_at=clock.now() + 5),
            "halted": Parked(at=1.0, blocked=("agent:clerk",)),
            "free": Parked(at=1.0, blocked=("agent:other",)),
        }
        for run, end in ends.items():
            await store.create(started(run, at=1.0), [end])
        assert await woken(store) == ["free"]
        clock.advance(5)
        assert await woken(store) == ["sleeps"]

    async def test_a_park_with_a_time_is_woken_then_and_one_without_is_not(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await wait_for(store, run="r1", parked=Parked(wake_at=clock.now() + 5))
        await wait_for(store, run="r2", parked=Parked(wake_at=clock.now() + 7))
        assert await woken(store) == []
        clock.advance(5)
        assert await woken(store) == ["r1"]
        clock.advance(2)
        assert await woken(store) == ["r2"]
        await wait_for(store, approval(), run="r3")
        await woken(store)
        clock.advance(1000)
        assert await woken(store) == []

    async def test_a_park_says_when_the_run_is_due_now_whatever_was_said_before(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Were the wake of the beginning still there, its acknowledgement would be taken for that
        of the park."""
        await store.waking(True)
        await wait_for(store, parked=Parked(wake_at=clock.now() + 5))
        early = await store.wakes(take=1)
        assert early == []
        clock.advance(5)
        assert await woken(store) == ["r1"]

    @pytest.mark.parametrize(
        ("status", "word"), WORDS, ids=lambda x: getattr(x, "value", type(x).__name__)
    )
    async def test_a_word_that_leaves_a_run_due_wakes_it(
        self, store: Store, status: Status, word: Command
    ) -> None:
        for run in ("r1", "r2"):
            await bring(store, status, run)
        await store.waking(True)
        await woken(store)
        await store.deliver("r1", word)
        assert await woken(store) == ["r1"]

    async def test_a_word_that_is_refused_and_one_that_is_known_wake_nobody(
        self, store: Store
    ) -> None:
        await store.waking(True)
        await wait_for(store, approval())
        await bring(store, Status.COMPLETED, "over")
        await store.deliver("r1", yes(), request="q1")
        await woken(store)
        await store.deliver("r1", yes(), request="q1")
        for run, word in (
            ("r1", yes()),
            ("r1", Resumed()),
            ("over", Said(text="hi")),
            ("unknown", Said(text="hi")),
        ):
            with pytest.raises(AdjournError):
                await store.deliver(run, word)
        assert await woken(store) == []

    async def test_what_a_holder_records_and_goes_on_wakes_nobody(self, store: Store) -> None:
        await store.waking(True)
        lease = await begin(store)
        await woken(store)
        await commit(store, lease, [Stepped(call="1.0", key="a")], [approval()])
        await store.renew(lease, 30)
        assert await woken(store) == []

    async def test_a_commit_that_raises_writes_no_wake(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        lease = await begin(store)
        await woken(store)
        with pytest.raises(Refused):
            await commit(store, lease, (), [Parked(wake_at=clock.now()), RunCompleted(), Parked()])
        clock.advance(1000)
        assert await woken(store) == []

    async def test_a_park_that_a_word_has_made_void_is_no_wake_and_the_word_is_one(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        lease = await begin(store)
        await store.deliver("r1", Said(text="wait"))
        done = await commit(store, lease, (), [Parked(wake_at=clock.now() + 1000)], seen=lease.seq)
        assert not done.clean
        assert await woken(store) == ["r1"]

    async def test_a_run_that_is_handed_back_is_woken(self, store: Store) -> None:
        await store.waking(True)
        leases = [await begin(store, run) for run in ("r1", "r2")]
        await woken(store)
        await store.release(leases[0], Released(why="budget"))
        assert await woken(store) == ["r1"]
        await store.release(leases[0])
        assert await woken(store) == []

    async def test_a_halt_that_is_lifted_wakes_what_waited_for_it_alone(self, store: Store) -> None:
        await store.waking(True)
        for scope in ("agent:clerk", "tool:pay"):
            await store.halt(scope)
        waits = {
            "both": ("agent:clerk", "tool:pay"),
            "clerk": ("agent:clerk",),
            "pay": ("tool:pay",),
        }
        for run, blocked in waits.items():
            await wait_for(store, run=run, parked=Parked(blocked=blocked))
        await woken(store)
        await store.halt("agent:other", lift=True)
        assert await woken(store) == []
        await store.halt("agent:clerk", lift=True)
        assert await woken(store) == ["clerk"]
        await store.halt("tool:pay", lift=True)
        assert sorted(await woken(store)) == ["both", "pay"]

    async def test_a_run_that_parks_behind_a_halt_that_was_lifted_meanwhile_is_woken(
        self, store: Store
    ) -> None:
        await store.waking(True)
        lease = await begin(store)
        await woken(store)
        await store.halt("tool:pay")
        await store.halt("tool:pay", lift=True)
        await commit(store, lease, (), [Parked(blocked=("tool:pay",))])
        assert await woken(store) == ["r1"]

    async def test_what_was_erased_or_pruned_is_not_woken(self, store: Store) -> None:
        await store.waking(True)
        for run in ("erased", "pruned", "kept"):
            await bring(store, Status.COMPLETED, run)
        await store.erase("erased", by="ana")
        row = await store.get("pruned")
        assert await store.prune("pruned", Pruning(row.seq, row.updated_at))
        assert await woken(store) == ["kept"]  # that one was due when it began


class Taking(ContractFixtures):
    """Who is given a wake, and when it goes."""

    async def test_a_wake_goes_to_one_of_two_who_take(self, store: Store) -> None:
        await store.waking(True)
        await created(store, *names(10))
        one, two = await asyncio.gather(store.wakes(take=6), store.wakes(take=6))
        assert sorted((len(one), len(two))) == [4, 6]
        assert {wake.run for wake in (*one, *two)} == set(names(10))

    async def test_the_one_that_has_been_due_longest_is_taken_first(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await wait_for(store, run="later", parked=Parked(wake_at=clock.now() + 9))
        await wait_for(store, run="sooner", parked=Parked(wake_at=clock.now() + 5))
        clock.advance(10)
        await store.create(started("last"))
        for run in ("sooner", "later", "last"):
            [wake] = await store.wakes(take=1)
            assert wake.run == run

    async def test_one_that_nobody_acknowledged_is_given_again_when_its_time_is_over(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await store.create(started())
        first = await take(store)
        clock.advance(HOLD - 1)
        assert await store.wakes(take=1) == []
        clock.advance(1)
        assert (await take(store)).n == first.n
        clock.advance(HOLD)
        await store.wakes([first])  # it was told, whoever has it now
        assert await store.wakes(take=1) == []

    async def test_one_that_was_acknowledged_is_gone_and_the_others_are_not(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await created(store, "r1", "r2")
        one, two = await store.wakes(take=2, hold=HOLD)
        assert await store.wakes([one, one], take=2) == []
        clock.advance(HOLD)
        [wake] = await store.wakes(take=2)
        assert wake.run == two.run

    async def test_a_word_while_one_is_taken_is_given_at_once_and_the_old_acknowledgement_does_not_remove_it(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await store.create(started())
        old = await take(store)
        await store.deliver("r1", Said(text="hi"))
        await store.wakes([old])
        new = await take(store)
        assert (new.run, new.n == old.n) == ("r1", False)
        clock.advance(HOLD)
        await store.wakes([old])
        assert (await take(store)).n == new.n

    async def test_no_number_comes_twice(self, store: Store) -> None:
        """Who acknowledges twice, or late, must not remove what somebody else has not seen."""
        await store.waking(True)
        await store.create(started())
        seen: list[Wake] = []
        for number in range(5):
            await store.deliver("r1", Said(text=str(number)))
            seen.append(await take(store))
            await store.wakes(seen[-1:])
        await store.waking(False)
        await store.waking(True)
        last = await take(store)
        assert len({wake.n for wake in (*seen, last)}) == 6
        await store.wakes(seen)
        await store.deliver("r1", Said(text="hi"))
        await store.wakes([*seen, last])
        assert (await take(store)).run == "r1"

    async def test_a_run_that_was_woken_is_woken_by_the_next_park(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.waking(True)
        await store.create(started())
        for number in range(3):
            old = await take(store)
            await commit(store, await claim(store), (), [Parked(wake_at=clock.now() + 5)])
            await store.wakes([old])
            clock.advance(4)
            assert await store.wakes(take=1) == [], number
            clock.advance(1)
