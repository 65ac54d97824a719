"""The addresses by which a browser logs in with OpenID Connect: where it begins, where the issuer
sends it back to, and where it ends."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from adjourn.errors import AdjournError
from adjourn.server.api_request import answered
from adjourn.server.authentication import Guard, set_cookie
from adjourn.server.oidc import LoginAttempt, OidcClient
from adjourn.server.problem import Problem

if TYPE_CHECKING:
    from adjourn.server.app_state import AppState

LOGIN = "login"
"""How the addresses begin."""
LIFE = 600
"""Seconds in which a login must end."""


async def oidc_page(app: "AppState", request: Request, path: list[str]) -> Response:
    """Answer a request to one of these addresses.

    Args:
        app: the application's state.
        request: the request.
        path: its path, which begins with `LOGIN`.
    """
    guard = app.guard
    if request.method not in ("GET", "HEAD"):
        raise Problem(405, "method_not_allowed", "only GET is allowed here", {"Allow": "GET, HEAD"})
    if path == [LOGIN, "options"]:
        return answered({"oidc": guard.oidc is not None})
    if guard.oidc is None:
        raise Problem(404, "not_found", "not found")
    request.state.operation = "log_in"
    match path[1:]:
        case []:
            return await _begin(guard, guard.oidc, request)
        case ["callback"]:
            return await _end(app, guard.oidc, request)
        case ["end"]:
            return _to(await guard.oidc.logout_address(f"{_home(guard, request)}/"))
        case _:
            raise Problem(404, "not_found", "not found")


async def _begin(guard: Guard, client: OidcClient, request: Request) -> Response:
    attempt = LoginAttempt.new()
    place = await client.address(attempt, _callback(guard, request))
    return _to(place, _attempt_cookie(guard, request, attempt.secret))


async def _end(app: "AppState", client: OidcClient, request: Request) -> Response:
    """Whoever comes back has a session that is new: one from before, which somebody else may know,
    ends."""
    guard = app.guard
    attempt = LoginAttempt(request.cookies.get(_cookie(guard), ""))
    query = dict(request.query_params)
    if len(query) != len(request.query_params.multi_items()):
        raise Problem(401, "login_refused", "the issuer's answer has a duplicate parameter")
    person = await client.recognise(attempt, query, _callback(guard, request))
    rights = client.settings.rights(person.groups)
    if rights is None:
        raise Problem(
            403,
            "no_role",
            f"{person.name!r:.100} is in no group that has a role here; ask an admin",
        )
    role, grants = rights

    def log_in() -> tuple[str, str]:
        users = guard.users
        with users.acting(f"@oidc {client.settings.issuer}", app.origin_of(request)):
            name, opened_by = users.recognised(
                (client.settings.issuer, person.subject), person.name, role, person.groups, grants
            )
        users.end_session(request.cookies.get(guard.cookie, ""))
        cookie = users.open_session(name, opened_by=opened_by, life=guard.session_life)
        return name, cookie

    try:
        name, cookie = await guard.ask(log_in)
    except AdjournError as e:
        if e.status >= 500:
            raise
        raise Problem(403, "login_refused", str(e)) from None
    app.security.happened("login", by=name, address=guard.address(request))
    response = _to(f"{_home(guard, request)}/", _attempt_cookie(guard, request, ""))
    response.headers.append("Set-Cookie", set_cookie(guard, cookie, request.headers["host"]))
    return response


def _to(place: str, cookie: str = "") -> Response:
    headers = {"Location": place, "Cache-Control": "no-store"}
    if cookie:
        headers["Set-Cookie"] = cookie
    return Response(status_code=303, headers=headers)


def _home(guard: Guard, request: Request) -> str:
    """Where the console is, under the name by which the browser came. It is never what a request
    says, but one of the origins that this server was given."""
    return guard.origin_for(request.headers["host"]) + request.scope.get("root_path", "").rstrip(
        "/"
    )


def _callback(guard: Guard, request: Request) -> str:
    return f"{_home(guard, request)}/{LOGIN}/callback"


def _cookie(guard: Guard) -> str:
    return f"{guard.cookie}-login"


def _attempt_cookie(guard: Guard, request: Request, secret: str) -> str:
    """Lax: the browser brings it when the issuer sends it back."""
    age = LIFE if secret else 0
    secure = ""
    if guard.secure or guard.is_encrypted(request.headers["host"]):
        secure = "; Secure"
    return f"{_cookie(guard)}={secret}; Max-Age={age}; Path=/; HttpOnly; SameSite=Lax{secure}"
