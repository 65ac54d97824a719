"""An operation of the API: one table makes the routes, checks the requests and writes the OpenAPI document."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from adjourn.core.codec import encode, loads
from adjourn.core.schema import check
from adjourn.errors import Invalid, InvalidAnswer
from adjourn.runtime.runtime import Runtime
from adjourn.server.auth import Identity, Right
from adjourn.server.problem import Problem
from adjourn.server.schemas import COMPONENTS, Schema, ref

MAX_BODY = 4 * 1024 * 1024


@dataclass(slots=True)
class Call:
    """One request, understood: who, where, what."""

    rt: Runtime
    who: Identity
    request: Request
    path: dict[str, str]
    query: dict[str, Any]
    body: dict[str, Any]

    @property
    def request_id(self) -> str:
        """The Idempotency-Key, bound to who sent it."""
        key = self.request.headers.get("idempotency-key", "")
        if len(key) > 200 or not key.isprintable():
            raise Invalid("Idempotency-Key is a text of at most 200 printable characters")
        return f"{self.who.name}/{key}" if key else ""


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True)
class Operation:
    """What one method of one path does."""

    method: str
    path: str
    name: str
    right: Right
    summary: str
    handler: Handler
    answer: Schema
    body: Schema | None = None
    query: dict[str, Schema] = field(default_factory=dict[str, Schema])
    problems: tuple[int, ...] = ()
    stream: bool = False

    async def __call__(self, rt: Runtime, who: Identity, request: Request) -> Response:
        """Check the request, do it, and answer."""
        path = {k: str(v) for k, v in request.path_params.items()}
        if any("\x00" in v or len(v) > 400 for v in path.values()):
            raise Problem(404, "not_found", "there is no such thing")
        call = Call(rt, who, request, path, _query(self.query, request), await _body(self.body, request))
        value = await self.handler(call)
        if isinstance(value, Response):
            return value
        return Response(encode(value), media_type="application/json", headers={"Cache-Control": "no-store"})

    def describe(self) -> dict[str, Any]:
        """Its part of the OpenAPI document."""
        params = [
            {"name": n, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 400}}
            for n in _names(self.path)
        ]
        params += [{"name": n, "in": "query", "required": False, "schema": s} for n, s in self.query.items()]
        if self.body is not None:
            key = {"type": "string", "maxLength": 200, "pattern": "^[ -~]*$"}
            params.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": key})
        kind = "text/event-stream" if self.stream else "application/json"
        answers: dict[str, Any] = {"200": {"description": "Done.", "content": {kind: {"schema": self.answer}}}}
        expected = {
            401,
            403,
            422,
            429,
            *self.problems,
            *((400, 413, 415) if self.body is not None else ()),
            *((404,) if params else ()),
        }
        for status in sorted(expected):
            answers[str(status)] = {
                "description": "Refused; nothing was done.", "content": {"application/problem+json": {"schema": ref("Problem")}},
            }  # fmt: skip
        found: dict[str, Any] = {
            "operationId": self.name, "summary": self.summary, "parameters": params, "responses": answers,
            "security": [{"bearer": []}], "x-right": self.right,
        }  # fmt: skip
        if self.body is not None:
            found["requestBody"] = {"required": True, "content": {"application/json": {"schema": self.body}}}
        return found


def _names(path: str) -> list[str]:
    return [part[1:-1].partition(":")[0] for part in path.split("/") if part.startswith("{")]


def _query(wanted: dict[str, Schema], request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name not in wanted:
            raise Invalid(f"there is no parameter {name!r:.60}; there are {', '.join(wanted) or 'none'}")
        if name in found:
            raise Invalid(f"the parameter {name!r} is there twice")
        found[name] = _typed(name, value, wanted[name])
    return found


def _typed(name: str, text: str, schema: Schema) -> Any:
    value: Any = text
    if schema.get("type") == "integer":
        digits = text.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
            raise Invalid(f"{name} is a whole number, not {text!r:.40}")
        value = int(text)
    elif schema.get("type") == "boolean":
        if text not in ("true", "false"):
            raise Invalid(f"{name} is true or false, not {text!r:.40}")
        value = text == "true"
    _fits(schema, value, name)
    return value


async def _body(schema: Schema | None, request: Request) -> dict[str, Any]:
    if schema is None:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not_json", "send a JSON object with Content-Type: application/json")
    raw = b""
    async for piece in request.stream():
        raw += piece
        if len(raw) > MAX_BODY:
            raise Problem(413, "too_large", f"a request has at most {MAX_BODY:,} bytes")
    try:
        value = loads(raw, what="the request", limit=MAX_BODY)
    except Invalid as e:
        raise Problem(400, "bad_json", str(e)) from None
    _fits({**schema, "$defs": COMPONENTS}, value, "request")
    return value


def _fits(schema: Schema, value: Any, what: str) -> None:
    try:
        check(schema, value, what)
    except InvalidAnswer as e:
        raise Invalid(str(e).replace("; nothing was recorded, the question stays open", "; nothing was done")) from None
