"""`adjourn serve`: the HTTP API and the console on a database, until Ctrl-C."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjourn.agent.agent import Agent
from adjourn.cli import event_loop
from adjourn.cli.completion import complete_programs
from adjourn.cli.console_address import ConsoleNote
from adjourn.cli.engine_options import (
    EngineAddress,
    EngineAdmin,
    EngineBuild,
    EngineChoice,
    EngineKind,
    EngineListen,
    EngineOptions,
    EngineQueue,
    EngineUrl,
)
from adjourn.cli.error_report import says
from adjourn.cli.extras import needs
from adjourn.cli.oidc_options import Claims, ClientId, ClientSecret, Issuer, OidcOptions, OidcRoles
from adjourn.cli.opened_database import address_of, check_exists
from adjourn.cli.options import (
    AuditKeyFile,
    Db,
    Json,
    LogFormat,
    LogLevel,
    Resources,
    SigningKeyFile,
    option,
    sealing_key,
)
from adjourn.cli.program_loader import programs_of, resources_of
from adjourn.cli.terminal.console import out, print_line, remark
from adjourn.cli.terminal.log_lines import log_as
from adjourn.errors import Invalid
from adjourn.flow.flow import Flow
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import file_of, without_password
from adjourn.views.visible import visible

if TYPE_CHECKING:
    from adjourn.server.running_server import RunningServer

app = typer.Typer()

Programs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[APP.PY:NAME]...",
        help="Agents and flows whose runs this process also advances.",
        show_default=False,
        autocompletion=complete_programs,
    ),
]
Host = Annotated[
    str, typer.Option(help="Address to listen on; any other than loopback needs users.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 chooses a free port.")]
Origins = Annotated[
    list[str] | None,
    option("URL", "Public address, if it is not HOST:PORT; may be repeated.", "--origin"),
]
UsersFile = Annotated[
    str, option("FILE", "File of users; without it, the one beside the database.")
]
LinkName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of the person who uses the printed link.",
        show_default="your user name here",
    ),
]
Token = Annotated[
    bool,
    typer.Option(
        "--token", help="Print a link with all rights, even if there are users or an origin."
    ),
]
Certificate = Annotated[str, option("FILE", "For HTTPS: the certificate.")]
CertificateKey = Annotated[str, option("FILE", "For HTTPS: its key.")]
Allowed = Annotated[
    list[str] | None,
    option("NETWORK", "Private network that webhooks may reach."),
]
Proxies = Annotated[
    list[str] | None,
    option(
        "NETWORK", "A proxy whose X-Forwarded-For is trusted; may be repeated.", "--trusted-proxy"
    ),
]
Rate = Annotated[
    float, typer.Option(min=1, help="Maximum number of requests per second from each address.")
]
Minutes = Annotated[
    float,
    typer.Option(
        metavar="MINUTES", min=1, help="Time without use after which a browser's session ends."
    ),
]
Hours = Annotated[
    float, typer.Option(metavar="HOURS", min=0.1, help="Time after which it ends in any case.")
]
Most = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=10,
        help="Maximum number of connections, as far as the limit of open files allows.",
    ),
]
Each = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Maximum number of connections from one address.",
        show_default="a quarter of all",
    ),
]
HeadSeconds = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0.1, help="Seconds for the head of a request to arrive."),
]
Work = Annotated[
    bool, typer.Option("--work/--no-work", help="Advance the runs here, or only start them.")
]


Details = Annotated[
    bool,
    typer.Option(
        "--details/--no-details",
        help="Include the call's arguments in chat and mail messages, or leave them out.",
    ),
]

PeopleTimes = Annotated[
    bool,
    typer.Option(
        "--people-times/--no-people-times",
        help=(
            "Show how long each person takes to answer: to admins, and to each person their "
            "own times."
        ),
    ),
]


@app.command()
@says("Not served")
def serve(
    programs: Programs = None,
    db: Db = None,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    origin: Origins = None,
    users: UsersFile = "",
    name: LinkName = "",
    token: Token = False,
    certfile: Certificate = "",
    keyfile: CertificateKey = "",
    allow: Allowed = None,
    details: Details = True,
    people_times: PeopleTimes = False,
    trusted_proxy: Proxies = None,
    rate: Rate = 200.0,
    session_idle: Minutes = 60.0,
    session_life: Hours = 12.0,
    max_connections: Most = 4000,
    max_connections_each: Each = 0,
    head_timeout: HeadSeconds = 10.0,
    work: Work = True,
    resources: Resources = "",
    audit_key: AuditKeyFile = "",
    signing_key: SigningKeyFile = "",
    oidc_issuer: Issuer = "",
    oidc_client_id: ClientId = "",
    oidc_secret_file: ClientSecret = "",
    oidc_role: OidcRoles = None,
    oidc_claims: Claims = "email,groups",
    engine: EngineKind = "",
    engine_address: EngineAddress = "",
    engine_queue: EngineQueue = "",
    engine_build: EngineBuild = "",
    engine_admin: EngineAdmin = "",
    engine_listen: EngineListen = "",
    engine_url: EngineUrl = "",
    log_format: LogFormat = "text",
    log_level: LogLevel = "",
    as_json: Json = False,
) -> None:
    """Serve the API and the console until Ctrl-C. The address is printed on stdout.

    With agents or flows it is a worker as well; without them, start one beside it. On a loopback
    address, without users and without an origin, the printed link has a token with every right.
    Everywhere else people log in with their keys: `adjourn user add`. With --engine it tells the
    engine which runs are due, and advances its runs when the engine asks for it.
    """
    chosen = EngineOptions(
        engine, engine_address, engine_queue, engine_build, engine_admin, engine_listen, engine_url
    ).choice()
    loaded = [program for reference in programs or () for program in programs_of(reference)]
    address = address_of(db)
    files = _checked_files(address, certfile, keyfile, users)
    log_as(log_format, log_level)
    options: dict[str, Any] = {
        **files,
        "origins": origin or (),
        "name": name,
        "token": token or None,
        "resources": resources_of(resources),
        "allow": allow or (),
        "details": details,
        "people_times": people_times,
        "proxies": trusted_proxy or (),
        **_sessions(session_idle, session_life),
        **_limits(rate, max_connections, max_connections_each, head_timeout),
        "work": work,
        "audit_key": sealing_key(audit_key),
        "signing_key": signing_key or None,
        "engine": chosen,
        "oidc": OidcOptions(
            oidc_issuer, oidc_client_id, oidc_secret_file, oidc_role, oidc_claims
        ).settings(),
    }
    _serve(address, loaded, as_json, {"host": host, "port": port, **options})
    remark("Server stopped. All runs are saved.")


def _serve(
    address: str, loaded: list[Agent[Any] | Flow], as_json: bool, options: dict[str, Any]
) -> None:
    """Serve until Ctrl-C; the address of the console is known on this machine as long."""
    if options["signing_key"] and loaded and options["work"]:
        _warn_of_tools()
    with needs("server"):
        from adjourn.server.running_server import serve as serve_until_signal
    chosen: EngineChoice = options["engine"]
    if chosen.ends_wakes:
        event_loop.run(_end_wakes(address, chosen))
    options["engine"] = chosen.engine
    note = ConsoleNote(address)

    def ready(up: "RunningServer") -> None:
        note.write(up.url)
        _tell(up, [program.name for program in loaded], address, as_json)

    try:
        event_loop.run(serve_until_signal(address, loaded, ready=ready, **options))
    except OSError as e:  # an address that is nobody's, a certificate that is none
        raise Invalid(
            f"{options['host']}:{options['port']} cannot be served: {e.strerror or e}",
            advice="check --host and --certfile",
        ) from e
    finally:
        note.forget()


async def _end_wakes(address: str, chosen: EngineChoice) -> None:
    """From now on no engine is told of runs."""
    async with Runtime(address) as bare, chosen.host(bare):
        pass


def _warn_of_tools() -> None:
    """A key that decides stands where tools run."""
    danger = "a tool that reads its memory or its key can decide"
    remark(f"! This process signs decisions and runs tools: {danger}.")
    remark("  Start separate workers, and add --no-work here.")


def _limits(rate: float, most: int, each: int, head_seconds: float) -> dict[str, Any]:
    shares = {"connections": most, "connections_each": each}
    return {**shares, "rate": rate, "head_seconds": head_seconds}


def _sessions(idle: float, life: float) -> dict[str, Any]:
    """From minutes and hours, as a person writes them."""
    return {"session_idle": idle * 60, "session_life": life * 3600}


def _checked_files(address: str, certfile: str, keyfile: str, users: str) -> dict[str, Any]:
    """The options that name files, which are there."""
    with needs("server"):
        from adjourn.server.users import Users
    if (path := file_of(address)) and Path(path).exists():
        check_exists(address)
    for file in (certfile, keyfile, users):
        if file and not Path(file).is_file():
            raise Invalid(f"file {file!r} not found")
    if bool(certfile) != bool(keyfile):
        raise Invalid("HTTPS takes both --certfile and --keyfile")
    people = Users(users) if users else None
    return {"certfile": certfile, "keyfile": keyfile, "users": people}


def _tell(up: "RunningServer", names: list[str], address: str, as_json: bool) -> None:
    if as_json:
        print_line({"url": up.url, "link": up.link, "pid": os.getpid(), "programs": names})
    else:
        terminal = out()
        terminal.print(visible(up.link))
        terminal.flush()
    if names:
        does = f"advances {', '.join(map(visible, names))}"
    else:
        does = "advances no runs: start a worker too"
    remark(f"Serving {visible(without_password(address))}; this process {does}. Ctrl-C stops it.")
    if up.token:
        remark(
            "Anyone with this link has all rights here; the link and its sessions end with this process."
        )
    else:
        remark("People log in with their keys; `adjourn user add NAME` makes one.")
