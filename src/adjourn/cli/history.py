"""`adjourn fork`: go on from the past of another run."""

from typing import Annotated

import typer

from adjourn.cli.database import with_runtime
from adjourn.cli.failure import says
from adjourn.cli.finding import run_at
from adjourn.cli.options import By, Db, Json, RunId, who
from adjourn.cli.terminal import out, print_json
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
