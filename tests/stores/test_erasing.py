"""What was erased is in no byte of a store's files; what is left must be what erasing leaves."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stores.test_sqlite import opened

from adjourn.core.files import Document
from adjourn.core.records import CancelAsked, Decided, Emitted, Parked, RunCancelled, RunCompleted, Said, Stepped
from adjourn.runtime.indexer import bring_up_to_date
from adjourn.runtime.search_query import searched
from adjourn.stores.fleet import Misfit
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Filter, Lease, Store
from adjourn.stores.sqlite import SQLiteStore, scrub
from adjourn.stores.sqlite.connection import connect
from adjourn.testing.contract.fixtures import approval, begin, claim, commit

RUNS, STEPS = 12, 40


class Canaries:
    """Words that are nowhere else. Each is used in one place."""

    def __init__(self, seed: int = 7) -> None:
        self.words: list[str] = []
        self._random = random.Random(seed)

    def __call__(self) -> str:
        self.words.append(f"canary-{self._random.randbytes(12).hex()}")
        return self.words[-1]

    def found(self, folder: Path) -> dict[str, int]:
        """How many of them are in which file."""
        data = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        counts = {name: sum(_is_in(word, bytes_) for word in self.words) for name, bytes_ in data.items()}
        return {name: n for name, n in counts.items() if n}


def _is_in(word: str, data: bytes) -> bool:
    """Whether one of its halves is there: a page may end in the middle of it."""
    return any(half.encode() in data for half in (word[:-12], word[-12:]))


async def lived(store: Store, erased: str, canary: Canaries) -> None:
    """Many runs that grow in turns, so that pages are split between them; one of them is full of canaries."""
    size = random.Random(11)
    await store.endpoints(Endpoint("hook", "webhook", "https://example.org", "s", ()))
    leases: dict[str, Lease] = {}
    for n in range(RUNS):
        id, word = f"r{n}", canary if f"r{n}" == erased else lambda: "x" * 20
        leases[id] = await begin(store, id, input=word() * 40, labels={"customer": word()}, by="ana")
    for step in range(STEPS):
        for id, lease in leases.items():
            word: Callable[[], str] = canary if id == erased else lambda: "x" * 20
            filler = "y" * size.choice((10, 300, 2000, 9000))
            await commit(store, lease, [Stepped(call="1.0", key=str(step), value=f"{word()} {filler} {word()}")])
            await store.misfits(Misfit(id, 1, word()))
        for id, lease in leases.items():
            if step % 10 == 0:
                word = canary if id == erased else lambda: "x" * 20
                page = Document(f"{word()} {'z' * 7000} {step} {word()}".encode(), "text/plain")
                await commit(store, lease, [Stepped(call="1.0", key=f"page{step}", value=page.ref)])
    for id, lease in leases.items():
        word = canary if id == erased else lambda: "x" * 20
        await commit(store, lease, (), [approval(kind="error", payload={"error": word()}), Parked()])
        await store.deliver(id, Decided(i="1.0?0", verdict="value", value={"choice": word()}, by="ana"), request=word())
        await store.deliver(id, Said(text=word(), by="ana"), request="said")
        await store.deliver(id, Emitted(event="paid", value=word(), by="ana"))
        await commit(store, await claim(store, id), (), [RunCompleted(output=word())])


async def searched_for(store: Store, text: str) -> list[str]:
    return [row.id for row in await store.runs(searched(text, Filter(), store.now()))]


async def test_of_a_hundred_canaries_none_is_in_a_byte_of_the_files(path: Path) -> None:
    canary = Canaries()
    async with opened(path) as store:
        await lived(store, "r5", canary)
        assert len(canary.words) > 100
        await store.verify()
        await bring_up_to_date(store)
        assert await searched_for(store, canary.words[0]) == ["r5"], "the index has it, too"
        before = canary.found(path.parent)
        assert sum(before.values()) > 100, "else nothing is shown here"  # a page may end in the middle of one
        await store.erase("r5", by="ann", reason="asked to")
        assert await store.scrub()
        assert canary.found(path.parent) == {}
        await bring_up_to_date(store)
        assert await searched_for(store, canary.words[0]) == await searched_for(store, "by:ana label.customer:x") == []
        assert canary.found(path.parent) == {}
        assert await store.verify() == []
        others = [await store.load(f"r{n}") for n in range(RUNS) if n != 5]
        assert all(len(records) > STEPS for records in others)
    assert canary.found(path.parent) == {}


async def test_overwriting_what_is_deleted_would_not_be_enough(path: Path) -> None:
    """Why the file is written anew: without it, copies stay in pages that were split."""
    canary = Canaries()
    async with opened(path) as store:
        await lived(store, "r5", canary)
        await store.erase("r5", by="ann", reason="asked to")
        db: Any = connect(str(path))
        [(busy, _, _)] = db.execute("pragma wal_checkpoint(truncate)").fetchall()
        db.close()
        assert not busy
        assert canary.found(path.parent), (
            "SQLite leaves nothing any more: a scrub could do without writing the file anew"
        )


async def test_while_somebody_reads_it_is_said_that_a_part_is_still_there_and_the_next_attempt_ends_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "PATIENCE", 0.05)
    canary = Canaries()
    async with opened(path) as store, opened(path) as other:
        await lived(store, "r5", canary)
        reader: Any = connect(str(path))
        reader.execute("begin")
        reader.execute("select count(*) from run").fetchall()
        await store.erase("r5", by="ann", reason="asked to")
        assert await store.scrub() is False
        reader.execute("commit")
        reader.close()
        assert await other.scrub() is True, "another process ends it"
        assert canary.found(path.parent) == {}
        assert await store.scrub() is True


async def test_where_nothing_was_erased_a_scrub_writes_nothing(path: Path) -> None:
    async with opened(path) as store:
        await commit(store, await begin(store), (), [RunCompleted()])
        db: Any = connect(str(path))
        before = db.pragma("data_version")
        assert await store.scrub() is True
        assert db.pragma("data_version") == before
        db.close()


async def erased(store: SQLiteStore) -> None:
    for n in ("1", "2"):
        lease = await begin(store, f"r{n}")
        await commit(store, lease, (), [approval(), Parked()])
        await store.seal()
        await store.deliver(f"r{n}", CancelAsked(by="ana"))
        await commit(store, await claim(store, f"r{n}"), (), [RunCancelled()])
        await store.seal()
    await store.erase("r1", by="ann", reason="asked to")
    await store.seal()
    assert await store.verify() == []


LAST = "select max(key) from journal where run = 1"


@pytest.mark.parametrize(
    ("attack", "place", "why"),
    [
        ("update run set erased = 0 where id = 'r1'", "rows of r1", "differs from its last record"),
        (f"update journal set body = null where key = ({LAST})", "journal of r1", "no record says who erased it"),
        (f"update journal set body = replace(body, 'ann', 'eve') where key = ({LAST})", "journal of r1", "edited"),
        (f"delete from journal where key = ({LAST})", "journal of r1", "records are missing"),
        ("delete from journal where key = (1 << 32 | 2)", "journal of r1", "records are missing"),
        ("update journal set body = '{}' where key = (1 << 32 | 2)", "journal of r1", "it was erased, but its content"),
        ("update run set salt = x'00' where id = 'r1'", "rows of r1", "it was erased, but its content"),
        ("update run set title = 'nothing' where id = 'r1'", "rows of r1", "differs from its last record"),
        ("update journal set body = null where run = 2", "journal of r2", "it was not erased"),
        ("update run set erased = 1 where id = 'r2'", "journal of r2", "no record says who erased it"),
    ],
)
async def test_what_is_left_is_only_what_erasing_leaves(path: Path, attack: str, place: str, why: str) -> None:
    async with opened(path) as store:
        await erased(store)
        db: Any = connect(str(path))
        db.execute(attack)
        db.close()
        found = [str(broken) for broken in await store.verify()]
        assert any(line.startswith(place) and why in line for line in found), found


async def test_a_run_whose_content_was_taken_by_a_forged_record_is_not_one_that_was_erased(path: Path) -> None:
    """The file says so; the audit does not."""
    async with opened(path) as store:
        await erased(store)
        db: Any = connect(str(path))
        db.execute("delete from audit where scope = 'r1' and body like '%erase%'")
        db.close()
        assert any("no erasure of it" in str(broken) for broken in await store.verify())


async def test_between_two_seals_nobody_can_try_what_was_said(path: Path) -> None:
    """Seals stay. Were a journal's hashes in them as they are, an answer between two seals could be guessed and compared."""
    async with opened(path) as store:
        await commit(store, await begin(store), (), [approval(kind="error"), Parked()])
        await store.seal()
        head = (await store.get("r1")).head
        await store.deliver("r1", Decided(i="1.0?0", verdict="value", value={"choice": "retry"}, by="ana"))
        await store.seal()
        then = (await store.get("r1")).head
        named = {entry.record_head for seal in await store.seals() for entry in seal.covered if entry.record}
        assert len(named) == 2 and not named & {head.hex(), then.hex()}
        assert await store.verify() == []
