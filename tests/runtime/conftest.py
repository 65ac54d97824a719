"""A database file, a ledger beside it, and processes that are gone when the test is."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.places import new_folder
from tests.runtime.process import Process
from tests.runtime.world import Ledger

Begin = Callable[..., Awaitable[Process]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory if the machine can: an fsync there costs nothing, and processes share it all the same."""
    place = new_folder()
    yield place
    shutil.rmtree(place)


@pytest.fixture
def db(folder: Path) -> str:
    return str(folder / "runs.db")


@pytest.fixture
def address(db: str, request: pytest.FixtureRequest) -> str:
    """Of a file, or with `on_both` also of a database in PostgreSQL."""
    if getattr(request, "param", "sqlite") == "postgres":
        return request.getfixturevalue("postgres").fresh()
    return f"sqlite:///{db}"


on_both = pytest.mark.parametrize("address", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger(folder / "ledger")


@pytest.fixture
async def begin(address: str, ledger: Ledger) -> AsyncIterator[Begin]:
    """`await begin("refunds")` is another process with these agents on the same database."""
    processes: list[Process] = []

    async def begin(*agents: str, **options: Any) -> Process:
        process = await Process.begin(address=address, ledger=ledger.path, agents=agents, **options)
        processes.append(process)
        return process

    yield begin
    for process in processes:
        await process.kill()
