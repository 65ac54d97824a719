"""A store as a tenant sees it: its own runs in every list, those of others nowhere, and what is about
all of them refused."""

import inspect
from typing import Any

import pytest
from msgspec.structs import replace

from adjourn.core.records import PauseAsked, RunCompleted, Started
from adjourn.core.status import Status
from adjourn.errors import NotAllowed, RunExists, UnknownRun
from adjourn.runtime.numbers import DAY, numbers
from adjourn.stores.erasure import Pruning
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.snapshots import Snapshot
from adjourn.stores.tenant_store import ABOUT_ALL, HANDED_ON, OF_ONE_RUN, TENANT, TenantStore
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    commit,
    ids,
    started,
    unchanged,
    wait_for,
)
from adjourn.testing.fake_clock import FakeClock

OTHERS = ("g1", "g2", "loose")


async def furnished(store: Store) -> TenantStore:
    """Two runs each of two tenants, and one of nobody; what `acme` sees of them."""
    for tenant, (ended, waits) in (("acme", ("a1", "a2")), ("globex", ("g1", "g2"))):
        labels = {TENANT: tenant, "team": "eu"}
        await commit(store, await begin(store, ended, labels=labels), (), [RunCompleted()])
        await wait_for(store, approval(), run=waits, labels=labels)
    await wait_for(store, approval(), run="loose", labels={"team": "eu"})
    return TenantStore(store, "acme")


