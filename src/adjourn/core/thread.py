"""A thread: the messages of one agent in a run (the root's path is ""), and what of them a request has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.files import refs_in
from adjourn.core.ids import (
    StepId,
    StepIdKind,
    tool_call_id,
    turn_id,
)
from adjourn.core.messages import (
    AssistantMessage,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    calls_of,
    messages_from,
    text_of,
)
from adjourn.core.record_parts import Sent, Summary
from adjourn.core.records import Broke, Checked, Replied, Started, Summarised
from adjourn.core.request_digest import put_together
from adjourn.core.transcript import Messages, Transcript
from adjourn.core.usage import Usage

if TYPE_CHECKING:
    pass

OUTPUT_TOOL = "final_result"
"""The reserved name of the call with which a model hands over a structured output."""


def begins_with(started: Started, before: Transcript | None) -> Transcript:
    """The conversation that a run goes on with; `before`, if it is that of the run which it names,
    and somebody has it.

    Raises `ValueError` if it is none that the run can have begun with."""
    ref = started.before
    if ref is None:
        return Transcript(messages_from(started.history))
    if before is None:
        return Transcript(absent=ref.messages, replies=ref.replies)
    if (len(before), before.replies) != (ref.messages, ref.replies):
        raise ValueError(
            f"run {started.run!r} continues {ref.messages} messages of run {ref.run!r}, not "
            f"these {len(before)}"
        )
    return before.next_turn()


class ResultSlot(msgspec.Struct, gc=False):
    """The place of one call's result in the transcript."""

    call: str
    part: ToolCall
    result: ToolResult | None = None


class PendingMessage(msgspec.Struct, gc=False):
    """A message no reply has read yet: said by a person at `seq`, or the late result of the queued
    call `call`."""

    message: Message
    seq: int = 0
    call: str = ""
    at: float = 0.0

    @property
    def order(self) -> tuple[str, int]:
        """What was said comes first, by seq; so the order does not depend on who folded first."""
        return (self.call, self.seq)

    def is_read(self, upto: int, heard: tuple[str, ...]) -> bool:
        """Whether a request had it that was made at seq `upto` and contained the late results
        `heard`."""
        return self.call in heard if self.call else self.seq <= upto


def _words(pending: Sequence[PendingMessage]) -> list[Message]:
    """What people said among these messages."""
    return [waiting.message for waiting in pending if not waiting.call]


def late_result(tool: str, value: Any, error: str, ran: bool = True) -> str:
    """What an agent reads about a call that was queued."""
    if error:
        return f"The queued call {tool} was not run: {error}"
    if not ran:
        return f"The queued call {tool} was not run; a person gave its result: {value!r}"
    return f"The queued call {tool} ran; its result: {value!r}"


def late_message(tool: str, value: Any, error: str, ran: bool) -> UserMessage:
    """`late_result` as a message, with the files of the result."""
    text, files = late_result(tool, value, error, ran), refs_in(value)
    return UserMessage(text, (text, *files) if files else ())


SINCE = 50
"""At most so many tools are remembered as what was done in a line of work, the last ones."""
FRAMES, FRAME_LIFE = 5, 24 * 3600.0
"""At most so many interrupted lines of work are remembered, each for so long."""


class InterruptedWork(msgspec.Struct):
    """A line of work that a person's message broke into. Made when a reply has read the message, so
    that it does not depend on who folded first."""

    goal: str
    done: list[str]
    doing: str
    at: float

    def told(self) -> str:
        """What the agent reads about it."""
        done = ", ".join(self.done) or "nothing yet"
        return f"- {self.goal[:300]!r}. Done: {done}. {self.doing}"


class SpokenText:
    """All that an agent has said since its run began, for `in`. Looked through only if somebody
    asks."""

    __slots__ = ("_thread",)

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def __contains__(self, text: object) -> bool:
        said = self._thread.transcript[self._thread.began :]
        return isinstance(text, str) and any(
            text in m.text for m in said if isinstance(m, AssistantMessage)
        )


