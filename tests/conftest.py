"""What holds for every test: asyncio, no keys of the developer's own, no deadline on property tests."""

import gc
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import lanes
from tests.again import TriedAgain
from tests.alone import Alone
from tests.hanging import Hanging
from tests.images import images
from tests.lawful import every_plan
from tests.places import place_for_programs
from tests.slowest import SlowestFiles
from tests.stores.postgres.server import postgres  # noqa: F401  # pyright: ignore[reportUnusedImport]  a fixture

from adjourn.driver.metrics import Meter
from adjourn.stores.run_row import open_stores
from adjourn.testing.oracle import Oracle, every_transaction

pytest.register_assert_rewrite("adjourn.testing.store_contract")

FROM_NOTHING = Path(__file__).parent / "stores"
COPIED = ("test_contract.py", "test_encrypted_contract.py")
"""What every store promises is asked of a database that is there, a thousand times."""
SECRETS = ("ADJOURN_SECRET", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY")

# Seconds on a busy machine say nothing about the code; in CI the examples are the same every time.
settings.register_profile("adjourn", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("adjourn")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only tests that start no process, browser or server")
    parser.addoption("--alone", action="store_true", help="try the few tests that failed again, each one alone")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fast"):
        config.pluginmanager.register(lanes.FastLane())
    config.pluginmanager.register(SlowestFiles())
    config.pluginmanager.register(TriedAgain())
    config.pluginmanager.register(Hanging())
    if config.getoption("--alone") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Alone())
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place_for_programs()))
    for name in SECRETS:
        os.environ.pop(name, None)
    config.addinivalue_line(
        "markers", "unwatched: rows and fold are not compared, because statements are counted or memory is measured"
    )


def pytest_collection_finish() -> None:
    """Every test that was read stays to the end: the collector need not go through them again and again,
    and it comes less often: a tenth of the suite's time was its."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def log() -> Iterator[None]:
    """A command that runs inside a test talks where its test's output was; nobody else should."""
    logger = logging.getLogger("adjourn")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate = before[0], before[1]
    logger.setLevel(before[2])


def process_wide() -> dict[str, object]:
    """What a test could leave behind for all that come after it in its process."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("ADJOURN_")}
    return {"telemetry": Meter.watch, "directory": os.getcwd(), "trace": sys.gettrace(), "settings": settings}


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """A test leaves its process as it found it: what it does not put back fails itself, not a test after it."""
    before = process_wide()
    yield
    after, Meter.watch = process_wide(), None
    assert after == before, "switched on for the whole process, and left so"


@pytest.fixture(autouse=True, scope="module")
def strangers() -> Iterator[None]:
    """A store that a module left open is not asked for keys by the modules after it: its folder may be gone."""
    before = set(open_stores)
    yield
    for left in set(open_stores) - before:
        open_stores.discard(left)


@pytest.fixture(autouse=True, scope="module")
def databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """New databases are copies of one, except where the making of them is the subject: in most tests of stores."""
    if FROM_NOTHING in request.path.parents and request.path.name not in COPIED:
        yield
        return
    with images():
        yield


@pytest.fixture(autouse=True)
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle | None]:
    """After every transaction in every test, in whichever thread, a store's rows equal the fold of its journal. And every
    plan is lawful."""
    if request.node.get_closest_marker("unwatched"):  # pyright: ignore[reportUnknownMemberType]
        yield None
        return
    with every_transaction() as watching, every_plan() as unlawful:
        yield watching
    assert not watching.failures
    assert not unlawful
