"""The world changes under an open store: files go away, processes fork, folders change, disks fail to answer."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.test_sqlite import opened

from adjourn.core.records import Said
from adjourn.errors import StoreError
from adjourn.stores.sqlite import store as sqlite
from adjourn.testing.contract.fixtures import begin, claim, commit, replied, started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def deleted(path: Path) -> None:
    for file in path.parent.glob("runs.db*"):
        file.unlink()


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    deleted(path.with_suffix(".none"))
    os.replace(path.with_suffix(".copy"), path)


@pytest.mark.parametrize("change", [deleted, replaced])
async def test_nothing_is_acknowledged_into_a_file_that_is_gone(path: Path, change: Any) -> None:
    async with opened(path) as store:
        lease = await begin(store)
        await store.create(started("r2"))
        change(path)
        for write in (
            commit(store, lease, [replied()], seen=2),
            store.deliver("r1", Said(text="hi")),
            store.create(started("r3")),
            claim(store, "r2"),
        ):
            with pytest.raises(StoreError, match="deleted or replaced"):
                await write


async def test_a_store_in_a_process_that_was_forked_says_so_instead_of_hanging(path: Path) -> None:
    async with opened(path) as store:
        await begin(store)
        told, said = os.pipe()
        pid = os.fork()
        if pid == 0:
            text = "nothing"
            try:
                store.get("r1").send(None)
            except StoreError as e:
                text = str(e)
            finally:
                os.write(said, text.encode())
                os._exit(0)
        os.waitpid(pid, 0)
        assert "before a fork" in os.read(told, 1000).decode()
        os.close(told)
        os.close(said)
        assert (await store.get("r1")).seq == 2


async def test_a_store_stays_where_it_was_opened(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    async with opened(Path("runs.db")) as store:
        await begin(store)
        other = tmp_path / "elsewhere"
        other.mkdir()
        monkeypatch.chdir(other)
        assert await store.verify() == []
        assert list(other.iterdir()) == []


async def test_the_watcher_survives_an_error_and_then_hears_what_it_missed(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "HOT", 0.01)
    async with opened(path) as store, opened(path) as other:
        await begin(store)
        heard, failed = asyncio.Event(), asyncio.Event()
        look = store._look_up

        def fails() -> Any:
            monkeypatch.setattr(store, "_look_up", look)
            failed.set()
            raise apsw.IOError("disk I/O error")

        end = store.subscribe("r1", heard.set)
        monkeypatch.setattr(store, "_look_up", fails)
        await other.deliver("r1", Said(text="hi"))
        await asyncio.wait_for(failed.wait(), 20)
        heard.clear()
        await asyncio.wait_for(heard.wait(), 20)
        end()
    assert "other processes' words could not be looked for" in caplog.text
