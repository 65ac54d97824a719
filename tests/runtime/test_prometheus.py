"""The numbers of a store and of a process, as Prometheus reads them."""

import asyncio
from pathlib import Path
from typing import Any

from tests.runtime.conftest import on_both
from tests.runtime.exposed import Numbers

from adjourn import Agent, Policy, Runtime, ToolContext, ask, is_paused, tool
from adjourn.core.messages import ModelRequest, Reply, Text
from adjourn.core.usage import Usage
from adjourn.driver.metrics import Histogram, Meter
from adjourn.runtime.announcer import EVERY
from adjourn.runtime.health_server import numbers
from adjourn.runtime.prometheus import counter, histogram, metrics_of
from adjourn.stores.fleet import WorkerCard
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call

SECONDS = 30.0
NAMED = {
    "adjourn_runs", "adjourn_interrupts_open", "adjourn_interrupt_wait_seconds", "adjourn_step_duration_seconds",
    "adjourn_ready_to_start_seconds", "adjourn_lease_takeovers", "adjourn_calls_in_doubt", "adjourn_undo",
    "adjourn_commit_seconds", "adjourn_outbox_letters", "adjourn_halts", "adjourn_store_bytes", "adjourn_tokens",
    "adjourn_cost_usd",
}  # fmt: skip


async def read(rt: Runtime) -> Numbers:
    return Numbers(await metrics_of(rt.store, rt.worker.advancer.meter))


def asker(name: str = "asker") -> Agent[str]:
    def pay_back(ctx: ToolContext, args: dict[str, Any], result: str | None) -> None: ...

    @tool(undo=pay_back)
    def pay() -> str:
        """Pay."""
        return "paid"

    return Agent(name, model=ScriptedModel([call("pay")], "done"), tools=[pay], policy=Policy([ask("pay")]))


@on_both
async def test_what_waits_who_works_and_what_is_halted_are_numbers(address: str) -> None:
    agent, odd = asker(), asker('od"d\\')
    async with Runtime(address, [agent]) as rt:
        run = await rt.start(agent, "x")
        await run.wait(SECONDS)
        await rt.halt("tool:pay", reason="a test", by="ana")
        await rt.store.roster(WorkerCard("w1", slots=4, running=1, draining=True, every=EVERY))
        async with Runtime(address, work=False) as desk:
            await desk.start(odd, "y")
        found = await read(rt)
        answer = await numbers(rt)()
    assert answer.status == 200
    assert Numbers(answer.body).kinds == found.kinds
    assert found.of("adjourn_interrupts_open", agent="asker", kind="approval") == 1
    assert found.of("adjourn_runs", agent="asker", status="waiting") == 1
    assert found.of("adjourn_halts") == 1
    assert found.of("adjourn_workers", state="draining") == 1
    assert (found.of("adjourn_worker_slots"), found.of("adjourn_worker_slots_used")) == (4, 1)
    assert found.of("adjourn_runs_ready", agent=odd.name) == 1
    assert found.of("adjourn_runs_unfit", agent=odd.name) == 1
    assert ("adjourn_ready_oldest_seconds", frozenset({("agent", odd.name)})) in found.values
    assert found.of("adjourn_outbox_letters", state="dead") == 0
    assert found.of("adjourn_store_bytes") > 0
    assert found.kinds.keys() >= NAMED


class Priced:
    """Says a word that costs something."""

    name = "priced"

    async def request(self, request: ModelRequest):
        yield Reply((Text(text="yes"),), Usage(1, 100, 7, 40, cost=0.25), "priced")


async def test_a_process_counts_steps_commits_tokens_and_how_long_people_took() -> None:
    clock = FakeClock()
    agent, priced = asker(), Agent("priced", model=Priced())
    runtime = Runtime(MemoryStore(clock.now), [agent, priced], lease=3600)
    runtime.clock = clock
    async with runtime as rt:
        waiting = await (await rt.start(agent, "x")).wait(SECONDS)
        assert is_paused(waiting)
        clock.advance(120)
        await rt.approve(waiting.interrupts[0].id, by="ana")
        assert (await (await rt.get(waiting.run_id)).wait(SECONDS)).status == "completed"
        assert (await (await rt.start(priced, "x")).wait(SECONDS)).status == "completed"
        found = await read(rt)
    steps = "adjourn_step_duration_seconds_count"
    assert (found.of(steps, kind="model"), found.of(steps, kind="call")) == (3, 1)
    assert found.of("adjourn_commit_seconds_count") >= 5
    assert found.of("adjourn_ready_to_start_seconds_count") == 3
    waits = "adjourn_interrupt_wait_seconds"
    assert found.of(f"{waits}_bucket", outcome="approve", le="60") == 0
    assert found.of(f"{waits}_bucket", outcome="approve", le="300") == 1
    assert found.of(f"{waits}_sum", outcome="approve") == 120
    assert found.of("adjourn_interrupts_opened_total", kind="approval") == 1
    ended = "adjourn_runs_ended_total"
    assert found.of(ended, agent="asker", status="completed") == 1
    tokens = "adjourn_tokens_total"
    used = [found.of(tokens, agent="priced", kind=kind) for kind in ("input", "output", "cache_read")]
    assert used == [100, 7, 40]
    assert found.of("adjourn_cost_usd_total", agent="priced") == 0.25
    assert (found.of("adjourn_lease_takeovers_total"), found.of("adjourn_calls_in_doubt_total")) == (0, 0)


