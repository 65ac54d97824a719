"""Time that can be moved."""

import pytest

from adjourn.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
