"""One Chromium and one world a module; a page a test."""

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright
from tests.browser.world import Visit, World, visit, world

from adjourn.server import static_files as console

WHOLE = ("chromium", "chromium-browser", "google-chrome")
NAMES = ("chromium-headless-shell", *WHOLE)
"""The same Chromium; the first one is built without windows, takes three fifths of the CPU, keeps no page that it leaves, and shows
no message."""
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]


def missing(why: str) -> None:
    """Skipped where somebody develops; a failure where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


@asynccontextmanager
async def launched(
    names: Sequence[str] = NAMES, *, without: Sequence[str] = (), more: Sequence[str] = ()
) -> AsyncGenerator[Browser]:
    """The first Chromium of these names. `without`: flags that Playwright gives it and people's browsers do not have. `more`: flags beside
    those of every test."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        missing("there is no Chromium: run tests/browser/install.sh")
    if console.INDEX not in console._files():
        missing("the console is not built: run `make console`")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=found, args=[*FLAGS, *more], ignore_default_args=[*without]
        )
        yield chromium
        await chromium.close()


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as chromium:
        yield chromium


@pytest.fixture(scope="module")
async def keeping() -> AsyncIterator[Browser]:
    """A browser that keeps the pages it leaves, as those of people do."""
    async with launched(WHOLE, without=["--disable-back-forward-cache"]) as chromium:
        yield chromium


@pytest.fixture(scope="module")
async def on() -> AsyncIterator[World]:
    """A world for a module."""
    place = Path(tempfile.mkdtemp(prefix="adjourn-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    async with world(place) as made:
        yield made
    shutil.rmtree(place)


@pytest.fixture
async def own() -> AsyncIterator[World]:
    """A world for one test."""
    place = Path(tempfile.mkdtemp(prefix="adjourn-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    async with world(place) as made:
        yield made
    shutil.rmtree(place)


@pytest.fixture
async def ana(browser: Browser, on: World) -> AsyncIterator[Visit]:
    """Somebody with the token of this start."""
    async with visit(browser, on) as one:
        yield one
