"""`adjourn schedule`: a process that starts runs by the clock, and leaves them to the workers."""

import asyncio
import signal
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast

import typer

from adjourn.agent.agent import Agent
from adjourn.cli.error_report import says
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import By, Db, Json, Program, option
from adjourn.cli.person import person
from adjourn.cli.program_loader import load, program_of
from adjourn.cli.run_request import Data, Input, Labels, Priority, Session, input_of, labels_of
from adjourn.cli.tenant_option import tenant
from adjourn.cli.terminal.console import out, remark, to_json
from adjourn.core.duration import span_of
from adjourn.errors import InvalidDefinition
from adjourn.flow.flow import Flow
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.schedules import CATCH_UP, Schedule, Scheduler
from adjourn.stores.address import without_password
from adjourn.views.visible import visible

app = typer.Typer()
Name = Annotated[str, option("NAME", "The schedule's name; without it, the agent's.", "--name")]
CronFields = Annotated[str, option("FIELDS", "When: five fields, '30 9 * * mon-fri', or @daily.")]
Every = Annotated[str, option("SPAN", "When: every 15m, 12h, 1d, counted from midnight UTC.")]
Zone = Annotated[str, option("ZONE", "The time zone of --cron: Europe/Oslo. Without it, UTC.")]
CatchUp = Annotated[str, option("SPAN", "How late a run may be started; 5m by default.")]
NoOverlap = Annotated[
    bool, typer.Option("--no-overlap", help="Skip a run while the previous one has not ended.")
]
Next = Annotated[
    int,
    typer.Option(metavar="N", help="Only print the next N times; nothing is started.", min=0),
]


@app.command()
@says("Not started")
def schedule(
    program: Program,
    input: Input = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    name: Name = "",
    cron: CronFields = "",
    every: Every = "",
    zone: Zone = "",
    session: Session = None,
    label: Labels = None,
    data: Data = False,
    priority: Priority = 0,
    catch_up: CatchUp = "",
    no_overlap: NoOverlap = False,
    next: Next = 0,
) -> None:
    """Start runs by the clock, and leave them to the workers.

    It ends at Ctrl-C. Start as many of these processes as you like: each moment has one run.
    APP.PY:NAME may also be a Schedule or a list of them; those say when themselves.
    """
    wanted = _Wanted(name, cron, every, zone, catch_up, no_overlap)
    found = load(program)
    if _is_schedules(found):
        wanted.check_empty(input, label, session, priority)
        schedules = _listed(found)
    else:
        who = ""
        if not next:
            who = person(db, by, right="control", what="what a run goes by").name
        made = wanted.schedule(
            program_of(program),
            input_of(input, data),
            session=session,
            labels=labels_of(label or []),
            priority=priority,
            by=who,
        )
        schedules = [made]
    if next:
        _print_next(schedules, next, as_json)
        return
    asyncio.run(_serve(schedules, address_of(db), as_json))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a person typed about when."""

    name: str
    cron: str
    every: str
    zone: str
    catch_up: str
    no_overlap: bool

    def check_empty(self, *others: Any) -> None:
        """Raise `InvalidDefinition` if a schedule in a file is told once more what it says."""
        if any(
            (self.name, self.cron, self.every, self.zone, self.catch_up, self.no_overlap)
        ) or any(others):
            raise InvalidDefinition(
                "a Schedule in a file has its own settings", advice="use only --db and --json"
            )

    def schedule(self, program: Agent[Any] | Flow, input: Any, **more: Any) -> Schedule:
        """The schedule."""
        overlap: Literal["start", "skip"] = "start"
        if self.no_overlap:
            overlap = "skip"
        every = None
        if self.every:
            every = _seconds(self.every, "--every")
        if not self.cron and every is None:
            raise InvalidDefinition(
                "--cron FIELDS or --every SPAN is required", advice="for example --cron '@daily'"
            )
        catch_up = CATCH_UP
        if self.catch_up:
            catch_up = _seconds(self.catch_up, "--catch-up")
        return Schedule(
            self.name or program.name,
            program,
            input,
            cron=self.cron,
            every=every,
            zone=self.zone or "UTC",
            overlap=overlap,
            catch_up=catch_up,
            **more,
        )


def _seconds(text: str, what: str) -> float:
    span = span_of(text)
    if span is None:
        raise InvalidDefinition(
            f"{what} must be a duration such as 15m, 12h or 1d, got {text!r:.40}"
        )
    return span


def _is_schedules(found: Any) -> bool:
    if isinstance(found, list | tuple):
        many = cast("list[Any]", found)
        return bool(many) and all(isinstance(one, Schedule) for one in many)
    return isinstance(found, Schedule)


def _listed(found: Any) -> list[Schedule]:
    if isinstance(found, Schedule):
        return [found]
    return list(found)


def _print_next(schedules: list[Schedule], count: int, as_json: bool) -> None:
    """The next moments of each, in local time with its offset."""
    for one in schedules:
        moment = datetime.now().timestamp()
        for _ in range(count):
            moment = one.following(moment)
            _print(one, moment, one.run_id(moment), as_json)


def _print(one: Schedule, moment: float, run: str, as_json: bool) -> None:
    at = datetime.fromtimestamp(moment).astimezone().isoformat()
    if as_json:
        line = {"schedule": one.name, "at": at, "run_id": run, "agent": one.program.name}
        sys.stdout.write(to_json(line, indent=None) + "\n")
    else:
        out().print(f"{at}  {visible(run)}")
    sys.stdout.flush()


async def _serve(schedules: list[Schedule], address: str, as_json: bool) -> None:
    def started(one: Schedule, moment: float, run: str) -> None:
        _print(one, moment, run, as_json)

    programs = {one.program.name: one.program for one in schedules}
    async with Runtime(address, list(programs.values()), work=False, tenant=tenant()) as rt:
        scheduler = Scheduler(rt, schedules, started=started)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, scheduler.stop)
        place = visible(without_password(address))
        for one in schedules:
            line = f"{visible(one.name)}: {visible(one.program.name)}, {visible(one.text)}"
            remark(f"{line}, on {place}. Ctrl-C stops it.")
        await scheduler.serve()
    remark("Stopped. Workers continue the runs that were started.")
