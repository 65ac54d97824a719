"""What a run has done, in the order in which it was done: what a cancel undoes, or lists.

It only grows, and a run of a hundred thousand records seldom looks back at it. So what was read
from a snapshot stays packed until somebody does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from adjourn.core.call import Call

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_values


class UnreadCalls(Protocol):
    """So many calls that are over, not read yet."""

    def __len__(self) -> int: ...
    def open(self) -> Mapping[str, Call]:
        """The calls in it."""
        ...


class Effects(Mapping[str, Call]):
    """The calls that were done, by id. `unread`: those that came first; none of them is going on,
    so none is ever set again."""

    __slots__ = ("_calls", "_unread")

    def __init__(
        self, calls: Mapping[str, Call] | None = None, unread: Iterable[UnreadCalls] = ()
    ) -> None:
        self._calls: dict[str, Call] = dict(calls or {})
        self._unread: Sequence[UnreadCalls] = tuple(unread)

    @property
    def packed(self) -> int:
        """How many of the first calls are not read yet."""
        return sum(map(len, self._unread))

    def behind(self, count: int) -> dict[str, Call]:
        """The calls after the first `count`, which are read only if they have to be."""
        packed = self.packed
        calls, first = (self._calls, count - packed) if count >= packed else (self._whole(), count)
        return dict(islice(calls.items(), first, None))

    def shared_with(
        self, live: Mapping[str, Call], unread: Iterable[UnreadCalls] = ()
    ) -> "Effects":
        """The same, where a call that goes on is the one that is `live`, and not one like it.
        `unread` comes before them."""
        return Effects({id: live.get(id, call) for id, call in self.items()}, unread)

    def _whole(self) -> dict[str, Call]:
        if self._unread:
            read: dict[str, Call] = {}
            for stretch in self._unread:
                read |= stretch.open()
            self._calls, self._unread = read | self._calls, ()
        return self._calls

    def __getitem__(self, id: str) -> Call:
        found = self._calls.get(id)
        if found is None:
            return self._whole()[id]
        return found

    def __setitem__(self, id: str, call: Call) -> None:
        self._calls[id] = call

    def __contains__(self, id: object) -> bool:
        return id in self._calls or id in self._whole()

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._whole())

    def __len__(self) -> int:
        return self.packed + len(self._calls)

    def values(self) -> "dict_values[str, Call]":
        """The calls in order; they can be reversed, as those of a dictionary can."""
        return self._whole().values()

    def items(self) -> "dict_items[str, Call]":
        """The ids with their calls, in order."""
        return self._whole().items()

    def __repr__(self) -> str:
        return f"Effects({self._whole()!r})"
