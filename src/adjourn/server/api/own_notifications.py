"""The operations about one's own notifications: which browsers of mine are told, and of what."""

import hashlib
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from adjourn.errors import Conflict, Invalid, NotFound
from adjourn.server.api.notifications import URL, check_allowed, tested
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, H, operation
from adjourn.server.notifications.own_delivery import VAPID
from adjourn.server.notifications.web_push import VapidKey, check_keys
from adjourn.server.schemas import FLAG, NAME, TOPIC, Schema, many, maybe, ref, thing
from adjourn.stores.outbox import TOPICS, Endpoint
from adjourn.stores.own_endpoint import OwnChoice, OwnEndpoint, QuietHours, own_endpoint
from adjourn.views.api_answers import DONE, Ok, TestedEndpoint
from adjourn.views.own_endpoint_view import OwnEndpointView, PushKeyView

MOST = 20
"""Own endpoints of one person."""
BASE64: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,200}=*$", "maxLength": 200}
MINUTE: Schema = {"type": "integer", "minimum": 0, "maximum": 1439}
SOME: Schema = {"type": "array", "items": NAME, "uniqueItems": True, "maxItems": 100}
QUIET = thing(
    ("begins", "ends", "zone"),
    begins=MINUTE,
    ends=MINUTE,
    zone={"type": "string", "pattern": "^[A-Za-z0-9_+/-]{1,60}$"},
)
CHOICE: dict[str, Schema] = {
    "device": {"type": "string", "maxLength": 100, "pattern": r"^[^\u0000-\u001f]*$"},
    "topics": {"type": "array", "items": TOPIC, "uniqueItems": True, "minItems": 1},
    "mine": FLAG,
    "agents": SOME,
    "tools": SOME,
    "groups": SOME,
    "quiet": maybe(QUIET),
}
USUAL = tuple(topic for topic in TOPICS if topic not in ("run.completed", "run.cancelled"))
"""Of what somebody is told who has not chosen: of all but runs that ended as they should."""


def address_of(url: str) -> str:
    """A digest of a browser's address, which nobody else needs to know."""
    return hashlib.sha256(url.encode()).hexdigest()[:20]


@operation("GET /me/notifications", "read", many(OwnEndpointView), reaches="own")
async def list_own_notifications(c: ApiRequest) -> Any:
    """Your own browsers and mailboxes, and the events that each gets."""
    views = [
        OwnEndpointView.of(endpoint, own, address_of(endpoint.url))
        for endpoint, own in await _mine(c)
    ]
    return whole(views)


def _own(verb: str, answer: Schema, body: Schema, problem: int = 404) -> Callable[[H], H]:
    """Makes a handler an operation about the endpoints of who asks."""
    route = f"POST /me/notifications{verb}"
    return operation(route, "read", answer, problems=(problem,), body=body, reaches="own")


@operation("POST /me/notifications/key", "read", ref(PushKeyView), body=thing(), reaches="own")
async def push_key(c: ApiRequest) -> Any:
    """The key with which a browser subscribes.

    It is made when it is first asked for.
    """
    return PushKeyView(key=(await _key(c)).public)


@_own(
    "",
    ref(OwnEndpointView),
    thing(
        ("url", "p256dh", "auth", "key"),
        url=URL,
        p256dh=BASE64,
        auth=BASE64,
        key=BASE64,
        **CHOICE,
    ),
    problem=409,
)
async def add_own_browser(c: ApiRequest) -> Any:
    """Add a subscribed browser.

    Whoever subscribes it last has it.
    """
    body = c.body
    if await c.app.guard.person(c.who.name) is None or c.who.local:
        raise Conflict(
            f"{c.who.name!r} is not a user of this server",
            consequence="this browser gets no notifications",
            advice="log in with a key of your own",
        )
    check_allowed(body["url"])
    check_keys(body["p256dh"], body["auth"])
    if body["key"] != (await _key(c)).public:
        raise Conflict(
            "this browser has subscribed to another sender",
            consequence="it gets no notifications",
            advice="subscribe again with the key of this server",
        )
    name = f"push {address_of(body['url'])}"
    mine = [endpoint.name for endpoint, _ in await _mine(c)]
    if name not in mine and len(mine) >= MOST:
        raise Conflict(f"you already have {MOST}", advice="remove one first")
    own = OwnEndpoint(c.who.name, body.get("device", ""), body["p256dh"], body["auth"], _choice(c))
    topics = tuple(body.get("topics", USUAL))
    return await _put(c, Endpoint(name, "push", body["url"], own.kept(), topics))


