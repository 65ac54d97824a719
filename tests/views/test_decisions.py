"""What people decided, told from the journal alone: who, after how long, what they changed, and what came of it."""

from collections.abc import Iterator

import pytest

from adjourn.core import records as r
from adjourn.core.flow_place import place_words
from adjourn.core.interrupt import view
from adjourn.core.messages import ToolCall
from adjourn.views.call_outcome import outcome_of
from adjourn.views.interrupt_view import decisions
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.words import DecisionKind, OutcomeState, StepKind, StepStatus

CALL, ASKED = "1.0", "1.0?0"


def journal(*more: r.AnyRecord) -> Timeline:
    """A refund was asked for at 3 and a worker has parked at 4; then what is given."""
    refund = ToolCall(id="c1", tool="refund", args={"order": "4417", "cents": 48250})
    begun: list[r.AnyRecord] = [
        r.Started(run="r", kind="agent", program="desk", at=1.0),
        r.Claimed(worker="w", epoch=1, at=1.0),
        r.Replied(parts=(refund,), at=2.0),
        r.Asked(i=ASKED, kind="approval", call=CALL, tool="refund", undo=True, at=3.0),
        r.Parked(at=4.0),
    ]
    return Timeline.of(enumerate((*begun, *more), 1))


def the_call(timeline: Timeline) -> TimelineStep:
    found = timeline.call(CALL)
    assert found is not None
    return found


def not_run(at: float) -> Iterator[r.AnyRecord]:
    yield r.Claimed(worker="w", epoch=2, at=at)
    yield r.Returned(call=CALL, error="denied by ben", ran=False, at=at)


def test_a_denied_call_is_denied_and_did_not_run() -> None:
    step = the_call(
        journal(r.Decided(i=ASKED, verdict="deny", by="ben", note="photos first", at=193.0), *not_run(194.0))
    )
    assert step.decision is not None
    assert (step.status, step.took, step.note) == (StepStatus.DENIED, None, "denied by ben: photos first")
    assert (step.decision.verdict, step.decision.by, step.decision.after) == (DecisionKind.DENIED, ("ben",), 190.0)
    came = outcome_of(step)
    assert came is not None and (came.state, came.took) == (OutcomeState.NOT_RUN, None)


def test_an_expiry_is_no_ones_denial() -> None:
    step = the_call(journal(r.Closed(i=ASKED, why="expired", at=63.0), *not_run(64.0)))
    assert step.decision is not None
    assert (step.status, step.decision.verdict, step.decision.by) == (StepStatus.EXPIRED, DecisionKind.EXPIRED, ())
    assert (step.decision.after, step.note) == (60.0, "expired: no one answered")


def test_an_edit_is_what_changed_and_the_call_ran_with_it() -> None:
    less = {"order": "4417", "cents": 39900, "notify": True}
    step = the_call(
        journal(
            r.Decided(i=ASKED, verdict="approve", by="ana", edit=less, note="no shipping", at=9.0),
            r.Claimed(worker="w", epoch=2, at=10.0),
            r.Intended(call=CALL, tool="refund", attempt=1, effect="unsafe", undo=True, at=10.0),
            r.Returned(call=CALL, value="re_1", ran=True, took=0.8, at=10.8),
        )
    )
    assert step.decision is not None
    changes = [(c.name, c.old, c.new, c.added) for c in step.decision.changes]
    assert changes == [("cents", 48250, 39900, False), ("notify", None, True, True)]
    assert step.note == "edited, approved by ana, cents 48250 → 39900, + notify true: no shipping"
    came = outcome_of(step)
    assert came is not None and (came.state, came.took, came.result) == (OutcomeState.RAN, 0.8, "re_1")


def test_two_who_had_to_agree_are_both_named() -> None:
    both = [r.Decided(i=ASKED, verdict="approve", by=name, at=9.0) for name in ("ben", "ana")]
    step = the_call(journal(*both))
    assert step.decision is not None and step.decision.by == ("ben", "ana")


def test_who_was_disowned_has_decided_nothing() -> None:
    """A forged approval, and then a real one: the item names the one who decided, as the timeline does."""
    asked = r.Asked(i=ASKED, kind="approval", call=CALL, tool="refund", undo=True, at=3.0)
    forged = r.Decided(i=ASKED, verdict="approve", by="ana", at=5.0)
    told = [(4, asked), (6, forged), (7, r.Disowned(seq=6, i=ASKED, by="ana", at=6.0))]
    item = view("r", 4, asked)
    votes, closed = decisions(item, told)
    assert votes == [] and closed is not None and (closed.why, closed.at) == ("void", None)
    votes, closed = decisions(item, [*told, (8, r.Decided(i=ASKED, verdict="approve", by="ben", at=7.0))])
    assert [vote.by for vote in votes] == ["ben"] and closed is not None and closed.by == "ben"


def test_what_a_cancel_has_undone_says_so() -> None:
    step = the_call(
        journal(
            r.Decided(i=ASKED, verdict="approve", by="ana", at=9.0),
            r.Intended(call=CALL, tool="refund", attempt=1, effect="unsafe", undo=True, at=10.0),
            r.Returned(call=CALL, value="re_1", ran=True, took=0.8, at=10.8),
            r.Intended(call=f"{CALL}!undo", tool="refund", attempt=1, effect="idempotent", at=20.0),
            r.Returned(call=f"{CALL}!undo", ran=True, took=0.1, at=20.1),
        )
    )
    came = outcome_of(step)
    assert came is not None and came.state == OutcomeState.UNDONE