class Renting(ContractFixtures):
    """`TenantStore`."""

    async def test_a_tenant_s_lists_have_its_own_runs(self, store: Store) -> None:
        own = await furnished(store)
        assert sorted(await ids(own)) == ["a1", "a2"]
        for limit in (1, 2, 50):
            found = await ids(own, label=("team", "eu"), limit=limit)
            assert found == ["a2", "a1"][:limit]
        assert await ids(own, label=(TENANT, "globex")) == []
        assert await ids(own, prefix="g") == await ids(own, status="waiting", text="g2") == []
        assert [one.run_id for one in await own.inbox(Filter())] == ["a2"]
        assert [one.run_id for one in await own.inbox(Filter(label=("team", "eu")))] == ["a2"]
        assert await own.inbox(Filter(run="g2")) == []
        ended = await own.ended(Status.COMPLETED, own.now() + 1)
        assert [row.id for row in ended] == ["a1"]
        assert {line.scope for line in await own.recent()} <= {"a1", "a2"}

    async def test_a_tenant_s_numbers_are_of_its_own_runs(
        self, store: Store, clock: FakeClock
    ) -> None:
        own = await furnished(store)
        times = (clock.now() - DAY, clock.now() + 1)
        assert (await numbers(own, *times)).total.runs == 2
        assert (await numbers(store, *times)).total.runs == 5
        found = await own.run_index().entries(*times)
        assert sorted(row.id for row, _ in found) == ["a1", "a2"]
        counted = await store.run_index().counts(*times, label=("team", "us"))
        assert counted == []

    async def test_a_run_of_another_tenant_is_not_there(self, store: Store) -> None:
        own = await furnished(store)
        async with unchanged(store, *OTHERS):
            for run in OTHERS:
                with pytest.raises(UnknownRun):
                    await own.get(run)
                with pytest.raises(UnknownRun):
                    await own.load(run)
                with pytest.raises(UnknownRun):
                    await own.deliver(run, PauseAsked())
                with pytest.raises(UnknownRun):
                    await own.erase(run, by="ana", reason="asked to")
                with pytest.raises(UnknownRun):
                    await own.hold(f"run:{run}", by="ana", reason="asked to")
                with pytest.raises(UnknownRun):
                    await own.tell_of_archive(run, {"by": "ana", "reason": "asked to"})
                assert await own.audit(run) == []
                assert await own.followed([run]) == {} and await own.weigh([run]) == 0

    async def test_what_a_tenant_starts_is_its_own(self, store: Store) -> None:
        own = await furnished(store)
        await own.create(started("a3"))
        assert (await store.get("a3")).labels == {TENANT: "acme"}
        with pytest.raises(NotAllowed, match="belongs to a tenant other"):
            await own.create(started("a4", labels={TENANT: "globex"}))
        await store.create(started("g4", session="chat", labels={TENANT: "globex"}))
        with pytest.raises(NotAllowed, match="choose another session"):
            await own.create(started("a4", session="chat"))

    async def test_a_tenant_erases_its_own_run(self, store: Store) -> None:
        own = await furnished(store)
        async with unchanged(store, *OTHERS):
            await own.erase("a1", by="ana", reason="asked to", whole=True)
            assert (await own.get("a1")).erased
            with pytest.raises(UnknownRun):  # whoever did not see it before knows nothing of it
                await TenantStore(store, "acme").get("a1")

    async def test_every_name_of_a_store_is_about_the_tenant_or_about_all(
        self, store: Store
    ) -> None:
        tables = [set(vars(TenantStore)), set(OF_ONE_RUN), set(HANDED_ON), set(ABOUT_ALL)]
        for name, _ in inspect.getmembers(Store):
            if not name.startswith("_"):
                assert sum(name in table for table in tables) == 1, name
        known, own = set[str]().union(*tables), await furnished(store)
        inside: Any = getattr(store, "store", store)
        for name in dir(inside):  # also what only this store has
            if not name.startswith("_") and name not in known - set(ABOUT_ALL):
                with pytest.raises(NotAllowed, match="all tenants"):
                    getattr(own, name)

    async def test_a_state_that_was_written_down_is_that_of_a_tenant_s_run(
        self, store: Store
    ) -> None:
        own = (await furnished(store)).snapshots()
        row, other = await store.get("a1"), await store.get("g1")
        await own.keep("a1", Snapshot(row.seq, row.head, 1, b"rest"), {})
        assert (await own.known("a1"))[0] == row.seq
        assert await own.last("a1") == await store.snapshots().last("a1") is not None
        kept = Snapshot(other.seq, other.head, 1, b"rest")
        await store.snapshots().keep("g1", kept, {})
        for run in OTHERS:
            for work in (own.known(run), own.last(run), own.keep(run, kept, {})):
                with pytest.raises(UnknownRun):
                    await work

    async def test_an_id_that_is_not_the_tenant_s_is_taken_and_nothing_more_is_said(
        self, store: Store, clock: FakeClock
    ) -> None:
        own = await furnished(store)
        await store.erase("g1", by="zoe", reason="secret")
        clock.advance(10.0)
        gone = await begin(store, "g3", labels={TENANT: "globex"})
        await commit(store, gone, (), [RunCompleted()])
        seq = (await store.get("g3")).seq
        assert await store.prune("g3", Pruning(seq, clock.now(), "zoe", "secret"))
        async with unchanged(store, *OTHERS):
            for run in (*OTHERS, "g3"):
                with pytest.raises(RunExists, match="is taken") as taken:
                    await own.create(started(run))
                assert not any(word in str(taken.value) for word in ("zoe", "secret", "different"))
        assert not await own.create(started("a1"))
        with pytest.raises(RunExists, match="different input"):
            await own.create(started("a1", input="other"))

    async def test_an_id_that_another_takes_at_the_same_time_is_taken(self, store: Store) -> None:
        own = await furnished(store)

        async def late(started: Started) -> None:
            await store.create(replace(started, labels={TENANT: "globex"}))

        own.check_start = late
        with pytest.raises(RunExists, match="is taken"):
            await own.create(started("a9"))
        assert (await store.get("a9")).labels == {TENANT: "globex"}

    async def test_a_hold_is_seen_by_whose_runs_it_covers(self, store: Store) -> None:
        own = await furnished(store)
        for scope in ("label:team=eu", "label:team=us", f"label:{TENANT}=globex", "run:g1"):
            await store.hold(scope, by="ana", reason="court")
        assert [hold.scope for hold in await own.hold("")] == ["label:team=eu"]

    async def test_what_is_about_all_tenants_is_refused(self, store: Store) -> None:
        own = await furnished(store)
        restricted = set(vars(TenantStore)) | OF_ONE_RUN | HANDED_ON
        for name, what in inspect.getmembers(Store):
            if name.startswith("_") or name in restricted or not callable(what):
                continue
            with pytest.raises(NotAllowed, match="all tenants") as refused:
                getattr(own, name)
            assert "without a tenant" not in refused.value.advice
        for work in (
            own.halt("*", by="ana", reason="x"),
            own.signed(True, by="ana"),
            own.hold("label:team=eu", by="ana", reason="x"),
            own.recent(security=True),
        ):
            with pytest.raises(NotAllowed, match="all tenants"):
                await work
        assert await store.halt("") == [] and await store.hold("") == []
