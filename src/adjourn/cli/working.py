"""`adjourn worker`: a process that advances runs until it is told to stop, and then hands them back."""

import asyncio
import logging
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from adjourn.cli.database import address_of
from adjourn.cli.failure import says
from adjourn.cli.glance import glance
from adjourn.cli.options import Db, Json
from adjourn.cli.programs import NotImportable, load, programs_of
from adjourn.cli.terminal import out, say, to_json
from adjourn.cli.visible import lines, visible
from adjourn.cli.words import DIM, EXIT, short_id, status_mark
from adjourn.errors import InvalidDefinition
from adjourn.runtime.runtime import Runtime

app = typer.Typer()
PACE = 0.2
"""Seconds between two looks at what has come to rest."""


@app.command()
@says("Not started")
def worker(
    programs: Annotated[
        list[str], typer.Argument(metavar="APP.PY:NAME", help="A file or module, and its agent or flow.")
    ],
    db: Db = None,
    as_json: Json = False,
    resources: Annotated[
        str, typer.Option(metavar="APP.PY:DICT", help="The live objects that tools need.", show_default=False)
    ] = "",
    concurrency: Annotated[int, typer.Option(help="So many runs at once.", min=1)] = 100,
    lease: Annotated[float, typer.Option(help="Seconds after which a silent worker is replaced.")] = 2.0,
    grace: Annotated[float, typer.Option(help="Seconds that tools in flight get when it stops.")] = 5.0,
    on_change: Annotated[str, typer.Option(help="refuse, or warn: runs of a changed program.")] = "refuse",
) -> None:
    """Advance the runs of these programs until Ctrl-C or SIGTERM; then hand them back.

    Every run that comes to rest is one line. Start as many workers as you like: each run has one at a time.
    """
    try:
        loaded = [program for reference in programs for program in programs_of(reference)]
        given: Mapping[str, Any] = _resources(resources) if resources else {}
    except NotImportable as e:
        say(*lines(e.trace.rstrip()))
        raise
    if on_change not in ("refuse", "warn"):
        raise InvalidDefinition(f"--on-change is 'refuse' or 'warn', not {on_change!r}")
    _log_to_stderr()
    rt = Runtime(
        address_of(db), loaded, resources=given, concurrency=concurrency, lease=lease, grace=grace, on_change=on_change
    )
    asyncio.run(_serve(rt, [p.name for p in loaded], address_of(db), as_json))


def _resources(reference: str) -> Mapping[str, Any]:
    thing = load(reference)
    thing = thing() if callable(thing) else thing
    if not isinstance(thing, Mapping):
        raise InvalidDefinition(f"{reference} is {type(thing).__name__}, not a dict of names and objects")
    return cast("Mapping[str, Any]", thing)


async def _serve(rt: Runtime, names: list[str], address: str, as_json: bool) -> None:
    stop = asyncio.Event()
    _listen(stop)
    async with rt:
        listed = ", ".join(visible(name) for name in names)
        say(
            Text(
                f"Worker {os.getpid()} advances {listed} on {visible(address)}. Ctrl-C hands the runs back.", style=DIM
            )
        )
        reporter = asyncio.create_task(_report(rt, set(names), as_json))
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait([waiting, reporter], return_when=asyncio.FIRST_COMPLETED)
        say(Text("Stopping: tools in flight finish, then the runs are handed back.", style=DIM))
        reporter.cancel()
        await asyncio.gather(reporter, return_exceptions=True)
    say(Text("Stopped. Nothing is lost; another worker goes on.", style=DIM))


def _listen(stop: asyncio.Event) -> None:
    """The first signal stops in order; the second at once (the journal is safe, calls in flight are in doubt)."""
    loop = asyncio.get_running_loop()

    def hear() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    def later(*_: object) -> None:
        loop.call_soon_threadsafe(hear)

    for name in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(name, hear)
        except NotImplementedError:
            signal.signal(name, later)


async def _report(rt: Runtime, names: set[str], as_json: bool) -> None:
    """One line on stdout for every run that comes to rest."""
    told: dict[str, int] = {row.id: row.seq for row in await rt.runs(limit=1000)}
    bell = asyncio.Event()
    end = rt.store.subscribe("", bell.set)
    try:
        while True:
            bell.clear()
            for row in reversed(await rt.runs(limit=100)):
                if row.program not in names or told.get(row.id) == row.seq or row.view(rt.store.now()) not in EXIT:
                    continue
                told[row.id] = row.seq
                seen = await glance(rt, row, list(await rt.halts()))
                if as_json:
                    sys.stdout.write(to_json(seen.as_json(), indent=None) + "\n")
                else:
                    program = visible(row.program)
                    out().print(
                        Text.assemble(
                            status_mark(seen.status), f"  {short_id(row.id)}  {program}  ", visible(seen.doing)
                        )
                    )
                sys.stdout.flush()
            await asyncio.sleep(PACE)
            await bell.wait()
    finally:
        end()


class _Talk(logging.Handler):
    """Log records as talk."""

    def emit(self, record: logging.LogRecord) -> None:
        say(Text(f"! {visible(record.getMessage())}", style=DIM))
        if record.exc_info and record.exc_info[1] is not None:
            say(*lines("".join(traceback.format_exception(record.exc_info[1])).rstrip()))


def _log_to_stderr() -> None:
    log = logging.getLogger("adjourn")
    log.handlers[:] = [_Talk()]
    log.propagate = False
    log.setLevel(logging.WARNING)
