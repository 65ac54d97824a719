"""`adjourn numbers`: what the runs of a time did, added up."""

import time
from typing import Annotated

import typer

from adjourn.cli.error_report import says
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, Json, option
from adjourn.cli.person import person
from adjourn.cli.terminal.console import give, numbered, out, print_section, remark
from adjourn.cli.terminal.format import count, duration, money
from adjourn.cli.times import past_time
from adjourn.runtime.runtime import Runtime
from adjourn.views.numbers_view import (
    AnswerNumbers,
    NumbersView,
    RunNumbers,
    ToolNumbers,
    WaitNumbers,
)
from adjourn.views.visible import visible

app = typer.Typer()

Since = Annotated[
    str, option("TIME", "Only runs started since then: 24h, 14d or a date.", "--since")
]
Until = Annotated[str, option("TIME", "Only runs started before then.", "--until")]
People = Annotated[
    bool,
    typer.Option(
        "--people",
        help="Also how long each person takes to answer; where there are users, for admins.",
    ),
]
Times = Annotated[
    bool, typer.Option("--times", help="Also by day, or by hour of up to three days.")
]

RUNS = ("RUNS", "FAILED", "CANCELLED", "OPEN", "SPEND", "TOKENS")
WAITS = ("ASKED", "EXPIRED", "HALF WITHIN", "SLOWEST 5 %")
TOOLS = ("TOOL", "CALLS", "FAILED", "TOOK", *WAITS)
VERDICTS = ("APPROVED", "EDITED", "DENIED", "INSTEAD", "DISMISSED", "TOLD", "STANDING")


@app.command()
@says("Not counted")
def numbers(
    since: Since = "14d",
    until: Until = "",
    times: Times = False,
    people: People = False,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Count runs, failures, spend, tokens and waits.

    Counted are the runs that began in the time, with all that they have done since: by agent, tool
    and group. The waits are how long people let agents wait.
    """
    if people:
        person(db, by, right="admin", what="seeing the times of people")

    async def work(rt: Runtime) -> NumbersView:
        now = rt.store.now()
        end = past_time(until, now, end=True) if until else 0.0
        shown = "all" if people else None
        return await rt.numbers(past_time(since, now), end, offset=_offset(now), people=shown)

    found = with_runtime(db, work)
    if give(as_json, found):
        return
    _print_sentences(found)
    if times:
        print_section(
            ("TIME", *RUNS, *WAITS), [_time_cells(one, found.step) for one in found.times], numbered
        )
    print_section(("AGENT", *RUNS, *WAITS), [_run_cells(one) for one in found.agents], numbered)
    print_section(TOOLS, [_tool_cells(one) for one in found.tools], numbered)
    print_section(
        ("GROUP", *WAITS, *VERDICTS), [_answer_cells(one) for one in found.groups], numbered
    )
    if people:
        answers = [_answer_cells(one) for one in found.people or ()]
        print_section(("PERSON", *WAITS, *VERDICTS), answers, numbered)
    if not found.complete:
        remark("Some runs have changed meanwhile: the next count includes them.")


def _offset(now: float) -> int:
    """Minutes that the clock of this machine is ahead of UTC."""
    return int(time.localtime(now).tm_gmtoff // 60)


def _print_sentences(found: NumbersView) -> None:
    total, waits = found.total, found.total.waits
    ends = f"{total.completed} completed, {total.failed} failed, {total.cancelled} cancelled, "
    ends += f"{total.stopped} stopped, {total.open} open"
    out().print(f"{count(total.runs, 'run')}: {ends}")
    about = ""
    if total.estimated:
        about = f", of {count(total.estimated, 'run')} estimated"
    tokens = total.input_tokens + total.output_tokens
    cached = f"{total.cache_read_tokens:,} of them read from a cache"
    out().print(f"Spend {money(total.cost)}{about}; {tokens:,} tokens, {cached}")
    answered = f"{waits.answered} answered, {waits.expired} expired, {waits.open} open"
    said = f"{count(waits.asked, 'question')} to people: {answered}"
    if waits.half is not None and waits.slow is not None:
        said += f"; half within {duration(waits.half)}, slowest 5 % from {duration(waits.slow)}"
    out().print(said)


def _run_cells(one: RunNumbers) -> list[str]:
    ended = [str(one.runs), str(one.failed), str(one.cancelled), str(one.open)]
    tokens = f"{one.input_tokens + one.output_tokens:,}"
    return [visible(one.name), *ended, money(one.cost), tokens, *_wait_cells(one.waits)]


def _time_cells(one: RunNumbers, seconds: int) -> list[str]:
    pattern = "%Y-%m-%d %H:%M"
    if seconds >= 86_400:
        pattern = "%Y-%m-%d"
    return [time.strftime(pattern, time.localtime(one.at)), *_run_cells(one)[1:]]


def _tool_cells(one: ToolNumbers) -> list[str]:
    ran = [visible(one.name), str(one.calls), str(one.failed), duration(one.took)]
    return [*ran, *_wait_cells(one.waits)]


def _answer_cells(one: AnswerNumbers) -> list[str]:
    waits = one.waits
    decided = (waits.approved, waits.edited, waits.denied, waits.instead, waits.dismissed)
    verdicts = [str(number) for number in (*decided, waits.told, waits.stood)]
    return [visible(one.name), *_wait_cells(waits), *verdicts]


def _wait_cells(waits: WaitNumbers) -> list[str]:
    return [str(waits.asked), str(waits.expired), _span(waits.half), _span(waits.slow)]


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return duration(seconds)
