"""The application: routes made from the table of operations, behind the guard. Mountable in another ASGI app."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import metadata, resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjourn.core.codec import encode
from adjourn.errors import AdjournError, Invalid
from adjourn.runtime.runtime import Runtime
from adjourn.server.auth import COOKIE, SESSION_LIFE, Guard, Identity
from adjourn.server.operation import Operation, _body  # pyright: ignore[reportPrivateUsage]
from adjourn.server.operations import OPERATIONS
from adjourn.server.problem import Problem, problem, respond
from adjourn.server.schemas import COMPONENTS, NAME, thing

log = logging.getLogger("adjourn.server")

API = "/api/v1"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
}  # fmt: skip
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(runtime: Runtime, *, guard: Guard, extra_routes: Iterable[Route] = ()) -> Starlette:
    """The API under `/api/v1` and the console at `/`, for an open runtime."""
    routes = [*_session_routes(guard), Route(f"{API}/openapi.json", _guarded(guard, _openapi))]
    paths: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation
    for path, methods in paths.items():
        routes.append(
            Route(
                API + _greedy(path),
                _endpoint(runtime, guard, methods),
                methods=[*methods, "OPTIONS", "PUT", "DELETE", "PATCH", "POST", "GET"],
            )
        )
    routes += [
        Route(f"{API}/{{rest:path}}", _nothing, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        *extra_routes,
    ]
    routes.append(Route("/{rest:path}", _guarded(guard, _page)))
    return Starlette(routes=routes, exception_handlers={HTTPException: _http, 500: _failed})


def _greedy(path: str) -> str:
    """Interrupt ids of nested calls contain slashes."""
    return path.replace("{interrupt}", "{interrupt:path}")


def _guarded(guard: Guard, inner: Endpoint) -> Endpoint:
    """Host, Origin and rate are checked before anything else; security headers are on every answer."""

    async def endpoint(request: Request) -> Response:
        try:
            guard.check_host(request)
            guard.check_origin(request)
            guard.limit(request.client.host if request.client else "?")
            response = await inner(request)
        except (AdjournError, Problem) as e:
            response = respond(e)
        response.headers.update(HEADERS)
        return response

    return endpoint


def _endpoint(runtime: Runtime, guard: Guard, methods: Mapping[str, Operation]) -> Endpoint:
    async def inner(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        operation = methods.get(method)
        if operation is None:
            raise Problem(
                405,
                "method_not_allowed",
                f"{request.method} does nothing here",
                {"Allow": ", ".join(sorted({*methods}))},
            )
        who = guard.identify(request)
        if not who.may(operation.right):
            raise Problem(403, "forbidden", f"{who.name!r} is {who.role}: that needs the right to {operation.right}")
        return await operation(runtime, who, request)

    return _guarded(guard, inner)


def _session_routes(guard: Guard) -> list[Route]:
    async def login(request: Request) -> Response:
        body = await _body(thing(("key",), key=NAME), request)
        guard.limit(f"login/{request.client.host if request.client else '?'}", cost=20)
        cookie, who = guard.login(body["key"])
        response = Response(encode(_me(who)), media_type="application/json")
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, cookie, max_age=int(SESSION_LIFE), httponly=True, samesite="strict", secure=secure, path="/"
        )
        return response

    async def logout(request: Request) -> Response:
        guard.identify(request)
        guard.logout(request.cookies.get(COOKIE, ""))
        response = Response(encode({"ok": True}), media_type="application/json")
        response.delete_cookie(COOKIE, path="/")
        return response

    return [
        Route(f"{API}/session", _guarded(guard, login), methods=["POST"]),
        Route(f"{API}/session/end", _guarded(guard, logout), methods=["POST"]),
    ]


def _me(who: Identity) -> dict[str, Any]:
    return {"name": who.name, "role": who.role, "groups": list(who.groups), "csrf": who.csrf}


def openapi() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(API + operation.path, {})[operation.method.lower()] = operation.describe()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Adjourn",
            "version": metadata.version("adjourn"),
            "description": "Pause, resume, cancel and approve agent runs.",
        },
        "paths": paths,
        "components": {"schemas": COMPONENTS, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


async def _openapi(request: Request) -> Response:
    return Response(encode(openapi()), media_type="application/json")


async def _nothing(request: Request) -> Response:
    return problem(404, "not_found", "there is nothing at this address")


async def _page(request: Request) -> Response:
    """The console's files; every other address is the page itself, which knows its own places."""
    name = request.path_params["rest"].strip("/")
    found = CONSOLE.get(name)
    if found is None:
        folder = resources.files("adjourn.server") / "static"
        wanted = name if name in ("console.js", "console.css") else "index.html"
        file = folder / wanted
        if not file.is_file():
            raise Problem(
                404, "no_console", "the console is not built; run `make console`, or use the API under /api/v1"
            )
        found = CONSOLE[name] = (
            (file.read_bytes(), KINDS["." + wanted.rpartition(".")[2]])
            if len(CONSOLE) < 200
            else (file.read_bytes(), KINDS[".html"])
        )
    return Response(found[0], media_type=found[1], headers={"Cache-Control": "no-cache"})


CONSOLE: dict[str, tuple[bytes, str]] = {}


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return problem(status, "not_found" if status == 404 else "refused", str(getattr(error, "detail", error)))


async def _failed(request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return problem(500, "failed", "something broke here; nothing is lost, look at the server's log")


__all__ = ["Invalid", "create_app", "openapi"]
