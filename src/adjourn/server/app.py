"""The application: the table of operations behind the guard, and the console. Mountable in another
ASGI application."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adjourn.errors import AdjournError, Misused, UnknownRun
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.similar_ids import did_you_mean
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.api_request import Operation, answered
from adjourn.server.app_state import AppState
from adjourn.server.authentication import Guard
from adjourn.server.front_ends.endpoints import FRONT_ENDS
from adjourn.server.identity import Identity
from adjourn.server.model_webhooks import WEBHOOK, model_webhook
from adjourn.server.notifications.sender import NotificationSender
from adjourn.server.oidc_login import LOGIN, oidc_page
from adjourn.server.openapi import API, openapi
from adjourn.server.probes import METRICS, PROBES, metrics, probed
from adjourn.server.problem import Problem, not_allowed, problem, respond
from adjourn.server.request_checks import check_host, check_length, check_origin, check_page
from adjourn.server.routing import Routes, segments
from adjourn.server.run_access import check_reach
from adjourn.server.security_headers import HEADERS, transport_security
from adjourn.server.sse import EventStream
from adjourn.server.static_files import page

log = logging.getLogger("adjourn.server")

NOBODY = Identity("", "viewer")
ADDRESSES = "GET /api/v1/openapi.json lists all addresses"
REFUSALS: dict[str, tuple[int, ...]] = {
    "log_in": (401, 403, 429),
    "start_run": (401, 403, 404, 409, 422, 423),
    "run_agent": (401, 403, 404, 409, 422, 423),
    "chat": (401, 403, 404, 409, 422, 423),
}
"""Which answers of an operation are in the security log; of all others those that say who may
not."""


def create_app(
    runtime: Runtime,
    *,
    guard: Guard,
    url: str = "",
    allow: Iterable[str] = (),
    details: bool = True,
    people_times: bool = False,
) -> Starlette:
    """The API under `/api/v1` and the console at `/`: an ASGI application of its own, or mounted in
    another one.

    Its lifespan opens the runtime, if it is not open, and delivers notifications. An application
    that it is mounted in enters `lifespan(app)` in its own.

    Args:
        runtime: what it serves.
        guard: recognises callers.
        url: where people find the console, for links.
        allow: networks that webhooks may reach although they are not public.
        details: whether chat, mail and browsers are told the arguments of the call that waits.
        people_times: whether the numbers say how long single people take to answer: to admins, and
            to each person about themselves.
    """
    state = AppState(runtime, guard, people_times=people_times)
    told = url or min(guard.origins, default="")

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            if not _is_open(runtime):
                await stack.enter_async_context(runtime)
            runtime.keep_sealed()
            runtime.worker.announce()
            await stack.enter_async_context(state.security)
            guard.users.told = state.security.noted_from(asyncio.get_running_loop())
            stack.callback(setattr, guard.users, "told", None)
            sender = NotificationSender(
                runtime.store, url=told, allow=allow, details=details, recipients=guard.person
            )
            state.sending = await stack.enter_async_context(sender)
            state.closing.clear()
            stack.callback(state.closing.set)
            yield

    app = Starlette(lifespan=alive)
    app.router.default = Dispatcher(state)  # no route's pattern matches every path
    app.state.app_state = state
    return app


def lifespan(app: Starlette) -> AbstractAsyncContextManager[Any]:
    """What an application does while it is up, for the lifespan of the one that it is mounted in.

    Args:
        app: what `create_app` returned.
    """
    return app.router.lifespan_context(app)


def _is_open(runtime: Runtime) -> bool:
    try:
        return runtime.store is not None  # pyright: ignore[reportUnnecessaryComparison]
    except Misused:
        return False


class Dispatcher:
    """Where every request comes in. Host, Origin and rate are checked before anything else; every
    answer is guarded."""

    def __init__(self, app: AppState) -> None:
        self._app = app
        self._routes = Routes(OPERATIONS, API)
        self._front_ends = Routes(FRONT_ENDS, "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except (AdjournError, Problem) as e:
            self._note(request, e)
            response = respond(e)
        except Exception:
            log.exception("a request failed: %s %s", request.method, request.url.path[:200])
            response = problem(
                500, "failed", "internal error; run data is not affected; see the server log"
            )
        own_policy = response.headers.get("Content-Security-Policy", "")
        response.headers.update(HEADERS)
        if own_policy:
            response.headers["Content-Security-Policy"] = own_policy
        host = request.headers.get("host", "")
        response.headers.update(transport_security(self._app.guard, host))
        if request.method == "HEAD" and not isinstance(response, EventStream):
            response.body = b""
        await response(scope, receive, send)

    def _note(self, request: Request, error: AdjournError | Problem) -> None:
        """Who is turned away is in the security log, and so is whoever may start runs and was
        refused one."""
        operation, by = getattr(request.state, "operation", ""), getattr(request.state, "by", "")
        if error.status not in REFUSALS.get(operation, (401, 403)):
            return
        cause = error.code
        if error.status == 401 and "authorization" in request.headers:
            cause = "unknown_key"
        verb = {"log_in": "login", "start_run": "start", "run_agent": "start", "chat": "start"}.get(
            operation, "request"
        )
        self._app.security.refused(verb, cause, by=by, address=self._app.guard.address(request))

    async def _answer(self, request: Request) -> Response:
        guard, path = self._app.guard, segments(request.scope)
        if path in PROBES:  # whoever supervises the process calls it by its address
            guard.limit(request)
            return await probed(self._app, request, path[0])
        check_host(request, guard.hosts)
        guard.limit(request)
        check_length(request)
        if path is None:
            raise Problem(404, "not_found", "not found", advice=ADDRESSES)
        if path == METRICS:
            return await metrics(self._app, request)
        if path == WEBHOOK:
            return await model_webhook(self._app, request)
        if path[:1] == [LOGIN]:
            check_page(request)
            return await oidc_page(self._app, request, path)
        if self._front_ends.find(path) is not None:
            check_origin(request, guard.origins)
            return await self._operate(request, path, self._front_ends)
        if path[:1] != ["api"]:
            check_page(request)
            return page(request, path)
        check_origin(request, guard.origins)
        if path == [*API.split("/")[1:], "openapi.json"] and request.method in ("GET", "HEAD"):
            return answered(openapi(request.scope.get("root_path", "")))
        return await self._operate(request, path, self._routes)

    async def _operate(self, request: Request, path: list[str], routes: Routes) -> Response:
        found = routes.find(path)
        if found is None:
            raise Problem(404, "not_found", "not found", advice=ADDRESSES)
        methods, places = found
        operation = methods.get("GET" if request.method == "HEAD" else request.method)
        if operation is None:
            raise not_allowed(
                request, *sorted({*methods, *(("HEAD",) if "GET" in methods else ())})
            )
        request.state.operation = operation.name
        who = await self._allowed(request, operation, places)
        try:
            return await operation(self._app, who, request, places)
        except UnknownRun as unknown:
            # who may not read everything learns of no other run
            if who.run or not who.may_everywhere("read"):
                raise UnknownRun(unknown.run_id) from None
            raise await did_you_mean(self._app.runtime.store, unknown) from None

    async def _allowed(
        self, request: Request, operation: Operation, places: dict[str, str]
    ) -> Identity:
        if operation.right == "none":
            return NOBODY
        who = await self._app.guard.identify(request)
        request.state.by = who.name
        if not who.may(operation.right):
            raise Problem(
                403,
                "forbidden",
                f"{who.name!r} is {who.role}: this needs the right to {operation.right}",
                advice="ask an admin",
            )
        if who.run and places.get("run_id") != who.run and operation.name != "who_am_i":
            what = f"{who.name!r} can only read its own run"
            raise Problem(403, "forbidden", what, advice="use a key of a person")
        if not who.run:
            await check_reach(self._app, who, operation, places)
        return who
