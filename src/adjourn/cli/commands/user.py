"""`adjourn user`: who may use the API and the console of a database, in what role, with which
keys."""

import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.extras import needs
from adjourn.cli.opened_database import address_of, check_exists, with_runtime
from adjourn.cli.options import Db, Json, option, who
from adjourn.cli.terminal.console import fit, give, out, remark
from adjourn.cli.terminal.format import DIM, count
from adjourn.cli.times import seconds_until
from adjourn.errors import AdjournError, Invalid, NotFound
from adjourn.stores.address import file_of, is_postgres
from adjourn.views.visible import visible

if TYPE_CHECKING:
    from adjourn.server.users import User, Users

app = typer.Typer(
    name="user", help="Manage the users of the API and the console.", no_args_is_help=True
)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name under which this person's decisions are recorded."),
]
File = Annotated[
    str, option("FILE", "File of users; without it, the one beside the database.", "--users")
]
Expires = Annotated[
    str,
    typer.Option(
        "--expires",
        metavar="WHEN",
        help="When the key expires: 12h, 30d, a date.",
        show_default="never",
    ),
]


@contextmanager
def _users(db: str | None, file: str, *, new: bool = False) -> Generator["Users"]:
    """The users of a database that exists, or of a file; with `new`, of one that may be made later.

    What is changed is written into the security log of the database, if there is one.
    """
    with needs("server"):
        from adjourn.server.users import Users
    users, changes = Users(_path(db, file, new)), list[dict[str, Any]]()
    users.told = changes.append
    try:
        yield users
    finally:
        users.close()
        if changes:
            _log(db, changes)


def _log(db: str | None, changes: list[dict[str, Any]]) -> None:
    """The change has been made, so it is said and not undone if it cannot be written down."""
    address = address_of(db)
    path = file_of(address)
    if not is_postgres(address) and (path is None or not Path(path).is_file()):
        return
    try:
        with_runtime(
            db,
            lambda rt: rt.store.note(
                [{**line, "by": who(None), "from": rt.origin} for line in changes]
            ),
        )
    except AdjournError as e:
        remark(f"! It is not in the security log: {visible(str(e))}")


def _path(db: str | None, file: str, new: bool) -> str:
    from adjourn.server.users import users_path

    if file:
        if not new and not Path(file).is_file():
            raise Invalid(
                f"file {file!r} not found",
                advice=f"`adjourn user add NAME --users {file}` makes it",
            )
        return file
    address = address_of(db)
    if not new:
        check_exists(address)
    path = users_path(address)
    if not path:
        raise Invalid(
            f"{address!r} cannot store users",
            advice="give a file with --users",
        )
    return path


def _shown(user: "User") -> dict[str, object]:
    return {
        "name": user.name,
        "role": user.role,
        "groups": list(user.groups),
        "grants": list(map(str, user.grants)),
        "tenant": user.tenant,
        "created_at": user.created_at,
    }


def _seconds(expires: str) -> float | None:
    if expires:
        return seconds_until(expires, time.time())
    return None


# People


