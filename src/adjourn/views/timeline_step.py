"""One step of a timeline, as it comes about."""

from dataclasses import dataclass, field
from typing import Any

from adjourn.core.files import refs_in
from adjourn.core.ids import depth
from adjourn.views.decision_view import EarlierApproval, StepDecision
from adjourn.views.words import SpanKind, StepKind, StepStatus

UNFINISHED = (
    StepStatus.READY,
    StepStatus.RUNNING,
    StepStatus.WAITING,
    StepStatus.PAUSING,
    StepStatus.PAUSED,
    StepStatus.HELD,
)
"""Where a step has not come to its end."""


@dataclass(slots=True)
class Stretch:
    """A stretch of time in which a step ran, waited for a person or was stopped."""

    kind: SpanKind
    start: float
    end: float | None = None


@dataclass(slots=True)
class TimelineStep:
    """One step, as far as it is known; see `StepView` for its fields.

    `interrupt` is the id inside the run of what it waits for. `took` is None while the step has not
    come to its end or to a stop, and for what takes no time. `given` has the references to the
    files that a run was started with, or that a reply has.
    """

    number: int
    kind: StepKind
    call_id: str
    name: str
    text: str = ""
    said: Any = None
    status: StepStatus = StepStatus.NONE
    note: str = ""
    path: str = ""
    at: float = 0.0
    took: float | None = None
    arguments: Any = None
    result: Any = None
    error: str = ""
    ran: bool = False
    spans: list[Stretch] = field(default_factory=list[Stretch])
    digest: str = ""
    effect: str = ""
    undo: bool = False
    reason: str = ""
    rules: tuple[str, ...] = ()
    attempt: int = 0
    tokens: int = 0
    interrupt: str = ""
    interrupt_kind: str = ""
    in_doubt: bool = False
    is_edited: bool = False
    is_undone: bool = False
    inherited: bool = False
    asked_at: float | None = None
    decision: StepDecision | None = None
    earlier: EarlierApproval | None = None
    valid_for: float = 0.0
    given: tuple[dict[str, Any], ...] = ()
    first_seq: int = 0
    last_seq: int = 0

    @property
    def depth(self) -> int:
        """How deep it is nested; 0 is the run's own agent."""
        return depth(self.path)

    @property
    def files(self) -> list[dict[str, Any]]:
        """The references to files in it: what it was given, and what came of it."""
        return [*self.given, *refs_in(self.result)]

    @property
    def since(self) -> float:
        """When it began, or began to wait, the last time."""
        if self.spans:
            return self.spans[-1].start
        return self.at

    def begin(self, kind: SpanKind, at: float) -> None:
        """A new stretch of time; the one before it ends here."""
        self.close(at)
        self.spans.append(Stretch(kind, at))
        self.took, self.inherited = None, False

    def inherit(self) -> None:
        """A fork begins here: what has come to its end was done by another run."""
        self.inherited = self.status not in UNFINISHED

    def close(self, at: float) -> None:
        """The stretch of time that is open ends."""
        if self.spans and self.spans[-1].end is None:
            self.spans[-1].end = max(at, self.spans[-1].start)

    def end(self, status: StepStatus, note: str, at: float, took: float | None = None) -> None:
        """It has come to its end, or to a stop."""
        if took is None:
            self.took = max(0.0, at - self.since)
        else:
            self.took = took
        self.close(at)
        self.status, self.note, self.in_doubt = status, note, False
