"""A request to the API: its query and its body, read and checked, and the operation that answers
it."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from adjourn.core.codec import encode, loads
from adjourn.core.schema import check
from adjourn.errors import Invalid, InvalidAnswer
from adjourn.runtime.open_runtime import serving
from adjourn.runtime.runtime import Runtime
from adjourn.server.idempotency_key import idempotency_key
from adjourn.server.identity import Identity
from adjourn.server.problem import Problem
from adjourn.server.rights import Right
from adjourn.server.schemas import COMPONENTS, Schema

if TYPE_CHECKING:
    from adjourn.server.app_state import AppState

KB = 1024
MAX_BODY = 1024 * KB
MAX_READ = 16 * MAX_BODY
"""So much of what is too large is still read, and dropped: who is cut off while sending does not
hear why."""
MAX_VALUES = 100_000
"""In one body: a megabyte of brackets takes a hundred times longer to read than a megabyte of
text."""
LARGE = 64 * KB
"""A body that is larger is read in a thread, and only one at a time: others have their turn
meanwhile."""
MAX_SECONDS = 30.0
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(slots=True)
class ApiRequest:
    """One request, understood: who, where, what."""

    app: "AppState"
    rt: Runtime
    who: Identity
    request: Request
    path: dict[str, str]
    query: dict[str, Any]
    body: dict[str, Any]
    request_id: str = ""


Handler = Callable[[ApiRequest], Awaitable[Any]]
H = TypeVar("H", bound=Handler)
P = ParamSpec("P")
Reach = Literal["run", "some", "own", "all"]


@dataclass(frozen=True)
class Operation:
    """What one method of one path does: its `route` is `METHOD /path`, its name that of its
    handler. `also`: other answers than 200 that are no problem. `size`: bytes of its body. `kind`: the
    media type of its answer.

    `reaches` says whom it serves beside those who have its right everywhere. `some`: it shows and
    changes only what its caller may. `own`: it is about the caller alone. `all`: it is of all runs,
    and for those who have the right everywhere; but an operation whose path names a run or an
    interrupt is checked against that.
    """

    handler: Handler
    route: str
    right: Right
    answer: Schema
    _: KW_ONLY
    body: Schema | None = None
    size: int = LARGE
    query: dict[str, Schema] = field(default_factory=dict[str, Schema])
    headers: dict[str, Schema] = field(default_factory=dict[str, Schema])
    problems: tuple[int, ...] = ()
    also: tuple[int, ...] = ()
    stream: bool = False
    kind: str = "application/json"
    links: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reaches: Reach = "all"

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """Its path below that of the API, with placeholders."""
        return self.route.partition(" ")[2]

    @property
    def name(self) -> str:
        """Its id in the OpenAPI document."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """What it is for: the first paragraph of its handler's docstring."""
        return " ".join((self.handler.__doc__ or "").partition("\n\n")[0].split())

    @property
    def reach(self) -> Reach:
        """What it is about: a run, some of them, the caller, or everything."""
        if "{run_id}" in self.path or "{ref}" in self.path:
            return "run"
        return self.reaches

    @property
    def happens_once(self) -> bool:
        """Whether the same request again, under one Idempotency-Key, has the same answer: a run's
        journal remembers it."""
        return self.right in ("control", "decide")

    async def __call__(
        self, app: "AppState", who: Identity, request: Request, path: dict[str, str]
    ) -> Response:
        """Check the request, do it, and answer."""
        if any("\x00" in v or not v or len(v) > 400 for v in path.values()):
            advice = "a part of an address has 1 to 400 characters, and no NUL"
            raise Problem(404, "not_found", "not found", advice=advice)
        query = read_query(self.query, request)
        body = await self._read_body(app, request) if self.body is not None else {}
        call = ApiRequest(app, app.runtime, who, request, path, query, body)
        if self.happens_once:
            call.request_id = idempotency_key(who, request)
        else:
            call.request_id = ""
        with serving(app.origin_of(request)):
            value = await self.handler(call)
        if isinstance(value, Response):
            return value
        return answered(value)

    async def _read_body(self, app: "AppState", request: Request) -> dict[str, Any]:
        schema, raw = self.body or {}, await receive_body(request, self.size)
        if len(raw) <= LARGE:
            return parse_body(raw, schema)
        async with app.parsing:
            return await asyncio.to_thread(parse_body, raw, schema)


_WRITTEN: list[Operation] = []


