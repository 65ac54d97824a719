"""`deliver` of several commands together: all of them are recorded, or none."""

import pytest

from adjourn.core.record_effects import Together
from adjourn.core.records import CancelAsked, Command, Decided, PauseAsked, Resumed, Said
from adjourn.core.status import Status
from adjourn.errors import (
    AlreadyDecided,
    AlreadyResumed,
    NotAllowed,
    Refused,
    RequestReused,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    bring,
    check_fields,
    open_ids,
    recorded,
    refused,
    tried_at_once,
    unchanged,
    wait_for,
    yes,
)

SECOND = approval("1.1?0")
BOTH: tuple[Command, ...] = (yes(by="ana"), yes("1.1?0", by="ana"))


class Joint(ContractFixtures):
    """Commands that come together are one."""

    async def test_commands_that_come_together_stand_one_behind_the_other(
        self, store: Store
    ) -> None:
        await wait_for(store, approval(), SECOND)
        before = (await store.get("r1")).seq
        said = (*BOTH, Said(text="continue", by="ana"))
        assert await store.deliver("r1", Together(said)) == before + 1
        check_fields(await store.get("r1"), seq=before + 3, opens=0, status=Status.READY)
        added = await store.load("r1", before)
        assert [type(record) for _, record in added] == [*map(type, said)]

    @pytest.mark.parametrize(
        ("second", "refusal"),
        [
            (yes("9.9?0", by="ana"), UnknownInterrupt),
            (yes(by="ben"), AlreadyDecided),
            (yes("1.1?0", by="r1"), NotAllowed),
            (Resumed(by="ana"), Refused),
        ],
    )
    async def test_if_a_later_one_is_refused_none_is_recorded_and_the_audit_says_so(
        self, store: Store, second: Command, refusal: type[Exception]
    ) -> None:
        await wait_for(store, approval(), SECOND)
        lines = len(await store.audit("r1"))
        async with refused(store, refusal):
            await store.deliver("r1", Together((yes(by="ana"), second)), request="q1")
        assert len(await open_ids(store)) == 2
        told = [line.entry for line in (await store.audit("r1"))[lines:]]
        assert len(told) == 2 and all("refused" in entry for entry in told)
        await store.deliver("r1", yes(by="ana"), request="q1")  # the id is free

    async def test_a_command_counts_what_those_before_it_have_done(self, store: Store) -> None:
        await bring(store, Status.WAITING)
        await store.deliver("r1", Together((PauseAsked(by="ana"), Resumed(by="ana"))))
        assert (await store.get("r1")).status == Status.READY
        async with refused(store, Refused):
            await store.deliver("r1", Together((CancelAsked(by="ana"), PauseAsked(by="ana"))))

    async def test_the_same_request_again_is_done_once_also_if_it_would_be_other_commands(
        self, store: Store
    ) -> None:
        await wait_for(store, approval(), SECOND)
        asked = Resumed(instruction="continue", by="ana")
        seq = await store.deliver("r1", Together(BOTH, asked), request="q1")
        await store.deliver("r1", PauseAsked(by="ben"))
        async with unchanged(store):
            assert await store.deliver("r1", Together(BOTH, asked), request="q1") == seq
            assert await store.deliver("r1", asked, request="q1") == seq
            with pytest.raises(RequestReused):
                await store.deliver("r1", Resumed(by="ana"), request="q1")

    async def test_a_request_that_found_nothing_to_do_is_remembered_as_well(
        self, store: Store
    ) -> None:
        await bring(store, Status.PAUSED)
        asked, before = Said(text="continue", by="ana"), len(await store.load("r1"))
        assert await store.deliver("r1", Together((), asked), request="q1") == 0
        assert await store.deliver("r1", Together((asked,), asked), request="q1") == 0
        assert len(await store.load("r1")) == before
        [told] = [x.entry for x in await store.audit("r1") if x.entry["verb"] == "say"]
        assert told["by"] == "ana" and told["refused"]
        async with unchanged(store):
            with pytest.raises(RequestReused):
                await store.deliver("r1", Said(text="stop", by="ana"), request="q1")
        with pytest.raises(UnknownRun):
            await store.deliver("unknown", Together((), asked), request="q1")

    async def test_they_come_behind_the_record_that_was_known_or_not_at_all(
        self, store: Store
    ) -> None:
        await wait_for(store, approval(), SECOND)
        known = (await store.get("r1")).seq
        await store.deliver("r1", Said(text="wait", by="ben"))
        async with refused(store, AlreadyResumed):
            await store.deliver("r1", Together(BOTH), at=known)
        await store.deliver("r1", Together(BOTH), at=known + 1)
        assert await open_ids(store) == []

    async def test_of_many_that_answer_the_same_two_one_wins_both(self, store: Store) -> None:
        await wait_for(store, approval(), SECOND)

        def both(number: int) -> Together:
            by = f"p{number}"
            answers = [yes(by=by), yes("1.1?0", by=by)]
            return Together(tuple(answers if number % 2 else reversed(answers)))

        done = await tried_at_once(20, lambda number: store.deliver("r1", both(number)))
        assert sum(isinstance(result, int) for result in done) == 1
        decided = await recorded(store, Decided)
        assert len(decided) == 2 and decided[0].by == decided[1].by
