"""Commands with which a person steers: `pause`, `resume`, `accept`, `say`, `halt`, `unhalt`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.decision_result import come_to_rest
from adjourn.cli.error_report import says
from adjourn.cli.given_files import Files, given_files, with_files
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.loaded_run import LoadedRun, load_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, DryRun, Json, Reason, RequestId, RunId, Wait, option
from adjourn.cli.person import person
from adjourn.cli.terminal.activity_line import activity_line
from adjourn.cli.terminal.console import give, out
from adjourn.cli.terminal.console import say as tell
from adjourn.cli.terminal.format import DIM, EXIT, status_mark
from adjourn.cli.terminal.halt_line import (
    LiftedHalt,
    print_halts,
    print_would_halt,
    warn_of_unknown,
)
from adjourn.errors import Invalid
from adjourn.runtime.halt_survey import HaltSurvey, SurveyedHalts
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Halt
from adjourn.views.visible import visible

app = typer.Typer()


def steer(
    db: str | None,
    run: str,
    verb: Callable[[Run[Any]], Awaitable[Any]],
    wait: float | None,
    as_json: bool,
) -> None:
    """Do something to a run, then say which one it was, whole, and where it is.

    Args:
        db: the database as it was named.
        run: the id of the run, or how it begins.
        verb: what to do with its handle.
        wait: seconds to wait for it to stop; None: do not wait.
        as_json: print the run as JSON.
    """

    async def work(rt: Runtime) -> LoadedRun:
        handle = await rt.get((await find_run(rt, run)).id)
        await verb(handle)
        if wait is not None:
            await come_to_rest(rt, handle.id, wait)
        return await load_run(rt, handle.id, list(await rt.halts()))

    seen = with_runtime(db, work).view
    if not give(as_json, seen):
        doing = (visible(activity_line(seen)), DIM)
        out().print(
            Text.assemble(status_mark(seen.status), "  ", visible(seen.run_id), "  ", doing)
        )
    if wait is not None:
        raise typer.Exit(EXIT.get(seen.status, 3))


@app.command()
@says("Not paused")
def pause(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    reason: Reason = "",
    now: Annotated[
        bool, typer.Option("--now", help="Abort the running model call; its text so far is kept.")
    ] = False,
    request_id: RequestId = "",
    wait: Wait = None,
) -> None:
    """Stop a run at its next boundary. A running call finishes and is recorded; nothing new
    starts."""
    name = person(db, by).name
    steer(
        db,
        run,
        lambda r: r.pause(by=name, reason=reason, now=now, request_id=request_id),
        wait,
        as_json,
    )


@app.command()
@says("Not resumed")
def resume(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    instruction: Annotated[
        str, option("TEXT", "A message that the agent reads first.", "--instruction")
    ] = "",
    request_id: RequestId = "",
    wait: Wait = None,
) -> None:
    """Continue a paused run, or retry a failed one. No finished call runs again."""
    name = person(db, by, right="control" if instruction else None, what="an instruction").name
    steer(db, run, lambda r: r.resume(instruction, by=name, request_id=request_id), wait, as_json)


@app.command()
@says("Not accepted")
def accept(
    run: RunId, db: Db = None, as_json: Json = False, by: By = None, request_id: RequestId = ""
) -> None:
    """Let a run continue although its definition has changed. This run only, with the version that
    a worker refused."""
    name = person(db, by, right="decide", what="accepting a changed program").name

    async def work(rt: Runtime) -> tuple[str, tuple[str, ...]]:
        handle = await rt.get((await find_run(rt, run)).id)
        return handle.id, await handle.accept(by=name, request_id=request_id)

    id, changed = with_runtime(db, work)
    if give(as_json, {"run_id": id, "accepted": list(changed), "by": name}):
        return
    out().print(Text.assemble("accepted  ", visible(id)))
    for what in changed:
        out().print(Text(f"  {visible(what)}", style=DIM))


@app.command()
@says("No chapter began")
def chapter(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="What for.")] = "",
) -> None:
    """Begin a new chapter of a long run: readers start there. No call may be running."""
    name = person(db, by, right="control", what="beginning a chapter of a run").name

    async def work(rt: Runtime) -> tuple[str, int]:
        handle = await rt.get((await find_run(rt, run)).id)
        return handle.id, await handle.continue_as_new(by=name, why=reason)

    id, seq = with_runtime(db, work)
    if give(as_json, {"run_id": id, "seq": seq, "by": name}):
        return
    out().print(Text.assemble("new chapter  ", visible(id), f"  begins at record {seq}"))


@app.command()
@says("Not said")
def say(
    run: RunId,
    text: Annotated[
        str | None,
        typer.Argument(
            help="The message; the agent reads it at its next boundary.", show_default=False
        ),
    ] = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    file: Files = None,
    abandon: Annotated[bool, typer.Option("--abandon", help="Drop the open questions.")] = False,
    request_id: RequestId = "",
) -> None:
    """Send a message to a running agent, files with it, or only files."""
    if text is None and not file:
        raise Invalid("TEXT is missing: give a message or a --file")
    files = given_files(file)
    if any(one.field for one in files):
        raise Invalid("a message has no fields", advice="write --file PATH, without a name")
    said = with_files(text, files, "TEXT")
    name = person(db, by, right="control", what="talking to a run").name
    steer(
        db,
        run,
        lambda r: r.say(said, by=name, abandon=abandon, request_id=request_id),
        None,
        as_json,
    )


Scope = Annotated[
    str, typer.Argument(metavar="SCOPE", help="'*' for everything, agent:NAME, or tool:NAME.")
]


@app.command()
@says("Not halted")
def halt(
    scope: Scope,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; it is shown with every held run.")
    ],
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    dry_run: DryRun = False,
) -> None:
    """The kill switch: start no new call in SCOPE. No model call either, whichever process runs
    it."""
    name = person(db, by, right="halt", what="a halt").name
    if dry_run:
        looked = with_runtime(db, lambda rt: HaltSurvey(rt).look(scope))
        print_would_halt(looked, scope, as_json)
        return

    async def work(rt: Runtime) -> tuple[list[Halt], SurveyedHalts]:
        halts = await rt.halt(scope, reason=reason, by=name)
        return halts, await HaltSurvey(rt).look(scope)

    halts, found = with_runtime(db, work)
    print_halts(halts, found, as_json)
    warn_of_unknown(found.of(scope), db, reason)


@app.command()
@says("Not lifted")
def unhalt(
    scope: Scope, reason: Reason = "", db: Db = None, as_json: Json = False, by: By = None
) -> None:
    """Lift a halt; held runs continue."""
    name = person(db, by, right="halt", what="lifting a halt").name

    async def work(rt: Runtime) -> tuple[LiftedHalt | None, list[Halt], SurveyedHalts]:
        was = next((halt for halt in await rt.halts() if halt.scope == scope), None)
        survey = HaltSurvey(rt)
        if was is None:
            return None, await rt.unhalt(scope, reason=reason, by=name), await survey.look()
        before = (await survey.look(scope)).of(scope).holds
        halts = await rt.unhalt(scope, reason=reason, by=name)
        found = await survey.look(scope)
        now = found.of(scope)
        return LiftedHalt(was, before, still_held=now.holds - now.more), halts, found

    lifted, halts, found = with_runtime(db, work)
    if lifted is None:
        tell(f"Nothing to do: {visible(scope)} was not halted.")
    print_halts(halts, found, as_json, lifted)
