"""A fault at every operation of a store, of every kind: the run is taken up again, and the world sees each effect once."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn import Agent, Policy, ToolContext, allow, ask, tool
from adjourn.core.messages import ToolResult
from adjourn.core.records import CancelAsked, Command, Intended, Returned
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.loop import Drive
from adjourn.errors import Conflict, StoreError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.postgres import PostgresStore
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import Fault, Faulty, ScriptedModel, call, check_rows
from adjourn.testing.contract.fixtures import TTL, answer, started, yes
from adjourn.testing.wrapped_store import is_awaited

T = TypeVar("T")


@dataclass
class World:
    """What the tools do, seen from outside of any store: each line is an effect, with the key it was done under."""

    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def do(self, what: str, key: str) -> None:
        self.lines.append((what, key))

    def times(self, what: str) -> int:
        return sum(line[0] == what for line in self.lines)

    @property
    def effects(self) -> Counter[str]:
        """What a target sees that refuses a key it knows."""
        return Counter(what for what, _ in dict.fromkeys(self.lines))


def clerk(world: World) -> Agent[Any]:
    """Reads, charges (unsafe), notes (idempotent), asks, and can take back what it booked."""

    @tool(effect="read")
    async def look(ctx: ToolContext) -> str:
        world.do("look", ctx.idempotency_key)
        return "seen"

    @tool(effect="unsafe")
    async def charge(ctx: ToolContext) -> str:
        world.do("charge", ctx.idempotency_key)
        return "charged"

    @tool(effect="idempotent")
    async def note(ctx: ToolContext) -> str:
        world.do("note", ctx.idempotency_key)
        return "noted"

    async def unbook(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        world.do("unbook", ctx.idempotency_key)

    @tool(effect="idempotent", undo=unbook)
    async def book(ctx: ToolContext) -> str:
        world.do("book", ctx.idempotency_key)
        return "booked"

    @tool(effect="idempotent")
    async def plan_trip(ctx: ToolContext) -> str:
        first = await ctx.step("first", lambda: world.do("first", ctx.idempotency_key))
        size = ctx.pause_for("size", {"question": "how big?"}, resume_to="self")
        second = await ctx.step("second", lambda: world.do("second", ctx.idempotency_key))
        return f"{first} {size} {second}"

    replies = {
        "one effect": [[call("charge")]],
        "gated": [[call("look"), call("charge")]],
        "side by side": [[call("look"), call("charge"), call("note")]],
        "pauses": [[call("plan_trip")]],
        "cancelled": [[call("book")], [call("book"), call("plan_trip")]],
    }

    def reply(n: int) -> Callable[[Any], Any]:
        def made(messages: Any) -> Any:
            script = replies[messages[0].text]
            return script[n] if n < len(script) else "done"

        return made

    policy = Policy([allow("*"), ask("charge", reason="money")])
    return Agent(
        "clerk", model=ScriptedModel(*(reply(n) for n in range(3))),
        tools=[look, charge, note, book, plan_trip], policy=policy,
    )  # fmt: skip


class People:
    """They look at the inbox and at the world, and say the same again until they know that it was heard."""

    def __init__(self, world: World, script: str) -> None:
        self.world, self.script = world, script

    async def speak(self, store: Faulty) -> None:
        if self.script == "cancelled" and (await again(store, lambda: store.get("r1"))).status == Status.WAITING:
            await self.tell(store, CancelAsked(by="ana"), "cancel")
            return
        for found in await again(store, lambda: store.inbox(Filter(run="r1"))):
            i = found.id.removeprefix("r1:")
            match found.kind:
                case "approval":
                    assert found.call
                    await self.tell(store, yes(i, digest=found.call.digest), found.id)
                case "in_doubt":
                    assert found.call
                    happened = self.world.times(found.call.tool) > 0
                    choice = {"choice": "happened", "result": "charged"} if happened else {"choice": "run"}
                    await self.tell(store, answer(choice, i, digest=found.call.digest), found.id)
                case _:
                    await self.tell(store, answer("big", i), found.id)

    async def tell(self, store: Faulty, command: Command, request: str) -> None:
        try:
            await again(store, lambda: store.deliver("r1", command, request=request))
        except Conflict as e:  # the run has gone on meanwhile
            assert store.tripped, e


async def again(store: Faulty, work: Callable[[], Awaitable[T]]) -> T:
    """Do it until the store answers. Whoever gets no answer gives up and tries anew."""
    while True:
        doing = asyncio.ensure_future(work())
        hanging = asyncio.ensure_future(store.lost.wait())
        await asyncio.wait({doing, hanging}, return_when=asyncio.FIRST_COMPLETED)
        hanging.cancel()
        try:
            if doing.done():
                return doing.result()
        except StoreError:
            continue
        store.lost.clear()
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)


async def advance(store: Store, agent: Agent[Any], n: int) -> None:
    """What the n-th worker does, the first as any later one: take the run from the one before, fold its journal, drive."""
    lease = await store.acquire("r1", f"w{n}", TTL, replaces=f"w{n - 1}")
    if lease is not None:
        state = State().fold_all(lease.records)
        await Drive(store, agent.program, lease, state, ttl=TTL).run()
        assert state.seq == (await store.get("r1")).seq


async def live(store: Faulty, world: World, script: str) -> State:
    """A whole run with its people, whatever the store does."""
    agent, people, workers = clerk(world), People(world, script), itertools.count(1)
    await again(store, lambda: store.create(started(input=script, fingerprint=agent.fingerprint)))
    for _ in range(30):
        await again(store, lambda: advance(store, agent, next(workers)))
        if (await again(store, lambda: store.get("r1"))).status in ENDED:
            await store.settle()
            return await check_rows(store.store, "r1")
        await people.speak(store)
    raise AssertionError("the run does not come to its end")


@asynccontextmanager
async def backend(name: str, path: Path) -> AsyncGenerator[Store]:
    store: Store
    match name:
        case "memory":
            store = MemoryStore()
        case "sqlite":
            store = SQLiteStore(str(path))
        case _:
            store = PostgresStore(name)
    yield store
    await store.close()


EXPECTED: dict[str, dict[str, int]] = {
    "one effect": {"charge": 1},
    "gated": {"look": 1, "charge": 1},
    "side by side": {"look": 1, "charge": 1, "note": 1},
    "pauses": {"first": 1, "second": 1},
    "cancelled": {"book": 2, "first": 1, "unbook": 2},
}


def check_journal(state: State, records: list[Any], script: str) -> None:
    """Every call has one result, and no intent follows its result."""
    returned = Counter(r.call for r in records if isinstance(r, Returned))
    assert not [c for c, times in returned.items() if times > 1]
    done: set[str] = set()
    for r in records:
        assert not (isinstance(r, Intended) and r.call in done)
        if isinstance(r, Returned):
            done.add(r.call)
    assert state.status == (Status.CANCELLED if script == "cancelled" else Status.COMPLETED)
    if script != "cancelled":
        assert len([m for m in state.messages if isinstance(m, ToolResult)]) == {"gated": 2, "side by side": 3}.get(
            script, 1
        )


@pytest.mark.parametrize("on", ["memory", "sqlite"])
@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("script", EXPECTED)
async def test_a_run_survives_a_fault_at_every_operation(
    folder: Path, on: str, fault: Fault, script: str, request: pytest.FixtureRequest
) -> None:
    await survives(folder, on, fault, script, request)


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize(
    "script", ["gated", *(pytest.param(x, marks=pytest.mark.crash) for x in EXPECTED if x != "gated")]
)
async def test_a_run_in_postgresql_survives_a_fault_at_every_operation(
    folder: Path, fault: Fault, script: str, request: pytest.FixtureRequest, postgres: PostgresServer
) -> None:
    await survives(folder, "postgres", fault, script, request)


async def survives(folder: Path, on: str, fault: Fault, script: str, request: pytest.FixtureRequest) -> None:
    """Live once for each operation that may fail."""
    k = 0
    for k in itertools.count():
        place = request.getfixturevalue("postgres").fresh() if on == "postgres" else on
        async with backend(place, folder / f"{k}.db") as inner:
            world, store = World(), Faulty(inner, k, fault)
            state = await live(store, world, script)
            records = [record for _, record in await inner.load("r1")]
            where = f"{fault.value} at operation {k}: {store.operations[: k + 1]}"
            check_journal(state, records, script)
            assert dict(world.effects) == EXPECTED[script], where
            assert world.times("charge") <= 1, where  # without a key to refuse the second: once, whatever happened
            if not store.tripped:
                break
    assert k > 8


async def test_an_error_before_leaves_nothing_and_one_after_leaves_everything() -> None:
    for fault, seq in ((Fault.BEFORE, 1), (Fault.AFTER, 2)):
        inner = MemoryStore()
        store = Faulty(inner, 1, fault)
        await store.create(started())
        with pytest.raises(StoreError, match=fault.value):
            await store.deliver("r1", CancelAsked())
        assert ((await inner.get("r1")).seq, store.tripped) == (seq, True)


async def test_a_lost_answer_never_comes_although_it_happened() -> None:
    inner = MemoryStore()
    store = Faulty(inner, 0, Fault.LOST)
    doing = asyncio.ensure_future(store.create(started()))
    await asyncio.wait_for(store.lost.wait(), 5)
    assert not doing.done()
    assert (await inner.get("r1")).seq == 1
    doing.cancel()


def test_no_operation_that_is_awaited_goes_past_what_stands_around_a_store() -> None:
    handed_on = {"address", "channel", "guest_threads", "hear", "now", "pulse", "run_index", "snapshots", "subscribe"}
    assert {name for name in dir(Store) if not name.startswith("_") and not is_awaited(name)} == handed_on


async def test_what_is_late_happens_after_whatever_comes_next_and_a_stale_epoch_writes_nothing() -> None:
    inner = MemoryStore()
    store = Faulty(inner, 2, Fault.LATE)
    await store.create(started())
    old = await store.acquire("r1", "w1", TTL)
    assert old is not None
    with pytest.raises(StoreError):
        await store.commit(old, [Returned(call="1.0")], [], seen=2)
    assert (await inner.get("r1")).seq == 2
    assert await store.acquire("r1", "w2", TTL, replaces="w1")
    assert [type(r).__name__ for _, r in await inner.load("r1")] == ["Started", "Claimed", "Claimed"]
