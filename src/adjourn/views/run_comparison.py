"""Two runs beside each other: which steps both have, which only one has, and what differs in them."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import msgspec

from adjourn.core.call import Call
from adjourn.core.flow_place import place_words
from adjourn.core.ids import parse_fork
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.stores.run_row import RunRow
from adjourn.views.filled_view import filled
from adjourn.views.run_view import CallView, UsageView
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.words import StepKind, StepStatus

MOST = 1_000
"""Steps of each run that are compared."""
COMPARED = ("arguments", "text", "said", "result", "error", "status", "note")
"""What of a step is compared. How long it took always differs, and is only shown."""


class ComparedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of one of two runs; see `StepView`. `place`: where it stands in a flow, in words;
    `inherited`: a fork has it of its origin, and did not do it itself."""

    number: int
    kind: StepKind
    call_id: str
    place: tuple[str, ...]
    name: str
    text: str
    said: Any
    status: StepStatus
    note: str
    error: str
    arguments: Any
    result: Any
    took: float | None
    tokens: int
    inherited: bool


class StepPair(msgspec.Struct, frozen=True, kw_only=True):
    """The same step of both runs, or one that only one of them has. `differs`: the fields that are
    not equal; empty if only one run has it."""

    left: ComparedStep | None
    right: ComparedStep | None
    differs: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether both have it, and nothing differs."""
        return self.left is not None and self.right is not None and not self.differs


class ComparedEffect(CallView, frozen=True, kw_only=True):
    """A call that has changed the world, or may have. `undone`: what it did was undone since;
    `inherited`: a fork has it of its origin."""

    undone: bool
    inherited: bool


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of two runs that are compared."""

    run_id: str
    agent: str
    status: RunStatus
    title: str
    started_by: str
    created_at: float
    input: Any
    worked: float
    waited: float
    usage: UsageView
    effects: tuple[ComparedEffect, ...]


Relation = Literal["", "fork", "again"]


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs. `relation`: `fork`, if one was cut from the other, `again`, if one repeats the
    other, or ""; `origin`: the one that was there first, or "". `at_seq`: the record after which
    it was cut; `inherited`: so many steps the fork has of its origin. `same`: so many steps at the
    beginning are equal; the next pair is where they part. `cut`: a run has more steps than are
    compared."""

    left: ComparedRun
    right: ComparedRun
    relation: Relation
    origin: str
    at_seq: int
    inherited: int
    same: int
    cut: bool
    steps: tuple[StepPair, ...]


class ReadRun(msgspec.Struct, frozen=True):
    """What is compared of a run."""

    row: RunRow
    state: State
    timeline: Timeline
    status: RunStatus


def compared(left: ReadRun, right: ReadRun, now: float) -> RunComparison:
    """Two runs beside each other.

    Args:
        left, right: the runs.
        now: the store's time.
    """
    steps = tuple(_pairs(left.timeline.steps[:MOST], right.timeline.steps[:MOST]))
    relation, origin, at_seq = _relation(left.state, right.state)
    fork = left if origin == right.state.run else right
    longest = max(len(left.timeline.steps), len(right.timeline.steps))
    return RunComparison(
        left=_run(left, now),
        right=_run(right, now),
        relation=relation,
        origin=origin,
        at_seq=at_seq,
        inherited=sum(step.inherited for step in fork.timeline.steps if relation == "fork"),
        same=_same(steps),
        cut=longest > MOST,
        steps=steps,
    )


def _pairs(left: Sequence[TimelineStep], right: Sequence[TimelineStep]) -> Iterable[StepPair]:
    """The steps of both in order: those of the same kind and name are beside each other, as far
    as their order allows it."""
    names = [[(step.kind, step.name, step.path) for step in steps] for steps in (left, right)]
    matcher = SequenceMatcher(None, names[0], names[1], autojunk=False)
    for how, begin, end, other, last in matcher.get_opcodes():
        if how == "equal":
            for one, two in zip(left[begin:end], right[other:last], strict=True):
                yield StepPair(left=_step(one), right=_step(two), differs=_differs(one, two))
            continue
        for step in left[begin:end]:
            yield StepPair(left=_step(step), right=None, differs=())
        for step in right[other:last]:
            yield StepPair(left=None, right=_step(step), differs=())


def _differs(one: TimelineStep, two: TimelineStep) -> tuple[str, ...]:
    found: list[str] = []
    if one.kind == StepKind.START:  # its input, and who started it, are said of the runs
        return ()
    for name in COMPARED:
        if getattr(one, name) != getattr(two, name):
            found.append(name)
    return tuple(found)


def _step(step: TimelineStep) -> ComparedStep:
    return filled(ComparedStep, step, place=place_words(step.call_id))


def _same(steps: Sequence[StepPair]) -> int:
    for place, pair in enumerate(steps):
        if not pair.is_same:
            return place
    return len(steps)


def _relation(left: State, right: State) -> tuple[Relation, str, int]:
    for one, other in ((left, right), (right, left)):
        of, at = parse_fork(one.started.forked_from)
        if of == other.run:
            return "fork", of, at
        if one.started.again_of == other.run:
            return "again", other.run, 0
    return "", "", 0


def _run(run: ReadRun, now: float) -> ComparedRun:
    state, row = run.state, run.row
    return ComparedRun(
        run_id=row.id,
        agent=row.program,
        status=run.status,
        title=row.title,
        started_by=state.started.by,
        created_at=row.created_at,
        input=state.started.input,
        worked=run.timeline.worked(now),
        waited=run.timeline.waited(now),
        usage=UsageView.of(state.usage),
        effects=tuple(map(_effect, state.effects.values())),
    )


def _effect(call: Call) -> ComparedEffect:
    return filled(
        ComparedEffect, CallView.of(call), undone=call.undone.is_undone, inherited=call.inherited
    )
