"""A state written down, and read again: what a snapshot is made of. A cache, never the truth: the
journal is.

What only ever grows at its end is cut into *stretches* of one length, which are written once: the
messages of each conversation, and what was done and may be undone. The *rest* is everything else,
with what stands behind the last stretch.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast, overload

import msgspec

from adjourn.core.call import Call
from adjourn.core.chapter import copies_earlier_turns
from adjourn.core.done_calls import Effects
from adjourn.core.messages import Message
from adjourn.core.packed_state import as_plain, from_plain
from adjourn.core.snapshot_part import SnapshotPart
from adjourn.core.state import State
from adjourn.core.thread import Thread
from adjourn.core.transcript import SEGMENT, Segment, Transcript

FORMAT = 4
"""Of what is written here. What says another one is not read."""
EFFECTS = "!effects"
"""Where what was done is kept. Every other path is a conversation's."""


class StateAtRest(msgspec.Struct):
    """What is not in stretches. `files`: where messages with files stand, in each conversation that
    has one, so that nobody has to open its stretches to know."""

    state: State
    files: dict[str, tuple[int, ...]]


# Writing it down


def edition(state: State) -> str:
    """Another one whenever earlier records are read differently: after an upgrade, or when one no
    longer counts."""
    return f"{max(state.belief.upgrades, default=0)}.{len(state.belief.void)}"


def is_fit(state: State) -> bool:
    """Whether it can be written down: its place in the chain is known, nobody's trust was asked
    for, what was done is not being taken back, and it has no copy of what was said in the turns
    before."""
    whole = (
        bool(state.head) and state.trust is None and state.cancel is None and state.erased is None
    )
    return whole and not copies_earlier_turns(state)


def own(state: State) -> State:
    """The state as it is without the turns before its run: a snapshot has no copy of them, which
    would outlive their erasure."""
    ref = state.started.before
    if ref is None:
        return state
    root = state.threads[""]
    thread = msgspec.structs.replace(root, transcript=root.transcript.without(ref.messages))
    return msgspec.structs.replace(state, before=None, threads={**state.threads, "": thread})


def stretches(state: State) -> list[SnapshotPart]:
    """All that it has in stretches."""
    of = edition(state)
    counts = {EFFECTS: _done(state) // SEGMENT}
    for path, thread in state.threads.items():
        counts[path] = len(thread.transcript.segments)
    found: list[SnapshotPart] = []
    for path, count in counts.items():
        found += [SnapshotPart(of, path, place) for place in range(count)]
    return found


def stretch(state: State, which: SnapshotPart) -> Any:
    """One of them, for `packed`. It shares nothing with the state that may still change: calls are
    in bytes already."""
    if which.path == EFFECTS:
        return _encoder.encode(
            dict(islice(state.effects.behind(which.k * SEGMENT).items(), SEGMENT))
        )
    return state.threads[which.path].transcript.segments[which.k]


def rest(state: State) -> bytes:
    """All that it has besides."""
    threads: dict[str, Thread] = {}
    files: dict[str, tuple[int, ...]] = {}
    for path, thread in state.threads.items():
        threads[path] = msgspec.structs.replace(thread, transcript=_behind(thread.transcript))
        if found := thread.transcript.file_places:
            files[path] = found
    effects = Effects(state.effects.behind(_done(state) // SEGMENT * SEGMENT))
    state = msgspec.structs.replace(state, threads=threads, effects=effects)
    return _encoder.encode(StateAtRest(state, files))


def _behind(transcript: Transcript) -> Transcript:
    return Transcript(absent=transcript.absent).begin((), transcript.tail, transcript.replies)


def _done(state: State) -> int:
    """How many calls stand before the first one that was done and is still going on."""
    first = state.effects.packed
    read = state.effects.behind(first)
    for count, id in enumerate(read):
        if id in state.live:
            return first + count
    return first + len(read)


def packed(part: Any) -> bytes:
    """A stretch, or the rest, as it is kept: with a sum, because it may be opened long after it was
    read."""
    body = zlib.compress(part if isinstance(part, bytes) else _encoder.encode(part), 1)
    return zlib.crc32(body).to_bytes(4, "big") + body


# Reading it again


class Packed(Sequence[Message]):
    """A segment of a conversation that nobody has read since it was written down. It is opened when
    somebody does."""

    __slots__ = ("_body", "_messages")

    def __init__(self, body: bytes) -> None:
        self._body, self._messages = body, cast("Segment | None", None)

    def open(self) -> Segment:
        """What is in it. It takes a millisecond or two, once."""
        if self._messages is None:
            self._messages = _messages.decode(zlib.decompress(self._body))
            self._body = b""
        return self._messages

    @property
    def is_packed(self) -> bool:
        """Whether nobody has read it yet."""
        return self._messages is None

    def __len__(self) -> int:
        return SEGMENT

    def __iter__(self) -> Iterator[Message]:
        return iter(self.open())

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> Segment: ...
    def __getitem__(self, place: int | slice) -> Message | Segment:
        return self.open()[place]


class PackedCalls:
    """Calls that are over, which nobody has read since they were written down."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    def open(self) -> dict[str, Call]:
        """The calls in it."""
        return _calls.decode(zlib.decompress(self._body))

    def __len__(self) -> int:
        return SEGMENT


def read(rest: bytes, stretches: Mapping[SnapshotPart, bytes]) -> State:
    """The state again. `stretches` are in order. Raises `msgspec.MsgspecError` or `ValueError` if
    it is not what was written."""
    found = _rest.decode(zlib.decompress(_checked(rest)))
    state = found.state
    done: list[PackedCalls] = []
    segments: dict[str, list[Sequence[Message]]] = {}
    for which, body in stretches.items():
        if which.path == EFFECTS:
            done.append(PackedCalls(_checked(body)))
        else:
            segments.setdefault(which.path, []).append(Packed(_checked(body)))
    state.effects = state.effects.shared_with(state.live, done)
    for path, before in segments.items():
        transcript = state.threads[path].transcript
        transcript.begin(before, transcript.tail, transcript.replies)
        transcript.file_places = found.files.get(path, ())
    return state


def _checked(body: bytes) -> bytes:
    """What `packed` made, without the sum."""
    if zlib.crc32(body[4:]) != int.from_bytes(body[:4], "big"):
        raise ValueError("this is not what was written")
    return body[4:]


_encoder = msgspec.msgpack.Encoder(enc_hook=as_plain)
_rest = msgspec.msgpack.Decoder(StateAtRest, dec_hook=from_plain)
_messages = msgspec.msgpack.Decoder(Segment)
_calls = msgspec.msgpack.Decoder(dict[str, Call])
