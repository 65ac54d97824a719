"""Pruning and retention: what is old goes, after its archive is on the disk; whatever happens meanwhile, nothing is lost."""

import asyncio
import hashlib
import os
import stat
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT, completed

from adjourn import Agent, Checkpoint, RunErased, RunPruned, Runtime
from adjourn.core.records import CancelAsked, Parked, RunCancelled
from adjourn.errors import Invalid, InvalidDefinition, RunHeld, StoreError, UnknownRun
from adjourn.runtime import archive, retention
from adjourn.runtime import pruner as pruning
from adjourn.runtime.archive import file_of
from adjourn.runtime.pruner import PruneReport
from adjourn.stores.erasure import Pruning
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.contract.fixtures import approval, begin, claim, commit
from adjourn.testing.fake_clock import FakeClock
from adjourn.testing.scripted import ScriptedModel

DAY = 86400.0


class World:
    """A store with its own time, and runs of an agent that has ended."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.agent = Agent("clerk", model=ScriptedModel(*["done"] * 50))

    async def ran(self, *runs: str, **options: Any) -> None:
        async with Runtime(self.store, [self.agent]) as rt:
            for run in runs:
                await completed(await rt.start(self.agent, f"about {run}", run_id=run, **options))

    async def ids(self) -> set[str]:
        async with Runtime(self.store) as rt:
            return {row.id for row in await rt.runs()}


@pytest.fixture(params=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    clock = FakeClock()
    store: Any = (
        MemoryStore(now=clock.now)
        if request.param == "memory"
        else SQLiteStore(str(tmp_path / "runs.db"), now=clock.now)
    )
    yield World(store, clock)
    await store.close()


async def test_what_is_old_goes_and_what_is_young_stays(world: World) -> None:
    await world.ran("r1", "r2")
    world.clock.advance(31 * DAY)
    await world.ran("r3")
    async with Runtime(world.store) as rt:
        dry = await rt.prune(older="30d", by="ann", dry_run=True)
        assert dry.runs == 2 and dry.bytes > 100 and await world.ids() == {"r1", "r2", "r3"}
        assert await rt.prune(older=timedelta(days=30), by="ann", status="cancelled") == PruneReport()
        done = await rt.prune(older=30 * DAY, by="ann", reason="our rule", status=["completed", "cancelled"])
        assert (done.runs, done.bytes, done.held, done.kept) == (2, dry.bytes, 0, 0)
        assert await world.ids() == {"r3"}
        assert await rt.store.verify() == []
        [line] = [x.entry for x in await rt.store.recent(security=True) if x.entry["verb"] == "prune"]
        assert (line["by"], line["reason"], line["runs"], line["status"]) == ("ann", "our rule", 2, "completed")
        assert await rt.prune(older="30d", by="ann") == PruneReport()


async def test_whoever_looks_for_a_run_that_was_pruned_is_told_so(world: World) -> None:
    await world.ran("r1")
    world.clock.advance(DAY)
    async with Runtime(world.store) as rt:
        assert (await rt.prune(older="1h", by="ann")).runs == 1
        with pytest.raises(UnknownRun, match="run r1 not found: it was pruned by ann; its audit says when"):
            await rt.get("r1")
        with pytest.raises(UnknownRun, match="run r2 not found$"):
            await rt.get("r2")


async def test_the_archive_is_a_checkpoint_for_its_owner_alone_and_the_audit_names_it(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "old" / "runs"
    await world.ran("r1", "R1", labels={"customer": "42"})
    async with Runtime(world.store, secret="s" * 32) as rt:
        saved = (await (await rt.get("r1")).checkpoint()).to_json()
        world.clock.advance(DAY)
        done = await rt.prune(older="1h", by="ann", archive=folder)
        assert done.archive == str(folder) and len(list(folder.iterdir())) == 2
        file = file_of(folder, "r1")
        assert file.read_text() == saved
        assert Checkpoint.from_json(file.read_bytes(), secret="s" * 32).started.labels == {"customer": "42"}
        if os.name == "posix":
            assert {stat.S_IMODE(x.stat().st_mode) for x in folder.iterdir()} == {0o600}
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        entry = (await rt.store.audit("r1"))[-1].entry
        assert (entry["archive"], entry["digest"]) == (str(file), hashlib.sha256(saved.encode()).hexdigest())
        with pytest.raises(RunPruned, match="its archive is in"):
            await rt.erase("r1", by="ann", reason="asked to")
        with pytest.raises(UnknownRun):
            await rt.erase("r9", by="ann", reason="asked to")
        with pytest.raises(RunPruned, match="stays taken"):
            await rt.start(world.agent, "another", run_id="r1")


async def test_names_of_files_are_told_apart_whatever_the_ids_are(tmp_path: Path) -> None:
    ids = ["a", "A", "a/b", "a%2Fb", "..", "x" * 1000, "x" * 999, "ü" * 300]
    names = {file_of(tmp_path, id).name.lower() for id in ids}
    assert len(names) == len(ids)
    assert all(
        len(name.encode()) < 200 and file_of(tmp_path, id).parent == tmp_path
        for name, id in zip(names, ids, strict=True)
    )


@pytest.mark.parametrize("step", ["mkdir", "replace", "fsync"])
async def test_if_the_archive_cannot_be_written_nothing_goes(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    await world.ran("r1")
    world.clock.advance(DAY)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((Path, "mkdir") if step == "mkdir" else (archive.os, step)), full)
    async with Runtime(world.store) as rt:
        with pytest.raises(StoreError, match=r"No space left.*Its run was not pruned"):
            await rt.prune(older="1h", by="ann", archive=tmp_path / "old")
    monkeypatch.undo()
    assert await world.ids() == {"r1"} and not [*(tmp_path / "old").glob("*")]


async def test_what_was_pruned_before_an_archive_failed_is_said_and_in_the_log(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "RUNS", 1)
    await world.ran("r1", "r2", "r3")
    world.clock.advance(DAY)
    real, calls = archive.put, count(1)

    def fails(*given: Any) -> Any:
        if next(calls) == 3:
            raise StoreError("the disk is full")
        return real(*given)

    monkeypatch.setattr(archive, "put", fails)
    async with Runtime(world.store) as rt:
        with pytest.raises(
            StoreError, match=r"the disk is full\. 2 runs with status completed were pruned before that"
        ):
            await rt.prune(older="1h", by="ann", archive=tmp_path / "old")
    assert len(await world.ids()) == 1
    [line] = [x.entry for x in await world.store.audit("@security") if x.entry["verb"] == "prune"]
    assert (line["by"], line["runs"]) == ("ann", 2)


async def test_a_run_that_somebody_else_prunes_meanwhile_stops_nobody(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ran("r1", "r2")
    world.clock.advance(DAY)
    async with Runtime(world.store) as one, Runtime(world.store) as two:
        real = one.get

        async def late(run_id: str) -> Any:
            monkeypatch.setattr(one, "get", real)
            assert (await two.prune(older="1h", by="bo", archive=tmp_path / "old")).runs == 2
            return await real(run_id)

        monkeypatch.setattr(one, "get", late)
        assert await one.prune(older="1h", by="ann", archive=tmp_path / "old") == PruneReport(
            archive=str(tmp_path / "old")
        )
    assert len([*(tmp_path / "old").glob("*.json")]) == 2


async def test_what_an_earlier_attempt_archived_goes_with_the_erased_run(world: World, tmp_path: Path) -> None:
    await world.ran("r1")
    async with Runtime(world.store) as rt:
        archive.put(tmp_path, await (await rt.get("r1")).checkpoint(), None)  # and then its process died
        await rt.erase("r1", by="ann", reason="asked to")
        world.clock.advance(DAY)
        assert (await rt.prune(older="1h", by="ann", archive=tmp_path)).runs == 1
    assert not [*tmp_path.glob("*.json")]


@pytest.mark.parametrize("done", [False, True])
async def test_a_crash_between_archive_and_delete_leaves_everything_whole(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """It dies at the second of three; whether that one was still done is not known to it."""
    await world.ran("r1", "r2", "r3")
    world.clock.advance(DAY)
    real, calls = world.store.prune, count(1)

    async def dies(*args: Any, **options: Any) -> bool:
        last = next(calls) == 2
        if done or not last:
            await real(*args, **options)
        if last:
            raise StoreError("the process died")
        return True

    monkeypatch.setattr(world.store, "prune", dies)
    async with Runtime(world.store) as rt:
        with pytest.raises(StoreError):
            await rt.prune(older="1h", by="ann", archive=tmp_path / "old")
    monkeypatch.undo()
    left = await world.ids()
    assert len(left) == (0 if done else 1) and len([*(tmp_path / "old").iterdir()]) == 3
    async with Runtime(world.store, archive=tmp_path / "old") as rt:
        for run in left:
            await (await rt.get(run)).wait()
        assert (await rt.prune(older="1h", by="ann")).runs == len(left)
        assert len([*(tmp_path / "old").iterdir()]) == 3 and await rt.store.verify() == []


async def test_two_prunes_at_once_remove_each_run_once(world: World, tmp_path: Path) -> None:
    await world.ran(*(f"r{n}" for n in range(12)))
    world.clock.advance(DAY)
    async with Runtime(world.store) as one, Runtime(world.store) as two:
        done = await asyncio.gather(
            *(rt.prune(older="1h", by="ann", archive=tmp_path / "old") for rt in (one, two)), return_exceptions=True
        )
    assert not [x for x in done if isinstance(x, BaseException) and not isinstance(x, UnknownRun)]
    async with Runtime(world.store) as rt:
        await rt.prune(older="1h", by="ann", archive=tmp_path / "old")
        assert await world.ids() == set() and len([*(tmp_path / "old").iterdir()]) == 12
        for n in range(12):
            assert [x["verb"] for x in [y.entry for y in await rt.store.audit(f"r{n}")]].count("prune") == 1
        assert await rt.store.verify() == []


async def test_what_is_on_hold_stays_until_somebody_lifts_it(world: World) -> None:
    await world.ran("r1")
    await world.ran("r2", labels={"matter": "7"})
    await world.ran("r3")
    world.clock.advance(DAY)
    async with Runtime(world.store) as rt:
        run = await rt.get("r1")
        await run.hold(by="ann", reason="case 7")
        assert [hold.scope for hold in await rt.hold("label:matter=7", by="ann", reason="case 7")] == [
            "run:r1",
            "label:matter=7",
        ]
        with pytest.raises(RunHeld, match="adjourn hold r1 --lift"):
            await run.erase(by="bo", reason="asked to")
        with pytest.raises(RunHeld, match="adjourn hold --label matter=7 --lift"):
            await rt.erase("r2", by="bo", reason="asked to")
        assert await rt.prune(older="1h", by="ann", dry_run=True) == PruneReport(1, await rt.store.weigh(["r3"]), 2)
        assert (await rt.prune(older="1h", by="ann")).runs == 1
        await run.hold(by="ann", lift=True)
        assert (await rt.prune(older="1h", by="ann")).runs == 1 and await world.ids() == {"r2"}
        assert [hold.scope for hold in await rt.holds()] == ["label:matter=7"]
        for wrong in ({"by": "", "reason": "x"}, {"by": "ann"}, {"by": "", "lift": True}):
            with pytest.raises(Invalid, match="by= and reason="):
                await rt.hold("run:r2", **wrong)  # pyright: ignore[reportArgumentType]


async def test_a_hold_that_comes_between_archive_and_delete_is_kept_to(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ran("r1", "r2")
    world.clock.advance(DAY)
    async with Runtime(world.store) as rt:
        real = rt._archived

        async def held(*args: Any) -> Pruning | None:
            order = await real(*args)
            await rt.hold("run:r2", by="ann", reason="case 7")
            return order

        monkeypatch.setattr(rt, "_archived", held)
        done = await rt.prune(older="1h", by="ann", archive=tmp_path / "old")
        assert (done.runs, done.kept) == (1, 1) and await world.ids() == {"r2"}


async def test_an_erased_run_is_pruned_without_an_archive(world: World, tmp_path: Path) -> None:
    await world.ran("r1")
    async with Runtime(world.store, archive=tmp_path / "old") as rt:
        await rt.erase("r1", by="ann", reason="asked to")
        world.clock.advance(DAY)
        assert (await rt.prune(older="1h", by="ann")).runs == 1
        assert not (tmp_path / "old").exists() and await rt.store.verify() == []


async def test_a_batch_has_a_bounded_number_of_runs_and_records(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.ran(*(f"r{n}" for n in range(7)))
    world.clock.advance(DAY)
    async with Runtime(world.store) as rt:
        records = (await rt.store.get("r1")).seq
        sizes: list[int] = []
        real = rt._prune_page

        async def page(rows: Any, *rest: Any) -> PruneReport:
            sizes.append(len(rows))
            return await real(rows, *rest)

        monkeypatch.setattr(rt, "_prune_page", page)
        monkeypatch.setattr(pruning, "RUNS", 5)
        monkeypatch.setattr(pruning, "RECORDS", 2 * records)
        await rt.prune(older="1h", by="ann")
        assert sizes == [2, 2, 1, 2]


async def test_nothing_that_runs_prunes_or_holds(world: World) -> None:
    from adjourn import tool
    from adjourn.testing.scripted import call

    async with Runtime(world.store) as rt:

        @tool(effect="idempotent")
        async def cover_up() -> str:
            """Prunes, holds."""
            said: list[str] = []
            for attempt in (rt.prune(older=0, by="ann"), rt.hold("run:r1", by="ann", lift=True)):
                try:
                    await attempt
                except Exception as e:
                    said.append(str(e))
            return " and ".join(said)

        agent = Agent("sly", model=ScriptedModel([call("cover_up")], "done"), tools=[cover_up])
        async with Runtime(world.store, [agent]) as working:
            outcome = await completed(await working.start(agent, "go"))
            assert "prune runs" in str(outcome.checkpoint.messages) and "lift a hold" in str(
                outcome.checkpoint.messages
            )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"older": "soon"}, "older= must be a duration such as '90m', '12h', '30d' or '4w', got 'soon'"),
        ({"older": -1}, "got -1"),
        ({"older": True}, "got True"),
        (
            {"older": "1h", "status": "waiting"},
            "only runs that have ended are pruned: cancelled or completed, not 'waiting'",
        ),
        ({"older": "1h", "status": []}, "only runs that have ended"),
    ],
)
async def test_what_is_no_age_or_no_end_is_refused(world: World, wrong: dict[str, Any], said: str) -> None:
    async with Runtime(world.store) as rt:
        with pytest.raises(InvalidDefinition) as raised:
            await rt.prune(by="ann", **wrong)
        assert said in str(raised.value)
        with pytest.raises(Invalid, match="by="):
            await rt.prune(older="1h", by="")


@pytest.mark.parametrize(
    ("retain", "said"),
    [
        ("never", "retain= must be a duration such as '90m', '12h', '30d' or '4w', got 'never'"),
        ({"failed": "30d"}, "retain=: only runs that have ended are pruned: cancelled or completed, not 'failed'"),
        ({"completed": "x"}, "retain={'completed': …} must be a duration"),
        ({}, "retain=: only runs that have ended"),
        (30, "retain= needs a unit: '30d' is 30 days; or give a timedelta"),
        ({"completed": 30}, "retain={'completed': …} needs a unit"),
    ],
)
def test_what_cannot_be_retained_is_refused_at_once(retain: Any, said: str) -> None:
    with pytest.raises(InvalidDefinition) as raised:
        Runtime("memory://", retain=retain)
    assert said in str(raised.value)


async def until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await done():
            await asyncio.sleep(0.005)


async def test_what_is_older_than_retained_goes_by_itself(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the store's clock, in batches; nothing else is told to do it."""
    monkeypatch.setattr(retention, "EVERY", 0.01)
    monkeypatch.setattr(retention, "SOON", 0.01)
    monkeypatch.setattr(retention, "MOST", 2)
    monkeypatch.setattr(pruning, "RUNS", 2)
    await world.ran(*(f"r{n}" for n in range(5)))
    await world.ran("held", labels={"matter": "7"})
    async with Runtime(world.store, retain={"completed": "30d"}, archive=tmp_path / "old") as rt:
        await rt.hold("label:matter=7", by="ann", reason="case 7")
        world.clock.advance(29 * DAY)
        await world.ran("young")
        assert len(await world.ids()) == 7
        world.clock.advance(2 * DAY)

        async def gone() -> bool:
            return await world.ids() == {"held", "young"}

        await until(gone)
        assert len([*(tmp_path / "old").iterdir()]) == 5
        assert (await rt.store.audit("r1"))[-1].entry["by"] == "retention"
        assert await rt.store.verify() == []


