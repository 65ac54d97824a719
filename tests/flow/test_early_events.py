"""An event that comes before anybody waits for it is not lost, and what it began does not begin again.

Every order in which events come and waits open must end alike: the enumeration puts an event at every moment of a run.
"""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.flow.world import execution, only, reloaded, settled, started
from tests.logs import ours
from tests.runtime.world import LIMIT

from adjourn import Execution, Flow, FlowContext, Runtime, testing
from adjourn.core.records import Closed, Decided, Emitted, Intended, Suspended
from adjourn.stores.memory import MemoryStore
from adjourn.stores.outbox import Endpoint


class Shop:
    """What was really booked, and a gate in the chunk that asks the provider for money."""

    def __init__(self) -> None:
        self.booked: list[Any] = []
        self.asked = asyncio.Event()
        self.go = asyncio.Event()


def paying(shop: Shop, **question: Any) -> Flow:
    """Asks a provider for money, then a person whether it came; the provider's webhook may be quicker than the question."""
    flow = Flow("paying")

    async def charge(ctx: FlowContext) -> None:
        shop.asked.set()
        await shop.go.wait()
        ctx.pause_for("payment", {"order": ctx.input}, resume_event="paid", **question)

    async def book(ctx: FlowContext) -> None:
        shop.booked.append(ctx.input)

    flow.to(charge)
    flow.when("paid").to(book)
    return flow


