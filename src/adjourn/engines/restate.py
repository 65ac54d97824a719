"""Restate: a virtual object for each run, woken by a send; its handler advances the run in small
pieces."""

import asyncio
import logging
import os
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx
import msgspec
import restate
from hypercorn.asyncio import serve as serve_asgi  # pyright: ignore[reportUnknownVariableType]
from hypercorn.config import Config
from restate import InvocationRetryPolicy, ObjectContext, VirtualObject
from restate.exceptions import RetryableError

from adjourn.engines.pace import next_look
from adjourn.engines.run_tasks import LATE, NotNow, RunTasks
from adjourn.errors import EngineError, InvalidDefinition, Misused

log = logging.getLogger("adjourn.engines")

INGRESS, ADMIN, LISTEN = "http://127.0.0.1:8080", "http://127.0.0.1:9070", "127.0.0.1:9080"
SERVICE, WAKE = "AdjournRun", "wake"
PATIENCE = 10.0
"""Seconds that the server has to answer."""
PIECE = 10.0
"""Seconds after which a handler reports that the run is still being advanced."""
PIECES = 100
"""So many reports; then the run is woken anew, with a journal of nothing."""
SILENCE = timedelta(seconds=30)
"""A worker that reports nothing for so long is asked to stop, and after as long again another one
is asked."""
NAME = re.compile(r"(?!restate|openapi$)([a-z]|_[a-z0-9])[a-z0-9._-]*", re.IGNORECASE)
"""What Restate takes as the name of a service; what begins with its own is reserved."""
UNREACHED = "META0003"
"""Its code for a worker that it cannot reach."""
DRAIN, TRIES = 0.5, 10
"""Seconds that open requests get when a worker closes, and how often they are told so."""
RETRIES = InvocationRetryPolicy(
    initial_interval=timedelta(seconds=0.1),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=1),
    max_attempts=1_000_000,
    on_max_attempts="kill",
)


