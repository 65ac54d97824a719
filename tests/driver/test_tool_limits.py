"""The tickets of a worker that died hold nobody up, whatever becomes of its run; those of one that lives are its own."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adjourn.core.call import Call
from adjourn.core.ids import WorkerId
from adjourn.core.plan import Step
from adjourn.driver import tool_limits as tool_limits_module
from adjourn.driver.process_identity import new_worker_id, retire
from adjourn.driver.tool_limits import RunTickets, ToolLimits
from adjourn.errors import StoreError
from adjourn.stores.memory.store import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.tickets import ToolLimit
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import TTL, begin, claim
from adjourn.testing.wrapped_store import WrappedStore

LIMITS = {"pay": ToolLimit(most=1), "ship": ToolLimit(most=1)}
PAY = [Step("1.0", "call", call=Call("1.0", "pay", {}))]
SHIP = [Step("1.0", "call", call=Call("1.0", "ship", {}))]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits in vain looks each time."""
    monkeypatch.setattr(tool_limits_module, "REAPED", 1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        found: Store = MemoryStore(clock.now)
    else:
        found = SQLiteStore(str(tmp_path / "a.db"), now=clock.now)
    yield found
    await found.close()


class Worker:
    """One that takes tickets for its runs."""

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name, self.limits = store, name, ToolLimits(LIMITS)

    async def run(self, id: str) -> RunTickets:
        lease = await begin(self.store, id, self.name)
        return RunTickets(self.store, lease, self.limits, lambda: None)


async def may_begin(tickets: RunTickets, start: list[Step] = PAY) -> bool:
    """Whether the call may, when it asks for the second time: before that it has looked."""
    await tickets.admit(start, ())
    return not (await tickets.admit(start, ())).calls


async def test_a_worker_elsewhere_keeps_its_ticket_as_long_as_its_heart_beats(store: Store, clock: FakeClock) -> None:
    held, waiting = await Worker(store, "elsewhere").run("r1"), await Worker(store, "w2").run("r2")
    assert await may_begin(held)
    clock.advance(TTL - 1)
    assert not await may_begin(waiting)
    clock.advance(1)
    assert await may_begin(waiting), "nobody has taken its run, and perhaps nobody can"


async def test_a_worker_whose_process_is_gone_keeps_none(store: Store) -> None:
    here = WorkerId.parse(new_worker_id())
    dead = WorkerId(here.machine, str(os.getpid()), "1", "0123abcd")
    held, waiting = await Worker(store, str(dead)).run("r1"), await Worker(store, "w2").run("r2")
    retire(str(here))
    assert await may_begin(held)
    assert await may_begin(waiting)


async def test_a_worker_that_has_ended_keeps_none_although_its_process_lives(store: Store) -> None:
    worker = new_worker_id()
    held, waiting = await Worker(store, worker).run("r1"), await Worker(store, "w2").run("r2")
    assert await may_begin(held)
    pulse = store.pulse()
    pulse.end(worker)
    pulse.close()
    assert await may_begin(waiting)
    retire(worker)


async def test_a_worker_that_lives_on_this_machine_keeps_its_ticket_however_much_time_has_passed(
    store: Store, clock: FakeClock
) -> None:
    worker = new_worker_id()
    held, waiting = await Worker(store, worker).run("r1"), await Worker(store, "w2").run("r2")
    assert await may_begin(held)
    clock.advance(3600)
    assert not await may_begin(waiting)
    retire(worker)


async def test_who_takes_the_run_over_later_waits_like_any_other(store: Store, clock: FakeClock) -> None:
    worker = new_worker_id()
    held, waiting = await Worker(store, "elsewhere").run("r1"), await Worker(store, worker).run("r2")
    assert await may_begin(held)
    clock.advance(TTL)
    assert await may_begin(waiting)
    again = RunTickets(store, await claim(store, "r1", "w3"), ToolLimits(LIMITS), lambda: None)
    await again.begin()
    assert not await may_begin(again)
    await waiting.close()
    assert await may_begin(again)
    retire(worker)


class Away(WrappedStore):
    """A store that does not answer those who stand in line, while it `is_away`."""

    is_away = False

    async def _around(self, name: str, work: Callable[[], Awaitable[Any]], *given: Any) -> Any:
        if self.is_away and name == "stand":
            raise StoreError("the store does not answer")
        return await work()


@pytest.mark.parametrize("start", [PAY, SHIP], ids=["the_same_tool", "another_tool"])
async def test_what_a_living_worker_could_not_give_back_it_does_while_others_of_its_runs_wait(
    store: Store, start: list[Step]
) -> None:
    """Else its run, that waits for a slot, has the ticket of those that have the slots."""
    away = Away(store)
    worker, other = Worker(away, new_worker_id()), Worker(store, new_worker_id())
    left, waiting, elsewhere = await worker.run("r1"), await worker.run("r2"), await other.run("r3")
    ships = await other.run("r4")
    assert await may_begin(left)
    assert await may_begin(ships, SHIP)
    away.is_away = True
    await left.close()
    away.is_away = False
    assert not await may_begin(elsewhere)
    await may_begin(waiting, start)
    await waiting.close()
    assert await may_begin(elsewhere)
    retire(worker.name)
    retire(other.name)
