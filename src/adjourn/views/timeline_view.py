"""A run's steps as data: each with every field, whatever its value."""

from typing import Any

import msgspec

from adjourn.core.action_digest import idempotency_key
from adjourn.core.flow_place import place_words
from adjourn.core.ids import ref_of
from adjourn.core.state import State
from adjourn.core.status import RunStatus, Status
from adjourn.stores.run_row import RunRow
from adjourn.views.call_outcome import CallOutcome, outcome_of
from adjourn.views.decision_view import EarlierApproval, StepDecision
from adjourn.views.filled_view import filled
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.words import BarKind, SpanKind, StepKind, StepStatus

BARS = 60
"""Stretches of time in a run's spans: more would not be seen."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time in which a step ran, waited for a person or was stopped; `end` is null
    while it lasts."""

    kind: SpanKind
    start: float
    end: float | None


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a run's time, for its picture in a list; `status` is that of its step."""

    kind: BarKind
    start: float
    end: float | None
    status: StepStatus


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a run. `number` is its place in the list; `first_seq` and `last_seq` are the
    records that made and last changed it.

    `call_id` is a call's address in its run, and `path` that of the nested agent it belongs to.
    `text` is prose; `said` is what was said, asked or came out, as it was recorded (null: nothing
    was). `took` is null until the step has ended or stopped, and for what takes no time. While it
    waits, `interrupt_ref` and `interrupt_kind` say for what. `in_doubt`: it is unknown whether it
    happened. `asked_at` and `decision`: when people were asked about it, and what became of that;
    `outcome`: what came of it then; `earlier`: why it was asked again. `place`:
    where it stands in a flow, in words. `inherited`: another run did it, before this one was forked
    from it.
    """

    number: int
    depth: int
    attempt: int
    tokens: int
    first_seq: int
    last_seq: int
    kind: StepKind
    status: StepStatus
    call_id: str
    name: str
    agent: str
    path: str
    text: str
    said: Any
    note: str
    error: str
    reason: str
    effect: str
    digest: str
    idempotency_key: str
    interrupt_ref: str
    interrupt_kind: str
    rules: tuple[str, ...]
    asked_at: float | None
    decision: StepDecision | None
    earlier: EarlierApproval | None
    outcome: CallOutcome | None
    place: tuple[str, ...]
    ran: bool
    inherited: bool
    undo: bool
    in_doubt: bool
    arguments: Any
    result: Any
    at: float
    took: float | None
    spans: tuple[Span, ...]


class ModelCallView(msgspec.Struct, frozen=True, kw_only=True):
    """A model that is being asked: nothing of it is recorded before it has answered."""

    path: str
    agent: str
    since: float


class TimelineView(msgspec.Struct, frozen=True, kw_only=True):
    """A run's steps, in the order in which things began, and how its time was spent: seconds in
    which a worker had it, and in which none had."""

    run_id: str
    seq: int
    now: float
    worked: float
    waited: float
    steps: tuple[StepView, ...]
    model_calls: tuple[ModelCallView, ...]


def timeline_view(
    row: RunRow, state: State, timeline: Timeline, status: RunStatus, now: float, *, after: int = 0
) -> TimelineView:
    """A timeline as data.

    Args:
        row: the run.
        state: its folded journal.
        timeline: the same journal as steps.
        status: the status that people see.
        now: the store's time.
        after: only steps that a record after this one changed.
    """
    works = status in (RunStatus.RUNNING, RunStatus.PAUSING)
    return TimelineView(
        run_id=row.id,
        seq=timeline.seq,
        now=now,
        worked=timeline.worked(now),
        waited=timeline.waited(now),
        steps=tuple(
            step_view(row.id, state, step, works=works) for step in timeline.changed(after)
        ),
        model_calls=tuple(_model_calls(state, timeline)) if works else (),
    )


def _model_calls(state: State, timeline: Timeline) -> list[ModelCallView]:
    if state.status not in (Status.READY, Status.PAUSING):
        return []
    return [
        ModelCallView(path=path, agent=thread.agent, since=timeline.at)
        for path, thread in state.threads.items()
        if thread.due() and (not path or path in state.live)
    ]


def step_view(run: str, state: State, step: TimelineStep, *, works: bool) -> StepView:
    """A step as data.

    Args:
        run: the id of its run.
        state: the run's folded journal.
        step: the step.
        works: a worker is advancing the run. A call that only reads is not announced in the journal
            before it starts, so one that is ready is then running.
    """
    running = works and step.kind == StepKind.TOOL and step.status == StepStatus.READY
    spans = [filled(Span, span) for span in step.spans]
    if running:
        start = (spans[-1].end or step.at) if spans else step.at
        spans.append(Span(kind=SpanKind.RUN, start=start, end=None))
    key = ""
    if step.kind == StepKind.TOOL and step.attempt:
        key = idempotency_key(run, step.call_id, step.name, step.arguments)
    thread = state.threads.get(step.path)
    return filled(
        StepView,
        step,
        status=StepStatus.RUNNING if running else step.status,
        agent=thread.agent if thread else state.started.program,
        idempotency_key=key,
        interrupt_ref=ref_of(run, step.interrupt) if step.interrupt else "",
        outcome=outcome_of(step) if step.decision else None,
        place=place_words(step.call_id),
        undo=step.undo and step.status not in (StepStatus.DENIED, StepStatus.EXPIRED),
        spans=tuple(spans),
    )


def bars(timeline: Timeline) -> tuple[Bar, ...]:
    """A run as stretches of time. Of a nested agent only what it does itself is shown."""
    found = [
        Bar(kind=_bar_kind(step, span.kind), start=span.start, end=span.end, status=step.status)
        for step in timeline.steps
        if step.kind != StepKind.AGENT
        for span in step.spans
        if span.kind != SpanKind.PAUSING
    ]
    found.sort(key=lambda bar: bar.start)
    return tuple(found[-BARS:])


def _bar_kind(step: TimelineStep, kind: SpanKind) -> BarKind:
    if kind != SpanKind.RUN:
        return BarKind(kind.value)
    if step.kind in (StepKind.MODEL, StepKind.SUMMARY):
        return BarKind.MODEL
    if step.kind == StepKind.UNDO:
        return BarKind.UNDO
    return BarKind.TOOL
