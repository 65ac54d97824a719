"""Whatever changes between what people saw and what would run: no store takes the intent, whoever brings it."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from msgspec.structs import replace
from tests.authority.mutations import INTENDED_AT, MUTATIONS, Agreement, agreements
from tests.authority.world import STORES, a_store

from adjourn.core.records import AnyRecord, Claimed, Closed, Intended, Said, Started
from adjourn.errors import Unauthorised
from adjourn.stores.protocol import Lease, Store

EACH = 50
"""Agreements for each of some fifty mutations: more than two thousand mutants in each store."""
TTL = 60.0
NO_RECORDS = {"asked.kind", "decided.verdict", "not genuine"}
"""Mutations that cannot be written down at all; whose signatures count is the worker's to know (`test_signed`)."""

pytestmark = pytest.mark.unwatched  # forged journals: their rows need not be their fold


class Moment:
    """A clock that is set."""

    def __init__(self) -> None:
        self.at = INTENDED_AT

    def now(self) -> float:
        return self.at


def journal(a: Agreement) -> Iterator[AnyRecord]:
    """The records that lead to it, behind `Started`: what was asked, who shaped the run, who agreed."""
    yield Claimed(epoch=1, worker="w0", at=1.0)
    yield from (Said(text="more", by=name, at=1.0) for name in sorted(a.requesters))
    carried = [x for x in a.decisions if x.i in a.asked.carries]
    for old in a.asked.carries:
        yield replace(a.asked, i=old, carries=())
        yield from (x for x in carried if x.i == old)
        yield Closed(i=old, why="void", at=a.asked.at)
    yield a.asked
    yield from (x for x in a.decisions if x not in carried)


async def brought(store: Store, a: Agreement) -> Lease:
    """A run with this journal, and the lease of a worker that has it."""
    await store.create(Started(run=a.run, kind="agent", program="clerk", at=1.0), list(journal(a)))
    lease = await store.acquire(a.run, "w1", TTL)
    assert lease is not None
    return lease


async def is_taken(store: Store, lease: Lease, intended: Intended, seen: int) -> bool:
    """Whether the store takes the intent. A worker may say what time it is; the store knows better."""
    before = await store.load(lease.run)
    try:
        await store.commit(lease, [], [intended], seen=seen)
    except Unauthorised:
        assert await store.load(lease.run) == before, "refused, and something was recorded"
        return False
    return True


async def would_run(store: Store, mutant: Agreement) -> bool:
    """Whether the store takes a mutant; one that was used before, a second time."""
    lease = await brought(store, mutant)
    if not mutant.spent:
        return await is_taken(store, lease, mutant.intended, lease.seq)
    assert await is_taken(store, lease, mutant.intended, lease.seq), "the first time"
    return await is_taken(store, lease, mutant.intended, lease.seq + 1)


def mutants(random: Random, name: str, agreed: list[Agreement]) -> list[Agreement]:
    """What this mutation makes of them, where it can."""
    made = [MUTATIONS[name](random, one) for one in agreed if not (name == "used" and is_for_the_run(one))]
    return [one for one in made if one is not None]


def is_for_the_run(agreed: Agreement) -> bool:
    """Whether it may be used again."""
    return all(x.scope == "run" for x in agreed.decisions)


@pytest.mark.parametrize("kind", STORES)
async def test_no_store_takes_an_intent_that_is_not_what_was_agreed_to(kind: str) -> None:
    moment, random, tried = Moment(), Random(kind), 0
    runs = agreements(random)
    async with a_store(kind, moment.now) as store:
        for name in (name for name in MUTATIONS if name not in NO_RECORDS):
            found = mutants(random, name, list(islice(runs, EACH)))
            assert found, f"{name} was not tried"
            tried += len(found)
            moment.at = max(mutant.now for mutant in found)
            taken = await asyncio.gather(*(would_run(store, mutant) for mutant in found))
            assert not any(taken), f"{name}: {found[taken.index(True)]}"
    assert tried > 2_000


@pytest.mark.parametrize("kind", STORES)
async def test_every_store_takes_an_intent_that_is_what_was_agreed_to(kind: str) -> None:
    """Else the test above would show nothing."""
    async with a_store(kind, Moment().now) as store:
        agreed = list(islice(agreements(Random(kind)), 200))
        assert all(await asyncio.gather(*(would_run(store, one) for one in agreed)))
