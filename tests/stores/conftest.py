"""A folder for database files."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjourn.testing.store_contract  # noqa: F401  # pyright: ignore[reportUnusedImport]  its promises' assertions are rewritten before anybody else imports them

SHM = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory if the machine can: an fsync there costs nothing, is counted all the same, and processes share it."""
    place = tempfile.mkdtemp(prefix="adjourn-", dir=SHM if SHM.is_dir() else None)
    yield Path(place)
    shutil.rmtree(place)


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "adjourn.db"
