"""`adjourn demo`: the console with something to do in it, or a tour in the terminal."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from adjourn.cli.browser import opened
from adjourn.cli.error_report import says
from adjourn.cli.options import Json
from adjourn.cli.terminal.console import err, is_attended, out, print_json, say
from adjourn.cli.terminal.format import DIM
from adjourn.cli.terminal.hints import command
from adjourn.cli.terminal.prompt import Later
from adjourn.demo.programs import PACE
from adjourn.demo.tour import RETURN, Tour, TourFailed
from adjourn.demo.tour_report import Teller
from adjourn.views.visible import visible

app = typer.Typer()
PORT = 8765
QUICKLY = "0.1"
"""The pace of a tour that nobody watches."""


@app.command()
@says("No demo")
def demo(
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Put the files here and keep them.", show_default=False)
    ] = None,
    leave: Annotated[bool, typer.Option("--exit", help="Ask nobody: the tour answers itself and exits.")] = False,
    terminal: Annotated[bool, typer.Option("--terminal", help="A tour in the terminal, without a browser.")] = False,
    port: Annotated[int, typer.Option(help="Where to serve; another if it is taken.", min=0, max=65535)] = PORT,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    as_json: Json = False,
) -> None:
    """The console with four things to try: real processes, a real store, a scripted model. No key, no network.

    Without a terminal, or with --exit, it takes the whole tour by itself, checks everything, and exits 0 only if all is so.
    """
    attended = is_attended() and not leave and not as_json
    if folder is not None and (folder / "demo.db").exists():
        say(f"✗ No demo: {visible(str(folder))} has a demo.db already.", "  Name another folder with --dir.")
        raise typer.Exit(2)
    if terminal:
        _tour(folder, attended, as_json)
        return
    from adjourn.demo.stage import need_server

    need_server()
    place = _place(folder)
    try:
        if attended:
            asyncio.run(_show(place, port, opens))
        else:
            asyncio.run(_visit(place, as_json))
    except TourFailed as e:
        say(Text(f"✗ The tour stopped: {visible(str(e))}", style="red"))
        say(Text(f"  Its files are in {visible(str(place))}", style=DIM))
        raise typer.Exit(1) from None
    if folder is None:
        shutil.rmtree(place, ignore_errors=True)


async def _show(folder: Path, port: int, opens: bool) -> None:
    """Serve until Ctrl-C."""
    from adjourn.demo.stage import free_port, stage

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with stage(folder, free_port(port)) as on:
        await on.begin_the_night()
        out().print(Text.assemble("Adjourn is at  ", (on.serving.link, "bold")))
        say(
            Text("A server, a worker and a few runs, on a SQLite file. Nothing leaves this machine.", style=DIM),
            Text(f"The files are in {visible(str(folder))}   The worker is process {on.pids[-1]}   Ctrl-C ends it.", style=DIM),
        )  # fmt: skip
        with opened(on.serving.link, folder) if opens else nullcontext():
            await stop.wait()
        say(Text("Ended.", style=DIM))


async def _visit(folder: Path, as_json: bool) -> None:
    """Take the tour over HTTP."""
    from adjourn.demo.checks import Visitor
    from adjourn.demo.stage import stage

    os.environ.setdefault(PACE, QUICKLY)
    began, talk = time.monotonic(), err() if as_json else out()
    async with stage(folder, 0) as on:
        talk.print(
            f"Adjourn is at {on.serving.url}, with a worker in process {on.pids[-1]}. Nobody is asked: the tour answers itself."
        )
        visitor = Visitor(on, lambda line: talk.print(Text(visible(line))))
        await visitor.visit()
        seconds = round(time.monotonic() - began, 3)
        if as_json:
            print_json({"checks": visitor.checks, "seconds": seconds, "ledger": [asdict(e) for e in on.ledger]})
        else:
            talk.print(f"{visitor.checks} things were checked, in {seconds:.1f} s. All of it is so.")


def _tour(folder: Path | None, asks: bool, as_json: bool) -> None:
    """The tour in the terminal."""
    tour, began = Tour(_place(folder)), time.monotonic()
    try:
        Teller(tour, err() if as_json else out(), asks).tell(began)
    except TourFailed as e:
        say(Text(f"✗ The tour stopped: {visible(str(e))}", style="red"))
        say(Text(f"  Its files are in {visible(str(tour.folder))}", style=DIM))
        raise typer.Exit(1) from None
    except Later:
        say(f"Left as it is. It waits: {command(tour.database, 'inbox')}")
        raise typer.Exit(3) from None
    finally:
        tour.close()
    if as_json:
        seconds = round(time.monotonic() - began, 3)
        print_json({"checks": tour.checks, "seconds": seconds, "ledger": [asdict(e) for e in tour.entries()]})
    _leave(tour, keep=asks or folder is not None)


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="adjourn-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _leave(tour: Tour, *, keep: bool) -> None:
    if not keep:
        shutil.rmtree(tour.folder, ignore_errors=True)
        return
    say(Text(f"Look around  {command(tour.database, 'runs')}", style=DIM))
    say(Text(f"             {command(tour.database, 'show', RETURN)}", style=DIM))
