"""`adjourn compare`: two runs beside each other."""

from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.completion import complete_runs
from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import Db, Json
from adjourn.cli.terminal.console import give, out, remark
from adjourn.cli.terminal.format import DIM, arguments, brief, count, duration, exact, money
from adjourn.runtime.runtime import Runtime
from adjourn.views.run_comparison import ComparedRun, ComparedStep, RunComparison, StepPair
from adjourn.views.visible import visible

app = typer.Typer()

First = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Run id or a unique prefix.", autocompletion=complete_runs),
]
Second = Annotated[
    str,
    typer.Argument(
        metavar="OTHER", help="The run to compare it with.", autocompletion=complete_runs
    ),
]
Everything = Annotated[bool, typer.Option("--all", help="Also print the steps that are equal.")]
SHOWN = ("arguments", "text", "said", "result", "error", "note")
"""The fields of a step whose values are printed where they differ."""


@app.command()
@says("Not compared")
def compare(
    run: First,
    other: Second,
    everything: Everything = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Compare two runs step by step.

    Steps of the same tool are beside each other: `~` differs, `-` only the first run has, `+` only
    the second.
    """

    async def work(rt: Runtime) -> RunComparison:
        return await rt.compare((await find_run(rt, run)).id, (await find_run(rt, other)).id)

    found = with_runtime(db, work)
    if give(as_json, found):
        return
    _print_runs(found)
    for pair in found.steps:
        if everything or not pair.is_same:
            _print_pair(pair)
    if found.cut:
        remark("Only the first 1,000 steps of each are compared.")


def _print_runs(found: RunComparison) -> None:
    for mark, one in (("-", found.left), ("+", found.right)):
        out().print(Text.assemble(f"{mark} {visible(one.run_id)}  ", (_facts(one), DIM)))
    if found.left.input != found.right.input:
        out().print(f"  input: {exact(found.left.input)} → {exact(found.right.input)}")
    relation = _relation(found)
    if all(pair.is_same for pair in found.steps):
        said = "No step differs."
    else:
        said = f"Equal at the beginning: {count(found.same, 'step')}; then they differ."
    out().print(f"{relation}{said}", "")


def _relation(found: RunComparison) -> str:
    later = found.left if found.origin == found.right.run_id else found.right
    both = f"{visible(later.run_id)} {{}} {visible(found.origin)}"
    if found.relation == "fork":
        inherited = f"{count(found.inherited, 'step')} inherited, not run again"
        return f"{both.format('is a fork of')}, cut after record {found.at_seq}: {inherited}. "
    if found.relation == "again":
        return f"{both.format('repeats')}. "
    return ""


def _facts(run: ComparedRun) -> str:
    tokens = run.usage.input_tokens + run.usage.output_tokens
    worked = f"worked {duration(run.worked)}, waited {duration(run.waited)}"
    return f"{run.status}, {worked}, {tokens:,} tok, {money(run.usage.cost)}"


def _print_pair(pair: StepPair) -> None:
    left, right = pair.left, pair.right
    if left is None or right is None:
        mark, step = "-", left
        if left is None:
            mark, step = "+", right
        assert step is not None
        out().print(f"{mark} {_line(step)}")
        return
    mark = " " if pair.is_same else "~"
    out().print(f"{mark} {_line(left)}")
    if "status" in pair.differs:
        out().print(f"    status: {left.status} → {right.status}")
    for name in SHOWN:
        if name in pair.differs:
            out().print(f"    {name}: {_value(left, name)} → {_value(right, name)}")


def _line(compared: ComparedStep) -> str:
    said = (
        arguments(compared.arguments)
        if compared.arguments is not None
        else visible(brief(compared.text))
    )
    inherited = "  (inherited)" if compared.inherited else ""
    return f"{compared.call_id:>4}  {visible(compared.name)}  {said}".rstrip() + inherited


def _value(compared: ComparedStep, name: str) -> str:
    value: Any = getattr(compared, name)
    return exact(value)
