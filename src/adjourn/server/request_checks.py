"""What is refused before a request is read: foreign hosts, foreign pages, and lengths that a proxy
may read otherwise."""

from collections.abc import Set

from starlette.requests import Request

from adjourn.server.problem import Problem


def check_host(request: Request, hosts: Set[str]) -> None:
    """A page of another name that resolves here (DNS rebinding) has another Host header.

    Args:
        request: not yet read.
        hosts: the server's own names, with their ports.
    """
    named = request.headers.getlist("host")
    if len(named) != 1 or named[0].lower() not in hosts:
        raise Problem(403, "wrong_host", f"unknown host {', '.join(named)!r:.80}")


def check_origin(request: Request, origins: Set[str]) -> None:
    """A browser says where a request comes from; other programs do not say anything.

    Args:
        request: not yet read.
        origins: where the console is served.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    if origin is not None and origin.lower() not in origins:
        raise Problem(403, "wrong_origin", f"origin {origin!r:.80} is not allowed")
    if site not in ("none", "same-origin"):
        raise Problem(403, "wrong_origin", "requests from other sites are not allowed")


def check_page(request: Request) -> None:
    """A link in a mail may open the console, in a window of its own; nobody may load it into
    theirs."""
    site = request.headers.get("sec-fetch-site", "none")
    dest = request.headers.get("sec-fetch-dest", "document")
    if site not in ("none", "same-origin") and dest != "document":
        raise Problem(403, "wrong_origin", "other sites may link to this page, and no more")


def check_length(request: Request) -> None:
    """A proxy and a server that disagree on where a request ends can be made to see different
    requests."""
    if "transfer-encoding" in request.headers and "content-length" in request.headers:
        advice = "a request has Content-Length or Transfer-Encoding, not both"
        raise Problem(400, "ambiguous_length", advice, {"Connection": "close"})
