"""`commit`: facts always land, moves only on what their worker has seen; all of it or nothing."""

import pytest

from adjourn.core.records import (
    CancelAsked,
    Closed,
    Emitted,
    Faulted,
    Intended,
    Move,
    Parked,
    PauseAsked,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
    Stepped,
)
from adjourn.core.status import Status
from adjourn.errors import LeaseLost, Refused, UnknownRun
from adjourn.stores.protocol import Filter, Lease, Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    answer,
    approval,
    at_once,
    begin,
    bring,
    check_fields,
    claim,
    commit,
    due_ids,
    names,
    open_ids,
    refused,
    replied,
    seqs,
    suspend,
    unchanged,
    wait_for,
)
from adjourn.testing.fake_clock import FakeClock


def send() -> Intended:
    """The intent of the first call."""
    return Intended(call="1.0", tool="send")


class Committing(ContractFixtures):
    """Facts and moves."""

    async def test_facts_are_appended_in_order_then_moves(self, store: Store) -> None:
        lease = await begin(store)
        done = await store.commit(
            lease, [replied("send"), Stepped(call="1.0", key="a")], [send()], seen=2
        )
        assert (done.seq, done.clean, list(done.records)) == (5, True, [])
        tags = [type(record).__name__ for _, record in await store.load("r1", 2)]
        assert tags == ["Replied", "Stepped", "Intended"]

    async def test_facts_land_although_something_is_unseen(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", PauseAsked())
        done = await store.commit(lease, [replied("send")], [], seen=2)
        assert (done.seq, done.clean) == (4, False)
        assert type((await store.load("r1", 3))[0][1]).__name__ == "Replied"

    async def test_moves_are_void_if_something_is_unseen(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", PauseAsked())
        async with unchanged(store):
            assert not (await store.commit(lease, [], [send()], seen=2)).clean

    @pytest.mark.parametrize(
        "move",
        [
            send(),
            approval(),
            Closed(i="x", why="expired"),
            Parked(),
            RunCompleted(),
            CancelAsked(by="@expiry"),
        ],
        ids=lambda move: type(move).__name__,
    )
    async def test_whatever_concludes_from_less_than_everything_is_void(
        self, store: Store, move: Move
    ) -> None:
        lease = await begin(store)
        await store.deliver("r1", Said(text="wait!"))
        async with unchanged(store):
            assert not (await store.commit(lease, [], [move], seen=2)).clean

    async def test_a_cancelled_end_is_void_too_if_something_is_unseen(self, store: Store) -> None:
        await bring(store, Status.CANCELLING)
        lease = await claim(store, worker="w2", replaces="w1")
        seen = lease.seq
        await store.deliver("r1", answer({"choice": "leave"}, "1.0?9"))
        async with unchanged(store):
            assert not (await store.commit(lease, [], [RunCancelled()], seen=seen)).clean

    async def test_a_commit_tells_what_others_said_in_order(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", Said(text="one"))
        await store.deliver("r1", Emitted(event="two"))
        done = await store.commit(lease, [replied()], [], seen=2)
        assert [(seq, type(record)) for seq, record in done.records] == [(3, Said), (4, Emitted)]

    async def test_a_commit_that_has_seen_what_was_said_is_clean(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", Said(text="one"))
        first = await store.commit(lease, [replied("send")], [send()], seen=2)
        second = await store.commit(lease, [], [send()], seen=first.seq)
        assert (first.clean, second.clean, list(second.records)) == (False, True, [])

    async def test_an_empty_commit_tells_what_is_new_and_appends_nothing(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await store.deliver("r1", Said(text="one"))
        await store.halt("tool:send")
        async with unchanged(store):
            done = await store.commit(lease, [], [], seen=2)
        assert (done.seq, done.clean, done.halts) == (3, False, {"tool:send"})
        assert seqs(done.records) == [3]

    async def test_an_empty_commit_with_nothing_new_is_clean(self, store: Store) -> None:
        lease = await begin(store)
        done = await store.commit(lease, [], [], seen=2)
        assert (done.seq, done.clean, list(done.records), done.halts) == (2, True, [], frozenset())

    async def test_records_get_the_stores_time(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        clock.advance(7)
        await commit(store, lease, [replied("send")], [send()])
        assert {record.at for _, record in await store.load("r1", 2)} == {clock.now()}
        assert (await store.get("r1")).updated_at == clock.now()

    async def test_a_fact_that_has_a_time_keeps_it(self, store: Store, clock: FakeClock) -> None:
        lease = await begin(store)
        happened = clock.now()
        clock.advance(7)
        await commit(store, lease, [Stepped(call="1.0", key="a", at=happened)])
        assert (await store.load("r1", 2))[0][1].at == happened

    async def test_a_worker_may_cancel_the_run_itself(self, store: Store) -> None:
        lease = await begin(store)
        assert (await commit(store, lease, (), [CancelAsked(by="@expiry")])).clean
        check_fields(await store.get("r1"), status=Status.CANCELLING, worker="w1")

    async def test_commits_of_many_runs_at_once_all_land(self, store: Store) -> None:
        leases = [await begin(store, run) for run in names(30)]
        for done in await at_once(
            30, lambda number: commit(store, leases[number], [replied("send")], [send()])
        ):
            assert done.clean and done.seq == 4

    async def test_an_unknown_run_takes_no_commit(self, store: Store) -> None:
        nowhere = Lease("nowhere", "w1", 1, 1, [], frozenset())
        with pytest.raises(UnknownRun):
            await store.commit(nowhere, [replied()], [], seen=1)


class Fencing(ContractFixtures):
    """Who may commit is a question of epochs, never of time."""

    async def test_a_lease_that_expired_and_that_nobody_took_still_commits(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        clock.advance(100 * TTL)
        assert (await commit(store, lease, [replied("send")], [send()])).clean

    async def test_a_newer_epoch_refuses_the_commit_and_changes_nothing(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        clock.advance(TTL)
        await claim(store, worker="w2")
        async with refused(store, LeaseLost, "worker w1 had epoch"):
            await commit(store, lease, [replied("send")], [send()])

    async def test_a_newer_epoch_refuses_even_an_empty_commit(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        clock.advance(TTL)
        await claim(store, worker="w2")
        with pytest.raises(LeaseLost):
            await store.commit(lease, [], [], seen=2)

    async def test_a_newer_epoch_counts_although_its_holder_has_gone(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        clock.advance(TTL)
        await store.release(await claim(store, worker="w2"))
        clock.advance(100 * TTL)
        async with refused(store, LeaseLost):
            await commit(store, lease, [replied()])

    async def test_the_same_worker_under_its_older_epoch_is_refused_too(
        self, store: Store, clock: FakeClock
    ) -> None:
        old = await begin(store)
        clock.advance(TTL)
        new = await claim(store, worker="w1")
        with pytest.raises(LeaseLost):
            await commit(store, old, [replied()])
        assert (await commit(store, new, [replied()])).clean

    @pytest.mark.parametrize("status", [Status.COMPLETED, Status.CANCELLED])
    async def test_a_run_takes_no_commit_once_it_is(self, store: Store, status: Status) -> None:
        await bring(store, status)
        over = Lease("r1", "w1", 1, 2, [], frozenset())
        async with unchanged(store):
            for facts, moves in (([replied()], []), ([], [Parked()]), ([], [])):
                with pytest.raises(Refused, match=status.value):
                    await commit(store, over, facts, moves)


class Halting(ContractFixtures):
    """An intent that a halt names does not land."""

    @pytest.mark.parametrize("scope", ["*", "agent:clerk", "agent:helper", "tool:send"])
    async def test_an_intent_is_stopped_by_a_halt_of(self, store: Store, scope: str) -> None:
        lease = await begin(store)
        await store.halt(scope)
        async with unchanged(store):
            done = await commit(
                store, lease, (), [Intended(call="1.0", tool="send", under=("helper",))]
            )
        assert (done.clean, done.halts, list(done.records)) == (False, {scope}, [])

    @pytest.mark.parametrize("scope", ["agent:cook", "tool:sender"])
    async def test_an_intent_is_not_stopped_by_a_halt_of(self, store: Store, scope: str) -> None:
        lease = await begin(store)
        await store.halt(scope)
        done = await commit(store, lease, (), [send()])
        assert (done.clean, done.halts) == (True, {scope})

    async def test_a_halt_stops_all_moves_of_the_commit_and_no_fact(self, store: Store) -> None:
        lease = await begin(store)
        await store.halt("tool:send")
        moves: list[Move] = [Intended(call="1.1", tool="look"), send()]
        done = await store.commit(lease, [replied("send", "look")], moves, seen=2)
        assert (done.clean, done.seq) == (False, 3)

    async def test_a_halt_stops_only_intents(self, store: Store) -> None:
        lease = await begin(store)
        await store.halt("*")
        assert (
            await commit(store, lease, [replied("send")], [approval(), Parked(blocked=("*",))])
        ).clean

    async def test_a_lifted_halt_stops_nothing(self, store: Store) -> None:
        lease = await begin(store)
        await store.halt("*")
        await store.halt("*", lift=True)
        assert (await commit(store, lease, (), [send()])).clean


class Resting(ContractFixtures):
    """What gives the lease back, and what ends a run."""

    async def test_parking_gives_the_lease_back_and_says_when_to_wake(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, parked=Parked(wake_at=clock.now() + 60, blocked=("*", "tool:send")))
        check_fields(
            await store.get("r1"),
            status=Status.WAITING,
            worker="",
            lease_until=0.0,
            wake_at=clock.now() + 60,
            blocked=("*", "tool:send"),
        )

    async def test_parking_a_pausing_run_pauses_it(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", PauseAsked())
        await commit(store, lease, (), [Parked()])
        check_fields(await store.get("r1"), status=Status.PAUSED, worker="")

    async def test_completing_gives_the_lease_back(self, store: Store) -> None:
        await commit(store, await begin(store), (), [RunCompleted(output="done")])
        row = await store.get("r1")
        check_fields(row, status=Status.COMPLETED, worker="", lease_until=0.0, stopped=False)

    async def test_cancelling_gives_the_lease_back(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", CancelAsked())
        await commit(store, lease, (), [RunCancelled()])
        check_fields(await store.get("r1"), status=Status.CANCELLED, worker="", lease_until=0.0)

    @pytest.mark.parametrize(
        "end", [RunCompleted(), RunCancelled()], ids=lambda end: type(end).__name__
    )
    async def test_an_end_closes_everything_that_was_open(self, store: Store, end: Move) -> None:
        lease = await begin(store)
        await commit(
            store, lease, (), [approval(), approval("model:?0", kind="error", step="model:")]
        )
        if isinstance(end, RunCancelled):
            await store.deliver("r1", CancelAsked())
        await commit(store, lease, (), [end])
        row = await store.get("r1")
        assert (row.opens, row.errors, await open_ids(store)) == (0, 0, [])

    async def test_a_commit_whose_last_record_is_refused_changes_nothing(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await store.deliver("r1", PauseAsked())
        async with refused(store, Refused, "being paused"):
            await commit(store, lease, [replied("send")], [approval(), RunCompleted()])
        assert (await commit(store, lease, [replied("send")], [Parked()])).clean

    async def test_nothing_follows_an_end_in_the_same_commit(self, store: Store) -> None:
        lease = await begin(store)
        async with refused(store, Refused, "completed"):
            await commit(store, lease, (), [RunCompleted(), Parked()])

    async def test_a_released_worker_may_still_say_what_happened(self, store: Store) -> None:
        lease = await wait_for(store, approval())
        assert (await commit(store, lease, [Stepped(call="1.0", key="late")])).clean
        check_fields(await store.get("r1"), status=Status.WAITING, worker="")


class Indexing(ContractFixtures):
    """Interrupts open and close with the records that say so."""

    async def test_a_body_that_stops_to_wait_opens_a_question(self, store: Store) -> None:
        await suspend(store, await begin(store), type="size", payload={"question": "how big?"})
        [found] = await store.inbox(Filter())
        payload = {"question": "how big?"}
        check_fields(found, id="r1:1.0?0", kind="question", type="size", payload=payload)
        assert (await store.get("r1")).opens == 1

    async def test_errors_are_counted(self, store: Store) -> None:
        lease = await begin(store)
        await commit(store, lease, [Faulted(step="model:", error="boom")])
        await commit(
            store, lease, (), [approval("model:?0", kind="error", step="model:"), approval()]
        )
        check_fields(await store.get("r1"), opens=2, errors=1)

    async def test_a_closed_interrupt_leaves_the_inbox(self, store: Store) -> None:
        lease = await begin(store)
        await commit(store, lease, (), [approval(), approval("1.1?0")])
        await commit(store, lease, (), [Closed(i="1.0?0", why="expired")])
        assert await open_ids(store) == ["r1:1.1?0"]
        assert (await store.get("r1")).opens == 1

    async def test_closing_what_is_not_open_does_nothing(self, store: Store) -> None:
        lease = await begin(store)
        assert (await commit(store, lease, (), [Closed(i="nothing", why="void")])).clean
        assert (await store.get("r1")).opens == 0

    async def test_an_event_that_a_result_emits_closes_what_waits_for_it(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await suspend(store, lease, "1.0?0", "1.0", kind="event", event="paid", resume_to="next")
        await suspend(store, lease, "1.1?0", "1.1", kind="event", event="shipped", resume_to="next")
        await commit(store, lease, (), [Intended(call="1.2", tool="till")])
        await commit(store, lease, [Returned(call="1.2", emits=[["paid", {"cents": 5}]])])
        assert (await store.get("r1")).opens == 1

    async def test_a_run_with_something_open_is_not_due_by_that_alone(self, store: Store) -> None:
        await wait_for(store, approval())
        assert await due_ids(store) == []
