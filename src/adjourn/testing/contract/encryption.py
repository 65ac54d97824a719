"""Runs that are encrypted, each with a key of its own: read as they were written by whoever has the
ring, and by nobody else."""

from typing import Any

import pytest

from adjourn.core.files import Image
from adjourn.core.record_codec import dump
from adjourn.core.records import Asked, Decided, Replied, RunCompleted, Said, Started
from adjourn.core.snapshot_part import SnapshotPart
from adjourn.errors import Invalid, KeyMissing, RunExists
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.run_keys import forget_keys, kid_of
from adjourn.stores.secret_keys import KeyRing
from adjourn.stores.snapshots import Snapshot
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    commit,
    replied,
    started,
)

PHOTO = Image(b"\x89PNG\r\n\x1a\n" + b"pixels" * 100)


def ring(*names: str) -> KeyRing:
    """A ring with these keys, the same at every call."""
    return KeyRing({name: name.encode().ljust(32, b"k") for name in names})


async def encrypted(store: Store) -> Any:
    """The store, which encrypts from now on; skips the test if it cannot."""
    inner: Any = getattr(store, "store", store)
    if not hasattr(inner, "encrypt"):
        pytest.skip("this store does not encrypt")
    inner.encrypt(ring("one"))
    return inner


class Encrypting(ContractFixtures):
    """What a store promises of runs that are encrypted."""

    async def test_an_encrypted_run_is_read_as_it_was_written(self, store: Store) -> None:
        await encrypted(store)
        lease = await begin(store, input="the card is 4111")
        await commit(store, lease, [replied("refund")], [approval()])
        [(_, first), _, (_, reply), (_, asked)] = await store.load("r1")
        assert isinstance(first, Started) and first.input == "the card is 4111"
        assert isinstance(reply, Replied) and reply.parts == replied("refund").parts
        [item] = await store.inbox(Filter())
        assert isinstance(asked, Asked) and (item.local, item.seq) == (asked.i, 4)

    async def test_its_row_says_nothing_of_its_content(self, store: Store) -> None:
        inner = await encrypted(store)
        await store.create(started(input="the card is 4111"))
        row = await store.get("r1")
        assert row.title == "•••" and len(row.salt) == 17
        plain = started("r2", input="the card is 4111")
        inner.encrypt(None)
        await store.create(plain)
        assert row.input_digest != (await store.get("r2")).input_digest

    async def test_the_same_start_again_is_the_same_run(self, store: Store) -> None:
        await encrypted(store)
        assert await store.create(started()) is True
        assert await store.create(started()) is False
        with pytest.raises(RunExists):
            await store.create(started(input="other"))

    async def test_the_same_request_again_is_the_same_request(self, store: Store) -> None:
        await encrypted(store)
        await store.create(started())
        first = await store.deliver("r1", Said(text="hello"), request="q1")
        assert await store.deliver("r1", Said(text="hello"), request="q1") == first

    async def test_its_files_and_snapshots_are_given_as_they_were(self, store: Store) -> None:
        await encrypted(store)
        lease = await begin(store, input=["look", PHOTO.ref])
        [found] = (await store.blobs("r1")).values()
        assert found == PHOTO.data
        part = SnapshotPart("e", "", 0)
        kept = Snapshot(lease.seq, lease.head, 1, b"the rest", (part,))
        await store.snapshots().keep("r1", kept, {part: b"a stretch"})
        assert await store.snapshots().last("r1") == (kept, {part: b"a stretch"})

    async def test_without_its_key_nothing_is_read_and_all_of_it_is_verified(
        self, store: Store
    ) -> None:
        inner = await encrypted(store)
        lease = await begin(store, input=["look", PHOTO.ref])
        await commit(store, lease, [replied("refund")], [approval()])
        before = [dump(record) for _, record in await store.load("r1")]
        for other in (None, ring("two")):
            inner.encrypt(other)
            forget_keys()
            with pytest.raises(KeyMissing, match="cannot be unwrapped here") as missing:
                await store.load("r1")
            assert "ADJOURN_SECRET_KEYS" in str(missing.value)
            with pytest.raises(KeyMissing):
                await store.deliver("r1", Decided(i="1.0?0", verdict="approve", by="ana"))
            found = await store.verify()
            assert not found and found.unread == 1
        inner.encrypt(ring("one"))
        assert [dump(record) for _, record in await store.load("r1")] == before
        assert (await store.verify()).unread == 0

    async def test_a_worker_without_the_key_takes_the_other_runs(self, store: Store) -> None:
        inner = await encrypted(store)
        await store.create(started())
        inner.encrypt(None)
        forget_keys()
        await store.create(started("r2"))
        leases = await store.claim(["clerk"], "w1", 30.0, 10)
        assert [lease.run for lease in leases] == ["r2"]

    async def test_erasing_a_run_erases_its_key(self, store: Store) -> None:
        inner = await encrypted(store)
        lease = await begin(store, input=["look", PHOTO.ref])
        kid = kid_of((await store.get("r1")).salt)
        assert inner.wrapped_key(kid)
        await commit(store, lease, (), [RunCompleted(output="done")])
        await store.erase("r1", by="ana", reason="asked to")
        assert inner.wrapped_key(kid) is None
        assert not await store.verify()

    async def test_rotating_keys_wraps_them_anew_and_touches_nothing_else(
        self, store: Store
    ) -> None:
        inner = await encrypted(store)
        await store.create(started())
        head = (await store.get("r1")).head
        with pytest.raises(Invalid):
            await inner.rewrap(ring("two"))
        assert await inner.rewrap(ring("two", "one")) == 1
        inner.encrypt(ring("two"))
        forget_keys()
        assert len(await store.load("r1")) == 1 and (await store.get("r1")).head == head
        inner.encrypt(ring("one"))
        forget_keys()
        with pytest.raises(KeyMissing, match="'two', which is not available"):
            await store.load("r1")
