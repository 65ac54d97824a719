"""What a process counts of the runs that it advances, and of the decisions that are made in it. Plain
numbers: they are turned into text where somebody asks for them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

from adjourn.core.call import Phase
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Broke,
    Closed,
    Doubted,
    Fact,
    Move,
    Record,
    Replied,
    RunCancelled,
    RunCompleted,
    Submitted,
    Summarised,
    Suspended,
)
from adjourn.core.state import State
from adjourn.driver.program import Program
from adjourn.stores.protocol import Lease

COMMIT = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
STEP = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
START = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)
PEOPLE = (10.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 28_800.0, 86_400.0, 259_200.0, 604_800.0)
"""Upper bounds of the buckets, in seconds."""


class Histogram:
    """How many values there were up to each bound, and their sum.

    Args:
        bounds: the upper bounds, in order.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value.

        Args:
            value: the value; a clock that was set back makes it negative, which counts as 0.
        """
        if value < 0.0:
            value = 0.0
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)


class WatchedSegment(Program, Protocol):
    """The program of a run, whose steps somebody watches, from taking the run to handing it back."""

    def end(self, state: State) -> None:
        """The run rests, has ended, or was lost to another worker."""
        ...


class RunWatch(Protocol):
    """Who watches what the runs of this process do."""

    def begin(
        self, lease: Lease, tail: Sequence[tuple[int, AnyRecord]], program: Program
    ) -> WatchedSegment:
        """A worker has taken a run; `tail`: its last records."""
        ...


class Meter:
    """All that is counted in one runtime. Only its event loop's thread touches it. `watch`: who else
    is told, of all runtimes of this process."""

    watch: ClassVar[RunWatch | None] = None

    def __init__(self) -> None:
        self.commits = Histogram(COMMIT)
        self.starts = Histogram(START)
        self.steps = {
            kind: Histogram(STEP)
            for kind in (
                *("call", "model", "summary", "undo", "verify", "check"),
                *("background", "withdraw"),
            )
        }
        self.waits: dict[str, Histogram] = {}
        self.takeovers = self.doubts = 0
        self.ended: Counter[tuple[str, str]] = Counter()
        self.opened: Counter[str] = Counter()
        self.expired = 0
        self.undone: Counter[str] = Counter()
        self.tokens: Counter[tuple[str, str]] = Counter()
        self.cost: dict[str, float] = {}
        self.agents: dict[str, str] = {}  # of runs that wait for a person, when it was asked last

    def taken(self, lease: Lease, state: State) -> None:
        """A run was taken: what was in flight before is in doubt.

        Args:
            lease: how.
            state: what was known of it before.
        """
        self.takeovers += lease.lost
        for call in state.live.values():
            if call.phase == Phase.INTENDED and call.id not in state.threads:
                self.doubts += 1
        if lease.ready_at > 0.0:
            self.starts.observe(lease.now - lease.ready_at)

    def committed(
        self, program: str, took: float, facts: Iterable[Fact], moves: Iterable[Move]
    ) -> None:
        """Records of a run have landed.

        Args:
            program: the agent or flow.
            took: seconds.
            facts: what has landed,
            moves: and what else has.
        """
        self.commits.observe(took)
        for record in facts:
            if count := COUNTED.get(type(record)):
                count(self, program, record)
        for record in moves:
            if count := COUNTED.get(type(record)):
                count(self, program, record)

    def answered(self, outcome: str, waited: float) -> None:
        """A person has decided.

        Args:
            outcome: `approve`, `deny` or `value`.
            waited: seconds since it was asked.
        """
        if outcome not in self.waits:
            self.waits[outcome] = Histogram(PEOPLE)
        self.waits[outcome].observe(waited)


UNREAD = Meter()
"""For a drive whose numbers nobody asks for."""


def _used(meter: Meter, program: str, record: Replied | Broke | Summarised | Submitted) -> None:
    usage = record.usage
    meter.tokens[program, "input"] += usage.input_tokens
    meter.tokens[program, "output"] += usage.output_tokens
    meter.tokens[program, "cache_read"] += usage.cache_read_tokens
    meter.cost[program] = meter.cost.get(program, 0.0) + usage.cost


def _doubted(meter: Meter, _program: str, _record: Doubted) -> None:
    meter.doubts += 1


def _completed(meter: Meter, program: str, record: RunCompleted) -> None:
    status = "completed"
    if record.stopped:
        status = "stopped"
    meter.ended[program, status] += 1


def _cancelled(meter: Meter, program: str, record: RunCancelled) -> None:
    meter.ended[program, "cancelled"] += 1
    meter.undone["undone"] += len(record.undone)
    meter.undone["residue"] += len(record.residue)


def _asked(meter: Meter, _program: str, record: Asked | Suspended) -> None:
    if record.kind not in NOT_FOR_PEOPLE:
        meter.opened[record.kind] += 1


def _closed(meter: Meter, _program: str, record: Closed) -> None:
    meter.expired += record.why == "expired"


COUNTED: dict[type[Record], Callable[[Meter, str, Any], None]] = {
    Replied: _used,
    Broke: _used,
    Submitted: _used,
    Summarised: _used,
    Doubted: _doubted,
    RunCompleted: _completed,
    RunCancelled: _cancelled,
    Asked: _asked,
    Suspended: _asked,
    Closed: _closed,
}
"""What is counted of a record, by its type."""
