"""`adjourn cancel`: what it would do is shown first, and at a terminal a person is asked."""

import msgspec
import typer
from rich.text import Text

from adjourn.cli.commands.control import steer
from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, DryRun, Json, Reason, RequestId, RunId, Wait, Yes
from adjourn.cli.person import person
from adjourn.cli.terminal.console import Line, give, is_attended, out, remark, say
from adjourn.cli.terminal.format import arguments
from adjourn.cli.terminal.hints import command
from adjourn.cli.terminal.prompt import agreed
from adjourn.core.status import CANCELS, ENDED, Status
from adjourn.errors import Invalid
from adjourn.runtime.runtime import Runtime
from adjourn.views.cancel_preview import CancelPreview, undo_words
from adjourn.views.visible import visible

app = typer.Typer()
_AS_IT_IS = {
    Status.CANCELLED: "was already cancelled",
    Status.CANCELLING: "is already being cancelled",
    Status.STUCK: "is already being cancelled, and waits for a person",
}


class Found(msgspec.Struct, frozen=True):
    """The run that is meant, its status, and what a cancel of it would do now; None if it has ended
    or is being cancelled."""

    run_id: str
    status: Status
    preview: CancelPreview | None


@app.command()
@says("Not cancelled")
def cancel(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    reason: Reason = "",
    yes: Yes = False,
    dry_run: DryRun = False,
    request_id: RequestId = "",
    wait: Wait = None,
) -> None:
    """Stop a run, undo its actions, last one first, and end it. Twice is the same as once.

    At a terminal, what would be undone is shown first, and you are asked. Without one, or with
    --yes, the id must be complete.
    """
    if dry_run:
        _print_found(_look(db, run), as_json)
        return
    name = person(db, by).name
    meant = _meant(db, run, yes)
    if meant.status in CANCELS:
        say(f"Nothing to do: it {_AS_IT_IS[meant.status]}.")
    steer(
        db,
        meant.run_id,
        lambda r: r.cancel(by=name, reason=reason, request_id=request_id),
        wait,
        as_json,
    )


def _look(db: str | None, run: str) -> Found:
    async def work(rt: Runtime) -> Found:
        row = await find_run(rt, run)
        if row.status in ENDED | CANCELS:
            return Found(row.id, row.status, None)
        return Found(row.id, row.status, await (await rt.get(row.id)).cancel_preview())

    return with_runtime(db, work)


def _meant(db: str | None, run: str, yes: bool) -> Found:
    """The run to cancel, once a person has agreed, where one is there to ask."""
    found = _look(db, run)
    id = found.run_id
    if yes or not is_attended():
        if id == run:
            return found
        options = ("--yes",) if yes else ()
        raise Invalid(
            f"{run!r} is only the prefix of a run id",
            consequence="nothing was cancelled",
            advice=f"give the full id: {command(db, 'cancel', id, options=options)}",
        )
    while found.preview is not None:
        say(*preview_lines(found.preview))
        undoing = undo_words(found.preview) or "nothing"
        if not agreed(f"Cancel {visible(id)} and undo {undoing}?"):
            raise Invalid(f"{id!r} was not changed", consequence="nothing was cancelled")
        now = _look(db, id)
        if now.preview == found.preview:
            break
        say(Text("What it would do has changed while you were reading:", style="yellow"))
        found = now
    return found


def _print_found(found: Found, as_json: bool) -> None:
    if give(as_json, {**msgspec.to_builtins(found), "dry_run": True}):
        return
    if found.preview is None:
        state = _AS_IT_IS.get(found.status, f"is {found.status}, and cannot be cancelled")
        out().print(f"{visible(found.run_id)} {state}.")
    else:
        lines = preview_lines(found.preview)
        out().print(f"A cancel of {visible(found.run_id)} would:", *lines)
    remark("Nothing was cancelled.")


def preview_lines(preview: CancelPreview) -> list[Line]:
    """What a cancel would do, in the order it would happen, a line for each call."""
    lines: list[Line] = [
        f"  wait  {visible(call.tool)} {arguments(call.arguments)} is in flight: it finishes first"
        for call in preview.in_flight
    ]
    lines += [f"  undo  {visible(call.tool)} {arguments(call.arguments)}" for call in preview.undo]
    lines += [
        Text(
            f"  stays {visible(left.tool)} {arguments(left.arguments)}: {visible(left.why)}",
            style="red",
        )
        for left in preview.residue
    ]
    if not lines:
        lines.append("  end it; there is nothing to undo")
    return lines
