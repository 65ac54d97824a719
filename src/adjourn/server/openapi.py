"""The OpenAPI document, made of the table of operations."""

from importlib import metadata
from typing import Any

from adjourn.server.api.operations import OPERATIONS
from adjourn.server.api_request import Operation
from adjourn.server.front_ends.endpoints import FRONT_ENDS
from adjourn.server.idempotency_key import KEY
from adjourn.server.schemas import COMPONENTS, Schema

API = "/api/v1"
PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}
WHY = {204: "No more events will come.", 304: "You have it already."}


def openapi(prefix: str = "") -> dict[str, Any]:
    """The document; `prefix` is where the application is mounted."""
    paths: dict[str, dict[str, Any]] = {}
    for place, operations in ((API, OPERATIONS), ("", FRONT_ENDS)):
        for operation in operations:
            known = paths.setdefault(place + operation.path, {})
            known[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Adjourn",
            "version": metadata.version("adjourn"),
            "description": "Pause, resume, cancel and approve agent runs. GET never changes anything.",
        },
        **({"servers": [{"url": prefix}]} if prefix else {}),
        "paths": paths,
        "components": {
            "schemas": COMPONENTS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key."}
            },
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.path.split("/")[1]],
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "x-right": operation.right,
        "security": [{"bearer": []}] if operation.right != "none" else [],
    }
    if operation.body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": operation.body}},
        }
    return found


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    id: Schema = {"type": "string", "minLength": 1, "maxLength": 400}
    places = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    found = [{"name": n, "in": "path", "required": True, "schema": id} for n in places]
    found += [
        {"name": n, "in": "query", "required": False, "schema": s}
        for n, s in operation.query.items()
    ]
    found += [
        {"name": n, "in": "header", "required": False, "schema": s}
        for n, s in operation.headers.items()
    ]
    if operation.happens_once:
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": KEY})
    return found


def _responses(operation: Operation) -> dict[str, Any]:
    kind = "text/event-stream" if operation.stream else operation.kind
    done: dict[str, Any] = {"description": "Done.", "content": {kind: {"schema": operation.answer}}}
    if operation.links:
        done["links"] = {
            name: {"operationId": name, **how} for name, how in operation.links.items()
        }
    answers: dict[str, Any] = {"200": done}
    answers |= {str(status): {"description": WHY[status]} for status in operation.also}
    expected = {401, 403, 422, 429, *operation.problems}
    if operation.body is not None:
        expected |= {400, 408, 413, 415}
    else:
        expected |= set[int]()
    if "{" in operation.path:
        expected |= {404}
    else:
        expected |= set[int]()
    refused = {
        "description": "Refused; nothing was done.",
        "content": {"application/problem+json": {"schema": PROBLEM_REF}},
    }
    failed = {
        **refused,
        "description": "The store or the server failed; it is unknown whether the command was done.",
    }
    return (
        answers
        | {str(status): refused for status in sorted(expected)}
        | {"500": failed, "503": failed}
    )
