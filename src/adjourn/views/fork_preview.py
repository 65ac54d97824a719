"""What a fork has of its origin: what is inherited as done, and what the origin did after the cut,
which the fork may do a second time."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from adjourn.core.call import Call, Phase
from adjourn.core.done_calls import latest_first
from adjourn.core.effect import Effect
from adjourn.core.fork import Answers, cuts
from adjourn.core.records import AnyRecord
from adjourn.core.state import State
from adjourn.views.again_preview import RepeatedCall, repeated
from adjourn.views.timeline import Timeline
from adjourn.views.words import RepeatState


class OriginCall(RepeatedCall, frozen=True, kw_only=True):
    """A call of the origin. `at`: when it began, or was asked about; `by`: who let it run, if
    a person did."""

    at: float
    by: tuple[str, ...]


class ForkPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A fork of a run. It begins after record `at_seq`; `wanted` is the record that was asked for, and
    `why` says why it is another one: `answer`, a person answered in between and is asked again, or
    `busy`, a call was in progress, the run was being cancelled or had ended.

    `inherited`: done before the cut; the fork neither repeats nor undoes it. `later`: done by the
    origin after the cut, or waiting there; the fork may do it a second time. Both in the order in
    which they were done."""

    run_id: str
    at_seq: int
    wanted: int
    why: Literal["", "answer", "busy"]
    inherited: tuple[OriginCall, ...]
    later: tuple[OriginCall, ...]


def fork_preview(
    records: Sequence[AnyRecord], wanted: int = 0, answers: Answers = "reopen"
) -> ForkPreview:
    """What a fork would inherit, and what it may repeat. It changes nothing.

    Args:
        records: the journal of the origin.
        wanted: the record after which it is to be cut; 0: the last one possible.
        answers: what becomes of people's answers; see `Run.fork`.
    """
    where = cuts(records)
    wanted = wanted or where.boundaries[-1]
    at = max((seq for seq in where.boundaries if seq <= wanted), default=where.boundaries[0])
    why: Literal["", "answer", "busy"] = "" if at == wanted else "busy"
    if answers == "reopen" and (before := where.before_answers(at)) != at:
        at, why = before, "answer"
    numbered = list(enumerate(records, 1))
    then, now = State().fold_all(numbered[:at]), State().fold_all(numbered)
    timeline = Timeline.of(numbered)
    done = {call.id for call in latest_first(then) if call.effect != Effect.READ}
    inherited: list[OriginCall] = []
    later: list[OriginCall] = []
    for call in reversed(latest_first(now)):
        if call.effect == Effect.READ or call.id in now.threads:
            continue
        if call.id in done:
            inherited.append(_shown(call, timeline))
        elif not call.undone.is_undone:
            later.append(_shown(call, timeline))
    for interrupt in now.interrupts:
        call = interrupt.call
        if call is not None and interrupt.kind == "approval" and call.call_id in now.live:
            later.append(_shown(now.live[call.call_id], timeline))
    return ForkPreview(
        run_id=now.run,
        at_seq=at,
        wanted=wanted,
        why=why,
        inherited=tuple(inherited),
        later=tuple(later),
    )


def _shown(call: Call, timeline: Timeline) -> OriginCall:
    step = timeline.call(call.id)
    at, by = 0.0, tuple[str, ...]()
    if step is not None:
        at = step.since
        if step.decision is not None:
            by = step.decision.by
    known = msgspec.structs.asdict(repeated(call))
    if call.undone.is_undone:
        known["left"] = RepeatState.UNDONE
    elif call.phase == Phase.ASKED and not call.attempt:
        known["left"] = RepeatState.ASKED
    return OriginCall(**known, at=at, by=by)
