"""Holding and pruning: what is under a hold stays; of what is pruned, the audit stays, and the id
is taken."""

import pytest

from adjourn.core.records import Parked, Said
from adjourn.core.status import ENDED, Status
from adjourn.errors import InvalidDefinition, Refused, RunHeld, RunPruned, UnknownRun
from adjourn.stores.audit_key import SecretKey
from adjourn.stores.erasure import Pruning
from adjourn.stores.fleet import Misfit
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.erasure import CANARY, told
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    bring,
    commit,
    entries,
    ids,
    refused,
    started,
    unchanged,
)
from adjourn.testing.fake_clock import FakeClock

FOREVER = 1e12


async def pruned(store: Store, run: str = "r1", **options: str) -> bool:
    """Prune the run as it is."""
    row = await store.get(run)
    return await store.prune(
        run, Pruning(row.seq, FOREVER, by="ann", reason="old", **options), origin="cli"
    )


class Holding(ContractFixtures):
    """A legal hold."""

    @pytest.mark.parametrize("scope", ["run:r1", f"label:customer={CANARY}"])
    async def test_what_is_under_a_hold_is_neither_erased_nor_pruned(
        self, store: Store, scope: str
    ) -> None:
        await told(store)
        [hold] = await store.hold(scope, by="ann", reason="case 7", origin="cli")
        assert (hold.scope, hold.by, hold.reason) == (scope, "ann", "case 7")
        async with unchanged(store):
            for attempt in (store.erase("r1", by="bo", reason="asked to"), pruned(store)):
                with pytest.raises(
                    RunHeld, match=r"set by ann: case 7.*adjourn hold .* --lift"
                ) as raised:
                    await attempt
                assert (raised.value.scope, raised.value.by) == (scope, "ann")
        assert "case 7" in (await store.audit("r1"))[-1].entry["refused"]
        assert await store.hold(scope, by="ann", lift=True) == []
        assert await pruned(store)
        assert await store.verify() == []

    async def test_a_hold_of_one_run_or_label_holds_no_other(self, store: Store) -> None:
        await told(store)
        await told(store, "r2")
        await store.hold("run:r2", by="ann", reason="case 7")
        await store.hold("label:customer=another", by="ann", reason="case 7")
        assert await pruned(store)

    async def test_a_label_holds_runs_that_come_after_it_as_well(self, store: Store) -> None:
        await store.hold(f"label:customer={CANARY}", by="ann", reason="case 7")
        await told(store)
        with pytest.raises(RunHeld):
            await pruned(store)

    async def test_twice_is_the_same_as_once_and_the_first_stays(
        self, store: Store, clock: FakeClock
    ) -> None:
        await told(store)
        first = await store.hold("run:r1", by="ann", reason="case 7")
        clock.advance(60)
        assert await store.hold("run:r1", by="bo", reason="case 8") == first == await store.hold("")
        assert (
            await store.hold("run:r1", by="bo", lift=True)
            == await store.hold("run:r1", by="bo", lift=True)
            == []
        )

    async def test_who_held_and_who_lifted_is_in_the_audit(self, store: Store) -> None:
        await told(store)
        await store.hold("run:r1", by="ann", reason="case 7", origin="cli")
        await store.hold("run:r1", by="bo", reason="settled", lift=True)
        for scope in ("", "r1"):
            *_, held, lifted = await entries(store, scope)
            told_of = {"verb": "hold", "by": "ann", "reason": "case 7", "scope": "run:r1"}
            assert held.items() >= told_of.items()
            told_of = {"verb": "lift hold", "by": "bo", "reason": "settled"}
            assert lifted.items() >= told_of.items()
        assert await store.verify() == []

    async def test_a_run_that_is_not_there_is_not_held(self, store: Store) -> None:
        with pytest.raises(UnknownRun):
            await store.hold("run:r9", by="ann", reason="case 7")
        assert (await store.audit(""))[-1].entry["refused"] == "no run 'r9'"
        assert await store.hold("") == []

    @pytest.mark.parametrize("scope", ["r1", "run:", "label:", "label:a", "label:=b", "tool:x"])
    async def test_a_scope_is_a_run_or_a_label(self, store: Store, scope: str) -> None:
        with pytest.raises(InvalidDefinition, match="'run:ID' or 'label:KEY=VALUE'"):
            await store.hold(scope, by="ann", reason="case 7")


