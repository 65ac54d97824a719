"""An upgrade says how records are read, and changes nothing that has happened; a store takes no other."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adjourn import Agent, Policy, Refused, Runtime, ToolContext, ask, register_upgrader, tool
from adjourn.core.journal_authority import violations
from adjourn.core.records import AnyRecord, Asked, Closed, Decided, Intended, Replied, Returned, Started, Upgraded
from adjourn.core.state import State
from adjourn.core.upgrade_rule import flaw, objections
from adjourn.errors import Invalid
from adjourn.runtime.upgraders import upgrade_of
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Lease, Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.scripted import ScriptedModel, call

LIMIT = 20


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(str(tmp_path / "a.db"))
    yield made
    await made.close()


def clerk(name: str) -> Agent:
    async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None: ...

    @tool(name=name, undo=take_back)
    async def pay(cents: int) -> str:
        """Pay."""
        return f"paid {cents}"

    words = [[call(name, cents=5)], [call(name, cents=6), call(name, cents=7)]]
    policy = Policy([ask(name)], default="allow")
    return Agent("clerk", model=ScriptedModel(*words, "done"), tools=[pay], policy=policy)


async def waiting(store: Store) -> None:
    """One payment is done; of two more one is approved and the other asked for, and somebody has paused it."""
    agent = clerk("transfer")
    async with Runtime(store, [agent]) as rt:
        run = await rt.start(agent, "go", run_id="r1", by="eve")
        await run.wait(LIMIT)
        [item] = await rt.inbox(run="r1")
        await rt.approve(item.id, by="ana")
        await run.wait(LIMIT)
        await run.pause(by="ana")
        await rt.approve((await rt.inbox(run="r1"))[0].id, by="ben")


async def held(store: Store) -> tuple[Lease, list[AnyRecord]]:
    await waiting(store)
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).resume(by="ana")
    lease = await store.acquire("r1", "a worker", 60)
    assert lease is not None
    return lease, [record for _, record in await store.load("r1")]


def rename(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
    for named in [*records, *(part for record in records for part in record.get("parts", ()))]:
        named.update({"tool": "pay"} if named.get("tool") == "transfer" else {})
    return records


def honest(records: list[AnyRecord]) -> list[Upgraded | Closed]:
    register_upgrader("clerk", rename)
    try:
        state = State().fold_all(list(enumerate(records, 1)))
        return upgrade_of(records, state, "clerk", clerk("pay").fingerprint)
    finally:
        register_upgrader("clerk", None)


async def test_an_honest_one_is_taken_and_the_journal_stays_whole(store: Store) -> None:
    lease, records = await held(store)
    made = honest(records)
    assert [type(x) for x in made] == [Upgraded, Closed, Closed]
    done = await store.commit(lease, (), made, seen=len(records))
    assert done.clean and await store.verify() == []
    assert (await store.commit(lease, (), (), seen=done.seq)).clean
    after = [record for _, record in await store.load("r1")]
    assert list(objections(after)) == [] == list(violations(after))


async def test_one_that_has_not_seen_everything_does_not_land(store: Store) -> None:
    lease, records = await held(store)
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).say("wait", by="eve")
    done = await store.commit(lease, (), honest(records), seen=len(records))
    assert not done.clean
    assert not [x for _, x in await store.load("r1") if isinstance(x, Upgraded)]


def place(records: list[AnyRecord], kind: type[Any], nth: int = 0) -> str:
    return str([n for n, x in enumerate(records, 1) if isinstance(x, kind)][nth])


Forge = Callable[[Upgraded, list[AnyRecord]], Upgraded]


def saying(kind: type[Any], nth: int = 0, **fields: Any) -> Forge:
    """An upgrade that also says this of a record."""

    def forge(x: Upgraded, records: list[AnyRecord]) -> Upgraded:
        return msgspec.structs.replace(x, now={**x.now, place(records, kind, nth): fields})

    return forge


def fewer_calls(x: Upgraded, records: list[AnyRecord]) -> Upgraded:
    """The payment that is done would be none of this run's: nothing would undo it."""
    return saying(Replied, 0, parts=[])(x, records)


