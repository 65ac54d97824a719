"""What the demo adds to its server: the card's data, and its script in the console's page. No other
server knows of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjourn.core.codec import encode
from adjourn.demo.guide import tasks
from adjourn.demo.now_yours import yours

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/demo/guide"
ADDED = (
    b'<link rel="stylesheet" href="/demo.css"><script type="module" src="/demo.js"></script></head>'
)


def with_guide(worker_pid: Callable[[], int | None], app: "Starlette") -> "ASGIApp":
    """The server's application with the card: its data at `PATH`, and its script in the console's
    page.

    Args:
        worker_pid: gives the process of the worker that lives now.
        app: the application.
    """

    async def wrapped(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http" and scope["path"] == PATH:
            await _answer(app, worker_pid(), scope, receive, send)
        elif scope["type"] == "http" and not scope["path"].startswith("/api/"):
            await app(_plain(scope), receive, _with_script(send))
        else:
            await app(scope, receive, send)

    return wrapped


async def _answer(
    app: "Starlette", pid: int | None, scope: "Scope", receive: "Receive", send: "Send"
) -> None:
    """The tasks, for those who may read runs."""
    from starlette.requests import Request
    from starlette.responses import Response

    from adjourn.errors import AdjournError
    from adjourn.server.problem import Problem, respond
    from adjourn.server.request_checks import check_host, check_origin
    from adjourn.server.security_headers import HEADERS

    guard, request = app.state.app_state.guard, Request(scope, receive)
    try:
        check_host(request, guard.hosts)
        guard.limit(request)
        check_origin(request, guard.origins)
        await guard.identify(request)
        items = await tasks(app.state.app_state.runtime, pid)
        body = encode({"items": items, "yours": yours()._asdict()})
        response = Response(body, media_type="application/json")
    except (AdjournError, Problem) as error:
        response = respond(error)
    response.headers.update(HEADERS)
    await response(scope, receive, send)


def _plain(scope: "Scope") -> "Scope":
    """The same request of somebody who takes nothing compressed: the script goes into the page as it
    is."""
    headers = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
    return {**scope, "headers": headers}


def _with_script(send: "Send") -> "Send":
    """Add the script of the card to a page of HTML; anything else is sent as it is."""
    head: dict[str, Any] = {}
    body = b""

    async def sending(message: "Message") -> None:
        nonlocal body
        if message["type"] == "http.response.start" and _is_html(message):
            head.update(message)
        elif not head:
            await send(message)
        else:
            body += message.get("body", b"")
            if not message.get("more_body"):
                whole = body.replace(b"</head>", ADDED, 1)
                kept = [
                    (name, value)
                    for name, value in head["headers"]
                    if name not in (b"content-length", b"etag")
                ]
                length = (b"content-length", str(len(whole)).encode())
                await send({**head, "headers": [*kept, length]})
                await send({"type": "http.response.body", "body": whole})

    return sending


def _is_html(message: "Message") -> bool:
    return any(
        name == b"content-type" and value.startswith(b"text/html")
        for name, value in message["headers"]
    )