def test_a_question_that_is_asked_of_others_says_that_no_one_answered() -> None:
    again = r.Asked(i="1.0?1", kind="approval", call=CALL, tool="refund", escalated=True, at=63.0)
    step = the_call(journal(r.Closed(i=ASKED, why="void", at=63.0), again))
    assert (step.status, step.note) == (StepStatus.WAITING, "needs approval, escalated: no one answered")


def pause_of(timeline: Timeline) -> TimelineStep:
    return next(step for step in timeline.steps if step.kind == "pause")


def test_a_pause_is_asked_until_the_worker_has_stopped() -> None:
    claimed = r.Claimed(worker="w", epoch=2, at=5.0)
    asked = [claimed, r.PauseAsked(by="ben", at=6.0)]
    pausing = pause_of(journal(*asked))
    assert (pausing.name, pausing.status) == ("pause asked", StepStatus.PAUSING)
    assert [span.kind for span in pausing.spans] == ["pausing"]
    paused = pause_of(journal(*asked, r.Parked(at=9.0)))
    assert (paused.name, paused.status) == ("paused", StepStatus.PAUSED)
    assert [(span.kind, span.start) for span in paused.spans] == [("pausing", 6.0), ("pause", 9.0)]
    back = pause_of(journal(*asked, r.Resumed(by="ben", at=7.0)))
    assert (back.name, back.note, back.spans) == ("pause asked", "withdrawn", [])


def test_a_run_that_no_worker_has_is_paused_at_once() -> None:
    assert pause_of(journal(r.PauseAsked(by="ben", at=6.0))).status == StepStatus.PAUSED


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("batch#0.reads/editor_reads#0", ("batch", "reads", "editor_reads")),
        ("draft#1", ("draft 2",)),
        ("each#0[3]/check#0!undo", ("each", "item 4", "check")),
        ("3.0/1.0", ()),
    ],
)
def test_a_place_in_a_flow_is_told_in_words(call: str, words: tuple[str, ...]) -> None:
    assert place_words(call) == words


def test_a_question_that_nobody_had_answered_when_the_run_was_cancelled_is_told_as_past() -> None:
    timeline = journal(
        r.CancelAsked(by="ana", at=20.0), r.Claimed(worker="w", epoch=2, at=20.0), r.RunCancelled(at=21.0)
    )
    step = the_call(timeline)
    assert (step.status, step.took, step.interrupt) == (StepStatus.CANCELLED, 18.0, "")
    assert step.note == "not answered when the run was cancelled"


def lapsing(valid_for: float) -> TimelineStep:
    """It was asked with an approval that holds so long, approved at 10, and is asked again at 100."""
    first = r.Asked(i="1.0?1", kind="approval", call=CALL, tool="refund", valid_for=valid_for, at=5.0)
    agreed = r.Decided(i="1.0?1", verdict="approve", by="ann", at=10.0)
    again = r.Asked(i="1.0?2", kind="approval", call=CALL, tool="refund", valid_for=valid_for, at=100.0)
    timeline = journal(first, agreed, again)
    step = the_call(timeline)
    assert step.earlier is timeline.earlier["1.0?2"] and step.status == StepStatus.WAITING
    return step


def test_asked_again_it_says_whose_approval_had_expired() -> None:
    earlier = lapsing(60.0).earlier
    assert earlier is not None and (earlier.by, earlier.at, earlier.valid_for) == (("ann",), 10.0, 60.0)


def test_an_approval_that_had_not_expired_is_not_said_to_have() -> None:
    earlier = lapsing(600.0).earlier
    assert earlier is not None and (earlier.by, earlier.valid_for) == (("ann",), 0.0)


def test_a_halt_that_held_the_run_is_told_with_its_time() -> None:
    timeline = journal(
        r.Decided(i=ASKED, verdict="deny", by="ben", at=5.0),
        r.Claimed(worker="w", epoch=2, at=6.0),
        r.Parked(blocked=("agent:desk",), at=6.0),
        r.Claimed(worker="w", epoch=3, at=10.0),  # it only looks
        r.Parked(blocked=("agent:desk", "tool:refund"), at=10.0),
        r.Claimed(worker="w", epoch=4, at=36.0),
        r.Replied(parts=(), at=37.0),
    )
    [held] = [step for step in timeline.steps if step.kind == StepKind.HOLD]
    assert (held.name, held.text) == ("held", "by the halt of agent desk and tool refund")
    assert (held.at, held.took, held.status) == (6.0, 30.0, StepStatus.NONE)
    assert [(span.start, span.end) for span in held.spans] == [(6.0, 36.0)]


def test_a_hold_goes_on_until_the_run_does() -> None:
    timeline = journal(r.Claimed(worker="w", epoch=2, at=6.0), r.Parked(blocked=("*",), at=6.0))
    held = timeline.steps[-1]
    assert (held.text, held.status, held.took) == ("by the halt of everything", StepStatus.HELD, None)
