"""The AI SDK's message stream, version 1: what a person sees of a run as its chunks. All of a turn is one
message of the assistant."""

from collections.abc import Iterable, Iterator
from typing import Any

from adjourn.core.codec import encode
from adjourn.core.ids import ref_of
from adjourn.server.front_ends.interrupt_answer import shown_interrupt, token_of
from adjourn.server.front_ends.shown_event import (
    CallAnswered,
    CallShown,
    ItemShown,
    RunRested,
    Shown,
    ShownMessage,
    TextAdded,
    TextClosed,
    TextDropped,
    TextOpened,
)

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"
Chunk = dict[str, Any]


class AiSdkStream:
    """The chunks of one response. The message of a turn has one id, so that a response continues
    what the one before it has shown."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._in_step = self._is_answered = False

    def begin(self, answered: Iterable[str] = ()) -> Iterator[Chunk]:
        """The first chunks; `answered`: the tokens of what was answered in no call's part."""
        metadata = self._metadata()
        yield {"type": "start", "messageId": turn_message(self._run), "messageMetadata": metadata}
        for token in answered:
            data = {"id": token, "open": False}
            yield {"type": "data-interrupt", "id": token, "data": data}

    def event(self, event: Shown) -> Iterator[Chunk]:
        """What happened, as chunks. What others say to the agent has no place in a message of the
        assistant."""
        match event:
            case TextOpened():
                yield from self._step()
                yield {"type": f"{_kind(event.thinking)}-start", "id": event.id}
            case TextAdded():
                kind = _kind(event.thinking)
                yield {"type": f"{kind}-delta", "id": event.id, "delta": event.text}
            case TextClosed() | TextDropped():
                yield {"type": f"{_kind(event.thinking)}-end", "id": event.id}
            case CallShown():
                yield from self._step()
                yield {
                    "type": "tool-input-available",
                    "toolCallId": event.id,
                    "toolName": event.tool,
                    "input": event.args,
                    "dynamic": True,
                }
            case CallAnswered():
                self._is_answered = True
                yield _answer(event)
            case ItemShown():
                data = {"call": event.call, "item": event.item}
                yield {"type": "data-published", "data": data, "transient": True}
            case _:
                pass

    def end(self, rested: RunRested, *, decidable: bool) -> Iterator[Chunk]:
        """The last chunks: what people are asked, and why it ends."""
        reason = "stop"
        if {interrupt.kind for interrupt in rested.interrupts} == {"error"} and not decidable:
            shown = shown_interrupt(rested.interrupts[0], decidable=False)
            yield from self.failed(str(shown["message"]))
            return
        for interrupt in rested.interrupts:
            reason = "tool-calls"
            shown = shown_interrupt(interrupt, decidable=decidable)
            if interrupt.kind == "approval" and interrupt.call is not None:
                yield {
                    "type": "tool-approval-request",
                    "approvalId": token_of(interrupt),
                    "toolCallId": ref_of(self._run, interrupt.call.call_id),
                    "approvalDescriptor": shown,
                }
            else:
                data = {**shown, "open": True}
                yield {"type": "data-interrupt", "id": shown["id"], "data": data}
        if rested.output is not None and not isinstance(rested.output, str):
            yield {"type": "data-result", "id": self._run, "data": rested.output}
        if self._in_step:
            yield {"type": "finish-step"}
        if not rested.interrupts and rested.status != "completed":
            yield {"type": "abort", "reason": rested.status}
            return
        yield {
            "type": "finish",
            "finishReason": reason,
            "messageMetadata": self._metadata(rested.status),
        }

    def failed(self, message: str) -> Iterator[Chunk]:
        """The last chunk, if the stream cannot go on."""
        yield {"type": "error", "errorText": message}

    def _step(self) -> Iterator[Chunk]:
        """What follows the results of calls is another step."""
        if self._in_step and self._is_answered:
            yield {"type": "finish-step"}
            self._in_step = False
        if not self._in_step:
            self._in_step, self._is_answered = True, False
            yield {"type": "start-step"}

    def _metadata(self, status: str = "") -> Chunk:
        found = {"run_id": self._run}
        if status:
            found["status"] = status
        return {"adjourn": found}


def turn_message(run: str) -> str:
    """The id of the message that a run's turn is shown in."""
    return f"{run}.turn"


def ui_messages(run: str, messages: Iterable[ShownMessage]) -> list[Chunk]:
    """The messages of a turn that has ended, as the AI SDK keeps them.

    Args:
        run: the run.
        messages: what was said in it.
    """
    found: list[Chunk] = []
    calls: dict[str, Chunk] = {}
    for message in messages:
        if message.role == "user":
            part = {"type": "text", "text": message.text}
            found.append({"id": message.id, "role": "user", "parts": [part]})
        elif message.role == "tool":
            calls[message.call] |= _result_part(message)
        else:
            if found[-1]["role"] == "user":
                id = turn_message(run) if len(found) == 1 else message.id
                found.append({"id": id, "role": "assistant", "parts": []})
            found[-1]["parts"] += _parts(message, calls)
    return found


def _parts(message: ShownMessage, calls: dict[str, Chunk]) -> Iterator[Chunk]:
    if message.text:
        kind = _kind(message.role == "reasoning")
        yield {"type": kind, "text": message.text, "state": "done"}
    for call in message.calls:
        part: Chunk = {
            "type": "dynamic-tool",
            "toolName": call.tool,
            "toolCallId": call.id,
            "state": "input-available",
            "input": call.args,
        }
        calls[call.id] = part
        yield part


def _result_part(message: ShownMessage) -> Chunk:
    if message.error:
        return {"state": "output-error", "errorText": message.error}
    return {"state": "output-available", "output": message.value}


def chunk_frame(chunk: Chunk) -> bytes:
    """A chunk as a server-sent event."""
    return b"data: %b\n\n" % encode(chunk)


def _kind(thinking: bool) -> str:
    return "reasoning" if thinking else "text"


def _answer(event: CallAnswered) -> Chunk:
    if event.denied:
        return {"type": "tool-output-denied", "toolCallId": event.id}
    if event.error:
        text = event.error
        return {
            "type": "tool-output-error",
            "toolCallId": event.id,
            "errorText": text,
            "dynamic": True,
        }
    return {
        "type": "tool-output-available",
        "toolCallId": event.id,
        "output": event.value,
        "dynamic": True,
    }
