"""Each moment of a schedule has one run, however many processes look at it, and whenever they begin."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.logs import ours
from tests.runtime.conftest import on_both
from tests.runtime.world import LIMIT, Ledger, notes, paused, refunds

from adjourn import Agent, Runtime
from adjourn.errors import Invalid, InvalidDefinition, StoreError
from adjourn.runtime.schedules import AGAIN, LONGEST, Schedule, Scheduler
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.database import DatabaseFile
from adjourn.stores.sqlite.restore import restore
from adjourn.testing import ScriptedModel

NINE = datetime(2031, 3, 3, 9, tzinfo=UTC).timestamp()


class Wall:
    """A clock that the test sets."""

    def __init__(self, now: float = NINE) -> None:
        self.time = now

    def now(self) -> float:
        return self.time


@pytest.fixture
def wall() -> Wall:
    return Wall()


def daily(ledger: Ledger, **more: Any) -> Schedule:
    return Schedule("daily", notes(ledger), "sweep", cron="0 9 * * *", **more)


async def ids(rt: Runtime) -> list[str]:
    return [run.run_id for run in await rt.runs()]


async def test_a_moment_has_one_run_whose_id_and_label_say_of_which(wall: Wall, ledger: Ledger) -> None:
    async with Runtime(MemoryStore(wall.now), work=False) as rt:
        scheduler = Scheduler(rt, [daily(ledger, labels={"team": "eu"})])
        assert await scheduler.tick() == ["daily-2031-03-03T090000Z"]
        assert await scheduler.tick() == []
        [run] = await rt.runs(label=("schedule", "daily"))
        assert (run.run_id, run.title) == ("daily-2031-03-03T090000Z", "sweep")
        assert [found.run_id for found in await rt.runs(label=("team", "eu"))] == [run.run_id]
        wall.time += 86_400
        assert await scheduler.tick() == ["daily-2031-03-04T090000Z"]


@on_both
async def test_two_processes_start_it_once(address: str, ledger: Ledger) -> None:
    async with Runtime(address, work=False) as one, Runtime(address, work=False) as other:
        schedule = Schedule("often", notes(ledger), "x", every=3600, catch_up=3600)
        both = [Scheduler(one, [schedule]), Scheduler(other, [schedule])]
        first, second = await asyncio.gather(*(scheduler.tick() for scheduler in both))
        assert first == second or not (first and second)  # the hour may change between the two
        assert len(await ids(one)) == len({*first, *second})
        again = await Scheduler(one, [schedule]).tick()
        assert {*await ids(one)} == {*first, *second, *again}


def yearly(name: str, agent: Any) -> Schedule:
    return Schedule(name, agent, "x", every=86_400 * 365, catch_up=86_400 * 365)


@on_both
async def test_a_schedule_whose_agent_no_worker_has_goes_on_and_says_so_once(
    address: str, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    """The workers' agent was renamed; the process that looks at the clock has the old name."""
    gone, renamed = notes(ledger), Agent("summaries", model=ScriptedModel("all noted"))
    jobs = [yearly(name, gone) for name in ("one", "two", "three")]
    off: Any = {"work": False}
    async with Runtime(address, [renamed]), Runtime(address, **off) as clock, Runtime(address, **off) as second:
        schedulers = [Scheduler(rt, jobs) for rt in (clock, second)]
        for scheduler in schedulers:
            await scheduler.tick()
            await scheduler.tick()
        found = await ids(clock)
        assert len(found) == 3, "each moment has its run, which waits"
        [unfit] = (await clock.fleet()).unfit
        assert (unfit.agent, unfit.runs, unfit.why) == ("notes", 3, "no worker has this agent or flow")
        said = [line.getMessage() for line in ours(caplog) if "runs of notes wait" in line.getMessage()]
        assert len(said) == 2, "once by each process"
        assert "no worker has this agent or flow. Start a worker with it, or end the schedule" in said[0]
    async with Runtime(address, [gone], resources={"ledger": ledger}) as rt:
        for run in found:
            assert (await (await rt.get(run)).wait(LIMIT)).output == "all noted"
        assert not (await rt.fleet()).unfit


