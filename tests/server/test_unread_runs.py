"""A run whose key is not here: a line of every list that says so, and no list is without the others."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.world import Client

from adjourn import Agent, KeyMissing, Paused, Policy, Runtime, ask, tool
from adjourn.core.record_codec import UNREADABLE
from adjourn.secrets import KeyRing
from adjourn.server import serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.stores.run_keys import forget_keys
from adjourn.testing import ScriptedModel, call

RING = KeyRing({"k1": b"k" * 32})
NOT_TRIED = ("/audit/place", "/files/{digest}", "/me/password")
"""These want more than a list does."""


def clerk(name: str) -> Agent[str]:
    @tool(effect="unsafe")
    async def pay(n: int) -> str:
        """Pay."""
        return "ok"

    model = ScriptedModel([call("pay", n=1)], "end")
    return Agent(name, model=model, tools=[pay], policy=Policy([ask("pay")]))


@pytest.fixture(params=["sqlite", "postgres"])
async def address(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """With a run `locked`, whose key is nowhere any more, and a run `plain`."""
    found = f"sqlite:///{tmp_path}/runs.db"
    if request.param == "postgres":
        found = request.getfixturevalue("postgres").fresh()
    async with Runtime(found, [clerk("a")], encrypt=RING) as rt:
        run = await rt.start(clerk("a"), "x", run_id="locked", by="ana")
        assert isinstance(await run.wait(30), Paused)
    forget_keys()
    async with Runtime(found, [clerk("b")], encrypt=False) as rt:
        run = await rt.start(clerk("b"), "x", run_id="plain", by="ana")
        assert isinstance(await run.wait(30), Paused)
    yield found


async def test_every_list_of_a_runtime_goes_on_without_what_it_cannot_read(address: str) -> None:
    async with Runtime(address, [clerk("b")], encrypt=False, work=False) as rt:
        locked, plain = await rt.inbox()
        assert (locked.run_id, locked.payload, locked.choices) == ("locked", UNREADABLE, {})
        assert plain.run_id == "plain" and plain.call is not None
        assert [item.run_id for item in await rt.inbox(kind="approval")] == ["locked", "plain"]
        assert {row.run_id for row in await rt.runs()} == {"locked", "plain"}
        assert [row.run_id for row in await rt.runs(search="tool:pay")] == ["plain"]
        counted = await rt.numbers()
        assert {agent.name: agent.runs for agent in counted.agents} == {"a": 1, "b": 1}
        assert {line.run_id for line in await rt.audit()} == {"locked", "plain"}
        assert [line async for line in rt.audit_export()]
        assert not await rt.verify()


async def test_what_cannot_be_read_cannot_be_decided_and_stays_open(address: str) -> None:
    async with Runtime(address, [clerk("b")], encrypt=False) as rt:
        locked, plain = await rt.inbox()
        for decide in (rt.approve, rt.deny):
            with pytest.raises(KeyMissing, match="ADJOURN_SECRET_KEYS"):
                await decide(locked, by="erik")
        await rt.approve(plain, by="erik")
        assert (await (await rt.get("plain")).wait(30)).status == "completed"
        assert [item.run_id for item in await rt.inbox()] == ["locked"]
    async with Runtime(address, [clerk("a")], encrypt=RING) as rt:
        [item] = await rt.inbox()
        assert item.call is not None and item.call.tool == "pay"
        await rt.approve(item, by="erik")
        assert (await (await rt.get("locked")).wait(30)).status == "completed"


async def test_every_list_of_the_api_goes_on_without_what_it_cannot_read(address: str) -> None:
    lists = [
        operation.path
        for operation in OPERATIONS
        if operation.method == "GET"
        and "{" not in operation.path
        and not operation.stream
        and operation.path not in NOT_TRIED
    ]
    assert {"/inbox", "/runs", "/numbers", "/policies", "/halts/scopes", "/audit"} <= set(lists)
    async with serving(address, [clerk("b")], port=0, name="ana", token=True) as up, Client(up, up.token) as client:
        for path in lists:
            answer = await client.get(path[1:], params={"runs": "locked,plain"} if path == "/glances" else None)
            assert answer.status_code == 200, (path, answer.text)
        assert [item["run_id"] for item in await _items(client, "inbox")] == ["locked", "plain"]
        said = {item["run_id"]: item["now"]["reason"] for item in await _items(client, "glances?runs=locked,plain")}
        assert said == {"locked": UNREADABLE, "plain": ""}
        alone = await client.get("runs/locked")
        assert alone.status_code == 503 and "ADJOURN_SECRET_KEYS" in alone.text


async def _items(client: Client, path: str) -> Any:
    return (await client.get(path)).json()["items"]
