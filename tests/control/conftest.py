"""A database file, a ledger beside it, a worker in another process, and a desk here that can only read and command."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.control.process import Process
from tests.control.world import Ledger
from tests.places import new_folder

from adjourn import Run, Runtime
from adjourn.core.records import AnyRecord

Begin = Callable[..., Awaitable[Process]]


@pytest.fixture
def folder() -> Iterator[Path]:
    place = new_folder()
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def db(folder: Path) -> str:
    return str(folder / "runs.db")


@pytest.fixture
def address(db: str) -> str:
    return f"sqlite:///{db}"


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger(folder / "ledger")


@pytest.fixture
async def begin(db: str, ledger: Ledger) -> AsyncIterator[Begin]:
    """`await begin("solo")` is another process with these agents on the same file."""
    processes: list[Process] = []

    async def begin(*agents: str, **options: Any) -> Process:
        process = await Process.begin(db, ledger, *agents, **options)
        processes.append(process)
        return process

    yield begin
    for process in processes:
        await process.kill()


class Office:
    """A worker in another process and, here, a desk without programs: it can read, decide and control, nothing else."""

    def __init__(self, db: str, ledger: Ledger, worker: Process, desk: Runtime) -> None:
        self.db, self.ledger, self.worker, self.desk = db, ledger, worker, desk

    async def start(self, agent: str, play: dict[str, Any], *, by: str = "") -> Run[Any]:
        """Begin a run over there; its handle here."""
        await self.worker.do("start", agent=agent, run=play["run"], input=play, by=by)
        return await self.desk.get(play["run"])

    async def records(self, run: str) -> list[AnyRecord]:
        return [record for _, record in await self.desk.store.load(run)]


@pytest.fixture(scope="session")
async def office() -> AsyncIterator[Office]:
    """One for all tests: they tell their runs apart by their ids. Its worker looks for parked runs more often than it would."""
    place = new_folder()
    ledger = Ledger(place / "ledger")
    worker = await Process.begin(
        str(place / "runs.db"), ledger, "solo", "boss", "queued", "quorum", grace=0.5, sweep=0.1
    )
    async with Runtime(f"sqlite:///{place / 'runs.db'}") as desk:
        yield Office(str(place / "runs.db"), ledger, worker, desk)
    await worker.kill()
    shutil.rmtree(place, ignore_errors=True)
