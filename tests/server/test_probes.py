"""Probes need no key and no name of the host; what is not there is not found."""

import re
from pathlib import Path

import httpx
import pytest
from tests.server.world import Client

import adjourn
from adjourn.errors import StoreError
from adjourn.server import Serving, static_files

CONSOLE = Path(adjourn.__file__).parents[2] / "console" / "src" / "main.tsx"


async def ask(server: Serving, path: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url, headers={"host": "10.0.0.7:8080"}) as client:
        return await client.request(method, path)


async def test_a_probe_is_answered_without_a_key_whatever_the_host_is_called(server: Serving) -> None:
    for path in ("/healthz", "/readyz"):
        found = await ask(server, path)
        assert (found.status_code, found.text) == (200, "ok\n")
        assert (await ask(server, path, "POST")).status_code == 405
    assert (await ask(server, "/api/v1/runs")).status_code == 403, "everything else goes by its name"


async def test_a_server_whose_store_fails_is_alive_and_not_ready(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise StoreError("the disk is full at /secret/place")

    monkeypatch.setattr(type(server.runtime.store), "roster", broken)
    found = await ask(server, "/readyz")
    assert (found.status_code, found.text) == (503, "not ready\n")
    assert (await ask(server, "/healthz")).status_code == 200


@pytest.mark.parametrize("path", ["nowhere", "run", "healthz/x", "static/app.js", "runs.php", "wp-admin/"])
async def test_an_unknown_address_is_not_found(server: Serving, path: str) -> None:
    async with httpx.AsyncClient(base_url=server.url) as client:
        found = await client.get(f"/{path}")
    assert found.status_code == 404 and "<h1>Not found</h1>" in found.text
    assert found.headers["content-type"].startswith("text/html")


async def test_an_unknown_address_of_the_api_is_a_problem(admin: Client) -> None:
    found = await admin.get("nowhere")
    assert (found.status_code, found.json()["code"]) == (404, "not_found")


def test_every_place_of_the_console_is_served() -> None:
    named = set(re.findall(r'case "(\w+)":\n\s+return', CONSOLE.read_text("utf-8")))
    assert named | {""} == static_files.PLACES


async def test_metrics_are_for_whoever_may_read(server: Serving, admin: Client) -> None:
    async with httpx.AsyncClient(base_url=server.url) as client:
        assert (await client.get("/metrics")).status_code == 401
    found = await admin.get(f"{server.url}/metrics")
    assert found.status_code == 200 and "# TYPE adjourn_halts gauge\nadjourn_halts 0\n" in found.text
    assert found.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
