"""Lists of runs in SQL: the same as those of the store in memory, whatever is asked; and no more work in a longer file."""

import asyncio
import random
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.stores.many_runs import PROGRAMS, WORKERS, insert, rows

from adjourn.core.records import RunCompleted
from adjourn.core.status import Status
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite import lists as sqlite_lists
from adjourn.stores.sqlite import store as sqlite
from adjourn.stores.sqlite.connection import connect
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import approval, begin, started, suspend, wait_for

NOW = 1_000.0
TEXTS = ("ÅÄÖ", "%", "_", '"', "'", "\0", "xyzzy", "οδοσ", "ss", "\n\n", "İ")


@asynccontextmanager
async def both(path: Path, found: list[RunRow]) -> AsyncGenerator[tuple[SQLiteStore, MemoryStore]]:
    """The same runs in a file and in memory."""
    await SQLiteStore(str(path)).close()
    insert(path, found)
    memory = MemoryStore(lambda: NOW)
    memory._runs.update({row.id: row for row in found})
    memory._workers.update(WORKERS)
    store = SQLiteStore(str(path), lambda: NOW)
    try:
        yield store, memory
    finally:
        await store.close()


def filters(chance: random.Random, found: list[RunRow]) -> Filter:
    """Any filter: each field is set now and then, to something that is there or is not."""
    some = chance.choice(found)
    text = f"{some.title} {some.id} {some.program}"
    start = chance.randrange(len(text))
    fields: dict[str, Any] = {
        "status": chance.choice((*Status, "running", "failed", "stopped", "nonsense")),
        "program": chance.choice((*PROGRAMS, "clerk's")),
        "session": chance.choice(("chat-1", "chat-2", "chat-3")),
        "label": chance.choice((("tenant", "acme"), ("tenant", "o'neil"), ("env", "prod"), ("env", ""))),
        "run": some.id,
        "text": chance.choice((text[start : start + chance.randint(1, 12)], *TEXTS)),
        "since": chance.uniform(0, 100 + len(found)),
        "until": chance.uniform(0, 100 + len(found)),
        "changed": chance.uniform(0, 150 + len(found)),
        "prefix": some.id[: chance.randint(1, 8)],
        "after": chance.choice((some.id, "nobody")),
    }  # fmt: skip
    rare = {"run": 0.03, "prefix": 0.08, "after": 0.2}
    chosen = {name: value for name, value in fields.items() if chance.random() < rare.get(name, 0.25)}
    if chance.random() < 0.5 and "text" in chosen:
        chosen["text"] = chance.choice((str.upper, str.lower))(chosen["text"])
    return Filter(**chosen, limit=chance.choice((1, 7, 50, 1_000)))


async def pages(store: Store, wanted: Filter) -> list[list[str]]:
    """The ids of the first pages."""
    found: list[list[str]] = []
    while len(found) < 3:
        page = [row.id for row in await store.runs(wanted)]
        found.append(page)
        if len(page) < wanted.limit:
            break
        wanted = replace(wanted, after=page[-1])
    return found


