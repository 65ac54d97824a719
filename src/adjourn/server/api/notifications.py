"""The operations about notifications: who is told, and what has not arrived."""

import base64
import secrets
from typing import Any

from adjourn.errors import Conflict, Invalid, NotAllowed, NotFound
from adjourn.server.api.pages import page, whole
from adjourn.server.notifications.webhook import check_url
from adjourn.server.operation import ApiRequest
from adjourn.stores.notification import DeliveryAttempt, Endpoint
from adjourn.views.answer_schemas import DONE, EndpointView, LetterView, NewEndpoint


def new_secret() -> str:
    """A signing secret in the form of Standard Webhooks."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


async def list_endpoints(c: ApiRequest) -> Any:
    """Who is told."""
    return whole([EndpointView.of(e) for e in await c.rt.store.endpoints()])


async def add_endpoint(c: ApiRequest) -> Any:
    """Tell a webhook from now on. Chat and mail are added by whoever can reach the store: that
    library connects by itself."""
    b, secret = c.body, new_secret()
    try:
        check_url(b["url"])
    except Invalid as e:  # it is written as it should be, so it is where it leads to
        raise NotAllowed(e.what, consequence=e.consequence, advice=e.advice) from None
    if any(e.name == b["name"] for e in await c.rt.store.endpoints()):
        raise Conflict(f"endpoint {b['name']!r} already exists", advice="remove it first")
    put = Endpoint(b["name"], "webhook", b["url"], secret, tuple(b.get("topics", ())))
    await c.rt.store.endpoints(put, by=c.who.name, origin=c.rt.origin)
    return NewEndpoint(name=put.name, secret=secret)


async def remove_endpoint(c: ApiRequest) -> Any:
    """Tell it nothing more."""
    name = c.body["name"]
    if all(e.name != name for e in await c.rt.store.endpoints()):
        raise NotFound(f"endpoint {name!r:.80} not found")
    await c.rt.store.endpoints(drop=name, by=c.who.name, origin=c.rt.origin)
    return DONE


async def list_letters(c: ApiRequest) -> Any:
    """A page of what has not arrived."""
    q, limit = c.query, c.query.get("limit", 100)
    found = await c.rt.store.letters(q.get("state", ""), after=q.get("after", 0), limit=limit)
    return page([LetterView.of(letter) for letter in found], limit, lambda letter: letter.n)


async def retry_letter(c: ApiRequest) -> Any:
    """Try once more."""
    letter = await _dead(c)
    error, now = f"retried by {c.who.name}", c.rt.store.now()
    await c.rt.store.post(
        [DeliveryAttempt(letter.n, letter.tries, error, now, c.who.name, c.rt.origin)]
    )
    return DONE


async def drop_letter(c: ApiRequest) -> Any:
    """Give it up for good."""
    letter = await _dead(c)
    await c.rt.store.post(
        [DeliveryAttempt(letter.n, letter.tries, by=c.who.name, origin=c.rt.origin)]
    )
    return DONE


async def _dead(c: ApiRequest) -> Any:
    n = c.body["n"]
    found = await c.rt.store.letters("dead", after=n - 1, limit=1)
    if not found or found[0].n != n:
        raise NotFound(f"undelivered notification {n} not found")
    return found[0]
