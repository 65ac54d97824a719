"""Serving it: one function for the command line, and one for whoever has a program of their own around it."""

import asyncio
import getpass
import secrets
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn

from adjourn.agent.agent import Agent
from adjourn.errors import InvalidDefinition, Misused
from adjourn.flow.flow import Flow
from adjourn.runtime.runtime import Runtime
from adjourn.server.app import create_app, lifespan
from adjourn.server.auth import Guard, is_loopback
from adjourn.server.desk import Desk, Guide
from adjourn.server.users import Users, users_path

PORT = 8765
GRACE = 5


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that is up. `link` has the token of this start in its fragment, which no browser sends anywhere."""

    url: str
    link: str
    token: str
    runtime: Runtime
    guard: Guard


class _Server(uvicorn.Server):
    """Leaves signals to us: ours end the streams and hand the runs back as well."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(
    address: str,
    programs: Iterable[Agent[Any] | Flow] = (),
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    ready: Callable[[Serving], None] = lambda serving: None,
    **options: Any,
) -> None:
    """Serve the store at `address` until SIGINT or SIGTERM, then end gracefully. `ready` is called once it is up.

    The other options are those of `serving`.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    caught: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # another thread's loop, or Windows
            loop.add_signal_handler(number, stop.set)
            caught.append(number)
    try:
        async with serving(address, programs, host=host, port=port, **options) as server:
            ready(server)
            await stop.wait()
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def serving(
    address: str | Runtime,
    programs: Iterable[Agent[Any] | Flow] = (),
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    origins: Iterable[str] = (),
    users: Users | None = None,
    name: str = "",
    resources: Mapping[str, Any] | None = None,
    allow: Iterable[str] = (),
    certfile: str = "",
    keyfile: str = "",
    rate: float = 200.0,
    guide: Guide | None = None,
    work: bool = True,
    audit_key: Any = None,
) -> AsyncGenerator[Serving]:
    """A server while inside. Without programs it reads, decides and controls; with them it also advances their runs.

    On a loopback address a token is made at start. Any other address needs users, and `origins`: where people find it.
    `allow`: networks that webhooks may reach although they are not public. `port=0` takes a free one.
    With `work=False` it starts runs of its programs and leaves it to workers to advance them.
    `audit_key` signs the seals of the audit, as for `Runtime`.
    `guide` makes the card of things to try that the console shows.
    """
    async with AsyncExitStack() as stack:
        if users is None:
            users = Users(
                users_path(address if isinstance(address, str) else f"sqlite:///{getattr(address.store, 'path', '')}")
            )
            stack.callback(users.close)
        sock = _bound(host, port, users)
        stack.callback(sock.close)
        taken = sock.getsockname()[1]
        found = _origins(host, taken, origins, bool(certfile))
        token = secrets.token_urlsafe(32) if is_loopback(host) else ""
        guard = Guard(found, users=users, token=token, token_name=name or _name(), rate=rate, burst=rate * 2)
        runtime = address
        if isinstance(runtime, str):
            runtime = Runtime(runtime, programs, resources=resources, work=work, audit_key=audit_key)
        url = found[0]
        app = create_app(runtime, guard=guard, url=url, allow=allow)
        app.state.desk.guide = guide
        await stack.enter_async_context(lifespan(app))
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, server_header=False, ws="none", proxy_headers=False,
            ssl_certfile=certfile or None, ssl_keyfile=keyfile or None, timeout_graceful_shutdown=GRACE,
        )  # fmt: skip
        await stack.enter_async_context(_up(_Server(config), sock, app.state.desk))
        yield Serving(url, f"{url}/#token={token}" if token else f"{url}/", token, runtime, guard)


@asynccontextmanager
async def _up(server: _Server, sock: socket.socket, desk: Desk) -> AsyncGenerator[None]:
    task = asyncio.get_running_loop().create_task(server.serve(sockets=[sock]), name="adjourn-serve")
    try:
        while not server.started:
            if task.done():
                task.result()
                raise Misused("the server ended before it was up")
            await asyncio.sleep(0.005)
        yield
    finally:
        desk.closing.set()  # streams would never end by themselves
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)


def _bound(host: str, port: int, users: Users) -> socket.socket:
    if not is_loopback(host) and not users.all():
        raise InvalidDefinition(
            f"{host} can be reached from other machines, and there are no users: "
            "make one first (`adjourn user add NAME --role admin`), or serve on 127.0.0.1"
        )
    family, _, proto, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    # Without its protocol, asyncio does not know it for TCP and leaves Nagle's algorithm on: 40 ms for each answer.
    sock = socket.socket(family, socket.SOCK_STREAM, proto or socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
    except OSError as e:
        sock.close()
        raise Misused(f"cannot serve on {host}:{port}: {e.strerror or e}; choose another port") from None
    return sock


def _origins(host: str, port: int, given: Iterable[str], tls: bool) -> list[str]:
    """Where people find it: the first is what links say."""
    found, scheme = list(given), "https" if tls else "http"
    if is_loopback(host):
        shown = f"[{host.strip('[]')}]" if ":" in host else host
        names = dict.fromkeys([shown, "127.0.0.1", "localhost", "[::1]"])
        return [*found, *(f"{scheme}://{name}:{port}" for name in names)]
    if not found and host in ("0.0.0.0", "::", ""):
        raise InvalidDefinition(
            f"{host!r} is every address: say where people find it, --origin https://ops.example.com "
            "(in Python, origins=['https://ops.example.com'])"
        )
    return found or [f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"]


def _name() -> str:
    """Who sits at this machine."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "operator"
    return name if name.isprintable() and not name.startswith("@") else "operator"