@pytest.mark.parametrize("few", [True, False], ids=["every way", "the usual way"])
async def test_a_file_lists_what_memory_lists_whatever_is_asked(
    path: Path, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small bounds a file of this size is looked through in all the ways in which a large one is."""
    if few:
        monkeypatch.setattr(sqlite_lists, "FEW", 10)
        monkeypatch.setattr(sqlite_lists, "NEWEST", 20)
        monkeypatch.setattr(sqlite_lists, "FIRST", 3)
        monkeypatch.setattr(sqlite_lists, "LOOK", 10)
        monkeypatch.setattr(sqlite, "TURN", 0.0)
    found, chance = rows(700, seed=few), random.Random(few)
    async with both(path, found) as (store, memory):
        for _ in range(200):
            wanted = filters(chance, found)
            assert await pages(store, wanted) == await pages(memory, wanted), wanted


async def test_a_list_that_takes_long_delays_no_status_and_no_journal(path: Path) -> None:
    async with both(path, rows(3)) as (store, _):
        await store.create(started())
        busy, free = threading.Event(), threading.Event()

        def hold(_: Any) -> None:
            busy.set()
            free.wait()

        held = asyncio.ensure_future(store._lists.ask(hold))
        await asyncio.to_thread(busy.wait)
        listed = asyncio.ensure_future(store.runs(Filter()))
        assert (await store.get("r1")).seq == 1 and len(await store.load("r1")) == 1
        assert not listed.done()
        free.set()
        await held
        assert len(await listed) == 4


async def test_a_list_that_goes_on_lets_others_have_their_turn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "TURN", 0.0)
    monkeypatch.setattr(sqlite_lists, "FIRST", 10)
    monkeypatch.setattr(sqlite_lists, "LOOK", 10)
    async with both(path, rows(600)) as (store, _):
        ended: list[str] = []

        async def ask(name: str, wanted: Filter) -> None:
            await store.runs(wanted)
            ended.append(name)

        long = ask("long", Filter(program="clerk", label=("tenant", "acme"), session="chat-1"))
        await asyncio.gather(long, ask("short", Filter(limit=1)), ask("other", Filter(program="maid", limit=3)))
        assert ended == ["short", "other", "long"]


async def test_a_page_that_is_full_leaves_no_reader_behind(path: Path) -> None:
    """One that had not ended would keep the log from being cut, for ever."""
    async with both(path, rows(600)) as (store, _):
        for wanted in (
            Filter(),
            Filter(text="or"),
            Filter(text="Refund"),
            Filter(status="completed"),
            Filter(program="clerk"),
        ):
            assert len(await store.runs(replace(wanted, limit=2))) == 2
            await store.create(started(f"after {wanted.text}{wanted.status}{wanted.program}"))
            db = connect(str(path))
            assert db.execute("pragma wal_checkpoint(truncate)").fetchall()[0][0] == 0, wanted
            db.close()


async def test_a_row_is_the_same_from_a_file_and_from_memory(path: Path) -> None:
    async with both(path, rows(300)) as (store, memory):
        assert await store.runs(Filter(limit=300)) == await memory.runs(Filter(limit=300))


async def test_a_title_and_labels_that_change_are_found_as_they_are_now(path: Path) -> None:
    """Also beyond what is listed one by one; nothing of what they were is left in the index."""
    found = rows(600)
    async with both(path, found) as (store, _):
        db = connect(str(path))
        for n in (3, 590):
            db.execute("update run set title = 'Erased by Ann', labels = '{\"tenant\":\"nobody\"}' where n = ?", (n,))
        ids = [found[589].id, found[2].id]
        assert [row.id for row in await store.runs(Filter(text="erased by"))] == ids
        assert [row.id for row in await store.runs(Filter(label=("tenant", "nobody")))] == ids
        old = Filter(text=found[2].title, limit=1_000)
        assert found[2].id not in {row.id for row in await store.runs(old)}
        db.execute("insert into run_text (run_text) values ('integrity-check')")
        db.close()


async def test_a_number_that_was_given_again_is_found_by_what_it_is_now(path: Path) -> None:
    found = rows(512)
    async with both(path, found) as (store, _):
        db = connect(str(path))
        db.execute("delete from run where n > 500")
        again = [replace(row, id=f"again-{row.n}", title="second life", created_at=9_000.0) for row in found[500:]]
        insert(path, again)
        assert [row.id for row in await store.runs(Filter(text="second life"))] == [x.id for x in reversed(again)]
        assert [row.id for row in await store.runs(Filter(since=8_000.0))] == [x.id for x in reversed(again)]
        assert await store.runs(Filter(text=found[505].id)) == []
        db.close()


async def test_nothing_is_left_of_the_words_of_a_run_that_was_erased(path: Path) -> None:
    """An index of pieces is content, too: whoever has the pieces could put the title together again."""
    async with both(path, rows(255)) as (store, _):
        lease = await begin(store, "secret", program="clerk")
        db = connect(str(path))
        db.execute("update run set title = 'qxzj wvqk' where id = 'secret'")  # a title comes from the input
        assert [row.id for row in await store.runs(Filter(text="xzj w"))] == ["secret"]
        await store.commit(lease, [], [RunCompleted()], seen=lease.seq)
        await store.erase("secret", by="ann", reason="asked to")
        pieces = {term for (term,) in db.execute("select term from run_term")}
        assert "sec" in pieces, "its id stays; if that is not there, this proves nothing"
        assert not pieces & {"qxz", "xzj", "zj ", "j w", " wv", "wvq", "vqk"}
        assert await store.runs(Filter(text="xzj w")) == []
        db.close()


ASKED = ("SEND", "pay", "k ap", "question", "r1", "%")


async def ask_both(stores: tuple[SQLiteStore, MemoryStore], chance: random.Random) -> list[str]:
    """The same runs in both, each of which asks somebody something."""
    ids: list[str] = []
    for n in range(60):
        run, kind = f"r{n}", chance.randrange(4)
        fields: dict[str, Any] = {
            "program": chance.choice(PROGRAMS), "input": f"Pay {n}", "session": chance.choice(("", "chat-1")),
            "labels": chance.choice(({}, {"tenant": "acme"})),
        }  # fmt: skip
        ids.append(run)
        asked = approval(
            tool=chance.choice(("Send", "pay")), groups=chance.choice(((), ("boss",), ("boss", "clerks"))),
            escalated=chance.random() < 0.2, expires=chance.choice((0.0, 5.0, 1e12)),
        )  # fmt: skip
        for store in stores:
            if kind:
                await wait_for(store, asked, run=run, **fields)
            else:
                await suspend(store, await begin(store, run, **fields), "given")
    return ids


async def test_an_inbox_in_a_file_is_the_inbox_in_memory_whatever_is_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, clock = random.Random(5), FakeClock()
    stores = SQLiteStore(str(path), clock.now), MemoryStore(clock.now)
    ids = await ask_both(stores, chance)
    for few in (10, 500):
        monkeypatch.setattr(sqlite_lists, "FEW", few)
        monkeypatch.setattr(sqlite_lists, "FIRST", few // 4)
        monkeypatch.setattr(sqlite_lists, "LOOK", few // 2)
        monkeypatch.setattr(sqlite, "TURN", 0.0)
        for _ in range(150):
            fields: dict[str, Any] = {
                "program": chance.choice(PROGRAMS), "session": "chat-1", "label": ("tenant", "acme"), "run": chance.choice(ids),
                "kind": chance.choice(("approval", "question", "error")), "text": chance.choice(ASKED),
                "group": chance.choice(("boss", "clerks", "nobody")), "members": chance.choice(((), ("clerks",), ("x", "boss"))),
                "since": clock.now() - 1, "until": clock.now(), "changed": clock.now(), "brief": True,
                "after": chance.choice((f"{chance.choice(ids)}:1.0?0", f"{chance.choice(ids)}:given", "nobody")),
            }  # fmt: skip
            wanted = Filter(**{name: value for name, value in fields.items() if chance.random() < 0.2}, limit=7)
            found, means = [await store.inbox(wanted) for store in stores]
            assert found == means, wanted
    await stores[0].close()
