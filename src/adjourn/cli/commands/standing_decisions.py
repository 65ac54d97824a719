"""Commands about decisions that stand for later calls: `standing` and `revoke`."""

import typer

from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find, find_run
from adjourn.cli.opened_database import address_of, with_runtime
from adjourn.cli.options import By, Db, InterruptId, Json, Note, RequestId, RunId
from adjourn.cli.person import person
from adjourn.cli.terminal.console import give, out, remark
from adjourn.cli.terminal.format import duration
from adjourn.cli.terminal.hints import command
from adjourn.runtime.runtime import Runtime
from adjourn.views.standing_view import StandingState, StandingView
from adjourn.views.visible import visible

app = typer.Typer()


@app.command()
@says("Not shown")
def standing(run: RunId, db: Db = None, as_json: Json = False) -> None:
    """List the decisions of a run that stand for later calls.

    Those that have ended are listed as well.
    """

    async def work(rt: Runtime) -> tuple[list[StandingView], float]:
        row = await find_run(rt, run)
        return await rt.standing(row.id), rt.store.now()

    found, now = with_runtime(db, work)
    if give(as_json, found):
        return
    if not found:
        remark("This run has no standing decisions.")
    terminal = out()
    for view in found:
        terminal.print(standing_line(view, now))
        if view.state == StandingState.STANDS:
            remark(f"  {command(db, 'revoke', view.ref)}")


def standing_line(view: StandingView, now: float) -> str:
    """A standing decision in one line."""
    word = "Denied" if view.denies else "Approved"
    used = f"{view.uses} used"
    if view.times:
        used = f"{view.uses} of {view.times} used"
    parts = [f"{word} by {' and '.join(map(visible, view.by))}", visible(view.says), used]
    if view.state != StandingState.STANDS:
        parts.append(view.state.value)
    elif view.until:
        parts.append(f"{duration(view.until - now)} left")
    return f"{visible(view.tool)}  {' · '.join(parts)}"


@app.command()
@says("Not revoked")
def revoke(
    item: InterruptId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    note: Note = "",
    request_id: RequestId = "",
) -> None:
    """Revoke a standing decision.

    Calls that have begun continue; no other begins on it, and a person is asked again.
    """
    decider = person(db, by, right="decide")

    async def work(rt: Runtime) -> tuple[str, str, int]:
        found = (await find(rt, address_of(db), item)).interrupt
        seq = await rt.revoke(found, by=decider.name, note=note, request_id=request_id)
        return found.ref, found.run_id, seq

    ref, run_id, seq = with_runtime(db, work)
    if give(as_json, {"ref": ref, "run_id": run_id, "by": decider.name, "seq": seq}):
        return
    out().print(f"✓ Revoked by {visible(decider.name)}: {visible(ref)}")
    remark("  Later calls of its tool need approval again.")
