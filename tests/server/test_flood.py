"""Whoever keeps the server waiting, or makes it work for nothing, holds up nobody else: real processes, real connections."""

import asyncio
import resource
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.again import in_time
from tests.server.process import Process
from tests.server.test_streams import up
from tests.server.world import LIMIT, Client, eventually

from adjourn.runtime.file_limit import allow_files
from adjourn.server import Users, serving

MANY = 1100
SOON = 1.0
FILES = 1024


def ways(url: str) -> dict[str, bytes]:
    """How a connection can be held without doing anything."""
    head = f"Host: {url.partition('://')[2]}\r\n".encode()
    return {
        "nothing": b"",
        "half a head": b"GET / HTTP/1.1\r\nX-a: ",
        "a head, and no body": b"POST /api/v1/session HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{" % head,
        "a request, and its answer unread": b"GET /api/v1/openapi.json HTTP/1.1\r\n%b\r\n" % head,
        "an answer, and half of the next head": b"GET /api/v1/me HTTP/1.1\r\n%b\r\nGET /" % head,
        "an answer, and a body that it did not want": b"GET /api/v1/me HTTP/1.1\r\n%bContent-Length: 99\r\n\r\nx" % head,
    }  # fmt: skip


WAYS = list(ways(""))


@pytest.fixture(autouse=True)
def _room() -> None:
    if allow_files(MANY + 300) < MANY + 300:
        pytest.skip("this machine does not let a process open so many connections")


@asynccontextmanager
async def idle(url: str, send: bytes, count: int = MANY) -> AsyncGenerator[list[asyncio.StreamWriter]]:
    """So many connections that send this and then nothing. Some may be refused; that is what they are there for."""
    host, port = url.rpartition("/")[2].split(":")

    async def one() -> asyncio.StreamWriter:
        reader, writer = await asyncio.open_connection(host, int(port), limit=1)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(send)
        return writer

    writers: list[asyncio.StreamWriter] = []
    try:
        async with asyncio.timeout(LIMIT):
            for begin in range(0, count, 100):
                found = await asyncio.gather(
                    *(one() for _ in range(begin, min(begin + 100, count))), return_exceptions=True
                )
                writers += [w for w in found if not isinstance(w, BaseException)]
        yield writers
    finally:
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


async def slowest(client: httpx.AsyncClient, times: int = 20) -> float:
    """The longest that a new connection with a request took, once what came before it has been answered."""
    assert (await client.get("me")).status_code == 200
    longest = 0.0
    for _ in range(times):
        began = time.monotonic()
        answer = await client.get("me", headers={"Connection": "close"})
        assert answer.status_code == 200
        longest = max(longest, time.monotonic() - began)
    return longest


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Process]:
    """A server that may have 1,024 files open, as it is usual. What it complains of is in a file."""
    with (tmp_path / "stderr").open("wb") as stderr:
        server = await Process.begin(address="memory://", files=FILES, stderr=stderr)
        yield server
        assert await server.end(signal.SIGTERM) == 0
    said = (tmp_path / "stderr").read_text()
    assert "Traceback" not in said
    assert len(said) < 2000, said[:4000]


