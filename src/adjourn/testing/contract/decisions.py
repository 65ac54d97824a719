"""`deliver` of decisions: an interrupt is decided once, by somebody who may, about what was
shown."""

from typing import Any

import pytest

from adjourn.core.records import Closed, Decided, Emitted, Said
from adjourn.core.status import Status
from adjourn.errors import (
    AlreadyDecided,
    Halted,
    InterruptClosed,
    InvalidAnswer,
    NotAllowed,
    StaleDecision,
    UnknownInterrupt,
)
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    answer,
    approval,
    begin,
    bring,
    check_fields,
    commit,
    how_many,
    no,
    open_ids,
    recorded,
    refused,
    started,
    suspend,
    tried_at_once,
    unchanged,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock


class Deciding(ContractFixtures):
    """An interrupt is decided once, by somebody who saw what it was."""

    async def test_a_decided_interrupt_is_open_no_longer(self, store: Store) -> None:
        await wait_for(store, approval(), approval("1.1?0"))
        await store.deliver("r1", yes())
        assert await open_ids(store) == ["r1:1.1?0"]
        check_fields(await store.get("r1"), opens=1, status=Status.READY)

    async def test_who_comes_second_learns_who_was_first(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", no(by="ana"))
        async with refused(store, AlreadyDecided, r"^ana has already"):
            await store.deliver("r1", yes(by="bo"))

    async def test_only_one_of_a_hundred_deciders_wins(self, store: Store) -> None:
        await wait_for(store, approval())
        done = await tried_at_once(100, lambda number: store.deliver("r1", yes(by=f"p{number}")))
        assert (how_many(done, int), how_many(done, AlreadyDecided)) == (1, 99)

    async def test_an_unknown_interrupt_is_refused_with_those_that_are_pending(
        self, store: Store
    ) -> None:
        await wait_for(store, approval(), approval("1.1?0"))
        async with refused(
            store,
            UnknownInterrupt,
            r"r1:9\.9\?0 not found; open interrupts: r1:1\.0\?0, r1:1\.1\?0",
        ):
            await store.deliver("r1", yes("9.9?0"))

    async def test_an_unknown_interrupt_of_a_run_that_waits_for_nothing(self, store: Store) -> None:
        await store.create(started())
        with pytest.raises(UnknownInterrupt, match="open interrupts: none"):
            await store.deliver("r1", yes())

    @pytest.mark.parametrize(("seconds", "late"), [(59, False), (60, True), (61, True)])
    async def test_a_deadline_counts_from_its_very_second(
        self, store: Store, clock: FakeClock, seconds: int, late: bool
    ) -> None:
        await wait_for(store, approval(expires=clock.now() + 60))
        clock.advance(seconds)
        if not late:
            await store.deliver("r1", yes())
            return
        async with unchanged(store):  # although nobody has recorded yet that it expired
            with pytest.raises(InterruptClosed, match="expired"):
                await store.deliver("r1", yes())

    async def test_an_expired_interrupt_says_so(self, store: Store) -> None:
        lease = await begin(store)
        await commit(store, lease, (), [approval()])
        await commit(store, lease, (), [Closed(i="1.0?0", why="expired")])
        async with refused(store, InterruptClosed, "expired"):
            await store.deliver("r1", yes())

    async def test_a_replaced_interrupt_does_not_blame_the_run(self, store: Store) -> None:
        lease = await begin(store)
        await commit(store, lease, (), [approval()])
        await commit(
            store, lease, (), [Closed(i="1.0?0", why="void"), approval("1.0?1", escalated=True)]
        )
        with pytest.raises(InterruptClosed) as caught:
            await store.deliver("r1", yes())
        assert "ready" not in str(caught.value)

    @pytest.mark.parametrize("status", [Status.COMPLETED, Status.CANCELLED])
    async def test_what_was_open_at_the_end_says_how_the_run_ended(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        with pytest.raises(InterruptClosed, match=f"the run is {status.value}"):
            await store.deliver("r1", yes())

    @pytest.mark.parametrize("seen", ["b" * 64, ""])
    async def test_an_approval_of_something_else_or_of_nothing_is_stale(
        self, store: Store, seen: str
    ) -> None:
        await wait_for(store, approval(digest="a" * 64))
        async with refused(store, StaleDecision, "aaaa"):
            await store.deliver("r1", yes(digest=seen))

    @pytest.mark.parametrize("decision", [yes(digest="a" * 64), no(digest="a" * 64), no()])
    async def test_a_decision_about_what_is_asked_is_taken(
        self, store: Store, decision: Decided
    ) -> None:
        await wait_for(store, approval(digest="a" * 64))
        assert await store.deliver("r1", decision) == 5

    @pytest.mark.parametrize(
        ("asked", "decision"),
        [
            ("approval", answer(True)),
            ("error", yes()),
            ("error", answer("retry")),
            ("limit", answer({"amount": 3})),
            ("in_doubt", no()),
        ],
    )
    async def test_an_answer_that_no_fold_could_take_in_is_refused(
        self, store: Store, asked: str, decision: Decided
    ) -> None:
        await wait_for(store, approval(kind=asked))
        async with refused(store, InvalidAnswer):
            await store.deliver("r1", decision)

    async def test_nobody_answers_for_the_time(self, store: Store, clock: FakeClock) -> None:
        await suspend(store, await begin(store), kind="timer", expires=clock.now() + 60)
        async with refused(store, InvalidAnswer):
            await store.deliver("r1", answer("now"))

    @pytest.mark.parametrize("value", [None, False, 0, "", [], {"choice": "x"}])
    async def test_any_value_answers_a_question(self, store: Store, value: Any) -> None:
        await suspend(store, await begin(store))
        await store.deliver("r1", answer(value))
        assert (await store.get("r1")).opens == 0


class Allowing(ContractFixtures):
    """Who may agree."""

    async def test_only_a_member_of_a_group_that_is_asked_may_approve(self, store: Store) -> None:
        await wait_for(store, approval(groups=("boss", "legal")))
        for groups in ((), ("staff",)):
            async with refused(store, NotAllowed, "boss, legal"):
                await store.deliver("r1", yes(groups=groups))
        await store.deliver("r1", yes(groups=("staff", "legal")))

    async def test_who_started_a_run_may_be_barred_from_approving_it(self, store: Store) -> None:
        await wait_for(store, approval(not_requester=True), by="ana")
        async with refused(store, NotAllowed, "'ana' started"):
            await store.deliver("r1", yes(by="ana"))
        await store.deliver("r1", yes(by="bo"))

    async def test_anybody_may_refuse(self, store: Store) -> None:
        await wait_for(store, approval(groups=("boss",), not_requester=True), by="ana")
        await store.deliver("r1", no(by="ana"))


class Voting(ContractFixtures):
    """Several people may have to agree; one may refuse."""

    async def test_an_approval_by_two_waits_for_the_second(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        assert await open_ids(store) == ["r1:1.0?0"]
        await store.deliver("r1", yes(by="bo"))
        assert await open_ids(store) == []

    async def test_who_must_agree_with_others_does_not_edit(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        async with refused(store, InvalidAnswer, "2 approvers"):
            await store.deliver("r1", yes(edit={"cents": 1}))

    async def test_nobody_votes_twice(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        async with refused(store, AlreadyDecided, r"^ana has already"):
            await store.deliver("r1", yes(by="ana"))

    async def test_the_first_denial_settles_it(self, store: Store) -> None:
        await wait_for(store, approval(approvers=3))
        await store.deliver("r1", yes(by="ana"))
        await store.deliver("r1", no(by="bo"))
        assert await open_ids(store) == []
        with pytest.raises(AlreadyDecided, match=r"^bo has already"):
            await store.deliver("r1", yes(by="cy"))

    async def test_who_approved_may_still_deny(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        await store.deliver("r1", no(by="ana"))
        assert (await store.get("r1")).opens == 0

    async def test_votes_of_many_at_once_are_as_many_as_were_needed(self, store: Store) -> None:
        await wait_for(store, approval(approvers=3))
        done = await tried_at_once(20, lambda number: store.deliver("r1", yes(by=f"p{number % 5}")))
        assert how_many(done, int) == 3
        assert len({decided.by for decided in await recorded(store, Decided)}) == 3


class Emitting(ContractFixtures):
    """An event closes what waits for it, in the same transaction."""

    async def test_an_event_closes_every_interrupt_that_waits_for_it(self, store: Store) -> None:
        lease = await begin(store)
        for number, event in enumerate(("paid", "paid", "shipped")):
            await suspend(store, lease, f"1.{number}?0", f"1.{number}", kind="event", event=event)
        await store.deliver("r1", Emitted(event="paid", value=5, by="till"))
        assert (await store.get("r1")).opens == 1
        await store.deliver("r1", Emitted(event="shipped"))
        assert (await store.get("r1")).opens == 0

    async def test_an_event_nobody_waits_for_closes_nothing(self, store: Store) -> None:
        lease = await begin(store)
        await commit(store, lease, (), [approval()])
        await suspend(store, lease, "1.1?0", "1.1")
        await store.deliver("r1", Emitted(event=""))
        await store.deliver("r1", Emitted(event="rain"))
        assert (await store.get("r1")).opens == 2

    async def test_what_an_event_closed_cannot_be_answered(self, store: Store) -> None:
        await suspend(store, await begin(store), kind="event", event="paid")
        await store.deliver("r1", Emitted(event="paid"))
        async with refused(store, InterruptClosed, "the event it was waiting for arrived"):
            await store.deliver("r1", answer("me first"))


class Abandoning(ContractFixtures):
    """A message may drop the questions that are open."""

    async def test_a_message_that_abandons_closes_questions_and_nothing_else(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await suspend(store, lease, "1.0?0", "1.0")
        await suspend(store, lease, "1.1?0", "1.1", resume_to="self", key="?0")
        await suspend(store, lease, "1.2?0", "1.2", kind="event", event="paid")
        await commit(store, lease, (), [approval("1.3?0")])
        await store.deliver("r1", Said(text="never mind", abandon=True))
        assert await open_ids(store) == ["r1:1.3?0"]
        assert (await store.get("r1")).opens == 2
        with pytest.raises(InterruptClosed, match="abandoned"):
            await store.deliver("r1", answer("too late"))

    async def test_a_message_that_does_not_abandon_closes_nothing(self, store: Store) -> None:
        await suspend(store, await begin(store))
        await store.deliver("r1", Said(text="by the way"))
        assert await open_ids(store) == ["r1:1.0?0"]


class DecidingUnderHalt(ContractFixtures):
    """What lets work go on is refused while that work is halted."""

    @pytest.mark.parametrize("scope", ["*", "agent:clerk", "agent:helper", "tool:send"])
    async def test_an_approval_is_refused_under_a_halt_of(self, store: Store, scope: str) -> None:
        await wait_for(store, approval(tool="send", under=("helper",)))
        await store.halt(scope, reason="spilled")
        async with refused(store, Halted, "spilled"):
            await store.deliver("r1", yes())

    async def test_a_denial_is_taken_under_a_halt(self, store: Store) -> None:
        await wait_for(store, approval(tool="send"))
        await store.halt("*")
        await store.deliver("r1", no())

    async def test_an_approval_is_taken_under_a_halt_of_something_else(self, store: Store) -> None:
        await wait_for(store, approval(tool="send"))
        await store.halt("tool:delete")
        await store.halt("agent:cook")
        await store.deliver("r1", yes())

    async def test_an_approval_is_taken_once_the_halt_is_lifted(self, store: Store) -> None:
        await wait_for(store, approval(tool="send"))
        await store.halt("*")
        with pytest.raises(Halted):
            await store.deliver("r1", yes())
        await store.halt("*", lift=True)
        await store.deliver("r1", yes())
