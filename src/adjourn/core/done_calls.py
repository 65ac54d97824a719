"""What a run has done, in the order in which it was done: what a cancel undoes, or lists.

It only grows, and a run of a hundred thousand records seldom looks back at it. So what was read
from a snapshot stays packed until somebody does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from adjourn.core.call import Call, Phase, VerifyAnswer
from adjourn.core.ids import compensation_id, is_undo, parse_fork, undo_id

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_values

    from adjourn.core.state import State


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


LEFT = "it was still running when the run was cancelled: check whether it happened, and undo it by hand"
"""Why a call is residue whose body did not end."""
SAID_NOT = (
    "a person said that it did not happen, but a part of it is recorded as done: check, and "
    "undo it by hand"
)
"""Why a call is residue that is not undone, although it could be."""


def started(state: "State") -> list[Call]:
    """Calls whose body ran and stopped to wait: an effect may stand, without a result."""
    found: list[Call] = []
    for call in state.live.values():
        if call.begun and not is_undo(call.id) and call.id not in state.effects:
            found.append(call)
    return found


def latest_first(state: "State") -> list[Call]:
    """Every call that may have an effect, in the order in which they are undone."""
    return [*reversed(started(state)), *reversed(state.effects.values())]


def is_undoable(call: Call) -> bool:
    """Whether a cancel undoes it, as far as the journal alone can say. Not if somebody says that it
    did not happen: what it noted as done all the same is for a person to look at."""
    can = call.undo and not call.inherited and call.verified != VerifyAnswer.NOT_HAPPENED
    return can and not call.undone and not call.left


def next_undo(call: Call) -> str:
    """What a cancel does next to take back a call that is over: what its body registered, if that
    ended after the cancel, and then its tool's own undo; "" if there is nothing."""
    if call.compensations and not call.inherited:
        return compensation_id(call.id, call.compensations[0])
    return undo_id(call.id) if is_undoable(call) else ""


def undone(state: "State") -> list[str]:
    """The calls that were undone, latest first."""
    return [call.id for call in latest_first(state) if call.undone.is_undone and not call.left]


def residue(state: "State", alone: Set[str] = frozenset()) -> list[dict[str, Any]]:
    """What stays: undo failed or left, in doubt, and every call that is not `read`, did something
    and has no undo.

    `alone`: calls that nobody this worker trusts has agreed to; whether they happened is for a
        person to find out.
    """
    left: list[dict[str, Any]] = []
    for call in [*state.effects.values(), *started(state)]:
        if call.effect == "read" or call.id in state.threads:
            continue
        if call.undone.is_undone and not call.left:
            continue
        doubted = call.phase == Phase.DOUBT or (call.phase == Phase.ASKED and call.doubt)
        why = call.undone.value or ("in doubt" if doubted else "it has no undo")
        if call.verified == VerifyAnswer.NOT_HAPPENED:
            why = SAID_NOT
        if call.left:
            why = LEFT
        if call.inherited:
            origin = parse_fork(state.started.forked_from)[0]
            can = "which can undo it" if call.undo else "and it has no undo"
            why = f"inherited: done by {origin}, {can}"
        if call.id in alone:
            why = (
                "no person whom this worker trusts agreed to it: check whether it happened, "
                "and undo it by hand"
            )
        left.append({"call": call.id, "tool": call.tool, "arguments": call.args, "why": why})
    if state.submitted:
        from adjourn.core import background

        left += background.residue(state)
    return left