async def test_retention_says_once_what_is_wrong_and_goes_on(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retention, "EVERY", 0.01)
    blocked = tmp_path / "old"
    blocked.write_text("a file where the folder should be")
    await world.ran("r1")
    world.clock.advance(DAY)
    async with Runtime(world.store, retain="1h", archive=blocked):
        async with asyncio.timeout(LIMIT):
            while "nothing was pruned" not in caplog.text:
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        assert caplog.text.count("nothing was pruned") == 1 and await world.ids() == {"r1"}
        blocked.unlink()

        async def gone() -> bool:
            return not await world.ids()

        await until(gone)


async def test_what_was_erased_is_not_in_an_archive(world: World, tmp_path: Path) -> None:
    """The same id has no second life: a run is archived and gone, or erased and never archived."""
    await world.ran("r1", "r2")
    async with Runtime(world.store) as rt:
        await rt.erase("r1", by="ann", reason="asked to")
        world.clock.advance(DAY)
        with pytest.raises(RunErased):
            await (await rt.get("r1")).checkpoint()
        await rt.prune(older="1h", by="ann", archive=tmp_path / "old")
        data = b"".join(x.read_bytes() for x in (tmp_path / "old").iterdir())
        assert b"about r2" in data and b"about r1" not in data


async def test_a_run_of_several_chapters_is_in_its_archive_whole(world: World, tmp_path: Path) -> None:
    await commit(world.store, await begin(world.store, "r1"), (), [approval(), Parked()])
    await world.store.chapter("r1", by="ann")
    await world.store.deliver("r1", CancelAsked(by="ana"))
    await commit(world.store, await claim(world.store, "r1"), (), [RunCancelled()])
    records = [record for _, record in await world.store.load("r1")]
    async with Runtime(world.store) as rt:
        assert (await rt.prune(older=0, by="ann", status="cancelled", archive=tmp_path / "old")).runs == 1
    [file] = (tmp_path / "old").iterdir()
    assert Checkpoint.from_json(file.read_text()).records == tuple(records)