class Pruned(ContractFixtures):
    """What is left of a run that was pruned, and what is not."""

    async def test_a_run_that_was_pruned_is_nowhere_but_in_the_audit(self, store: Store) -> None:
        await store.endpoints(Endpoint("hook", "webhook", "https://example.org", "s", (), 0.0))
        await told(store)
        await told(store, "r2")
        before, row = await store.audit("r1"), await store.get("r1")
        await store.misfits(Misfit("r1", row.seq, CANARY))
        assert await pruned(store, archive="r1.json", digest="abc")
        for look in (store.get("r1"), store.load("r1")):
            with pytest.raises(UnknownRun):
                await look
        assert await ids(store) == ["r2"]
        assert {letter.run for letter in await store.letters()} == {"r2"}
        assert await store.inbox(Filter(run="r1", interrupt="1.0?0")) == []
        lines = await store.audit("r1")
        assert lines[:-1] == before
        said = {
            "verb": "prune",
            "by": "ann",
            "from": "cli",
            "reason": "old",
            "seq": row.seq,
            "status": "completed",
        }
        assert lines[-1].entry.items() >= {**said, "archive": "r1.json", "digest": "abc"}.items()
        assert CANARY in repr(await store.load("r2"))

    async def test_its_id_stays_taken(self, store: Store) -> None:
        await told(store)
        await pruned(store)
        with pytest.raises(RunPruned, match=r"run r1 was pruned.*use another run_id"):
            await store.create(started("r1", input=f"{CANARY} input"))
        with pytest.raises(UnknownRun):
            await store.deliver("r1", Said(text="more", by="ana"))
        with pytest.raises(UnknownRun):
            await store.erase("r1", by="ann", reason="asked to")
        assert await store.create(started("r3"))
        assert await store.verify() == []

    async def test_only_one_of_two_prunes_it(self, store: Store) -> None:
        await told(store)
        wanted = Pruning((await store.get("r1")).seq, FOREVER, by="ann")
        assert [await store.prune("r1", wanted), await store.prune("r1", wanted)] == [True, False]
        assert [entry["verb"] for entry in await entries(store, "r1")].count("prune") == 1

    async def test_every_chain_holds_with_signed_seals_before_and_after(self, store: Store) -> None:
        key = SecretKey(b"k" * 32)
        await commit(store, await begin(store, "r0"), (), [approval(), Parked()])
        await told(store)
        await store.seal(key)
        await told(store, "r2")
        await store.seal(key)
        await store.erase("r2", by="ann", reason="asked to")
        for run in ("r1", "r2"):
            await pruned(store, run)
        assert await store.verify([key]) == []
        await store.seal(key)
        assert await store.verify([key]) == []

    @pytest.mark.parametrize("status", sorted(set(Status) - ENDED))
    async def test_a_run_that_has_not_ended_is_not_pruned(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        async with refused(store, Refused, "only a run that has ended"):
            await pruned(store)
        assert await store.verify() == []

    async def test_what_changed_since_somebody_looked_or_is_too_young_is_not_pruned(
        self, store: Store, clock: FakeClock
    ) -> None:
        await told(store)
        row = await store.get("r1")
        async with unchanged(store):
            with pytest.raises(Refused, match="check it again"):
                await store.prune("r1", Pruning(row.seq - 1, FOREVER))
            with pytest.raises(Refused, match="too recent"):
                await store.prune("r1", Pruning(row.seq, row.updated_at - 0.001))
        assert await store.prune("r1", Pruning(row.seq, row.updated_at))

    @pytest.mark.parametrize("status", sorted(ENDED))
    async def test_what_has_ended_is_found_by_how_and_when_in_pages(
        self, store: Store, clock: FakeClock, status: Status
    ) -> None:
        await begin(store, "r0")
        for number in range(1, 6):
            await bring(store, status, run=f"r{number}")
            if number % 2 == 0:
                clock.advance(60)
        last = (await store.get("r4")).updated_at
        found = await store.ended(status, last, limit=3)
        assert [row.id for row in found] == ["r4", "r3", "r2"]
        more = await store.ended(status, last, after=(found[-1].updated_at, found[-1].id))
        assert [row.id for row in more] == ["r1"]
        [other] = ENDED - {status}
        assert await store.ended(other, FOREVER) == []

    async def test_a_weight_is_that_of_the_records(self, store: Store) -> None:
        await told(store)
        await told(store, "r2")
        one = await store.weigh(["r1"])
        assert (
            one > len(CANARY) * 5
            and await store.weigh(["r1", "r2", "r9"]) == 2 * one
            and not await store.weigh([])
        )
        await pruned(store)
        assert await store.weigh(["r1"]) == 0

    async def test_a_pruning_outlives_the_process(self, store: Store, clock: FakeClock) -> None:
        await told(store)
        await store.hold("label:a=b", by="ann", reason="case 7")
        await pruned(store)
        async with self.reopened(store, clock) as again:
            with pytest.raises(RunPruned):
                await again.create(started("r1"))
            [hold] = await again.hold("")
            assert hold.scope == "label:a=b"
            assert await again.scrub(pruned=True) and await again.verify() == []
