"""What every channel of live text promises, in memory and beside a file."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from adjourn.stores.channel import Channel
from adjourn.stores.memory import MemoryStore
from adjourn.stores.polled_channel import PolledChannel
from adjourn.stores.postgres import live_channel as postgres_channel
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite import live_channel as sqlite_channel

LIMIT = 20


class Process:
    """One end, what it has heard, and what its runs are saying."""

    def __init__(self, store: Store) -> None:
        self.heard: list[str] = []
        self.joined: set[str] = set()
        self.saying: dict[str, str] = {}
        self.channel: Channel = store.channel(self)

    def so_far(self, run: str) -> Sequence[str]:
        return [f"whole {self.saying[run]}"] if run in self.saying else []

    def hear(self, line: str) -> None:
        if line.startswith("hello "):
            self.joined.add(line.removeprefix("hello "))
        else:
            self.heard.append(line)

    def say(self, run: str, text: str) -> None:
        self.saying[run] = self.saying.get(run, "") + text
        self.channel.send(run, lambda: text, in_whole=True)

    async def joins(self, other: "Process", *runs: str) -> None:
        """Return when it hears what the other one's runs say: a moment after it began to follow them."""
        for run in runs:
            async with asyncio.timeout(LIMIT):
                while run not in self.joined:
                    other.channel.send(run, lambda run=run: f"hello {run}")
                    await asyncio.sleep(0.005)

    async def until(self, enough: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(LIMIT):
            while not enough(self.heard):
                await asyncio.sleep(0.005)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store
    match request.param:
        case "memory":
            made = MemoryStore()
        case "sqlite":
            made = SQLiteStore(str(tmp_path / "runs.db"))
        case _:
            made = PostgresStore(request.getfixturevalue("postgres").fresh())
    yield made
    await made.close()


@pytest.fixture
async def two(store: Store) -> AsyncIterator[tuple[Process, Process]]:
    both = Process(store), Process(store)
    yield both
    for each in both:
        await each.channel.close()


def text_of(lines: list[str]) -> str:
    """What somebody reads who replaces all by a whole, and adds the rest to it."""
    text = ""
    for line in lines:
        text = line.removeprefix("whole ") if line.startswith("whole ") else text + line
    return text


async def test_whoever_follows_a_run_hears_what_it_says_in_another_process(two: tuple[Process, Process]) -> None:
    here, there = two
    async with here.channel.follow("r1"), here.channel.follow("r2"):
        await here.joins(there, "r1", "r2")
        for text in ("one ", "two "):
            there.say("r1", text)
            there.say("r3", text)
        there.say("r2", "other ")
        await here.until(lambda heard: "two " in "".join(heard) and "other " in "".join(heard))
    assert "".join(here.heard).count("other") == 1
    assert not there.heard, "its own words were heard already"


async def test_who_comes_late_reads_each_word_once(two: tuple[Process, Process]) -> None:
    here, there = two
    there.say("r1", "one ")
    async with here.channel.follow("r1"), here.channel.follow("r1"):
        await here.joins(there, "r1")
        for text in ("two ", "three ", "four"):
            there.say("r1", text)
            await asyncio.sleep(0.02)
        await here.until(lambda heard: "four" in "".join(heard))
    assert text_of(here.heard) == "one two three four"


async def test_nobody_who_does_not_follow_hears_anything(two: tuple[Process, Process]) -> None:
    here, there = two
    async with here.channel.follow("r1"):
        await here.joins(there, "r1")
        there.say("r1", "now")
        await here.until(lambda heard: "now" in "".join(heard))
    seen = len(here.heard)
    there.say("r1", "later")
    await asyncio.sleep(0.2)
    assert len(here.heard) == seen


async def test_a_line_is_made_only_if_somebody_follows(two: tuple[Process, Process]) -> None:
    _, there = two
    made: list[str] = []
    there.channel.send("r1", lambda: made.append("r1") or "line")
    await asyncio.sleep(0.2)
    assert made == []


async def test_nothing_is_kept_of_a_run_that_was_erased(two: tuple[Process, Process], tmp_path: Path) -> None:
    here, there = two
    async with here.channel.follow("r1"):
        await here.joins(there, "r1")
        there.say("r1", "canary")
        await here.until(lambda heard: "canary" in "".join(heard))
    del there.saying["r1"]
    assert await there.channel.forget("r1")
    assert await there.channel.forget("never")
    assert not any(b"canary" in file.read_bytes() for file in tmp_path.iterdir())


async def test_what_was_said_long_ago_is_gone(
    two: tuple[Process, Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    async with here.channel.follow("r1"):
        await here.joins(there, "r1")
        there.say("r1", "canary")
        await here.until(lambda heard: "canary" in "".join(heard))
    for module, kept in ((sqlite_channel, "KEPT"), (postgres_channel, "_EXPIRE")):
        monkeypatch.setattr(module, kept, {"KEPT": -1.0, "_EXPIRE": "delete from adjourn.said"}[kept])
    async with here.channel.follow("r2"):
        await here.joins(there, "r2")
    if isinstance(here.channel, PolledChannel):
        assert not any("canary" in line for _, line in await here.channel._board.since("r1", 0, ""))


async def test_an_end_that_is_closed_carries_nothing(two: tuple[Process, Process]) -> None:
    here, there = two
    async with here.channel.follow("r1"):
        await here.joins(there, "r1")
        await here.channel.close()
        there.say("r1", "after")
        await asyncio.sleep(0.2)
    assert here.heard == []
