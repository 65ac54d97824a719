"""A test with a browser that hangs gives up after a limit, so that it is tried again.

Playwright has no limit of its own for much of what it asks a browser. Without one, a browser that does not answer any more would end
the whole run: a test that hangs ends its process.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from types import ModuleType
from typing import ParamSpec

import pytest
from tests.again import TooSlow

LIMIT = 120.0
"""Seconds. Two attempts, and what they set up, end before a test counts as one that hangs."""
P = ParamSpec("P")
BROWSERS = frozenset({"Browser", "Page", "Visit", "launched"})


def has_a_browser(module: ModuleType | None) -> bool:
    """Whether the tests of a module speak with a browser."""
    return module is not None and not BROWSERS.isdisjoint(vars(module))


def within(test: Callable[P, Awaitable[None]], limit: float = LIMIT) -> Callable[P, Awaitable[None]]:
    """The same test, which gives up after `limit` seconds."""

    @functools.wraps(test)
    async def limited(*args: P.args, **kwargs: P.kwargs) -> None:
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                await test(*args, **kwargs)
        except TimeoutError:
            if deadline.expired():
                raise TooSlow(f"the test did not end within {limit} s") from None
            raise

    return limited


class Hanging:
    """The plugin: every test with a browser has the limit."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if isinstance(item, pytest.Function) and iscoroutinefunction(item.obj) and has_a_browser(item.module):
                item.obj = within(item.obj)
