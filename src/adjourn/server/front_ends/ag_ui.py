"""AG-UI 1.0: what a person sees of a run as its events, and its messages."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from adjourn.core.client_tool import called_of
from adjourn.core.codec import encode
from adjourn.core.ids import ref_of
from adjourn.core.usage import Usage
from adjourn.server.front_ends.interrupt_answer import shown_interrupt
from adjourn.server.front_ends.shown_event import (
    CallAnswered,
    CallShown,
    ItemShown,
    PositionReached,
    RunRested,
    Shown,
    ShownMessage,
    ShownMessages,
    Spoken,
    TextAdded,
    TextClosed,
    TextDropped,
    TextOpened,
)
from adjourn.server.front_ends.translator import input_id

VERSION = "1.0"
"""The protocol version that we speak."""
Wire = dict[str, Any]


class AgUiPlace(NamedTuple):
    """Whose stream it is. `before`: the messages of the front end that are not this run's, which a
    snapshot repeats; `has_input`: what the run began with is among them. `state`: the front end's own,
    which a snapshot repeats too."""

    thread: str
    run_id: str
    run: str
    before: tuple[Any, ...] = ()
    has_input: bool = False
    state: Any = None


class AgUiStream:
    """One run of AG-UI: the events of a stream, from `RUN_STARTED` to `RUN_FINISHED`."""

    def __init__(self, place: AgUiPlace) -> None:
        self._place = place
        self._messages = ShownMessages()
        self._position = 0

    def told(self, event: Shown) -> None:
        """Take in what the front end has already."""
        self._messages.add(event)
        if isinstance(event, PositionReached):
            self._position = event.seq

    def begin(self, *, restate: bool) -> Iterator[Wire]:
        """The first events; with `restate`, everything so far, for whoever may have less or more of
        it."""
        yield {
            "type": "RUN_STARTED",
            "threadId": self._place.thread,
            "runId": self._place.run_id,
            "protocolVersion": VERSION,
        }
        if restate:
            yield self._messages_snapshot()

    def event(self, event: Shown) -> Iterator[Wire]:
        """What happened, as events."""
        self.told(event)
        match event:
            case Spoken():
                yield from self._spoken(event)
            case TextOpened() | TextAdded() | TextClosed():
                yield from _text(event)
            case TextDropped():
                yield from _text(TextClosed(event.id, event.thinking))
                yield self._messages_snapshot()
            case CallShown():
                yield from _call(event)
            case CallAnswered():
                yield {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": event.message,
                    "toolCallId": event.id,
                    "content": result_text(event.value, event.error),
                    "role": "tool",
                }
            case ItemShown():
                value = {"call": event.call, "item": event.item}
                yield {"type": "CUSTOM", "name": "adjourn.published", "value": value}
            case PositionReached():
                pass

    def end(self, rested: RunRested, *, decidable: bool) -> Iterator[Wire]:
        """The last events."""
        kinds = {interrupt.kind for interrupt in rested.interrupts}
        if kinds == {"error"} and not decidable:
            message = str(shown_interrupt(rested.interrupts[0], decidable=False)["message"])
            yield {"type": "RUN_ERROR", "message": message, "code": "failed"}
            return
        outcome: Wire = {"type": "success"}
        # calls of the front end's own tools are no interrupts: it is told which they are, and runs
        # again with what came of them
        called = [ref_of(one.run_id, id) for one in rested.interrupts if (id := called_of(one))]
        if called:
            outcome["pendingToolCallIds"] = called
        asked = [one for one in rested.interrupts if not called_of(one)]
        if asked:
            shown = [shown_interrupt(one, decidable=decidable) for one in asked]
            outcome = {"type": "interrupt", "interrupts": shown}
            yield self._state_snapshot(rested.status)
            yield self._messages_snapshot()
        elif not rested.interrupts and rested.status != "completed":
            outcome = {"type": "cancelled"}
        finished: Wire = {
            "type": "RUN_FINISHED",
            "threadId": self._place.thread,
            "runId": self._place.run_id,
            "outcome": outcome,
        }
        if outcome["type"] == "success" and rested.output is not None:
            finished["result"] = rested.output
        used = [_usage(model, usage) for model, usage in rested.usage.items() if usage.total_tokens]
        if used:
            finished["usage"] = used
        yield finished

    def failed(self, message: str, code: str) -> Iterator[Wire]:
        """The last event, if the stream cannot go on."""
        yield {"type": "RUN_ERROR", "message": message, "code": code}

    def _spoken(self, event: Spoken) -> Iterator[Wire]:
        """The input is the front end's own; what others say to the agent is new to it."""
        if self._is_known(event.id):
            return
        yield {"type": "TEXT_MESSAGE_START", "messageId": event.id, "role": "user"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": event.id, "delta": event.text}
        yield {"type": "TEXT_MESSAGE_END", "messageId": event.id}

    def _is_known(self, id: str) -> bool:
        return self._place.has_input and id == input_id(self._place.run)

    def _state_snapshot(self, status: str) -> Wire:
        known: Wire = {}
        state: Any = self._place.state
        if isinstance(state, dict):
            known = cast("Wire", state)
        ours = {"run_id": self._place.run, "status": status, "position": self._position}
        return {"type": "STATE_SNAPSHOT", "snapshot": {**known, "adjourn": ours}}

    def _messages_snapshot(self) -> Wire:
        ours = [message_of(message) for message in self._messages if not self._is_known(message.id)]
        return {"type": "MESSAGES_SNAPSHOT", "messages": [*self._place.before, *ours]}


def frame(event: Wire, position: int = 0) -> bytes:
    """An event as a server-sent event; `position`: what a reconnect names if it was the last."""
    head = b"id: %d\n" % position if position else b""
    return b"%bdata: %b\n\n" % (head, encode(event))


def message_of(message: ShownMessage) -> Wire:
    """A message as AG-UI describes one."""
    found: Wire = {"id": message.id, "role": message.role}
    if message.role == "tool":
        found["content"] = result_text(message.value, message.error)
        found["toolCallId"] = message.call
        if message.error:
            found["error"] = message.error
        return found
    if message.text or message.role != "assistant":
        found["content"] = message.text
    if message.calls:
        found["toolCalls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool, "arguments": arguments_text(call.args)},
            }
            for call in message.calls
        ]
    return found


