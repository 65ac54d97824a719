"""`adjourn worker`: a process that advances runs until it is told to stop, and then hands them
back."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.agent.agent import Agent
from adjourn.cli import event_loop
from adjourn.cli.completion import complete_programs
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
from adjourn.cli.loaded_run import load_run
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import (
    AuditKeyFile,
    Db,
    DecidersFile,
    Json,
    LogFormat,
    LogLevel,
    Resources,
    option,
    sealing_key,
)
from adjourn.cli.program_loader import programs_of, resources_of
from adjourn.cli.terminal.activity_line import activity_line
from adjourn.cli.terminal.console import out, remark, to_json
from adjourn.cli.terminal.format import EXIT, brief, short_id, status_mark
from adjourn.cli.terminal.log_lines import log_as
from adjourn.core.quarantine import MAX_DEATHS
from adjourn.errors import InvalidDefinition, StoreError
from adjourn.flow.flow import Flow
from adjourn.runtime.health import HealthCheck
from adjourn.runtime.health_server import HealthServer, alive, numbers, readiness
from adjourn.runtime.limits import TOOL, Limit, merged_limits
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.supervisor import Supervisor
from adjourn.stores.address import without_password
from adjourn.views.run_view import RunView
from adjourn.views.visible import visible

app = typer.Typer()
OnlyAgents = Annotated[
    list[str] | None, option("NAME", "Advance only this agent or flow; may be repeated.")
]
HealthAddress = Annotated[
    str,
    option(
        "[HOST:]PORT",
        "Serve GET /healthz, /readyz and /metrics there; without HOST, on 127.0.0.1.",
    ),
]
ToolLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="tool:NAME=LIMIT",
        help=(
            "Maximum calls of a tool over all workers: simultaneous (5), or per minute "
            "(60/m); may be repeated."
        ),
        show_default=False,
    ),
]
PACE = 0.2
"""Seconds between two looks at what has come to rest."""

Programs = Annotated[
    list[str],
    typer.Argument(
        metavar="APP.PY:NAME",
        help="A file or module, and its agent or flow.",
        autocompletion=complete_programs,
    ),
]
Concurrency = Annotated[int, typer.Option(help="Number of simultaneous runs.", min=1)]
LeaseSeconds = Annotated[
    float, typer.Option(help="Seconds after which a worker that does not respond is replaced.")
]
GraceSeconds = Annotated[
    float, typer.Option(help="Seconds that running tools get to finish when it stops.")
]
MaxDeaths = Annotated[
    int,
    typer.Option(help="After so many worker deaths in a row, a run waits for a person.", min=1),
]
OnChange = Annotated[str, typer.Option(help="Runs of a changed agent or flow: refuse, or warn.")]
Retain = Annotated[str, option("SPAN", "Prune runs that ended longer ago than this: 12h, 30d, 4w.")]
Archive = Annotated[str, option("DIR", "With --retain: write each run there first.")]


@app.command()
@says("Not started")
def worker(
    programs: Programs,
    db: Db = None,
    as_json: Json = False,
    resources: Resources = "",
    agent: OnlyAgents = None,
    concurrency: Concurrency = 100,
    lease: LeaseSeconds = 15.0,
    grace: GraceSeconds = 5.0,
    max_deaths: MaxDeaths = MAX_DEATHS,
    on_change: OnChange = "refuse",
    audit_key: AuditKeyFile = "",
    deciders: DecidersFile = "",
    retain: Retain = "",
    archive: Archive = "",
    health: HealthAddress = "",
    limit: ToolLimits = None,
    engine: EngineKind = "",
    engine_address: EngineAddress = "",
    engine_queue: EngineQueue = "",
    engine_build: EngineBuild = "",
    engine_admin: EngineAdmin = "",
    engine_listen: EngineListen = "",
    engine_url: EngineUrl = "",
    log_format: LogFormat = "text",
    log_level: LogLevel = "",
) -> None:
    """Advance the runs of agents and flows until Ctrl-C. Then, or at SIGTERM, release them.

    It prints one line for every run that stops. Start as many workers as you like: each run has one
    at a time. With --deciders no gated call starts without a decision that one of them has signed;
    the file is read again when it changes. With --engine, another system says when a run is
    advanced; the database stays the truth, and its sweep finds what the engine forgets.
    """
    chosen = EngineOptions(
        engine, engine_address, engine_queue, engine_build, engine_admin, engine_listen, engine_url
    ).choice(concurrency)
    loaded = _chosen(programs, agent or [])
    given = resources_of(resources)
    if on_change not in ("refuse", "warn"):
        raise InvalidDefinition(f"--on-change must be 'refuse' or 'warn', got {on_change!r}")
    if archive and not retain:
        raise InvalidDefinition("--archive is the directory for pruned runs", advice="add --retain")
    log_as(log_format, log_level)
    rt = Runtime(
        address_of(db),
        loaded,
        work=chosen.engine is None,
        resources=given,
        concurrency=concurrency,
        lease=lease,
        grace=grace,
        on_change=on_change,
        max_deaths=max_deaths,
        audit_key=sealing_key(audit_key),
        deciders=deciders or None,
        retain=retain or None,
        archive=archive or None,
        limits=_limits(limit or [], loaded),
    )
    names = [program.name for program in loaded]
    if health:
        place = _place(health)
        event_loop.run(_serve_with_health(rt, names, address_of(db), as_json, place, chosen))
    else:
        event_loop.run(_serve(rt, names, address_of(db), as_json, chosen))


def _limits(lines: list[str], loaded: list[Agent[Any] | Flow]) -> dict[str, Limit]:
    """The limits that were given. One for a tool that nobody has may be a slip, and would limit
    nothing: that is said."""
    found, known = merged_limits(lines), _tools_of(loaded)
    for scope in found:
        if known and scope.startswith(TOOL) and scope.removeprefix(TOOL) not in known:
            remark(
                f"! --limit {visible(scope)}: no agent or flow here has this tool; they have "
                f"{', '.join(map(visible, sorted(known)))}."
            )
    return found


def _tools_of(loaded: list[Agent[Any] | Flow]) -> set[str]:
    """The names of all tools of agents, and of those inside them; nothing if some are known only
    when they run."""
    found: set[str] = set()
    known = [program.fingerprint for program in loaded]
    for one in known:
        if "tools" not in one or "toolsets" in one:
            return set()
        found.update(one["tools"])
        known.extend(one.get("agents", {}).values())
    return found


def _place(given: str) -> tuple[str, int]:
    """The host and the port of `--health`."""
    host, _, port = given.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 <= int(port) < 65536:
        raise InvalidDefinition(f"--health must be PORT or HOST:PORT, got {given!r:.80}")
    return host.strip("[]") or "127.0.0.1", int(port)


async def _serve_with_health(
    rt: Runtime,
    names: list[str],
    address: str,
    as_json: bool,
    place: tuple[str, int],
    chosen: EngineChoice,
) -> None:
    """It also answers before the store is open, and while the worker drains."""
    pages = {"/healthz": alive, "/readyz": readiness(HealthCheck(rt)), "/metrics": numbers(rt)}
    server = HealthServer(pages, *place)
    try:
        await server.open()
    except OSError as e:
        raise InvalidDefinition(f"--health {place[0]}:{place[1]} cannot be served: {e}") from e
    try:
        remark(f"Health at http://{place[0]}:{server.port}/readyz")
        await _serve(rt, names, address, as_json, chosen)
    finally:
        server.close()


def _chosen(references: list[str], names: list[str]) -> list[Agent[Any] | Flow]:
    """The programs that are named; all of them if none is."""
    loaded = [program for reference in references for program in programs_of(reference)]
    known = [program.name for program in loaded]
    if absent := [name for name in names if name not in known]:
        raise InvalidDefinition(
            f"--agent {absent[0]!r:.80} is not one of these agents and flows",
            advice=f"they are {', '.join(map(repr, known))}",
        )
    return [program for program in loaded if not names or program.name in names]


async def _serve(
    rt: Runtime, names: list[str], address: str, as_json: bool, chosen: EngineChoice
) -> None:
    stop, supervisor = asyncio.Event(), Supervisor()
    _listen(stop)
    async with Runtime(address) as bare:  # what rested before this worker began is not its news
        told = {row.id: row.seq for row in await bare.runs(limit=1000)}
    async with supervisor.watched(), rt, chosen.host(rt):
        worker = rt.worker
        worker.announce()
        listed = ", ".join(visible(name) for name in names)
        place = visible(without_password(address))
        remark(
            f"Worker {os.getpid()} advances {listed} on {place}{chosen.through}. "
            "Ctrl-C hands the runs back."
        )
        reporter = asyncio.create_task(_report(rt, WorkerLog(set(names), told, as_json)))
        supervisor.ready(f"advances {listed}")
        await stop.wait()
        supervisor.stopping()
        remark("Stopping: tools in flight finish, then the runs are handed back.")
        reporter.cancel()
        await asyncio.gather(reporter, return_exceptions=True)
    if left := worker.left:
        remark(
            f"Stopped, and aborted calls that were still running: {', '.join(left)}. Those "
            "calls are in doubt."
        )
        sys.stdout.flush()
        os._exit(0)  # they do not end by themselves, and nobody may wait for them
    remark("Stopped. All runs are saved; another worker can continue them.")


def _listen(stop: asyncio.Event) -> None:
    """The first signal stops in order; the second at once (the journal is safe, calls in flight are
    in doubt)."""
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


@dataclass(slots=True)
class WorkerLog:
    """Tells of each run of its programs, once, that it has come to rest."""

    names: set[str]
    told: dict[str, int]
    as_json: bool

    async def look(self, rt: Runtime) -> None:
        """One line on stdout for every run that has come to rest since the last look."""
        for run in reversed(await rt.runs(limit=100)):
            resting = run.agent in self.names and run.status in EXIT
            if resting and self.told.get(run.run_id) != run.seq:
                self.told[run.run_id] = run.seq
                self._tell((await load_run(rt, run.run_id, list(await rt.halts()))).view)
        sys.stdout.flush()

    def _tell(self, view: RunView) -> None:
        if self.as_json:
            sys.stdout.write(to_json(view, indent=None) + "\n")
            return
        name = f"  {short_id(view.run_id)}  {visible(view.agent)}  "
        out().print(
            Text.assemble(status_mark(view.status), name, visible(brief(activity_line(view))))
        )


async def _report(rt: Runtime, reporter: WorkerLog) -> None:
    bell = asyncio.Event()
    end = rt.store.subscribe("", bell.set)
    try:
        while True:
            bell.clear()
            try:
                await reporter.look(rt)
            except StoreError as e:
                remark(f"! {visible(str(e))}")
            await asyncio.sleep(PACE)
            await bell.wait()
    finally:
        end()
