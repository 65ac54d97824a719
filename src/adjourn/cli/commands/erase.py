"""`adjourn erase`: everything that was in a run is gone, who wanted that and why stays.
`adjourn hold`: nothing of it may go."""

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, DryRun, Json, RunId, Yes, option
from adjourn.cli.person import person
from adjourn.cli.terminal.console import give, is_attended, out, remark
from adjourn.cli.terminal.console import say as tell
from adjourn.cli.terminal.format import count
from adjourn.cli.terminal.hints import command
from adjourn.cli.terminal.prompt import agreed
from adjourn.errors import Invalid, UnknownRun
from adjourn.runtime.runtime import Runtime
from adjourn.stores.erasure import Hold
from adjourn.views.visible import visible

app = typer.Typer()


@app.command()
@says("Not erased")
def erase(
    run: RunId,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with your name.")
    ],
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Also erase every other run of its conversation: all or none."
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    scrub: Annotated[
        bool,
        typer.Option(
            help=(
                "Also remove it from the bytes of the file now, which rewrites the file; "
                "or later with `adjourn db scrub`."
            )
        ),
    ] = True,
) -> None:
    """Erase the content of a run that has ended. It cannot be undone; the audit keeps who did it
    and why."""
    if dry_run:
        _print_wanted(db, run, whole, as_json)
        return
    name = person(db, by, right="admin", what="erasing a run").name
    id = _meant(db, run, reason, yes, whole)
    done = with_runtime(
        db, lambda rt: rt.erase(id, by=name, reason=reason, whole=whole, scrub=scrub)
    )
    data = msgspec.to_builtins(done)
    if not give(as_json, {"run_id": data.pop("run"), **data}):
        for turn in (done.run, *done.turns):
            out().print(
                Text.assemble(
                    "erased  ", visible(turn), f"  by {visible(done.by)}: {visible(done.reason)}"
                )
            )
    if not done.scrubbed:
        if scrub:
            why = "A reader still uses a part of it in the files"
        else:
            why = "It is still in the bytes of the file"
        tell(Text(f"{why}; try again: {command(db, 'db', 'scrub')}", style="yellow"))
    if done.others:
        said = (
            f"{count(len(done.others), 'later run')} of its session may have been given its "
            "conversation: "
        )
        tell(Text(said + ", ".join(visible(x) for x in done.others[:5]), style="yellow"))
    remark("Backups, checkpoints and forks of it are separate copies; erase them too.")


def _found(db: str | None, run: str) -> tuple[str, str]:
    async def look(rt: Runtime) -> tuple[str, str]:
        try:
            row = await find_run(rt, run)
        except UnknownRun as unknown:
            if not unknown.pruned:
                raise
            return run, "was pruned; only its archive is left"
        return row.id, row.title

    return with_runtime(db, look)


def _print_wanted(db: str | None, run: str, whole: bool, as_json: bool) -> None:
    id, title = _found(db, run)
    if give(as_json, {"run_id": id, "title": title, "whole": whole, "dry_run": True}):
        return
    more = ", and every other run of its conversation" if whole else ""
    out().print(f"Would erase {visible(id)}{more}: {visible(title)}")
    remark("Nothing was erased.")


def _meant(db: str | None, run: str, reason: str, yes: bool, whole: bool) -> str:
    """The whole id of the run to erase, once somebody has agreed."""

    id, title = _found(db, run)
    if yes and id == run:
        return id
    if yes or not is_attended():
        options = ("--reason", reason, *(("--whole",) if whole else ()), "--yes")
        again = command(db, "erase", id, options=options)
        raise Invalid(
            "erasing cannot be undone, so it must be confirmed",
            consequence="nothing was erased",
            advice=f"give the full id of the run and --yes: {again}",
        )
    tell(f"  {visible(id)}  {visible(title)}")
    what = "it, and in every run of its conversation" if whole else "it"
    if not agreed(f"Erase everything that is in {what}? It cannot be undone."):
        raise Invalid(f"{id!r} was not changed", consequence="nothing was erased")
    return id


@app.command()
@says("Not held")
def hold(
    run: Annotated[
        str,
        typer.Argument(
            metavar="[RUN]", help="The run; without it, the holds are listed.", show_default=False
        ),
    ] = "",
    label: Annotated[
        str, option("KEY=VALUE", "All runs with this label, also later ones.", "--label")
    ] = "",
    reason: Annotated[str, option("TEXT", "Why; it is shown with every refusal.", "--reason")] = "",
    lift: Annotated[bool, typer.Option("--lift", help="End the hold.")] = False,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Put a run or a label under a legal hold. It is neither erased nor pruned until the hold is
    lifted."""
    if run and label:
        raise Invalid("give a run or --label, not both")
    if not (run or label):
        _print_holds(with_runtime(db, lambda rt: rt.holds()), as_json)
        return
    if not (reason or lift):
        raise Invalid(
            "a hold needs a reason",
            advice="give one with --reason: it is shown when erasing is refused",
        )
    name = person(db, by, right="admin", what="a legal hold").name

    async def work(rt: Runtime) -> tuple[str, list[Hold], list[Hold]]:
        if label:
            scope = f"label:{label}"
        else:
            scope = f"run:{(await find_run(rt, run)).id}"
        before = await rt.holds()
        return scope, before, await rt.hold(scope, by=name, reason=reason, lift=lift)

    scope, before, holds = with_runtime(db, work)
    if lift and scope not in {held.scope for held in before}:
        tell(f"Nothing to do: {visible(scope)} was not on hold.")
    _print_holds(holds, as_json)


def _print_holds(holds: list[Hold], as_json: bool) -> None:
    if give(as_json, [msgspec.to_builtins(held) for held in holds]):
        return
    for held in holds:
        out().print(
            Text.assemble(
                ("■ on hold  ", "yellow"),
                visible(held.scope),
                f"  by {visible(held.by)}: {visible(held.reason)}",
            )
        )
    if not holds:
        out().print("Nothing is on hold.")
