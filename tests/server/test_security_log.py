"""The security log: who came in, who was turned away, what changed about who may; and that nobody can fill the disk with it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adjourn.server import Serving
from adjourn.server.security_log import KNOWN, WINDOW, Budget, SecurityLog, Tally
from adjourn.stores.audit import SECURITY
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, Fault, Faulty

# Counting


def test_what_was_done_is_a_line_at_once_and_the_same_again_one_a_minute() -> None:
    tally = Tally(Budget(100, 20))
    assert tally.count(0, "login", "", "ana", "10.0.0.1") == [{"verb": "login", "by": "ana", "from": "http 10.0.0.1"}]
    assert tally.count(1, "login", "", "ana", "10.0.0.1") == []
    assert tally.count(2, "login", "", "ana", "10.0.0.1") == []
    assert [x["by"] for x in tally.count(3, "login", "", "bo", "10.0.0.1")] == ["bo"]
    [line] = tally.due(WINDOW)
    assert (line["by"], line["count"]) == ("ana", 2)
    assert tally.due(3 * WINDOW) == []


def test_what_was_refused_is_counted_for_a_minute_by_address_name_and_cause() -> None:
    tally = Tally(Budget(100, 20))
    for _ in range(500):
        assert tally.count(0, "login", "unknown_key", "", "10.0.0.1") == []
    assert tally.count(1, "login", "unknown_key", "", "10.0.0.2") == []
    assert tally.count(2, "request", "forbidden", "vic", "10.0.0.2") == []
    lines = tally.due(WINDOW + 2)
    assert [(x["verb"], x["refused"], x["by"], x["from"], x.get("count", 1)) for x in lines] == [
        ("login", "unknown_key", "", "http 10.0.0.1", 500),
        ("login", "unknown_key", "", "http 10.0.0.2", 1),
        ("request", "forbidden", "vic", "http 10.0.0.2", 1),
    ]
    assert tally.due(2 * WINDOW + 4) == []


def test_what_is_left_at_the_end_is_written() -> None:
    tally = Tally(Budget(100, 20))
    tally.count(0, "login", "unknown_key", "", "10.0.0.1")
    assert [x["refused"] for x in tally.due(1, last=True)] == ["unknown_key"]


def test_a_flood_from_everywhere_ends_in_few_lines_and_every_event_is_counted() -> None:
    """Half a day of 20 refusals a second, each from another address."""
    tally, lines, sent, day = Tally(Budget(100, 20)), list[dict[str, Any]](), 0, 43_200
    for second in range(0, day, 10):
        for n in range(200):
            cause = ("unknown_key", "wrong_host", "csrf")[n % 3]
            lines += tally.count(second, "request", cause, "", f"10.{second % 251}.{n}.{second % 13}")
            sent += 1
    lines += tally.due(day, last=True)
    assert len(lines) <= 100 + 12 * (20 + 3) + 3
    assert sum(x.get("count", 1) for x in lines) == sent
    assert any(x.get("addresses", 0) == KNOWN for x in lines)
    assert all(len(str(x)) < 300 for x in lines)


async def test_people_are_not_crowded_out_by_strangers() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.now)
    log = SecurityLog(lambda: store)
    for n in range(3 * KNOWN):
        log.refused("login", "unknown_key", address=f"10.0.{n // 250}.{n % 250}")
    for name in ("ana", "bo"):
        log.happened("login", by=name, address="10.0.0.1")
    await log.flush()
    assert [x.entry["by"] for x in await store.audit(SECURITY)] == ["ana", "bo"]


# Writing


async def test_a_store_that_fails_gets_the_lines_later_and_too_many_are_a_number() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.now)
    faulty = Faulty(store, 0, Fault.BEFORE)
    log = SecurityLog(lambda: faulty)
    for n in range(1_005):
        log.note({"verb": "add user", "by": f"u{n}"})
    await log.flush()
    assert await store.audit(SECURITY) == []
    log.note({"verb": "add user", "by": "late"})
    await log.flush()
    verbs = [(x.entry["verb"], x.entry.get("count", 0)) for x in await store.audit(SECURITY, limit=2_000)]
    assert (len(verbs), verbs[0], verbs[-1]) == (1_001, ("add user", 0), ("lose lines", 6))


async def test_it_is_written_a_moment_later_by_itself_and_at_the_end() -> None:
    store = MemoryStore()
    written = asyncio.Event()
    end = store.subscribe("", written.set)
    async with SecurityLog(lambda: store) as log:
        log.happened("login", by="ana", address="10.0.0.1")
        await asyncio.wait_for(written.wait(), 30)
        [line] = await store.audit(SECURITY)
        assert line.entry["by"] == "ana"
        log.refused("login", "unknown_key", address="10.0.0.1")
    end()
    assert [x.entry.get("refused", "") for x in await store.audit(SECURITY)] == ["", "unknown_key"]


# At the door


@pytest.fixture(params=["memory", "sqlite"])
async def place(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[str]:
    yield "memory://" if request.param == "memory" else f"sqlite:///{folder / 'runs.db'}"


async def lines(up: Serving) -> list[dict[str, Any]]:
    return [row.entry for row in await up.runtime.store.audit(SECURITY, limit=1_000)]
