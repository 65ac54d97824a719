"""`adjourn again`: a run from its beginning once more."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.completion import complete_programs
from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import address_of, with_runtime
from adjourn.cli.options import By, Db, DryRun, Json, RunId, option
from adjourn.cli.person import person
from adjourn.cli.program_loader import program_of
from adjourn.cli.rehearsal import Rehearsal
from adjourn.cli.run_request import Data, NewId, input_of
from adjourn.cli.tenant_option import tenant
from adjourn.cli.terminal.console import give, out, remark, say
from adjourn.cli.terminal.format import DIM, arguments, exact
from adjourn.cli.terminal.hints import command
from adjourn.core.status import RunStatus
from adjourn.errors import Invalid
from adjourn.runtime.checked_answers import MISSING
from adjourn.runtime.runtime import Runtime
from adjourn.views.again_preview import RepeatedCall
from adjourn.views.run_view import RunView
from adjourn.views.visible import visible
from adjourn.views.words import REPEATS

app = typer.Typer()

App = Annotated[
    str,
    typer.Argument(
        metavar="APP.PY:NAME",
        help="A file or module, and the agent or flow of the run.",
        autocompletion=complete_programs,
    ),
]
NewInput = Annotated[
    str | None,
    option(
        "TEXT", "A different input; - reads it from stdin. Without it, the same input.", "--input"
    ),
]
SameSession = Annotated[
    bool,
    typer.Option(
        "--same-session", help="Add the new run to the same session; without it, to none."
    ),
]

ENDINGS = (RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.CANCELLED)
"""The statuses of runs that are over, as they are shown."""


@app.command()
@says("Not started")
def again(
    run: RunId,
    program: App = "",
    input: NewInput = None,
    data: Data = False,
    same_session: SameSession = False,
    run_id: NewId = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    dry_run: DryRun = False,
) -> None:
    """Start a run again, from its beginning.

    It is left to the workers, with the same input or that of --input. The other run stays as it is:
    nothing of it is undone or reused. The same --id with the same input is the same run: it is
    started once.
    """
    if not program:
        raise _without_program(db, run)
    definition = program_of(program)
    changed: Any = MISSING
    if input is not None:
        changed = input_of(input, data)
    elif data:
        raise Invalid("--data says that --input is JSON, but --input is missing")
    name = person(db, by, right="control", what="running it again").name

    async def work() -> tuple[RunView, str, Sequence[RepeatedCall]]:
        if dry_run:
            opened: Runtime = Rehearsal.on(db, definition)
        else:
            opened = Runtime(address_of(db), [definition], work=False, tenant=tenant())
        async with opened as rt:
            old = await rt.get((await find_run(rt, run)).id)
            view = await old.state()
            if view.agent != definition.name:
                raise Invalid(
                    f"{old.id!r} is a run of {view.agent!r}, and this is {definition.name!r}",
                    advice="name its agent or flow",
                )
            made = await old.again(input=changed, same_session=same_session, run_id=run_id, by=name)
            done = (await old.again_preview()).calls
            return view, (run_id or "") if dry_run else made.id, done

    before, new, done = asyncio.run(work())
    wanted = before.input if changed is MISSING else changed
    if give(
        as_json,
        {
            "run_id": new,
            "again_of": before.run_id,
            "agent": before.agent,
            "input": wanted,
            "stays": done,
            "dry_run": dry_run,
        },
    ):
        return
    if dry_run:
        out().print(f"Would start {visible(before.agent)} with {exact(wanted)}")
    else:
        out().print(visible(new))
    _print_warnings(before, done)
    if dry_run:
        remark("Nothing was started.")
        return
    say(
        Text.assemble(("Watch       ", DIM), command(db, "watch", new)),
        Text.assemble(("Advance it  ", DIM), command(db, "worker", program)),
    )


def _without_program(db: str | None, run: str) -> Invalid:
    """A store has journals, no programs: whose run it is, and how to name its program."""

    async def look(rt: Runtime) -> tuple[str, str]:
        row = await find_run(rt, run)
        return row.id, row.program

    id, name = with_runtime(db, look)
    return Invalid(
        f"the agent or flow {name!r} of run {id!r} was not given",
        consequence="nothing was started",
        advice=f"add its file, as APP.PY:{name}",
    )


def _print_warnings(before: RunView, done: Sequence[RepeatedCall]) -> None:
    id = visible(before.run_id)
    if before.status not in ENDINGS:
        remark(f"{id} has not ended: it is {before.status}, and is not changed.")
    for call in done:
        what = f"{visible(call.tool)} {arguments(call.arguments)}".rstrip()
        words = f"  stays  {what}: {REPEATS[call.left]}; a second run may do it again"
        remark(words)
