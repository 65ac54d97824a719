"""What a person wants to run, from the words of `adjourn run` and `adjourn start`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from adjourn.agent.agent import Agent
from adjourn.cli.completion import complete_runs
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.options import option
from adjourn.core.codec import loads
from adjourn.core.records import MOST_URGENT
from adjourn.core.status import ENDED
from adjourn.errors import Invalid, Refused
from adjourn.flow.flow import Flow
from adjourn.runtime.checked_answers import MISSING
from adjourn.runtime.resumption import Continuation, prepare
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime

Input = Annotated[
    str | None,
    typer.Argument(metavar="[INPUT]", help="The input; - reads it from stdin.", show_default=False),
]
Session = Annotated[
    str | None,
    typer.Option(
        help="The session it belongs to; it continues the session's last run.", show_default=False
    ),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="With --session: start a new conversation in the session.")
]
Labels = Annotated[list[str] | None, option("NAME=VALUE", "A label; may be repeated.", "--label")]
NewId = Annotated[str | None, option("ID", "The run's id; without it, one is generated.", "--id")]
Data = Annotated[bool, typer.Option("--data", help="INPUT is JSON, not text.")]
After = Annotated[
    str,
    typer.Option(
        metavar="RUN",
        help="A run that has ended: this is the next turn of its conversation.",
        show_default=False,
        autocompletion=complete_runs,
    ),
]

Priority = Annotated[
    int,
    typer.Option(
        help="Workers take ready runs with a larger number first.",
        min=-MOST_URGENT,
        max=MOST_URGENT,
    ),
]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a person wants to run: a program from its beginning, or a run that is there."""

    program: Agent[Any] | Flow
    input: Any = None
    run_id: str | None = None
    session: str | None = None
    labels: Mapping[str, str] | None = None
    resume: str = ""
    instruction: str = ""
    after: str = ""
    fresh: bool = False
    priority: int = 0

    async def begin(self, rt: Runtime, by: str) -> Run[Any]:
        """The run, going on in this process if nothing holds it up."""
        if not self.resume:
            before: Any = None if self.fresh else MISSING
            if self.after:
                before = (await find_run(rt, self.after)).id
            return await rt.start(
                self.program,
                self.input,
                run_id=self.run_id,
                session=self.session,
                labels=self.labels,
                by=by,
                after=before,
                priority=self.priority,
            )
        row = await find_run(rt, self.resume)
        run = await rt.get(row.id)
        if row.program != self.program.name:
            raise Invalid(
                f"{run.id!r} is a run of {row.program!r}, and this is {self.program.name!r}",
                advice="name its agent or flow",
            )
        if row.status in ENDED:
            raise Refused(
                run.id,
                "resume",
                row.shown(rt.store.now(), ()),
                advice="start a new run from it with `adjourn fork`",
            )
        wanted = Continuation(instruction=self.instruction or None, by=by, attended=True)
        prepared = await prepare(await run.checkpoint(), self.program, wanted, rt.store.now())
        for command in prepared.commands:
            await rt.deliver(run.id, command)
        rt.worker.wake(run.id)
        return run


def check_fresh(fresh: bool, session: str | None, after: str) -> None:
    """Raise `Invalid` if `--fresh` stands where it means nothing."""
    if fresh and (after or not session):
        raise Invalid(
            "--fresh needs --session and cannot be used with --after: it starts a new conversation"
        )


def input_of(given: str | None, is_json: bool) -> Any:
    """The input of a run as a person typed it.

    Args:
        given: the word; `-` reads it from stdin.
        is_json: whether it is JSON rather than text.
    """
    text = sys.stdin.read() if given == "-" else given
    if not is_json:
        return text
    if text is None:
        raise Invalid("--data says that INPUT is JSON, but INPUT is missing")
    return loads(text, what="INPUT")


def labels_of(given: list[str]) -> dict[str, str]:
    """Labels as names and values, of words such as `shop=oslo`."""
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, found, _ in pairs if not found]:
        raise Invalid(f"a label must be NAME=VALUE, got {wrong[0]!r}")
    return {name: value for name, _, value in pairs}
