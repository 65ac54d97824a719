"""The operations about people: who may do what, with which keys, and in which sessions."""

from collections.abc import Callable
from typing import Any, TypeVar

from adjourn.errors import Conflict, NotFound
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import FLAG, NAME, Schema, many, ref, thing
from adjourn.server.user_checks import ROLES
from adjourn.server.users import Session, User, Users, key_id
from adjourn.views.api_answers import DONE, Ok
from adjourn.views.filled_view import filled
from adjourn.views.person_view import EndedSessions, KeyView, NewKey, PersonView, SessionView

T = TypeVar("T")
ROLE: Schema = {"type": "string", "enum": list(ROLES)}
GROUPS: Schema = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": r"^[^\u0000\r\n]+$"},
    "uniqueItems": True,
    "maxItems": 100,
}
GRANTS: Schema = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": r"^[^\u0000\r\n]+$"},
    "uniqueItems": True,
    "maxItems": 100,
}
TENANT: Schema = {"type": "string", "maxLength": 200, "pattern": r"^[^\u0000\r\n]*$"}
PERSON: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": r"^[^@\s\u0000].*$",
}
SECONDS: Schema = {"type": "number", "minimum": 60, "maximum": 10 * 366 * 86_400}
ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{12}$"}


@operation("GET /people", "admin", many(PersonView))
async def list_people(c: ApiRequest) -> Any:
    """The users of this server."""

    def found() -> list[PersonView]:
        users, sessions = c.app.guard.users, _open_sessions(c)
        return [_person(users, user, sessions) for user in users.all()]

    return whole(await c.app.guard.ask(found))


@operation(
    "POST /people",
    "admin",
    ref(NewKey),
    problems=(409,),
    body=thing(
        ("name", "role"),
        name=PERSON,
        role=ROLE,
        groups=GROUPS,
        grants=GRANTS,
        tenant=TENANT,
        expires_in=SECONDS,
    ),
)
async def add_person(c: ApiRequest) -> Any:
    """Add a person or a program. Its key is shown once."""
    body = c.body

    def add(users: Users) -> NewKey:
        if (there := users.get(body["name"])) is not None:
            raise Conflict(f"user {there.name!r} already exists", advice="change or remove them")
        key = users.add(
            body["name"],
            body["role"],
            body.get("groups", ()),
            grants=body.get("grants", ()),
            tenant=body.get("tenant", ""),
            expires_in=body.get("expires_in"),
        )
        return _new_key(users, body["name"], key)

    return await _change(c, add)


@operation(
    "POST /people/change",
    "admin",
    ref(PersonView),
    problems=(404, 409),
    body=thing(("name",), name=NAME, role=ROLE, groups=GROUPS, grants=GRANTS, tenant=TENANT),
)
async def change_person(c: ApiRequest) -> Any:
    """Change a role, groups, grants or the tenant; it counts from the next request on."""
    name = c.body["name"]

    def change(users: Users) -> PersonView:
        for part, put in (
            ("role", users.set_role),
            ("groups", users.set_groups),
            ("grants", users.set_grants),
            ("tenant", users.set_tenant),
        ):
            if part in c.body:
                put(name, c.body[part])
        user = users.get(name)
        if user is None:
            raise NotFound(f"user {name!r:.80} not found")
        return _person(users, user, _open_sessions(c))

    return await _change(c, change)


@operation(
    "POST /people/remove", "admin", ref(Ok), problems=(404, 409), body=thing(("name",), name=NAME)
)
async def remove_person(c: ApiRequest) -> Any:
    """Remove a user, with all keys and sessions."""
    await _change(c, lambda users: users.remove(c.body["name"]))
    return DONE


@operation(
    "POST /people/keys",
    "admin",
    ref(NewKey),
    problems=(404,),
    body=thing(("name",), name=NAME, expires_in=SECONDS),
)
async def add_key(c: ApiRequest) -> Any:
    """Another key for a user. It is shown once."""

    def add(users: Users) -> NewKey:
        key = users.new_key(c.body["name"], expires_in=c.body.get("expires_in"))
        return _new_key(users, c.body["name"], key)

    return await _change(c, add)


@operation("POST /keys/revoke", "admin", ref(Ok), problems=(404,), body=thing(("id",), id=ID))
async def revoke_key(c: ApiRequest) -> Any:
    """End a key, and the sessions that it opened."""
    await _change(c, lambda users: users.revoke(c.body["id"]))
    return DONE


@operation("GET /sessions", "read", many(SessionView), query={"all": FLAG}, reaches="own")
async def list_sessions(c: ApiRequest) -> Any:
    """Your open sessions; with `all`, for admins, those of all users."""
    found = await c.app.guard.ask(lambda: _sessions(c, c.query.get("all", False)))
    this = _this(c)
    return whole([_session(one, one.id == this) for one in found])


@operation(
    "POST /sessions/end",
    "read",
    ref(EndedSessions),
    problems=(404,),
    body=thing(("id",), id=ID),
    reaches="own",
)
async def end_session(c: ApiRequest) -> Any:
    """End one of your sessions; for admins, of any user."""
    wanted = c.body["id"]

    def end(users: Users) -> int:
        if all(session.id != wanted for session in _sessions(c, c.who.may_everywhere("admin"))):
            raise NotFound(f"session {wanted!r} not found", advice="it may have ended meanwhile")
        return users.end([wanted])

    return EndedSessions(count=await _change(c, end))


@operation(
    "POST /sessions/end-others", "read", ref(EndedSessions), body=thing(all=FLAG), reaches="own"
)
async def end_other_sessions(c: ApiRequest) -> Any:
    """End your sessions but this one; with `all`, for admins, those of all users."""

    def end(users: Users) -> int:
        found = _sessions(c, c.body.get("all", False))
        return users.end(session.id for session in found if session.id != _this(c))

    return EndedSessions(count=await _change(c, end))


async def _change(c: ApiRequest, work: Callable[[Users], T]) -> T:
    """Change users; the security log says who changed them, and from where."""
    users = c.app.guard.users

    def change() -> T:
        with users.acting(c.who.name, c.app.origin_of(c.request)):
            return work(users)

    return await c.app.guard.ask(change)


def _open_sessions(c: ApiRequest) -> list[Session]:
    guard = c.app.guard
    return guard.users.sessions(idle=guard.session_idle)


def _sessions(c: ApiRequest, everybody: bool) -> list[Session]:
    found = _open_sessions(c)
    if everybody and c.who.may_everywhere("admin"):
        return found
    return [session for session in found if session.user == c.who.name and not c.who.local]


def _this(c: ApiRequest) -> str:
    guard = c.app.guard
    return guard.users.session_id(c.request.cookies.get(guard.cookie, ""))


def _session(one: Session, is_this: bool) -> SessionView:
    known = {"name": one.user, "expires_at": one.ends_at, "key_id": one.key}
    return filled(SessionView, one, **known, is_this=is_this)


def _person(users: Users, user: User, sessions: list[Session]) -> PersonView:
    own = [session for session in sessions if session.user == user.name]
    return filled(
        PersonView,
        user,
        grants=tuple(map(str, user.grants)),
        keys=tuple(filled(KeyView, key) for key in users.keys(user.name)),
        sessions=len(own),
        seen_at=max((session.seen_at for session in own), default=None),
    )


def _new_key(users: Users, name: str, key: str) -> NewKey:
    [made] = [known for known in users.keys(name) if known.id == key_id(key)]
    return NewKey(name=made.user, id=made.id, key=key, expires_at=made.expires_at)
