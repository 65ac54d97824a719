"""Several servers behind a real balancer, on one PostgreSQL: an event reaches a browser at whichever it is, and a browser whose
server dies continues at another, where it was."""

import asyncio
import os
import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.deploy.proxies import PROXIES, begun, certificate
from tests.local_server import free_port
from tests.server.process import Process
from tests.server.world import Client, Event, Events, at
from tests.stores.postgres.server import PostgresServer

from adjourn.server import Users, serving

LIMIT = float(os.environ.get("ADJOURN_TEST_LIMIT", "60"))
BALANCERS = ("haproxy", "nginx")


@dataclass
class Site:
    """Two ports behind one name; a worker elsewhere, which the balancer does not know."""

    address: str
    origin: str
    ports: tuple[int, int]
    client: Client
    worker: Client

    @property
    def options(self) -> dict[str, Any]:
        """Of a server of it, which advances nothing."""
        return {"origins": [self.origin], "proxies": ["127.0.0.1"], "work": False}


@pytest.fixture
async def site(request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Site]:
    address, port, ports = postgres.fresh(), free_port(), (free_port(), free_port())
    trusted = ssl.create_default_context(cafile=certificate(tmp_path))
    origin = f"https://localhost:{port}"
    with closing(Users(address)) as users:
        key = users.add("ana", "admin")
    async with AsyncExitStack() as stack:
        worker = await Process.begin(address=address, programs=["desk", "talker"])
        stack.push_async_callback(worker.end, signal.SIGKILL)
        await stack.enter_async_context(begun(PROXIES[request.param](tmp_path, port, ports), port))
        clients = [await stack.enter_async_context(_client(key, base, trusted)) for base in (origin, worker.up["url"])]
        yield Site(address, origin, ports, *clients)


def _client(key: str, base: str, trusted: ssl.SSLContext) -> Client:
    made = Client.__new__(Client)
    httpx.AsyncClient.__init__(
        made, base_url=f"{base}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=LIMIT, verify=trusted
    )
    return made


async def reached(client: Client) -> None:
    """Wait until the balancer leads to a server."""
    async with asyncio.timeout(LIMIT):
        while (await client.get("me")).status_code != 200:
            await asyncio.sleep(0.05)


async def upto(events: Events, wanted: Callable[[Event], bool]) -> list[Event]:
    """What a stream says until then; less if its server dies."""
    found: list[Event] = []
    try:
        async for event in events:
            found.append(event)
            if wanted(event):
                break
    except httpx.TransportError:
        pass
    return found


def asks(event: Event) -> bool:
    return event.kind == "record" and event.data["record"]["t"] == "parked"


@pytest.mark.parametrize("site", BALANCERS, indirect=True)
async def test_a_browser_whose_server_dies_goes_on_at_another_with_what_came_after(site: Site) -> None:
    """The run is advanced by a process that no browser is connected to."""
    async with AsyncExitStack() as stack, asyncio.timeout(LIMIT):
        first = await Process.begin(address=site.address, programs=[], port=site.ports[0], serve=site.options)
        stack.push_async_callback(first.end, signal.SIGKILL)
        await reached(site.client)
        run = await site.worker.start("desk")
        path = f"runs/{run}/events"
        async with site.client.events(path) as of_run, site.client.events("events") as of_all:
            seen = await upto(of_run, asks)
            [item] = (await site.client.get("inbox", params={"run_id": run})).json()["items"]
            await upto(of_all, lambda event: item["ref"] in str(event.data))
            await stack.enter_async_context(serving(site.address, port=site.ports[1], **site.options))
            await first.end(signal.SIGKILL)
            await upto(of_run, lambda event: False)  # both are cut
        await reached(site.client)
        done = await site.client.decide(item, "answer", value={"ok": 1})
        assert done.status_code == 200, done.text
        async with site.client.events("events", of_all.last) as again:
            assert [event.kind for event in await upto(again, lambda event: True)] == ["inbox"], "all of it, anew"
        async with site.client.events(path, of_run.last) as again:
            seen += await upto(again, lambda event: event.kind == "end")
    numbers = [int(event.id) for event in seen if event.kind == "record"]
    assert numbers == list(range(1, len(numbers) + 1)), "each once, in order"
    assert seen[-2].data["record"]["t"] == "completed"


@pytest.mark.parametrize("site", BALANCERS[:1], indirect=True)
async def test_what_a_model_says_elsewhere_reaches_browsers_at_every_server(site: Site) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(LIMIT):
        for port in site.ports:
            await stack.enter_async_context(serving(site.address, port=port, **site.options))
        await reached(site.client)
        run = await site.worker.start("talker")
        path = f"runs/{at(run)}/events"
        tabs = [await stack.enter_async_context(site.client.events(path)) for _ in range(4)]
        for events in await asyncio.gather(*(upto(tab, lambda event: event.kind == "end") for tab in tabs)):
            kinds = {event.kind for event in events}
            assert {"live", "record"} <= kinds, kinds
            assert "word0 word1" in str([event.data for event in events if event.kind == "record"])
