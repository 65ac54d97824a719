"""How long a halt has held a run, from its journal: a worker that finds everything forbidden parks
the run and says which halts it were."""

from typing import Protocol

from adjourn.core import records as r
from adjourn.core.halt import scope_parts
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.words import SpanKind, StepKind, StepStatus


class AddStep(Protocol):
    """Adds a step to a timeline."""

    def __call__(self, kind: StepKind, id: str, name: str, *, at: float) -> TimelineStep: ...


class HeldTime:
    """The hold that is going on, if there is one. It ends where the run was taken up to go on: a
    worker that only looks, and parks it again, does not end it."""

    def __init__(self, add: AddStep) -> None:
        self._add = add
        self._step: TimelineStep | None = None
        self._taken_up = 0.0

    def take(self, x: r.AnyRecord) -> TimelineStep | None:
        """Take in one record; the step that it changed."""
        step = self._step
        if isinstance(x, r.Parked) and x.blocked:
            if step is None:
                step = self._step = self._add(StepKind.HOLD, "", "held", at=x.at)
                step.status = StepStatus.HELD
                step.begin(SpanKind.PAUSE, x.at)
            step.text, self._taken_up = _words(x.blocked), 0.0
            return step
        if step is None:
            return None
        if isinstance(x, r.Claimed):
            self._taken_up = x.at
            return None
        if not self._taken_up and not isinstance(x, r.RunCompleted | r.RunCancelled):
            return None
        step.end(StepStatus.NONE, "", self._taken_up or x.at)
        self._step, self._taken_up = None, 0.0
        return step


def _words(scopes: tuple[str, ...]) -> str:
    """`by the halt of tool refund`."""
    named: list[str] = []
    for scope in scopes:
        kind, name = scope_parts(scope)
        named.append(f"{kind} {name}" if name else "everything")
    return f"by the halt of {' and '.join(named)}"
