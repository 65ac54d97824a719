"""`adjourn start`: a new run, left to the workers."""

import asyncio

import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.given_files import Files, given_files, with_files
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import By, Db, DryRun, Json, Program
from adjourn.cli.person import person
from adjourn.cli.program_loader import program_of
from adjourn.cli.rehearsal import Rehearsal
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
from adjourn.cli.tenant_option import tenant
from adjourn.cli.terminal.console import give, out, print_json, remark, say
from adjourn.cli.terminal.format import DIM, exact
from adjourn.cli.terminal.hints import command
from adjourn.core.codec import plain
from adjourn.runtime.runtime import Runtime
from adjourn.views.visible import visible

app = typer.Typer()


@app.command()
@says("Not started")
def start(
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
    after: After = "",
    fresh: Fresh = False,
    priority: Priority = 0,
    dry_run: DryRun = False,
) -> None:
    """Start a run, print its id, and leave it to the workers. `adjourn run` stays with it instead.

    The same --id with the same input is the same run: it is started once.
    """
    check_fresh(fresh, session, after)
    wanted = RunRequest(
        program_of(program),
        with_files(input_of(input, data), given_files(file), "INPUT"),
        run_id=run_id,
        session=session,
        labels=labels_of(label or []),
        after=after,
        fresh=fresh,
        priority=priority,
    )
    name = person(db, by, right="control", what="what a run goes by").name
    if dry_run:
        begins = asyncio.run(_rehearse(wanted, db, name))
        _print_wanted(wanted, begins, as_json)
        return
    id = asyncio.run(_begin(wanted, address_of(db), name))
    if give(as_json, {"run_id": id, "agent": wanted.program.name}):
        return
    out().print(visible(id))
    say(
        Text.assemble(("Watch       ", DIM), command(db, "watch", id)),
        Text.assemble(("Advance it  ", DIM), command(db, "worker", program)),
    )


async def _begin(wanted: RunRequest, address: str, by: str) -> str:
    async with Runtime(address, [wanted.program], work=False, tenant=tenant()) as rt:
        return (await wanted.begin(rt, by)).id


async def _rehearse(wanted: RunRequest, db: str | None, by: str) -> bool:
    """Whether a run would begin; else it is there already. Raises what a start would raise."""
    async with Rehearsal.on(db, wanted.program) as rt:
        await wanted.begin(rt, by)
        return rt.begins


def _print_wanted(wanted: RunRequest, begins: bool, as_json: bool) -> None:
    given = plain(wanted.input, "INPUT")
    if as_json:
        told = {"agent": wanted.program.name, "input": given, "new": begins, "dry_run": True}
        print_json({"run_id": wanted.run_id, **told})
        return
    if begins:
        named = f" as {visible(wanted.run_id)}" if wanted.run_id else ""
        out().print(f"Would start {visible(wanted.program.name)}{named} with {exact(given)}")
    else:
        out().print(f"{visible(wanted.run_id or '')} was already started with the same input.")
    remark("Nothing was started.")
