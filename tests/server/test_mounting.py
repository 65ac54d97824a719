"""Mounted in somebody's own application, under a prefix, with its lifespan and its users; or an application of its own."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from tests.server.receiver import HERE, Receiver
from tests.server.world import LIMIT, MAKERS, Client, at

from adjourn import Runtime
from adjourn.server import Guard, Identity, add_webhook, create_app, lifespan
from adjourn.server import serving as serving_


class Up:
    """Where it is, as a client wants to know it."""

    def __init__(self, url: str) -> None:
        self.url = url


@asynccontextmanager
async def uvicorning(app: Any, sock: socket.socket, **options: Any) -> AsyncGenerator[None]:
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=2, **options)
    server = uvicorn.Server(config)
    task = asyncio.ensure_future(server._serve(sockets=[sock]))
    async with asyncio.timeout(LIMIT):
        while not server.started:
            assert not task.done()
            await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await task


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        yield made


async def who(request: Request) -> Identity | None:
    """An application's own idea of who somebody is."""
    name = request.headers.get("x-user")
    return Identity(name, "admin" if name == "ana" else "viewer") if name else None


def console(sock: socket.socket, address: str, **options: Any) -> Starlette:
    """As a module of somebody's application would make it: before any loop runs."""
    guard = Guard([f"http://127.0.0.1:{sock.getsockname()[1]}"], authenticate=who)
    return create_app(Runtime(address, [MAKERS["refunds"]()]), guard=guard, **options)


def in_starlette(inner: Starlette) -> Any:
    @asynccontextmanager
    async def own(app: Starlette) -> AsyncGenerator[None]:
        async with lifespan(inner):
            yield

    async def hello(request: Request) -> PlainTextResponse:
        return PlainTextResponse("mine")

    return Starlette(routes=[Route("/", hello), Mount("/ops/adjourn", inner)], lifespan=own)


def in_plain_asgi(inner: Starlette) -> Any:
    """Any framework's mount: a longer root_path, the path as it was; and a lifespan of its own."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with lifespan(inner):
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["path"].startswith("/ops/adjourn/"):
            await inner({**scope, "root_path": scope.get("root_path", "") + "/ops/adjourn", "app": app}, receive, send)
        else:
            await PlainTextResponse("mine")(scope, receive, send)

    return app


@pytest.mark.parametrize("outer", [in_starlette, in_plain_asgi])
async def test_it_works_below_a_prefix_with_the_users_of_the_application_around_it(
    outer: Any, address: str, sock: socket.socket
) -> None:
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with uvicorning(outer(console(sock, address)), sock):
        async with httpx.AsyncClient(trust_env=False) as other:
            assert (await other.get(url)).text == "mine"
            assert (await other.get(f"{url}/api/v1/me")).text in ("mine", "Not Found")
        up: Any = Up(f"{url}/ops/adjourn")
        async with (
            Client(up) as nobody,
            Client(up, headers={"X-User": "ana"}) as ana,
            Client(up, headers={"X-User": "vic"}) as vic,
        ):
            assert (await nobody.get("me")).status_code == 401
            assert (await ana.get("me")).json()["name"] == "ana"
            item = await ana.waiting("refunds")
            assert (await vic.decide(item, "approve")).status_code == 403
            async with ana.events(f"runs/{item['run_id']}/events") as events:
                await events.until(lambda e: e.id == str(item["seq"]))
                assert (await ana.decide(item, "approve")).status_code == 200
                await events.until(lambda e: e.kind == "end")
            assert (await ana.get(f"interrupts/{at(item['ref'])}")).json()["closed"]["by"] == "ana"
            document = (await nobody.get("openapi.json")).json()
            assert document["servers"] == [{"url": "/ops/adjourn"}]
            foreign = await ana.post(
                "halts", json={"scope": "*", "reason": "x"}, headers={"Origin": "http://evil.example"}
            )
            assert foreign.json()["code"] == "wrong_origin"


async def test_by_itself_it_is_an_application_with_a_lifespan(address: str, sock: socket.socket) -> None:
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with Receiver() as receiver:
        inner = console(sock, address, url="https://ops.example.com", allow=HERE)
        async with uvicorning(inner, sock):
            up: Any = Up(url)
            async with Client(up, headers={"X-User": "ana"}) as ana:
                await add_webhook(inner.state.app_state.runtime.store, "hook", receiver.url, allow=HERE)
                await ana.waiting("refunds")
                [told] = await receiver.until(1)
                assert told.message["data"]["link"].startswith("https://ops.example.com/inbox/")
    async with Runtime(address) as rt:  # it was closed and handed its runs back
        assert len(await rt.inbox()) == 1


async def test_behind_a_proxy_that_leaves_the_prefix_out(address: str, sock: socket.socket) -> None:
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with uvicorning(console(sock, address), sock, root_path="/behind"):
        up: Any = Up(url)
        async with Client(up, headers={"X-User": "ana"}) as ana:
            assert (await ana.get("me")).json()["name"] == "ana"
            assert (await ana.get("openapi.json")).json()["servers"] == [{"url": "/behind"}]


async def test_a_runtime_that_is_open_already_is_used_and_left_open(address: str) -> None:
    async with Runtime(address, [MAKERS["refunds"]()]) as rt:
        async with serving_(rt, port=0) as server, Client(server, server.token) as client:
            await client.waiting("refunds")
        assert len(await rt.inbox()) == 1


async def test_a_stream_does_not_keep_the_application_around_it_from_ending(address: str, sock: socket.socket) -> None:
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    up: Any = Up(f"{url}/ops/adjourn")
    async with Client(up, headers={"X-User": "ana"}) as ana, AsyncExitStack() as application:
        await application.enter_async_context(uvicorning(in_starlette(console(sock, address)), sock))
        async with ana.events("inbox/events") as events:
            await events.until(lambda e: e.kind == "inbox")
            async with asyncio.timeout(LIMIT):
                await application.aclose()


async def test_without_its_lifespan_every_request_says_what_is_missing(address: str, sock: socket.socket) -> None:
    transport = httpx.ASGITransport(in_starlette(console(sock, address)))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{sock.getsockname()[1]}") as client:
        answer = await client.get("/ops/adjourn/api/v1/runs", headers={"X-User": "ana"})
    assert (answer.status_code, answer.json()["code"]) == (500, "misused")
    assert "open the runtime" in answer.json()["detail"]
