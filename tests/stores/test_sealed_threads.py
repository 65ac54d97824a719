"""Threads whose rows are encrypted: with the key of their run, or with one of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjourn.core.records import RunCompleted
from adjourn.errors import Invalid, KeyMissing, RunErased
from adjourn.secrets import KeyRing
from adjourn.stores.guest_threads import KEY, ThreadChange, ThreadRow
from adjourn.stores.memory import MemoryStore
from adjourn.stores.run_keys import forget_keys
from adjourn.stores.sealed_threads import SEALED, SealedThreads
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.transfer import transfer
from adjourn.testing.contract.encryption import ring
from adjourn.testing.contract.fixtures import begin, commit

SECRET = b'"the card is 4111"'
A, B = ThreadRow("c/1", SECRET, "t"), ThreadRow("v/1", b'"' + SECRET[1:-1] * 50 + b'"')
Opens = Callable[[], Any]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Opens:
    """Opens the same store of each kind, which encrypts."""

    def opened(store: Any) -> Any:
        store.encrypt(ring("one"))
        return store

    if request.param == "memory":
        kept = MemoryStore()
        return lambda: opened(kept)
    if request.param == "sqlite":
        return lambda: opened(SQLiteStore(str(tmp_path / "adjourn.db")))
    from adjourn.stores.postgres.store import PostgresStore

    address = request.getfixturevalue("postgres").fresh()
    return lambda: opened(PostgresStore(address))


async def kept_bytes(store: Any, thread: str) -> bytes:
    return b"".join(row.body for row in await store.guest_threads().rows(thread, ""))


async def test_rows_are_kept_encrypted_and_read_as_they_were_written(opens: Opens) -> None:
    store = opens()
    threads = SealedThreads(store)
    assert await threads.change("t1", ThreadChange(put=[A], add=[B])) == 1
    assert b"4111" not in await kept_bytes(store, "t1")
    assert await threads.rows("t1", "") == [A, B]
    assert await threads.named("t1", ["v/1"]) == [B]
    assert await threads.tagged(["t"]) == [("t1", "c/1")]
    forget_keys()
    again = opens()
    other = SealedThreads(again)
    assert await other.rows("t1", "c/") == [A]
    assert await other.change("t1", ThreadChange(put=[ThreadRow("c/2", SECRET)])) == 2
    keys = [row for row in await again.guest_threads().rows("t1", KEY) if row.tag == row.key]
    assert len(keys) == 1, "the thread has one key"
    await again.close()
    await store.close()


async def test_without_the_ring_the_error_says_what_to_do(opens: Opens) -> None:
    store = opens()
    threads = SealedThreads(store)
    await threads.change("t1", ThreadChange(put=[A]))
    store.encrypt(None)
    forget_keys()
    with pytest.raises(KeyMissing, match="cannot be unwrapped here") as missing:
        await SealedThreads(store).rows("t1", "")
    assert "ADJOURN_SECRET_KEYS" in missing.value.advice
    with pytest.raises(KeyMissing):  # nothing is written in clear beside it
        await SealedThreads(store).change("t1", ThreadChange(put=[B]))
    await store.close()


async def test_who_does_not_encrypt_writes_in_clear_and_reads_both(opens: Opens) -> None:
    store = opens()
    store.encrypt(None)
    threads = SealedThreads(store)
    await threads.change("t1", ThreadChange(put=[A]))
    assert SECRET in await kept_bytes(store, "t1")
    store.encrypt(ring("one"))
    await threads.change("t1", ThreadChange(put=[B]))
    assert await kept_bytes(store, "t1") != SECRET + B.body and await threads.rows("t1", "") == [A, B]
    await store.close()


async def test_deleting_a_thread_deletes_its_key_and_the_next_one_has_another(opens: Opens) -> None:
    store = opens()
    mine, its = SealedThreads(store), SealedThreads(store)
    await mine.change("t1", ThreadChange(put=[A]))
    [old] = await store.guest_threads().rows("t1", KEY)
    assert store.wrapped_key(old.key.removeprefix(KEY))
    await its.delete(["t1"])
    assert store.wrapped_key(old.key.removeprefix(KEY)) is None
    await mine.change("t1", ThreadChange(put=[B]))  # it still remembers the key that is gone
    [new] = await store.guest_threads().rows("t1", KEY)
    assert new.key != old.key
    forget_keys()
    assert await its.rows("t1", "") == [B]
    await store.close()


async def test_what_a_change_needs_is_looked_for_as_before(opens: Opens) -> None:
    store = opens()
    threads = SealedThreads(store)
    assert await threads.change("t1", ThreadChange(put=[A], needs=["v/1"])) == 0
    assert await store.guest_threads().threads() == []
    assert await threads.change("t1", ThreadChange(put=[A], at=0)) == 1
    assert await threads.change("t1", ThreadChange(put=[B], needs=["v/9"])) == 0
    assert await threads.change("t1", ThreadChange(put=[B], at=1, needs=["c/1"])) == 2
    await store.close()


async def test_the_thread_of_a_run_has_its_key_and_is_erased_with_it(opens: Opens) -> None:
    store = opens()
    lease = await begin(store, "r1")
    threads = SealedThreads(store)
    await threads.change("t1", ThreadChange(put=[A], run="r1"))
    kept = await kept_bytes(store, "t1")
    assert kept.startswith(SEALED) and b"4111" not in kept
    assert await store.guest_threads().rows("t1", KEY) == []
    forget_keys()
    assert await threads.rows("t1", "") == [A]
    await commit(store, lease, (), [RunCompleted(output="done")])
    await store.erase("r1", by="ana", reason="asked for")
    assert await threads.rows("t1", "") == []
    with pytest.raises(RunErased):
        await SealedThreads(store).change("t1", ThreadChange(put=[A], run="r1"))
    await store.close()


async def test_the_thread_of_a_run_that_is_in_clear_is_in_clear(opens: Opens) -> None:
    store = opens()
    store.encrypt(None)
    await begin(store, "r1")
    store.encrypt(ring("one"))
    await SealedThreads(store).change("t1", ThreadChange(put=[A], run="r1"))
    assert await kept_bytes(store, "t1") == SECRET
    await SealedThreads(store).change("t2", ThreadChange(put=[A], run="elsewhere"))
    assert b"4111" not in await kept_bytes(store, "t2"), "a run of another store says nothing of its key"
    await store.close()


async def test_rotation_wraps_the_keys_of_threads_too(opens: Opens) -> None:
    store = opens()
    await begin(store, "r1")
    threads = SealedThreads(store)
    for thread in ("t1", "t2"):
        await threads.change(thread, ThreadChange(put=[A]))
    before = await kept_bytes(store, "t1")
    with pytest.raises(Invalid, match="cannot be unwrapped"):
        await store.rewrap(ring("two"))
    assert await kept_bytes(store, "t1") == before
    assert await store.rewrap(ring("two", "one")) == 3
    store.encrypt(ring("two"))
    forget_keys()
    assert await threads.rows("t1", "") == [A] == await threads.rows("t2", "")
    await store.close()


async def test_a_copy_of_the_store_has_the_threads_and_their_keys(tmp_path: Path) -> None:
    source, target = (f"sqlite:///{tmp_path}/{name}.db" for name in ("one", "two"))
    store = SQLiteStore(str(tmp_path / "one.db"))
    store.encrypt(ring("one"))
    await SealedThreads(store).change("t1", ThreadChange(put=[A, B]))
    await store.close()
    await transfer(source, target, by="ana")
    assert b"4111" not in (tmp_path / "two.db").read_bytes()
    forget_keys()
    copy = SQLiteStore(str(tmp_path / "two.db"))
    copy.encrypt(KeyRing({"one": b"one".ljust(32, b"k")}))
    assert await SealedThreads(copy).rows("t1", "") == [A, B]
    await copy.close()
