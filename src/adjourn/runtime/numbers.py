"""Numbers of the runs of a time, added up from what the index of runs has counted of each."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from adjourn.core.status import RunStatus
from adjourn.core.usage import Usage
from adjourn.errors import Invalid
from adjourn.runtime.indexer import bring_up_to_date
from adjourn.stores.protocol import Store
from adjourn.stores.run_index import CountedRun, Wait
from adjourn.views.numbers_view import (
    AnswerNumbers,
    NumbersView,
    RunNumbers,
    ToolNumbers,
    WaitNumbers,
)

HOUR, DAY = 3_600, 86_400
FORTNIGHT = 14 * DAY
BY_HOUR = 3 * DAY
"""A time that is not longer is told by the hour, else by the day."""
LONGEST = 400 * DAY
PAGE = 500
CATCH_UP = 1_000
"""Runs that are brought up to date before it is counted; the rest is left to the next look."""
ENDS = (RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.FAILED, RunStatus.CANCELLED)
ANSWERS = {
    "approve": "approved",
    "edit": "edited",
    "deny": "denied",
    "instead": "instead",
    "dismiss": "dismissed",
}
"""What is counted apart; other answers are counted as told."""

T = TypeVar("T", bound="RunTally | ToolTally | WaitTally")


class WaitTally:
    """Questions to people, and how long each answer took."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("expired", "dropped", "open", *ANSWERS.values(), "told"), 0)
        self.stood = 0
        self.times: list[float] = []

    def add(self, wait: Wait) -> None:
        """One more."""
        if not wait.until:
            self.counts["open"] += 1
        elif wait.verdict == "stood":
            self.stood += 1
        elif wait.verdict == "expired":
            self.counts["expired"] += 1
        elif wait.by:
            self.counts[ANSWERS.get(wait.verdict, "told")] += 1
            self.times.append(wait.until - wait.at)
        else:
            self.counts["dropped"] += 1

    def merge(self, other: "WaitTally") -> None:
        """All of another one, too."""
        for name, count in other.counts.items():
            self.counts[name] += count
        self.stood += other.stood
        self.times += other.times

    def view(self) -> WaitNumbers:
        """As data."""
        times = sorted(self.times)
        return WaitNumbers(
            asked=sum(self.counts.values()),
            answered=len(times),
            half=share_of(times, 0.5),
            slow=share_of(times, 0.95),
            stood=self.stood,
            **self.counts,
        )


def share_of(times: list[float], share: float) -> float | None:
    """The smallest of these sorted numbers below or at which this share of them is."""
    if not times:
        return None
    return round(times[math.ceil(len(times) * share) - 1], 3)


class RunTally:
    """Runs, how they ended, and what they used."""

    def __init__(self) -> None:
        self.runs = self.estimated = 0
        self.ends = dict.fromkeys(ENDS, 0)
        self.usage, self.inherited = Usage(), Usage()
        self.waits = WaitTally()

    def add(self, run: CountedRun) -> None:
        """One more. What a fork has inherited was used by another run."""
        self.runs += 1
        if run.status in self.ends:
            self.ends[run.status] += 1
        self.usage += run.facts.usage
        self.inherited += run.facts.inherited
        self.estimated += run.facts.usage.estimated
        for wait in run.facts.waits.values():
            self.waits.add(wait)

    def merge(self, other: "RunTally") -> None:
        """All of another one, too."""
        self.runs += other.runs
        self.estimated += other.estimated
        for end, count in other.ends.items():
            self.ends[end] += count
        self.usage += other.usage
        self.inherited += other.inherited
        self.waits.merge(other.waits)

    def view(self, name: str, at: float) -> RunNumbers:
        """As data."""
        used, other = self.usage, self.inherited
        return RunNumbers(
            name=name,
            at=at,
            runs=self.runs,
            completed=self.ends[RunStatus.COMPLETED],
            stopped=self.ends[RunStatus.STOPPED],
            failed=self.ends[RunStatus.FAILED],
            cancelled=self.ends[RunStatus.CANCELLED],
            open=self.runs - sum(self.ends.values()),
            requests=used.requests - other.requests,
            input_tokens=used.input_tokens - other.input_tokens,
            output_tokens=used.output_tokens - other.output_tokens,
            cache_read_tokens=used.cache_read_tokens - other.cache_read_tokens,
            cost=round(used.cost - other.cost, 9),
            estimated=self.estimated,
            waits=self.waits.view(),
        )


class ToolTally:
    """Calls of a tool."""

    def __init__(self) -> None:
        self.calls = self.failed = 0
        self.took = 0.0
        self.waits = WaitTally()

    def view(self, name: str) -> ToolNumbers:
        """As data."""
        return ToolNumbers(
            name=name,
            calls=self.calls,
            failed=self.failed,
            took=round(self.took, 6),
            waits=self.waits.view(),
        )


