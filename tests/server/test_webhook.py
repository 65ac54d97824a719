"""The way out leads to public addresses only, and that is decided where the connection is made."""

import asyncio
import ipaddress
import socket
from typing import Any

import pytest
from tests.server.receiver import HERE, Receiver

from adjourn.errors import Invalid
from adjourn.server.notifications import webhook as outlet
from adjourn.server.notifications.webhook import AddressBlocked, check_url, is_public, networks, post

PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "2a00:1450:4001:81b::200e"]
HIDDEN = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.1.1",
    "100.64.0.1", "192.0.0.192", "198.18.0.1", "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.0.2.1", "203.0.113.1",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::ffff:1.1.1.1", "::127.0.0.1", "fe80::1", "fc00::1",
    "fd00:ec2::254", "ff02::1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "100::1",
    "fec0::1", "2001:4860::5efe:7f00:1", "2001:4860::200:5efe:a00:1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_what_belongs_to_somebody_on_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", HIDDEN)
async def test_what_is_not_public_is_not_reached_however_it_is_written(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_public(ipaddress.ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Invalid, match="not a public address"):
        check_url(f"https://{host}/hook")
    names(monkeypatch, [address])
    with pytest.raises(AddressBlocked, match="not a public address"):
        await post("https://innocent.example/hook", b"{}", {})


@pytest.mark.parametrize("url", [
    "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "https://", "https:///x", "https://u:p@example.com/", "https://u@example.com/",
    "https://example.com/#x", "https://example.com:0/", "https://example.com:99999/", "https://exa mple.com/", "https://ex\u00e4mple.com/",
    "https://example.com\\@127.0.0.1/", "https://example.com/\r\nX: y", "gopher://example.com/", "", "example.com", "https://[::1",
])  # fmt: skip
def test_an_address_that_is_not_plain_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        check_url(url)


def names(patch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """A name server that answers so, and the last answer for ever; who was asked for."""
    asked: list[str] = []
    left = list(answers)

    async def getaddrinfo(self: Any, host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    patch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return asked


def connections(patch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Where connections would go, and for which name their certificate must be."""
    made: list[tuple[str, str | None]] = []

    async def open_connection(host: str, port: int, *, ssl: Any = None, server_hostname: str | None = None) -> Any:
        made.append((host, server_hostname))
        raise ConnectionRefusedError("a test")

    patch.setattr(asyncio, "open_connection", open_connection)
    return made


async def test_a_name_that_changes_between_the_check_and_the_connection_leads_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, made = names(monkeypatch, ["93.184.216.34"], ["127.0.0.1"]), connections(monkeypatch)
    with pytest.raises(ConnectionRefusedError):
        await post("https://rebinding.example/hook", b"{}", {})
    assert asked == ["rebinding.example"]  # once: there is no second answer to be had
    assert made == [("93.184.216.34", "rebinding.example")]  # the address that was checked, the certificate of the name


async def test_a_name_with_one_address_too_many_is_not_reached_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    made = connections(monkeypatch)
    for addresses in (["93.184.216.34", "127.0.0.1"], ["10.0.0.1", "1.1.1.1"], ["fe80::1%eth0"]):
        names(monkeypatch, addresses)
        with pytest.raises(AddressBlocked):
            await post("https://two-faced.example/", b"{}", {})
    assert made == []


async def test_without_encryption_only_what_is_allowed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, ["93.184.216.34"])
    made = connections(monkeypatch)
    with pytest.raises(AddressBlocked, match="would not be encrypted"):
        await post("http://public.example/", b"{}", {}, allow=networks(HERE))
    assert made == []


async def test_an_allowed_network_is_reached_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Receiver() as receiver:
        assert (await post(receiver.url, b"{}", {"X": "y"}, allow=networks(HERE))).status == 204
        assert receiver.told[0].head == "POST /hook?a=b HTTP/1.1"
        assert receiver.told[0].headers["host"] == f"127.0.0.1:{receiver.port}"
    for url in ("http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://[::1]/"):
        with pytest.raises(Invalid):
            await post(url, b"{}", {}, allow=networks(HERE))
    check_url(f"http://[::ffff:127.0.0.1]:{receiver.port}/", networks(HERE))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_like_any_other_and_not_followed(status: int) -> None:
    async with Receiver() as inside, Receiver(f"{status} Location: {inside.url}") as receiver:
        answer = await post(receiver.url, b"{}", {}, allow=networks(HERE))
        assert (answer.status, len(receiver.told), len(inside.told)) == (status, 1, 0)


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Receiver() as proxy, Receiver() as receiver:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await post(receiver.url, b"{}", {}, allow=networks(HERE))
        assert (len(proxy.told), len(receiver.told)) == (0, 1)


async def test_who_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet, "SECONDS", 0.2)
    async with Receiver() as receiver:
        receiver.waits.clear()
        with pytest.raises(TimeoutError):
            await post(receiver.url, b"{}", {}, allow=networks(HERE))


@pytest.mark.parametrize("raw", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000])
async def test_what_is_no_answer_is_an_error(raw: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(OSError):
            await post(f"http://127.0.0.1:{port}/", b"{}", {}, allow=networks(HERE))
