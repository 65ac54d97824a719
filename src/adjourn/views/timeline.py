"""A journal as people read it: its steps, in the order in which things began, and how the time was
spent."""

from collections.abc import Iterable
from typing import Any, cast

from adjourn.core import records as r
from adjourn.core.decision import INSTEAD, chosen, is_instead
from adjourn.core.files import refs_in
from adjourn.core.ids import (
    StepId,
    StepIdKind,
    WorkerId,
    activation_name,
    is_undo,
    model_step,
    tool_call_id,
    turn_id,
    undo_target,
)
from adjourn.core.interrupt import unsigned
from adjourn.core.messages import FilePart, ToolCall, text_of
from adjourn.core.record_parts import RINGS
from adjourn.core.thread import OUTPUT_TOOL
from adjourn.views.decision_view import (
    EarlierApproval,
    decision_line,
    decision_of,
    earlier_approval,
    expiry_at,
)
from adjourn.views.held_time import HeldTime
from adjourn.views.timeline_step import Stretch, TimelineStep
from adjourn.views.words import (
    KINDS,
    DecisionKind,
    SpanKind,
    StepKind,
    StepStatus,
    asking_hook,
    kind_words,
    payload_line,
)

Numbered = tuple[int, r.AnyRecord]


class Timeline:
    """The steps of a journal. It is a fold: records are taken in one by one, and it can go on where
    it was."""

    def __init__(self) -> None:
        self.steps: list[TimelineStep] = []
        self.seq = 0
        self.at = 0.0
        self.words: dict[str, str] = {}
        """What the model said in the reply that asked for a call, by call id."""
        self._worked = self._waited = self._claimed = self._rested = 0.0
        self._ended = False
        self._calls: dict[str, TimelineStep] = {}
        self._turns: dict[str, int] = {}
        self._last_said = ""  # by the root agent
        self._replies: dict[int, str] = {}
        self._asked: dict[str, TimelineStep] = {}
        self._unedited: dict[str, Any] = {}
        self._pause: TimelineStep | None = None
        self._held = HeldTime(self._add)
        self.earlier: dict[str, EarlierApproval] = {}
        """The approval that no longer counted when it was asked again, by interrupt."""

    @classmethod
    def of(cls, records: Iterable[Numbered], now: float | None = None) -> "Timeline":
        """Read a journal. With `now`, what has not ended took until then."""
        timeline = cls()
        for seq, record in records:
            timeline.take(seq, record)
        for step in timeline.steps if now is not None and not timeline._ended else ():
            if step.took is None and step.status in (
                StepStatus.RUNNING,
                StepStatus.WAITING,
                StepStatus.PAUSING,
                StepStatus.PAUSED,
                StepStatus.HELD,
            ):
                step.took = max(0.0, cast("float", now) - step.since)
        return timeline

    def take(self, seq: int, x: r.AnyRecord) -> None:
        """Take in one record."""
        if isinstance(x, r.Erased):
            self.__init__()  # whatever was taken in before, this is all there is
        self.seq, self.at = seq, x.at
        self._clock(x)
        if held := self._held.take(x):
            self._touch(held)
        match x:
            case r.Summarised():
                self._summary(x)
            case r.Replied() | r.Broke():
                self._reply(x)
            case r.Asked() | r.Suspended():
                self._opened(x)
            case r.Decided():
                self._decided(x)
            case r.Disowned():
                self._disowned(x)
            case r.Emitted() if x.event.startswith(RINGS):
                pass  # the provider has ended what is waited for: the reply says so
            case (
                r.Intended()
                | r.Returned()
                | r.Closed()
                | r.Faulted()
                | r.Doubted()
                | r.Late()
                | r.Yielded()
                | r.Verified()
            ):
                self._moved(x)
            case r.Checked():
                self._checked(x)
            case _:
                self._said(x)

    def worked(self, now: float) -> float:
        """Seconds in which a worker had the run."""
        return self._worked + (max(0.0, now - self._claimed) if self._claimed else 0.0)

    def waited(self, now: float) -> float:
        """Seconds in which nobody had it: for a person, a timer or a worker."""
        resting = not self._claimed and not self._ended and self._rested
        return self._waited + (max(0.0, now - self._rested) if resting else 0.0)

    def call(self, call_id: str) -> TimelineStep | None:
        """The step of a call; None if there is none of this id."""
        return self._calls.get(call_id)

    def changed(self, after: int) -> list[TimelineStep]:
        """The steps that a record after `after` changed."""
        return [step for step in self.steps if step.last_seq > after]

    def _add(
        self, kind: StepKind, id: str, name: str, *, at: float, path: str = "", **more: Any
    ) -> TimelineStep:
        step = TimelineStep(
            len(self.steps),
            kind,
            id,
            name,
            path=path,
            at=at,
            first_seq=self.seq,
            last_seq=self.seq,
            **more,
        )
        self.steps.append(step)
        return step

    def _touch(self, step: TimelineStep) -> TimelineStep:
        step.last_seq = self.seq
        return step

    # Time

    def _clock(self, x: r.AnyRecord) -> None:
        if isinstance(x, r.Started):
            self._rested = x.at
        elif isinstance(x, r.Forked):  # what stands before it was another run's time
            self._worked = self._waited = self._claimed = 0.0
            self._rested = x.at
        elif isinstance(x, r.Claimed):
            if self._claimed:
                self._worked += max(0.0, x.at - self._claimed)
                process = WorkerId.parse(x.worker).process
                who = "another worker" if process is None else f"process {process}"
                text = f"by {who}: the previous worker was gone"
                self._add(StepKind.TAKEOVER, "", "taken over", at=x.at, text=text)
            else:
                self._waited += max(0.0, x.at - self._rested)
            self._claimed = x.at
        elif isinstance(x, r.Parked | r.Restored | r.RunCompleted | r.RunCancelled):
            if self._claimed:
                self._worked += max(0.0, x.at - self._claimed)
            self._claimed, self._rested = 0.0, x.at
            if isinstance(x, r.Parked):
                self._stop(x.at)
            self._ended = isinstance(x, r.RunCompleted | r.RunCancelled)

    # Records

    def _reply(self, x: r.Replied | r.Broke) -> None:
        turn = self._turns[x.path] = self._turns.get(x.path, 0) + 1
        id = self._replies[self.seq] = turn_id(x.path, turn)
        if waited := self._calls.pop(model_step(x.path), None):
            self._touch(waited).end(StepStatus.COMPLETED, "", x.at, x.took)
        step = self._add(StepKind.MODEL, id, "model", at=x.at - x.took, path=x.path)
        step.spans.append(Stretch(SpanKind.RUN, x.at - x.took, x.at))
        step.took, step.tokens = x.took, x.usage.total_tokens
        text = x.text if isinstance(x, r.Broke) else text_of(x.parts)
        if not x.path:
            self._last_said = text or self._last_said
        if isinstance(x, r.Broke):
            step.said, step.status, step.note = text or None, StepStatus.CANCELLED, "cut off"
            return
        step.said, step.note = text or None, x.invalid
        step.given = tuple(part.file for part in x.parts if isinstance(part, FilePart))
        for k, part in enumerate(p for p in x.parts if isinstance(p, ToolCall)):
            if part.tool == OUTPUT_TOOL:
                if step.said is None:
                    step.said = part.args
                continue
            call_id = tool_call_id(id, k)
            call = self._add(
                StepKind.TOOL,
                call_id,
                part.tool,
                at=x.at,
                path=x.path,
                arguments=part.args,
                status=StepStatus.READY,
            )
            self._calls[call_id] = call
            self.words[call_id] = text

    def _summary(self, x: r.Summarised) -> None:
        step = self._add(StepKind.SUMMARY, "", "summary", at=x.at - x.took, path=x.path)
        step.spans.append(Stretch(SpanKind.RUN, x.at - x.took, x.at))
        step.took, step.tokens, step.said = x.took, x.usage.total_tokens, x.text or None
        if x.covers:
            step.note = f"of the first {x.covers} messages"
        else:
            step.status, step.note = StepStatus.CANCELLED, "cut off"

    def _opened(self, x: r.Asked | r.Suspended) -> None:
        step = self._calls.get(x.call)
        if step is None:
            name = asking_hook(x.payload) or x.kind.replace("_", " ")
            step = self._add(
                StepKind.INTERRUPT, x.call, name, at=x.at, said=payload_line(x.payload)
            )
            self._calls.update({x.call: step} if x.call else {})
        self._touch(step).status, step.interrupt = StepStatus.WAITING, x.i
        step.begin(SpanKind.WAIT, x.at)
        self._asked_again(step, x)
        step.asked_at, step.decision = x.at, None
        step.interrupt_kind, step.in_doubt = x.kind, x.kind == "in_doubt"
        step.note = kind_words(x.kind, x.payload).note
        if isinstance(x, r.Asked) and x.escalated:
            step.note = f"{step.note}, escalated: no one answered"
        if isinstance(x, r.Suspended) and x.type != "question":
            step.note = x.type
        if isinstance(x, r.Asked):
            step.reason, step.rules = x.reason or step.reason, x.rules or step.rules
            step.digest, step.effect, step.undo = (
                x.digest or step.digest,
                x.effect or step.effect,
                x.undo or step.undo,
            )
        if x.kind == "error":
            step.status = StepStatus.FAILED
        self._asked[x.i] = step

    def _asked_again(self, step: TimelineStep, x: r.Asked | r.Suspended) -> None:
        """If people had agreed to it already: whose agreement no longer counts, and why."""
        if not isinstance(x, r.Asked) or x.kind != "approval" or x.carries:
            return
        step.earlier = earlier_approval(step.decision, step.valid_for, x.at)
        step.valid_for = x.valid_for
        if step.earlier is not None:
            self.earlier[x.i] = step.earlier

    def _decided(self, x: r.Decided) -> None:
        step = self._asked.get(x.i)
        if step is None:
            return
        decision = decision_of(x, step.arguments, step.asked_at or step.at, step.decision)
        step.decision = decision
        status = StepStatus.COMPLETED
        if decision.verdict == DecisionKind.DENIED:
            status = StepStatus.DENIED
        elif decision.verdict == DecisionKind.DISMISSED:
            status = StepStatus.CANCELLED
        elif is_instead(x):
            step.result = chosen(x)[INSTEAD]
        elif x.verdict == "approve" or decision.choice == "run":
            status = StepStatus.READY
        self._touch(step).end(status, decision_line(decision), x.at)
        step.interrupt = step.interrupt_kind = ""
        if x.verdict == "deny":  # nothing ran
            step.took = None
        if x.edit is not None:
            self._unedited[x.i] = step.arguments
            step.arguments, step.is_edited = x.edit, True

    def _disowned(self, x: r.Disowned) -> None:
        """What was decided does not count: it waits as before, and says why."""
        if step := self._asked.get(x.i):
            self._touch(step).status, step.interrupt = StepStatus.WAITING, x.i
            step.begin(SpanKind.WAIT, x.at)
            step.is_edited, step.decision = False, None
            step.note, step.arguments = unsigned([x.by]), self._unedited.pop(x.i, step.arguments)

    def _moved(
        self,
        x: r.Intended
        | r.Returned
        | r.Closed
        | r.Faulted
        | r.Doubted
        | r.Late
        | r.Yielded
        | r.Verified,
    ) -> None:
        match x:
            case r.Closed():
                if step := self._asked.get(x.i):
                    self._close(step, x)
            case r.Faulted():
                self._faulted(x)
            case r.Intended():
                self._intended(self._touch(self._calls.get(x.call) or self._spawned(x)), x)
            case r.Doubted():
                self._doubted(self._touch(self._calls.get(x.call) or self._spawned(x)), x)
            case r.Late():
                self._late(x)
            case r.Yielded():
                if step := self._calls.get(x.call):
                    self._touch(step).end(StepStatus.READY, "stopped at its last save", x.at)
            case r.Verified():
                if (step := self._calls.get(x.call)) and x.answer == "happened":
                    self._touch(step).end(StepStatus.COMPLETED, "it had happened", x.at)
            case r.Returned():
                self._returned(self._touch(self._calls.get(x.call) or self._spawned(x)), x)

    def _checked(self, x: r.Checked) -> None:
        """What a hook did not let pass; what it did is no event."""
        if (step := self._calls.get(StepId.parse(x.step).call)) and x.verdict == "veto":
            note = f"vetoed by the hook {x.hooks[-1]}: {x.reason}"
            self._touch(step).end(StepStatus.DENIED, note, x.at)

    def _doubted(self, step: TimelineStep, x: r.Doubted) -> None:
        step.in_doubt = not x.running and not x.left
        step.note = KINDS["in_doubt"].note if step.in_doubt else x.why
        if not x.running:
            step.close(x.at)

    def _late(self, x: r.Late) -> None:
        if step := self._calls.get(x.call):
            self._touch(step).note = f"ended after the run: {x.error or x.value!r}"
            step.result, step.error = x.error or x.value, x.error

    def _close(self, step: TimelineStep, x: r.Closed) -> None:
        self._touch(step).interrupt = step.interrupt_kind = ""
        if x.why == "expired":
            step.decision = expiry_at(x.at, step.asked_at or step.at)
            step.end(StepStatus.EXPIRED, decision_line(step.decision), x.at)
            step.took = None
        elif x.why in ("abandoned", "void"):
            step.end(StepStatus.CANCELLED, "dropped", x.at)
        else:
            is_over = step.kind == StepKind.INTERRUPT
            step.end(StepStatus.COMPLETED if is_over else StepStatus.READY, step.note, x.at)

    def _intended(self, step: TimelineStep, x: r.Intended) -> None:
        step.begin(SpanKind.RUN, x.at)
        step.status, step.attempt, step.in_doubt = StepStatus.RUNNING, x.attempt, False
        if x.attempt > 1:
            step.note = f"again, attempt {x.attempt}"
        step.effect, step.undo, step.digest = x.effect, x.undo or step.undo, x.digest or step.digest
        if x.agent:
            step.kind = StepKind.AGENT

    def _spawned(self, x: r.Intended | r.Returned | r.Doubted) -> TimelineStep:
        """A call that no reply asked for: a flow's chunk, or an undo."""
        if isinstance(x, r.Intended):
            name, given = x.tool, x.input
        else:
            name, given = activation_name(x.call), None
        kind = StepKind.CHUNK
        if is_undo(x.call):
            kind, name = StepKind.UNDO, f"undo {name}"
        step = self._add(kind, x.call, name, at=x.at, arguments=given)
        self._calls[x.call] = step
        return step

    def _returned(self, step: TimelineStep, x: r.Returned) -> None:
        target = self._calls.get(undo_target(x.call))
        if is_undo(x.call) and target is not None and not x.error:
            self._touch(target).is_undone = True
        step.result, step.ran, step.error = x.error or x.value, x.ran, x.error
        if x.ran and not (step.spans and step.spans[-1].end is None):  # a read has no intent
            step.close(x.at)
            step.spans.append(Stretch(SpanKind.RUN, x.at - x.took, x.at))
        took = x.took or max(0.0, x.at - step.since)
        if step.status in (StepStatus.DENIED, StepStatus.EXPIRED):
            step.error = ""  # what the model was told; the call itself has not failed
        elif not x.ran:
            step.end(StepStatus.CANCELLED, step.note or f"not run: {x.error}", x.at, took)
        else:
            ended = StepStatus.FAILED if x.error else StepStatus.COMPLETED
            step.end(ended, x.error or step.note, x.at, took)

    def _faulted(self, x: r.Faulted) -> None:
        step = self._calls.get(x.step)
        if step is None:
            kind = StepId.parse(x.step).kind
            is_thought = kind in (StepIdKind.MODEL, StepIdKind.SUMMARY)
            name = kind.value if is_thought else x.step
            step = self._add(StepKind.FAILURE, "", name, at=x.at)
        else:
            self._touch(step).close(x.at)
        step.status, step.note, step.error = StepStatus.FAILED, x.error, x.error

    def _said(self, x: r.AnyRecord) -> None:
        match x:
            case r.Started():
                step = self._add(StepKind.START, "", "started", at=x.at)
                step.text, step.given = f"by {x.by}" if x.by else "", tuple(refs_in(x.input))
            case r.PauseAsked() | r.Restored():
                self._paused(x)
            case r.Resumed() | r.Forked():
                self._continued(x)
            case r.CancelAsked():
                self._add(StepKind.CANCEL, "", "cancel", at=x.at, text=_by(x.by, x.reason))
            case r.Said():
                step = self._add(StepKind.MESSAGE, "", "said", at=x.at, text=_by(x.by, x.text))
                step.given = tuple(refs_in(list(x.parts)))
            case r.Emitted():
                self._add(
                    StepKind.EVENT, "", "event", at=x.at, text=_by(x.by, x.event), result=x.value
                )
            case r.Accepted() | r.Revoked():
                self._ruled(x)
            case r.Upgraded():
                self._upgraded(x)
            case r.Chapter():
                self._add(StepKind.CHAPTER, "", "new chapter", at=x.at, text=_by(x.by, x.why))
            case r.RunCompleted() | r.RunCancelled():
                self._finish(x)
            case r.Erased():
                self._ended = True
                step = self._add(StepKind.END, "", "erased", at=x.at, text=_by(x.by, x.reason))
                step.status = StepStatus(x.status)
            case _:
                pass

    def _continued(self, x: r.Resumed | r.Forked) -> None:
        """A person lets it go on, here or from a place in another run."""
        name, note = "resumed", ""
        if isinstance(x, r.Forked):
            name, note = "forked", f"from {x.of}@{x.at_seq}"
            for step in self.steps:
                step.inherit()
        else:
            self._end_pause(x.at)
        text = _by(x.by, x.instruction)
        self._add(StepKind.RESUME, "", name, at=x.at, text=text, note=note)

    def _ruled(self, x: r.Accepted | r.Revoked) -> None:
        """What a person says about the run's terms."""
        if isinstance(x, r.Accepted):
            kind, name, text = StepKind.ACCEPTANCE, "accepted", "; ".join(x.changes)
        else:
            kind, name = StepKind.REVOCATION, "revoked"
            text = x.note or f"standing decision {x.i}"
        self._add(kind, "", name, at=x.at, text=_by(x.by, text))

    def _upgraded(self, x: r.Upgraded) -> None:
        """What had happened keeps its name here; what had not begun is shown as it would be called
        now."""
        self._add(StepKind.UPGRADE, "", "upgraded", at=x.at, text="; ".join(x.changes))
        for seq, fields in x.now.items():
            calls = [part for part in fields.get("parts", ()) if part.get("type") == "call"]
            for k, part in enumerate(calls):
                step = self._calls.get(tool_call_id(self._replies.get(int(seq), ""), k))
                if (
                    step is not None
                    and not step.attempt
                    and step.status in (StepStatus.READY, StepStatus.WAITING)
                ):
                    self._touch(step).name = part["tool"]
                    if not step.is_edited:
                        step.arguments = part.get("args", {})

    def _paused(self, x: r.PauseAsked | r.Restored) -> None:
        """A pause is asked for; it has stopped once no worker has the run."""
        name, text = "pause asked", _by(x.by, x.reason)
        if isinstance(x, r.Restored):
            name, text = "restored", f"from a backup {text}"
        self._pause = self._add(StepKind.PAUSE, "", name, at=x.at, text=text)
        if self._claimed:
            self._pause.status = StepStatus.PAUSING
            self._pause.begin(SpanKind.PAUSING, x.at)
        else:
            self._stop(x.at)

    def _stop(self, at: float) -> None:
        """What was pausing has stopped."""
        pause = self._pause
        if pause is None or pause.status == StepStatus.PAUSED:
            return
        if pause.name != "restored":
            pause.name = "paused"
        self._touch(pause).status = StepStatus.PAUSED
        pause.begin(SpanKind.PAUSE, at)

    def _end_pause(self, at: float) -> None:
        pause, self._pause = self._pause, None
        if pause is None:
            return
        if pause.status == StepStatus.PAUSING:  # it never stopped
            self._touch(pause).spans.clear()
            pause.status, pause.note, pause.took = StepStatus.NONE, "withdrawn", None
        else:
            self._touch(pause).end(StepStatus.NONE, "", at)

    def _drop_questions(self, x: r.RunCompleted | r.RunCancelled) -> None:
        """What nobody has answered when a run ends is not asked any more."""
        word = "cancelled" if isinstance(x, r.RunCancelled) else "over"
        for step in self.steps:
            if step.status == StepStatus.WAITING:
                doubted = step.in_doubt
                note = f"not answered when the run was {word}"
                self._touch(step).end(StepStatus.CANCELLED, note, x.at)
                step.in_doubt, step.interrupt = doubted, ""

    def _finish(self, x: r.RunCompleted | r.RunCancelled) -> None:
        self._end_pause(x.at)
        self._drop_questions(x)
        if isinstance(x, r.RunCompleted):
            ended = StepStatus.STOPPED if x.stopped else StepStatus.COMPLETED
            output = self._last_said if x.spoken else x.output
            end = self._add(
                StepKind.END, "", ended.value, at=x.at, text=x.stopped, status=ended, result=output
            )
            end.said = None if x.stopped else output
            return
        left = f"{len(x.undone)} undone, {len(x.residue)} not undone"
        self._add(StepKind.END, "", "cancelled", at=x.at, text=left, status=StepStatus.CANCELLED)
        for one in x.residue:
            call, tool = str(one.get("call", "")), str(one.get("tool", ""))
            step = self._add(StepKind.RESIDUE, call, "not undone", at=x.at, text=tool)
            step.arguments, step.note = one.get("arguments"), str(one.get("why", ""))


def _by(by: str, text: str) -> str:
    return f"by {by or 'an unknown person'}" + (f": {text}" if text else "")
