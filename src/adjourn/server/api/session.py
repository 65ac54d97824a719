"""A browser's session, and who asks."""

from typing import Any, cast

from starlette.responses import Response

from adjourn.server.api_request import ApiRequest, answered
from adjourn.server.auth import Identity, set_cookie
from adjourn.views.api_answers import (
    DONE,
    Me,
)
from adjourn.views.words import Role


def me(who: Identity, now: float) -> Me:
    """Whoever was recognised."""
    role = cast("Role", who.role)
    return Me(name=who.name, role=role, groups=who.groups, csrf=who.csrf, link=who.local, now=now)


async def log_in(c: ApiRequest) -> Any:
    """A key becomes a browser's session; so does the token of this start's link, and nothing else
    that a link carries."""
    guard = c.desk.guard
    if "token" in c.body:
        cookie, who = guard.login_by_link(c.request, c.body["token"])
    else:
        cookie, who = guard.login(c.request, c.body["key"])
    c.desk.security.happened("login", by=who.name, address=guard.address(c.request))
    return answered(
        me(who, c.rt.store.now()),
        {"Set-Cookie": set_cookie(guard, cookie, c.request.headers["host"])},
    )


async def log_out(c: ApiRequest) -> Response:
    """End a browser's session."""
    guard = c.desk.guard
    if who := guard.logout(c.request):
        c.desk.security.happened("logout", by=who, address=guard.address(c.request))
    return answered(DONE, {"Set-Cookie": set_cookie(c.desk.guard, "", c.request.headers["host"])})


async def who_am_i(c: ApiRequest) -> Any:
    """Who asks."""
    return me(c.who, c.rt.store.now())
