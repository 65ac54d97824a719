"""`POST /webhooks/openai`: the provider says that a background response has ended. Nobody needs a
key for it: it is signed (Standard Webhooks), and all it does is make a run look at the provider."""

import os
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from adjourn.core.codec import loads
from adjourn.errors import AdjournError
from adjourn.runtime.provider_events import response_ended
from adjourn.server.api_request import answered, receive_body
from adjourn.server.app_state import AppState
from adjourn.server.problem import Problem, not_allowed

WEBHOOK = ["webhooks", "openai"]
"""Its path."""
SECRET = "OPENAI_WEBHOOK_SECRET"
"""Where its secret is; several, separated by spaces, count side by side while one replaces
another."""
SIZE = 64_000
_TOLD = "response."


async def model_webhook(app: AppState, request: Request) -> Response:
    """Verify what a provider says, and wake the run that waits for it. What is about no run here is
    acknowledged all the same: the provider's other work is none of ours."""
    if request.method != "POST":
        raise not_allowed(request, "POST")
    secrets = os.environ.get(SECRET, "").split()
    if not secrets:
        raise Problem(404, "not_configured", f"webhooks of OpenAI need their secret in {SECRET}")
    raw = await receive_body(request, SIZE)
    _check_signature(secrets, request, raw)
    try:
        event = loads(raw)
    except AdjournError as e:
        raise Problem(400, "not_json", str(e)) from None
    said, id = _read(event)
    run = ""
    if said.startswith(_TOLD) and id:
        run = await response_ended(
            app.runtime,
            id,
            said,
            request_id=f"webhook:{request.headers['webhook-id']}",
            origin=app.origin_of(request),
        )
    return answered({"known": bool(run)})


def _read(event: Any) -> tuple[str, str]:
    """What it says, and about which response."""
    fields = cast("dict[str, Any]", event) if isinstance(event, dict) else {}
    about = fields.get("data")
    data = cast("dict[str, Any]", about) if isinstance(about, dict) else {}
    said, id = fields.get("type"), data.get("id")
    if not isinstance(said, str) or not isinstance(id, str) or len(id) > 200 or len(said) > 100:
        raise Problem(400, "invalid", "a webhook of OpenAI must have a type and an id")
    return said, id


def _check_signature(secrets: list[str], request: Request, raw: bytes) -> None:
    from standardwebhooks.webhooks import Webhook

    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    headers = {name: request.headers.get(name, "") for name in names}
    for secret in secrets:
        try:
            Webhook(secret).verify(raw, headers, json_parse=False)
        except Exception:  # whatever a forged one makes the library stumble over
            continue
        if len(headers["webhook-id"]) <= 200:
            return
    raise Problem(401, "wrong_signature", "the signature is invalid, or older than five minutes")
