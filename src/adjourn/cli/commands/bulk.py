"""`adjourn bulk`: the same to many runs. Which they are is shown first, and at a terminal a person is
asked."""

from typing import Annotated

import typer
from rich.text import Text

from adjourn.cli.completion import complete_runs
from adjourn.cli.error_report import says
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import (
    AgentFilter,
    By,
    Db,
    DryRun,
    Json,
    Reason,
    RequestId,
    StatusFilter,
    option,
)
from adjourn.cli.person import person
from adjourn.cli.suggestions import check_runs_of
from adjourn.cli.terminal.console import give, is_attended, out, remark
from adjourn.cli.terminal.format import DIM, count, status_mark
from adjourn.cli.terminal.prompt import agreed
from adjourn.core.status import RunStatus
from adjourn.errors import Invalid
from adjourn.runtime.bulk_verbs import MOST, BulkOutcome, BulkVerb
from adjourn.runtime.runtime import Runtime
from adjourn.views.bulk_view import BulkPreview
from adjourn.views.visible import visible

app = typer.Typer()
DONE = {
    BulkVerb.PAUSE: "paused",
    BulkVerb.RESUME: "resumed",
    BulkVerb.CANCEL: "cancelled",
    BulkVerb.DENY: "denied",
}
SHOWN = 20
"""Runs that are listed before a person is asked."""


@app.command()
@says("Nothing was done")
def bulk(
    verb: Annotated[
        BulkVerb, typer.Argument(metavar="VERB", help="pause, resume, cancel or deny.")
    ],
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Ids of runs; without them, the runs that match the options.",
            show_default=False,
            autocompletion=complete_runs,
        ),
    ] = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    status: StatusFilter = "",
    agent: AgentFilter = "",
    search: Annotated[
        str, option("TEXT", "Only runs with these words or keys, as in `adjourn runs`.")
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="All runs, without a filter.")] = False,
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    request_id: RequestId = "",
) -> None:
    """Pause, resume, cancel or deny many runs, with one reason.

    Each run answers for itself: what is refused is listed, and stops none of the others. `resume`
    also retries failed runs. At most 1,000 at once, the newest first. With `--request-id` the runs
    are named: the same options may find others later.
    """
    _check_choice(bool(runs), every or bool(status or agent or search), request_id and not dry_run)
    if verb == BulkVerb.DENY:
        name = person(db, by, right="decide", what="denying").name
    else:
        name = person(db, by).name

    async def chosen(rt: Runtime) -> list[str]:
        if runs:
            return runs
        found = await rt.runs(status=status, agent=agent, search=search, limit=MOST)
        if not found:
            await check_runs_of(rt, agent)
        return [run.run_id for run in found]

    async def look(rt: Runtime) -> list[BulkOutcome]:
        return await rt.bulk(verb, await chosen(rt), by=name, dry_run=True)

    found = with_runtime(db, look)
    if dry_run or not found:
        _print(found, as_json, would=True)
        return
    if not yes:
        _agree(verb, found)
    ids = [one.run_id for one in found]
    done = with_runtime(
        db, lambda rt: rt.bulk(verb, ids, by=name, note=reason, request_id=request_id)
    )
    _print(done, as_json, would=False)
    refused = [one for one in done if one.refused]
    if not as_json:
        remark(f"{len(done) - len(refused)} of {len(done)} {DONE[verb]}.")
    if refused:
        raise typer.Exit(1)


def _check_choice(named: bool, found: bool, once: object) -> None:
    """That it is said which runs: their ids, or what finds them. What is to be done once, however
    often it is sent, names them."""
    if named and found:
        raise Invalid("give either run ids or options that select runs")
    if not named and not found:
        raise Invalid(
            "no runs were selected",
            advice="give run ids, a status, an agent or a search, or use --all",
        )
    if found and once:
        raise Invalid(
            "--request-id needs run ids: the same options may match other runs later",
            consequence="nothing was done",
            advice="list them with --dry-run, then give their ids after the verb",
        )


def _agree(verb: BulkVerb, found: list[BulkOutcome]) -> None:
    """Ask the person at the terminal."""
    if not is_attended():
        raise Invalid(
            f"this would {verb} {count(len(found), 'run')}",
            consequence="nothing was done",
            advice="check with --dry-run, then use --yes",
        )
    _print(found[:SHOWN], False, would=True)
    if len(found) > SHOWN:
        remark(f"and {len(found) - SHOWN} more")
    if not agreed(f"{verb.capitalize()} {count(len(found), 'run')}?"):
        raise Invalid("the runs were not changed", consequence="nothing was done")


def _print(outcomes: list[BulkOutcome], as_json: bool, *, would: bool) -> None:
    if give(as_json, [_data(one, would) for one in outcomes]):
        return
    terminal = out()
    for one in outcomes:
        mark = status_mark(one.status or RunStatus.READY)
        line = Text.assemble(mark, "  ", visible(one.run_id), "  ", (visible(one.title), DIM))
        if one.preview is not None:
            line.append(f"  {_words(BulkPreview.of(one.preview))}")
        if one.refused is not None:
            line.append(f"  refused: {visible(str(one.refused))}", style="red")
        terminal.print(line)
    if would:
        remark(f"{count(len(outcomes), 'run')}. Nothing was changed.")


def _words(preview: BulkPreview) -> str:
    words = f"{preview.in_flight} in flight, {preview.undone} undone"
    if preview.stays:
        words += f", stays: {', '.join(map(visible, preview.stays))}"
    return words


def _data(one: BulkOutcome, would: bool) -> dict[str, object]:
    return {
        "run_id": one.run_id,
        "title": one.title,
        "status": one.status,
        "refused": str(one.refused) if one.refused else None,
        "preview": BulkPreview.of(one.preview) if one.preview else None,
        "dry_run": would,
    }
