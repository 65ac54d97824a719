"""A server of ours with an address: whoever calls it has its token."""

import hmac
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import Server

PATH = "/mcp"


class WithToken:
    """An ASGI application that answers only to a bearer token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"this server needs its token\n"})

    def _is_known(self, scope: Any) -> bool:
        for name, value in scope["headers"]:
            if name == b"authorization":
                scheme, _, given = value.partition(b" ")
                return scheme.lower() == b"bearer" and hmac.compare_digest(given, self._token)
        return False


def listen(host: str, port: int) -> socket.socket:
    """Where a server of ours is called. From here on nobody is turned away."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


async def serve_http(server: "Server[Any]", place: socket.socket, token: str) -> None:
    """Answer at `/mcp` until the process is told to stop."""
    import uvicorn

    app = server.streamable_http_app(streamable_http_path=PATH, host=place.getsockname()[0])
    config = uvicorn.Config(WithToken(app, token), log_level="warning")
    await uvicorn.Server(config).serve(sockets=[place])


async def serve_stdio(server: "Server[Any]") -> None:
    """Answer on stdin and stdout until the client closes them."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
