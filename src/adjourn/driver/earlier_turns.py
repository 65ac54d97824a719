"""What was said in the turns before a run: read from their journals once, and shared by all that
come after them."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from adjourn.core.messages import Message
from adjourn.core.record_parts import Ref
from adjourn.core.records import AnyRecord, Erased, Started
from adjourn.core.state import State
from adjourn.core.status import ENDED
from adjourn.core.transcript import Transcript, erased
from adjourn.errors import BrokenHistory, UnknownRun
from adjourn.stores.protocol import Store, Turn

MESSAGES = 200_000
"""So many messages are kept; of the conversations that nobody has gone on with for the longest
time, none."""
MARKS = 32
"""So many of the last turns of a conversation are known as places in it."""
FIRST, MOST = 4, 500
"""How many turns are asked for at first, and at most, in one read."""
PAUSE = 50
"""After so many turns others have their turn on the event loop."""


class _Line:
    """A conversation as far as it is known, and where in it which turns ended."""

    def __init__(self, said: Transcript) -> None:
        self.said = said
        self.marks: OrderedDict[Ref, int] = OrderedDict()

    def ends(self, ref: Ref) -> list[Ref]:
        """`ref` ends where it ends now. Those that are no longer known as places in it."""
        self.marks[ref] = len(self.said)
        return [self.marks.popitem(last=False)[0] for _ in range(len(self.marks) - MARKS)]

    def upto(self, ref: Ref) -> Transcript:
        """What was said up to there."""
        count = self.marks[ref]
        if count == len(self.said):
            return self.said
        return self.said.first(count, ref.replies)


class EarlierTurns:
    """The conversations that runs of a store go on with. A ref names its journal's hash: what is
    kept can never be another's."""

    def __init__(self, store: Store, most: int = MESSAGES) -> None:
        self._store, self._most, self._size = store, most, 0
        self._lines: OrderedDict[int, _Line] = OrderedDict()
        self._where: dict[Ref, _Line] = {}
        self.erasures = -1
        """How many runs of the store had been erased, at least, when what is kept was read."""

    def heard(self, erasures: int) -> None:
        """So many runs have been erased, said a transaction: of what was read when there were
        fewer, nothing is kept."""
        if erasures != self.erasures:
            self.forget()
            self.erasures = erasures

    async def before(self, started: Started) -> Transcript | None:
        """What a run goes on with; None if it has that itself, or goes on with nothing.

        Raises `BrokenHistory` if a journal on the way is not the one that is meant. What was erased
        is a note for each message.
        """
        if started.before is None:
            return None
        while True:
            self.heard(await self._store.erasures())
            if known := self.known(started):
                return known
            erasures, said = self.erasures, await self._read(started, started.before)
            # else some of it may have been erased meanwhile
            if erasures == await self._store.erasures():
                return said

    async def of(self, records: Sequence[tuple[int, AnyRecord]]) -> Transcript | None:
        """`before`, for the run with these records; None if they do not begin with its first,
        because it was erased."""
        first = records[0][1] if records else None
        if isinstance(first, Started):
            return await self.before(first)
        return None

    async def conversation(self, state: State) -> list[Message]:
        """All that was said in a run, and in the turns before it, also if it was folded without
        them."""
        thread = state.threads.get("")
        if thread is None:
            return []
        before = await self.before(state.started)
        if before is None:
            said = thread.transcript[: thread.began]
        else:
            said = before
        return [*said, *thread.said_here(ended=state.ended is not None)]

    def known(self, started: Started) -> Transcript | None:
        """What a run goes on with, if that need not be read; see `before`."""
        ref = started.before
        line = self._where.get(ref) if ref else None
        if ref is None or line is None:
            return None
        self._lines.move_to_end(id(line))
        return line.upto(ref)

    def keep(self, state: State, erasures: int) -> None:
        """The next turn may go on with this run, which has ended; what it knows was read when so
        many runs had been erased."""
        if erasures != self.erasures:
            return
        thread = state.threads.get("")
        if (
            state.status not in ENDED
            or not state.head
            or thread is None
            or thread.transcript.absent
        ):
            return
        ref = ref_of(state)
        if ref not in self._where:
            self._put(state.started.before, ref, thread.handed_on())

    def forget(self) -> None:
        """Keep nothing: what was said may have been erased."""
        self._lines.clear()
        self._where.clear()
        self._size = 0

    def _put(self, before: Ref | None, ref: Ref, said: Transcript) -> None:
        line = self._where.get(before) if before else None
        if line is None or before is None or line.marks[before] != len(line.said):
            known = line
            line = _Line(said)
            self._lines[id(line)] = line
            self._size += len(said)
            # another branch: that turn is a place in both
            if known is not None and before is not None:
                line.marks[before] = known.marks[before]
                self._where[before] = line
        else:
            self._size += len(said) - len(line.said)
            line.said = said
            self._lines.move_to_end(id(line))
        for mark in line.ends(ref):
            if self._where.get(mark) is line:
                del self._where[mark]
        self._where[ref] = line
        while self._size > self._most and len(self._lines) > 1:
            self._drop(*self._lines.popitem(last=False))

    def _drop(self, _id: int, line: _Line) -> None:
        self._size -= len(line.said)
        for mark, found in list(self._where.items()):
            if found is line:
                del self._where[mark]

    async def _read(self, started: Started, ref: Ref) -> Transcript:
        """Back to a turn that is known, or to the first; then forward again, turn by turn."""
        way: list[tuple[Ref, Turn, Ref | None]] = []
        wanted, limit, said = ref, FIRST, None
        reader, erasures = started.run, self.erasures
        while said is None:
            found = await self._store.turns(wanted.run, wanted.seq, limit)
            said, wanted, reader = await self._walk(way, wanted, reader, found)
            limit = min(MOST, limit * 8)
        for count, (mark, turn, before) in enumerate(reversed(way), 1):
            said = _with_turn(said, mark, turn)
            if erasures == self.erasures:
                self._put(before, mark, said)
            if not count % PAUSE:
                await asyncio.sleep(0)
        if (len(said), said.replies) != (ref.messages, ref.replies):
            raise BrokenHistory(started.run, ref.run, ref.seq)
        return said

    async def _walk(
        self,
        way: list[tuple[Ref, Turn, Ref | None]],
        wanted: Ref,
        reader: str,
        found: Sequence[Turn],
    ) -> tuple[Transcript | None, Ref, str]:
        """Take in these turns, newest first. What the oldest of them goes on with, if that is
        known; else what to ask for next."""
        if not found:  # it was removed: nobody knows any more what was said
            return erased(wanted.messages, wanted.replies), wanted, reader
        for turn in found:
            if turn.run != wanted.run or turn.head.hex() != wanted.head:
                raise BrokenHistory(reader, wanted.run, wanted.seq)
            before = turn.before if turn.records else await self._continued(turn.run)
            way.append((wanted, turn, before))
            if before is None:
                return Transcript(), wanted, reader
            reader, wanted = turn.run, before
            if line := self._where.get(wanted):
                return line.upto(wanted), wanted, reader
        return None, wanted, reader

    async def _continued(self, run: str) -> Ref | None:
        """The turn that a run continued which was erased, if what is left of it says that."""
        try:
            found = await self._store.load(run)
        except UnknownRun:  # it was removed in between
            return None
        for _, record in found[-1:]:
            if isinstance(record, Erased):
                return record.after
        return None


def _with_turn(said: Transcript, mark: Ref, turn: Turn) -> Transcript:
    """What was said up to `mark`: in the turns before this one, and in this one. If it was erased,
    its messages are notes, and those of the others stay as they are."""
    if turn.records:
        return State(before=said).fold_all(turn.records).threads[""].handed_on()
    gone = erased(mark.messages - len(said), mark.replies - said.replies)
    found = said.next_turn()
    found.extend(gone)
    return found


def ref_of(state: State) -> Ref:
    """The place at which a run has ended, for one that goes on with it."""
    said = state.threads[""].handed_on()
    return Ref(state.run, state.seq, state.head.hex(), len(said), said.replies)
