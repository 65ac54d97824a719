"""`adjourn serve`: the HTTP API and the console on a database, until Ctrl-C."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from adjourn.agent.agent import Agent
from adjourn.cli.completing import complete_programs
from adjourn.cli.database import address_of, check_exists, file_of
from adjourn.cli.extras import needs
from adjourn.cli.failure import says
from adjourn.cli.logs import log_to
from adjourn.cli.options import AuditKeyFile, Db, Json, Resources, sealing_key
from adjourn.cli.programs import NotImportable, programs_of, resources_of
from adjourn.cli.terminal import out, print_line, say
from adjourn.cli.visible import lines, visible
from adjourn.cli.words import DIM
from adjourn.errors import Invalid
from adjourn.flow.flow import Flow

if TYPE_CHECKING:
    from adjourn.server.serving import Serving

app = typer.Typer()


@app.command()
@says("Not served")
def serve(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[APP.PY:NAME]...",
            help="Agents and flows to advance here, too.",
            show_default=False,
            autocompletion=complete_programs,
        ),
    ] = None,
    db: Db = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's own needs users.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Where people find it, if that is not HOST:PORT; may be repeated.", show_default=False
        ),
    ] = None,
    users: Annotated[
        str, typer.Option(metavar="FILE", help="Its users; without it, those beside the database.", show_default=False)
    ] = "",
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Who decides with the printed link.", show_default="your user name here")
    ] = "",
    certfile: Annotated[str, typer.Option(metavar="FILE", help="For HTTPS: the certificate.", show_default=False)] = "",
    keyfile: Annotated[str, typer.Option(metavar="FILE", help="For HTTPS: its key.", show_default=False)] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="NETWORK", help="Webhooks may go there although it is not public.", show_default=False),
    ] = None,
    rate: Annotated[float, typer.Option(min=1, help="Requests a second for each client.")] = 200.0,
    work: Annotated[
        bool, typer.Option("--work/--no-work", help="Advance the programs' runs here, or only start them.")
    ] = True,
    resources: Resources = "",
    audit_key: AuditKeyFile = "",
    as_json: Json = False,
) -> None:
    """Serve the API and the console until Ctrl-C. The link with its token is printed on stdout.

    With programs it is a worker as well; without them start one beside it. On this machine's own address whoever has
    the link may do everything; on any other address people log in with their keys: `adjourn user add`.
    """
    with needs("server"):
        from adjourn.server.serving import serve as serve_until_signal
        from adjourn.server.users import Users
    loaded, given = _loaded(programs or [], resources)
    address = address_of(db)
    if (path := file_of(address)) and Path(path).exists():
        check_exists(address)
    _check_files(certfile, keyfile, users)
    log_to(say)
    options: dict[str, Any] = {
        "origins": origin or (), "users": Users(users) if users else None, "name": name, "resources": given, "allow": allow or (),
        "certfile": certfile, "keyfile": keyfile, "rate": rate, "work": work, "audit_key": sealing_key(audit_key),
    }  # fmt: skip

    def ready(up: "Serving") -> None:
        _tell(up, [program.name for program in loaded], address, as_json)

    try:
        asyncio.run(serve_until_signal(address, loaded, host=host, port=port, ready=ready, **options))
    except OSError as e:  # an address that is nobody's, a certificate that is none
        raise Invalid(f"{host}:{port} cannot be served: {e.strerror or e}; look at --host and --certfile") from e
    say(Text("Stopped. Nothing is lost.", style=DIM))


def _loaded(programs: list[str], resources: str) -> tuple[list[Agent[Any] | Flow], Mapping[str, Any]]:
    try:
        return [program for reference in programs for program in programs_of(reference)], resources_of(resources)
    except NotImportable as e:
        say(*lines(e.trace.rstrip()))
        raise


def _check_files(certfile: str, keyfile: str, users: str) -> None:
    for file in (certfile, keyfile, users):
        if file and not Path(file).is_file():
            raise Invalid(f"there is no file {file!r}")
    if bool(certfile) != bool(keyfile):
        raise Invalid("HTTPS takes both --certfile and --keyfile")


def _tell(up: "Serving", names: list[str], address: str, as_json: bool) -> None:
    if as_json:
        print_line({"url": up.url, "link": up.link, "pid": os.getpid(), "programs": names})
    else:
        terminal = out()
        terminal.print(visible(up.link))
        terminal.flush()
    does = f"advances {', '.join(map(visible, names))}" if names else "advances nothing: start a worker beside it"
    say(Text(f"Serving {visible(address)}; this process {does}. Ctrl-C stops it.", style=DIM))
    if up.token:
        say(Text("Whoever has this link may do everything here; it ends with this process.", style=DIM))
