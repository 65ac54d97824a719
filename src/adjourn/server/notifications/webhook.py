"""The only way out: a request to an address that is public, or explicitly allowed.

A name is resolved once, every address that it has is checked, and the connection goes to one of
those: a second answer of the name server, a redirect or a proxy cannot lead anywhere else.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult, urlsplit

import h11

from adjourn.errors import Invalid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SECONDS = 15.0
MOST = 64 * 1024

_NOT_PUBLIC_4 = [
    ipaddress.IPv4Network(n)
    for n in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
# What lies inside it and leads elsewhere: protocol assignments with Teredo, documentation, 6to4,
# AS112.
_NOT_PUBLIC_6 = [
    ipaddress.IPv6Network(n)
    for n in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
]
_ISATAP = (0x00005EFE, 0x02005EFE)


class AddressBlocked(Exception):
    """An address that must not be reached."""


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """What came back."""

    status: int
    retry_after: str = ""


def is_public(address: Address) -> bool:
    """Whether an address belongs to somebody on the internet, also behind the ways to write IPv4
    inside IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in n for n in _NOT_PUBLIC_4)
    if address not in _PUBLIC_6 or any(address in n for n in _NOT_PUBLIC_6):
        return False  # also ::1, fe80::, fc00::, ::ffff:10.0.0.1, 64:ff9b::10.0.0.1, ff00::
    low = int(address) & (2**64 - 1)
    return low >> 32 not in _ISATAP or is_public(ipaddress.IPv4Address(low & (2**32 - 1)))


def networks(allow: Iterable[str]) -> list[Network]:
    """Networks that may be reached although they are not public."""
    return [ipaddress.ip_network(n) for n in allow]


def check_url(url: str, allow: Sequence[Network] = ()) -> SplitResult:
    """A URL that can be told something; raises `Invalid`. What its name resolves to is checked when
    it is used."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise Invalid(f"{url!r:.200} is not a URL") from None
    if (
        parts.scheme not in ("https", "http")
        or not host
        or port == 0
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        raise Invalid(f"an endpoint must look like 'https://example.com/hook', got {url!r:.200}")
    if parts.username is not None or parts.password is not None or parts.fragment or "\\" in url:
        raise Invalid("an endpoint's URL must not contain a user, password or fragment")
    if parts.scheme == "http" and not allow:
        raise Invalid(
            "an endpoint must use https",
            advice="http is only for networks that are explicitly allowed",
        )
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return parts
    if not _reachable(literal, allow):
        raise Invalid(
            f"{host} is not a public address",
            advice="to reach it, allow its network explicitly",
        )
    return parts


def _reachable(address: Address, allow: Sequence[Network]) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
    else:
        mapped = None
    return is_public(address) or any((mapped or address) in n for n in allow)


async def resolve(host: str, port: int, allow: Sequence[Network]) -> list[str]:
    """Every address of a name, all of them checked; raises `AddressBlocked` if one must not be
    reached."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as e:
        raise OSError(f"{host!r:.100} has no address: {e}") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    for text in addresses:
        if "%" in text or not _reachable(ipaddress.ip_address(text), allow):
            raise AddressBlocked(f"{host!r:.100} is {text}, which is not a public address")
    return addresses


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allow: Sequence[Network] = (),
    tls: ssl.SSLContext | None = None,
) -> WebhookResponse:
    """POST to a checked address, in bounded time. Redirects are not followed; raises
    `AddressBlocked`, `OSError`, `TimeoutError`."""
    parts = check_url(url, allow)
    secure = parts.scheme == "https"
    host, port = str(parts.hostname), parts.port or (443 if secure else 80)
    async with asyncio.timeout(SECONDS):
        addresses = await resolve(host, port, allow)
        if not secure and any(is_public(ipaddress.ip_address(a)) for a in addresses):
            raise AddressBlocked(
                f"{host!r:.100} is public, and the notification would not be encrypted"
            )
        context = tls or _trusting() if secure else None
        name = host if secure else None
        reader, writer = await asyncio.open_connection(
            addresses[0], port, ssl=context, server_hostname=name
        )
        try:
            return await _exchange(reader, writer, parts, body, headers)
        except h11.RemoteProtocolError as e:
            raise OSError(f"the answer is not HTTP: {e}") from None
        finally:
            writer.close()


@cache
def _trusting() -> ssl.SSLContext:
    """Reading the authorities' certificates takes a while."""
    return ssl.create_default_context()


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    parts: SplitResult,
    body: bytes,
    headers: Mapping[str, str],
) -> WebhookResponse:
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {
        "Host": parts.netloc,
        **headers,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    for event in (
        h11.Request(method="POST", target=target, headers=list(sent.items())),
        h11.Data(body),
        h11.EndOfMessage(),
    ):
        writer.write(http.send(event) or b"")
    await writer.drain()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(MOST))
        elif isinstance(event, h11.Response):  # the rest is nobody's business
            retry = next((v for k, v in event.headers if k == b"retry-after"), b"")
            return WebhookResponse(event.status_code, retry.decode("latin-1"))
        elif isinstance(event, h11.ConnectionClosed | h11.EndOfMessage):
            raise OSError("the connection was closed before an answer came")
