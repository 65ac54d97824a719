"""A test with a browser that hangs gives up, and is tried again as one for which time ran out."""

import asyncio
from types import ModuleType

import pytest
from playwright.async_api import Page
from tests.again import may_try_again
from tests.browser import test_inbox
from tests.hanging import Hanging, has_a_browser, within

SPOKEN_WITH = Page  # so that this module counts as one whose tests speak with a browser


async def never() -> None:
    await asyncio.Event().wait()


async def late() -> None:
    raise TimeoutError("no answer")


async def test_a_test_that_hangs_gives_up_and_may_be_tried_again() -> None:
    with pytest.raises(TimeoutError, match=r"did not end within 0\.0 s") as caught:
        await within(never, 0.0)()
    assert may_try_again([caught.value])


async def test_another_limit_that_passed_is_told_as_it_was() -> None:
    with pytest.raises(TimeoutError, match="no answer"):
        await within(late, 60.0)()


def test_every_test_with_a_browser_has_the_limit(request: pytest.FixtureRequest) -> None:
    assert any(isinstance(plugin, Hanging) for plugin in request.config.pluginmanager.get_plugins())
    assert has_a_browser(test_inbox)
    assert not has_a_browser(ModuleType("plain"))


async def test_this_test_has_it_too(request: pytest.FixtureRequest) -> None:
    assert request.node.obj.__wrapped__.__name__ == "test_this_test_has_it_too"
