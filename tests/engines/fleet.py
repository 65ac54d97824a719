"""Workers of one engine on one store, and what must hold for their runs."""

import asyncio
import json
import os
import platform
import signal
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from tests.engines.process import EngineWorker
from tests.engines.restate_server import RestateServer
from tests.engines.temporal_server import TemporalServer
from tests.engines.world import slowly
from tests.runtime.world import Ledger

from adjourn import Completed, Run, Runtime
from adjourn.core.ids import WorkerId
from adjourn.core.records import Intended, Returned

LEASE, LIMIT = 2.0, 60.0
ENGINES, STORES = ("restate", "temporal"), ("sqlite", "postgres")
EngineServer = TemporalServer | RestateServer
LOAD = round(os.getloadavg()[0], 1)
RESULTS = Path(__file__).parents[2] / "bench" / "results.json"


def keep(*names: str, found: Any) -> None:
    """Keep what a campaign saw for the page about capacity, where `make fleet-campaign` asks for it."""
    if "ADJOURN_KEEP_FIGURES" not in os.environ:
        return
    results = json.loads(RESULTS.read_text("utf-8"))
    at = campaign = results.setdefault("campaign", {})
    for name in names[:-1]:
        at = at.setdefault(name, {})
    at[names[-1]] = found
    campaign["machine"] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": LOAD,
    }
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")


class Fleet:
    """Workers of one engine on one store, and a desk elsewhere that only starts and decides."""

    def __init__(self, engine: dict[str, str], address: str, folder: Path, server: EngineServer | None) -> None:
        self.engine, self.address, self.server = engine, address, server
        folder.mkdir(exist_ok=True)
        self.ledger = Ledger(folder / "ledger")
        self.workers: list[EngineWorker] = []
        self.desk = Runtime(address, resources={"ledger": self.ledger}, work=False)
        self._numbers = count()

    async def __aenter__(self) -> "Fleet":
        await self.desk.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for worker in self.workers:
            await worker.kill()
        await self.desk.__aexit__(None, None, None)

    async def begin(self, engine: dict[str, str] | None = None, **options: Any) -> None:
        """One more worker; under another engine, if one is given."""
        place = {"address": self.address, "ledger": self.ledger.path, "engine": engine or self.engine}
        self.workers.append(await EngineWorker.begin(**place, lease=LEASE, **options))

    async def start(self, program: Any) -> Run[Any]:
        """A run that only workers advance."""
        number = next(self._numbers)
        return await self.desk.start(program(self.ledger), f"input {number}", run_id=f"{program.__name__}-{number}")

    async def holder(self, run: Run[Any]) -> EngineWorker:
        """The worker that has a run."""
        name = WorkerId.parse((await self.desk.store.get(run.id)).worker)
        return next(worker for worker in self.workers if worker.pid == name.process)

    async def written(self, beginning: str, times: int = 1) -> None:
        """Wait until so many lines of the ledger begin so."""
        async with asyncio.timeout(LIMIT):
            while sum(line.startswith(beginning) for line in self.ledger.lines()) < times:
                await asyncio.sleep(0.01)


async def check_takeover(fleet: Fleet) -> float:
    """A worker dies in the middle of a call; another one continues. Seconds until it went on."""
    run = await fleet.start(slowly)
    await fleet.written("began")
    holder, since = await fleet.holder(run), time.monotonic()
    await holder.kill()
    await fleet.written("began", 2)
    took = time.monotonic() - since
    fleet.ledger.open("tool")
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed), outcome
    return took


async def check_frozen(fleet: Fleet) -> float:
    """A worker stands still in the middle of a call for longer than its lease, and wakes up when another one has its run. Seconds until
    that one went on."""
    run = await fleet.start(slowly)
    await fleet.written("began")
    frozen, since = await fleet.holder(run), time.monotonic()
    frozen.signal(signal.SIGSTOP)
    try:
        await fleet.written("began", 2)
        took = time.monotonic() - since
    finally:
        frozen.signal(signal.SIGCONT)
    fleet.ledger.open("tool")
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed), outcome
    await check_journals(fleet, [run])
    return took


async def check_journals(fleet: Fleet, runs: list[Run[Any]]) -> None:
    """Nothing that was recorded as done was begun again, and every journal is sound."""
    for run in runs:
        records = [record for _, record in await fleet.desk.store.load(run.id)]
        returned = Counter(record.call for record in records if isinstance(record, Returned))
        assert all(times == 1 for times in returned.values()), (run.id, returned)
        done: set[str] = set()
        for record in records:
            assert not (isinstance(record, Intended) and record.call in done), (run.id, record)
            if isinstance(record, Returned):
                done.add(record.call)
    assert await fleet.desk.verify() == []
