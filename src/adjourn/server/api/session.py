"""A browser's session, and who asks."""

import os.path
from typing import Any, cast

from starlette.responses import Response

from adjourn.runtime.runtime import Runtime
from adjourn.server.api_request import KB, ApiRequest, answered, operation
from adjourn.server.authentication import set_cookie
from adjourn.server.identity import Identity
from adjourn.server.schemas import KEY, ref, thing
from adjourn.stores.address import file_of, is_postgres, without_password
from adjourn.views.api_answers import DONE, Me, Ok
from adjourn.views.words import RIGHTS, Role


def me(who: Identity, runtime: Runtime) -> Me:
    """Whoever was recognised."""
    role = cast("Role", who.role)
    store = ""
    if who.may_everywhere("control"):
        store = shown_store(runtime.address)
    return Me(
        name=who.name,
        role=role,
        groups=who.groups,
        grants=tuple(map(str, who.grants)),
        rights=tuple(sorted(right for right in RIGHTS["admin"] - {"none"} if who.may(right))),
        tenant=who.tenant,
        csrf=who.csrf,
        link=who.local,
        now=runtime.store.now(),
        store=store,
    )


def shown_store(address: str) -> str:
    """An address as it is typed after `--db`, in any folder; without a password."""
    if is_postgres(address):
        return without_password(address)
    if path := file_of(address):
        return os.path.abspath(path)
    return ""


@operation(
    "POST /session",
    "none",
    ref(Me),
    size=2 * KB,
    body={**thing(key=KEY, token=KEY), "minProperties": 1, "maxProperties": 1},
)
async def log_in(c: ApiRequest) -> Any:
    """Exchange a key for a browser session.

    So does the token of this start's link, and nothing else that a link carries.
    """
    guard = c.app.guard
    if "token" in c.body:
        token = c.body["token"]
        cookie, who = await guard.ask(lambda: guard.login_by_link(c.request, token))
    else:
        key = c.body["key"]
        cookie, who = await guard.ask(lambda: guard.login(c.request, key))
    c.app.security.happened("login", by=who.name, address=guard.address(c.request))
    return answered(
        me(who, c.rt),
        {"Set-Cookie": set_cookie(guard, cookie, c.request.headers["host"])},
    )


@operation("POST /session/end", "read", ref(Ok), reaches="own")
async def log_out(c: ApiRequest) -> Response:
    """End a browser's session."""
    guard = c.app.guard
    if who := await guard.ask(lambda: guard.logout(c.request)):
        c.app.security.happened("logout", by=who, address=guard.address(c.request))
    return answered(DONE, {"Set-Cookie": set_cookie(c.app.guard, "", c.request.headers["host"])})


@operation("GET /me", "read", ref(Me), reaches="own")
async def who_am_i(c: ApiRequest) -> Any:
    """Who you are."""
    return me(c.who, c.rt)
