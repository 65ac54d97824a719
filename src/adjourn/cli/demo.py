"""`adjourn demo`: a tour in the terminal."""

import shutil
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from adjourn.cli.asking import Later
from adjourn.cli.demo_teller import Teller
from adjourn.cli.demo_tour import RETURN, Tour, TourFailed
from adjourn.cli.options import Json
from adjourn.cli.terminal import err, is_attended, out, print_json, say
from adjourn.cli.visible import visible
from adjourn.cli.words import DIM

app = typer.Typer()


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Put the files here and keep them.", show_default=False)
    ] = None,
    leave: Annotated[bool, typer.Option("--exit", help="Ask nobody: the tour answers itself and exits.")] = False,
    as_json: Json = False,
) -> None:
    """A tour in the terminal, with real processes and a real kill -9. No key, no network.

    Without a terminal it answers itself, checks everything it tells, and exits 0 only if all of it is so.
    """
    asks = is_attended() and not leave and not as_json
    if folder is not None and (folder / "demo.db").exists():
        say(f"✗ No tour: {visible(str(folder))} has a demo.db already.", "  Name another folder with --dir.")
        raise typer.Exit(2)
    tour, began = Tour(_place(folder)), time.monotonic()
    try:
        Teller(tour, err() if as_json else out(), asks).tell(began)
    except TourFailed as e:
        say(Text(f"✗ The tour stopped: {visible(str(e))}", style="red"))
        say(Text(f"  Its files are in {visible(str(tour.folder))}", style=DIM))
        raise typer.Exit(1) from None
    except Later:
        say(f"Left as it is. It waits: adjourn inbox --db {visible(tour.database)}")
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
    db = visible(tour.database)
    say(Text(f"Look around  adjourn runs --db {db}", style=DIM))
    say(Text(f"             adjourn show {RETURN} --db {db}", style=DIM))
