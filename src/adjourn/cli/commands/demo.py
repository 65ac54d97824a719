"""`adjourn demo`: the console with something to do in it, or a tour that checks every claim."""

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
from adjourn.cli.options import Json, who
from adjourn.cli.terminal.console import err, give, is_attended, out, remark, say
from adjourn.cli.terminal.format import DIM
from adjourn.cli.terminal.interrupt import look, render
from adjourn.cli.terminal.prompt import DecideLater, decide
from adjourn.core.decision import VERBS
from adjourn.demo.checks import CheckFailed, Decider, DemoChecks
from adjourn.demo.controls import HttpControls, PendingItem, RuntimeControls, TourChoice
from adjourn.demo.now_yours import yours
from adjourn.demo.programs import PACE, TOUR
from adjourn.demo.stage import Stage, free_port, need_server, stage
from adjourn.views.visible import visible

app = typer.Typer()
PORT = 8765
QUICKLY = "0.1"
"""The pace of a tour."""


@app.command()
@says("No demo")
def demo(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="Write the files to this directory and keep them.", show_default=False
        ),
    ] = None,
    leave: Annotated[
        bool, typer.Option("--exit", help="Run the whole tour without questions, then exit.")
    ] = False,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Run the tour in the terminal, without a server.")
    ] = False,
    port: Annotated[
        int, typer.Option(help="Port of the console; another if it is in use.", min=0, max=65535)
    ] = PORT,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the console in a browser.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Try the console on four runs. Real processes, a real store, a scripted model; no API key, no
    network.

    Without a terminal, or with --exit, it takes the whole tour by itself, checks every claim, and
    exits 0 only if all checks pass.
    """
    attended = is_attended() and not leave and not as_json
    if folder is not None and (folder / "demo.db").exists():
        say(
            f"✗ No demo: {visible(str(folder))} already has a demo.db.",
            "  Name another directory with --dir.",
        )
        raise typer.Exit(2)
    if not terminal:
        need_server()
    place = _place(folder)
    try:
        if attended and not terminal:
            asyncio.run(_show(place, port, opens))
        else:
            asyncio.run(_check(place, as_json, serves=not terminal, asks=attended))
    except CheckFailed as failed:
        say(
            Text(f"✗ {visible(str(failed))}", style="red"),
            Text(f"  The files are in {visible(str(place))}", style=DIM),
        )
        raise typer.Exit(1) from None
    except DecideLater:
        say("The tour ended without a decision.")
        raise typer.Exit(3) from None
    if folder is None:
        shutil.rmtree(place, ignore_errors=True)


async def _show(folder: Path, port: int, opens: bool) -> None:
    """Serve until Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with stage(folder, free_port(port)) as on:
        assert on.server is not None
        await on.start_forger()
        out().print(Text.assemble("Adjourn runs at  ", (on.server.link, "bold")))
        remark(
            "A server, a worker and a few runs, on a SQLite file. Nothing leaves this machine.",
            f"Files: {visible(str(folder))}   Worker: process {on.pids[-1]}   Ctrl-C stops it.",
        )
        with opened(on.server.link, folder) if opens else nullcontext():
            await stop.wait()
        remark("Ended.")
    say(
        "Now yours: save your agent (or the one on the demo's card) as agent.py, then, in that folder:",
        *(f"  {command}" for command, _ in yours().commands),
    )


async def _check(folder: Path, as_json: bool, *, serves: bool, asks: bool) -> None:
    """Take the tour, over HTTP or with a runtime alone."""
    os.environ.setdefault(PACE, QUICKLY)
    os.environ[TOUR] = "1"
    began, talk = time.monotonic(), err() if as_json else out()
    async with stage(folder, serves=serves) as on:
        talk.print(f"The worker is process {on.pids[-1]}; the files are in {visible(str(folder))}.")
        if on.server is not None:
            controls = HttpControls(on.server)
        else:
            controls = RuntimeControls(on.runtime, who(None))
        decider = _decider(on) if asks else None
        checks = DemoChecks(on, controls, lambda line: talk.print(Text(visible(line))), decider)
        await checks.run()
        seconds = round(time.monotonic() - began, 3)
        if not give(
            as_json,
            {
                "checks": checks.count,
                "seconds": seconds,
                "ledger": [asdict(entry) for entry in on.ledger],
            },
        ):
            talk.print(f"{checks.count} checks passed in {seconds:.1f} s.")


def _decider(on: Stage) -> Decider:
    async def ask(item: PendingItem, _: TourChoice) -> TourChoice:
        """Show the item and let the person at the terminal decide."""
        interrupt = await on.runtime.interrupt(item.ref)
        shown = await look(on.runtime, interrupt)
        for line in render(shown, min(out().width, 100) - 3):
            out().print(line)
        choice = await asyncio.to_thread(decide, interrupt)
        assert choice.verb in VERBS  # a prompt offers nothing else
        return TourChoice(choice.verb, choice.edit, choice.value, choice.note)

    return ask


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="adjourn-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()