async def test_a_decision_that_comes_late_does_not_count_for_the_ready_run_but_its_own_time_does() -> None:
    clock = FakeClock()
    agent = asker()
    store = MemoryStore(clock.now)
    async with Runtime(store, work=False) as desk:
        run = await desk.start(agent, "x")
        clock.advance(3)
        runtime = Runtime(store, [agent], lease=3600)
        runtime.clock = clock
        async with runtime as rt:
            assert is_paused(await (await rt.get(run.id)).wait(SECONDS))
            found = await read(rt)
    assert found.of("adjourn_ready_to_start_seconds_sum") == 3
    assert found.of("adjourn_ready_to_start_seconds_count") == 1


async def test_who_takes_a_run_from_a_dead_worker_counts_it_and_what_is_in_doubt(tmp_path: Path) -> None:
    clock = FakeClock()
    begun, never = asyncio.Event(), asyncio.Event()

    @tool(effect="unsafe")
    async def pay() -> str:
        """Pay."""
        begun.set()
        await never.wait()
        return "paid"

    agent = Agent("payer", model=ScriptedModel([call("pay")], "done"), tools=[pay], policy=Policy(default="allow"))
    store = MemoryStore(clock.now)
    first = Runtime(store, [agent], lease=10, grace=0.1)
    async with first as rt:
        run = await rt.start(agent, "x")
        await begun.wait()
        row = await store.get(run.id)
        lease = await store.acquire(run.id, "other", 10, replaces=row.worker)
        assert lease is not None and lease.lost and lease.ready_at == 0
        meter, state = Meter(), rt.worker.advancer.running[run.id].state
        meter.taken(lease, state)
        never.set()
    assert (meter.takeovers, meter.doubts) == (1, 1)
    assert meter.starts.count == 0


async def test_what_a_cancelled_run_undid_and_left_is_counted() -> None:
    agent = asker()
    async with Runtime("memory://", [agent]) as rt:
        waiting = await (await rt.start(agent, "x")).wait(SECONDS)
        assert is_paused(waiting)
        run = await rt.get(waiting.run_id)
        await run.cancel(by="ana")
        await run.wait(SECONDS)
        found = await read(rt)
    assert found.of("adjourn_runs_ended_total", agent="asker", status="cancelled") == 1
    assert found.of("adjourn_undo_total", outcome="undone") == 0
    assert found.of("adjourn_runs", agent="asker", status="cancelling") == 0


def test_a_histogram_counts_each_value_once_and_in_every_bucket_that_holds_it() -> None:
    found = Histogram((0.1, 1.0))
    for value in (0.1, 0.5, 7.0, -1.0):
        found.observe(value)
    read = Numbers(histogram("h_seconds", "Of a test.", {(("kind", 'a"b\\c\nd'),): found}))
    label = {"kind": 'a"b\\c\nd'}
    buckets = [read.of("h_seconds_bucket", {**label, "le": le}) for le in ("0.1", "1", "+Inf")]
    assert buckets == [2, 3, 4]
    assert (read.of("h_seconds_count", label), read.of("h_seconds_sum", label)) == (4, 7.6)
    assert read.kinds == {"h_seconds": "histogram"}


def test_a_counter_is_one_for_who_reads_it() -> None:
    read = Numbers(counter("c_total", "Of a test.", {(): 1e15 + 1}))
    assert (read.kinds, read.of("c_total")) == ({"c": "counter"}, 1e15 + 1)


async def test_a_process_whose_store_is_not_open_has_no_numbers() -> None:
    assert (await numbers(Runtime("memory://"))()).status == 503
