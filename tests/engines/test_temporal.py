"""What only Temporal has: workflows that begin anew, and versions of workers. A real server, and its own words about both."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError
from tests.engines.temporal_server import TemporalServer, temporal
from tests.engines.world import counts
from tests.runtime.world import Ledger, refunds

from adjourn import Completed, Paused, Run, Runtime
from adjourn.core.records import Claimed
from adjourn.engines import temporal_workflow
from adjourn.engines.engine_host import EngineHost
from adjourn.engines.temporal import TemporalEngine
from adjourn.stores.memory import MemoryStore

__all__ = ["temporal"]  # a fixture

LIMIT, NEVER = 60.0, 600.0
QUEUES = count(1)


class Place:
    """A store, a task queue, and workers on both in this process. The sweep of none of them helps."""

    def __init__(self, server: TemporalServer, ledger: Ledger) -> None:
        self.address, self.queue = server.options["address"], f"place-{next(QUEUES)}"
        self.ledger, self.store = ledger, MemoryStore()
        self.stack = AsyncExitStack()
        self.engine = TemporalEngine(self.address, queue=self.queue)

    async def begin(self, build: str = "") -> Runtime:
        """One more worker."""
        options: dict[str, Any] = {"resources": {"ledger": self.ledger}, "work": False}
        programs = [counts(self.ledger), refunds(self.ledger)]
        runtime = await self.stack.enter_async_context(Runtime(self.store, programs, **options))
        engine = TemporalEngine(self.address, queue=self.queue, build=build)
        await self.stack.enter_async_context(EngineHost(runtime, engine, patience=NEVER, hold=1.0))
        return runtime

    def workflow(self, run: Run[Any]) -> WorkflowHandle[Any, Any]:
        """Of a run, in Temporal; of those that followed each other the last."""
        return self.engine.client.get_workflow_handle(f"{self.queue}/{run.id}")

    async def make_current(self, build: str) -> None:
        """What an operator does in a deploy: from now on this version gets workflows."""
        asked = SetWorkerDeploymentCurrentVersionRequest(
            namespace=self.engine.client.namespace, deployment_name=self.queue, build_id=build
        )
        async with asyncio.timeout(LIMIT):
            while True:
                try:
                    await self.engine.client.workflow_service.set_worker_deployment_current_version(asked)
                    return
                except RPCError:  # it does not know that version yet
                    await asyncio.sleep(0.1)


@pytest.fixture
async def place(temporal: TemporalServer, tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(temporal, Ledger(tmp_path / "ledger"))
    await made.engine.open()
    async with made.stack:
        yield made
    await made.engine.close()


async def waiting(runtime: Runtime, ledger: Ledger) -> tuple[Run[Any], str]:
    """A run that waits for an approval, and what that is about."""
    run = await runtime.start(refunds(ledger), "go")
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused), outcome
    return run, outcome.interrupts[0].id


async def ended(workflow: WorkflowHandle[Any, Any]) -> None:
    async with asyncio.timeout(LIMIT):
        while (await workflow.describe()).status is WorkflowExecutionStatus.RUNNING:
            await asyncio.sleep(0.05)
    assert (await workflow.describe()).status is WorkflowExecutionStatus.COMPLETED


async def test_a_run_that_is_parked_for_long_begins_anew_in_temporal_and_its_answer_counts_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporal_workflow, "LONG", timedelta(seconds=0.3))
    runtime = await place.begin()
    run, item = await waiting(runtime, place.ledger)
    workflow, seen, before = place.workflow(run), set[str | None](), (await place.store.get(run.id)).seq
    async with asyncio.timeout(LIMIT):
        while len(seen) < 4:
            found = await workflow.describe()
            seen.add(found.run_id)
            assert found.history_length < 30, "each of them has a history of its own"
            await asyncio.sleep(0.05)
    assert (await place.store.get(run.id)).seq == before, "of that there is nothing in the journal"
    await runtime.approve(item, by="ana")
    assert isinstance(await run.wait(LIMIT), Completed)
    await ended(workflow)
    assert Counter(place.ledger.lines()) == {f"refund {run.id} A1 500": 1}


async def test_a_run_that_is_woken_again_and_again_begins_anew_in_temporal_and_loses_no_wake(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporal_workflow, "EVENTS", 40)
    runtime = await place.begin()
    run, item = await waiting(runtime, place.ledger)
    workflow = place.workflow(run)
    first = (await workflow.describe()).run_id
    async with asyncio.timeout(LIMIT):
        while (await workflow.describe()).run_id == first:
            await place.engine.wake(run.id)
    await runtime.approve(item, by="ana")
    assert isinstance(await run.wait(LIMIT), Completed)
    await ended(workflow)
    assert Counter(place.ledger.lines()) == {f"refund {run.id} A1 500": 1}


async def advanced_by(place: Place, run: Run[Any]) -> set[str]:
    """The workers that have had a run."""
    return {record.worker for _, record in await place.store.load(run.id) if isinstance(record, Claimed)}


async def counted(place: Place, runtime: Runtime) -> set[str]:
    """Who advances a run that begins now."""
    run = await runtime.start(counts(place.ledger), "go")
    assert isinstance(await run.wait(LIMIT), Completed)
    return await advanced_by(place, run)


async def test_temporal_gives_runs_to_the_version_of_workers_that_is_current_also_those_that_wait(place: Place) -> None:
    old = await place.begin("1")
    await place.make_current("1")
    new = await place.begin("2")
    run, item = await waiting(old, place.ledger)
    assert await advanced_by(place, run) == {old.worker.id}
    await place.make_current("2")
    async with asyncio.timeout(LIMIT):
        while await counted(place, old) != {new.worker.id}:  # the server spreads the word
            pass
    await old.approve(item, by="ana")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert await advanced_by(place, run) == {old.worker.id, new.worker.id}
    assert Counter(place.ledger.lines())[f"refund {run.id} A1 500"] == 1
