"""Errors as problem+json; the status comes from the error's class."""

from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from adjourn.core.codec import encode, legible
from adjourn.errors import AdjournError

MAX_TEXT = 2000
"""Characters of a string in a problem."""
TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    413: "Payload too large",
    415: "Unsupported media type",
    422: "Invalid",
    423: "Halted",
    429: "Too many requests",
    500: "Internal server error",
    502: "Model failed",
    503: "Store failed",
}


class Problem(Exception):
    """A refusal as HTTP tells it: what happened, and with which `advice`. `more` are members of its
    own beside those that every problem has."""

    def __init__(
        self,
        status: int,
        code: str,
        what: str,
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
        *,
        advice: str = "",
    ) -> None:
        error = AdjournError(what, advice=advice)
        self.status, self.code, self.detail = status, code, str(error)
        self.headers, self.more = headers or {}, {**error.fields, **(more or {})}
        super().__init__(self.detail)


def respond(error: AdjournError | Problem) -> Response:
    """An error as a response."""
    if isinstance(error, Problem):
        return problem(error.status, error.code, error.detail, error.headers, error.more)
    return problem(error.status, error.code, str(error), more=error_members(error))


def error_members(error: AdjournError) -> dict[str, Any]:
    """What of an error stands beside its `detail`: its parts and its facts."""
    return _readable(error.fields)


def _readable(value: Any) -> Any:
    """Data in which every string can be encoded, and is not too long."""
    if isinstance(value, str):
        return legible(value[:MAX_TEXT])
    if isinstance(value, dict):
        return {name: _readable(part) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_readable(part) for part in cast("list[Any]", value)]
    return value


def problem(
    status: int,
    code: str,
    detail: str,
    headers: dict[str, str] | None = None,
    more: dict[str, Any] | None = None,
) -> Response:
    """A problem+json response."""
    body: dict[str, Any] = {
        "type": f"urn:adjourn:{code}",
        "title": TITLES.get(status, "Refused"),
        "status": status,
        "detail": legible(detail[:MAX_TEXT]),
        **(more or {}),
        "code": code,
    }
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(encode(body), status, headers, media_type="application/problem+json")


def not_allowed(request: Request, *allow: str) -> Problem:
    """The refusal of a request's method; `allow`: those that there are."""
    what, there = f"method {request.method} is not allowed here", ", ".join(allow)
    advice = f"use {there}"
    return Problem(405, "method_not_allowed", what, {"Allow": there}, advice=advice)


def check_reading(request: Request) -> None:
    """Raise a `Problem` for a request that would do more than read."""
    if request.method not in ("GET", "HEAD"):
        raise not_allowed(request, "GET", "HEAD")
