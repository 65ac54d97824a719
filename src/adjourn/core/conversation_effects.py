"""What an agent's records mean: what a model's reply, a summary and what hooks say do to its thread and its
run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.call import Call
from adjourn.core.codec import encode
from adjourn.core.files import parts_of, parts_text
from adjourn.core.ids import (
    StepId,
    StepIdKind,
    call_number,
    model_step,
    summary_step,
)
from adjourn.core.messages import (
    UserMessage,
)
from adjourn.core.record_parts import BackgroundRequest
from adjourn.core.records import Broke, Checked, Replied, Started, Submitted, Summarised, Suspended
from adjourn.core.thread import Thread, begins_with
from adjourn.core.transcript import Transcript

if TYPE_CHECKING:
    from adjourn.core.state import State


def input_text(value: Any) -> str:
    """An input as the words of a user."""
    if isinstance(value, str):
        return value
    if parts := parts_of(value):
        return parts_text(parts)
    return encode(value).decode()


def input_message(value: Any) -> UserMessage:
    """An input as what a user said."""
    if isinstance(value, str):
        return UserMessage(value)
    return UserMessage(input_text(value), tuple(parts_of(value)))


def root_thread(started: Started, before: Transcript | None) -> Thread:
    """The conversation of a run that begins; `before`, what was said in the turns before it."""
    goal = input_text(started.input)
    transcript = begins_with(started, before)
    began = len(transcript)
    transcript.append(input_message(started.input))
    return Thread(
        "",
        started.program,
        transcript,
        began=began,
        requests=transcript.replies,
        goal=goal,
        summary=started.summary,
        told=(began, began + 1),
    )


def replied(state: State, _seq: int, record: Replied) -> None:
    _counted(state, record)
    state.faults.pop(model_step(record.path), None)
    state.submitted.pop(record.path, None)
    thread = state.threads[record.path]
    for id, part in thread.replied(record):
        if part.tool not in state.called:
            state.called |= {part.tool}
        if record.drawn:
            args = record.drawn.get(call_number(id), part.args)
        else:
            args = part.args
        call = Call(id, part.tool, args, record.path)
        if thread.handed:
            call.agent = thread.agent
        state._spawn(call)


def broke(state: State, _seq: int, record: Broke) -> None:
    _counted(state, record)
    state.threads[record.path].broke(record)


def summarised(state: State, _seq: int, record: Summarised) -> None:
    _counted(state, record)
    state.faults.pop(summary_step(record.path), None)
    state.threads[record.path].summarised(record)


def checked(state: State, _seq: int, record: Checked) -> None:
    """Hooks have let something pass, in this epoch if it is a call, or it does not continue."""
    state.deaths = state.lost = 0
    step = StepId.parse(record.step)
    state.faults.pop(record.step, None)
    if step.kind is StepIdKind.CHECK:
        if call := state.live.get(step.call):
            if record.verdict == "pass":
                call.checked = state.epoch
            else:
                call.veto = f"the hook {record.hooks[-1]} says: {record.reason}"
    elif thread := state.threads.get(step.path):
        if record.verdict == "pass":
            thread.let_pass(record)
        elif record.verdict == "ask":
            thread.doubted = record
        else:
            why = f"{step.kind} refused by {record.hooks[-1]}: {record.reason}"
            refused(state, thread, step.kind, why)


def refused(state: State, thread: Thread, kind: StepIdKind, why: str) -> None:
    """What was said, or the output, does not pass: that stops the run; of a nested agent it is what
    the one above reads."""
    thread.refused, thread.doubted = why, None
    if kind is StepIdKind.OUTPUT:
        thread.text, thread.output = "", None
    if thread.path not in state.live or (state.flow and thread.path in state.flow.tokens):
        state.stop_now = why


def _counted(state: State, record: Replied | Broke | Summarised) -> None:
    """A model call."""
    state.usage = state.usage + record.usage
    if record.sent is not None:
        state.bodies |= record.sent.bodies
    state.steps += 1
    state.deaths = state.lost = 0


# Model calls in the background, see `core.background`


class Submission(msgspec.Struct, gc=False):
    """A model call at its provider. `id`: what the provider calls it, "" until that is known;
    `epoch`: the one under which it was submitted, 0 once that has failed; `wait`: the interrupt;
    `polls`: how often it was waited for; `tries`: how often it could not be withdrawn."""

    of: BackgroundRequest
    at: float = 0.0
    epoch: int = 0
    id: str = ""
    wait: str = ""
    polls: int = 0
    tries: int = 0
    again: float = 0.0
    left: str = ""


def submitted(state: State, _seq: int, record: Submitted) -> None:
    """One is about to be submitted, is over, or could not be withdrawn."""
    state.deaths = state.lost = 0
    state.usage = state.usage + record.usage
    if record.of is not None:
        state.submitted[record.path] = Submission(record.of, record.at, state.epoch)
    elif record.ended:
        state.submitted.pop(record.path, None)
    elif known := state.submitted.get(record.path):
        known.tries, known.again = known.tries + 1, record.again
        known.left = "" if record.again else record.left


def is_response_wait(record: Suspended) -> bool:
    """Whether it is a conversation that waits, for its provider; not the body of a call."""
    return StepId.parse(record.call).kind is StepIdKind.MODEL


def response_waits(state: State, record: Suspended) -> None:
    """The provider has said how it calls what was submitted, or is not ready yet."""
    if known := state.submitted.get(StepId.parse(record.call).path):
        known.id, known.wait = record.key, record.i
        known.polls += 1


def submission_failed(state: State, path: str) -> None:
    """An attempt has failed: what has no id yet is not in flight."""
    if known := state.submitted.get(path):
        known.epoch = 0
