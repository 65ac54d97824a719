"""`create`, `get` and `load`: runs begin once, and are found again."""

from typing import Any

import msgspec
import pytest

from adjourn.core.messages import Text, ToolCall
from adjourn.core.records import (
    AnyRecord,
    CancelAsked,
    Claimed,
    Emitted,
    Parked,
    Replied,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
    Started,
    Suspended,
)
from adjourn.core.status import Status
from adjourn.core.usage import Usage
from adjourn.errors import Refused, RunExists, UnknownRun
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    answer,
    approval,
    at_once,
    begin,
    check_fields,
    claim,
    commit,
    created,
    ids,
    open_ids,
    recorded,
    refused,
    replied,
    seqs,
    started,
    unchanged,
    yes,
)
from adjourn.testing.fake_clock import FakeClock


class Creating(ContractFixtures):
    """A run begins once."""

    async def test_a_new_run_is_ready_and_nobody_has_it(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.create(started(session="s", labels={"team": "ops"}))
        row = await store.get("r1")
        assert (row.id, row.kind, row.program, row.session) == ("r1", "agent", "clerk", "s")
        assert row.labels == {"team": "ops"}
        assert (row.status, row.seq, row.epoch, row.worker) == (Status.READY, 1, 0, "")
        check_fields(row, opens=0, errors=0, wake_at=0.0, blocked=(), stopped=False)
        assert row.created_at == row.updated_at == clock.now()

    async def test_a_run_is_titled_by_its_input(self, store: Store) -> None:
        await store.create(started(input="Refund order 7, please"))
        assert (await store.get("r1")).title == "Refund order 7, please"

    async def test_the_first_record_of_a_journal_is_what_began_it(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started(input={"order": 7}, by="ana"))
        [(seq, first)] = await store.load("r1")
        assert (seq, first) == (1, started(input={"order": 7}, by="ana", at=clock.now()))

    async def test_beginning_a_run_again_with_the_same_input_changes_nothing(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store, input={"a": 1, "b": 2})
        clock.advance(5)
        async with unchanged(store):
            assert not await store.create(started(input={"b": 2, "a": 1}, by="another person"))

    @pytest.mark.parametrize(
        "other",
        [{"input": "bye"}, {"program": "cook"}, {"kind": "flow"}],
        ids=lambda x: next(iter(x)),
    )
    async def test_an_id_is_taken_by_another(self, store: Store, other: dict[str, str]) -> None:
        await store.create(started())
        async with refused(store, RunExists, "run r1 already exists"):
            await store.create(started(**other))

    async def test_of_many_who_begin_the_same_run_at_once_one_does(self, store: Store) -> None:
        made = await at_once(20, lambda _: store.create(started()))
        assert sorted(made) == [False] * 19 + [True]
        assert len(await store.load("r1")) == 1

    async def test_a_failed_begin_leaves_the_id_free(self, store: Store) -> None:
        with pytest.raises(Refused):
            await store.create(started(), [Parked(), Parked()])
        with pytest.raises(UnknownRun):
            await store.get("r1")
        assert await ids(store) == []
        assert await store.create(started(input="another"))


JOURNAL: list[AnyRecord] = [
    Claimed(epoch=4, worker="elsewhere", at=11.0),
    replied("send"),
    approval(call="1.0", tool="send", at=12.0),
    Parked(at=13.0),
]


class Importing(ContractFixtures):
    """A journal from elsewhere is a run like any other."""

    async def test_an_imported_journal_keeps_its_records_and_their_times(
        self, store: Store, clock: FakeClock
    ) -> None:
        first = started(at=10.0)
        assert await store.create(first, JOURNAL)
        loaded = await store.load("r1")
        assert seqs(loaded) == [1, 2, 3, 4, 5]
        assert [record.at for _, record in loaded] == [10.0, 11.0, clock.now(), 12.0, 13.0]
        assert (await store.get("r1")).created_at == 10.0

    async def test_an_imported_run_has_the_status_its_journal_means_and_belongs_to_nobody(
        self, store: Store
    ) -> None:
        await store.create(started(), JOURNAL[:3])
        check_fields(await store.get("r1"), status=Status.READY, worker="", lease_until=0.0)
        await store.create(started("r2"), JOURNAL)
        assert (await store.get("r2")).status == Status.WAITING

    async def test_an_imported_journals_epochs_are_over(self, store: Store) -> None:
        await store.create(started(), JOURNAL[:3])
        assert (await claim(store)).epoch == 5

    async def test_an_imported_question_can_be_answered(self, store: Store) -> None:
        await store.create(started(), JOURNAL)
        assert await open_ids(store) == ["r1:1.0?0"]
        await store.deliver("r1", yes())
        assert await open_ids(store) == []
        assert (await store.get("r1")).status == Status.READY

    async def test_a_finished_journal_is_imported_as_finished(self, store: Store) -> None:
        await store.create(
            started(), [Claimed(epoch=1), RunCompleted(output="done", stopped="MaxSteps")]
        )
        check_fields(await store.get("r1"), status=Status.COMPLETED, stopped=True)

    async def test_importing_over_an_existing_run_changes_nothing(self, store: Store) -> None:
        await begin(store)
        async with unchanged(store):
            assert not await store.create(started(), JOURNAL)


EVERYTHING: list[AnyRecord] = [
    Claimed(epoch=1, worker="w"),
    Replied(
        parts=(
            Text(text="Grüße, 🌍 \x00 \u2028"),
            ToolCall(id="c", tool="t", args={"n": 1.5, "deep": [{"x": None}]}),
        ),
        usage=Usage(1, 2, 3, cost=0.25),
        upto=1,
        output={"é": [True]},
        details={"id": "x"},
        model="m",
    ),
    Said(text="line one\nline two", by="O'Hara"),
    Returned(call="1.0", value={"big": 2**53, "small": 1e-9, "empty": {}}, took=0.125),
    Emitted(event="e", value=[1, "two", None]),
    CancelAsked(by="ana", reason="'; drop table run; --"),
    RunCancelled(undone=("a",), residue=({"call": "1.0"},)),
]


class Loading(ContractFixtures):
    """What was written is read, in order, by whoever asks."""

    async def test_records_come_back_as_they_went_in(self, store: Store, clock: FakeClock) -> None:
        await store.create(started(), EVERYTHING)
        loaded = [record for _, record in await store.load("r1")]
        assert isinstance(loaded[0], Started)
        assert loaded[1:] == [
            msgspec.structs.replace(record, at=clock.now()) for record in EVERYTHING
        ]

    async def test_records_are_numbered_from_one_without_gaps(self, store: Store) -> None:
        lease = await begin(store)
        for number in range(3):
            await store.deliver("r1", Said(text=str(number)))
            await commit(store, lease, [replied()])
        loaded = await store.load("r1")
        assert seqs(loaded) == list(range(1, 9))
        assert (await store.get("r1")).seq == 8

    async def test_loading_after_a_record_gives_what_follows_it(self, store: Store) -> None:
        await begin(store)
        await store.deliver("r1", Said(text="a"))
        everything = await store.load("r1")
        assert await store.load("r1", 1) == everything[1:]
        assert await store.load("r1", 2) == everything[2:]
        assert await store.load("r1", 3) == []
        assert await store.load("r1", 99) == []

    async def test_runs_do_not_see_each_others_records(self, store: Store) -> None:
        for run in ("r1", "r2"):
            await store.create(started(run))
            await store.deliver(run, Said(text=run))
        [said] = await recorded(store, Said, "r2")
        assert said.text == "r2"

    async def test_runs_do_not_see_each_others_interrupts(self, store: Store) -> None:
        for run in ("r1", "r2"):
            await commit(store, await begin(store, run), (), [approval()])
        await store.deliver("r1", yes())
        assert await open_ids(store) == ["r2:1.0?0"]

    async def test_loading_an_unknown_run_says_so(self, store: Store) -> None:
        await store.create(started("r10"))
        with pytest.raises(UnknownRun, match="run r1 not found"):
            await store.load("r1")

    async def test_an_unknown_run_is_not_got(self, store: Store) -> None:
        with pytest.raises(UnknownRun, match="run r1 not found"):
            await store.get("r1")

    @pytest.mark.parametrize(
        "near", ["", "j", "job-", "job-12", "JOB-1", "job-1 ", " job-1", "j_b-1", "j%", "*", "ob-1"]
    )
    async def test_only_the_whole_id_finds_a_run(self, store: Store, near: str) -> None:
        await store.create(started("job-1"))
        assert (await store.get("job-1")).id == "job-1"
        for ask in (store.get, store.load):
            with pytest.raises(UnknownRun):
                await ask(near)
        with pytest.raises(UnknownRun):
            await store.deliver(near, CancelAsked(by="ana"))
        assert (await store.get("job-1")).status == Status.READY

    async def test_runs_are_listed_by_how_their_ids_begin(self, store: Store) -> None:
        await created(store, "job-2", "job", "job-10", "jo", "Job-1", "j_b-1", "job-1", "kob")

        async def like(prefix: str, **more: Any) -> list[str]:
            return await ids(store, prefix=prefix, **more)

        assert await like("job") == ["job", "job-1", "job-10", "job-2"]
        assert await like("job-1") == ["job-1", "job-10"]
        assert await like("job", limit=2) == ["job", "job-1"]
        assert await like("job", after="job-1") == ["job-10", "job-2"]
        assert await like("j_") == ["j_b-1"] and await like("j%") == []
        assert await like("job-1x") == []

    async def test_a_row_is_a_copy(self, store: Store) -> None:
        await store.create(started())
        row = await store.get("r1")
        row.status, row.seq = Status.COMPLETED, 99
        check_fields(await store.get("r1"), status=Status.READY, seq=1)

    async def test_what_was_answered_is_in_the_journal(self, store: Store) -> None:
        await commit(store, await begin(store), [replied("ask"), Suspended(call="1.0", i="1.0?0")])
        seq = await store.deliver("r1", answer({"yes": [1, 2]}))
        assert (await store.load("r1", seq - 1))[0][1] == answer({"yes": [1, 2]}, at=store.now())
