"""Two who meet at one run, or at a halt: one of them is stopped at each of its messages while the other does all of its own.

A race that lasts as long as one write to the disk is not found by trying often: it is made.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest
from tests.stores.postgres.gate import Gate
from tests.stores.postgres.server import PostgresServer

from adjourn.core.records import CancelAsked, Intended, Parked, RunCompleted, Said, Stepped
from adjourn.core.status import Status
from adjourn.errors import AdjournError, RunErased
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Lease
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import TTL, claim, commit, started
from adjourn.testing.contract.fixtures import begin as begun

pytestmark = pytest.mark.unwatched  # who is stopped inside a transaction holds a lock that the oracle would wait for

MOST = 12
"""More messages than any of these verbs sends."""


class Meeting:
    """Somebody whose messages can be held, and somebody else on the same database."""

    def __init__(self, gate: Gate, held: PostgresStore, other: PostgresStore) -> None:
        self.gate, self.held, self.other = gate, held, other

    async def at_every_message(
        self, slow: Callable[[str], Awaitable[Any]], fast: Callable[[str], Awaitable[Any]],
        begin: Callable[[str], Awaitable[Any]], end: Callable[[str, Any, Any], Awaitable[None]],
    ) -> int:  # fmt: skip
        """`slow` is stopped before its message number 0, 1, 2 …; then `fast` begins; then `slow` goes on. How many there were."""
        for at in range(MOST):
            run = f"r{at}"
            await begin(run)
            self.gate.hold(at)
            first = asyncio.ensure_future(_told(slow(run)))
            stopped = await self.gate.reached(first)
            second = asyncio.ensure_future(_told(fast(run)))
            # Either it is done, or it waits for a lock that the other holds: both are what is to be tried here.
            await asyncio.wait({second}, timeout=0.2)
            self.gate.open()
            await end(run, await first, await second)
            if not stopped:
                return at
        raise AssertionError("it never came to its end")


async def _told(work: Awaitable[Any]) -> Any:
    """What came of it, or why it was refused."""
    try:
        return await work
    except AdjournError as e:
        return e


@pytest.fixture(params=["compared", "locked"])
async def meeting(postgres: PostgresServer, request: pytest.FixtureRequest) -> AsyncIterator[Meeting]:
    address = postgres.fresh()
    with Gate(address) as gate:
        held = PostgresStore(gate.address, compares=request.param == "compared")
        other = PostgresStore(address, compares=request.param == "compared")
        yield Meeting(gate, held, other)
        await held.close()
        await other.close()


async def test_a_park_and_a_word_cross_and_the_word_is_never_left_behind(meeting: Meeting) -> None:
    leases: dict[str, Lease] = {}

    async def begin(run: str) -> None:
        await meeting.held.create(started(run))
        leases[run] = await claim(meeting.held, run)

    async def park(run: str) -> Any:
        return await meeting.held.commit(leases[run], [], [Parked()], seen=leases[run].seq)

    async def end(run: str, parked: Any, said: Any) -> None:
        row = await meeting.other.get(run)
        records = [type(record).__name__ for _, record in await meeting.other.load(run)]
        assert said in (3, 4) and records.count("Said") == 1
        if parked.clean:
            assert records == ["Started", "Claimed", "Parked", "Said"] and row.status == Status.READY and not row.worker
        else:
            assert records == ["Started", "Claimed", "Said"] and row.worker, "whoever drives it sees the word"
            assert [type(record) for _, record in parked.records] == [Said]
        await check_rows(meeting.other, run)

    asked = await meeting.at_every_message(park, lambda run: meeting.other.deliver(run, Said(text="hi")), begin, end)
    assert asked >= 1


async def test_a_word_and_a_park_cross_the_other_way_round(meeting: Meeting) -> None:
    leases: dict[str, Lease] = {}

    async def begin(run: str) -> None:
        await meeting.other.create(started(run))
        leases[run] = await claim(meeting.other, run)

    async def park(run: str) -> Any:
        return await meeting.other.commit(leases[run], [], [Parked()], seen=leases[run].seq)

    async def end(run: str, said: Any, parked: Any) -> None:
        row = await meeting.other.get(run)
        assert row.status == Status.READY
        assert bool(row.worker) == (not parked.clean)
        await check_rows(meeting.other, run)

    assert await meeting.at_every_message(lambda run: meeting.held.deliver(run, Said(text="hi")), park, begin, end) >= 2


async def test_no_intent_lands_behind_a_halt_that_was_acknowledged(meeting: Meeting) -> None:
    leases: dict[str, Lease] = {}
    order: list[str] = []

    async def begin(run: str) -> None:
        order.clear()
        await meeting.other.halt(f"agent:{run}", lift=True)
        await meeting.held.create(started(run, program=run))
        leases[run] = await claim(meeting.held, run)

    async def intend(run: str) -> Any:
        lease = leases[run]
        return await meeting.held.commit(lease, [], [Intended(call="1.0", tool="pay")], seen=lease.seq)

    async def halt(run: str) -> Any:
        found = await meeting.other.halt(f"agent:{run}", by="ana")
        order.append("halted")
        order.append("behind it" if (await meeting.other.get(run)).seq == 2 else "before it")
        return found

    async def end(run: str, done: Any, halted: Any) -> None:
        intended = [record for _, record in await meeting.other.load(run) if isinstance(record, Intended)]
        assert done.clean == bool(intended)
        if order == ["halted", "behind it"]:
            assert not intended, "somebody was told that nothing begins any more"
            assert done.halts == {f"agent:{run}"}
        await check_rows(meeting.other, run)

    assert await meeting.at_every_message(intend, halt, begin, end) >= 1


async def test_of_two_who_claim_one_has_it(meeting: Meeting) -> None:
    async def begin(run: str) -> None:
        await meeting.other.create(started(run, program=run))

    async def end(run: str, first: Any, second: Any) -> None:
        assert len(first) + len(second) == 1
        assert (await meeting.other.get(run)).epoch == 1

    async def mine(run: str) -> Any:
        return await meeting.held.claim([run], "w1", TTL, 10)

    async def theirs(run: str) -> Any:
        return await meeting.other.claim([run], "w2", TTL, 10)

    assert await meeting.at_every_message(mine, theirs, begin, end) >= 2


async def test_an_old_worker_writes_nothing_once_another_has_the_run(meeting: Meeting) -> None:
    leases: dict[str, Lease] = {}

    async def begin(run: str) -> None:
        await meeting.held.create(started(run))
        leases[run] = await claim(meeting.held, run)

    async def write(run: str) -> Any:
        return await meeting.held.commit(leases[run], [Stepped(call="1.0", key="a")], [], seen=leases[run].seq)

    async def rob(run: str) -> Any:
        return await meeting.other.acquire(run, "w2", TTL, replaces="w1")

    async def end(run: str, wrote: Any, robbed: Any) -> None:
        records = [type(record).__name__ for _, record in await meeting.other.load(run)]
        fact = "Stepped" in records
        assert fact == (not isinstance(wrote, AdjournError))
        assert records == ["Started", "Claimed", *(["Stepped"] if fact else []), "Claimed"]
        await check_rows(meeting.other, run)

    assert await meeting.at_every_message(write, rob, begin, end) >= 1


async def test_of_two_who_end_a_run_one_does(meeting: Meeting) -> None:
    leases: dict[str, Lease] = {}

    async def begin(run: str) -> None:
        await meeting.held.create(started(run))
        leases[run] = await claim(meeting.held, run)

    async def complete(run: str) -> Any:
        return await meeting.held.commit(leases[run], [], [RunCompleted()], seen=leases[run].seq)

    async def cancel(run: str) -> Any:
        return await meeting.other.deliver(run, CancelAsked())

    async def end(run: str, completed: Any, cancelled: Any) -> None:
        row = await meeting.other.get(run)
        if completed.clean:
            assert row.status == Status.COMPLETED and isinstance(cancelled, AdjournError)
        else:
            assert row.status == Status.CANCELLING and row.worker
        await check_rows(meeting.other, run)

    assert await meeting.at_every_message(complete, cancel, begin, end) >= 1


async def test_of_two_turns_that_begin_with_the_last_of_a_session_one_does(meeting: Meeting) -> None:
    async def begin(run: str) -> None:
        return None

    def turn(store: PostgresStore, name: str) -> Callable[[str], Awaitable[Any]]:
        async def start(run: str) -> Any:
            return await store.create(started(f"{run}{name}", session=run, options={"after": "session"}))

        return start

    async def end(run: str, first: Any, second: Any) -> None:
        assert sorted(isinstance(one, AdjournError) for one in (first, second)) == [False, True]

    assert await meeting.at_every_message(turn(meeting.held, "a"), turn(meeting.other, "b"), begin, end) >= 2


@pytest.mark.parametrize("slow", ["copy", "erasure"])
async def test_a_copy_of_a_run_begins_before_it_is_erased_or_not_at_all(meeting: Meeting, slow: str) -> None:
    found: dict[str, bool] = {}

    async def begin(run: str) -> None:
        await commit(meeting.other, await begun(meeting.other, run), (), [RunCompleted()])

    def copying(store: PostgresStore) -> Callable[[str], Awaitable[Any]]:
        async def copy(run: str) -> Any:
            return await store.create(started(f"{run} again", options={"again_of": run}))

        return copy

    def erasing(store: PostgresStore) -> Callable[[str], Awaitable[Any]]:
        async def erase(run: str) -> Any:
            done = await store.erase(run, by="dpo", reason="request 7")
            found[run] = bool(await store.audit(f"{run} again", limit=1))
            return done

        return erase

    async def end(run: str, first: Any, second: Any) -> None:
        copied, erased = (first, second) if slow == "copy" else (second, first)
        assert not isinstance(erased, AdjournError)
        assert copied is True if found[run] else isinstance(copied, RunErased)

    both = (copying(meeting.held), erasing(meeting.other))
    if slow == "erasure":
        both = (erasing(meeting.held), copying(meeting.other))
    assert await meeting.at_every_message(*both, begin, end) >= 1


async def test_a_halt_waits_for_an_intent_that_is_being_written(meeting: Meeting, postgres: PostgresServer) -> None:
    """The intent has seen that there is no halt, and waits for its row: the halt is not acknowledged before it has landed."""
    await meeting.held.create(started("r"))
    lease = await claim(meeting.held, "r")
    with psycopg.connect(meeting.other.address) as blocker:
        blocker.execute("select 1 from adjourn.run where id = 'r' for update")
        intent = [Intended(call="1.0", tool="pay")]
        intended = asyncio.ensure_future(meeting.held.commit(lease, [], intent, seen=lease.seq))
        await until_waiting(blocker, 1)
        halted = asyncio.ensure_future(meeting.other.halt("*", by="ana"))
        await until_waiting(blocker, 2)
        assert not halted.done(), "it was acknowledged, and an intent is still on its way"
        blocker.rollback()
    done = await intended
    await halted
    assert done.clean and not done.halts
    assert not (await meeting.held.commit(lease, [], intent, seen=done.seq)).clean


async def until_waiting(db: psycopg.Connection[Any], count: int) -> None:
    """Return when so many transactions of this database wait for a lock, or fail."""
    sql = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(5):
        while True:
            with psycopg.connect(db.info.dsn) as looking:
                if (looking.execute(sql).fetchone() or (0,))[0] >= count:
                    return
            await asyncio.sleep(0.01)