def _moment(at: float) -> str:
    """A time as people read it; whatever is none, as it was given."""
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError, TypeError):
        return f"{at!r:.40}"


class NumbersTally:
    """All numbers of a time.

    Args:
        since, until: the time.
        offset: minutes that the clock of who reads it is ahead of UTC: where a day begins.
    """

    def __init__(self, since: float, until: float, offset: int = 0) -> None:
        if not 0 <= since < until or until - since > LONGEST:
            raise Invalid(
                f"the period must end after it begins and have at most {LONGEST // DAY} days, "
                f"got {_moment(since)} to {_moment(until)}"
            )
        self.since, self.until, self.ahead = since, until, offset * 60
        self.step = HOUR if until - since <= BY_HOUR else DAY
        self.cells: dict[tuple[float, str], RunTally] = {}
        self.tools: dict[str, ToolTally] = {}
        self.groups: dict[str, WaitTally] = {}
        self.people: dict[str, WaitTally] = {}

    def _begins(self, at: float) -> float:
        return (at + self.ahead) // self.step * self.step - self.ahead

    def add(self, run: CountedRun) -> None:
        """One more run."""
        cell = (self._begins(run.created_at), run.program)
        if cell not in self.cells:
            self.cells[cell] = RunTally()
        self.cells[cell].add(run)
        for name, count in run.facts.tools.items():
            tool = _of(self.tools, name, ToolTally)
            tool.calls += count.calls
            tool.failed += count.failed
            tool.took += count.took
        for wait in run.facts.waits.values():
            if wait.tool:
                _of(self.tools, wait.tool, ToolTally).waits.add(wait)
            for group in wait.groups:
                _of(self.groups, group, WaitTally).add(wait)
            if wait.by:
                _of(self.people, wait.by, WaitTally).add(wait)

    def view(self, counted_at: float, complete: bool) -> NumbersView:
        """As data, with the times of people."""
        total = RunTally()
        by_time: dict[float, RunTally] = {}
        by_agent: dict[str, RunTally] = {}
        start = self._begins(self.since)
        while start < self.until:
            by_time[start] = RunTally()
            start += self.step
        for (start, program), cell in self.cells.items():
            for tally in (total, by_time[start], _of(by_agent, program, RunTally)):
                tally.merge(cell)
        agents = [tally.view(name, self.since) for name, tally in by_agent.items()]
        tools = [tally.view(name) for name, tally in self.tools.items()]
        return NumbersView(
            since=self.since,
            until=self.until,
            step=self.step,
            counted_at=counted_at,
            complete=complete,
            total=total.view("", self.since),
            times=tuple(tally.view("", at) for at, tally in by_time.items()),
            agents=tuple(sorted(agents, key=lambda one: (-one.runs, one.name))),
            tools=tuple(sorted(tools, key=lambda one: (-one.calls, one.name))),
            groups=_answers(self.groups),
            people=_answers(self.people),
        )


def _of(tallies: dict[str, T], name: str, make: type[T]) -> T:
    found = tallies.get(name)
    if found is None:
        found = tallies[name] = make()
    return found


def _answers(tallies: Mapping[str, WaitTally]) -> tuple[AnswerNumbers, ...]:
    found = [AnswerNumbers(name=name, waits=tally.view()) for name, tally in tallies.items()]
    return tuple(sorted(found, key=lambda one: (-one.waits.asked, one.name)))


async def numbers(store: Store, since: float, until: float, offset: int = 0) -> NumbersView:
    """The numbers of the runs that began in a time, with the times of people.

    Args:
        store: where the runs are.
        since, until: the time.
        offset: minutes that the clock of who reads it is ahead of UTC.
    """
    tally = NumbersTally(since, until, offset)
    await bring_up_to_date(store, CATCH_UP)
    index, after = store.run_index(), 0
    while True:  # each page awaits the store: others have their turn
        page = await index.counts(since, until, after=after, limit=PAGE)
        for run in page:
            tally.add(run)
        if len(page) < PAGE:
            break
        after = page[-1].number
    return tally.view(store.now(), complete=not await index.stale(1))


def with_people(view: NumbersView, names: Iterable[str] | None) -> NumbersView:
    """The numbers with the times of these people only; None: of none, and they are not given."""
    if names is None:
        return msgspec.structs.replace(view, people=None)
    wanted = frozenset(names)
    shown = tuple(one for one in view.people or () if one.name in wanted)
    return msgspec.structs.replace(view, people=shown)