class Thread(msgspec.Struct, gc=False):
    """One agent's conversation. `turn` counts replies, broken ones too; `requests` counts failed
    calls as well.

    The transcript is whole, whatever the model was sent. `told`: where in it a person last said
    what is wanted. `asked`: how long it was with the last request, and `sent` what that contained,
    unless it was all of it, on these `terms`. `summaries` counts the calls for a summary, failed
    ones too. `screened`: up to where hooks have let pass what people said, `vetted`: the turn whose
    output they did. `refused`: what one of them did not, and why; `doubted`: what a person decides.
    `handed`: the agents that had it before, the last of them until request `handed_at`; `hands_to`:
    who has it once the results of this reply are there."""

    path: str
    agent: str
    transcript: Transcript = msgspec.field(default_factory=Transcript)
    pending: tuple[PendingMessage, ...] = ()
    slots: tuple[ResultSlot, ...] = ()
    turn: int = 0
    requests: int = 0
    unfilled: int = 0
    final: bool = False
    output: Any = None
    text: str = ""
    called: frozenset[str] = frozenset()
    answered: bool = False
    goal: str = ""
    since: tuple[str, ...] = ()
    frames: tuple[InterruptedWork, ...] = ()
    usage: Usage = Usage()
    at: float = 0.0
    waited: float = 0.0
    began: int = 0
    told: tuple[int, int] = (0, 1)
    asked: int = 0
    sent: list[Message] | None = None
    terms: dict[str, str] = {}
    summary: Summary | None = None
    summaries: int = 0
    screened: int = -1
    vetted: int = -1
    refused: str = ""
    doubted: Checked | None = None
    handed: tuple[str, ...] = ()
    handed_at: int = 0
    hands_to: str = ""

    def say(self, seq: int, text: str, at: float = 0.0, parts: tuple[Any, ...] = ()) -> None:
        """A message that the next request will contain (or the one after it, if that is already on
        its way)."""
        self.tell(PendingMessage(UserMessage(text, parts), seq=seq, at=at))

    def tell(self, pending: PendingMessage) -> None:
        """One more message that wants to be read."""
        self.pending = tuple(sorted((*self.pending, pending), key=lambda p: p.order))
        self.final = False

    def request(self) -> Messages:
        """Everything a request made now contains, also if the fold goes on while the model
        works."""
        return self.transcript.need().upto(len(self.transcript), self._arriving(self.pending))

    def instruction(self) -> Callable[[], tuple[Message, ...]]:
        """What a person last said in a request made now: what is wanted of the agent. Only a request
        that is shortened needs it, so it is looked up when it is asked for."""
        said, transcript, told = self.pending, self.transcript, slice(*self.told)
        return lambda: tuple(_words(said)) or tuple(transcript[told])

    def known(self, request: Sequence[Message]) -> Sequence[Message]:
        """What the request before contained, and what came since: of this a record says how a
        request was put together."""
        if self.sent is None:
            return request
        return [*self.sent, *request[self.asked :]]

    def last_request(self) -> Sequence[Message]:
        """What the model was sent for its last reply."""
        if self.sent is None:
            return self.transcript.need().upto(self.asked)
        return tuple(self.sent)

    def summarised(self, record: Summarised) -> None:
        """Take in a summary, or that one was cut off."""
        self.summaries += 1
        if self.path:  # the root's is the run's
            self.usage = self.usage + record.usage
        if record.covers:
            self.summary = Summary(record.covers, record.text)

    def whole(self) -> Messages:
        """The conversation of a run that has ended: a call that never got its result is answered
        all the same."""
        return self.transcript.need().upto(len(self.transcript), self._last_words())

    def said_here(self, *, ended: bool) -> Messages:
        """What was said in this run alone, without the turns before it."""
        if ended:
            behind = self._last_words()
        else:
            behind = self._arriving(self.pending)
        whole = self.transcript.upto(len(self.transcript), behind)
        return whole.stretch(self.began, len(whole))

    def handed_on(self) -> Transcript:
        """What the next turn begins with, once the run has ended."""
        found = self.transcript.next_turn()
        found.extend(self._last_words())
        return found

    def _last_words(self) -> list[Message]:
        ended = "the run ended before this call did"
        found: list[Message] = []
        for slot in self.slots:
            found.append(slot.result or ToolResult(slot.part.id, slot.part.tool, ended, True))
        return [*found, *self._arriving(self.pending)]

    def replied(self, reply: Replied) -> list[tuple[str, ToolCall]]:
        """Take in a whole reply; gives the calls it spawns, with their ids."""
        self._read(reply.upto, reply.heard, reply.sent)
        if self.path:  # the root's is the run's
            self.usage = self.usage + reply.usage
        self.transcript.append(AssistantMessage(reply.parts, reply.model, reply.details))
        text = text_of(reply.parts)
        self.text = text or self.text
        calls = calls_of(reply.parts)
        turn = turn_id(self.path, self.turn)
        self.slots = slots = tuple(
            ResultSlot(tool_call_id(turn, place), part) for place, part in enumerate(calls)
        )
        self.unfilled = len(self.slots)
        self.answered = reply.final
        self.final = reply.final and not self.pending
        if reply.spoken:
            self.output = text
        else:
            self.output = reply.output
        spawned: list[tuple[str, ToolCall]] = []
        for slot in slots:
            if slot.part.tool == OUTPUT_TOOL:
                self.fill(slot.call, *self._output_result(reply, alone=len(calls) == 1))
            else:
                spawned.append((slot.call, slot.part))
                if slot.part.tool not in self.called:
                    self.called |= {slot.part.tool}
        if not calls and reply.invalid:
            self.transcript.append(UserMessage(reply.invalid))
        return spawned

    @staticmethod
    def _output_result(reply: Replied, *, alone: bool) -> tuple[Any, bool]:
        if not alone:
            return (
                f"not taken: call {OUTPUT_TOOL} again, alone, when the other results are there",
                True,
            )
        if reply.invalid:
            return (reply.invalid, True)
        return ("accepted", False)

    def broke(self, broken: Broke) -> None:
        """Keep what a cut-off reply had said."""
        self._read(broken.upto, broken.heard, broken.sent)
        if self.path:  # the root's is the run's
            self.usage = self.usage + broken.usage
        self.transcript.append(
            AssistantMessage((Text(text=broken.text),) if broken.text else (), interrupted=True)
        )
        self.text = broken.text or self.text

    def fill(self, call: str, content: Any, error: bool) -> None:
        """Put a call's one result in its place; when the last is there, all enter the transcript in
        call order."""
        for slot in self.slots:
            if slot.call == call and slot.result is None:
                slot.result = ToolResult(
                    slot.part.id, slot.part.tool, content, error, tuple(refs_in(content))
                )
                self.unfilled -= 1
                break
        if self.unfilled == 0 and self.slots:
            tools: list[str] = []
            for slot in self.slots:
                if slot.result is not None:
                    self.transcript.append(slot.result)
                tools.append(slot.part.tool)
            # Here: the order of ending depends on who folded first.
            self.since = (*self.since, *tools)[-SINCE:]
            self.slots = ()
            self._hand_over()

    @property
    def agents(self) -> tuple[str, ...]:
        """Who has had it, and who has it."""
        return (*self.handed, self.agent)

    @property
    def index(self) -> int:
        """How many requests the agent that has it has made, failed ones too."""
        return self.requests - self.handed_at

    def _hand_over(self) -> None:
        if self.hands_to:
            self.handed, self.handed_at = self.agents, self.requests
            self.agent, self.hands_to = self.hands_to, ""

    @property
    def unscreened(self) -> int:
        """The last record with which a person said something that no reply has read; 0 for what the
        conversation began with."""
        return max((pending.seq for pending in self.pending if not pending.call), default=0)

    def to_check(self) -> StepIdKind | None:
        """What hooks have to let pass before this continues: what people said, or its output."""
        if self.final and self.vetted != self.turn:
            return StepIdKind.OUTPUT
        if self.due() and self.unscreened > self.screened:
            return StepIdKind.INPUT
        return None

    def let_pass(self, record: Checked) -> None:
        """What hooks, or a person in their place, let pass."""
        if StepId.parse(record.step).kind is StepIdKind.INPUT:
            self.screened = record.upto
        else:
            self.vetted = record.upto
        self.doubted = None

    def due(self) -> bool:
        """Whether the model should be called: no result is missing, and the last word is not the
        model's own."""
        return not self.slots and not self.final

    def _arriving(self, pending: Sequence[PendingMessage]) -> list[Message]:
        """Messages as the model reads them: if they break into a line of work, it is told which,
        before them."""
        if not pending:
            return []
        found: list[Message] = []
        if note := self._broken_into(pending):
            found.append(UserMessage(note))
        for arrived in pending:
            found.append(arrived.message)
        return found

    def _frames(self, pending: Sequence[PendingMessage]) -> tuple[InterruptedWork, ...]:
        """The lines of work that are open once `pending` was read, oldest first."""
        at = max((message.at for message in pending if not message.call), default=0.0)
        kept = [frame for frame in self.frames if at - frame.at < FRAME_LIFE]
        last = self.transcript[-1]
        cut = isinstance(last, AssistantMessage) and last.interrupted
        if cut:
            doing = "You were cut off in the middle of a thought."
        else:
            doing = "You were about to go on."
        return (*kept, InterruptedWork(self.goal, list(self.since), doing, at))[-FRAMES:]

    def _broken_into(self, pending: Sequence[PendingMessage]) -> str:
        if not self.turn or self.answered or not _words(pending):
            return ""
        lines = "\n".join(frame.told() for frame in reversed(self._frames(pending)))
        return (
            "A message breaks into your work. Deal with it first; then go back to what you "
            "were doing, unless it says "
            f"otherwise. What is done need not be done again.\n{lines}"
        )

    def _read(self, upto: int, heard: tuple[str, ...], sent: Sent | None) -> None:
        """`upto` and `heard` say what the conversation was then; the rest comes after this reply's
        results."""
        if self.pending:
            self._take_in(upto, heard)
        base = self.known(self.transcript)
        if sent and sent.messages is not None:
            self.sent = put_together(base, sent.messages)
        else:
            self.sent = None
        self.asked = len(self.transcript)
        if sent and sent.terms:
            self.terms = sent.terms
        self.turn += 1
        self.requests += 1

    def _take_in(self, upto: int, heard: tuple[str, ...]) -> None:
        """Put the messages that a request had into the transcript; the others wait on."""
        waiting = self.pending
        read = [pending for pending in waiting if pending.is_read(upto, heard)]
        self.pending = tuple(pending for pending in waiting if not pending.is_read(upto, heard))
        arriving = self._arriving(read)
        said = _words(read)
        if said:
            self.frames = self._frames(read) if self._broken_into(read) else ()
            self.goal = "; ".join(m.text for m in said if isinstance(m, UserMessage))
            self.since = ()
            # behind the note, if there is one
            first = len(self.transcript) + len(arriving) - len(read)
            self.told = (first, first + len(said))
        self.transcript.extend(arriving)
