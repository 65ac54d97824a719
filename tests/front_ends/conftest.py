"""A place for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.front_ends.world import Place, place


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Place]:
    async with place(tmp_path) as made:
        yield made
