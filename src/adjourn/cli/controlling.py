"""Commands with which a person steers: `pause`, `resume`, `cancel`, `say`, `halt`, `unhalt`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.database import with_runtime
from adjourn.cli.failure import says
from adjourn.cli.finding import run_at
from adjourn.cli.options import By, Db, Json, Reason, RequestId, RunId, Wait, who
from adjourn.cli.settling import come_to_rest
from adjourn.cli.steps import Look, look_at
from adjourn.cli.terminal import out, print_json
from adjourn.cli.visible import visible
from adjourn.cli.words import DIM, EXIT, short_id, status_mark
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.stores.store import Halt

app = typer.Typer()


def _steer(
    db: str | None, run: str, verb: Callable[[Run[Any]], Awaitable[Any]], wait: float | None, as_json: bool
) -> None:
    """Do something to a run, then say where it is."""

    async def work(rt: Runtime) -> Look:
        handle = await run_at(rt, run)
        await verb(handle)
        if wait is not None:
            await come_to_rest(rt, handle.id, wait)
        return await look_at(rt, await rt.store.get(handle.id), list(await rt.halts()))

    seen = with_runtime(db, work)
    if as_json:
        print_json(seen.as_json())
    else:
        line = Text.assemble(status_mark(seen.status), "  ", short_id(seen.row.id), "  ", (visible(seen.doing), DIM))
        out().print(line)
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
    now: Annotated[bool, typer.Option("--now", help="Cut the model call in flight; what it said is kept.")] = False,
    request_id: RequestId = "",
    wait: Wait = None,
) -> None:
    """Stop a run at its next boundary. A call in flight finishes and is recorded; nothing new starts."""
    _steer(db, run, lambda r: r.pause(by=who(by), reason=reason, now=now, request_id=request_id), wait, as_json)


@app.command()
@says("Not resumed")
def resume(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    instruction: Annotated[
        str,
        typer.Option("--instruction", metavar="TEXT", help="What the agent reads as it goes on.", show_default=False),
    ] = "",
    request_id: RequestId = "",
    wait: Wait = None,
) -> None:
    """Let a paused run go on, or try a failed one again. Nothing that was done is done again."""
    _steer(db, run, lambda r: r.resume(instruction, by=who(by), request_id=request_id), wait, as_json)


@app.command()
@says("Not cancelled")
def cancel(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    reason: Reason = "",
    request_id: RequestId = "",
    wait: Wait = None,
) -> None:
    """Stop a run, undo what it did, last thing first, and end it. Twice is the same as once."""
    _steer(db, run, lambda r: r.cancel(by=who(by), reason=reason, request_id=request_id), wait, as_json)


@app.command()
@says("Not said")
def say(
    run: RunId,
    text: Annotated[str, typer.Argument(help="What the agent reads at its next boundary, once.")],
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    abandon: Annotated[bool, typer.Option("--abandon", help="Drop the questions that are open.")] = False,
    request_id: RequestId = "",
) -> None:
    """Tell a running agent something."""
    _steer(db, run, lambda r: r.say(text, by=who(by), abandon=abandon, request_id=request_id), None, as_json)


Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="'*' for everything, agent:NAME, or tool:NAME.")]


@app.command()
@says("Not halted")
def halt(
    scope: Scope,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; everybody who is held reads it.")],
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """The kill switch: no new call and no new model call starts in SCOPE, whichever process runs it."""
    _print_halts(with_runtime(db, lambda rt: rt.halt(scope, reason=reason, by=who(by))), as_json)


@app.command()
@says("Not lifted")
def unhalt(scope: Scope, reason: Reason = "", db: Db = None, as_json: Json = False, by: By = None) -> None:
    """Lift a halt; held runs go on."""
    _print_halts(with_runtime(db, lambda rt: rt.unhalt(scope, reason=reason, by=who(by))), as_json)


def _print_halts(halts: list[Halt], as_json: bool) -> None:
    if as_json:
        print_json([{"scope": h.scope, "by": h.by, "reason": h.reason, "at": h.at} for h in halts])
        return
    terminal = out()
    for h in halts:
        terminal.print(
            Text.assemble(("■ halted  ", "red"), visible(h.scope), f"  by {visible(h.by)}: {visible(h.reason)}")
        )
    if not halts:
        terminal.print("Nothing is halted.")