class RestateEngine:
    """Keeps wakes in Restate.

    `RESTATE_AUTH_TOKEN` is sent to the server, and `RESTATE_IDENTITY_KEYS` (with commas between
    them) are the keys of servers that may call this worker.

    Args:
        address: the server's ingress; without it, this machine's.
        admin: its admin API, where workers are registered.
        listen: `HOST:PORT` on which this worker is called; on one machine workers share it.
        url: how the server reaches that place, for example the address of a balancer before all
            workers; without it, `http://` and `listen`.
        service: the name of the virtual object: one for each store.
    """

    name = "Restate"

    def __init__(
        self,
        address: str = "",
        *,
        admin: str = "",
        listen: str = "",
        url: str = "",
        service: str = SERVICE,
    ) -> None:
        self._ingress, self._admin = (address or INGRESS).rstrip("/"), (admin or ADMIN).rstrip("/")
        self._listen = listen or LISTEN
        self._url, self._service = url or f"http://{self._listen}", service
        if NAME.fullmatch(service) is None:
            raise InvalidDefinition(
                f"{service!r:.80} cannot be the name of a service in Restate",
                advice="name another with --engine-queue: letters, digits, '.', '_' and '-', "
                "beginning with a letter and not with 'restate'",
            )
        self._http: httpx.AsyncClient | None = None

    async def open(self) -> None:
        """See `Engine.open`."""
        headers: dict[str, str] = {}
        if token := os.environ.get("RESTATE_AUTH_TOKEN"):
            headers["authorization"] = f"Bearer {token}"
        self._http = httpx.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False)
        try:
            answer = await self._http.get(f"{self._ingress}/restate/health")
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            await self.close()
            raise EngineError(
                f"Restate at {self._ingress} does not answer: {str(e) or type(e).__name__}",
                advice="start it, or give the address of its ingress with --engine-address",
            ) from e
        if not answer.is_success:
            await self.close()
            raise EngineError(
                f"the server at {self._ingress} is not a usable Restate ingress "
                f"({answer.status_code} {answer.reason_phrase})",
                advice="give the address of its ingress with --engine-address (port 8080, unless "
                "it was changed), and RESTATE_AUTH_TOKEN if it asks for one",
            )

    @property
    def http(self) -> httpx.AsyncClient:
        """What talks to the server."""
        if self._http is None:
            raise Misused("open the engine first")
        return self._http

    async def wake(self, run: str) -> None:
        """See `Engine.wake`."""
        place = f"{self._ingress}/{self._service}/{quote(run, safe='')}/{WAKE}/send"
        (await self.http.post(place, json=0)).raise_for_status()

    async def serve(self, tasks: RunTasks, slots: int) -> None:
        """See `Engine.serve`."""
        keys = os.environ.get("RESTATE_IDENTITY_KEYS", "").split(",")
        closing = asyncio.Event()
        app: Any = restate.app(
            [run_object(self._service, tasks, closing)],
            protocol="bidi",
            identity_keys=[key.strip() for key in keys if key.strip()] or None,
        )
        let_go = await asyncio.to_thread(_begun, app)
        end, config = asyncio.Event(), _config(self._listen, slots)
        serving = asyncio.create_task(serve_asgi(app, config, shutdown_trigger=end.wait))
        try:
            await self._register()
            await asyncio.shield(serving)
        finally:
            closing.set()
            end.set()
            await _ended(serving, let_go)

    async def problems(self) -> list[tuple[str, str]]:
        """See `Engine.problems`."""
        place = f"{self._admin}/services/{self._service}"
        try:
            answer = await self.http.get(place)
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            text = f"the admin API at {self._admin} does not answer: {str(e) or type(e).__name__}"
            return [(text, "workers register there: give its address with --engine-admin")]
        if answer.status_code == HTTPStatus.NOT_FOUND:
            text = f"Restate has no service {self._service!r}: no worker has registered"
            return [(text, "start one: adjourn worker app.py:agent --engine restate")]
        if answer.is_error:
            text = f"the admin API at {self._admin} refuses to answer ({answer.status_code})"
            return [(text, "set RESTATE_AUTH_TOKEN, or give its address with --engine-admin")]
        return []

    async def version(self) -> str:
        """See `Engine.version`."""
        try:
            answer = await self.http.get(f"{self._admin}/version")
            return str(answer.raise_for_status().json().get("version", ""))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
            return ""

    async def close(self) -> None:
        """See `Engine.close`."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _register(self) -> None:
        """Tell the server where its workers are. A server that knows it already is content."""
        try:
            answer = await self._deployed(force=False)
            if answer.status_code == HTTPStatus.CONFLICT:  # by a version with other handlers
                answer = await self._deployed(force=True)
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise EngineError(
                f"Restate's admin API at {self._admin} does not answer: "
                f"{str(e) or type(e).__name__}",
                advice="give its address with --engine-admin",
            ) from e
        if answer.is_error:
            advice = "change what it names, or use another version of Restate"
            if UNREACHED in answer.text:
                advice = "Restate must be able to reach that address: give one with --engine-url"
            raise EngineError(
                f"Restate at {self._admin} does not accept the worker at {self._url}: "
                f"{answer.text:.300}",
                advice=advice,
            )

    async def _deployed(self, *, force: bool) -> httpx.Response:
        given = {"uri": self._url, "force": force}
        return await self.http.post(f"{self._admin}/deployments", json=given)


class _OwnLoop(asyncio.SelectorEventLoop):
    """A loop whose signals nobody hears; `at_end` is what was to be called at one."""

    at_end: Callable[[], object] = staticmethod(lambda: None)

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        """Signals are the process's."""
        self.at_end = callback


def _begun(app: Any) -> Callable[[], object]:
    """Call Restate's application for the first time: it takes SIGTERM then, which is the process's,
    whose worker drains at it. What it would do at that signal: calls that are at work let go of
    their connections."""

    async def first() -> None:
        with suppress(Exception):
            await app({"type": "lifespan"}, None, None)

    with asyncio.Runner(loop_factory=_OwnLoop) as runner:
        runner.run(first())
        return cast("_OwnLoop", runner.get_loop()).at_end


