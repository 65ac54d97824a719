"""Over HTTP a run in a session is its next turn, and a conversation is erased whole."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.world import Client

from adjourn import Runtime
from adjourn.server import Serving, Users, serving, users_path
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore


async def said(admin: Client, run: str) -> list[str]:
    """What people have said in the run and the turns before it."""
    items = (await admin.get(f"runs/{run}/messages")).json()["items"]
    return [x["text"] for x in items if x["type"] == "user"]


async def turn(admin: Client, text: str, **body: Any) -> str:
    run = await admin.start("talker", input=text, **body)
    await admin.until(run, "completed")
    return run


async def test_a_run_in_a_session_goes_on_with_its_last_one_unless_it_is_told_not_to(admin: Client) -> None:
    await turn(admin, "a", session="s")
    second = await turn(admin, "b", session="s")
    assert await said(admin, second) == ["a", "b"]
    apart = await turn(admin, "c", session="s", after=None)
    assert await said(admin, apart) == ["c"]
    branch = await turn(admin, "d", session="s", after=second)
    assert await said(admin, branch) == ["a", "b", "d"]


async def test_a_session_whose_last_run_goes_on_is_a_conflict_and_so_are_two_at_once(admin: Client) -> None:
    open_turn = await admin.waiting("refunds", session="s")
    refused = await admin.post("runs", json={"agent": "refunds", "input": "b", "session": "s"})
    assert (refused.status_code, open_turn["run_id"] in refused.text) == (409, True)
    await turn(admin, "a", session="t")
    body = {"agent": "talker", "input": "b", "session": "t"}
    both = await asyncio.gather(*(admin.post("runs", json=body) for _ in range(2)))
    codes = sorted(answer.status_code for answer in both)
    assert codes in ([200, 409], [200, 200])
    begun = [answer.json()["run_id"] for answer in both if answer.status_code == 200]
    for run in begun:
        await admin.until(run, "completed")
    lengths = sorted([len(await said(admin, run)) for run in begun])
    assert lengths == [2, 3][: len(begun)], "no two go on with the same turn"


async def test_a_conversation_is_erased_whole(admin: Client) -> None:
    first = await turn(admin, "a", session="s")
    second = await turn(admin, "b", session="s")
    done = (await admin.post(f"runs/{second}/erase", json={"reason": "asked for", "whole": True})).json()
    assert done["turns"] == [first]
    for run in (first, second):
        assert (await admin.get(f"runs/{run}")).json()["erased_at"]


class Placed(MemoryStore):
    """A store that has a path, of which nobody knows what it means."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path


@pytest.mark.parametrize("given", ["address", "store", "private"])
async def test_users_are_where_a_store_says_that_it_is_and_no_store_is_asked_for_a_path(
    tmp_path: Path, given: str
) -> None:
    address = f"sqlite:///{tmp_path}/a.db"
    users = Users(users_path(address))
    users.add("ana", "admin")
    users.close()
    store: Any = address
    if given == "store":
        store = SQLiteStore(str(tmp_path / "a.db"))
    elif given == "private":
        store = Placed(str(tmp_path / "a.db"))
    runtime = Runtime(store, work=False)
    assert runtime.address == ("memory://" if given == "private" else address)
    async with serving(runtime, port=0) as place:
        assert isinstance(place, Serving)
        assert bool(place.token) == (given == "private"), "where there are users, nobody else is let in"
    if given == "store":
        await store.close()
