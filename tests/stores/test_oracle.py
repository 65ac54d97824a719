"""The oracle itself: it finds rows that are not what their journal means, and costs next to nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjourn.core.records import CancelAsked, Closed, Emitted, Parked, RunCompleted, Said, Stepped
from adjourn.core.status import Status
from adjourn.errors import StoreError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.rules import journal
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import Watched, check_rows
from adjourn.testing.contract.fixtures import approval, begin, commit, started, suspend, wait_for, yes
from adjourn.testing.oracle import Oracle, every_transaction


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, folder: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(str(folder / "adjourn.db"))


async def a_whole_life(store: Store) -> None:
    """A run in which every row changes."""
    lease = await begin(store)
    await suspend(store, lease, "1.0?0", "1.0", kind="event", event="paid")
    await commit(store, lease, (), [approval("1.1?0", approvers=2), approval("1.2?0"), approval("1.3?0")])
    await store.deliver("r1", yes("1.1?0", by="ana"))
    await store.deliver("r1", yes("1.1?0", by="bo"))
    await commit(store, lease, (), [Closed(i="1.2?0", why="expired")])
    await store.deliver("r1", Emitted(event="paid"))
    await commit(store, lease, (), [Parked(wake_at=store.now() + 60)])
    await store.deliver("r1", Said(text="hi"))
    lease = await _claimed(store)
    await commit(store, lease, (), [RunCompleted(stopped="MaxSteps")])


async def _claimed(store: Store) -> Any:
    lease = await store.acquire("r1", "w2", 30)
    assert lease is not None
    return lease


Plant = Callable[[pytest.MonkeyPatch], None]


def _without(record: type) -> Plant:
    """The rows forget what this record means."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        real: Callable[..., None] = journal._index

        def index(tx: Any, row: Any, x: Any) -> None:
            if not isinstance(x, record):
                real(tx, row, x)

        monkeypatch.setattr(journal, "_index", index)

    return plant


def _count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed row is counted as open."""
    real: Callable[..., None] = journal.close

    def close(tx: Any, row: Any, found: Any, *more: Any) -> None:
        real(tx, row, found, *more)
        row.opens += 1

    monkeypatch.setattr(journal, "close", close)


def _status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word makes a run pause."""
    real: Callable[..., Any] = journal.after

    def after(status: Any, x: Any) -> Any:
        return Status.PAUSING if isinstance(x, Said) else real(status, x)

    monkeypatch.setattr(journal, "after", after)


def _votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One vote is enough for everything."""
    real: Callable[..., Any] = journal._opened

    def opened(seq: int, record: Any) -> Any:
        row = real(seq, record)
        row.approvers = 1
        return row

    monkeypatch.setattr(journal, "_opened", opened)


def _chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal's chain is not a chain."""

    def chain(head: bytes, body: str) -> bytes:
        return b"x" * 32

    monkeypatch.setattr(journal, "chain", chain)


PLANTS: dict[str, Plant] = {
    "what a suspended body opens": _without(journal.Suspended),
    "what is asked": _without(journal.Asked),
    "what closes": _without(journal.Closed),
    "what an event closes": _without(journal.Emitted),
    "what parks": _without(journal.Parked),
    "what ends": _without(journal.RunCompleted),
    "a count": _count,
    "a status": _status,
    "the votes": _votes,
    "the chain": _chain,
}


@pytest.mark.unwatched
@pytest.mark.parametrize("defect", PLANTS)
async def test_rows_that_are_wrong_are_found_in_the_very_transaction(
    store: Store, defect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTS[defect](monkeypatch)
    with every_transaction() as oracle:
        with pytest.raises((AssertionError, StoreError), match=r"the journal means|hash chain"):
            await a_whole_life(store)
        assert len(oracle.failures) >= 1
    await store.close()


@pytest.mark.unwatched
@pytest.mark.parametrize("defect", [d for d in PLANTS if d not in ("the chain", "the votes", "what an event closes")])
async def test_rows_that_are_wrong_are_found_from_outside_too(
    store: Store, defect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTS[defect](monkeypatch)
    with pytest.raises(AssertionError, match="the journal means"):
        await a_whole_life(Watched(store))
    await store.close()


async def test_rows_that_are_right_pass_and_every_transaction_was_looked_at(store: Store, oracle: Oracle) -> None:
    await a_whole_life(Watched(store))
    assert oracle.checked == 13
    assert (await check_rows(store, "r1")).status == Status.COMPLETED
    await store.close()


async def test_a_transaction_that_was_taken_back_does_not_confuse_it(store: Store, oracle: Oracle) -> None:
    lease = await begin(store)
    with pytest.raises(Exception, match="completed"):
        await commit(store, lease, (), [approval(), RunCompleted(), Parked()])
    await commit(store, lease, (), [approval()])
    await store.deliver("r1", CancelAsked())
    assert not oracle.failures
    await store.close()


async def test_two_stores_may_have_a_run_of_the_same_name(oracle: Oracle) -> None:
    stores = [MemoryStore(), MemoryStore()]
    for n in range(3):
        for k, store in enumerate(stores):
            await (store.create(started(input=k)) if n == 0 else store.deliver("r1", Said(text=f"{k}{n}")))
    assert (oracle.checked, oracle.failures) == (6, [])


async def test_a_long_journal_is_not_folded_again_at_every_step(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjourn.core.state import State

    folded = 0
    real: Callable[..., None] = State.fold

    def fold(self: State, seq: int, record: Any, *, counts: bool = True) -> None:
        nonlocal folded
        folded += 1
        real(self, seq, record, counts=counts)

    monkeypatch.setattr(State, "fold", fold)
    store = MemoryStore()
    lease = await begin(store)
    for n in range(200):
        await commit(store, lease, [Stepped(call="1.0", key=str(n))])
    assert folded == 202
    await wait_for(store, approval(), run="r2")
    assert not oracle.failures
