"""The parts of a state that msgspec does not know by itself, as plain data and back: for snapshots
and for chapters."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from adjourn.core.call import Call
from adjourn.core.done_calls import Effects
from adjourn.core.messages import AssistantMessage, Message
from adjourn.core.transcript import Transcript


def as_plain(value: Any) -> Any:
    """A hook for msgspec's encoders."""
    if isinstance(value, Transcript):
        return _plain_transcript(value)
    if isinstance(value, Effects):
        return dict(value)
    if isinstance(value, Sequence):  # a segment that was not read yet
        return list(cast("Sequence[Message]", value))
    raise NotImplementedError(f"a {type(value).__name__} is not part of a state")


def from_plain(kind: type, plain: Any) -> Any:
    """A hook for msgspec's decoders."""
    if kind is Effects:
        return Effects(msgspec.convert(plain, dict[str, Call], str_keys=True))
    if kind is not Transcript:
        raise NotImplementedError(f"a {kind.__name__} is not part of a state")
    if len(plain) == 2:
        replies, messages = msgspec.convert(plain, tuple[int, list[Message]])
        absent = 0
    else:
        replies, messages, absent = msgspec.convert(plain, tuple[int, list[Message], int])
    own = sum(type(message) is AssistantMessage for message in messages)
    return Transcript(messages, absent=absent, replies=replies - own)


def _plain_transcript(transcript: Transcript) -> tuple[Any, ...]:
    """Its replies and messages. Of the turns before, if they are not here, only how many messages
    they have."""
    if not transcript.absent:
        return transcript.replies, list(transcript)
    own = list(transcript.between(transcript.absent, len(transcript)))
    return transcript.replies, own, transcript.absent
