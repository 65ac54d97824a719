"""A server that is up, clients of every role, a folder for files."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.places import new_folder
from tests.server.world import Client, programs, users_with_roles

import adjourn.testing.store_contract  # noqa: F401  # pyright: ignore[reportUnusedImport]  its promises' assertions are rewritten before anybody else imports them
from adjourn.server import Serving, Users, serving


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory if the machine can: an fsync there costs nothing, and processes share it all the same."""
    place = new_folder()
    yield place
    shutil.rmtree(place)


@pytest.fixture
def address(folder: Path) -> str:
    return f"sqlite:///{folder / 'runs.db'}"


@pytest.fixture
def people() -> Iterator[tuple[Users, dict[str, str]]]:
    users, keys = users_with_roles()
    yield users, keys
    users.close()


@pytest.fixture
async def server(people: tuple[Users, dict[str, str]]) -> AsyncIterator[Serving]:
    async with serving("memory://", programs(), port=0, users=people[0], name="ana", token=True, rate=10_000) as up:
        yield up


@pytest.fixture
async def admin(server: Serving) -> AsyncIterator[Client]:
    """Whoever has the token of this start."""
    async with Client(server, server.token) as client:
        yield client
