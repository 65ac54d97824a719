"""A tool with a shell, in a real worker: with deciders nothing that it does lets a gated call run (G23, G36)."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.authority.intruder import PLACE, WAYS, cast, name_of

from adjourn import Run, Runtime
from adjourn.core.records import AnyRecord, Disowned, Returned
from adjourn.driver.decider_keys import SigningKey
from adjourn.driver.worker_mark import MARK
from adjourn.server import Users, users_path

LIMIT = 90.0
REFUSED = {
    "command line": "this database has users, so a decision needs a key",
    "python": "a run cannot decide",
    "users": "a run cannot decide",
}


@asynccontextmanager
async def a_worker(folder: Path, *options: str) -> AsyncGenerator[None]:
    """`adjourn worker`, as somebody would start it."""
    env = {name: value for name, value in os.environ.items() if name != MARK}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "adjourn", "worker", "tests.authority.intruder:cast", "--db", str(folder / "runs.db"), *options,
        env={**env, PLACE: str(folder)}, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        async with asyncio.timeout(LIMIT):
            await process.wait()


async def until(run: Run[Any], rt: Runtime, so: Callable[[list[AnyRecord]], bool]) -> list[AnyRecord]:
    """The journal, once it is so."""
    bell = asyncio.Event()
    end = rt.store.subscribe(run.id, bell.set)
    try:
        async with asyncio.timeout(LIMIT):
            while not so(records := [record for _, record in await rt.store.load(run.id)]):
                bell.clear()
                await bell.wait()
    finally:
        end()
    return records


def has(kind: type[AnyRecord]) -> Callable[[list[AnyRecord]], bool]:
    return lambda records: any(isinstance(record, kind) for record in records)


def said(records: list[AnyRecord]) -> str:
    """What the shell gave back."""
    return next(str(record.value) for record in records if isinstance(record, Returned) and record.call == "1.1")


async def tried(folder: Path, rt: Runtime) -> dict[str, tuple[Run[Any], str]]:
    """Every way, at once, in the same worker: its run, and what its shell said."""
    programs = {agent.name: agent for agent in cast}
    runs = {way: await rt.start(programs[name_of(way)], "go", by="eve") for way in WAYS}
    shells = {way: said(await until(run, rt, lambda x: any(isinstance(r, Returned) and r.call == "1.1" for r in x)))
              for way, run in runs.items()}  # fmt: skip
    return {way: (run, shells[way]) for way, run in runs.items()}


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().split() if path.exists() else []


def with_users(folder: Path) -> str:
    address = f"sqlite:///{folder / 'runs.db'}"
    users = Users(users_path(address))
    users.add("ana", "approver", ["leads"])
    users.close()
    return address


async def test_g36_with_deciders_no_way_of_a_shell_lets_a_call_run(tmp_path: Path) -> None:
    address, key = with_users(tmp_path), SigningKey.new()
    (tmp_path / "deciders").write_text(key.line("desk") + "\n")
    async with (
        Runtime(address, cast, work=False, signing_key=key) as desk,
        a_worker(tmp_path, "--deciders", str(tmp_path / "deciders")),
    ):
        found = await tried(tmp_path, desk)
        for way, why in REFUSED.items():
            assert "ended with 1" in found[way][1] and why in found[way][1], found[way][1]
        run, shell = found["rows"]
        assert "ended with 0" in shell, shell
        await until(run, desk, has(Disowned))
        for run, _ in found.values():
            [item] = await desk.inbox(run=run.id)
            assert (item.kind, item.call.tool if item.call else "") == ("approval", "pay")
        assert ledger(tmp_path) == []
        for run, _ in found.values():  # whoever may decide still can
            [item] = await desk.inbox(run=run.id)
            await desk.approve(item, by="ana", groups=["leads"])
            await run.wait(LIMIT)
        assert sorted(ledger(tmp_path)) == sorted(run.id for run, _ in found.values())


async def test_without_deciders_only_what_the_documentation_names_is_left(tmp_path: Path) -> None:
    address = with_users(tmp_path)
    async with Runtime(address, cast, work=False) as desk, a_worker(tmp_path):
        found = await tried(tmp_path, desk)
        for way, why in REFUSED.items():
            run, shell = found[way]
            assert "ended with 1" in shell and why in shell, shell
            [item] = await desk.inbox(run=run.id)
            assert {seat.filled_by for seat in item.slots} == {""}
        run, _ = found["rows"]
        await run.wait(LIMIT)
        assert ledger(tmp_path) == [run.id]
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    assert "writes rows into the database file | **can decide** | cannot decide" in page
