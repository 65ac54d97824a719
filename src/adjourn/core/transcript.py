"""A conversation that only grows: what was said is shared between all who have read it, and copied
by nobody.

A transcript is a row of segments that never change again, and a tail of its own. The next turn of a
conversation begins with the segments of the turn before. A request is a view of it: its length is
fixed when it is made, and nothing is copied.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, cast, overload

from adjourn.core.messages import AssistantMessage, Message, Text, UserMessage, files_in, has_files
from adjourn.core.request_digest import Running

SEGMENT = 1_000
"""So many messages have the segments of a transcript; its tail has fewer."""
ABSENT = UserMessage("(the turns before this one are not loaded)")
"""In the place of every message of earlier turns where a journal is folded without them. Never
sent, and never shown."""
ERASED = UserMessage("[erased]"), AssistantMessage((Text(text="[erased]"),))
"""In the place of every message of earlier turns that were erased: of what was said to the agent,
and of its replies."""

Segment = Sequence[Message]


def is_erased(message: Message) -> bool:
    """Whether it stands for one that was erased. The very object: a text that only looks the same
    does not."""
    return message is ERASED[0] or message is ERASED[1]


def erased(messages: int, replies: int) -> "Transcript":
    """A conversation of so many messages and replies of which nothing else is known. They are
    counted as they were, so that whatever names a place in the conversation still names the same
    one."""
    told, spoke = ERASED
    pairs = min(replies, messages - replies)
    rest = [told] * (messages - replies - pairs) + [spoke] * (replies - pairs)
    return Transcript([told, spoke] * pairs + rest)


class Messages(Sequence[Message]):
    """A stretch of messages, in order. What two of them have in common they share. Never changed;
    slices of it are views too."""

    __slots__ = ()

    def at(self, place: int) -> Message:
        """The message at a place in it."""
        raise NotImplementedError

    def between(self, first: int, until: int) -> Iterator[Message]:
        """The messages from `first` up to `until`, which are places in it."""
        raise NotImplementedError

    def stretch(self, first: int, until: int) -> "Messages":
        """A view of the messages from `first` up to `until`."""
        return TranscriptView(self, first, until)

    def files(self, first: int = 0, until: int | None = None) -> Iterator[dict[str, Any]]:
        """The references to files in the messages from `first` up to `until`, in order."""
        raise NotImplementedError

    def may_have_files(self) -> bool:
        """False if there is no file in it; it costs nothing to ask."""
        return True

    def __iter__(self) -> Iterator[Message]:
        return self.between(0, len(self))

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | Sequence[Message]:
        if isinstance(place, slice):
            first, until, step = place.indices(len(self))
            if step != 1:
                return tuple(map(self.at, range(first, until, step)))
            return self.stretch(first, max(first, until))
        count = len(self)
        found = place + count if place < 0 else place
        if not 0 <= found < count:
            raise IndexError(f"message {place} of {count} not found")
        return self.at(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | tuple | Messages):
            return NotImplemented
        sequence = cast("Sequence[Any]", other)
        return len(self) == len(sequence) and all(map(operator.eq, self, sequence))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return repr(tuple(self))


class TranscriptView(Messages):
    """The messages of a transcript from one place to another, and some behind them. The transcript
    may grow meanwhile."""

    __slots__ = ("_behind", "_count", "_first", "_of")

    def __init__(
        self, of: Messages, first: int, until: int, behind: Sequence[Message] = ()
    ) -> None:
        self._of, self._first, self._count, self._behind = of, first, until - first, tuple(behind)

    def __len__(self) -> int:
        return self._count + len(self._behind)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(tuple(self))  # it is equal to that tuple

    def stretch(self, first: int, until: int) -> Messages:
        """See `Messages.stretch`."""
        if until <= self._count:  # no view of a view, which would be looked through twice
            return TranscriptView(self._of, self._first + first, self._first + until)
        return TranscriptView(self, first, until)

    def may_have_files(self) -> bool:
        """See `Messages.may_have_files`."""
        return self._of.may_have_files() or any(map(has_files, self._behind))

    def files(self, first: int = 0, until: int | None = None) -> Iterator[dict[str, Any]]:
        """See `Messages.files`."""
        end = len(self) if until is None else until
        shared = self._first + min(first, self._count), self._first + min(end, self._count)
        yield from self._of.files(*shared)
        own = self._behind[max(0, first - self._count) : max(0, end - self._count)]
        yield from files_in(own)

    def at(self, place: int) -> Message:
        """See `Messages.at`."""
        if place < self._count:
            return self._of.at(self._first + place)
        return self._behind[place - self._count]

    def between(self, first: int, until: int) -> Iterator[Message]:
        """See `Messages.between`."""
        if first >= self._count:
            return iter(self._behind[first - self._count : max(0, until - self._count)])
        shared = self._of.between(
            self._first + min(first, self._count), self._first + min(until, self._count)
        )
        own = self._behind[max(0, first - self._count) : max(0, until - self._count)]
        if own:
            return chain(shared, own)
        return shared


class Transcript(Messages):
    """All that was said in a conversation so far. Only `append` and `extend` change it, and only at
    its end.

    `absent`: so many messages at its beginning are not here; whoever wants to read them calls
        `need` first.
    """

    __slots__ = ("_files", "_replies", "_running", "_segments", "_tail", "absent")

    def __init__(self, messages: Iterable[Message] = (), absent: int = 0, replies: int = 0) -> None:
        self.absent = absent
        self._segments: tuple[Segment, ...] = ()
        self._tail: list[Message] = []
        self._replies = replies
        self._files: list[int] | None = None  # of most conversations there is none
        self._running: Running | None = None
        self.extend(messages)

    def next_turn(self) -> "Transcript":
        """One that begins with all of this and grows by itself. It costs the tail, however long the
        conversation is."""
        found = Transcript(absent=self.absent).begin(
            self._segments, self._tail, self._replies, self._running
        )
        found.file_places = self.file_places
        return found

    def begin(
        self,
        segments: Sequence[Segment],
        tail: Sequence[Message],
        replies: int,
        running: Running | None = None,
    ) -> "Transcript":
        """Itself, with these parts at its beginning: as many replies are among them, and this is
        the hash over them."""
        self._segments, self._tail, self._replies = tuple(segments), list(tail), replies
        if running:
            self._running = running.copy()
        else:
            self._running = None
        self._files = None
        return self

    @property
    def file_places(self) -> tuple[int, ...]:
        """Where messages with files stand in it."""
        return tuple(self._files or ())

    @file_places.setter
    def file_places(self, places: Sequence[int]) -> None:
        self._files = list(places) or None

    def may_have_files(self) -> bool:
        """See `Messages.may_have_files`."""
        return self._files is not None

    def files(self, first: int = 0, until: int | None = None) -> Iterator[dict[str, Any]]:
        """See `Messages.files`."""
        end = len(self) if until is None else until
        for place in self._files or ():
            if first <= place < end:
                yield from files_in((self.at(place),))

    def first(self, count: int, replies: int) -> "Transcript":
        """One that begins with the first so many messages, of which so many are replies. The hash
        over them is not known."""
        here = count - self.absent
        full, rest = divmod(here, SEGMENT)
        if full < len(self._segments):
            part = self._segments[full]
        else:
            part = self._tail
        found = Transcript(absent=self.absent).begin(self._segments[:full], part[:rest], replies)
        found.file_places = [place for place in self.file_places if place < count]
        return found

    def without(self, count: int) -> "Transcript":
        """The same conversation, but its first so many messages are absent: as if it had been
        folded without them."""
        if self.absent == count:
            return self
        replies = sum(
            type(message) is AssistantMessage for message in self.between(count, len(self))
        )
        return Transcript(
            self.between(count, len(self)), absent=count, replies=self._replies - replies
        )

    def behind(self, before: "Transcript") -> "Transcript":
        """The same conversation, with what was absent in its place."""
        found = before.next_turn()
        found.extend(self.between(self.absent, len(self)))
        return found

    @property
    def replies(self) -> int:
        """How many of its messages are replies, broken ones too."""
        return self._replies

    @property
    def running(self) -> Running:
        """The hash over its lines, as far as somebody has asked for it."""
        if self._running is None:
            self._running = Running()
        return self._running

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Its parts that never change again, `SEGMENT` messages each, without what is absent."""
        return self._segments

    @property
    def tail(self) -> Segment:
        """What stands behind its segments."""
        return tuple(self._tail)

    def append(self, message: Message) -> None:
        """One more message."""
        if type(message) is AssistantMessage:
            self._replies += 1
        if has_files(message):
            self._files = self._files or []
            self._files.append(len(self))
        self._tail.append(message)
        if len(self._tail) == SEGMENT:
            self._segments = (*self._segments, tuple(self._tail))
            self._tail = []

    def extend(self, messages: Iterable[Message]) -> None:
        """More messages, in order."""
        for message in messages:
            self.append(message)

    def need(self) -> "Transcript":
        """Itself; raises `ValueError` if its beginning is not here: nobody may take the rest for
        the whole."""
        if self.absent:
            raise ValueError(
                f"the first {self.absent} messages of this conversation are in the journals of "
                "earlier turns, and were not loaded"
            )
        return self

    def upto(self, count: int, behind: Sequence[Message] = ()) -> Messages:
        """A view of its first so many messages, and these behind them."""
        return TranscriptView(self, 0, count, behind)

    def __len__(self) -> int:
        return self.absent + SEGMENT * len(self._segments) + len(self._tail)

    def at(self, place: int) -> Message:
        """See `Messages.at`."""
        if place < self.absent:
            return ABSENT
        segment, within = divmod(place - self.absent, SEGMENT)
        if segment < len(self._segments):
            return self._segments[segment][within]
        return self._tail[within]

    def between(self, first: int, until: int) -> Iterator[Message]:
        """See `Messages.between`."""
        in_tail = first - self.absent - SEGMENT * len(self._segments)
        if in_tail >= 0:
            return iter(self._tail[in_tail : max(in_tail, in_tail + until - first)])
        return self._across(first, until)

    def _across(self, first: int, until: int) -> Iterator[Message]:
        """See `Messages.between`: of several parts."""
        for _ in range(first, min(until, self.absent)):
            yield ABSENT
        place, end = max(0, first - self.absent), until - self.absent
        while place < end:
            segment, within = divmod(place, SEGMENT)
            if segment < len(self._segments):
                part = self._segments[segment]
            else:
                part = self._tail
            yield from islice(part, within, min(len(part), within + end - place))
            place += SEGMENT - within
