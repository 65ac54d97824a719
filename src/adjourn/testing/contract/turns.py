"""`Started.after` and `turns`: a run that goes on with another names exactly its journal."""

from typing import Any

import pytest

from adjourn.core.record_parts import Ref
from adjourn.core.records import RunCompleted, Said
from adjourn.errors import BrokenHistory, Refused, RunErased, SessionMoved, UnknownRun
from adjourn.stores.erasure import Pruning
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    begin,
    commit,
    names,
    refused,
    replied,
    started,
)


async def ended(store: Store, run: str, after: Ref | None = None) -> Ref:
    """A run that has ended; the place at which it did."""
    await commit(store, await begin(store, run, after=after), [replied()], [RunCompleted()])
    row = await store.get(run)
    return Ref(run, row.seq, row.head.hex(), 2, 1)


class Continuing(ContractFixtures):
    """The turn before is the one that is meant."""

    async def test_turns_are_read_from_the_newest_back(self, store: Store) -> None:
        first = await ended(store, "r1")
        second = await ended(store, "r2", first)
        third = await ended(store, "r3", second)
        await ended(store, "r4")
        found = await store.turns("r3", third.seq, 10)
        wanted = ((third, second), (second, first), (first, None))
        for turn, (ref, before) in zip(found, wanted, strict=True):
            assert (turn.run, turn.seq, turn.head.hex()) == (ref.run, ref.seq, ref.head)
            assert list(turn.records) == await store.load(turn.run)
            assert turn.before == before

    async def test_no_more_turns_are_read_than_were_asked_for(self, store: Store) -> None:
        ref = await ended(store, "r1")
        for number in range(2, 7):
            ref = await ended(store, f"r{number}", ref)
        assert [turn.run for turn in await store.turns("r6", ref.seq, 2)] == ["r6", "r5"]
        assert [turn.run for turn in await store.turns("r6", ref.seq, 100)] == names(7)[:0:-1]

    async def test_a_turn_is_read_up_to_the_record_that_is_named(self, store: Store) -> None:
        ref = await ended(store, "r1")
        [turn] = await store.turns("r1", ref.seq - 1)
        assert list(turn.records) == (await store.load("r1"))[:-1] and turn.head.hex() != ref.head

    async def test_there_are_no_turns_of_what_is_not_there(self, store: Store) -> None:
        ref = await ended(store, "r1")
        assert await store.turns("r2", 1) == [] == await store.turns("r1", ref.seq + 1)

    async def test_a_run_that_has_its_history_itself_is_the_last_that_is_read(
        self, store: Store
    ) -> None:
        first = await ended(store, "r1")
        lease = await begin(store, "r2", after=first, history=[{"type": "user", "text": "before"}])
        await commit(store, lease, [replied()], [RunCompleted()])
        assert [turn.run for turn in await store.turns("r2", 2)] == ["r2"]

    async def test_a_history_of_its_own_need_not_be_here(self, store: Store) -> None:
        elsewhere = Ref("elsewhere", 7, "00" * 32, 1, 0)
        assert await store.create(
            started(after=elsewhere, history=[{"type": "user", "text": "before"}])
        )

    async def test_another_journal_is_not_gone_on_with(self, store: Store) -> None:
        ref = await ended(store, "r1")
        other = await ended(store, "r2")
        for wrong in (
            Ref("r1", ref.seq, other.head, 2, 1),
            Ref("r1", ref.seq - 1, ref.head, 2, 1),
            Ref("r1", ref.seq + 1, ref.head, 2, 1),
            Ref("r1", 0, ref.head, 2, 1),
        ):
            async with refused(
                store, BrokenHistory, "run r3 continues run r1 from record", runs=("r1", "r2")
            ):
                await store.create(started("r3", after=wrong))
        with pytest.raises(UnknownRun, match="run unknown not found"):
            await store.create(started("r3", after=Ref("unknown", 1, ref.head, 2, 1)))
        with pytest.raises(UnknownRun):
            await store.get("r3")
        assert await store.create(started("r3", after=ref))

    async def test_a_run_that_has_not_ended_is_not_gone_on_with(self, store: Store) -> None:
        await begin(store, "r1")
        await store.deliver("r1", Said(text="and"))
        row = await store.get("r1")
        with pytest.raises(Refused, match="cannot continue run r1"):
            await store.create(started("r2", after=Ref("r1", row.seq, row.head.hex(), 1, 0)))

    async def test_two_runs_go_on_with_the_same_one(self, store: Store) -> None:
        ref = await ended(store, "r1")
        one, two = await ended(store, "r2", ref), await ended(store, "r3", ref)
        for turn in (one, two):
            assert [x.run for x in await store.turns(turn.run, turn.seq)] == [turn.run, "r1"]

    async def test_a_run_that_is_there_is_found_whatever_it_goes_on_with(
        self, store: Store
    ) -> None:
        ref = await ended(store, "r1")
        await ended(store, "r2", ref)
        assert not await store.create(started("r2", after=Ref("r1", ref.seq, "00" * 32, 2, 1)))

    async def test_an_erased_turn_is_named_without_its_records(self, store: Store) -> None:
        first = await ended(store, "r1")
        second = await ended(store, "r2", first)
        third = await ended(store, "r3", second)
        await store.erase("r2", by="ana", reason="asked for")
        newest, gone = await store.turns("r3", third.seq)
        assert (newest.run, gone.run, gone.head.hex(), list(gone.records)) == (
            "r3",
            "r2",
            second.head,
            [],
        )
        with pytest.raises(RunErased):
            await store.create(started("r4", after=second))

    async def test_a_run_goes_on_with_the_last_of_its_session_or_does_not_begin(
        self, store: Store
    ) -> None:
        chosen: dict[str, Any] = {"options": {"after": "session"}, "session": "s"}
        await commit(store, await begin(store, "r1", **chosen), [replied()], [RunCompleted()])
        row = await store.get("r1")
        first = Ref("r1", row.seq, row.head.hex(), 2, 1)
        async with refused(store, SessionMoved, "session s was started"):
            await store.create(started("r2", **chosen))
        assert await store.create(started("other", program="another", **chosen))
        assert await store.create(started("r2", after=first, **chosen))
        with pytest.raises(SessionMoved):
            await store.create(started("r3", after=first, **chosen))
        assert not await store.create(started("r2", after=first, **chosen))
        assert await store.create(started("r3", after=first, session="s"))

    async def test_who_goes_on_with_which_run_is_known(self, store: Store) -> None:
        first = await ended(store, "r1")
        await ended(store, "r2", first)
        await ended(store, "r3", first)
        await begin(
            store, "r4", after=first, history=[{"type": "user", "text": "it has that itself"}]
        )
        assert await store.followed(["r1", "r2", "r9"]) == {"r1": ["r2", "r3"]}

    async def test_a_turn_is_pruned_when_nobody_goes_on_with_it_any_more(
        self, store: Store
    ) -> None:
        first = await ended(store, "r1")
        second = await ended(store, "r2", first)
        await ended(store, "r3", second)

        async def prune(run: str) -> bool:
            return await store.prune(run, Pruning((await store.get(run)).seq, 1e12, by="ann"))

        for run, follower in (("r1", "r2"), ("r2", "r3")):
            async with refused(store, Refused, f"run {follower} continues its conversation"):
                await prune(run)
        for run in ("r3", "r2", "r1"):
            assert await prune(run)

    async def test_a_turn_is_not_erased_while_a_later_one_goes_on(self, store: Store) -> None:
        first = await ended(store, "r1")
        second = await ended(store, "r2", first)
        lease = await begin(store, "r3", after=second)
        for run in ("r1", "r2"):
            with pytest.raises(
                Refused, match="run r3, which continues its conversation, has not ended"
            ):
                await store.erase(run, by="ann", reason="asked to")
        await commit(store, lease, [replied()], [RunCompleted()])
        for run in ("r1", "r2"):
            assert (await store.erase(run, by="ann", reason="asked to")).run == run