@_own("/change", ref(OwnEndpointView), thing(("name",), name=NAME, **CHOICE))
async def change_own_notifications(c: ApiRequest) -> Any:
    """Change its events. Fields that are not given do not change."""
    endpoint, own = await _found(c)
    own = msgspec.structs.replace(own, choice=_choice(c), device=c.body.get("device", own.device))
    topics = tuple(c.body.get("topics", endpoint.topics))
    return await _put(c, msgspec.structs.replace(endpoint, secret=own.kept(), topics=topics))


@_own("/remove", ref(Ok), thing(("name",), name=NAME))
async def remove_own_notifications(c: ApiRequest) -> Any:
    """Remove the endpoint."""
    endpoint, _ = await _found(c)
    await c.rt.store.endpoints(drop=endpoint.name, by=c.who.name, origin=c.rt.origin)
    return DONE


@_own("/test", ref(TestedEndpoint), thing(("name",), name=NAME))
async def try_own_notifications(c: ApiRequest) -> Any:
    """Send a test now, and return the answer of its service."""
    endpoint, _ = await _found(c)
    return await tested(c, endpoint)


async def _mine(c: ApiRequest) -> list[tuple[Endpoint, OwnEndpoint]]:
    found: list[tuple[Endpoint, OwnEndpoint]] = []
    for endpoint in await c.rt.store.endpoints():
        own = own_endpoint(endpoint)
        if own is not None and own.person == c.who.name:
            found.append((endpoint, own))
    return found


async def _found(c: ApiRequest) -> tuple[Endpoint, OwnEndpoint]:
    name = c.body["name"]
    for endpoint, own in await _mine(c):
        if endpoint.name == name:
            return endpoint, own
    raise NotFound(f"{name!r:.80} is not one of your endpoints")


async def _put(c: ApiRequest, endpoint: Endpoint) -> Any:
    await c.rt.store.endpoints(endpoint, by=c.who.name, origin=c.rt.origin)
    [(kept, own)] = [found for found in await _mine(c) if found[0].name == endpoint.name]
    return OwnEndpointView.of(kept, own, address_of(kept.url))


async def _key(c: ApiRequest) -> VapidKey:
    """Two servers that make one at the same time: the later one counts, and a browser that has
    subscribed with the other is told to do it again."""
    kept = [e.secret for e in await c.rt.store.endpoints() if e.name == VAPID]
    if kept:
        return VapidKey.kept(kept[0])
    made = str(VapidKey.new())
    after = await c.rt.store.endpoints(
        Endpoint(VAPID, "push", "", made), by=c.who.name, origin=c.rt.origin
    )
    return VapidKey.kept(next(e.secret for e in after if e.name == VAPID))


def _choice(c: ApiRequest) -> OwnChoice:
    quiet = None
    if given := c.body.get("quiet"):
        quiet = QuietHours(given["begins"], given["ends"], given["zone"])
        try:
            ZoneInfo(quiet.zone)
        except (KeyError, ValueError, OSError):
            raise Invalid(
                f"{quiet.zone!r} is not a known time zone", advice="write one as 'Europe/Oslo'"
            ) from None
    return OwnChoice(
        mine=c.body.get("mine", True),
        agents=tuple(c.body.get("agents", ())),
        tools=tuple(c.body.get("tools", ())),
        groups=tuple(c.body.get("groups", ())),
        quiet=quiet,
    )
