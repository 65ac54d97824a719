"""The outbox is written with the event itself: whatever crashes in between, none is lost, and none tells of what did not happen."""

import asyncio
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.server.process import Process
from tests.server.test_streams import up
from tests.server.world import LIMIT, MAKERS, Client

from adjourn import Runtime, is_paused
from adjourn.core.records import Asked, RunCancelled, RunCompleted, Suspended
from adjourn.errors import AdjournError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.faults import Fault, Faulty

HOOK = Endpoint("hook", "webhook", "https://hook.example/", "whsec_" + "YQ" * 20)


async def happened(store: Store) -> Counter[tuple[str, str]]:
    """What the journals say should be told."""
    found: Counter[tuple[str, str]] = Counter()
    for row in await store.runs(Filter(limit=1000)):
        for _, record in await store.load(row.id):
            if isinstance(record, Asked | Suspended):
                found[row.id, "interrupt.opened"] += 1
            elif isinstance(record, RunCompleted | RunCancelled):
                found[row.id, f"run.{record.__struct_config__.tag}"] += 1
    return found


async def written(store: Store) -> Counter[tuple[str, str]]:
    """What will be told; each under an id of its own."""
    letters = await store.letters(limit=10_000)
    assert len({x.id for x in letters}) == len(letters)
    return Counter((x.run, x.topic) for x in letters if x.topic != "run.failed")


async def story(store: Store, seconds: float = LIMIT) -> None:
    """A run that asks, is approved, and ends."""
    async with Runtime(store, [MAKERS["refunds"]()], grace=0.1, lease=0.2) as rt:
        run = await rt.start(rt.programs["refunds"], "go", run_id="r1")
        async with asyncio.timeout(seconds):
            while is_paused(outcome := await run.wait()):
                await rt.approve(outcome.interrupts[0].id, by="ana", request_id="once")


@pytest.mark.parametrize("fault", list(Fault))
async def test_whichever_operation_fails_what_is_told_is_what_happened(fault: Fault) -> None:
    for at in range(200):
        store = MemoryStore()
        await store.endpoints(HOOK)
        faulty = Faulty(store, at, fault)
        try:
            telling = asyncio.ensure_future(story(faulty))
            lost = asyncio.ensure_future(faulty.lost.wait())
            await asyncio.wait({telling, lost}, return_when=asyncio.FIRST_COMPLETED)
            lost.cancel()
            telling.cancel()
            await telling
        except (AdjournError, asyncio.CancelledError):
            pass
        await faulty.settle()
        assert await written(store) == await happened(store), (at, faulty.operations)
        await story(store)  # somebody else goes on
        assert await written(store) == await happened(store), (at, faulty.operations)
        assert (await written(store))["r1", "run.completed"] == 1
        if not faulty.tripped:
            assert at > 5
            return
    raise AssertionError("it never came to its end")


async def test_a_process_that_is_killed_has_told_what_it_did_and_nothing_else(folder: Path) -> None:
    path = folder / "x.db"
    store = SQLiteStore(str(path))
    await store.endpoints(HOOK)
    await store.close()
    pauses = random.Random(7)
    for _ in range(3):
        server = await Process.begin(address=f"sqlite:///{path}", programs=["chatty", "refunds", "deployer"])
        async with Client(up(server), server.up["token"]) as admin:
            for name in ("chatty", "refunds", "deployer") * 3:
                await admin.start(name)
            await asyncio.sleep(pauses.uniform(0, 0.3))
            assert await server.end(signal.SIGKILL) == -signal.SIGKILL
        store = SQLiteStore(str(path))
        assert await written(store) == await happened(store)
        await store.close()


async def test_nothing_is_written_while_nobody_wants_to_know() -> None:
    store = MemoryStore()
    await story(store)
    assert await store.letters() == []
