"""A body that is still at work when its run is handed back: what it does then is nobody's error, and is not done twice."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, Bank, Kind, Place, cancelled, program

from adjourn import Completed, Misused, StoreError, ToolContext
from adjourn.bodies import retries
from adjourn.core.records import Asked, Faulted, Returned
from adjourn.driver import commit_retry as landing
from adjourn.driver import unfinished_bodies as flights
from adjourn.driver.fence import Fence
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Lease


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "BACKOFF", 0.001)
    monkeypatch.setattr(landing, "FIRST", 0.001)


@pytest.mark.parametrize("kind", KINDS)
async def test_steps_that_cannot_be_recorded_any_more_are_not_the_tools_error(kind: Kind, bank: Bank) -> None:
    """The thread goes on after its worker closed, and the next worker of this process waits for it."""
    place = Place(grace=0.05)

    def work(ctx: ToolContext) -> str:
        ctx.sync.step("one", bank.write, "one")
        bank.hold("between")
        ctx.sync.step("two", bank.write, "two")
        return "done"

    one = program(kind, work, effect="idempotent")
    async with place.runtime(one) as rt:
        await rt.start(one, "go", run_id="r")
        await bank.until("one")
    asyncio.get_running_loop().call_later(0.05, bank.gate("between").set)
    async with place.runtime(one) as rt:
        assert isinstance(await (await rt.get("r")).wait(LIMIT), Completed)
    assert [x.error for x in place.all(Returned)] == [""]
    assert bank.lines == ["one", "two"]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_undo_that_ends_after_its_time_is_not_run_again(kind: Kind, bank: Bank) -> None:
    place = Place()

    async def pay(ctx: ToolContext) -> str:
        bank.write("paid")
        return "paid"

    async def ask(ctx: ToolContext) -> None:
        ctx.pause_for("question", "go on?")

    def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("refund begins")
        bank.hold("refund")
        bank.write("refunded")

    one = program(kind, pay, ask, effect="unsafe", undo=refund, timeout=0.1)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        await run.cancel(by="ann")
        await place.until(Faulted)
        bank.gate("refund").set()
        assert len((await cancelled(run)).undone) == 1
    assert bank.count("refund begins") == bank.count("refunded") == 1
    assert not [x for x in place.all(Asked) if x.kind == "undo"]
    assert not [at for at in flights._unread if at.run == "r"]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
async def test_an_exit_inside_a_step_of_a_sync_body_ends_that_body_and_no_worker(
    kind: Kind, error: type[BaseException]
) -> None:
    place = Place()

    async def leaves() -> None:
        raise error(3)

    def work(ctx: ToolContext) -> str:
        ctx.sync.step("one", leaves)
        return "never"

    one = program(kind, work, effect="idempotent")
    async with place.runtime(one) as rt:
        for run in ("r", "again"):
            await place.rests(await rt.start(one, "go", run_id=run))


async def test_a_step_in_a_loop_of_the_bodys_own_is_refused_before_it_acts(bank: Bank) -> None:
    place = Place()

    def work(ctx: ToolContext) -> str:
        async def inside() -> None:
            await ctx.step("one", bank.write, "one")

        asyncio.run(inside())
        return "never"

    one = program("tool", work, effect="idempotent")
    async with place.runtime(one) as rt:
        what, words = await place.ends(await rt.start(one, "go", run_id="r"))
    assert (what, Misused.__name__ in words or "not the run's event loop" in words) == ("error", True)
    assert bank.lines == []


class Away(MemoryStore):
    """A store that cannot be asked for a lease for a while."""

    failures = 2

    async def renew(self, lease: Lease, ttl: float) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is not there")
        await super().renew(lease, ttl)


async def test_a_store_that_is_away_for_a_moment_is_not_the_tools_error(bank: Bank) -> None:
    place = Place(grace=5.0)
    place.store = store = Away()

    async def work(ctx: ToolContext) -> str:
        late(rt)
        await ctx.step("one", bank.write, "one")
        return "done"

    one = program("tool", work, effect="idempotent")
    async with place.runtime(one) as rt:
        assert await place.ends(await rt.start(one, "go", run_id="r")) == ("value", "done")
    assert (store.failures, bank.lines) == (0, ["one"])


def late(rt: Any) -> Fence:
    """The worker was out of touch, and its heart beats again: each of its runs is asked for once more."""
    fence = rt.worker.advancer.heartbeat.fence
    fence.keep(fence.mark(), late=True)
    return fence


def in_a_thread(ctx: ToolContext, bank: Bank, meanwhile: Callable[[], None]) -> str:
    ctx.sync.step("one", bank.write, "one")
    meanwhile()
    ctx.sync.step("two", bank.write, "two")
    return "done"


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("taken", [True, False])
async def test_a_heartbeat_that_comes_too_late_opens_no_run_that_another_has_taken(
    sync: bool, taken: bool, bank: Bank
) -> None:
    place, loop = Place(), asyncio.get_running_loop()

    async def frozen() -> None:
        if taken:
            assert await place.store.acquire("r", "thief", 1e6, replaces=rt.worker.id) is not None
        late(rt)

    def blocking(ctx: ToolContext) -> str:
        return in_a_thread(ctx, bank, lambda: asyncio.run_coroutine_threadsafe(frozen(), loop).result(LIMIT))

    async def awaiting(ctx: ToolContext) -> str:
        await ctx.step("one", bank.write, "one")
        await frozen()
        await ctx.step("two", bank.write, "two")
        return "done"

    one = program("tool", blocking if sync else awaiting, effect="idempotent")
    async with place.runtime(one) as rt:
        await rt.start(one, "go", run_id="r")
        async with asyncio.timeout(LIMIT):
            while "one" not in bank.lines or rt.worker.drives("r"):
                await asyncio.sleep(0.002)
    assert bank.lines == (["one"] if taken else ["one", "two"])
