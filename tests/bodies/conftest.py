"""A bank whose gates are open when a test is over: no thread outlives it."""

from collections.abc import Iterator

import pytest
from tests.bodies.cases import Bank

from adjourn.bodies import compensations


@pytest.fixture
def bank() -> Iterator[Bank]:
    bank = Bank()
    yield bank
    bank.open_all()


@pytest.fixture(autouse=True)
def nothing_is_registered() -> None:
    """By tests that ran here before, and left a body at work."""
    compensations._registered.clear()
