"""`adjourn fork`: go on from the past of another run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, Json, RunId, SigningKeyFile, option
from adjourn.cli.person import person
from adjourn.cli.terminal.console import give, out, remark
from adjourn.cli.terminal.format import arguments
from adjourn.core.fork import boundaries
from adjourn.core.records import AnyRecord, Forked
from adjourn.core.state import State
from adjourn.errors import Invalid
from adjourn.runtime.runtime import Runtime
from adjourn.views.run_view import CallView
from adjourn.views.visible import visible

if TYPE_CHECKING:
    from adjourn.server.rights import Right

app = typer.Typer()


@app.command()
@says("Not forked")
def fork(
    run: RunId,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="RECORD", help="Record to fork at; without it, the latest possible."
        ),
    ] = None,
    instruction: Annotated[
        str, option("TEXT", "A message that the agent reads first.", "--instruction")
    ] = "",
    answers: Annotated[
        str,
        typer.Option(
            metavar="reopen|keep",
            help="Answers given before the boundary: reopen asks again, keep records them as yours.",
        ),
    ] = "reopen",
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    signing_key: SigningKeyFile = "",
) -> None:
    """Start a new run from a boundary of another. Results recorded before it are reused, not
    repeated.

    Approvals are not inherited. With --answers reopen it starts before the first answer of a
    person; with keep, which needs the right to decide, the answers are recorded as yours.
    """
    if answers not in ("reopen", "keep"):
        raise Invalid(f"--answers must be 'reopen' or 'keep', got {answers!r}")
    keeps = answers == "keep"
    right: Right = "decide" if keeps else "control"
    name = person(db, by, right=right, what="keeping people's answers" if keeps else "a fork").name

    async def work(rt: Runtime) -> Fork:
        old = await rt.get((await find_run(rt, run)).id)
        wanted = at
        if wanted is None:
            wanted = boundaries(await _records(rt, old.id))[-1]
        made = await old.fork(at, instruction=instruction, answers=answers, by=name)
        return fork_of(await _records(rt, made.id), wanted)

    made = with_runtime(db, work, signing_key=signing_key or None)
    if give(as_json, made):
        return
    out().print(visible(made.run_id))
    remark(f"Cut from {visible(made.forked_from)} after record {made.at_seq}.")
    if made.reopened:
        remark("That is before the first answer of a person, which is asked again.")
    for call in made.inherited:
        done = f"{visible(call.tool)} {arguments(call.arguments)}".rstrip()
        remark(
            f"  inherited  {done}: done by {visible(made.forked_from)}, never undone by this run"
        )


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was forked: of which, after which record, whether answers are asked again, and
    what it inherited."""

    run_id: str
    forked_from: str
    at_seq: int
    answers: str
    reopened: bool
    inherited: tuple[CallView, ...]


async def _records(rt: Runtime, run: str) -> list[AnyRecord]:
    return [record for _, record in await rt.store.load(run)]


def fork_of(records: Sequence[AnyRecord], wanted: int) -> Fork:
    """What became of a fork, from its journal, and the boundary that was wanted."""
    state = State().fold_all(list(enumerate(records, 1)))
    here = next(record for record in reversed(records) if isinstance(record, Forked))
    inherited = tuple(CallView.of(call) for call in state.effects.values() if call.inherited)
    return Fork(
        run_id=state.run,
        forked_from=here.of,
        at_seq=here.at_seq,
        answers=here.answers,
        reopened=here.at_seq < wanted,
        inherited=inherited,
    )
