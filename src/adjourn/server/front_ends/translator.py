"""From a run's records and live text to what a front end shows. Pure: the same records give the same
events, with the same ids."""

from collections.abc import Iterator

from adjourn.core.call import Call, Phase
from adjourn.core.conversation_effects import input_text
from adjourn.core.decision import word_of
from adjourn.core.ids import StepId, StepIdKind, call_number, ref_of, tool_call_id, turn_id
from adjourn.core.messages import Thinking, calls_of, text_of
from adjourn.core.records import (
    AnyRecord,
    Broke,
    Decided,
    Faulted,
    Replied,
    Resumed,
    Said,
    Started,
    Summarised,
)
from adjourn.core.state import State
from adjourn.core.thread import OUTPUT_TOOL
from adjourn.core.usage import Usage
from adjourn.driver.live_feed import Live, Published, TextArrived
from adjourn.server.front_ends.shown_event import (
    CallAnswered,
    CallShown,
    ItemShown,
    PositionReached,
    Shown,
    Spoken,
    TextAdded,
    TextClosed,
    TextDropped,
    TextOpened,
)


def input_id(run: str) -> str:
    """The id of the message that a run began with."""
    return f"{run}.input"


def is_of_run(message: str, run: str) -> bool:
    """Whether a message, by its id, is of a run."""
    return message.startswith(f"{run}.")


class RunTranslator:
    """One run, as far as it was told. Text and reasoning are those of the run's own agent; calls are
    those of nested agents as well, because people are asked about them."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._state = State()
        self._calls: dict[str, Call] = {}
        self._denied: set[str] = set()
        self._writing: dict[str, str] = {}
        self._thoughts: set[str] = set()
        self._early: list[TextArrived] = []
        self.usage: dict[str, Usage] = {}
        """Of the model calls that were told, by model."""

    @property
    def seq(self) -> int:
        """The last record that it was told."""
        return self._state.seq

    def record(self, seq: int, record: AnyRecord) -> Iterator[Shown]:
        """What a record shows, once it is in the journal."""
        if isinstance(record, Decided):
            self._refused(record)
        self._state.fold(seq, record)
        match record:
            case Started():
                yield Spoken(input_id(self._run), input_text(record.input))
            case Said():
                yield Spoken(self._id(f"said.{seq}"), record.text)
            case Resumed() if record.instruction:
                yield Spoken(self._id(f"said.{seq}"), record.instruction)
            case Replied():
                yield from self._replied(record)
            case Broke():
                yield from self._broke(record)
            case Faulted():
                yield from self._faulted(record)
            case _:
                pass
        if isinstance(record, Replied | Broke | Summarised):
            self._count(record)
        yield from self._answered()
        yield PositionReached(seq)
        early, self._early = self._early, []
        for item in early:
            yield from self._text(item)

    def live(self, item: Live) -> Iterator[Shown]:
        """What something live shows."""
        if isinstance(item, Published):
            yield ItemShown(ref_of(self._run, item.call_id), item.item)
        elif isinstance(item, TextArrived) and not item.path:
            yield from self._text(item)

    # Text

    def _id(self, name: str) -> str:
        return f"{self._run}.{name}"

    def _message(self, upto: int, path: str = "", *, thinking: bool = False) -> str:
        """The id of a reply: known while it is written, and the same from its record."""
        if thinking:
            return self._id(f"thought.{upto}")
        if path:
            return self._id(f"reply.{upto}.{path}")
        return self._id(f"reply.{upto}")

    def _text(self, item: TextArrived) -> Iterator[Shown]:
        if item.upto > self._state.seq:  # of a reply to records that are still to be told
            self._early.append(item)
            return
        id = self._message(item.upto, thinking=item.thinking)
        said = self._writing.get(id, "")
        text = item.text
        if not item.thinking:
            if item.offset < 0 or item.offset > len(said):
                return  # what is missing here comes with the record
            text = text[len(said) - item.offset :]
        if not text:
            return
        if item.thinking:
            self._thoughts.add(id)
        if id not in self._writing:
            yield TextOpened(id, item.thinking)
        self._writing[id] = said + text
        yield TextAdded(id, text, item.thinking)

    def _whole(self, id: str, text: str, *, thinking: bool = False) -> Iterator[Shown]:
        """A text as its record has it, whatever of it was said while it was written."""
        said = self._writing.pop(id, None)
        if said is not None and not text.startswith(said) and not thinking:
            yield TextDropped(id, thinking)
            said = None
        if said is None:
            if not text:
                return
            yield TextOpened(id, thinking)
            yield TextAdded(id, text, thinking)
        elif not thinking and text[len(said) :]:
            yield TextAdded(id, text[len(said) :])
        yield TextClosed(id, thinking)

    def _replied(self, record: Replied) -> Iterator[Shown]:
        message = self._message(record.upto, record.path)
        if not record.path:
            thought = "".join(part.text for part in record.parts if isinstance(part, Thinking))
            yield from self._whole(
                self._message(record.upto, thinking=True), thought, thinking=True
            )
            yield from self._whole(message, text_of(record.parts))
        turn = turn_id(record.path, self._state.threads[record.path].turn)
        for place, part in enumerate(calls_of(record.parts)):
            if part.tool == OUTPUT_TOOL:
                continue
            id = tool_call_id(turn, place)
            if call := self._state.live.get(id):
                self._calls[id] = call
            args = record.drawn.get(call_number(id), part.args)
            yield CallShown(ref_of(self._run, id), message, part.tool, args)

    def _broke(self, record: Broke) -> Iterator[Shown]:
        if not record.path:
            yield from self._end_thought(record.upto)
            yield from self._whole(self._message(record.upto), record.text)

    def _faulted(self, record: Faulted) -> Iterator[Shown]:
        """A model that failed in the middle of a reply begins another one."""
        step = StepId.parse(record.step)
        if step.kind is StepIdKind.MODEL and not step.path:
            for id in list(self._writing):
                del self._writing[id]
                yield TextDropped(id, id in self._thoughts)

    def _end_thought(self, upto: int) -> Iterator[Shown]:
        id = self._message(upto, thinking=True)
        if self._writing.pop(id, None) is not None:
            yield TextClosed(id, True)

    # Calls

    def _refused(self, record: Decided) -> None:
        opened = self._state.open.get(record.i)
        if opened and opened.record.kind == "approval" and word_of(record) == "deny":
            self._denied.add(opened.record.call)

    def _answered(self) -> Iterator[Shown]:
        for id, call in list(self._calls.items()):
            if call.phase is not Phase.RETURNED:
                continue
            del self._calls[id]
            denied = id in self._denied and not call.ran and bool(call.error)
            place, result = ref_of(self._run, id), self._id(f"result.{id}")
            yield CallAnswered(place, result, call.value, call.error, denied)

    def _count(self, record: Replied | Broke | Summarised) -> None:
        model = getattr(record, "model", "")
        self.usage[model] = self.usage.get(model, Usage()) + record.usage
