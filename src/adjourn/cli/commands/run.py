"""`adjourn run`: an agent or a flow in the foreground, with its steps, its words and its questions
at this terminal."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from adjourn.cli.error_report import report, says
from adjourn.cli.foreground import Foreground
from adjourn.cli.given_files import Files, given_files, with_files
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import (
    By,
    Db,
    DecidersFile,
    Json,
    Program,
    Resources,
    SigningKeyFile,
    option,
)
from adjourn.cli.person import Person, person
from adjourn.cli.program_loader import program_of, resources_of
from adjourn.cli.run_request import (
    After,
    Data,
    Fresh,
    Input,
    Labels,
    NewId,
    Priority,
    RunRequest,
    Session,
    check_fresh,
    input_of,
    labels_of,
)
from adjourn.cli.terminal.console import err, remark, say
from adjourn.cli.terminal.live_view import JsonView, LiveView, TextView
from adjourn.cli.terminal.log_lines import log_to
from adjourn.cli.terminal.screen import Screen
from adjourn.cli.terminal.summary import OutputTarget
from adjourn.errors import Invalid, NotAllowed
from adjourn.runtime.runtime import Runtime
from adjourn.views.visible import visible

app = typer.Typer()
KEYS = {
    "": "Ctrl-C pauses",
    "pausing": "Ctrl-C again cancels and undoes",
    "cancelling": "Ctrl-C again stops this process",
}
EARLIER = 5
"""Steps of the past that are shown of a run that goes on."""


ResumedRun = Annotated[
    str, option("RUN", "Continue an existing run here, instead of starting a new one.")
]
Instruction = Annotated[str, option("TEXT", "With --resume: a message that the agent reads first.")]


@app.command()
@says("Not run")
def run(
    program: Program,
    input: Input = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    session: Session = None,
    label: Labels = None,
    run_id: NewId = None,
    data: Data = False,
    file: Files = None,
    resume: ResumedRun = "",
    after: After = "",
    fresh: Fresh = False,
    instruction: Instruction = "",
    priority: Priority = 0,
    resources: Resources = "",
    deciders: DecidersFile = "",
    signing_key: SigningKeyFile = "",
) -> None:
    """Run an agent or a flow until it ends or waits. Its output goes to stdout, everything else to
    stderr.

    What waits for a person is asked at the terminal; without one the exit code is 3 and the command
    is printed. Ctrl-C pauses at the next boundary, again cancels and undoes, a third time ends this
    process: nothing is lost.
    """
    if resume and (input is not None or run_id or session or label or after or file):
        raise Invalid(
            "--resume continues a run that already has its input",
            advice="remove INPUT, --file, --id, --session, --label and --after",
        )
    check_fresh(fresh, session, after)
    if instruction and not resume:
        raise Invalid("--instruction needs --resume", advice="for a new run, put it in INPUT")
    wanted = RunRequest(
        program_of(program),
        with_files(input_of(input, data), given_files(file), "INPUT"),
        run_id,
        session,
        labels_of(label or []),
        resume,
        instruction,
        after,
        fresh,
        priority,
    )
    given = resources_of(resources)
    place = OutputTarget(db, program)
    signing = {"deciders": deciders or None, "signing_key": signing_key or None}
    raise typer.Exit(
        asyncio.run(in_foreground(wanted, address_of(db), place, given, by, as_json, **signing))
    )


def decider_here(place: OutputTarget, by: Person, as_json: bool) -> Person | None:
    """Who decides at this terminal what a run waits for; None if nobody is there, or if they may
    not (it is said why)."""
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    if not place.saved:  # it lives in this process only, which has no users
        return by
    try:
        return person(place.db, by.name, by.groups, right="decide")
    except NotAllowed as e:
        report(e, "Nothing will be decided here", db=place.db)
        return None


async def in_foreground(
    wanted: RunRequest,
    address: str,
    place: OutputTarget,
    resources: Mapping[str, Any],
    by: str | None,
    as_json: bool,
    **signing: Any,
) -> int:
    """Run it until it rests; the code to exit with. `signing`: the runtime's deciders and signing
    key."""
    speaks = place.saved and (not wanted.resume or bool(wanted.instruction))
    starter = person(place.db, by, right="control" if speaks else None, what="what a run goes by")
    decider = decider_here(place, starter, as_json)
    view = view_of(as_json)
    log_to(lambda *said: (view.rest(), say(*said)))
    async with Runtime(address, [wanted.program], resources=resources, **signing) as rt:
        handle = await wanted.begin(rt, starter.name)
        if not as_json and place.saved:
            remark(f"{visible(wanted.program.name)} {visible(handle.id)} on {visible(address)}")
        if wanted.resume and isinstance(view, TextView):
            view.recall(await rt.store.load(handle.id), EARLIER)
        return await Foreground(rt, handle, view, place, by=starter.name, decider=decider).follow()


def view_of(as_json: bool) -> LiveView:
    """How a run is shown: as data, or as talk."""
    if as_json:
        return JsonView()
    return TextView(Screen(err()), KEYS, ending=False)
