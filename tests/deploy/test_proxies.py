"""Behind real proxies, with the files of deploy/proxy: HTTP/2 under TLS, events as they happen, and who the client is."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.deploy.proxies import LIMIT, PROXIES, begun, certificate
from tests.local_server import free_port

from adjourn import Agent
from adjourn.server import Users, serving
from adjourn.testing import ScriptedModel

AT_ONCE = 10.0
"""Seconds: less than the 15 after which a comment would push out what a proxy holds back."""
CLIENT = "127.0.0.2"
FORGED = "198.51.100.7"

pytestmark = pytest.mark.anyio

TABS = 10
ONE = httpx.Limits(max_connections=1)
"""One connection for everything, as a browser has with HTTP/2: with HTTP/1.1 the second stream would wait for ever."""


@pytest.mark.parametrize("name", PROXIES)
async def test_a_server_behind_a_proxy_speaks_http_2_streams_at_once_and_knows_its_clients(
    name: str, tmp_path: Path
) -> None:
    port, behind = free_port(), free_port()
    trusted = ssl.create_default_context(cafile=certificate(tmp_path))
    origin = f"https://localhost:{port}"
    users = Users(str(tmp_path / "users"))
    key = users.add("ana", "admin")
    clerk = Agent("clerk", model=ScriptedModel("done"))
    command = PROXIES[name](tmp_path, port, [behind])
    address = f"sqlite:///{tmp_path}/runs.db"
    options: dict[str, Any] = {"port": behind, "origins": [origin], "users": users, "proxies": ["127.0.0.1"]}
    async with serving(address, [clerk], **options) as up, begun(command, port):
        transport = httpx.AsyncHTTPTransport(verify=trusted, http2=True, local_address=CLIENT, retries=3, limits=ONE)
        headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": FORGED}
        async with httpx.AsyncClient(
            base_url=f"{origin}/api/v1/", transport=transport, headers=headers, timeout=LIMIT
        ) as client:
            answer = await ready(client)
            assert answer.http_version == "HTTP/2"
            async with AsyncExitStack() as stack, asyncio.timeout(AT_ONCE):
                tabs: list[AsyncIterator[str]] = []
                for _ in range(TABS):
                    stream = await stack.enter_async_context(client.stream("GET", "events"))
                    assert (stream.status_code, stream.http_version) == (200, "HTTP/2")
                    tabs.append(stream.aiter_lines())
                    await anext(tabs[-1])
                started = await client.post("runs", json={"agent": "clerk", "input": "go"})
                run = started.json()["run_id"]
                for lines in tabs:
                    async for line in lines:
                        if run in line:
                            break
        [entry] = [entry for entry in await up.runtime.audit() if entry.verb == "start"]
    users.close()
    assert CLIENT in entry.origin and FORGED not in json.dumps(entry.origin)


async def ready(client: httpx.AsyncClient) -> httpx.Response:
    """The first answer that the proxy lets through: it may not know yet that the server is up."""
    async with asyncio.timeout(LIMIT):
        while True:
            answer = await client.get("runs")
            if answer.status_code == 200:
                return answer
            assert answer.status_code in (502, 503), answer.text
            await asyncio.sleep(0.05)
