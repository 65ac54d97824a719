"""One Chromium and one world a module; a page a test."""

import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright
from tests.browser.world import LIMIT, Visit, World, closed, visit, world
from tests.places import new_folder

from adjourn.server import static_files as console

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]


def missing(why: str) -> None:
    """Skipped where somebody develops; a failure where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


@asynccontextmanager
async def launched(without: Sequence[str] = (), more: Sequence[str] = ()) -> AsyncGenerator[Browser]:
    """A Chromium. `without`: flags that Playwright gives it and people's browsers do not have; `more`: of this test."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        missing("there is no Chromium: run tests/browser/install.sh")
    if console.INDEX not in console._files():
        missing("the console is not built: run `make console`")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=found, args=[*FLAGS, *more], ignore_default_args=[*without], timeout=LIMIT * 1000
        )
        yield chromium
        await closed(chromium)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as chromium:
        yield chromium


@pytest.fixture(scope="module")
async def keeping() -> AsyncIterator[Browser]:
    """A browser that keeps the pages it leaves, as those of people do."""
    async with launched(["--disable-back-forward-cache"]) as chromium:
        yield chromium


@pytest.fixture(scope="module")
async def on() -> AsyncIterator[World]:
    """A world for a module."""
    place = new_folder()
    async with world(place) as made:
        yield made
    shutil.rmtree(place)


@pytest.fixture
async def own() -> AsyncIterator[World]:
    """A world for one test."""
    place = new_folder()
    async with world(place) as made:
        yield made
    shutil.rmtree(place)


@pytest.fixture
async def ana(browser: Browser, on: World) -> AsyncIterator[Visit]:
    """Somebody with the token of this start."""
    async with visit(browser, on) as one:
        yield one