def _decorator(
    make: Callable[Concatenate[Handler, P], Operation],
) -> Callable[P, Callable[[H], H]]:
    def described(*args: P.args, **terms: P.kwargs) -> Callable[[H], H]:
        def kept(handler: H) -> H:
            _WRITTEN.append(make(handler, *args, **terms))
            return handler

        return kept

    return described


operation = _decorator(Operation)
"""Makes a handler an operation: `@operation("GET /runs", "read", many(RunSummary))`."""


def run_verb(
    verb: str,
    right: Right,
    answer: Schema,
    body: Schema,
    *,
    problems: tuple[int, ...] = (404, 409),
    size: int = LARGE,
) -> Callable[[H], H]:
    """Makes a handler a verb of one run: `POST /runs/{run_id}/VERB`."""
    route = f"POST /runs/{{run_id}}/{verb}"
    return operation(route, right, answer, problems=problems, size=size, body=body)


def interrupt_verb(
    verb: str,
    answer: Schema,
    body: Schema,
    *,
    problems: tuple[int, ...] = (404, 409),
    size: int = LARGE,
) -> Callable[[H], H]:
    """Makes a handler a verb of those who decide about one interrupt."""
    route = f"POST /interrupts/{{ref}}/{verb}"
    return operation(route, "decide", answer, problems=problems, size=size, body=body)


def operations_of(*modules: ModuleType) -> list[Operation]:
    """The operations whose handlers stand in these modules, in their order."""
    return [
        operation
        for module in modules
        for operation in _WRITTEN
        if operation.handler.__module__ == module.__name__
    ]


def answered(value: Any, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(
        encode(value),
        media_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def read_query(wanted: dict[str, Schema], request: Request) -> dict[str, Any]:
    """The parameters, typed and checked; an unknown one is refused."""
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name not in wanted:
            raise Invalid(
                f"unknown query parameter {name!r:.60}",
                advice=f"allowed: {', '.join(wanted) or 'none'}",
            )
        if name in found:
            raise Invalid(f"query parameter {name!r} was given twice")
        found[name] = _typed(name, value, wanted[name])
    return found


def _typed(name: str, text: str, schema: Schema) -> Any:
    value: Any = text
    if schema.get("type") == "integer":
        digits = text.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
            raise Invalid(f"{name} must be an integer, got {text!r:.40}")
        value = int(text)
    elif schema.get("type") == "number":
        if len(text) > 40 or not _NUMBER.fullmatch(text):
            raise Invalid(f"{name} must be a number, got {text!r:.40}")
        value = float(text)
    elif schema.get("type") == "boolean":
        if text not in ("true", "false"):
            raise Invalid(f"{name} must be true or false, got {text!r:.40}")
        value = text == "true"
    fits(schema, value, name)
    return value


async def receive_body(request: Request, size: int) -> bytes:
    """The bytes of a JSON body that has at most `size`; more is read and dropped, so that its
    sender hears why."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        advice = "send a JSON object with Content-Type: application/json"
        raise Problem(415, "not_json", "the request body is not JSON", advice=advice)
    raw, there = bytearray(), 0
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for piece in request.stream():
                there += len(piece)
                if there <= size:
                    raw += piece
                elif there > MAX_READ:
                    break
    except TimeoutError:
        raise Problem(
            408,
            "too_slow",
            "the request did not arrive in time",
            {"Connection": "close"},
            advice="send it again",
        ) from None
    except ClientDisconnect:
        what = "the request body is incomplete"
        raise Problem(400, "incomplete", what, advice="send the whole body") from None
    if there > size:
        raise Problem(
            413,
            "too_large",
            f"the body of this request can have at most {size:,} bytes",
            {"Connection": "close"},
            advice="send less",
        )
    return bytes(raw)


def parse_body(raw: bytes, schema: Schema) -> dict[str, Any]:
    """A body, read strictly and checked."""
    try:
        value = loads(raw, what="the request", limit=MAX_BODY, values=MAX_VALUES)
    except Invalid as e:
        raise Problem(400, "bad_json", str(e), advice="send a JSON object") from None
    fits({**schema, "$defs": COMPONENTS}, value, "request")
    return value


def fits(schema: Schema, value: Any, what: str) -> None:
    """Raise `Invalid`, naming the place, if a value does not fit."""
    try:
        check(schema, value, what)
    except InvalidAnswer as e:
        raise Invalid(e.what, consequence="nothing was done", **e.facts) from None
