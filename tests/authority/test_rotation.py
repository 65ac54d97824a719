"""Keys come and go: a new one is added, an old one ends, a stolen one is taken out; and what waits follows."""

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.authority.test_signed import clerk, disowned, journal, names, paid, rest, waiting
from tests.logs import ours

from adjourn import Runtime, SigningKey
from adjourn.core import records as r
from adjourn.core.journal_authority import violations
from adjourn.stores.memory import MemoryStore


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


@pytest.fixture
def server() -> SigningKey:
    return SigningKey.new()


@pytest.fixture
def deciders(tmp_path: Path, server: SigningKey) -> Path:
    path = tmp_path / "deciders"
    path.write_text(server.line("prod") + "\n")
    return path


async def test_a_new_key_is_believed_as_soon_as_its_line_is_there(deciders: Path, server: SigningKey) -> None:
    store, new = MemoryStore(), SigningKey.new()
    async with Runtime(store, [clerk()], deciders=deciders) as worker, Runtime(store, signing_key=new) as desk:
        run = await worker.start(clerk(), "go", by="eve")
        await desk.approve((await waiting(worker, run)).id, by="ana")
        item = await disowned(worker, run)
        deciders.write_text(f"{server.line('old')}\n{new.line('new')}\n")
        await desk.approve(item.id, by="ana")
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


async def test_what_an_old_key_signed_in_its_time_still_counts(deciders: Path, server: SigningKey) -> None:
    store, new = MemoryStore(), SigningKey.new()
    async with Runtime(store, [clerk()], deciders=deciders) as worker, Runtime(store, signing_key=server) as desk:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
    async with Runtime(store, signing_key=server) as desk:
        await desk.approve(item.id, by="ana")
    deciders.write_text(f"{server.line('old')} until=2999-01-01\n{new.line('new')}\n")
    async with Runtime(store, [clerk()], deciders=deciders) as worker:
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


async def test_what_it_signs_after_its_time_does_not(deciders: Path, server: SigningKey) -> None:
    store = MemoryStore()
    deciders.write_text(f"{server.line('old')} until=2020-01-01\n{SigningKey.new().line('new')}\n")
    async with Runtime(store, [clerk()], deciders=deciders) as worker, Runtime(store, signing_key=server) as desk:
        run = await worker.start(clerk(), "go", by="eve")
        await desk.approve((await waiting(worker, run)).id, by="ana")
        await disowned(worker, run)
    assert paid == []


async def test_a_key_that_is_taken_out_voids_what_is_unspent(deciders: Path, server: SigningKey) -> None:
    store, new = MemoryStore(), SigningKey.new()
    async with Runtime(store, [clerk()], deciders=deciders) as worker:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
    async with Runtime(store, signing_key=server) as desk:
        await desk.approve(item.id, by="ana")
    deciders.write_text(new.line("new") + "\n")
    async with Runtime(store, [clerk()], deciders=deciders) as worker, Runtime(store, signing_key=new) as desk:
        item = await disowned(worker, await worker.get(run.id))
        assert paid == []
        await desk.approve(item.id, by="ana")
        assert (await rest(worker, run)).status == "completed"
        assert list(violations(await journal(store, run))) == []
    assert paid == [500]


async def test_and_leaves_what_is_spent(deciders: Path, server: SigningKey) -> None:
    store, new = MemoryStore(), SigningKey.new()
    agent = clerk(1, 2)
    async with Runtime(store, [agent], deciders=deciders) as worker, Runtime(store, signing_key=server) as desk:
        run = await worker.start(agent, "go", by="eve")
        await desk.approve((await waiting(worker, run)).id, by="ana")
        await waiting(worker, run)
        assert paid == [1]
    deciders.write_text(new.line("new") + "\n")
    async with Runtime(store, [agent], deciders=deciders) as worker, Runtime(store, signing_key=new) as desk:
        await desk.approve((await waiting(worker, run)).id, by="ana")
        assert (await rest(worker, run)).status == "completed"
        assert "Disowned" not in await names(store, run)
    assert paid == [1, 2]


async def test_a_worker_that_is_running_learns_of_it(deciders: Path, server: SigningKey) -> None:
    """Also for a vote that it had counted already: it is asked for again, and nothing runs on it."""
    store, new = MemoryStore(), SigningKey.new()
    agent = clerk(approvers=2)
    async with (
        Runtime(store, [agent], deciders=deciders) as worker,
        Runtime(store, signing_key=server) as stolen,
        Runtime(store, signing_key=new) as desk,
    ):
        run = await worker.start(agent, "go", by="eve")
        item = await waiting(worker, run)
        await stolen.approve(item.id, by="ana")
        await waiting(worker, run)
        deciders.write_text(new.line("new") + "\n")
        await desk.approve(item.id, by="bob")
        again = await waiting(worker, run)
        assert paid == [] and again.id != item.id
        await desk.approve(again.id, by="bob")
        await desk.approve(again.id, by="carl")
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


async def test_a_grant_for_the_whole_run_ends_with_its_key(deciders: Path, server: SigningKey) -> None:
    store, new = MemoryStore(), SigningKey.new()
    agent = clerk(5, 5)
    async with Runtime(store, [agent], deciders=deciders) as worker, Runtime(store, signing_key=server) as desk:
        run = await worker.start(agent, "go", by="eve", labels={"n": "1"})
        other = await worker.start(agent, "go", by="eve")
        await desk.approve((await waiting(worker, run)).id, by="ana", scope="run")
        assert (await rest(worker, run)).status == "completed"
        assert paid == [5, 5]
        item = await waiting(worker, other)
        await other.pause(by="ana")
        await desk.approve(item.id, by="ana", scope="run")
        deciders.write_text(new.line("new") + "\n")
        await other.resume(by="ana")
        await disowned(worker, other)
    assert paid == [5, 5]


async def test_while_the_file_cannot_be_read_no_run_is_taken_and_nobody_is_bothered(
    deciders: Path, server: SigningKey, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    good = deciders.read_text()
    async with Runtime(store, [clerk()], deciders=deciders) as worker, Runtime(store, signing_key=server) as desk:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        deciders.write_text("ed25519 half-writ")
        await desk.approve(item.id, by="ana")
        for _ in range(3):
            worker.worker.wake(run.id)
            await worker.worker.rested(run.id)
        assert (await names(store, run))[-1] == "Decided" and paid == []
        [said] = [line for line in ours(caplog) if line.levelno == logging.ERROR]
        assert "no run is advanced here" in said.getMessage() and "line 1" in said.getMessage()
        deciders.write_text(good)
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (None, "is not signed"),
        ("a stranger", "which does not belong to a decider"),
        ("somebody else's", "says that 'bob' decided"),
    ],
)
async def test_the_journal_says_why(said: Any, why: str, server: SigningKey) -> None:
    store, stranger = MemoryStore(), SigningKey.new()
    line = server.line("ana", person=True)
    key = {None: None, "a stranger": stranger, "somebody else's": server}[said]
    async with Runtime(store, [clerk()], deciders=[line]) as worker, Runtime(store, signing_key=key) as desk:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        await store.signed(False)
        await desk.approve(item.id, by="bob")
        await disowned(worker, run, "bob")
        [found] = [x for x in await journal(store, run) if isinstance(x, r.Disowned)]
        assert why in found.why and (found.i, found.by) == ("1.0?0", "bob")