def fewer_asked(x: Upgraded, records: list[AnyRecord]) -> Upgraded:
    """A call that waits would be gone."""
    reply = next(x for x in reversed(records) if isinstance(x, Replied))
    return saying(Replied, -1, parts=[msgspec.to_builtins(reply.parts[0])])(x, records)


FORGED: dict[str, Forge] = {
    "another person decided": saying(Decided, 0, by="dan"),
    "they decided something else": saying(Decided, 1, verdict="deny"),
    "they were in other groups": saying(Decided, 0, groups=["directors"]),
    "they agreed for the whole run": saying(Decided, 0, scope="run"),
    "they agreed to other arguments": saying(Decided, 1, edit={"cents": 700}),
    "they were asked something else": saying(Asked, 1, args={"cents": 700}),
    "fewer people are needed": saying(Asked, 1, gate=[]),
    "another call was begun": saying(Intended, 0, call="9.9"),
    "what was begun only reads": saying(Intended, 0, effect="read"),
    "what was begun needs no undo": saying(Intended, 0, undo=False),
    "nobody had to agree": saying(Intended, 0, gate=[], grant=""),
    "it was called something else": saying(Intended, 0, tool="pay"),
    "it never ran": saying(Returned, 0, ran=False),
    "it failed": saying(Returned, 0, error="no"),
    "somebody else began it": saying(Started, 0, by="dan"),
    "with other people before it": saying(Started, 0, requesters=["dan"]),
    "it is another run": saying(Started, 0, run="r2"),
    "the model said something else": saying(Replied, 0, parts=[{"type": "text", "text": "hello"}]),
    "a call that is done is gone": fewer_calls,
    "a call that waits is gone": fewer_asked,
    "a record that is not there": lambda x, records: msgspec.structs.replace(x, now={"99": {"tool": "pay"}}),
    "a record that is no number": lambda x, records: msgspec.structs.replace(x, now={"one": {"tool": "pay"}}),
    "a record by another spelling": lambda x, records: msgspec.structs.replace(x, now={"01": {"graph": None}}),
    "no keys": lambda x, records: msgspec.structs.replace(x, began={}),
    "another key": lambda x, records: msgspec.structs.replace(x, began={"1.0": ("pay", {"cents": 5})}),
}


@pytest.mark.parametrize("forged", FORGED)
async def test_a_store_takes_none_that_changes_what_has_happened(store: Store, forged: str) -> None:
    lease, records = await held(store)
    first, *rest = honest(records)
    assert isinstance(first, Upgraded)
    false = FORGED[forged](first, records)
    for facts, moves in (((), (false, *rest)), ((false,), ())):
        with pytest.raises(Refused, match="upgrade"):
            await store.commit(lease, facts, moves, seen=len(records))  # type: ignore[arg-type]
    assert [record for _, record in await store.load("r1")] == records
    begun, *others = records
    assert isinstance(begun, Started)
    other = MemoryStore()
    with pytest.raises(Invalid, match="is not a valid upgrade"):
        await other.create(begun, [*others, false])
    assert flaw(records, false) and not flaw(records, first)


async def test_what_is_written_into_the_file_is_found_and_changes_no_decision(store: Store) -> None:
    """Whoever can write the file can write one that the store would refuse. Its words about decisions are not even read."""
    _, records = await held(store)
    first, *_ = honest(records)
    assert isinstance(first, Upgraded)
    false = saying(Decided, 1, by="dan", scope="run")(first, records)
    state = State().fold_all(list(enumerate([*records, false], 1)))
    assert {x.by for grant in state.grants.values() for x in grant.decisions} == {"ben"}
    assert [why for why in objections([*records, false]) if "'by' must stay as it was written" in why]


async def test_an_ended_run_takes_none(store: Store) -> None:
    lease, records = await held(store)
    made = honest(records)
    async with Runtime(store, work=False) as rt:
        await (await rt.get("r1")).cancel(by="ana")
    await store.release(lease)
    async with Runtime(store, [clerk("transfer")]) as rt:
        assert (await (await rt.get("r1")).wait(LIMIT)).status == "cancelled"
    last = await store.get("r1")
    late = Lease("r1", "a worker", last.epoch, last.seq, (), frozenset())
    with pytest.raises(Refused):
        await store.commit(late, (), made, seen=last.seq)
