"""`deliver`: what people may say, when, and who was first."""

import asyncio
from typing import Any

import pytest

from adjourn.core.records import CancelAsked, Closed, Command, Completed, Decided, Emitted, PauseAsked, Resumed, Said
from adjourn.core.status import Status
from adjourn.errors import (
    AlreadyDecided,
    Conflict,
    Halted,
    InterruptClosed,
    InvalidAnswer,
    Refused,
    RequestReused,
    StaleDecision,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.stores.store import Store
from adjourn.testing.clock import FakeClock
from adjourn.testing.promises.ground import (
    Ground,
    answer,
    approval,
    begin,
    bring,
    commit,
    due_ids,
    no,
    open_ids,
    started,
    suspend,
    unchanged,
    wait_for,
    yes,
)

COMMANDS: dict[str, Command] = {
    "approve": yes(),
    "undo": answer({"choice": "leave"}, "1.0?9"),
    "say": Said(text="hello"),
    "emit": Emitted(event="rain"),
    "pause": PauseAsked(),
    "resume": Resumed(),
    "cancel": CancelAsked(),
}
TABLE = """
             approve     undo        say      emit     pause    resume   cancel
ready        ready       -           ready    ready    pausing  -        cancelling
waiting      ready       -           ready    ready    paused   -        cancelling
pausing      pausing     -           pausing  pausing  pausing  ready    cancelling
paused       paused      -           paused   paused   -        ready    cancelling
cancelling   -           cancelling  -        -        -        -        same
stuck        -           cancelling  -        -        -        -        same
completed    -           -           -        -        -        -        -
cancelled    -           -           -        -        -        -        same
"""
"""What follows each command in each status. `-` is refused; `same` is acknowledged, and nothing is appended."""


def cells() -> list[tuple[str, str, str]]:
    """(status, command, what follows)"""
    head, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return [(row[0], verb, follows) for row in rows for verb, follows in zip(head, row[1:], strict=True)]


class Commanding(Ground):
    """The status table, cell by cell."""

    @pytest.mark.parametrize(("status", "verb", "follows"), [c for c in cells() if c[2] not in ("-", "same")])
    async def test_a_run_takes_the_command(
        self, store: Store, clock: FakeClock, status: str, verb: str, follows: str
    ) -> None:
        await bring(store, Status(status))
        before = (await store.get("r1")).seq
        clock.advance(3)
        assert await store.deliver("r1", COMMANDS[verb]) == before + 1
        row = await store.get("r1")
        assert (row.status, row.seq, row.updated_at) == (follows, before + 1, clock.now())
        [(_, record)] = await store.load("r1", before)
        assert (type(record), record.at) == (type(COMMANDS[verb]), clock.now())

    @pytest.mark.parametrize(("status", "verb"), [c[:2] for c in cells() if c[2] == "-" and c[1] != "undo"])
    async def test_a_run_refuses_the_command_and_says_what_it_is(self, store: Store, status: str, verb: str) -> None:
        await bring(store, Status(status))
        async with unchanged(store):
            with pytest.raises(Conflict, match=rf"\b{status}\b"):
                await store.deliver("r1", COMMANDS[verb])

    @pytest.mark.parametrize("status", [c[0] for c in cells() if c[1:] == ("undo", "-")])
    async def test_nothing_is_undone_in_a_run_that_is(self, store: Store, status: str) -> None:
        await bring(store, Status(status))
        async with unchanged(store):
            with pytest.raises((UnknownInterrupt, InterruptClosed)):
                await store.deliver("r1", COMMANDS["undo"])

    @pytest.mark.parametrize("status", [c[0] for c in cells() if c[2] == "same"])
    async def test_a_second_cancel_is_acknowledged_and_nothing_is_appended(self, store: Store, status: str) -> None:
        await bring(store, Status(status))
        async with unchanged(store):
            assert await store.deliver("r1", CancelAsked(by="bo")) == (await store.get("r1")).seq

    async def test_an_unknown_run_takes_no_command(self, store: Store) -> None:
        await store.create(started("r10"))
        with pytest.raises(UnknownRun, match="'r1'"):
            await store.deliver("r1", Said(text="hello"))

    async def test_a_second_pause_may_raise_it_to_now(self, store: Store) -> None:
        await begin(store)
        await store.deliver("r1", PauseAsked())
        await store.deliver("r1", PauseAsked(now=True))
        assert [r.now for _, r in await store.load("r1") if isinstance(r, PauseAsked)] == [False, True]

    async def test_a_word_to_a_waiting_run_makes_it_due(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", Said(text="by the way"))
        assert await due_ids(store) == ["r1"]

    async def test_words_of_many_people_at_once_all_land_each_in_its_place(self, store: Store) -> None:
        await store.create(started())
        seqs = await asyncio.gather(*(store.deliver("r1", Said(text=str(n))) for n in range(30)))
        assert sorted(seqs) == list(range(2, 32))
        said = {seq: r.text for seq, r in await store.load("r1") if isinstance(r, Said)}
        assert said == {seq: str(n) for n, seq in enumerate(seqs)}

    async def test_one_bad_command_among_many_harms_no_other(self, store: Store) -> None:
        await store.create(started())
        words: list[Command] = [Said(text=str(n)) for n in range(9)]
        words.insert(4, Emitted(event="e", value=object()))
        done = await asyncio.gather(*(store.deliver("r1", w) for w in words), return_exceptions=True)
        assert [isinstance(x, Exception) for x in done] == [n == 4 for n in range(10)]
        assert (await store.get("r1")).seq == 10

    async def test_a_time_that_somebody_made_up_is_not_taken(self, store: Store, clock: FakeClock) -> None:
        await store.create(started())
        await store.deliver("r1", Said(text="from the future", at=clock.now() + 1e6))
        assert (await store.load("r1", 1))[0][1].at == clock.now()


class Requesting(Ground):
    """A request id makes a command happen once."""

    async def test_the_same_request_again_gives_the_same_seq_and_appends_nothing(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started())
        seq = await store.deliver("r1", Said(text="once"), request="q1")
        await store.deliver("r1", Said(text="between"))
        clock.advance(60)
        async with unchanged(store):
            assert await store.deliver("r1", Said(text="once"), request="q1") == seq

    async def test_the_very_same_command_can_be_sent_again(self, store: Store, clock: FakeClock) -> None:
        await store.create(started())
        command = Said(text="once")
        seq = await store.deliver("r1", command, request="q1")
        clock.advance(60)
        assert await store.deliver("r1", command, request="q1") == seq

    async def test_the_same_decision_is_answered_with_what_was_recorded(self, store: Store) -> None:
        await wait_for(store, approval())
        seq = await store.deliver("r1", yes(by="ana"), request="q1")
        assert await store.deliver("r1", yes(by="ana"), request="q1") == seq
        with pytest.raises(AlreadyDecided):
            await store.deliver("r1", yes(by="ana"), request="q2")

    async def test_a_request_is_remembered_after_the_end(self, store: Store) -> None:
        lease = await begin(store)
        seq = await store.deliver("r1", Said(text="thanks"), request="q1")
        await commit(store, lease, (), [Completed()])
        async with unchanged(store):
            assert await store.deliver("r1", Said(text="thanks"), request="q1") == seq

    async def test_a_request_for_another_command_is_refused(self, store: Store) -> None:
        await store.create(started())
        await store.deliver("r1", Said(text="once"), request="q1")
        async with unchanged(store):
            with pytest.raises(RequestReused, match="'q1'"):
                await store.deliver("r1", Said(text="twice"), request="q1")
            with pytest.raises(RequestReused):
                await store.deliver("r1", PauseAsked(), request="q1")

    async def test_request_ids_are_a_runs_own(self, store: Store) -> None:
        for run in ("r1", "r2"):
            await store.create(started(run))
            assert await store.deliver(run, Said(text=run), request="q1") == 2

    async def test_a_request_that_was_refused_may_be_made_again(self, store: Store) -> None:
        await begin(store)
        with pytest.raises(Refused):
            await store.deliver("r1", Resumed(), request="q1")
        await store.deliver("r1", PauseAsked())
        assert await store.deliver("r1", Resumed(), request="q1") == 4

    async def test_a_cancel_that_appended_nothing_gives_the_same_seq_again(self, store: Store) -> None:
        await bring(store, Status.CANCELLING)
        seq = await store.deliver("r1", CancelAsked(by="bo"), request="q1")
        assert seq == (await store.get("r1")).seq
        assert await store.deliver("r1", CancelAsked(by="bo"), request="q1") == seq

    async def test_the_same_request_by_many_at_once_is_appended_once(self, store: Store) -> None:
        await store.create(started())
        seqs = await asyncio.gather(*(store.deliver("r1", Said(text="once"), request="q1") for _ in range(20)))
        assert set(seqs) == {2}
        assert (await store.get("r1")).seq == 2


class Deciding(Ground):
    """An interrupt is decided once, by somebody who saw what it was."""

    async def test_a_decided_interrupt_is_open_no_longer(self, store: Store) -> None:
        await wait_for(store, approval(), approval("1.1?0"))
        await store.deliver("r1", yes())
        assert await open_ids(store) == ["r1:1.1?0"]
        row = await store.get("r1")
        assert (row.opens, row.status) == (1, Status.READY)

    async def test_who_comes_second_learns_who_was_first(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", no(by="ana"))
        async with unchanged(store):
            with pytest.raises(AlreadyDecided, match="'ana'"):
                await store.deliver("r1", yes(by="bo"))

    async def test_only_one_of_a_hundred_deciders_wins(self, store: Store) -> None:
        await wait_for(store, approval())
        tries = (store.deliver("r1", yes(by=f"p{n}")) for n in range(100))
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(x, int) for x in done) == 1
        assert sum(isinstance(x, AlreadyDecided) for x in done) == 99

    async def test_an_unknown_interrupt_is_refused_with_those_that_are_pending(self, store: Store) -> None:
        await wait_for(store, approval(), approval("1.1?0"))
        async with unchanged(store):
            with pytest.raises(UnknownInterrupt, match=r"'r1:9\.9\?0'; pending: 'r1:1\.0\?0', 'r1:1\.1\?0'"):
                await store.deliver("r1", yes("9.9?0"))

    async def test_an_unknown_interrupt_of_a_run_that_waits_for_nothing(self, store: Store) -> None:
        await store.create(started())
        with pytest.raises(UnknownInterrupt, match="pending: none"):
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
        async with unchanged(store):
            with pytest.raises(InterruptClosed, match="expired"):
                await store.deliver("r1", yes())

    async def test_a_replaced_interrupt_does_not_blame_the_run(self, store: Store) -> None:
        lease = await begin(store)
        await commit(store, lease, (), [approval()])
        await commit(store, lease, (), [Closed(i="1.0?0", why="void"), approval("1.0?1", escalated=True)])
        with pytest.raises(InterruptClosed) as caught:
            await store.deliver("r1", yes())
        assert "ready" not in str(caught.value)

    @pytest.mark.parametrize("status", [Status.COMPLETED, Status.CANCELLED])
    async def test_what_was_open_at_the_end_says_how_the_run_ended(self, store: Store, status: Status) -> None:
        await bring(store, status)
        with pytest.raises(InterruptClosed, match=f"the run is {status.value}"):
            await store.deliver("r1", yes())

    async def test_a_decision_about_something_else_is_stale(self, store: Store) -> None:
        await wait_for(store, approval(digest="a" * 64))
        async with unchanged(store):
            with pytest.raises(StaleDecision, match="aaaa"):
                await store.deliver("r1", yes(digest="b" * 64))

    @pytest.mark.parametrize("shown", ["a" * 64, ""])
    async def test_a_decision_about_what_is_asked_is_taken(self, store: Store, shown: str) -> None:
        await wait_for(store, approval(digest="a" * 64))
        assert await store.deliver("r1", yes(digest=shown)) == 5

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
        async with unchanged(store):
            with pytest.raises(InvalidAnswer):
                await store.deliver("r1", decision)

    async def test_nobody_answers_for_the_time(self, store: Store, clock: FakeClock) -> None:
        await suspend(store, await begin(store), kind="timer", expires=clock.now() + 60)
        async with unchanged(store):
            with pytest.raises(InvalidAnswer):
                await store.deliver("r1", answer("now"))

    @pytest.mark.parametrize("value", [None, False, 0, "", [], {"choice": "x"}])
    async def test_any_value_answers_a_question(self, store: Store, value: Any) -> None:
        await suspend(store, await begin(store))
        await store.deliver("r1", answer(value))
        assert (await store.get("r1")).opens == 0


class Voting(Ground):
    """Several people may have to agree; one may refuse."""

    async def test_an_approval_by_two_waits_for_the_second(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        assert await open_ids(store) == ["r1:1.0?0"]
        await store.deliver("r1", yes(by="bo"))
        assert await open_ids(store) == []

    async def test_nobody_votes_twice(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        async with unchanged(store):
            with pytest.raises(AlreadyDecided, match="'ana'"):
                await store.deliver("r1", yes(by="ana"))

    async def test_the_first_denial_settles_it(self, store: Store) -> None:
        await wait_for(store, approval(approvers=3))
        await store.deliver("r1", yes(by="ana"))
        await store.deliver("r1", no(by="bo"))
        assert await open_ids(store) == []
        with pytest.raises(AlreadyDecided, match="'bo'"):
            await store.deliver("r1", yes(by="cy"))

    async def test_who_approved_may_still_deny(self, store: Store) -> None:
        await wait_for(store, approval(approvers=2))
        await store.deliver("r1", yes(by="ana"))
        await store.deliver("r1", no(by="ana"))
        assert (await store.get("r1")).opens == 0

    async def test_votes_of_many_at_once_are_as_many_as_were_needed(self, store: Store) -> None:
        await wait_for(store, approval(approvers=3))
        tries = (store.deliver("r1", yes(by=f"p{n % 5}")) for n in range(20))
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(x, int) for x in done) == 3
        votes = [r.by for _, r in await store.load("r1") if isinstance(r, Decided)]
        assert len(set(votes)) == 3


class Emitting(Ground):
    """An event closes what waits for it, in the same transaction."""

    async def test_an_event_closes_every_interrupt_that_waits_for_it(self, store: Store) -> None:
        lease = await begin(store)
        for n, event in enumerate(("paid", "paid", "shipped")):
            await suspend(store, lease, f"1.{n}?0", f"1.{n}", kind="event", event=event)
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
        async with unchanged(store):
            with pytest.raises(InterruptClosed, match="its event came"):
                await store.deliver("r1", answer("me first"))


class DecidingUnderHalt(Ground):
    """What lets work go on is refused while that work is halted."""

    @pytest.mark.parametrize("scope", ["*", "agent:clerk", "tool:send"])
    async def test_an_approval_is_refused_under_a_halt_of(self, store: Store, scope: str) -> None:
        await wait_for(store, approval(tool="send"))
        await store.halt(scope, reason="spilled")
        async with unchanged(store):
            with pytest.raises(Halted, match="spilled"):
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
