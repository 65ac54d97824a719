"""A bank whose gates are open when a test is over: no thread outlives it."""

from collections.abc import Iterator

import pytest
from tests.bodies.cases import Bank


@pytest.fixture
def bank() -> Iterator[Bank]:
    bank = Bank()
    yield bank
    bank.open_all()
