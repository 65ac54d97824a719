"""A folder for database files."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.places import new_folder

import adjourn.testing.store_contract  # noqa: F401  # pyright: ignore[reportUnusedImport]  its promises' assertions are rewritten before anybody else imports them


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory if the machine can: an fsync there costs nothing, is counted all the same, and processes share it."""
    place = new_folder()
    yield place
    shutil.rmtree(place)


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "adjourn.db"
