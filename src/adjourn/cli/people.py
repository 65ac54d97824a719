"""`adjourn user`: who may use the API and the console of a database, in what role, with which keys."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from adjourn.cli.database import address_of, check_exists
from adjourn.cli.extras import needs
from adjourn.cli.failure import says
from adjourn.cli.options import Db, Json
from adjourn.cli.terminal import fit, out, print_json, say
from adjourn.cli.visible import visible
from adjourn.cli.words import DIM, count
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from adjourn.server.users import User, Users

app = typer.Typer(
    name="user", help="Who may use the API and the console: add, list, remove, key.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="How decisions of this person are signed.")]


@contextmanager
def _users(db: str | None, *, new: bool = False) -> Generator["Users"]:
    """The users of a database that exists; with `new`, of one that may be made later."""
    with needs("server"):
        from adjourn.server.users import Users, users_path
    address = address_of(db)
    if not new:
        check_exists(address)
    path = users_path(address)
    if not path:
        raise Invalid(f"{address!r} has no file beside which users could be kept")
    users = Users(path)
    try:
        yield users
    finally:
        users.close()


def _shown(user: "User") -> dict[str, object]:
    return {"name": user.name, "role": user.role, "groups": list(user.groups), "created_at": user.created_at}


@app.command()
@says("Not added")
def add(
    name: Name,
    role: Annotated[str, typer.Option(help="viewer, operator, approver or admin.")] = "viewer",
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A group that may decide; may be repeated.", show_default=False),
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Add a user and print their key, this one time. Only its hash is kept.

    A viewer looks; an operator pauses, resumes, cancels, starts and halts; an approver decides; an admin may do all of it.
    """
    with _users(db, new=True) as users:
        key = users.add(name, role, group or ())
        user = users.get(name)
        assert user is not None
    _print_key(user, key, as_json)


@app.command()
@says("No key made")
def key(name: Name, db: Db = None, as_json: Json = False) -> None:
    """Print one more key for a user, this one time. The others stay valid; `remove` ends them all."""
    with _users(db) as users:
        new = users.new_key(name)
        user = users.get(name)
        assert user is not None
    _print_key(user, new, as_json)


def _print_key(user: "User", key: str, as_json: bool) -> None:
    if as_json:
        print_json({**_shown(user), "key": key})
        return
    out().print(key)
    say(Text(f"The key of {visible(user.name)}, {user.role}. It is not kept: store it now. "
             "It goes into the console's login, or into `Authorization: Bearer KEY`.", style=DIM))  # fmt: skip


@app.command("list")
@says("No users listed")
def list_users(db: Db = None, as_json: Json = False) -> None:
    """List the users."""
    with _users(db) as users:
        found = users.all()
    if as_json:
        print_json([_shown(u) for u in found])
        return
    terminal = out()
    wide = max([4, *(len(visible(u.name)) for u in found)])
    if found:
        terminal.print(Text(f"{fit('NAME', wide)}  ROLE      SINCE       GROUPS", style=DIM))
    for u in found:
        since = time.strftime("%Y-%m-%d", time.localtime(u.created_at))
        groups = ", ".join(map(visible, u.groups))
        terminal.print(f"{fit(visible(u.name), wide)}  {u.role:<8}  {since}  {groups}".rstrip())
    say(Text(f"{count(len(found), 'user')}.", style=DIM))


@app.command()
@says("Not removed")
def remove(name: Name, db: Db = None, as_json: Json = False) -> None:
    """Remove a user; their keys and sessions end with the next request."""
    with _users(db) as users:
        users.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(Text(f"{visible(name)} is removed, with all keys and sessions.", style=DIM))
