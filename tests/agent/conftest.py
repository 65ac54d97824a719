"""Time that can be moved, and a place for runs in every kind of store."""

from pathlib import Path

import pytest

from adjourn.driver.clock import SystemClock
from adjourn.runtime import local_runtime as storeless
from adjourn.testing import FakeClock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The time of storeless runs: `advance` moves it, nothing waits for it."""
    clock = FakeClock()
    monkeypatch.setattr(storeless, "_now", clock.now)
    monkeypatch.setattr(SystemClock, "steady", staticmethod(clock.steady))
    return clock


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store with nothing in it."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres").fresh()
    return {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'runs.db'}"}[request.param]
