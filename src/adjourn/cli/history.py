"""Commands about the past: `fork` goes on from it, `audit` shows it and checks that nobody changed it."""

import time
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.database import with_runtime
from adjourn.cli.failure import says
from adjourn.cli.finding import run_at
from adjourn.cli.options import By, Db, Json, RunId, who
from adjourn.cli.terminal import out, print_json
from adjourn.cli.visible import visible
from adjourn.cli.words import DIM, short_id
from adjourn.runtime.runtime import Runtime

app = typer.Typer()


@app.command()
@says("Not forked")
def fork(
    run: RunId,
    at: Annotated[
        int | None, typer.Option("--at", metavar="RECORD", help="The boundary to begin from; without it, the latest.")
    ] = None,
    instruction: Annotated[
        str,
        typer.Option("--instruction", metavar="TEXT", help="What the agent reads as it goes on.", show_default=False),
    ] = "",
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Start a new run from a boundary of another. What is recorded before it is reused, not done again."""

    async def work(rt: Runtime) -> str:
        return (await (await run_at(rt, run)).fork(at, instruction=instruction, by=who(by))).id

    new = with_runtime(db, work)
    if as_json:
        print_json({"id": new})
    else:
        out().print(new)


@app.command()
@says("Not checked")
def audit(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[RUN | verify]", help="A run's id; or 'verify' to check every chain.", show_default=False
        ),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="So many lines.")] = 100,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Who wanted what, when, from where, why, and what came of it. `audit verify` finds any edit, deletion or reorder."""
    if what == "verify":
        _verify(db, as_json)
        return

    async def work(rt: Runtime) -> list[dict[str, Any]]:
        return await (await run_at(rt, what)).audit(limit=limit) if what else await rt.audit(limit=limit)

    lines = with_runtime(db, work)
    if as_json:
        print_json(lines)
        return
    for line in lines:
        out().print(_shown(line))


def _shown(line: dict[str, Any]) -> Text:
    about = line.get("interrupt") or line.get("scope") or ""
    why = line.get("note") or line.get("reason") or ""
    result = (
        f"refused: {line['refused']}" if line.get("refused") else f"record {line['seq']}" if line.get("seq") else ""
    )
    run = short_id(line["run"]) if line.get("run") else "-"
    words = [
        line["verb"],
        line.get("verdict", ""),
        about,
        f"by {line.get('by') or '-'}",
        f"from {line.get('from') or '-'}",
        why,
    ]
    said = visible("  ".join(str(w) for w in words if w))
    return Text.assemble(
        time.strftime("%Y-%m-%d %H:%M:%S  ", time.localtime(line["at"])),
        (f"{run:9}  ", DIM),
        said,
        ("  " + visible(result), "red" if line.get("refused") else DIM),
    )


def _verify(db: str | None, as_json: bool) -> None:
    broken = with_runtime(db, lambda rt: rt.verify())
    if as_json:
        print_json({"broken": broken})
    else:
        for place in broken:
            out().print(Text.assemble(("✗ ", "red"), visible(place)))
        if not broken:
            out().print("Every journal and the audit are as they were written.")
    if broken:
        raise typer.Exit(1)
