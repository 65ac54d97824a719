"""The operations about notifications: who is told, and what has not arrived."""

import asyncio
import base64
import secrets
from typing import Any, Literal

from adjourn.errors import Conflict, Invalid, NotAllowed, NotFound
from adjourn.server.api.pages import page, whole
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.notifications.chat_address import check_room, mail_address
from adjourn.server.notifications.webhook import check_url
from adjourn.server.schemas import AFTER, LIMIT, NAME, TOPIC, Schema, many, ref, thing
from adjourn.stores.outbox import DeliveryAttempt, Endpoint
from adjourn.views.api_answers import (
    DONE,
    EndpointView,
    LetterView,
    NewEndpoint,
    Ok,
    TestedEndpoint,
)

HOST, NUMBERED = "[A-Za-z0-9.-]{1,253}", "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
URL: Schema = {
    "type": "string",
    "pattern": rf"^https://{HOST}{NUMBERED}(/[!$-;=?-\[\]-~]*)?$",
    "maxLength": 2000,
}
LOGIN: Schema = {"type": "string", "maxLength": 500, "pattern": "^[!-~]*$"}
MAILBOX: Schema = {
    "type": "string",
    "pattern": rf"^[A-Za-z0-9._%+-]{{1,64}}@{HOST}$",
    "maxLength": 320,
}
TITLE: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$"}
TOPICS: Schema = {"type": "array", "items": TOPIC, "uniqueItems": True}


def new_secret() -> str:
    """A signing secret in the form of Standard Webhooks."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def check_allowed(url: str) -> None:
    """Raise `NotAllowed` for an address that no server of notifications may ask."""
    try:
        check_url(url)
    except Invalid as e:  # it is written as it should be, so it is where it leads to
        raise NotAllowed(e.what, consequence=e.consequence, advice=e.advice) from None


async def tested(c: ApiRequest, endpoint: Endpoint) -> TestedEndpoint:
    """Send it a message that nothing hangs on, and say what came of it. It is not retried."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    arrived, says = await c.app.sender().send_test(endpoint, by=c.who.name)
    took = loop.time() - began
    return TestedEndpoint(name=endpoint.name, arrived=arrived, says=says, took=took)


@operation("GET /endpoints", "admin", many(EndpointView))
async def list_endpoints(c: ApiRequest) -> Any:
    """The notification endpoints."""
    return whole([EndpointView.of(e) for e in await c.rt.store.endpoints() if e.url])


@operation(
    "POST /endpoints",
    "admin",
    ref(NewEndpoint),
    problems=(409,),
    body=thing(("name", "url"), name=TITLE, url=URL, topics=TOPICS),
)
async def add_endpoint(c: ApiRequest) -> Any:
    """Add a webhook. Its secret is shown once."""
    b, secret = c.body, new_secret()
    check_allowed(b["url"])
    await _add(c, "webhook", b["url"], secret)
    return NewEndpoint(name=b["name"], secret=secret)


@operation(
    "POST /endpoints/chat",
    "admin",
    ref(Ok),
    problems=(409,),
    body=thing(("name", "url"), name=TITLE, url=URL, topics=TOPICS),
)
async def add_room(c: ApiRequest) -> Any:
    """Add a room in Slack, Teams, Discord or Google Chat, by the address of its webhook."""
    check_room(c.body["url"])
    await _add(c, "apprise", c.body["url"])
    return DONE


@operation(
    "POST /endpoints/mail",
    "admin",
    ref(Ok),
    problems=(409,),
    body=thing(
        ("name", "server", "to"),
        name=TITLE,
        server={"type": "string", "pattern": f"^{HOST}$"},
        port={"type": "integer", "minimum": 1, "maximum": 65_535},
        user=LOGIN,
        password=LOGIN,
        to=MAILBOX,
        sender=MAILBOX,
        topics=TOPICS,
    ),
)
async def add_mailbox(c: ApiRequest) -> Any:
    """Add a mailbox, through a mail server."""
    await _add(c, "apprise", await mail_address(c.body, c.app.sender().allowed))
    return DONE


async def _add(
    c: ApiRequest, kind: Literal["webhook", "apprise"], url: str, secret: str = ""
) -> None:
    name = c.body["name"]
    if any(e.name == name for e in await c.rt.store.endpoints()):
        raise Conflict(f"endpoint {name!r} already exists", advice="remove it first")
    put = Endpoint(name, kind, url, secret, tuple(c.body.get("topics", ())))
    await c.rt.store.endpoints(put, by=c.who.name, origin=c.rt.origin)


@operation(
    "POST /endpoints/remove", "admin", ref(Ok), problems=(404,), body=thing(("name",), name=NAME)
)
async def remove_endpoint(c: ApiRequest) -> Any:
    """Remove the endpoint."""
    found = await _found(c)
    await c.rt.store.endpoints(drop=found.name, by=c.who.name, origin=c.rt.origin)
    return DONE


@operation(
    "POST /endpoints/test",
    "admin",
    ref(TestedEndpoint),
    problems=(404,),
    body=thing(("name",), name=NAME),
)
async def try_endpoint(c: ApiRequest) -> Any:
    """Send a test now, and return the answer."""
    found, origin = await _found(c), c.app.origin_of(c.request)
    line = {"verb": "test endpoint", "by": c.who.name, "from": origin, "about": found.name}
    c.app.security.note(line)
    return await tested(c, found)


async def _found(c: ApiRequest) -> Endpoint:
    name = c.body["name"]
    for endpoint in await c.rt.store.endpoints():
        if endpoint.name == name:
            return endpoint
    raise NotFound(f"endpoint {name!r:.80} not found")


@operation(
    "GET /letters",
    "admin",
    many(LetterView),
    query={"state": {"enum": ["due", "dead"]}, "after": AFTER, "limit": LIMIT},
)
async def list_letters(c: ApiRequest) -> Any:
    """Notifications not delivered."""
    q, limit = c.query, c.query.get("limit", 100)
    found = await c.rt.store.letters(q.get("state", ""), after=q.get("after", 0), limit=limit)
    return page([LetterView.of(letter) for letter in found], limit, lambda letter: letter.number)


@operation(
    "POST /letters/retry", "admin", ref(Ok), problems=(404,), body=thing(("number",), number=AFTER)
)
async def retry_letter(c: ApiRequest) -> Any:
    """Retry a failed notification."""
    letter = await _dead(c)
    error, now = f"retried by {c.who.name}", c.rt.store.now()
    await c.rt.store.post(
        [DeliveryAttempt(letter.n, letter.tries, error, now, c.who.name, c.rt.origin)]
    )
    return DONE


@operation(
    "POST /letters/drop", "admin", ref(Ok), problems=(404,), body=thing(("number",), number=AFTER)
)
async def drop_letter(c: ApiRequest) -> Any:
    """Drop a failed notification."""
    letter = await _dead(c)
    await c.rt.store.post(
        [DeliveryAttempt(letter.n, letter.tries, by=c.who.name, origin=c.rt.origin)]
    )
    return DONE


async def _dead(c: ApiRequest) -> Any:
    n = c.body["number"]
    found = await c.rt.store.letters("dead", after=n - 1, limit=1)
    if not found or found[0].n != n:
        raise NotFound(f"undelivered notification {n} not found")
    return found[0]