@on_both
async def test_of_an_old_and_a_new_process_whose_agent_was_renamed_one_starts_the_moment(
    address: str, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    renamed = Agent("summaries", model=ScriptedModel("all noted"))
    async with Runtime(address, work=False) as old, Runtime(address, work=False) as new:
        both = [Scheduler(old, [yearly("job", notes(ledger))]), Scheduler(new, [yearly("job", renamed)])]
        await asyncio.gather(*(scheduler.tick() for scheduler in both))
        assert len(await ids(old)) == 1
        [said] = [line.getMessage() for line in ours(caplog)]
        assert "was started with another input or program" in said


async def test_a_run_of_a_moment_that_was_pruned_or_begun_otherwise_is_not_started_again(
    wall: Wall, ledger: Ledger
) -> None:
    async with Runtime(MemoryStore(wall.now), work=False) as rt:
        await Scheduler(rt, [daily(ledger)]).tick()
        changed = Schedule("daily", notes(ledger), "another input", cron="0 9 * * *")
        await Scheduler(rt, [changed]).tick()
        assert [run.title for run in await rt.runs()] == ["sweep"]


@pytest.mark.parametrize("tenant", ["", "acme"])
async def test_a_moment_before_a_restore_waits_for_a_word_if_the_backup_does_not_have_its_run(
    tenant: str, wall: Wall, ledger: Ledger, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, backup = str(folder / "runs.db"), str(folder / "backup.db")
    early = Schedule("early", notes(ledger), "x", cron="0 8 * * *", catch_up=86_400, session="s")
    late = daily(ledger, catch_up=86_400, labels={"team": "eu"})

    async def tick(*schedules: Schedule) -> list[str]:
        store = SQLiteStore(path, wall.now)
        try:
            async with Runtime(store, work=False, tenant=tenant) as rt:
                return await Scheduler(rt, schedules).tick()
        finally:
            await store.close()

    assert await tick(early) == ["early-2031-03-03T080000Z"]
    DatabaseFile(path).copy_to(backup)
    assert await tick(late) == ["daily-2031-03-03T090000Z"]
    wall.time += 60
    await restore(backup, path, by="ops", now=wall.now)
    with caplog.at_level(logging.WARNING, "adjourn"):
        assert await tick(early, late) == ["early-2031-03-03T080000Z"]  # that one is in the backup
    [said] = [line.getMessage() for line in ours(caplog) if "restored" in line.getMessage()]
    assert (
        "adjourn start APP.PY:notes INPUT --id daily-2031-03-03T090000Z --label team=eu --label schedule=daily" in said
    )
    wall.time = NINE + 86_400
    assert await tick(late) == ["daily-2031-03-04T090000Z"]


async def test_one_that_is_too_late_is_left_out_and_of_many_only_the_last_is_caught_up(
    wall: Wall, ledger: Ledger
) -> None:
    async with Runtime(MemoryStore(wall.now), work=False) as rt:
        wall.time = NINE + 301
        assert await Scheduler(rt, [daily(ledger)]).tick() == []
        assert await Scheduler(rt, [daily(ledger, catch_up=timedelta(hours=1))]).tick() == ["daily-2031-03-03T090000Z"]
        often = Schedule("often", notes(ledger), every=60, catch_up=3600)
        scheduler = Scheduler(rt, [often])
        assert await scheduler.tick() == ["often-2031-03-03T090500Z"]
        wall.time += 600
        assert await scheduler.tick() == ["often-2031-03-03T091500Z"]


async def test_runs_that_may_not_overlap_wait_for_the_next_moment(wall: Wall, ledger: Ledger) -> None:
    async with Runtime(MemoryStore(wall.now), resources={"ledger": ledger}) as rt:
        paying = Schedule("pay", refunds(ledger), "pay", cron="0 9 * * *", overlap="skip")
        scheduler = Scheduler(rt, [paying])
        [first] = await scheduler.tick()
        await paused(await rt.get(first))
        wall.time += 86_400
        assert await scheduler.tick() == []
        await (await rt.get(first)).cancel(by="ann")
        async with asyncio.timeout(LIMIT):
            await (await rt.get(first)).wait()
        assert await scheduler.tick() == [], "its moment was left out"
        wall.time += 86_400
        assert await scheduler.tick() == ["pay-2031-03-05T090000Z"]


async def test_a_run_that_has_not_ended_is_not_overlapped_because_a_person_began_it_again(
    wall: Wall, ledger: Ledger
) -> None:
    async with Runtime(MemoryStore(wall.now), resources={"ledger": ledger}) as rt:
        scheduler = Scheduler(rt, [Schedule("pay", refunds(ledger), "pay", cron="0 9 * * *", overlap="skip")])
        first = await rt.get((await scheduler.tick())[0])
        await paused(first)
        for _ in range(2):
            again = await first.again(by="ann")
            await paused(again)
            await again.cancel(by="ann")
            await again.wait(LIMIT)
        wall.time += 86_400
        assert await scheduler.tick() == []


def words_of(at: datetime) -> str:
    return f"{at:%d.%m. %H:%M}"


async def test_the_input_may_be_made_of_the_moment(wall: Wall, ledger: Ledger) -> None:
    async with Runtime(MemoryStore(wall.now), work=False) as rt:
        oslo = Schedule("oslo", notes(ledger), words_of, cron="0 10 * * *", zone="Europe/Oslo")
        await Scheduler(rt, [oslo]).tick()
        assert [run.title for run in await rt.runs()] == ["03.03. 10:00"]


async def test_an_input_that_fails_keeps_no_other_schedule_from_starting(
    wall: Wall, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(at: datetime) -> str:
        raise LookupError(at)

    bad = Schedule("bad", notes(ledger), broken, cron="0 9 * * *")
    async with Runtime(MemoryStore(wall.now), work=False) as rt:
        scheduler = Scheduler(rt, [bad, daily(ledger)])
        assert await scheduler.tick() == ["daily-2031-03-03T090000Z"]
        assert await scheduler.tick() == []
    [said] = [record for record in ours(caplog) if record.levelno == logging.ERROR]
    assert "bad-2031-03-03T090000Z is not started" in said.getMessage()


class Failing(MemoryStore):
    """A store that cannot be reached for a while."""

    is_down = True

    async def create(self, *args: Any, **more: Any) -> Any:
        if self.is_down:
            raise StoreError("no route to it")
        return await super().create(*args, **more)


async def test_what_cannot_be_started_is_tried_again_and_told_once(
    wall: Wall, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    store = Failing(wall.now)
    async with Runtime(store, work=False) as rt:
        scheduler = Scheduler(rt, [daily(ledger)])
        assert await scheduler.tick() == await scheduler.tick() == []
        assert scheduler._pause() == AGAIN  # pyright: ignore[reportPrivateUsage]
        store.is_down = False
        assert await scheduler.tick() == ["daily-2031-03-03T090000Z"]
        assert scheduler._pause() == LONGEST  # pyright: ignore[reportPrivateUsage]
    assert len([record for record in ours(caplog) if "cannot be started" in record.getMessage()]) == 1


class Waiting:
    """A clock that passes at once, and is asked how long."""

    def __init__(self, wall: Wall) -> None:
        self.wall, self.pauses = wall, list[float]()

    def steady(self) -> float:
        return self.wall.time

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        assert seconds is not None
        self.pauses.append(seconds)
        self.wall.time += seconds
        await asyncio.sleep(0)


async def test_it_serves_moment_after_moment_until_it_is_told_to_stop(wall: Wall, ledger: Ledger) -> None:
    wall.time = NINE - 90
    told = list[tuple[str, float, str]]()

    def heard(schedule: Schedule, moment: float, run: str) -> None:
        told.append((schedule.name, moment, run))
        if len(told) == 3:
            scheduler.stop()

    async with Runtime(MemoryStore(wall.now), work=False) as rt:
        rt.clock = clock = Waiting(wall)
        hourly = Schedule("hourly", notes(ledger), every=timedelta(hours=1))
        scheduler = Scheduler(rt, [hourly, daily(ledger)], started=heard)
        async with asyncio.timeout(LIMIT):
            await scheduler.serve()
        assert told == [
            ("hourly", NINE, "hourly-2031-03-03T090000Z"),
            ("daily", NINE, "daily-2031-03-03T090000Z"),
            ("hourly", NINE + 3600, "hourly-2031-03-03T100000Z"),
        ]
        assert clock.pauses[:2] == [90.0, 3600.0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either cron= or every="),
        ({"cron": "@daily", "every": 5}, "either cron= or every="),
        ({"every": 0}, "an integer number of seconds"),
        ({"every": 1.5}, "an integer number of seconds"),
        ({"cron": "@daily", "zone": "Europe/Olso"}, "time zone 'Europe/Olso'"),
        ({"cron": "@daily", "zone": "../etc"}, "time zone '../etc'"),
        ({"cron": "daily"}, "has 1 fields"),
        ({"cron": "@daily", "overlap": "never"}, "overlap= must be"),
        ({"cron": "@daily", "queue": "session"}, "queue= without session="),
        ({"cron": "@daily", "name": "a/b"}, "name must be a short string"),
        ({"cron": "@daily", "name": "a" * 101}, "at most 100"),
        ({"cron": "@daily", "priority": 5000}, "priority= must be"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_when_it_is_defined(
    ledger: Ledger, given: dict[str, Any], said: str
) -> None:
    make: Any = Schedule
    with pytest.raises(Invalid, match=said):
        make(given.pop("name", "s"), notes(ledger), **given)


async def test_two_schedules_of_one_name_are_refused(ledger: Ledger) -> None:
    async with Runtime(MemoryStore(), work=False) as rt:
        with pytest.raises(InvalidDefinition, match="two schedules are named 'daily'"):
            Scheduler(rt, [daily(ledger), daily(ledger)])
