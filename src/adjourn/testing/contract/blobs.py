"""Files: their bytes stand beside the journal, are there with the record that names them, and go
with their run."""

from collections.abc import Sequence
from contextlib import suppress

import pytest

from adjourn.core.files import FILE, MARK, Audio, Document, Image
from adjourn.core.messages import FilePart, Text
from adjourn.core.record_codec import dump
from adjourn.core.records import (
    AnyRecord,
    Decided,
    Late,
    Parked,
    PauseAsked,
    Replied,
    Returned,
    RunCompleted,
    Started,
)
from adjourn.errors import Invalid, LeaseLost, RunExists
from adjourn.stores.erasure import Pruning
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    claim,
    commit,
    replied,
    started,
    unchanged,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100
PHOTO, SOUND, PAGE = Image(PNG), Audio(b"RIFF....WAVE" + b"s" * 50), Document(b"%PDF-1.7 page")


def looked(number: int = 0, photo: Image = PHOTO) -> Returned:
    """A tool's result with an image."""
    return Returned(call=f"1.{number}", value=["here it is", photo.ref])


async def named(store: Store, run: str = "r1") -> set[str]:
    """The digests that the records of a run name."""
    found: set[str] = set()
    for _, record in await store.load(run):
        body = dump(record)
        while MARK in body:
            _, _, body = body.partition(f'{MARK}"')
            found.add(body[:64])
    return found


async def ended(store: Store, run: str = "r1") -> None:
    """A run with a file in its input, in a result and in a reply, that has ended."""
    lease = await begin(store, run, input=["what is this?", PHOTO.ref])
    reply = Replied(parts=(Text(text="so"), FilePart(file=PAGE.ref)))
    call = replied("look")
    await commit(store, lease, [call, Returned(call="1.0", value=SOUND.ref), reply], ())
    await commit(store, lease, (), [RunCompleted(output="done")])


class KeepingFiles(ContractFixtures):
    """What a store promises of the bytes of files."""

    async def test_a_file_is_there_with_the_record_that_names_it_and_is_not_in_it(
        self, store: Store
    ) -> None:
        await ended(store)
        there = {file.digest: file.data for file in (PHOTO, SOUND, PAGE)}
        assert await store.blobs("r1") == there
        assert await named(store) == there.keys()
        assert await store.blobs("r1", [SOUND.digest, "0" * 64]) == {SOUND.digest: SOUND.data}
        assert await store.blobs("r1", []) == {}
        assert await store.blobs("unknown") == {}
        assert "pixels" not in "".join(dump(record) for _, record in await store.load("r1"))
        assert await store.verify() == []

    async def test_a_commit_that_is_refused_leaves_no_file(self, store: Store) -> None:
        lease = await begin(store, "r1")
        done = await commit(store, lease, [replied("look")], ())
        await store.release(lease)
        await claim(store, "r1", "another")
        with pytest.raises(LeaseLost):
            await store.commit(lease, [looked()], [], seen=done.seq)
        assert await store.blobs("r1") == {}

    async def test_the_facts_of_a_commit_whose_moves_are_void_have_their_files(
        self, store: Store
    ) -> None:
        lease = await begin(store, "r1")
        first = await store.commit(lease, [replied("look")], [], seen=2)
        await store.deliver("r1", PauseAsked(by="ana"))
        done = await store.commit(lease, [looked()], [RunCompleted()], seen=first.seq)
        assert not done.clean
        assert await store.blobs("r1") == {PHOTO.digest: PHOTO.data}

    async def test_the_same_commit_again_and_the_same_file_again_are_one(
        self, store: Store
    ) -> None:
        lease = await begin(store, "r1", input=PHOTO.ref)
        first = await store.commit(lease, [replied("look", "look")], [], seen=2)
        facts = [looked(0), looked(1)]
        done = await store.commit(lease, facts, [], seen=first.seq)
        assert {ref[FILE] for ref in done.files} == {PHOTO.digest}
        await store.commit(lease, facts, [], seen=first.seq)
        assert await store.blobs("r1") == {PHOTO.digest: PHOTO.data}

    async def test_what_people_send_may_have_files(self, store: Store) -> None:
        await commit(store, await begin(store, "r1"), (), [approval(kind="error"), Parked()])
        value = {"choice": "retry", "proof": PAGE.ref}
        await store.deliver("r1", Decided(i="1.0?0", verdict="value", value=value, by="ana"))
        assert await store.blobs("r1") == {PAGE.digest: PAGE.data}

    async def test_a_journal_that_is_taken_over_brings_its_files(self, store: Store) -> None:
        await ended(store)
        records: list[AnyRecord] = [record for _, record in await store.load("r1")]
        first = records[0]
        assert isinstance(first, Started)
        files = await store.blobs("r1")
        moved = Started(run="r2", kind=first.kind, program=first.program, input=first.input)
        with pytest.raises(Invalid, match="refers to a missing file"):
            await store.create(moved, records[1:])
        forged = {**files, PHOTO.digest: b"something else"}
        with pytest.raises(Invalid, match="are not those of its digest"):
            await store.create(moved, records[1:], blobs=forged)
        assert await store.create(moved, records[1:], blobs=files)
        assert await store.blobs("r2") == files

    async def test_a_start_that_is_refused_adds_no_file(self, store: Store) -> None:
        await store.create(started("r1", input=PHOTO.ref))
        assert not await store.create(started("r1", input=Image(PNG).ref))
        with pytest.raises(RunExists):
            async with unchanged(store):
                await store.create(started("r1", input=SOUND.ref))
        assert await store.blobs("r1") == {PHOTO.digest: PHOTO.data}

    async def test_erasing_a_run_takes_its_files_and_nobody_elses(self, store: Store) -> None:
        await ended(store)
        await ended(store, "r2")
        await store.erase("r1", by="ann", reason="asked to")
        assert await store.blobs("r1") == {}
        assert len(await store.blobs("r2")) == 3
        lease = await begin(store, "r3")
        await commit(store, lease, (), [RunCompleted()])
        await store.erase("r3", by="ann")
        with suppress(Exception):
            await store.commit(lease, [Late(call="1.0", value=PHOTO.ref)], [], seen=3)
        assert await store.blobs("r3") == {}
        assert await store.verify() == []

    async def test_pruning_a_run_takes_its_files_and_nobody_elses(self, store: Store) -> None:
        await ended(store)
        await ended(store, "r2")
        row = await store.get("r1")
        assert await store.weigh(["r1"]) > len(PNG) + SOUND.size + PAGE.size
        await store.prune("r1", Pruning(row.seq, row.updated_at))
        assert await store.blobs("r1") == {}
        assert len(await store.blobs("r2")) == 3
        assert await store.verify() == []

    @pytest.mark.parametrize("kinds", [("input",), ("result", "reply")])
    async def test_a_record_of_every_kind_keeps_what_it_names(
        self, store: Store, kinds: Sequence[str]
    ) -> None:
        given = {"photo": PHOTO.ref, "deep": [{"sound": SOUND.ref}]} if "input" in kinds else "x"
        lease = await begin(store, "r1", input=given)
        if "result" in kinds:
            await commit(store, lease, [replied("look"), looked()], ())
        assert await named(store) == (await store.blobs("r1")).keys() != set()
