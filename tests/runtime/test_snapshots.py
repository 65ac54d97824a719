"""A run that never rests is written down on its way, so that whoever takes it over need not begin at its first record."""

from pathlib import Path

import pytest
from tests.logs import ours
from tests.runtime.world import LIMIT

from adjourn import Agent, Policy, Runtime, allow, tool
from adjourn.core.state import State
from adjourn.driver import loop, snapshot_writer
from adjourn.driver.cold_start import folded
from adjourn.errors import StoreError
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.scripted import ScriptedModel, call

TURNS = 40


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LONG", 20)
    monkeypatch.setattr(snapshot_writer, "OFTEN", 20)


def walker(seen: list[int], store: SQLiteStore) -> Agent[str]:
    @tool
    async def step(n: int) -> int:
        """Take a step."""
        seen.append((await store.snapshots().known("r"))[0])
        return n

    script = [*(call("step", n=n) for n in range(TURNS)), "there"]
    return Agent("walker", model=ScriptedModel(*script), tools=[step], policy=Policy([allow("*")]))


async def test_a_state_is_written_down_while_the_run_goes_on_and_is_the_one_of_its_journal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SQLiteStore(str(tmp_path / "a.db"))
    seen: list[int] = []
    async with Runtime(store, [agent := walker(seen, store)]) as rt:
        run = await rt.start(agent, "go", by="ana", run_id="r")
        await run.wait(LIMIT)
        assert sorted(set(seen)) == sorted(set(seen), key=seen.index) and len(set(seen)) > 3, "again and again"
        await rt.worker.rested("r")
        assert not ours(caplog), "each of them was written, whoever else was writing"
        state = await folded(store, "r")
        state.head = b""
        assert state == State().fold_all(await store.load("r"))


async def test_a_snapshot_that_cannot_be_asked_for_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(str(tmp_path / "a.db"))

    async def fails(*_: object) -> None:
        raise StoreError("no snapshots today")

    monkeypatch.setattr("adjourn.runtime.advancer.captured", fails)
    async with Runtime(store, [agent := walker([], store)]) as rt:
        outcome = await (await rt.start(agent, "go", by="ana", run_id="r")).wait(LIMIT)
        assert outcome.status == "completed"
