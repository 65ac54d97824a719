"""The Idempotency-Key: a header by which the same request again has the same answer."""

from starlette.requests import Request

from adjourn.errors import Invalid
from adjourn.server.identity import Identity
from adjourn.server.schemas import Schema

KEY: Schema = {"type": "string", "maxLength": 200, "pattern": "^[ -~]*$"}


def idempotency_key(who: Identity, request: Request) -> str:
    """The Idempotency-Key, bound to who sent it; "" if there is none."""
    key = request.headers.get("idempotency-key", "")
    if len(key) > 200 or not key.isascii() or not key.isprintable():
        raise Invalid("Idempotency-Key must be a string of at most 200 printable ASCII characters")
    if key:
        return f"{len(who.name)}:{who.name}/{key}"
    return ""
