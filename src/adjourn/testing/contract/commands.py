"""`deliver`: what people may say to a run, and when."""

from typing import cast

import pytest

from adjourn.core.records import (
    CancelAsked,
    Command,
    Emitted,
    PauseAsked,
    Resumed,
    RunCompleted,
    Said,
)
from adjourn.core.status import Status
from adjourn.errors import (
    AlreadyDecided,
    AlreadyResumed,
    Conflict,
    InterruptClosed,
    Invalid,
    Refused,
    RequestReused,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    answer,
    approval,
    at_once,
    begin,
    bring,
    check_fields,
    commit,
    due_ids,
    how_many,
    recorded,
    refused,
    started,
    tried_at_once,
    unchanged,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock

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
"""What follows each command in each status. `-` is refused; `same` is acknowledged, and nothing is
appended."""


def cells() -> list[tuple[str, str, str]]:
    """(status, command, what follows)"""
    found: list[tuple[str, str, str]] = []
    head, *lines = TABLE.strip().splitlines()
    for line in lines:
        status, *row = line.split()
        for verb, follows in zip(head.split(), row, strict=True):
            found.append((status, verb, follows))
    return found


TAKEN: list[tuple[str, str, str]] = []
REFUSED: list[tuple[str, str]] = []
NOT_UNDONE: list[str] = []
SAME: list[str] = []
for _status, _verb, _follows in cells():
    if _follows == "same":
        SAME.append(_status)
    elif _follows != "-":
        TAKEN.append((_status, _verb, _follows))
    elif _verb == "undo":
        NOT_UNDONE.append(_status)
    else:
        REFUSED.append((_status, _verb))


class Commanding(ContractFixtures):
    """The status table, cell by cell."""

    @pytest.mark.parametrize(("status", "verb", "follows"), TAKEN)
    async def test_a_run_takes_the_command(
        self, store: Store, clock: FakeClock, status: str, verb: str, follows: str
    ) -> None:
        await bring(store, Status(status))
        before = (await store.get("r1")).seq
        clock.advance(3)
        assert await store.deliver("r1", COMMANDS[verb]) == before + 1
        check_fields(await store.get("r1"), status=follows, seq=before + 1, updated_at=clock.now())
        [(_, record)] = await store.load("r1", before)
        assert (type(record), record.at) == (type(COMMANDS[verb]), clock.now())

    @pytest.mark.parametrize(("status", "verb"), REFUSED)
    async def test_a_run_refuses_the_command_and_says_what_it_is(
        self, store: Store, status: str, verb: str
    ) -> None:
        await bring(store, Status(status))
        async with unchanged(store):
            with pytest.raises(Conflict) as refused:
                await store.deliver("r1", COMMANDS[verb])
        error = refused.value
        assert status in (error.run_status if isinstance(error, Refused) else str(error))

    @pytest.mark.parametrize("status", NOT_UNDONE)
    async def test_nothing_is_undone_in_a_run_that_is(self, store: Store, status: str) -> None:
        await bring(store, Status(status))
        async with refused(store, (UnknownInterrupt, InterruptClosed)):
            await store.deliver("r1", COMMANDS["undo"])

    @pytest.mark.parametrize("status", SAME)
    async def test_a_second_cancel_is_acknowledged_and_nothing_is_appended(
        self, store: Store, status: str
    ) -> None:
        await bring(store, Status(status))
        async with unchanged(store):
            assert await store.deliver("r1", CancelAsked(by="bo")) == (await store.get("r1")).seq

    async def test_an_unknown_run_takes_no_command(self, store: Store) -> None:
        await store.create(started("r10"))
        with pytest.raises(UnknownRun, match="run r1 not found"):
            await store.deliver("r1", Said(text="hello"))

    async def test_a_second_pause_may_raise_it_to_now(self, store: Store) -> None:
        await begin(store)
        await store.deliver("r1", PauseAsked())
        await store.deliver("r1", PauseAsked(now=True))
        assert [asked.now for asked in await recorded(store, PauseAsked)] == [False, True]

    async def test_a_word_to_a_waiting_run_makes_it_due(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", Said(text="by the way"))
        assert await due_ids(store) == ["r1"]

    async def test_words_of_many_people_at_once_all_land_each_in_its_place(
        self, store: Store
    ) -> None:
        await store.create(started())
        places = await at_once(30, lambda number: store.deliver("r1", Said(text=str(number))))
        assert sorted(places) == list(range(2, 32))
        journal = dict(await store.load("r1"))
        for number, seq in enumerate(places):
            said = journal[seq]
            assert isinstance(said, Said) and said.text == str(number)

    async def test_one_bad_command_among_many_harms_no_other(self, store: Store) -> None:
        await store.create(started())
        words: list[Command] = [Said(text=str(n)) for n in range(9)]
        words.insert(4, Emitted(event="e", value=object()))
        done = await tried_at_once(len(words), lambda number: store.deliver("r1", words[number]))
        assert isinstance(done[4], Exception) and how_many(done, int) == 9
        assert (await store.get("r1")).seq == 10

    async def test_what_could_never_be_read_again_is_not_recorded(self, store: Store) -> None:
        await store.create(started())
        wrong: list[Command] = [
            Emitted(event="e", value=object()),
            Emitted(event="e", value="\ud800"),
            Said(text=cast("str", 7)),
        ]
        for command in wrong:
            async with refused(store, Invalid):
                await store.deliver("r1", command)

    async def test_a_time_that_somebody_made_up_is_not_taken(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started())
        await store.deliver("r1", Said(text="from the future", at=clock.now() + 1e6))
        assert (await store.load("r1", 1))[0][1].at == clock.now()


class Following(ContractFixtures):
    """A command may be meant for a run exactly as it was seen."""

    async def test_a_command_for_the_last_record_is_taken(self, store: Store) -> None:
        await wait_for(store, approval())
        assert await store.deliver("r1", yes(), at=4) == 5

    async def test_a_command_for_an_earlier_record_is_refused(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", Said(text="meanwhile"))
        async with refused(store, AlreadyResumed, "ends at record 4, the run is at 5"):
            await store.deliver("r1", yes(), at=4)

    async def test_of_many_commands_for_the_same_record_one_is_taken(self, store: Store) -> None:
        await wait_for(store, approval())
        done = await tried_at_once(
            20, lambda number: store.deliver("r1", Said(text=str(number)), at=4)
        )
        assert (how_many(done, int), how_many(done, AlreadyResumed)) == (1, 19)


class Requesting(ContractFixtures):
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

    async def test_the_very_same_command_can_be_sent_again(
        self, store: Store, clock: FakeClock
    ) -> None:
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
        await commit(store, lease, (), [RunCompleted()])
        async with unchanged(store):
            assert await store.deliver("r1", Said(text="thanks"), request="q1") == seq

    async def test_a_request_for_another_command_is_refused(self, store: Store) -> None:
        await store.create(started())
        await store.deliver("r1", Said(text="once"), request="q1")
        async with unchanged(store):
            with pytest.raises(RequestReused, match="request id q1"):
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

    async def test_a_cancel_that_appended_nothing_gives_the_same_seq_again(
        self, store: Store
    ) -> None:
        await bring(store, Status.CANCELLING)
        seq = await store.deliver("r1", CancelAsked(by="bo"), request="q1")
        assert seq == (await store.get("r1")).seq
        assert await store.deliver("r1", CancelAsked(by="bo"), request="q1") == seq

    async def test_the_same_request_by_many_at_once_is_appended_once(self, store: Store) -> None:
        await store.create(started())
        places = await at_once(20, lambda _: store.deliver("r1", Said(text="once"), request="q1"))
        assert set(places) == {2}
        assert (await store.get("r1")).seq == 2
