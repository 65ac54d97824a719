"""`adjourn mcp`: agents and flows as tools of an MCP server."""

import os
import secrets
import socket
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli import event_loop
from adjourn.cli.commands.worker import Programs
from adjourn.cli.console_address import console_of
from adjourn.cli.error_report import says
from adjourn.cli.extras import needs
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import By, Db, Json, Resources, option
from adjourn.cli.person import person
from adjourn.cli.program_loader import programs_of, resources_of
from adjourn.cli.terminal.console import print_json, remark, say
from adjourn.errors import Invalid, InvalidDefinition
from adjourn.runtime.checkpoint import SECRET, key_ring
from adjourn.runtime.runtime import Runtime

app = typer.Typer()

TOKEN = "ADJOURN_MCP_TOKEN"
"""The variable with the token that clients over HTTP must have."""
Http = Annotated[
    str, option("[HOST:]PORT", "Serve over HTTP at this address, not on stdin and stdout.")
]
MayDecide = Annotated[
    bool,
    typer.Option("--decide", help="Let clients decide for you, on runs that they did not start."),
]
Work = Annotated[
    bool,
    typer.Option("--work/--no-work", help="Advance the runs here, or leave them to workers."),
]


@app.command()
@says("Not started")
def mcp(
    programs: Programs,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    http: Http = "",
    decide: MayDecide = False,
    work: Work = True,
    resources: Resources = "",
) -> None:
    """Serve agents and flows as tools of an MCP server.

    A call starts a run, and returns its output; the inbox can be read. If the run asks a question,
    the client is asked; what a person must approve is never put to it. Over HTTP clients need the
    token in ADJOURN_MCP_TOKEN. If there is none, one is made and printed.
    """
    with needs("mcp"):
        import_module("mcp")
    from adjourn.mcp.mcp_server import ServerTerms

    if as_json and not http:
        raise InvalidDefinition(
            "--json needs --http: stdin and stdout carry the protocol", advice="remove --json"
        )
    loaded = [program for reference in programs for program in programs_of(reference)]
    if decide:
        who = person(db, by, right="decide")
    else:
        who = person(db, by, right="control", what="what a run goes by")
    key_ring()  # a secret that is none is told before anything is served
    terms = ServerTerms(
        by=who.name,
        groups=who.groups,
        console=_console(db),
        decide=decide,
        secret=os.environ.get(SECRET, ""),
    )
    rt = Runtime(address_of(db), loaded, resources=resources_of(resources), work=work)
    event_loop.run(_serve(rt, loaded, terms, http, as_json))


def _console(db: str | None) -> str:
    try:
        return console_of(db)
    except Invalid:
        return ""


async def _serve(rt: Runtime, programs: list[Any], terms: Any, http: str, as_json: bool) -> None:
    from adjourn.mcp.http_app import PATH, serve_http, serve_stdio
    from adjourn.mcp.mcp_server import McpServer

    server = McpServer(rt, programs, terms).server()
    async with rt:
        if not http:
            await serve_stdio(server)
            return
        place = _listen(http)
        host, port = place.getsockname()[:2]
        url = f"http://{host}:{port}{PATH}"
        known = os.environ.get(TOKEN, "")
        token = known or secrets.token_urlsafe(32)
        if as_json:
            print_json({"url": url, "token": token})
        elif not known:
            say(Text(f"Authorization: Bearer {token}"))
        remark(f"Serving {url} until Ctrl-C.")
        await serve_http(server, place, token)


def _listen(given: str) -> socket.socket:
    from adjourn.mcp.http_app import listen

    host, _, port = given.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 <= int(port) < 65536:
        raise InvalidDefinition(f"--http must be PORT or HOST:PORT, got {given!r:.80}")
    try:
        return listen(host.strip("[]") or "127.0.0.1", int(port))
    except OSError as e:
        raise InvalidDefinition(f"--http {given} cannot be served: {e}") from e
