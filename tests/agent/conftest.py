"""What every test of agents gets: rows compared with the journal after each transaction, and time that can be moved."""

from collections.abc import Iterator

import pytest

from adjourn.agent import storeless
from adjourn.testing import FakeClock, every_transaction


@pytest.fixture(autouse=True)
def oracle() -> Iterator[None]:
    with every_transaction() as oracle:
        yield
    assert not oracle.failures


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The time of storeless runs. `skip` moves it; nothing waits for it."""
    clock = FakeClock()
    monkeypatch.setattr(storeless, "_now", clock.now)
    return clock
