"""The operations about people: who may do what, with which keys, and in which sessions."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from adjourn.errors import Conflict, NotFound
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, Operation
from adjourn.server.schemas import FLAG, NAME, Schema, many, ref, thing
from adjourn.server.users import ROLES, Key, Session, User, Users, key_id
from adjourn.views.api_answers import DONE, Ok
from adjourn.views.person_view import EndedSessions, KeyView, NewKey, PersonView, SessionView
from adjourn.views.words import Role

ROLE: Schema = {"type": "string", "enum": list(ROLES)}
GROUPS: Schema = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": r"^[^\u0000\r\n]+$"},
    "uniqueItems": True,
    "maxItems": 100,
}
PERSON: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": r"^[^@\s\u0000].*$",
}
SECONDS: Schema = {"type": "number", "minimum": 60, "maximum": 10 * 366 * 86_400}
ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{12}$"}


async def list_people(c: ApiRequest) -> Any:
    """All users, by name."""
    users = c.desk.guard.users
    return whole([_person(c, user) for user in users.all()])


async def add_person(c: ApiRequest) -> Any:
    """Make a user with a first key."""
    body = c.body
    with _changing(c) as users:
        if (there := users.get(body["name"])) is not None:
            raise Conflict(f"user {there.name!r} already exists", advice="change or remove them")
        key = users.add(
            body["name"], body["role"], body.get("groups", ()), expires_in=body.get("expires_in")
        )
        return _new_key(users, body["name"], key)


async def change_person(c: ApiRequest) -> Any:
    """Another role, other groups; both count from the next request on."""
    name = c.body["name"]
    with _changing(c) as users:
        if "role" in c.body:
            users.set_role(name, c.body["role"])
        if "groups" in c.body:
            users.set_groups(name, c.body["groups"])
        user = users.get(name)
    if user is None:
        raise NotFound(f"user {name!r:.80} not found")
    return _person(c, user)


async def remove_person(c: ApiRequest) -> Any:
    """Remove a user; all keys and sessions end."""
    with _changing(c) as users:
        users.remove(c.body["name"])
    return DONE


async def add_key(c: ApiRequest) -> Any:
    """Another key; the others stay."""
    with _changing(c) as users:
        key = users.new_key(c.body["name"], expires_in=c.body.get("expires_in"))
        return _new_key(users, c.body["name"], key)


async def revoke_key(c: ApiRequest) -> Any:
    """End a key, and the sessions that it opened."""
    with _changing(c) as users:
        users.revoke(c.body["id"])
    return DONE


async def list_sessions(c: ApiRequest) -> Any:
    """One's own sessions; for admins those of all users, if they want."""
    return whole([_session(c, session) for session in _sessions(c, c.query.get("all", False))])


async def end_session(c: ApiRequest) -> Any:
    """End a session, one's own or, for admins, of any user."""
    wanted = c.body["id"]
    if all(session.id != wanted for session in _sessions(c, c.who.may("admin"))):
        raise NotFound(f"session {wanted!r} not found", advice="it may have ended meanwhile")
    with _changing(c) as users:
        return EndedSessions(count=users.end([wanted]))


async def end_other_sessions(c: ApiRequest) -> Any:
    """End one's own sessions but the one that asks; for admins those of all users, if they want."""
    found = _sessions(c, c.body.get("all", False))
    with _changing(c) as users:
        return EndedSessions(count=users.end(s.id for s in found if s.id != _this(c)))


@contextmanager
def _changing(c: ApiRequest) -> Generator[Users]:
    """The users; the security log says who changed them, and from where."""
    users = c.desk.guard.users
    with users.acting(c.who.name, c.desk.origin_of(c.request)):
        yield users


def _sessions(c: ApiRequest, everybody: bool) -> list[Session]:
    guard = c.desk.guard
    found = guard.users.sessions(idle=guard.session_idle)
    if everybody and c.who.may("admin"):
        return found
    return [session for session in found if session.user == c.who.name and not c.who.local]


def _this(c: ApiRequest) -> str:
    guard = c.desk.guard
    return guard.users.session_id(c.request.cookies.get(guard.cookie, ""))


def _session(c: ApiRequest, session: Session) -> SessionView:
    return SessionView(
        id=session.id,
        name=session.user,
        seen_at=session.seen_at,
        ends_at=session.ends_at,
        key=session.key,
        is_this=session.id == _this(c),
    )


def _person(c: ApiRequest, user: User) -> PersonView:
    guard = c.desk.guard
    sessions = [s for s in guard.users.sessions(idle=guard.session_idle) if s.user == user.name]
    return PersonView(
        name=user.name,
        role=cast("Role", user.role),
        groups=user.groups,
        created_at=user.created_at,
        keys=tuple(_key(key) for key in guard.users.keys(user.name)),
        sessions=len(sessions),
        seen_at=max((session.seen_at for session in sessions), default=None),
    )


def _key(key: Key) -> KeyView:
    return KeyView(id=key.id, hint=key.hint, created_at=key.created_at, expires_at=key.expires_at)


def _new_key(users: Users, name: str, key: str) -> NewKey:
    [made] = [known for known in users.keys(name) if known.id == key_id(key)]
    return NewKey(name=made.user, id=made.id, key=key, expires_at=made.expires_at)


OPERATIONS = [
    Operation("GET /people", "admin", "Who may use it.", list_people, many(PersonView)),
    Operation(
        "POST /people",
        "admin",
        "Add a person or a program. Its key is shown once.",
        add_person,
        ref(NewKey),
        problems=(409,),
        body=thing(("name", "role"), name=PERSON, role=ROLE, groups=GROUPS, expires_in=SECONDS),
    ),
    Operation(
        "POST /people/change",
        "admin",
        "Change a role or groups; it counts from the next request on.",
        change_person,
        ref(PersonView),
        problems=(404, 409),
        body=thing(("name",), name=NAME, role=ROLE, groups=GROUPS),
    ),
    Operation(
        "POST /people/remove",
        "admin",
        "Remove a user, with all keys and sessions.",
        remove_person,
        ref(Ok),
        problems=(404, 409),
        body=thing(("name",), name=NAME),
    ),
    Operation(
        "POST /people/keys",
        "admin",
        "Another key for a user. It is shown once.",
        add_key,
        ref(NewKey),
        problems=(404,),
        body=thing(("name",), name=NAME, expires_in=SECONDS),
    ),
    Operation(
        "POST /keys/revoke",
        "admin",
        "End a key, and the sessions that it opened.",
        revoke_key,
        ref(Ok),
        problems=(404,),
        body=thing(("id",), id=ID),
    ),
    Operation(
        "GET /sessions",
        "read",
        "Your open sessions; with `all`, for admins, those of all users.",
        list_sessions,
        many(SessionView),
        query={"all": FLAG},
    ),
    Operation(
        "POST /sessions/end",
        "read",
        "End one of your sessions; for admins, of any user.",
        end_session,
        ref(EndedSessions),
        problems=(404,),
        body=thing(("id",), id=ID),
    ),
    Operation(
        "POST /sessions/end-others",
        "read",
        "End your sessions but this one; with `all`, for admins, those of all users.",
        end_other_sessions,
        ref(EndedSessions),
        body=thing(all=FLAG),
    ),
]
"""Its part of the table of operations."""
