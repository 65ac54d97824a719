"""A run as data: its row in a list, its row with what it does now, and the whole of it.

A summary is made from a row, the halts and the time, however long the journal. The others begin
with the same fields and add what the folded journal knows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from adjourn.core.call import Call, Phase
from adjourn.core.doubt import left_behind
from adjourn.core.ids import WorkerId
from adjourn.core.records import RunCancelled, RunCompleted
from adjourn.core.renamed_chunks import named_now
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.core.usage import Usage
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Halt
from adjourn.stores.run_row import RunRow
from adjourn.views.activity import Activity, activity_of
from adjourn.views.filled_view import filled
from adjourn.views.interrupt_view import InterruptSummary, summary_of
from adjourn.views.misfit_view import MisfitView, misfit_view
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_view import Bar, TimelineView, bars
from adjourn.views.words import ProgramKind


class UsageView(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and cost, added up over a run."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cost: float
    estimated: bool

    @classmethod
    def of(cls, usage: Usage) -> "UsageView":
        """The usage with every field."""
        return filled(cls, usage)

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """A call: of a tool, a chunk or a nested agent. `undo`: a cancel can undo it."""

    call_id: str
    tool: str
    path: str
    phase: Phase
    effect: str
    arguments: Any
    result: Any
    undo: bool

    @classmethod
    def of(cls, call: Call) -> "CallView":
        """A call of the fold."""
        return filled(cls, call, call_id=call.id, arguments=call.args, result=call.value)


class Residue(msgspec.Struct, frozen=True, kw_only=True):
    """What a cancel does not undo, and why. `late`: how a body ended that was still at work when
    its run did, as `value` or `error`."""

    call_id: str
    tool: str
    why: str
    arguments: Any
    late: dict[str, Any] | None

    @classmethod
    def of(cls, left: dict[str, Any]) -> "Residue":
        """An item of an outcome's residue."""
        return cls(
            call_id=str(left.get("call_id", "")),
            tool=str(left.get("tool", "")),
            why=str(left.get("why", "")),
            arguments=left.get("arguments"),
            late=left.get("late"),
        )


class ChildView(msgspec.Struct, frozen=True, kw_only=True):
    """A nested agent: the call that opened it, and what it said last."""

    path: str
    agent: str
    text: str
    done: bool


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list. `worker` is the machine that advances it; `held_by` are the halts that keep
    it from continuing; `wake_at` is when it continues by itself, and `erased_at` when its content
    was erased."""

    run_id: str
    agent: str
    kind: ProgramKind
    status: RunStatus
    title: str
    session: str
    labels: dict[str, str]
    seq: int
    epoch: int
    worker: str
    open_interrupts: int
    held_by: tuple[str, ...]
    created_at: float
    updated_at: float
    wake_at: float | None
    erased_at: float | None

    @property
    def id(self) -> str:
        """The run's id, as `Run` calls it."""
        return self.run_id


class RunGlance(RunSummary, frozen=True, kw_only=True):
    """A run in a list, with what it does now. `spans` are the last stretches of its time."""

    now: Activity
    steps: int
    usage: UsageView
    spans: tuple[Bar, ...]


class RunView(RunSummary, frozen=True, kw_only=True):
    """A run: where it is, what it waits for, what it did.

    `text` is what its agent said last, `state` a flow's own. `again_of` is the run that it repeats.
    `calls` have no result yet; `effects` have changed the world, or may have.
    `undone` and `residue` are of a cancelled run. `misfit` says why no present worker advances it,
    `holds` are the legal holds that it is under.
    """

    now: Activity
    input: Any
    output: Any
    text: str
    started_by: str
    forked_from: str
    again_of: str
    steps: int
    usage: UsageView
    state: dict[str, Any]
    interrupts: tuple[InterruptSummary, ...]
    calls: tuple[CallView, ...]
    effects: tuple[CallView, ...]
    undone: tuple[str, ...]
    residue: tuple[Residue, ...]
    children: tuple[ChildView, ...]
    graph: dict[str, Any] | None
    misfit: MisfitView | None
    holds: tuple[Hold, ...]