@pytest.mark.parametrize("way", WAYS)
async def test_a_thousand_connections_that_do_nothing_hold_up_nobody(small: Process, way: str) -> None:
    """They come from the same address as everybody else, and there are more of them than the server has files."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > MANY
    async with Client(up(small), small.up["token"]) as honest:
        run = await honest.start("talker")
        async with honest.events("inbox/events") as stream:
            await stream.until(lambda e: e.kind == "inbox")
            async with idle(small.up["url"], ways(small.up["url"])[way]):
                in_time(await slowest(honest), SOON)
                await honest.until(run, "completed")  # the store of that process has its files, too
            in_time(await slowest(honest), SOON)
            await stream.until(lambda e: e.kind == "changed")  # whoever was served was not thrown out


def certificate(folder: Path) -> dict[str, str]:
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("there is no openssl to make a certificate")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return {"certfile": str(cert), "keyfile": str(key)}


async def test_nor_do_a_thousand_that_never_begin_their_tls_handshake(tmp_path: Path) -> None:
    server = await Process.begin(address="memory://", files=FILES, serve=certificate(tmp_path))
    try:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        headers = {"Authorization": f"Bearer {server.up['token']}"}
        async with (
            httpx.AsyncClient(
                base_url=f"{server.up['url']}/api/v1/", headers=headers, verify=trusted, trust_env=False
            ) as honest,
            idle(server.up["url"], b""),
        ):
            in_time(await slowest(honest), SOON)
        async with idle(server.up["url"], b"GET / HTTP/1.1\r\n\r\n", 300):  # not even TLS
            pass
    finally:
        assert await server.end(signal.SIGTERM) == 0


# Deadlines


@pytest.mark.parametrize(("way", "said"), [("nothing", b""), ("half a head", b"HTTP/1.1 408 ")])
async def test_a_head_that_does_not_come_ends_the_connection(way: str, said: bytes) -> None:
    async with serving("memory://", port=0, head_seconds=0.2) as server:
        reader, writer = await _connect(server)
        writer.write(ways(server.url)[way])
        async with asyncio.timeout(LIMIT):
            assert (await reader.read()).startswith(said)
        writer.close()


async def test_a_head_that_comes_byte_by_byte_is_late_all_the_same() -> None:
    async with serving("memory://", port=0, head_seconds=0.3) as server:
        reader, writer = await _connect(server)
        reading = asyncio.create_task(reader.read())
        async with asyncio.timeout(LIMIT):
            while not reading.done():
                writer.write(b"G")
                await asyncio.sleep(0.02)
        with suppress(ConnectionError):  # what was sent after the end is answered with a reset
            assert reading.result().startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_after_an_answer_the_next_head_has_its_time_and_no_more() -> None:
    async with serving("memory://", port=0, head_seconds=0.3) as server:
        reader, writer = await _connect(server)
        writer.write(f"GET /api/v1/me HTTP/1.1\r\nHost: {server.url[7:]}\r\n\r\nGET / HT".encode())
        async with asyncio.timeout(LIMIT):
            said = await reader.read()
        assert said.count(b"HTTP/1.1 ") == 2
        assert b"HTTP/1.1 401 " in said and b"HTTP/1.1 408 " in said
        writer.close()


async def test_a_stream_that_is_read_lasts_longer_than_any_deadline() -> None:
    async with (
        serving("memory://", port=0, head_seconds=0.1) as quick,
        Client(quick, quick.token) as client,
        client.events("inbox/events") as stream,
    ):
        await stream.until(lambda e: e.kind == "inbox")
        reader, writer = await _connect(quick)  # it ends by the deadline, which is then over for the stream as well
        async with asyncio.timeout(LIMIT):
            assert await reader.read() == b""
        writer.close()
        await client.post("halts", json={"scope": "*", "reason": "x"})
        await stream.until(lambda e: e.kind == "changed")


# Shares


async def test_when_everybody_works_a_new_one_is_turned_away_with_a_reason() -> None:
    async with (
        serving("memory://", port=0, connections=12, connections_each=2) as server,
        Client(server, server.token) as one,
        Client(server, server.token) as two,
    ):
        async with one.events("inbox/events") as first, two.events("inbox/events") as second:
            await first.until(lambda e: e.kind == "inbox")
            await second.until(lambda e: e.kind == "inbox")
            reader, writer = await _connect(server)
            async with asyncio.timeout(LIMIT):
                said = await reader.read()
            assert said.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 5" in said
            writer.close()

        async def served() -> bool:
            try:
                return (await one.get("me")).status_code == 200
            except httpx.TransportError:
                return False

        await eventually(served)


async def test_people_behind_one_proxy_do_not_share_one_share() -> None:
    """The proxy has as many connections as it likes; each of those behind it has the limits of a client."""
    async with serving("memory://", port=0, connections_each=2, proxies=["127.0.0.1"]) as server:
        clients = [Client(server, server.token) for _ in range(10)]
        streams = [client.events("inbox/events") for client in clients]
        for stream in streams:
            events = await stream.__aenter__()
            await events.until(lambda e: e.kind == "inbox")
        for stream, client in zip(streams, clients, strict=True):
            await stream.__aexit__(None, None, None)
            await client.aclose()


# Two lengths


async def test_a_request_with_two_lengths_is_refused_and_its_connection_closed() -> None:
    users = Users()
    async with serving("memory://", port=0, users=users, token=True) as server:
        reader, writer = await _connect(server)
        writer.write(
            f"POST /api/v1/session HTTP/1.1\r\nHost: {server.url[7:]}\r\nContent-Type: application/json\r\n"
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
            "0\r\n\r\nGET /api/v1/me HTTP/1.1\r\n\r\n".encode()
        )
        async with asyncio.timeout(LIMIT):
            said = await reader.read()
        assert said.startswith(b"HTTP/1.1 400 ") and b"ambiguous_length" in said
        assert said.count(b"HTTP/1.1 ") == 1
        writer.close()
    users.close()


async def _connect(server: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = server.url.rpartition("/")[2].split(":")
    return await asyncio.open_connection(host, int(port))


# Bodies

MEGABYTE = 1_000_000


def brackets(begin: str) -> bytes:
    """A megabyte that takes a hundred times longer to read than a megabyte of text."""
    pairs = (MEGABYTE - len(begin) - 10) // 3
    return f"{begin}[{'[],' * pairs}[]]}}".encode()


BODIES = [
    ("session", brackets('{"key": "x", "a": '), {413}),
    ("runs", brackets('{"agent": "talker", "input": '), {400}),
    ("runs", b'{"agent": "talker", "input": "%b"}' % (b"," * MEGABYTE), {200}),
    ("runs", b'{"agent": "nothing", "input": [%b0]}' % (b"1.5e300," * 99_000), {404}),
    ("runs", b'{"agent": "nothing", "input": %b1%b}' % (b'{"a":' * 90, b"}" * 90), {404}),
    ("halts", brackets('{"scope": "*", "reason": '), {413}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "expected"), BODIES, ids=range(len(BODIES)))
async def test_large_bodies_hold_up_nobody(small: Process, path: str, body: bytes, expected: set[int]) -> None:
    """Ten clients send them one after the other, as an operator, or as nobody at the door."""
    enough = asyncio.Event()
    seen: set[int] = set()

    async def sends() -> None:
        async with Client(up(small), small.up["token"], headers={"Content-Type": "application/json"}) as client:
            while not enough.is_set():
                seen.add((await client.post(path, content=body)).status_code)

    async with Client(up(small), small.up["token"]) as honest, asyncio.TaskGroup() as senders:
        for _ in range(10):
            senders.create_task(sends())
        longest = await slowest(honest)
        enough.set()
        in_time(longest, SOON)
    assert seen == expected
