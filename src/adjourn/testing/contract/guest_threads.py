"""`guest_threads`: rows of other frameworks, and what happens to them with their run."""

import asyncio

import pytest

from adjourn.core.records import RunCompleted
from adjourn.errors import RunErased, RunPruned
from adjourn.stores.erasure import Pruning
from adjourn.stores.guest_threads import ThreadChange, ThreadRow
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import ContractFixtures, begin, commit
from adjourn.testing.fake_clock import FakeClock

A, B, C = ThreadRow("a/1", b"one"), ThreadRow("a/2", b"two", "t"), ThreadRow("b/1", b"three")


async def ended(store: Store, run: str) -> None:
    await commit(store, await begin(store, run), (), [RunCompleted(output="done")])


class GuestThreading(ContractFixtures):
    """Threads of guests."""

    async def test_rows_come_back_by_the_beginning_of_their_keys_in_order(
        self, store: Store
    ) -> None:
        threads = store.guest_threads()
        assert await threads.change("t1", ThreadChange(put=[C, B, A])) == 1
        assert await threads.rows("t1", "") == [A, B, C]
        assert await threads.rows("t1", "a/") == [A, B]
        assert await threads.rows("t1", "a/", newest=1) == [B]
        assert await threads.rows("t1", "a/", before="a/2", newest=9) == [A]
        assert await threads.named("t1", ["b/1", "z"]) == [C]
        assert await threads.tagged(["t", ""]) == [("t1", "a/2")]
        assert await threads.rows("t2", "") == [] and await threads.version("t2") == 0

    async def test_a_row_that_is_put_replaces_and_one_that_is_added_does_not(
        self, store: Store
    ) -> None:
        threads = store.guest_threads()
        await threads.change("t1", ThreadChange(put=[A, C]))
        again = ThreadRow("a/1", b"again", "tag")
        assert await threads.change("t1", ThreadChange(add=[again], drop=["b/1"])) == 2
        assert await threads.rows("t1", "") == [A]
        await threads.change("t1", ThreadChange(put=[again]))
        assert await threads.rows("t1", "") == [again]
        await threads.change("t1", ThreadChange(put=[B, C], clear=["a/", "x"]))
        assert await threads.rows("t1", "") == [B, C]

    async def test_a_change_needs_what_it_says_or_changes_nothing(self, store: Store) -> None:
        threads = store.guest_threads()
        assert await threads.change("t1", ThreadChange(put=[A], needs=["b/1"])) == 0
        assert await threads.rows("t1", "") == [] and await threads.threads() == []
        assert await threads.change("t1", ThreadChange(put=[A], at=0)) == 1
        assert await threads.change("t1", ThreadChange(put=[B], at=0)) == 0
        assert await threads.change("t1", ThreadChange(put=[B], at=1, needs=["a/1", "a/1"])) == 2
        assert await threads.rows("t1", "") == [A, B] and await threads.version("t1") == 2

    async def test_of_many_changes_of_one_version_one_is_done(self, store: Store) -> None:
        threads = store.guest_threads()
        await threads.change("t1", ThreadChange(put=[A]))
        changes = [ThreadChange(put=[ThreadRow("a/1", bytes([n]))], at=1) for n in range(5)]
        done = await asyncio.gather(*(threads.change("t1", change) for change in changes))
        assert sorted(done) == [0, 0, 0, 0, 2]

    async def test_threads_are_listed_and_deleted_also_by_their_age(
        self, store: Store, clock: FakeClock
    ) -> None:
        threads = store.guest_threads()
        await threads.change("t1", ThreadChange(put=[A]))
        clock.advance(10)
        now = store.now()
        await threads.change("t2", ThreadChange(put=[B]))
        await threads.change("t3", ThreadChange(put=[C]))
        assert await threads.threads() == ["t1", "t2", "t3"]
        assert await threads.threads("t1", 1) == ["t2"]
        await begin(store, "r1")
        await threads.change("of a run", ThreadChange(put=[C], run="r1"))
        clock.advance(10)
        assert await threads.threads(idle=now) == ["t1"]
        assert await threads.delete(["of a run"], idle=store.now()) == 0
        assert await threads.delete(["of a run"]) == 1
        assert await threads.delete(["t1", "t2"], idle=now) == 1
        assert await threads.delete(["t3", "t3", "none"]) == 1
        assert await threads.threads() == ["t2"]
        assert await threads.rows("t1", "") == await threads.rows("t3", "") == []
        assert await threads.tagged(["t"]) == [("t2", "a/2")]

    async def test_threads_of_a_run_are_erased_and_pruned_with_it_and_others_stay(
        self, store: Store, clock: FakeClock
    ) -> None:
        threads = store.guest_threads()
        for run in ("r1", "r2"):
            await ended(store, run)
            for thread in (run, f"{run}/sub"):
                await threads.change(thread, ThreadChange(put=[A], run=run))
        await ended(store, "r3")
        await begin(store, "r4")
        for run in ("r3", "r4"):
            await threads.change(run, ThreadChange(put=[A], run=run, also=("r0", "r1", "r2")))
        await threads.change("own", ThreadChange(put=[A]))
        await threads.change("elsewhere", ThreadChange(put=[A], run="of another store"))
        await store.erase("r1", by="ana")
        assert await threads.threads() == ["elsewhere", "own", "r2", "r2/sub", "r4"]
        with pytest.raises(RunErased):
            await threads.change("r1", ThreadChange(put=[A], run="r1"))
        row = await store.get("r2")
        wanted = Pruning(seq=row.seq, before=store.now() + 1, by="ana", reason="old")
        assert await store.prune("r2", wanted)
        assert await threads.threads() == ["elsewhere", "own", "r4"]
        with pytest.raises(RunPruned):
            await threads.change("r2", ThreadChange(put=[A], run="r2"))
        assert not await store.verify()
