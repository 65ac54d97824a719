"""What is refused before a request is read: foreign hosts, foreign pages, and lengths that a proxy
may read otherwise. With it, which Host and Origin headers are a server's own."""

import ipaddress
from collections.abc import Set
from urllib.parse import urlsplit

from starlette.requests import Request

from adjourn.errors import InvalidDefinition
from adjourn.server.problem import Problem

OTHER_NAME = "use a known host name, or start the server with --origin for this one"


def check_host(request: Request, hosts: Set[str]) -> None:
    """A page of another name that resolves here (DNS rebinding) has another Host header.

    Args:
        request: not yet read.
        hosts: the server's own names, with their ports.
    """
    named = request.headers.getlist("host")
    if len(named) != 1 or named[0].lower() not in hosts:
        what = f"unknown host {', '.join(named)!r:.80}"
        raise Problem(403, "wrong_host", what, advice=OTHER_NAME)


def check_origin(request: Request, origins: Set[str]) -> None:
    """A browser says where a request comes from; other programs do not say anything.

    Args:
        request: not yet read.
        origins: where the console is served.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    if origin is not None and origin.lower() not in origins:
        what = f"origin {origin!r:.80} is not allowed"
        raise Problem(403, "wrong_origin", what, advice=OTHER_NAME)
    if site not in ("none", "same-origin"):
        what = "requests from other sites are not allowed"
        raise Problem(403, "wrong_origin", what, advice="open the console itself")


def check_page(request: Request) -> None:
    """A link in a mail may open the console, in a window of its own; nobody may load it into
    theirs."""
    site = request.headers.get("sec-fetch-site", "none")
    dest = request.headers.get("sec-fetch-dest", "document")
    if site not in ("none", "same-origin") and dest != "document":
        what = "other sites can only link to this page"
        raise Problem(403, "wrong_origin", what, advice="open it in a window of its own")


def check_length(request: Request) -> None:
    """A proxy and a server that disagree on where a request ends can be made to see different
    requests."""
    if "transfer-encoding" in request.headers and "content-length" in request.headers:
        what = "a request must not have both Content-Length and Transfer-Encoding"
        raise Problem(
            400, "ambiguous_length", what, {"Connection": "close"}, advice="send one of them"
        )


def plain_origin(text: str) -> str:
    """An origin as browsers write it, without a default port; raises `InvalidDefinition`."""
    parts = urlsplit(text.lower())
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.path not in ("", "/")
        or "@" in parts.netloc
    ):
        raise InvalidDefinition(
            f"an origin must look like 'https://ops.example.com', got {text!r:.80}"
        )
    port = "" if parts.port in (None, _port(parts.scheme)) else f":{parts.port}"
    if ":" in parts.hostname:
        host = f"[{parts.hostname}]"
    else:
        host = parts.hostname
    return f"{parts.scheme}://{host}{port}"


def hosts_of(origin: str) -> set[str]:
    """The Host headers of an origin: a default port may be written or not."""
    parts = urlsplit(origin)
    if parts.port:
        return {parts.netloc}
    return {parts.netloc, f"{parts.netloc}:{_port(parts.scheme)}"}


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