def arguments_text(args: Any) -> str:
    """A call's arguments, as text; what was no JSON is as the model wrote it."""
    return args if isinstance(args, str) else encode(args).decode()


def result_text(value: Any, error: str) -> str:
    """A call's result, as text."""
    if error:
        return error
    return value if isinstance(value, str) else encode(value).decode()


def _text(event: TextOpened | TextAdded | TextClosed) -> Iterator[Wire]:
    kind = "REASONING_MESSAGE" if event.thinking else "TEXT_MESSAGE"
    if isinstance(event, TextAdded):
        yield {"type": f"{kind}_CONTENT", "messageId": event.id, "delta": event.text}
    elif isinstance(event, TextOpened):
        if event.thinking:
            yield {"type": "REASONING_START", "messageId": event.id}
        role = "reasoning" if event.thinking else "assistant"
        yield {"type": f"{kind}_START", "messageId": event.id, "role": role}
    else:
        yield {"type": f"{kind}_END", "messageId": event.id}
        if event.thinking:
            yield {"type": "REASONING_END", "messageId": event.id}


def _call(event: CallShown) -> Iterator[Wire]:
    yield {
        "type": "TOOL_CALL_START",
        "toolCallId": event.id,
        "toolCallName": event.tool,
        "parentMessageId": event.message,
    }
    delta = arguments_text(event.args)
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": event.id, "delta": delta}
    yield {"type": "TOOL_CALL_END", "toolCallId": event.id}


def _usage(model: str, used: Usage) -> Wire:
    found: Wire = {
        "inputTokens": used.input_tokens,
        "outputTokens": used.output_tokens,
        "totalTokens": used.total_tokens,
    }
    if model:
        found["model"] = model
    if used.cache_read_tokens:
        found["cachedInputTokens"] = used.cache_read_tokens
    return found