async def _ended(serving: asyncio.Task[None], let_go: Callable[[], object]) -> None:
    """Return when nobody is served any more. A call that is at work waits for the server, also when
    it is cancelled, unless it is told to let go."""
    for _ in range(TRIES):
        let_go()
        done, _ = await asyncio.wait({serving}, timeout=DRAIN)
        if done:
            await asyncio.gather(serving, return_exceptions=True)
            return
    log.warning("this worker is stopping, but Restate still waits for it")


def run_object(service: str, tasks: RunTasks, closing: asyncio.Event) -> VirtualObject:
    """The virtual object whose keys are ids of runs.

    Args:
        service: its name.
        tasks: what advances the runs.
        closing: this worker stops: another one is to be asked.
    """
    found = VirtualObject(
        service,
        inactivity_timeout=SILENCE,
        abort_timeout=SILENCE,
        journal_retention=timedelta(0),
        invocation_retry_policy=RETRIES,
    )

    @found.handler(name=WAKE)
    async def wake(ctx: ObjectContext, alarm: float) -> None:
        """The run is due, or may be; `alarm`: when this was planned for, 0 if it was not."""
        for _ in range(PIECES):
            if closing.is_set():
                raise RetryableError("this worker is stopping")
            piece = await ctx.run_typed(
                "advance", _advanced, tasks=tasks, run=ctx.key(), closing=closing
            )
            if not piece["more"]:
                break
        else:
            ctx.object_send(wake, key=ctx.key(), arg=0.0)
            return
        if piece["is_over"]:
            ctx.clear_all()
        elif piece["wake_in"]:
            await _plan(ctx, wake, piece, alarm)

    return found


async def _advanced(tasks: RunTasks, run: str, closing: asyncio.Event) -> dict[str, Any]:
    """Advance a run for a moment, or until this worker stops. Whatever is in the way is a wake for
    later: a handler that fails would be in the way of all other wakes of the run."""
    try:
        found = msgspec.to_builtins(await tasks.advance(run, PIECE, closing))
    except NotNow as refused:
        log.debug("run %s: %s", run, refused)
        found = {"is_over": False, "more": False, "wake_in": refused.after, "seq": -1}
    except Exception as error:
        log.warning("run %s: %s; trying again", run, error)
        found = {"is_over": False, "more": False, "wake_in": LATE, "seq": -1}
    return {**found, "now": time.time()}


async def _plan(ctx: ObjectContext, wake: Any, piece: dict[str, Any], came: float) -> None:
    """A wake at the time that the run asks for, unless an earlier one is on its way. The one that
    came is not, whatever the clock of this machine says: another's may be ahead of it."""
    known: dict[str, Any] = await ctx.get("plan") or {"seq": -1, "looks": 0, "alarm": 0.0}
    looks = 0
    if piece["seq"] == known["seq"] and piece["seq"] >= 0:
        looks = known["looks"] + 1
    delay = next_look(piece["wake_in"], looks)
    alarm = piece["now"] + delay
    if piece["now"] < known["alarm"] <= alarm and known["alarm"] != came:
        alarm = known["alarm"]
    else:
        ctx.object_send(wake, key=ctx.key(), arg=alarm, send_delay=timedelta(seconds=delay))
    ctx.set("plan", {"seq": piece["seq"], "looks": looks, "alarm": alarm})


def _config(listen: str, slots: int) -> Config:
    config = Config()
    config.bind = [f"fd://{_listening(listen).detach()}"]
    config.accesslog, config.errorlog = None, None
    config.graceful_timeout = DRAIN
    config.h2_max_concurrent_streams = max(slots, 100)
    config.include_server_header = False
    return config


def _listening(listen: str) -> socket.socket:
    """A socket on which several processes of this machine may be called."""
    host, _, port = listen.rpartition(":")
    advice = "give an address of this machine with --engine-listen HOST:PORT"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host.strip("[]") or "127.0.0.1", int(port), type=socket.SOCK_STREAM
        )[0]
    except (OSError, ValueError) as e:
        raise EngineError(
            f"{listen!r:.80} is not an address to listen on: {e}", advice=advice
        ) from e
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind(place)
    except OSError as e:
        made.close()
        raise EngineError(f"cannot listen on {listen}: {e.strerror or e}", advice=advice) from e
    return made
