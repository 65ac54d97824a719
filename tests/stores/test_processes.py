"""Several real processes on one database: nothing is lost, one wins, a killed one leaves what was acknowledged."""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.again import in_time

from adjourn.core.records import Claimed, Decided, Parked, Said, Stepped
from adjourn.stores.address import open_store
from adjourn.stores.protocol import Filter, Store
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import approval, begin, commit, started, wait_for

ROOT = Path(__file__).parents[2]
LIMIT = 60.0


class Child:
    """A process that waits for its start."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, verb: str, address: str, name: str, count: int = 0) -> "Child":
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.stores.process", verb, address, name, str(count),
            cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        child = cls(process)
        assert await child.line() == "ready"
        return child

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"\n")

    async def line(self) -> Any:
        assert self.process.stdout
        line = await asyncio.wait_for(self.process.stdout.readline(), LIMIT)
        return json.loads(line) if line.endswith(b"\n") else None

    async def lines(self) -> list[Any]:
        """Everything it says until it ends; it must end well."""
        found: list[Any] = []
        while (line := await self.line()) is not None:
            found.append(line)
        assert await self.process.wait() == 0
        return found

    def kill(self) -> None:
        self.process.kill()


async def side_by_side(verb: str, address: str, count: int) -> list[list[Any]]:
    """What each of four processes says that do the same at the same time."""
    children = await asyncio.gather(*(Child.start(verb, address, name, count) for name in "abcd"))
    for child in children:
        child.go()
    return await asyncio.gather(*(child.lines() for child in children))


@pytest.fixture(params=["sqlite", "postgres"])
def address(path: Path, request: pytest.FixtureRequest) -> str:
    """Of a file that is not there yet, or of a database with nothing in it."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres").empty()
    return f"sqlite:///{path}"


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    store = open_store(address)
    yield store
    await store.close()


async def test_four_processes_on_a_database_that_did_not_exist_lose_nothing(address: str) -> None:
    said = await side_by_side("work", address, 20)
    assert [len(lines) for lines in said] == [200] * 4
    store = open_store(address)
    rows = await store.runs(Filter(limit=100))
    assert len(rows) == 40
    for row in rows:
        written = {seq: r.key for seq, r in await store.load(row.id) if isinstance(r, Stepped)}
        assert written == {seq: key for lines in said for run, seq, key in lines if run == row.id}
        await check_rows(store, row.id)
    assert await store.verify() == []
    await store.close()


async def test_four_processes_speak_to_one_run_and_every_word_has_its_own_place(store: Store, address: str) -> None:
    await store.create(started("shared"))
    said = await side_by_side("talk", address, 100)
    journal = {seq: r.text for seq, r in await store.load("shared") if isinstance(r, Said)}
    assert journal == {seq: text for lines in said for seq, text in lines}
    assert sorted(journal) == list(range(2, 402))
    await check_rows(store, "shared")


async def test_of_a_hundred_deciders_in_four_processes_one_wins_each_interrupt(store: Store, address: str) -> None:
    await wait_for(store, *(approval(f"1.{n}?0") for n in range(10)), run="shared")
    said = await side_by_side("decide", address, 10)
    winners = Counter(i for lines in said for i, by in lines if by)
    losers = Counter(i for lines in said for i, by in lines if not by)
    assert winners == {f"1.{n}?0": 1 for n in range(10)}
    assert losers == {f"1.{n}?0": 99 for n in range(10)}
    recorded = {(r.i, r.by) for _, r in await store.load("shared") if isinstance(r, Decided)}
    assert recorded == {(i, by) for lines in said for i, by in lines if by}
    await check_rows(store, "shared")


async def test_of_four_sealers_each_number_is_one_s_and_nothing_is_sealed_twice(store: Store, address: str) -> None:
    said = await side_by_side("seal", address, 50)
    made = sorted(line for lines in said for line in lines)
    assert [k for k, _ in made] == list(range(1, len(made) + 1))
    covered = [line for _, [line] in made]
    assert covered == sorted(set(covered)) and covered[-1] == 200
    assert all(len(lines) > 1 for lines in said), "each of them had its turns"
    assert await store.verify() == []


async def test_four_processes_take_turns_and_no_epoch_is_had_twice(store: Store, address: str) -> None:
    await store.create(started("shared"))
    said = await side_by_side("take", address, 15)
    epochs = [epoch for lines in said for epoch, _ in lines]
    assert sorted(epochs) == list(range(1, 61))
    owners = [r.worker for _, r in await store.load("shared") if isinstance(r, Claimed)]
    wrote = [r.key for _, r in await store.load("shared") if isinstance(r, Stepped)]
    assert owners == wrote


@pytest.mark.parametrize("held_open", [True, False], ids=["while others have the file", "alone"])
async def test_a_writer_that_is_killed_leaves_everything_it_was_told_has_landed(
    store: Store, address: str, held_open: bool
) -> None:
    await store.create(started("shared"))
    if not held_open:
        await store.close()
    child = await Child.start("stream", address, "k")
    child.go()
    acknowledged = [await child.line() for _ in range(30)]
    child.kill()
    while (line := await child.line()) is not None:
        acknowledged.append(line)
    await child.process.wait()
    after = store if held_open else open_store(address)
    journal = {seq: r.text for seq, r in await after.load("shared") if isinstance(r, Said)}
    assert journal.items() >= dict(acknowledged).items()
    assert len(journal) - len(acknowledged) in (0, 1)  # one may have landed without having been told
    await check_rows(after, "shared")
    assert await after.verify() == []
    assert await after.deliver("shared", Said(text="and on")) == 2 + len(journal)
    await after.close()


async def test_a_word_from_another_process_is_heard_within_a_second(store: Store, address: str) -> None:
    lease = await begin(store, "shared")
    child = await Child.start("talk", address, "k", 10)
    rung = asyncio.Event()
    store.subscribe("shared", rung.set, words=True)
    await commit(store, lease, [Stepped(call="1.0", key="a")])
    await asyncio.sleep(0.1)
    rung.clear()
    child.go()
    await child.line()
    acknowledged = time.monotonic()
    await asyncio.wait_for(rung.wait(), 1)
    in_time(time.monotonic() - acknowledged, 1)
    done = await store.commit(lease, [], [], seen=3)
    assert {type(r) for _, r in done.records} == {Said}
    await child.lines()


async def test_a_halt_from_another_process_is_heard_within_a_second(store: Store, address: str) -> None:
    lease = await begin(store, "shared")
    child = await Child.start("halt", address, "k")
    rung = asyncio.Event()
    store.subscribe("shared", rung.set, words=True)
    await asyncio.sleep(0.1)
    rung.clear()
    child.go()
    await asyncio.wait_for(rung.wait(), 10)
    assert (await store.commit(lease, [], [Parked()], seen=2)).halts == {"*"}
    await child.lines()
