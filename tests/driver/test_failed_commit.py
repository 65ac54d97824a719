"""A commit that fails, at every commit of a run, before or after it has landed: no result is lost, no body is cut."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, NOTHING, Kind

from adjourn import Agent, Flow, Runtime, StoreError, Tool, ToolContext
from adjourn.core.records import AnyRecord, Asked, Claimed, Doubted, Fact, Move, Returned, Said
from adjourn.driver import commit_retry as landing
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease
from adjourn.testing import FakeClock, ScriptedModel, call, env

MODES = [("before",), ("after",), ("before", "before"), ("after", "before"), ("after", "after"), ("before", "after")]
MANY = 10
"""More failures than one drive has patience for, with the grace of that test."""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing, "FIRST", 0.0005)


class Flaky(MemoryStore):
    """A store whose commits fail from the `at`-th on, in these ways, one after the other; a word may come before them."""

    def __init__(self, at: int = -1, modes: Sequence[str] = (), word: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.at, self.modes, self.word = at, list(modes), word
        self.commits = 0

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], **more: Any) -> Committed:
        n, self.commits = self.commits, self.commits + 1
        if n == self.at and self.word:
            await self.deliver(lease.run, Said(text="by the way"))
        if self.at < 0 or n < self.at or not self.modes:
            return await super().commit(lease, facts, moves, **more)
        if self.modes.pop(0) == "after":
            await super().commit(lease, facts, moves, **more)
        raise StoreError("the disk is not there")


class Work:
    """Two effects beside each other, one of them slow, and then one more."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.done: list[str] = []

    async def quick(self, ctx: ToolContext) -> str:
        self.began.append("quick")
        self.done.append("quick")
        return "quick"

    async def slow(self, ctx: ToolContext) -> str:
        self.began.append("slow")
        while "quick" not in self.done:
            await asyncio.sleep(0)
        await ctx.step("half", lambda: "half")
        for _ in range(60):
            await asyncio.sleep(0)
        self.done.append("slow")
        return "slow"

    async def last(self, ctx: ToolContext) -> str:
        self.began.append("last")
        self.done.append("last")
        return "last"

    def program(self, kind: Kind) -> Agent | Flow:
        bodies = [self.quick, self.slow, self.last]
        if kind == "tool":
            tools = [Tool(body.__name__, "Work.", NOTHING, body) for body in bodies]
            model = ScriptedModel([call("quick"), call("slow")], [call("last")], "done", "done", "done")
            return Agent("both", model=model, tools=tools)
        flow = Flow("both")
        chunks = [flow.chunk(name=body.__name__)(body) for body in bodies]
        flow.batch(quick=chunks[0], slow=chunks[1]).to(chunks[2])
        return flow


async def live(kind: Kind, store: Flaky) -> tuple[Work, list[AnyRecord]]:
    """A run from its beginning to its end."""
    work = Work()
    program = work.program(kind)
    async with Runtime(store, [program], grace=5.0) as rt:
        run = await rt.start(program, "go", run_id="r")
        async with asyncio.timeout(LIMIT):
            while (await store.get(run.id)).status.value not in ("completed", "waiting"):
                await asyncio.sleep(0.001)
    return work, [record for _, record in store.peek("r")]


async def live_by_a_clock(kind: Kind, at: int) -> tuple[Work, list[AnyRecord]]:
    """The same with a store that fails for longer than the grace. Only the clock's time counts: on a busy machine a try takes
    as long as it takes."""
    work, clock = Work(), FakeClock()
    store, program = Flaky(at, ["before"] * MANY, now=clock.now), work.program(kind)
    async with env([program], store=store, clock=clock, grace=0.01) as made, asyncio.timeout(LIMIT):
        run = await made.runtime.start(program, "go", run_id="r")
        while (await store.get(run.id)).status.value not in ("completed", "waiting"):
            await made.skip(0.001)
    return work, [record for _, record in store.peek("r")]


def shape(records: list[AnyRecord]) -> list[str]:
    return sorted(type(record).__name__ for record in records if not isinstance(record, Said))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("word", [False, True], ids=["", "word"])
async def test_a_failed_commit_changes_nothing(kind: Kind, modes: tuple[str, ...], word: bool) -> None:
    whole = Flaky()
    _, undisturbed = await live(kind, whole)
    for at in range(whole.commits):
        store = Flaky(at, modes, word)
        work, records = await live(kind, store)
        where = f"commit {at}"
        assert len(store.modes) < len(modes), where
        assert sorted(work.began) == sorted(work.done) == ["last", "quick", "slow"], where
        assert not [x for x in records if isinstance(x, Asked | Doubted)], where
        assert len([x for x in records if isinstance(x, Returned)]) == 3, where
        assert len([x for x in records if isinstance(x, Claimed)]) == 1, where
        if not word:
            assert shape(records) == shape(undisturbed), where
        assert type(records[-1]).__name__ == "RunCompleted", where


@pytest.mark.parametrize("kind", KINDS)
async def test_a_store_that_stays_away_longer_than_the_grace_is_given_up(kind: Kind) -> None:
    """Then the run is taken again: what was known is in the journal, what was in flight is in doubt, nothing runs twice."""
    whole = Flaky()
    await live(kind, whole)
    for at in range(1, whole.commits, 2):
        work, records = await live_by_a_clock(kind, at)
        assert len(work.began) == len(set(work.began)), f"commit {at}"
        claims = len([record for record in records if isinstance(record, Claimed)])
        assert 2 <= claims <= 4, f"commit {at}"
