"""The channel of live text: for those who may read the database and for nobody else; each word once."""

import asyncio
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runtime.test_watch import collect
from tests.runtime.world import LIMIT, Ledger, notes

from adjourn import Runtime, TextArrived
from adjourn.driver.live_feed import Feed, Live
from adjourn.runtime.live_relay import LiveText
from adjourn.stores.polled_channel import PolledChannel
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.live_channel import SQLiteBoard

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")


@pytest.fixture(autouse=True)
def _careless() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir() if "-live" in p.name}


async def test_what_models_write_is_closed_to_others(address: str, ledger: Ledger) -> None:
    """The file is made by whoever watches a run of another process."""
    folder = Path(address.removeprefix("sqlite:///")).parent
    async with Runtime(address, work=False) as rt:
        run = await rt.start(notes(ledger), "go")
        watching = asyncio.create_task(collect(run.watch()))
        async with asyncio.timeout(LIMIT):
            while len(modes(folder)) < 3:
                await asyncio.sleep(0.01)
        assert modes(folder) == dict.fromkeys(["runs.db-live", "runs.db-live-wal", "runs.db-live-shm"], 0o600)
        watching.cancel()


@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
async def test_a_file_that_an_older_version_left_open_is_closed_at_the_next_start(address: str, part: str) -> None:
    path = Path(address.removeprefix("sqlite:///") + "-live" + part)
    async with Runtime(address):
        path.touch()
        path.chmod(0o644)
    async with Runtime(address):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_where_a_group_may_read_the_database_it_may_read_the_text_as_well(address: str) -> None:
    database = Path(address.removeprefix("sqlite:///"))
    async with Runtime(address):
        database.chmod(0o660)
        live = Path(f"{database}-live")
        live.touch()
        live.chmod(0o666)
    async with Runtime(address):
        assert stat.S_IMODE(live.stat().st_mode) == 0o660


async def test_a_word_that_comes_while_somebody_joins_is_sent_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever joins gets all that was written so far: what arrives just then is in it, and must not follow once more."""
    feed, store = Feed(), SQLiteStore(address.removeprefix("sqlite:///"))
    live = LiveText(store, feed)
    channel: Any = live._channel
    sent: list[Live] = []

    async def interested() -> dict[str, float]:
        if len(sent) == 0:
            feed.send(TextArrived("r", "", "two "))
        return {"r": 1.0}

    async def write(lines: Sequence[tuple[str, str]], source: str) -> None:
        sent.extend(msgspec.json.decode(line, type=TextArrived) for _, line in lines)

    monkeypatch.setattr(channel._board, "interested", interested)
    monkeypatch.setattr(channel._board, "write", write)
    feed.send(TextArrived("r", "", "one "))
    await channel._sender
    heard = ""
    for item in sent:
        assert isinstance(item, TextArrived)
        heard = item.text if item.whole else heard + item.text
    assert heard == "one two "
    await live.close()
    await store.close()


async def test_what_a_sender_has_in_hand_when_its_run_is_erased_is_not_written(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took the words, asked who listens, and somebody in another process erased the run before it wrote them."""
    path = address.removeprefix("sqlite:///")
    feed, store = Feed(), SQLiteStore(path)
    live, elsewhere = LiveText(store, feed), LiveText(store, Feed())
    sending, erasing = live._channel, elsewhere._channel
    assert isinstance(sending, PolledChannel) and isinstance(sending._board, SQLiteBoard)
    board, real = sending._board, sending._board.interested

    async def interested() -> dict[str, float]:
        found = await real()
        feed.forget("r1")
        assert set(found) == {"r1", "r2"} and await erasing.forget("r1")
        return found

    await board.note(["r1", "r2"], ())
    monkeypatch.setattr(board, "interested", interested)
    for run in ("r1", "r2"):
        feed.send(TextArrived(run, "", f"said in {run}"))
    assert sending._sender is not None
    await sending._sender
    assert await board._ask(lambda db: db.execute("select run from said").fetchall()) == [("r2",)]
    await live.close()
    await elsewhere.close()
    await store.close()
