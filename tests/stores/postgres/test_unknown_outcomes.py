"""Whatever message of whatever verb is lost, before or after the server had it: what was asked for happens once."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest
from tests.stores.postgres.proxy import Cut, Proxy
from tests.stores.postgres.server import PostgresServer

from adjourn.core.records import Parked, Released, RunCompleted, Said, Stepped
from adjourn.stores.postgres import transaction
from adjourn.stores.postgres.connections import connect
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Lease
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import TTL, approval, claim, replied, started, yes

MESSAGES = 60
"""More than any of these lives takes."""


async def told(store: PostgresStore, run: str) -> list[Any]:
    """Most of what may happen to a run, and what each was told."""
    said: list[Any] = []
    said.append(await store.create(started(run)))
    lease = await claim(store, run)
    said.append((lease.epoch, lease.seq))
    seq = lease.seq
    for n in range(3):
        done = await store.commit(lease, [Stepped(call="1.0", key=str(n))], [], seen=seq)
        said.append((done.seq, done.clean))
        seq = done.seq
    said.append(await store.deliver(run, Said(text="one")))
    done = await store.commit(lease, [replied("pay")], [], seen=seq)
    said.append((done.seq, done.clean, [type(record).__name__ for _, record in done.records]))
    await store.release(lease, Released(why="test"))
    lease = await claimed(store)
    said.append((lease.epoch, lease.seq))
    done = await store.commit(lease, [], [approval(), Parked()], seen=lease.seq)
    said.append((done.seq, done.clean))
    said.append(await store.deliver(run, yes(by="ana")))
    lease = await claim(store, run, worker="w3")
    done = await store.commit(lease, [], [RunCompleted()], seen=lease.seq)
    said.append((lease.epoch, done.seq, done.clean))
    return said


async def claimed(store: PostgresStore) -> Lease:
    """Whoever claims passes over what another looks at just now, as who is cut off still may; the next sweep has it."""
    while True:
        for lease in await store.claim(["clerk"], "w2", TTL, 5):
            return lease


async def ruled(store: PostgresStore, name: str) -> list[Any]:
    """Most of what may happen to a store, and what each was told."""
    said: list[Any] = []
    said.append(len(await store.halt(f"tool:{name}", by="ana")))
    said.append(len(await store.halt(f"tool:{name}", by="ana", lift=True)))
    await store.note([{"verb": "login", "by": name}])
    said.append(len(await store.hold(f"label:team={name}", by="ana")))
    said.append(len(await store.hold(f"label:team={name}", by="ana", lift=True)))
    made = await store.seal()
    said.append(made is not None)
    return said


@pytest.fixture
async def through(postgres: PostgresServer) -> AsyncIterator[tuple[Proxy, PostgresStore, PostgresStore]]:
    """A store by way of a proxy, and another that looks."""
    address = postgres.fresh()
    with Proxy(address) as proxy:
        store, other = PostgresStore(proxy.address), PostgresStore(address)
        yield proxy, store, other
        await store.close()
        await other.close()


async def every_cut(
    proxy: Proxy,
    how: Cut,
    live: Callable[[str], Awaitable[list[Any]]],
    same: Callable[[str, list[Any]], Awaitable[None]],
) -> int:
    """Live once for each message that can be cut; how many there were."""
    proxy.plan(-1, how)
    whole = await live("whole")
    for at in range(MESSAGES):
        proxy.plan(at, how)
        said = await live(f"{how.value}-{at}")
        if not proxy.cut:
            return at
        assert said == whole, f"{how.value} message {at}"
        await same(f"{how.value}-{at}", said)
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("how", list(Cut))
async def test_a_run_lives_on_as_if_nothing_had_been_lost(
    through: tuple[Proxy, PostgresStore, PostgresStore], how: Cut
) -> None:
    proxy, store, other = through
    whole = [type(record).__name__ for _, record in await lived(store, other)]

    async def same(run: str, said: list[Any]) -> None:
        assert [type(record).__name__ for _, record in await other.load(run)] == whole
        await check_rows(other, run)

    assert await every_cut(proxy, how, lambda run: told(store, run), same) > 20
    assert await other.verify() == []


async def lived(store: PostgresStore, other: PostgresStore) -> list[Any]:
    await told(store, "first")
    return await other.load("first")


@pytest.mark.parametrize("how", list(Cut))
async def test_what_concerns_all_runs_happens_once(
    through: tuple[Proxy, PostgresStore, PostgresStore], how: Cut
) -> None:
    proxy, store, other = through

    async def same(name: str, said: list[Any]) -> None:
        lines = [row.entry for row in await other.audit("", limit=10_000)]
        assert [line["verb"] for line in lines if line["scope"].endswith(name)] == [
            "halt",
            "unhalt",
            "hold",
            "lift hold",
        ]
        noted = [row.entry for row in await other.audit("@security", limit=10_000)]
        assert [line["by"] for line in noted].count(name) == 1

    assert await every_cut(proxy, how, lambda name: ruled(store, name), same) > 8
    assert await other.verify() == []


@pytest.mark.parametrize("how", list(Cut))
async def test_a_store_opens_whichever_of_its_first_messages_is_lost(postgres: PostgresServer, how: Cut) -> None:
    for at in range(MESSAGES):
        with Proxy(postgres.empty() if at % 3 == 0 else postgres.fresh()) as proxy:
            proxy.plan(at, how)
            store = PostgresStore(proxy.address)
            was_cut = proxy.cut
            await told(store, "r")
            await check_rows(store, "r")
            await store.close()
        if not was_cut and at % 3:
            break
    else:
        raise AssertionError("it never came to its end")
    assert at >= 2


@pytest.mark.unwatched  # what the oracle asks is between the two, too
async def test_a_start_that_lands_while_it_is_made_again_is_told_as_the_one_that_began_the_run(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first commit is on its way still when it is looked for, and there when the rule looks."""
    address, late = postgres.fresh(), list[tuple[Any, Any]]()
    store = PostgresStore(address)
    send, is_landed = transaction.messages, transaction.LockedBook.is_landed

    def lost(db: Any, script: Any, values: Any = None) -> Any:
        if not late and script[-1] == "commit" and any("adjourn.journal" in sql for sql in script):
            late.append((script, values))
            raise psycopg.OperationalError("the connection is gone")
        return send(db, script, values)

    def looked_for(book: transaction.LockedBook, earlier: Any) -> bool:
        found = is_landed(book, earlier)
        if not found:
            with connect(address) as db:
                send(db, ["begin", *late[0][0]], late[0][1])
        return found

    monkeypatch.setattr(transaction, "messages", lost)
    monkeypatch.setattr(transaction.LockedBook, "is_landed", looked_for)
    assert await store.create(started("r")), "this start began it"
    assert late
    assert len(await store.load("r")) == 1
    await check_rows(store, "r")
    await store.close()