@pytest.fixture(params=["memory", "sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/runs.db"


async def test_a_quick_webhook_books_once_and_leaves_no_question(address: str) -> None:
    shop = Shop()
    flow = paying(shop)
    async with Runtime(address, [flow]) as rt:
        await rt.store.endpoints(Endpoint("ops", "webhook", "https://ops.example/"), by="root")
        run = await rt.start(flow, "A1", run_id="r")
        await shop.asked.wait()
        await run.emit("paid", 500, by="provider")
        shop.go.set()
        assert (await run.wait(LIMIT)).status == "completed"
        assert shop.booked == [500]
        closed = [x for _, x in await rt.store.load("r") if isinstance(x, Closed)]
        assert [(x.why, x.heard) for x in closed] == [("event", 1)]
        told = [letter.topic for letter in await rt.store.letters()]
        assert told == ["run.completed"], "nobody is told of a question that was settled before it could be seen"


@pytest.mark.parametrize("moment", ["before", "while it runs", "while it waits"])
async def test_whenever_the_event_comes_the_end_is_the_same(moment: str) -> None:
    shop, took = Shop(), list[Any]()
    flow = Flow("f")

    async def first(ctx: FlowContext) -> None:
        shop.asked.set()
        await shop.go.wait()

    async def wait(ctx: FlowContext) -> None:
        took.append(await ctx.wait_for("paid"))

    async def book(ctx: FlowContext) -> None:
        shop.booked.append(ctx.input)

    flow.to(first).to(wait)
    flow.when("paid").to(book)
    one = execution(flow)
    task = asyncio.ensure_future(one.start())
    await shop.asked.wait()
    if moment == "before":
        await one._store.deliver(one.run_id, Emitted(event="paid", value=7))
    shop.go.set()
    if moment == "while it runs":
        await one._store.deliver(one.run_id, Emitted(event="paid", value=7))
    await task
    if moment == "while it waits":
        await one.emit("paid", 7)
    await one.close()
    assert (took, shop.booked) == ([7], [7])


async def test_an_event_is_taken_once_and_the_next_wait_takes_the_next() -> None:
    flow = Flow("f")

    async def twice(ctx: FlowContext) -> None:
        ctx.state["took"] = [await ctx.wait_for("tick"), await ctx.wait_for("tick")]

    flow.to(hold).to(twice)
    one = await _with_early(flow, [("tick", 1), ("tick", 2), ("tick", 3)])
    assert one.state == {"took": [1, 2]}
    flow = Flow("f")
    flow.to(hold).to(twice)
    one = await _with_early(flow, [("tick", 1)])
    assert list(one.pending_interrupts.values())[0].kind == "event"
    await one.emit("tick", 2)
    assert one.state == {"took": [1, 2]}


async def hold(ctx: FlowContext) -> Any:
    """A chunk that lets its test speak before anything waits."""
    ctx.resources["inside"].set()
    await ctx.resources["go"].wait()
    return ctx.input


async def _with_early(flow: Flow, events: Sequence[tuple[str, Any]], value: Any = None) -> Execution:
    """An execution whose events all come while its first chunk runs."""
    inside, go = asyncio.Event(), asyncio.Event()
    one = execution(flow, resources={"inside": inside, "go": go})
    task = asyncio.ensure_future(one.start(value))
    await inside.wait()
    for event, sent in events:
        await one._store.deliver(one.run_id, Emitted(event=event, value=sent))
    go.set()
    await task
    return one


async def test_two_waits_at_once_take_two_events_in_their_order() -> None:
    flow = Flow("f")

    async def wait(ctx: FlowContext) -> Any:
        return await ctx.wait_for("paid")

    async def keep(ctx: FlowContext) -> None:
        ctx.state["took"] = ctx.input

    flow.to(hold).for_each(concurrency=1).to(wait).end_for_each().to(keep)
    one = await _with_early(flow, [("paid", "a"), ("paid", "b")], [1, 2])
    assert one.state == {"took": ["a", "b"]}
    flow = Flow("f")
    flow.to(hold).for_each().to(wait).end_for_each().to(keep)
    one = await _with_early(flow, [("paid", "a"), ("paid", "b")], [1, 2])
    assert one.state == {"took": ["a", "b"]}
    assert len([x for x in one.save().records if isinstance(x, Closed)]) == 2


async def test_a_chain_does_not_wait_for_the_event_that_began_it_nor_for_one_before() -> None:
    flow = Flow("f")

    async def wait(ctx: FlowContext) -> None:
        ctx.state.setdefault("took", []).append([ctx.input, await ctx.wait_for("paid")])

    async def idle(ctx: FlowContext) -> None:
        await ctx.wait_for("never")

    flow.to(idle)
    flow.when("paid").to(wait)
    one = await started(flow)
    await one.emit("paid", 1)
    assert "took" not in one.state
    await one.emit("paid", 2)  # for the first chain, and it begins a second one
    assert one.state == {"took": [[1, 2]]}
    await one.emit("paid", 3)
    assert one.state == {"took": [[1, 2], [2, 3]]}


async def test_an_answer_is_for_its_question_and_not_for_the_next_one_of_that_event() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", ctx.input, resume_event="answered")

    async def keep(ctx: FlowContext) -> None:
        ctx.state.setdefault("kept", []).append(ctx.input)

    flow.for_each(concurrency=1).to(ask).end_for_each()
    flow.when("answered").to(keep)
    one = await started(flow, [1, 2])
    first, second = one.pending_interrupts  # an element that waits holds no place
    await one.continue_with(first, "first")
    assert only(one) == second
    await one.continue_with(second, "second")
    assert await one.close() == {"kept": ["first", "second"]}


@pytest.mark.parametrize(
    ("event", "settles"),
    [
        (Emitted(event="paid", value=True, by="ana"), True),
        (Emitted(event="paid", value=True), True),
        (Emitted(event="paid", value=True, by="olga", decides=False), False),
        (Emitted(event="paid", value="perhaps", by="ana"), False),
        (Emitted(event="paid", value=True, by="paying"), False),
        (Emitted(event="paid", value=True, by="@expiry"), False),
        (Emitted(event="other", value=True, by="ana"), False),
    ],
    ids=lambda x: str(x)[:60],
)
async def test_an_early_event_settles_a_question_only_if_it_could_have_answered_it(
    event: Emitted, settles: bool
) -> None:
    shop = Shop()
    flow = paying(shop, answer_schema=bool)
    async with Runtime("memory://", [flow]) as rt:
        run = await rt.start(flow, "A1", run_id="r")
        await shop.asked.wait()
        await rt.store.deliver("r", event)
        shop.go.set()
        outcome = await run.wait(LIMIT)
        assert (outcome.status == "completed") is settles
        assert len(await rt.inbox()) == (not settles)


async def test_what_came_early_survives_a_save_and_the_death_of_the_worker() -> None:
    flow = Flow("f")

    async def wait(ctx: FlowContext) -> None:
        ctx.state["paid"] = await ctx.wait_for("paid")
        ctx.state["packed"] = await ctx.wait_for("packed")

    flow.to(hold).to(wait)
    one = await _with_early(flow, [("packed", "p")])
    one = reloaded(flow, one, resources={"inside": 1, "go": 1})
    await one.emit("paid", "q")
    assert await one.close() == {"paid": "q", "packed": "p"}


async def test_a_sub_flow_hears_what_came_from_outside_before_it_began() -> None:
    child = Flow("child")

    async def wait(ctx: FlowContext) -> Any:
        return await ctx.wait_for("paid")

    async def keep(ctx: FlowContext) -> None:
        ctx.state["took"] = ctx.input

    child.to(wait)
    flow = Flow("f")
    flow.to(hold).to(child).to(keep)
    one = await _with_early(flow, [("paid", 5)])
    assert one.state == {"took": 5}


async def test_the_graphs_own_event_reaches_those_who_wait_and_one_who_comes_later() -> None:
    flow = Flow("f")

    async def wait(ctx: FlowContext) -> None:
        ctx.state.setdefault("took", []).append(await ctx.wait_for("made"))

    async def make(ctx: FlowContext) -> int:
        await settled()
        return 3

    flow.to(wait)
    flow.to(wait)
    flow.to(make).emit("made")
    one = await started(flow)
    assert one.state == {"took": [3, 3]}


async def test_an_event_that_came_in_time_wins_over_a_deadline_that_is_over() -> None:
    inside, go = asyncio.Event(), asyncio.Event()
    flow = Flow("late")

    async def wait(ctx: FlowContext) -> None:
        inside.set()
        await go.wait()
        ctx.state["took"] = await ctx.wait_for("paid", expires_in=60)

    flow.to(wait)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow)
        await inside.wait()
        await run.emit("paid", 1, by="provider")
        await run.pause(by="ana")
        go.set()
        await run.wait(LIMIT)
        await env.skip(61)
        await run.resume(by="ana")
        assert (await run.wait(LIMIT)).output == {"took": 1}


class Speaking(MemoryStore):
    """A store in which somebody sends events right before commits of these numbers."""

    def __init__(self, events: Sequence[tuple[int, str]]) -> None:
        super().__init__()
        self.events = list(events)
        self.commits = 0

    async def commit(self, *args: Any, **options: Any) -> Any:
        for event in [event for at, event in self.events if at == self.commits]:
            await self.deliver("r", Emitted(event=event, value=event, by="provider"))
        self.commits += 1
        return await super().commit(*args, **options)


async def _told_at(events: Sequence[tuple[int, str]]) -> tuple[Any, list[Any], int]:
    """A run that waits twice, in chunks and in between; what it took, what was booked, and how many commits it had."""
    booked: list[Any] = []
    flow = Flow("f")

    async def first(ctx: FlowContext) -> None:
        ctx.state["first"] = await ctx.wait_for("a")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("payment", resume_event="b")

    async def book(ctx: FlowContext) -> None:
        booked.append(ctx.input)

    flow.to(first).to(hop).to(ask)
    flow.when("a").to(book)
    flow.when("b").to(book)
    store = Speaking(events)
    async with Runtime(store, [flow]) as rt:
        run = await rt.start(flow, run_id="r")
        outcome = await run.wait(LIMIT)
        late, store.events = [event for at, event in events if at >= store.commits], []
        for event in late:
            await run.emit(event, event, by="provider")
            outcome = await run.wait(LIMIT)
    return outcome.output if outcome.status == "completed" else outcome.status, sorted(booked), store.commits


async def hop(ctx: FlowContext) -> None:
    """A chunk between two waits."""


async def test_at_every_commit_of_a_run_two_events_are_heard_once_each() -> None:
    _, _, commits = await _told_at([(0, "a"), (0, "b")])
    assert commits > 3
    for one, other in itertools.product(range(commits + 2), repeat=2):
        output, booked, _ = await _told_at([(one, "a"), (other, "b")])
        assert (output, booked) == ({"first": "a"}, ["a", "b"]), f"a before commit {one}, b before commit {other}"


async def test_what_was_sent_to_the_original_answers_no_question_of_a_fork() -> None:
    flow = Flow("f")

    @flow.chunk(effect="read")
    async def look(ctx: FlowContext) -> Any:
        return await ctx.wait_for("looked")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("payment", resume_event="paid")

    async def book(ctx: FlowContext) -> None:
        ctx.state.setdefault("booked", []).append(ctx.input)

    flow.to(look).to(ask)
    flow.when("paid").to(book)
    async with Runtime("memory://", [flow]) as rt:
        run = await rt.start(flow, run_id="r")
        await run.wait(LIMIT)
        await run.emit("paid", 1, by="ana")
        await run.wait(LIMIT)
        fork = await run.fork(run_id="fork", by="ben")
        for one in (run, fork):
            await one.emit("looked", by="ana")
        assert (await run.wait(LIMIT)).output == {"booked": [1]}
        assert (await fork.wait(LIMIT)).status == "waiting"
        [question] = await rt.inbox()
        assert question.run_id == "fork"
        again = await run.fork(run_id="again", by="ben")
        assert (await again.wait(LIMIT)).status == "waiting", "what settled the question is not carried over"


async def test_a_flow_that_only_handles_events_keeps_none_of_them() -> None:
    flow = Flow("f")

    async def count(ctx: FlowContext) -> None:
        ctx.state["n"] = ctx.state.get("n", 0) + 1

    flow.when("tick").to(count)
    one = await started(flow)
    for n in range(20):
        await one.emit("tick", n)
    assert one.state == {"n": 20}
    state = one._now()
    assert state.flow is not None and state.flow.heard == []


async def test_a_person_who_was_quicker_than_the_worker_has_answered() -> None:
    """The question is settled by a move: whoever answers first wins, and nothing is booked twice."""
    shop = Shop()
    flow = paying(shop)
    store = MemoryStore()
    async with Runtime(store, [flow]) as rt:
        run = await rt.start(flow, "A1", run_id="r")
        await shop.asked.wait()
        await run.emit("paid", 1, by="provider")
        plain = store.commit
        spoke = False

        async def commit(lease: Any, facts: Any, moves: Any, **options: Any) -> Any:
            nonlocal spoke
            if not spoke and any(isinstance(move, Closed) for move in moves):
                spoke = True
                done = await plain(lease, facts, [], **options)  # the question lands alone, and ana is at her desk
                asked = next(x for x in facts if isinstance(x, Suspended))
                await store.deliver("r", Decided(i=asked.i, verdict="value", value=2, by="ana"))
                return type(done)(done.records, done.seq, False, done.halts)
            return await plain(lease, facts, moves, **options)

        store.commit = commit  # type: ignore[method-assign]
        shop.go.set()
        assert (await run.wait(LIMIT)).status == "completed"
        records = [x for _, x in await store.load("r")]
        assert shop.booked == [1, 2], "ana was asked, and she said that it was paid again"
        assert not [x for x in records if isinstance(x, Closed)]
        assert len([x for x in records if isinstance(x, Intended) and x.tool == "book"]) == 2


async def test_an_event_that_nothing_hears_is_warned_of_once_when_the_chunk_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def asking(heard: bool) -> Flow:
        flow = Flow(f"asks-{heard}")

        async def ask(ctx: FlowContext) -> None:
            ctx.pause_for("q", resume_event="approvd")

        flow.to(ask)
        if heard:
            flow.when("approvd").to(hop)
        return flow

    for heard in (True, False, False):
        await started(asking(heard))
    [warning] = [x.getMessage() for x in ours(caplog) if x.name == "adjourn.flow"]
    assert (
        "chunk 'ask' of flow 'asks-False' waits with resume_event='approvd', but no when('approvd') listens for it"
    ) in warning