@app.command()
@says("Not added")
def add(
    name: Name,
    role: Annotated[
        str, typer.Option(help="none, viewer, operator, approver or admin; on all runs.")
    ] = "viewer",
    group: Annotated[
        list[str] | None, option("NAME", "A group of the user; may be repeated.")
    ] = None,
    grant: Annotated[
        list[str] | None,
        option("GRANT", "A role on some runs: 'approver of agent:refunds where team=eu'."),
    ] = None,
    tenant: Annotated[str, option("NAME", "Show the user only runs of this tenant.")] = "",
    expires: Expires = "",
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """Add a user and print their key, once. Only its hash is kept.

    A viewer reads; an operator pauses, resumes, cancels, starts and halts; an approver decides; an
    admin may do everything.
    """
    with _users(db, file, new=True) as users:
        key = users.add(
            name,
            role,
            group or (),
            grants=grant or (),
            tenant=tenant,
            expires_in=_seconds(expires),
        )
        user = users.get(name)
        assert user is not None
    _print_key(user, key, as_json)


@app.command("list")
@says("No users listed")
def list_users(db: Db = None, file: File = "", as_json: Json = False) -> None:
    """List the users."""
    with _users(db, file) as users:
        found = users.all()
    if give(as_json, [_shown(user) for user in found]):
        return
    terminal = out()
    wide = max([4, *(len(visible(user.name)) for user in found)])
    if found:
        terminal.print(Text(f"{fit('NAME', wide)}  ROLE      SINCE       GROUPS", style=DIM))
    for user in found:
        groups = ", ".join(map(visible, user.groups))
        terminal.print(
            f"{fit(visible(user.name), wide)}  {user.role:<8}  {_day(user.created_at)}  {groups}".rstrip()
        )
    remark(f"{count(len(found), 'user')}.")


@app.command()
@says("Not changed")
def role(
    name: Name,
    role: Annotated[
        str, typer.Argument(metavar="ROLE", help="none, viewer, operator, approver or admin.")
    ],
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """Give a user another role; it applies from their next request."""
    with _users(db, file) as users:
        user = users.set_role(name, role)
    _print_user(user, as_json)


@app.command()
@says("Not changed")
def groups(
    name: Name,
    group: Annotated[
        list[str] | None,
        typer.Argument(metavar="[GROUP]...", help="All groups of the user.", show_default=False),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove the user from every group.")] = False,
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """Set a user's groups; without a group, print them."""
    if group and none:
        raise Invalid("give groups or --none, not both")
    with _users(db, file) as users:
        if group or none:
            user = users.set_groups(name, group or ())
        else:
            user = users.get(name)
    if user is None:
        raise NotFound(f"user {name!r:.80} not found")
    _print_user(user, as_json)


@app.command()
@says("Not changed")
def grants(
    name: Name,
    grant: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GRANT]...",
            help="All grants: 'approver of agent:refunds where team=eu'.",
            show_default=False,
        ),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove all grants.")] = False,
    tenant: Annotated[
        str | None,
        option("NAME", "Show the user only runs of this tenant; '' for all.", "--tenant"),
    ] = None,
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """Set what a user may do with some runs, beyond the role; without a grant, print it."""
    if grant and none:
        raise Invalid("give grants or --none, not both")
    with _users(db, file) as users:
        if grant or none:
            users.set_grants(name, grant or ())
        if tenant is not None:
            users.set_tenant(name, tenant)
        user = users.get(name)
    if user is None:
        raise NotFound(f"user {name!r:.80} not found")
    _print_user(user, as_json)


def _print_user(user: "User", as_json: bool) -> None:
    if give(as_json, _shown(user)):
        return
    named = ", ".join(map(visible, user.groups)) or "no group"
    out().print(f"{visible(user.name)}  {user.role}  {named}")
    if user.tenant:
        out().print(f"  tenant {visible(user.tenant)}")
    for grant in user.grants:
        out().print(f"  {visible(str(grant))}")


@app.command("copy")
@says("Not copied")
def copy_users(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="File of users, as `--users` names one.")
    ],
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """Copy all users of a file, with their keys and sessions, to a database that has none."""
    with needs("server"):
        from adjourn.server.users import Users
    if not Path(source).is_file():
        raise Invalid(f"file {source!r} not found")
    with closing(Users(source)) as old, _users(db, file, new=True) as users:
        copied = old.copy_to(users, file or address_of(db))
    if not give(as_json, {"users": copied}):
        remark(f"{count(copied, 'user')} copied, with all keys and sessions.")


@app.command()
@says("Not removed")
def remove(name: Name, db: Db = None, file: File = "", as_json: Json = False) -> None:
    """Remove a user; their keys and sessions end with the next request."""
    with _users(db, file) as users:
        users.remove(name)
    if not give(as_json, {"removed": name}):
        remark(f"{visible(name)} is removed, with all keys and sessions.")


# Their keys and sessions


@app.command()
@says("No key made")
def key(
    name: Name, expires: Expires = "", db: Db = None, file: File = "", as_json: Json = False
) -> None:
    """Print another key for a user, once. The others stay valid; `revoke` ends one of them."""
    with _users(db, file) as users:
        new = users.new_key(name, expires_in=_seconds(expires))
        user = users.get(name)
        assert user is not None
    _print_key(user, new, as_json)


@app.command("session-key")
@says("No key made")
def session_key(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Session of the end user.")],
    role: Annotated[
        str, typer.Option(help="viewer: reads its runs; operator: also starts and controls them.")
    ] = "viewer",
    expires: Expires = "",
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """Print a key for an end user, once. It is for the runs of one session, and never decides."""
    with _users(db, file) as users:
        key = users.session_key(session, role, expires_in=_seconds(expires))
    if give(as_json, {"session": session, "role": role, "key": key}):
        return
    out().print(key)
    remark(f"A key for the runs of session {visible(session)}. It is shown only now: save it.")


def _print_key(user: "User", key: str, as_json: bool) -> None:
    if give(as_json, {**_shown(user), "key": key}):
        return
    out().print(key)
    remark(
        f"The key of {visible(user.name)}, {user.role}. It is shown only now: save it. Use it "
        "to log in to the console, or in `Authorization: Bearer KEY`."
    )


@app.command()
@says("No keys listed")
def keys(name: Name, db: Db = None, file: File = "", as_json: Json = False) -> None:
    """List a user's keys: id, last characters, and expiry. The keys themselves are not kept."""
    with _users(db, file) as users:
        found = users.keys(name)
    shown = map(asdict, found)
    if give(as_json, [{"person": key.pop("user"), **key} for key in shown]):
        return
    if found:
        out().print(Text("ID            KEY         SINCE       EXPIRES", style=DIM))
    for key in found:
        until = "never" if key.expires_at is None else _until(key.expires_at)
        out().print(f"{key.id}  adj_…{visible(key.hint)}   {_day(key.created_at)}  {until}")
    remark(f"{count(len(found), 'key')}. `adjourn user revoke ID` ends one.")


@app.command()
@says("Not revoked")
def revoke(
    key: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A key's id from `adjourn user keys`, or the key itself."
        ),
    ],
    db: Db = None,
    file: File = "",
    as_json: Json = False,
) -> None:
    """End one key, and the sessions of browsers that logged in with it."""
    with _users(db, file) as users:
        ended = users.revoke(key)
    if not give(as_json, {"revoked": ended.id, "person": ended.user}):
        remark(f"The key {ended.id} of {visible(ended.user)} is revoked, with its sessions.")


@app.command()
@says("Not logged out")
def logout(name: Name, db: Db = None, file: File = "", as_json: Json = False) -> None:
    """End every session of a user; they can log in again with their keys."""
    with _users(db, file) as users:
        ended = users.logout(name)
    if not give(as_json, {"person": name, "sessions": ended}):
        remark(f"{count(ended, 'session')} of {visible(name)} ended.")


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _until(at: float) -> str:
    over = "" if at > time.time() else "  expired"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) + over
