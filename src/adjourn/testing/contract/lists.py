"""`due`, `inbox`, `runs` and `halt`: what there is, for workers and for people."""

import pytest

from adjourn.core.records import CancelAsked, Faulted, Parked, PauseAsked, RunCompleted, Said
from adjourn.core.status import RunStatus, Status
from adjourn.errors import InvalidDefinition
from adjourn.stores.protocol import Filter, Halt, Lease, Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    answer,
    approval,
    begin,
    bring,
    check_fields,
    claim,
    commit,
    created,
    due_ids,
    ids,
    names,
    no,
    open_ids,
    started,
    suspend,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock


class Due(ContractFixtures):
    """What a worker could take."""

    @pytest.mark.parametrize("status", [*Status])
    async def test_by_status_alone_a_run_is_due_if_it_is_runnable(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        runnable = status in (Status.READY, Status.PAUSING, Status.CANCELLING)
        assert await due_ids(store) == (["r1"] if runnable else [])

    async def test_runs_of_other_programs_are_not_due_here(self, store: Store) -> None:
        for run, program in (("r1", "clerk"), ("r2", "cook"), ("r3", "maid")):
            await store.create(started(run, program=program))
        assert sorted(await due_ids(store, "clerk", "maid")) == ["r1", "r3"]
        assert await store.due([]) == []

    async def test_what_has_waited_longest_comes_first(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run in ("r1", "r2", "r3"):
            clock.advance(1)
            await store.create(started(run))
        clock.advance(1)
        await store.deliver("r1", Said(text="now I am the youngest"))
        assert await due_ids(store) == ["r2", "r3", "r1"]

    async def test_no_more_are_given_than_were_asked_for(
        self, store: Store, clock: FakeClock
    ) -> None:
        for number in range(5):
            clock.advance(1)
            await store.create(started(f"r{number}"))
        assert await due_ids(store, limit=2) == ["r0", "r1"]

    async def test_a_run_that_is_being_advanced_is_listed_with_its_worker(
        self, store: Store
    ) -> None:
        await begin(store)
        [row] = await store.due(["clerk"])
        assert (row.id, row.worker, row.lease_until) == ("r1", "w1", store.now() + TTL)

    @pytest.mark.parametrize("status", [Status.WAITING, Status.STUCK])
    async def test_a_run_is_due_when_its_time_has_come(
        self, store: Store, clock: FakeClock, status: Status
    ) -> None:
        lease = await begin(store)
        if status == Status.STUCK:
            await store.deliver("r1", CancelAsked())
        await commit(store, lease, (), [Parked(wake_at=clock.now() + 60)])
        assert (await store.get("r1")).status == status
        clock.advance(59)
        assert await due_ids(store) == []
        clock.advance(1)
        assert await due_ids(store) == ["r1"]

    async def test_a_paused_run_is_not_woken_by_the_clock(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, parked=Parked(wake_at=clock.now() + 60))
        await store.deliver("r1", PauseAsked())
        clock.advance(60)
        assert await due_ids(store) == []

    async def test_a_blocked_run_is_due_when_all_its_halts_are_lifted(self, store: Store) -> None:
        await store.halt("tool:send")
        await store.halt("*")
        await wait_for(store, parked=Parked(blocked=("*", "tool:send")))
        assert await due_ids(store) == []
        await store.halt("*", lift=True)
        assert await due_ids(store) == []
        await store.halt("tool:send", lift=True)
        assert await due_ids(store) == ["r1"]

    async def test_a_blocked_run_is_due_by_its_time_as_well(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.halt("*")
        await wait_for(store, parked=Parked(wake_at=clock.now() + 60, blocked=("*",)))
        clock.advance(60)
        assert await due_ids(store) == ["r1"]

    async def test_those_that_cannot_go_on_do_not_crowd_out_those_that_can(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.halt("tool:send")
        for number in range(5):
            await wait_for(store, run=f"blocked{number}", parked=Parked(blocked=("tool:send",)))
            await wait_for(store, run=f"paused{number}", parked=Parked(wake_at=clock.now() + 1))
            await store.deliver(f"paused{number}", PauseAsked())
        clock.advance(10)
        await store.create(started("free"))
        assert await due_ids(store, limit=3) == ["free"]


class Inbox(ContractFixtures):
    """What a person can decide now."""

    async def test_the_oldest_question_comes_first(self, store: Store, clock: FakeClock) -> None:
        for run in ("r3", "r1", "r2"):
            clock.advance(1)
            await wait_for(store, approval(), run=run)
        assert await open_ids(store) == ["r3:1.0?0", "r1:1.0?0", "r2:1.0?0"]

    async def test_questions_of_one_moment_come_in_the_order_they_were_asked(
        self, store: Store
    ) -> None:
        asks = [approval(f"1.{n}?0") for n in range(12)]
        await wait_for(store, *asks, run="r2")
        await wait_for(store, approval(), run="r1")
        assert await open_ids(store) == [*(f"r2:{ask.i}" for ask in asks), "r1:1.0?0"]

    async def test_an_approval_shows_what_would_run(self, store: Store, clock: FakeClock) -> None:
        asked = approval(
            call="1.0",
            tool="send",
            args={"to": "bo"},
            reason="money",
            rules=("ask send",),
            digest="d",
            effect="unsafe",
            expires=clock.now() + 60,
            approvers=2,
            groups=("boss",),
            schema={"type": "object"},
        )
        await wait_for(store, asked)
        [found] = await store.inbox(Filter())
        assert found.call is not None
        check_fields(found.call, tool="send", arguments={"to": "bo"}, reason="money")
        check_fields(found.call, digest="d", rule="ask send", effect="unsafe")
        assert (found.run_id, found.kind, found.opened_at) == ("r1", "approval", clock.now())
        assert (found.expires_at, found.approvers, found.groups) == (clock.now() + 60, 2, ("boss",))
        assert (found.answer_schema, found.seq) == ({"type": "object"}, 3)

    async def test_an_id_that_its_author_gave_is_shown_as_given(self, store: Store) -> None:
        await suspend(store, await begin(store), "which-size")
        assert await open_ids(store) == ["which-size"]

    @pytest.mark.parametrize("kind", ["timer", "event"])
    async def test_what_no_person_decides_is_not_shown(self, store: Store, kind: str) -> None:
        await suspend(store, await begin(store), kind=kind, event="e" if kind == "event" else "")
        assert await open_ids(store) == []
        assert (await store.get("r1")).opens == 1

    @pytest.mark.parametrize("status", [*Status])
    async def test_a_cancelling_run_shows_only_what_its_undoing_needs(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        shown = {
            Status.CANCELLING: ["r1:1.0?9"],
            Status.STUCK: ["r1:1.0?9"],
            Status.COMPLETED: [],
            Status.CANCELLED: [],
        }
        assert await open_ids(store) == shown.get(status, ["r1:1.0?0", "r1:1.1?0"])

    async def test_what_came_too_late_to_be_decided_is_not_shown(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, approval(expires=clock.now() + 60), approval("1.1?0"))
        clock.advance(59)
        assert await open_ids(store) == ["r1:1.0?0", "r1:1.1?0"]
        clock.advance(1)
        assert await open_ids(store) == ["r1:1.1?0"]

    async def test_an_inbox_of_one_run_one_program_one_session_one_label_one_kind(
        self, store: Store
    ) -> None:
        await wait_for(store, approval(), run="r1", program="cook", session="s1")
        await suspend(store, await begin(store, "r2", labels={"team": "ops"}))
        assert await open_ids(store, run="r2") == ["r2:1.0?0"]
        assert await open_ids(store, run="r") == []
        assert await open_ids(store, program="cook") == ["r1:1.0?0"]
        assert await open_ids(store, session="s1") == ["r1:1.0?0"]
        assert await open_ids(store, label=("team", "ops")) == ["r2:1.0?0"]
        assert await open_ids(store, kind="question") == ["r2:1.0?0"]
        assert await open_ids(store, program="cook", kind="question") == []

    async def test_an_inbox_of_what_contains_a_text_or_was_opened_between_two_times(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, approval(call="1.0", tool="Refund"), run="r1", input="order seven")
        clock.advance(10)
        await suspend(store, await begin(store, "r2", program="cook"), type="size")
        assert await open_ids(store, text="refund") == ["r1:1.0?0"]
        assert await open_ids(store, text="SEVEN") == ["r1:1.0?0"]
        assert (
            await open_ids(store, text="cook") == await open_ids(store, text="size") == ["r2:1.0?0"]
        )
        assert await open_ids(store, since=clock.now()) == ["r2:1.0?0"]
        assert await open_ids(store, until=clock.now() - 1) == ["r1:1.0?0"]
        assert await open_ids(store, text="%") == []

    async def test_an_inbox_of_a_group_and_of_what_its_members_may_decide(
        self, store: Store
    ) -> None:
        await wait_for(
            store,
            approval(groups=("boss", "legal")),
            approval("1.1?0"),
            approval("1.2?0", groups=("it",)),
        )
        assert await open_ids(store, group="legal") == ["r1:1.0?0"]
        assert await open_ids(store, members=("boss",)) == ["r1:1.0?0", "r1:1.1?0"]
        assert await open_ids(store, members=()) == ["r1:1.1?0"]
        assert await open_ids(store, members=("it",), limit=1) == ["r1:1.1?0"]
        assert await open_ids(store, members=("it",), limit=1, after="r1:1.1?0") == ["r1:1.2?0"]

    async def test_a_brief_inbox_has_the_same_items_in_the_same_places(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(
            store, approval(call="1.0", tool="send", expires=clock.now() + 60), approval("1.1?0")
        )
        whole, brief = await store.inbox(Filter()), await store.inbox(Filter(brief=True))
        for one, other in zip(whole, brief, strict=True):
            check_fields(one, id=other.id, run_id=other.run_id, kind=other.kind, seq=other.seq)
            assert (one.opened_at, one.expires_at) == (other.opened_at, other.expires_at)

    async def test_an_interrupt_is_found_by_its_id_whatever_became_of_it(
        self, store: Store
    ) -> None:
        await wait_for(store, approval(), approval("1.1?0"))
        await store.deliver("r1", yes())
        assert await open_ids(store, run="r1", interrupt="1.0?0") == ["r1:1.0?0"]
        assert await open_ids(store, run="r1", interrupt="9.9?0") == []

    async def test_pages_show_everything_once_even_if_all_came_at_once(
        self, store: Store, clock: FakeClock
    ) -> None:
        for run in ("r2", "r1", "r3"):
            error = approval("model:?0", kind="error", step="model:")
            await wait_for(store, approval(), approval("1.10?0"), approval("1.2?0"), error, run=run)
        clock.advance(1)
        await wait_for(store, approval(), run="r0")
        everything = await open_ids(store)
        assert len(everything) == 13
        assert await _pages(store, 2) == everything
        assert await _pages(store, 5) == everything

    async def test_the_next_page_follows_an_item_that_was_decided_meanwhile(
        self, store: Store
    ) -> None:
        await wait_for(store, *(approval(f"1.{n}?0") for n in range(4)))
        first = await open_ids(store, limit=2)
        await store.deliver("r1", yes("1.1?0"))
        assert await open_ids(store, limit=2, after=first[-1]) == ["r1:1.2?0", "r1:1.3?0"]

    async def test_a_page_can_follow_a_given_id_of_a_certain_run(self, store: Store) -> None:
        for run in ("r1", "r2", "r3"):
            await suspend(store, await begin(store, run), "which-size")
        [found] = await store.inbox(Filter(after="r2:which-size"))
        assert found.run_id == "r3"

    async def test_an_empty_store_has_an_empty_inbox(self, store: Store) -> None:
        assert await store.inbox(Filter()) == []


async def _pages(store: Store, size: int) -> list[str]:
    seen: list[str] = []
    while page := await open_ids(store, limit=size, after=seen[-1] if seen else ""):
        assert len(page) <= size
        seen += page
        assert len(seen) < 100, "the pages repeat"
    return seen


class Runs(ContractFixtures):
    """Lists of runs."""

    async def test_the_newest_run_comes_first(self, store: Store, clock: FakeClock) -> None:
        for run in ("r2", "r3", "r1"):
            clock.advance(1)
            await store.create(started(run))
        await store.deliver("r2", Said(text="a run does not get younger"))
        assert await ids(store) == ["r1", "r3", "r2"]

    async def test_runs_of_one_moment_have_an_order_too(self, store: Store) -> None:
        await created(store, *names(5))
        assert await ids(store) == ["r4", "r3", "r2", "r1", "r0"]

    async def test_runs_of_one_program_session_label_or_id(self, store: Store) -> None:
        await store.create(
            started("r1", program="cook", session="s1", labels={"team": "ops", "tier": "1"})
        )
        await store.create(started("r2", session="s1", labels={"team": "dev"}))
        assert await ids(store, program="cook") == ["r1"]
        assert await ids(store, session="s1") == ["r2", "r1"]
        assert await ids(store, label=("team", "ops")) == ["r1"]
        assert await ids(store, label=("tier", "2")) == []
        assert await ids(store, session="s1", label=("team", "dev")) == ["r2"]
        assert await ids(store, run="r1") == ["r1"]
        assert await ids(store, program="co") == []

    @pytest.mark.parametrize(
        ("text", "found"),
        [("REFUND", ["r1"]), ("r2", ["r2"]), ("ook", ["r2"]), ("%", []), ("_", [])],
    )
    async def test_runs_whose_title_id_or_program_contains_a_text(
        self, store: Store, text: str, found: list[str]
    ) -> None:
        await store.create(started("r1", input="A refund, please"))
        await store.create(started("r2", program="cook"))
        assert await ids(store, text=text) == found

    async def test_runs_that_began_between_two_times(self, store: Store, clock: FakeClock) -> None:
        times: list[float] = []
        for run in ("r1", "r2", "r3"):
            clock.advance(10)
            times.append(clock.now())
            await store.create(started(run))
        await store.deliver("r1", Said(text="that is not a beginning"))
        assert await ids(store, since=times[1]) == ["r3", "r2"]
        assert await ids(store, until=times[1]) == ["r2", "r1"]
        assert await ids(store, since=times[0] + 1, until=times[2] - 1) == ["r2"]

    async def test_runs_that_changed_since_a_time(self, store: Store, clock: FakeClock) -> None:
        await created(store, "r1", "r2")
        clock.advance(10)
        await store.deliver("r1", Said(text="that is a change"))
        assert await ids(store, changed=clock.now()) == ["r1"]

    @pytest.mark.parametrize("name", ["a.b", 'say "x"', "$", "ключ", "a'b", "[0]"])
    async def test_a_label_may_have_any_name(self, store: Store, name: str) -> None:
        await store.create(started("r1", labels={name: "yes"}))
        await store.create(started("r2"))
        assert await ids(store, label=(name, "yes")) == ["r1"]
        assert await ids(store, label=(name, "no")) == []

    @pytest.mark.parametrize("status", [*Status])
    async def test_runs_of_one_status(self, store: Store, status: Status) -> None:
        await bring(store, status)
        await bring(store, Status.READY if status != Status.READY else Status.WAITING, "r2")
        assert await ids(store, status=status.value) == ["r1"]

    async def test_running_is_ready_with_a_live_lease(self, store: Store, clock: FakeClock) -> None:
        await store.create(started("r1"))
        await begin(store, "r2")
        assert await ids(store, status="running") == ["r2"]
        assert sorted(await ids(store, status="ready")) == ["r1", "r2"]
        clock.advance(TTL)
        assert await ids(store, status="running") == []

    async def test_failed_is_waiting_with_nothing_but_errors_open(self, store: Store) -> None:
        error = approval("model:?0", kind="error", step="model:")
        for run, asks in (
            ("r1", [error]),
            ("r2", [approval("model:?0", kind="error", step="model:"), approval()]),
        ):
            lease = await begin(store, run)
            await commit(store, lease, [Faulted(step="model:", error="boom")], [*asks, Parked()])
        assert await ids(store, status="failed") == ["r1"]
        assert sorted(await ids(store, status="waiting")) == ["r1", "r2"]
        await store.deliver("r2", no())
        await claim(store, "r2")
        await commit(store, await claim(store, "r2", "w2", replaces="w1"), (), [Parked()])
        assert sorted(await ids(store, status="failed")) == ["r1", "r2"]
        await store.deliver("r1", answer({"choice": "retry"}, "model:?0"))
        assert await ids(store, status="failed") == ["r2"]

    async def test_stopped_is_completed_by_a_limit(self, store: Store) -> None:
        for run, stopped in (("r1", "MaxSteps"), ("r2", "")):
            await commit(store, await begin(store, run), (), [RunCompleted(stopped=stopped)])
        assert await ids(store, status="stopped") == ["r1"]
        assert sorted(await ids(store, status="completed")) == ["r1", "r2"]
        assert (await store.get("r1")).shown(store.now(), ()) == "stopped"

    async def test_held_is_what_waits_for_a_halt_that_is_on(self, store: Store) -> None:
        """By its own name it is found under `held`, by the stored one under `waiting`, together
        with any other condition."""
        for scope in ("tool:send", "agent:cook"):
            await store.halt(scope)
        scopes = {"r1": ("tool:send",), "r2": ("*",), "r3": ("agent:cook", "tool:send"), "r4": ()}
        for run, blocked in scopes.items():
            program = "cook" if run == "r3" else "clerk"
            await store.create(started(run, program=program, labels={"team": run}))
            await commit(store, await claim(store, run), (), [Parked(blocked=blocked)])
        assert await ids(store, status="held") == ["r3", "r1"]
        assert await ids(store, status="waiting") == ["r4", "r3", "r2", "r1"]
        assert await ids(store, status="held", limit=1) == ["r3"]
        assert await ids(store, status="held", limit=1, after="r3") == ["r1"]
        assert await ids(store, status="held", program="cook") == ["r3"]
        assert await ids(store, status="held", program="clerk", label=("team", "r1")) == ["r1"]
        assert await ids(store, status="held", text="r1") == ["r1"]
        await store.halt("tool:send", lift=True)
        assert await ids(store, status="held") == ["r3"]
        await store.halt("agent:cook", lift=True)
        assert await ids(store, status="held") == []

    async def test_every_status_that_people_see_is_a_filter(self, store: Store) -> None:
        """What a row shows is what the filter of that name finds; a stored status finds no less."""
        await store.halt("*")
        for status in Status:
            await bring(store, status, run=status.value)
        await store.release(Lease("ready", "w1", 1, 0, (), frozenset()))
        await begin(store, "running")
        await wait_for(store, run="held", parked=Parked(blocked=("*",)))
        error = approval("model:?0", kind="error", step="model:")
        await commit(
            store,
            await begin(store, "failed"),
            [Faulted(step="model:", error="no")],
            [error, Parked()],
        )
        await commit(store, await begin(store, "stopped"), (), [RunCompleted(stopped="MaxSteps")])
        halts = [halt.scope for halt in await store.halt("")]
        rows = await store.runs(Filter())
        assert {row.id for row in rows} == {*RunStatus}
        for row in rows:
            assert row.shown(store.now(), halts) == row.id
            assert row.id in await ids(store, status=row.id)
            listed = await ids(store, status=row.id)
            for other in rows:
                assert (other.id in listed) == (row.id in (other.id, other.status.value))

    async def test_an_unknown_status_lists_nothing(self, store: Store) -> None:
        await store.create(started())
        assert await ids(store, status="asleep") == []

    async def test_pages_show_every_run_once(self, store: Store) -> None:
        for number in range(7):
            await store.create(started(f"r{number}", program="cook" if number % 2 else "clerk"))
        first = await ids(store, limit=3)
        second = await ids(store, limit=3, after=first[-1])
        assert first + second + await ids(store, limit=3, after=second[-1]) == names(7)[::-1]
        assert await ids(store, program="cook", limit=1, after="r5") == ["r3"]
        assert await ids(store, after="r0") == []

    async def test_the_next_page_follows_a_run_that_has_left_the_list(self, store: Store) -> None:
        await created(store, *names(4))
        assert await ids(store, status="ready", limit=2) == ["r3", "r2"]
        await store.deliver("r2", CancelAsked())
        assert await ids(store, status="ready", limit=2, after="r2") == ["r1", "r0"]


class Halts(ContractFixtures):
    """The kill switch."""

    async def test_a_halt_is_on_until_it_is_lifted(self, store: Store, clock: FakeClock) -> None:
        on = await store.halt("tool:send", by="ana", reason="spilled")
        assert on == [Halt("tool:send", "ana", "spilled", clock.now())]
        assert await store.halt("") == on
        assert await store.halt("tool:send", lift=True) == []
        assert await store.halt("") == []

    async def test_halts_are_listed_oldest_first(self, store: Store, clock: FakeClock) -> None:
        for scope in ("tool:z", "*", "agent:a"):
            await store.halt(scope)
            clock.advance(1)
        assert [halt.scope for halt in await store.halt("")] == ["tool:z", "*", "agent:a"]

    async def test_a_halt_that_is_on_stays_as_it_is(self, store: Store, clock: FakeClock) -> None:
        first = await store.halt("*", by="ana", reason="one")
        clock.advance(1)
        assert await store.halt("*", by="bo", reason="two") == first

    async def test_lifting_what_is_not_on_does_nothing(self, store: Store) -> None:
        await store.halt("*")
        [halt] = await store.halt("tool:send", lift=True)
        assert halt.scope == "*"

    @pytest.mark.parametrize("scope", ["send", "tool:", "agent", "run:r1", " *"])
    async def test_a_scope_that_means_nothing_is_refused(self, store: Store, scope: str) -> None:
        with pytest.raises(InvalidDefinition):
            await store.halt(scope)
        assert await store.halt("") == []