RunState = RunView
"""The name that it had first."""


def run_summary(row: RunRow, halts: Iterable[Halt], now: float) -> RunSummary:
    """A run's row as data.

    Args:
        row: the row.
        halts: the halts that are on.
        now: the store's time.
    """
    return RunSummary(**_row_fields(row, halts, now))


def run_glance(
    row: RunRow,
    state: State,
    timeline: Timeline,
    halts: Sequence[Halt],
    now: float,
    *,
    misfit: Misfit | None = None,
) -> RunGlance:
    """A run's row as data, with what it does now.

    Args:
        row: the row.
        state: its folded journal.
        timeline: the same journal as steps.
        halts: the halts that are on.
        now: the store's time.
        misfit: the last note of a worker that could not advance it.
    """
    fields = _row_fields(row, halts, now)
    return RunGlance(
        **fields,
        now=activity_of(row, state, fields["status"], halts, misfit),
        steps=_steps(state),
        usage=UsageView.of(state.usage),
        spans=bars(timeline),
    )


def run_view(
    row: RunRow,
    state: State,
    halts: Sequence[Halt],
    now: float,
    *,
    misfit: Misfit | None = None,
    holds: Iterable[Hold] = (),
) -> RunView:
    """The whole of a run.

    Args:
        row: the row.
        state: its folded journal.
        halts: the halts that are on.
        now: the store's time.
        misfit: the last note of a worker that could not advance it.
        holds: the legal holds that it is under.
    """
    fields = _row_fields(row, halts, now)
    root, ended = state.threads.get(""), state.ended
    returned = [call for call in state.effects.values() if call.phase == Phase.RETURNED]
    children = [
        ChildView(path=path, agent=thread.agent, text=thread.text, done=thread.final)
        for path, thread in state.threads.items()
        if path
    ]
    return RunView(
        **fields,
        now=activity_of(row, state, fields["status"], halts, misfit),
        input=state.started.input,
        output=ended.output if isinstance(ended, RunCompleted) else None,
        text=root.text if root else "",
        started_by=state.started.by,
        forked_from=state.started.forked_from,
        again_of=state.started.again_of,
        steps=_steps(state),
        usage=UsageView.of(state.usage),
        state=state.flow.data if state.flow else {},
        interrupts=tuple(summary_of(interrupt, row.program) for interrupt in state.interrupts),
        calls=tuple(map(CallView.of, state.live.values())),
        effects=tuple(map(CallView.of, returned)),
        undone=tuple(ended.undone) if isinstance(ended, RunCancelled) else (),
        residue=tuple(map(Residue.of, left_behind(state))),
        children=tuple(children),
        graph=named_now(state.started.graph) if state.started.graph else None,
        misfit=misfit_view(state, misfit),
        holds=tuple(holds),
    )


def _steps(state: State) -> int:
    """What `MaxSteps` counts: model calls, and a flow's activations."""
    return state.steps + (state.flow.steps if state.flow else 0)


def _row_fields(row: RunRow, halts: Iterable[Halt], now: float) -> dict[str, Any]:
    on = {halt.scope for halt in halts}
    return {
        "run_id": row.id,
        "agent": row.program,
        "kind": ProgramKind(row.kind),
        "status": row.shown(now, on),
        "title": row.title,
        "session": row.session,
        "labels": row.labels,
        "seq": row.seq,
        "epoch": row.epoch,
        "worker": WorkerId.parse(row.worker).machine,
        "open_interrupts": row.opens,
        "held_by": tuple(scope for scope in row.blocked if scope in on),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "wake_at": row.wake_at or None,
        "erased_at": row.erased or None,
    }


class RunDetail(RunView, frozen=True, kw_only=True):
    """The whole of a run, and its timeline."""

    timeline: TimelineView


def run_detail(view: RunView, timeline: TimelineView) -> RunDetail:
    """Both together.

    Args:
        view: the run.
        timeline: its steps.
    """
    return RunDetail(**asdict(view), timeline=timeline)
