"""Time that can be moved."""

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
