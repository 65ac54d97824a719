"""Serving it: one function for the command line, and one for whoever has a program of their own
around it."""

import asyncio
import getpass
import secrets
import signal
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from adjourn.agent.agent import Agent
from adjourn.engines.engine import Engine
from adjourn.errors import InvalidDefinition, Misused
from adjourn.flow.flow import Flow
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.supervisor import Supervisor
from adjourn.server.acceptor import Acceptor
from adjourn.server.app import create_app, lifespan
from adjourn.server.authentication import Guard
from adjourn.server.connections import MOST, ConnectionPlace, Connections, connections_allowed
from adjourn.server.http_protocol import HEAD_SECONDS, DeadlineProtocol
from adjourn.server.oidc import OidcClient, OidcSettings
from adjourn.server.request_checks import is_loopback
from adjourn.server.users import SESSION_IDLE, SESSION_LIFE, Users, users_path

PORT = 8765
GRACE = 5


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that is up.

    Attributes:
        url: where it is.
        link: with its token in the fragment, which no browser sends anywhere.
        token: the token of this start; empty: none.
        runtime: what it serves.
        guard: what recognises callers.
    """

    url: str
    link: str
    token: str
    runtime: Runtime
    guard: Guard


Serving = RunningServer
"""Its name in programs that were written before."""


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
    ready: Callable[[RunningServer], None] = lambda serving: None,
    **options: Any,
) -> None:
    """Serve a store until SIGINT or SIGTERM, then end gracefully.

    Args:
        address: the store's address.
        programs: the agents and flows whose runs it advances.
        host: the address to listen on.
        port: the port to listen on; 0 takes a free one.
        ready: is called once it is up.
        options: as for `serving`.
    """
    loop, stop, supervisor = asyncio.get_running_loop(), asyncio.Event(), Supervisor()
    caught: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        # another thread's loop, or Windows
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop.set)
            caught.append(number)
    try:
        async with (
            supervisor.watched(),
            serving(address, programs, host=host, port=port, **options) as server,
        ):
            ready(server)
            supervisor.ready(f"serves {server.url}")
            await stop.wait()
            supervisor.stopping()
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
    token: bool | None = None,
    resources: Mapping[str, Any] | None = None,
    allow: Iterable[str] = (),
    details: bool = True,
    people_times: bool = False,
    certfile: str = "",
    keyfile: str = "",
    rate: float = 200.0,
    proxies: Iterable[str] = (),
    session_life: float = SESSION_LIFE,
    session_idle: float = SESSION_IDLE,
    connections: int = MOST,
    connections_each: int = 0,
    head_seconds: float = HEAD_SECONDS,
    wrap: Callable[[Starlette], ASGIApp] | None = None,
    work: bool = True,
    audit_key: Any = None,
    signing_key: Any = None,
    oidc: OidcSettings | None = None,
    engine: Engine | None = None,
) -> AsyncGenerator[RunningServer]:
    """A server while inside. Without programs it reads, decides and controls; with them it also
    advances their runs.

    Args:
        address: the store's address, or a `Runtime`.
        programs: the agents and flows whose runs it advances.
        host: the address to listen on.
        port: the port to listen on; 0 takes a free one.
        origins: where people find it; an address that other machines can reach needs it, and users.
        users: who may use it; without it, those in the file beside the store's.
        name: the name of the admin who has the link of this start.
        token: whether the link of this start makes its user an admin; by default only on a loopback
            address that has no users and no `origins`.
        resources: the live objects that tools need, by name.
        allow: networks that webhooks may reach although they are not public.
        details: whether chat and mail are told the arguments of the call that waits.
        people_times: whether the numbers say how long single people take to answer: to admins, and
            to each person about themselves.
        certfile, keyfile: for https.
        rate: requests a second for each address.
        proxies: networks whose `X-Forwarded-For` is believed.
        session_life: seconds after which a browser's session ends.
        session_idle: seconds after which it ends without use.
        connections: how many in all, as far as the limit of open files allows.
        connections_each: how many for one address; by default a quarter of that.
        head_seconds: for the head of a request, and for a TLS handshake.
        wrap: is given the application and returns what is served: ASGI middleware.
        work: False: it starts runs of its programs and leaves it to workers to advance them.
        audit_key: signs the seals of the audit, as for `Runtime`.
        signing_key: signs what its users decide, as for `Runtime`.
        oidc: how people log in with OpenID Connect, beside their keys.
        engine: says when a run is advanced, instead of the store alone; not open yet.
    """
    async with AsyncExitStack() as stack:
        if users is None:
            users = Users(users_path(address if isinstance(address, str) else address.address))
            stack.callback(users.close)
        given, tls = list(origins), _tls(certfile, keyfile)
        sock = _bound(host, port, users, is_open=oidc is not None)
        stack.callback(sock.close)
        found = _origins(host, sock.getsockname()[1], given, tls is not None)
        is_alone = is_loopback(host) and not given and not users.all() and oidc is None
        secret = _secret(token, by_default=is_alone)
        guard = Guard(
            found,
            users=users,
            token=secret,
            token_name=name or _name(),
            rate=rate,
            burst=rate * 2,
            proxies=proxies,
            session_life=session_life,
            session_idle=session_idle,
            oidc=OidcClient(oidc) if oidc is not None else None,
        )
        keys = {"audit_key": audit_key, "signing_key": signing_key}
        works = work and engine is None
        runtime = _runtime(address, programs, resources=resources, work=works, **keys)
        url = found[0]
        app = create_app(
            runtime, guard=guard, url=url, allow=allow, details=details, people_times=people_times
        )
        await stack.enter_async_context(lifespan(app))
        await stack.enter_async_context(_engine_host(runtime, engine, work))
        places = Connections(connections_allowed(connections), connections_each, guard.proxies)
        served = wrap(app) if wrap else app
        await stack.enter_async_context(_up(app, served, sock, places, tls, head_seconds))
        yield RunningServer(url, _link(found, secret), secret, runtime, guard)


def _runtime(
    address: str | Runtime, programs: Iterable[Agent[Any] | Flow], **options: Any
) -> Runtime:
    """The runtime that is served: one that was given, or one of its own."""
    if isinstance(address, str):
        return Runtime(address, programs, **options)
    return address


def _engine_host(
    runtime: Runtime, engine: Engine | None, works: bool
) -> AbstractAsyncContextManager[object]:
    """The engine at work with the runtime; nothing without one."""
    if engine is None:
        return nullcontext()
    from adjourn.engines.engine_host import EngineHost

    return EngineHost(runtime, engine, works=works)


def _secret(wanted: bool | None, *, by_default: bool) -> str:
    """The token of this start; "" if it has none."""
    if wanted or (wanted is None and by_default):
        return secrets.token_urlsafe(32)
    return ""


def _link(origins: list[str], token: str) -> str:
    """The address to open; with the token it is one of this machine, whatever the public name
    is."""
    if not token:
        return f"{origins[0]}/"
    local = next((o for o in origins if is_loopback(urlsplit(o).hostname or "")), origins[0])
    return f"{local}/#token={token}"


def _tls(certfile: str, keyfile: str) -> ssl.SSLContext | None:
    if not certfile:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certfile, keyfile or None)
    return context


@asynccontextmanager
async def _up(
    app: Starlette,
    served: ASGIApp,
    sock: socket.socket,
    connections: Connections,
    tls: ssl.SSLContext | None,
    head_seconds: float,
) -> AsyncGenerator[None]:
    config = uvicorn.Config(
        served,
        http="h11",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[]), name="adjourn-serve")

    def protocol(place: ConnectionPlace) -> DeadlineProtocol:
        return DeadlineProtocol(
            connections=connections,
            place=place,
            head_seconds=head_seconds,
            config=config,
            server_state=server.server_state,
            app_state={},
        )

    acceptor = asyncio.create_task(
        Acceptor(sock, connections, protocol, tls, head_seconds).run(), name="adjourn-accept"
    )
    try:
        while not server.started:
            if serving.done():
                serving.result()
                raise Misused("the server ended before it was up")
            await asyncio.sleep(0.005)
        yield
    finally:
        acceptor.cancel()
        app.state.app_state.closing.set()  # streams would never end by themselves
        server.should_exit = True
        await asyncio.gather(acceptor, serving, return_exceptions=True)


def _bound(host: str, port: int, users: Users, *, is_open: bool = False) -> socket.socket:
    """`is_open`: people can log in although there are no users yet."""
    if not is_loopback(host) and not is_open and not users.all():
        raise InvalidDefinition(
            f"{host} can be reached from other machines, and there are no users: add one first "
            "(`adjourn user add NAME --role admin`), or serve on 127.0.0.1"
        )
    family, _, proto, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    # Without its protocol, asyncio does not know it for TCP and leaves Nagle's algorithm on: 40 ms
    # for each answer.
    sock = socket.socket(family, socket.SOCK_STREAM, proto or socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
    except OSError as e:
        sock.close()
        raise Misused(
            f"cannot serve on {host}:{port}: {e.strerror or e}", advice="choose another port"
        ) from None
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
            f"{host!r} is every address: give the public address, --origin "
            "https://ops.example.com (in Python, origins=['https://ops.example.com'])"
        )
    return found or [f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"]


def _name() -> str:
    """Who sits at this machine."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "operator"
    if name.isprintable() and not name.startswith("@"):
        return name
    return "operator"
