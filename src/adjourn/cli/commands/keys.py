"""`adjourn keys`: the keys with which decisions are signed, and whether a database takes others."""

import getpass
import socket
from pathlib import Path
from typing import Annotated

import typer

from adjourn.cli.error_report import says
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, Json, option, who
from adjourn.cli.terminal.console import give, remark
from adjourn.driver.decider_keys import SigningKey
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import Invalid
from adjourn.views.visible import visible

app = typer.Typer(name="keys", help="Manage the keys that sign decisions.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="File for the private key.")]
Name = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of its owner.",
        show_default="this machine's, or your user name here",
    ),
]
Person = Annotated[
    bool, typer.Option("--person", help="One person's own key: it signs only their decisions.")
]
Group = Annotated[
    list[str] | None, option("NAME", "A group of that person; may be repeated.", "--group")
]


@app.command()
@says("No key made")
def new(
    file: File, name: Name = "", person: Person = False, group: Group = None, as_json: Json = False
) -> None:
    """Create a key that signs decisions, and print its line for the workers' deciders file.

    FILE belongs where people decide: `adjourn serve --signing-key FILE` signs what its users
    decide, `adjourn approve --signing-key FILE` what a person decides here. Keep it where no tool
    can read it. The line is public.
    """
    check_outside("make keys")
    key = SigningKey.new()
    line = _line(key, name, person, group)
    key.save(file, line)
    _print(key, file, line, as_json)
    if not as_json:
        remark(
            f"The private key is in {visible(str(file))}; only you can read it. Anyone who has "
            "it can decide."
        )
        remark(
            "Workers trust it once this line is in their file: adjourn worker "
            "app.py:agent --deciders FILE"
        )


@app.command()
@says("Not shown")
def show(
    file: File, name: Name = "", person: Person = False, group: Group = None, as_json: Json = False
) -> None:
    """Print the line for the deciders file again; with options, another one for the same key."""
    key = SigningKey.load(file)
    if name or person or group:
        line = _line(key, name, person, group)
    else:
        line = key.saved_line(file)
    if not line:
        raise Invalid(
            "the file does not name the key's owner: use --name NAME, and --person if it "
            "belongs to one person"
        )
    _print(key, file, line, as_json)


@app.command()
@says("Not changed")
def require(
    off: Annotated[
        bool, typer.Option("--off", help="Accept decisions without a signature again.")
    ] = False,
    db: Db = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Accept only signed decisions in a database; a worker with deciders does the same when it
    starts.

    With --off it accepts unsigned ones again, for a database whose workers have no deciders any
    more.
    """
    check_outside("change who may decide")
    required = with_runtime(db, lambda rt: rt.store.signed(not off, by=who(by), origin=rt.origin))
    told = "Decisions must be signed." if required else "Decisions need no signature."
    give(as_json, {"required": required}, told)


def _line(key: SigningKey, name: str, person: bool, group: list[str] | None) -> str:
    if group and not person:
        raise Invalid("--group needs --person: an authority signs with the groups of its users")
    return key.line(
        name or (getpass.getuser() if person else socket.gethostname()),
        person=person,
        groups=group or (),
    )


def _print(key: SigningKey, file: Path, line: str, as_json: bool) -> None:
    give(as_json, {"file": str(file), "kid": key.kid, "line": line}, visible(line))
