"""A store that fails is said to have failed, in the form of every other refusal; and the server goes on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.server.world import LIMIT, MAKERS, Client

from adjourn import Runtime
from adjourn.errors import StoreError
from adjourn.server import serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.front_ends.endpoints import FRONT_ENDS
from adjourn.server.openapi import openapi
from adjourn.stores.memory import MemoryStore

READS = ("get", "load", "runs", "inbox", "halt", "audit", "recent", "endpoints", "letters", "verify")


class Failing(MemoryStore):
    """Says no to everything while it is `down`, and counts how often."""

    down, refused = False, 0

    async def no(self, *_: object, **__: object) -> Any:
        self.refused += 1
        raise StoreError("the disk is gone; reload before doing anything")

    def __getattribute__(self, name: str) -> Any:
        name = "no" if name in READS and object.__getattribute__(self, "down") else name
        return object.__getattribute__(self, name)


@asynccontextmanager
async def failing() -> AsyncGenerator[tuple[Failing, Client]]:
    store = Failing()
    async with Runtime(store) as rt, serving(rt, port=0) as server, Client(server, server.token) as client:
        yield store, client
        store.down = False


@pytest.mark.parametrize(
    "path", ["runs", "runs/x", "runs/x/status", "inbox", "halts", "audit", "audit/verify", "endpoints", "letters"]
)
async def test_what_the_store_cannot_tell_is_said_to_be_its_failure(path: str) -> None:
    async with failing() as (store, client):
        store.down = True
        answer = await client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert (answer.json()["code"], "disk" in answer.json()["detail"]) == ("store_error", True)
        store.down = False
        assert (await client.get("runs")).status_code == 200


async def test_the_stream_about_everything_outlives_a_failure_and_misses_nothing() -> None:
    async with failing() as (store, client), client.events("inbox/events") as events:
        await events.until(lambda e: e.kind == "inbox")
        store.down = True
        store._bells.ring("x")
        await asyncio.sleep(0.3)  # it looks, and is told no
        store.down = False
        await client.post("halts", json={"scope": "tool:x", "reason": "r"})
        [*_, told] = await events.until(lambda e: e.kind == "changed")
        assert [h["scope"] for h in told.data["halts"]] == ["tool:x"]


async def test_a_run_s_stream_whose_store_fails_ends_and_goes_on_where_it_was() -> None:
    async with failing() as (store, client):
        agent = MAKERS["refunds"]()
        async with Runtime(store, [agent]) as rt:
            run = await rt.start(agent, "go")
            await run.wait(LIMIT)
        async with client.events(f"runs/{run.id}/events") as events:
            seen = await events.until(lambda e: e.kind == "record" and e.data["record"]["t"] == "parked")
            store.down = True
            store._bells.ring(run.id)
            async with asyncio.timeout(LIMIT):
                assert [e async for e in events if e.kind == "end"] == []
        store.down = False
        await client.post(f"runs/{run.id}/cancel", json={})
        async with client.events(f"runs/{run.id}/events", seen[-1].id) as events:
            [first, *_] = await events.until(lambda e: e.kind == "record")
        assert int(first.id) == int(seen[-1].id) + 1


def test_a_failure_is_in_the_document_of_every_operation() -> None:
    paths = openapi()["paths"]
    assert all({"500", "503"} <= set(o["responses"]) for path in paths.values() for o in path.values())
    assert sum(len(path) for path in paths.values()) == len(OPERATIONS) + len(FRONT_ENDS)