async def conversation(world: World, *runs: str) -> None:
    """Each run goes on with the one before it, a minute later."""
    async with Runtime(world.store, [world.agent]) as rt:
        before = None
        for run in runs:
            before = await rt.start(world.agent, f"about {run}", run_id=run, after=before)
            await completed(before)
            world.clock.advance(60)


async def test_an_old_conversation_goes_whole_and_its_archives_have_every_turn(world: World, tmp_path: Path) -> None:
    await conversation(world, "t1", "t2", "t3")
    world.clock.advance(2 * DAY)
    async with Runtime(world.store) as rt:
        assert (await rt.prune(older="1d", by="ann", dry_run=True)).runs == 3
        report = await rt.prune(older="1d", by="ann", archive=tmp_path / "old")
        assert (report.runs, report.kept) == (3, 0)
        assert await rt.store.verify() == []
    saved = Checkpoint.from_json(file_of(tmp_path / "old", "t3").read_text())
    assert [getattr(m, "text", "") for m in saved.messages][::2] == ["about t1", "about t2", "about t3"]
    assert await world.ids() == set()


async def test_a_conversation_that_goes_on_keeps_its_old_turns_and_no_archive_is_written(
    world: World, tmp_path: Path
) -> None:
    await conversation(world, "t1", "t2")
    await world.ran("alone")
    world.clock.advance(2 * DAY)
    async with Runtime(world.store, [world.agent]) as rt:
        young = await rt.start(world.agent, "about t3", run_id="t3", after="t2")
        await completed(young)
        assert (await rt.prune(older="1d", by="ann", dry_run=True)).runs == 1
        report = await rt.prune(older="1d", by="ann", archive=tmp_path / "old")
        assert (report.runs, report.kept) == (1, 2)
        assert [getattr(m, "text", "") for m in await young.messages()][::2] == ["about t1", "about t2", "about t3"]
    assert [path.name for path in (tmp_path / "old").iterdir()] == [file_of(tmp_path / "old", "alone").name]
    assert await world.ids() == {"t1", "t2", "t3"}
