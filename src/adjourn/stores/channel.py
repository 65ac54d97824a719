"""Live text between processes: lines that nobody depends on, beside the journals. They are gone
after a minute."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

Line = Callable[[], str]
"""Makes a line; it is called only if somebody follows the run."""


class Ears(Protocol):
    """The process at one end of a channel."""

    def so_far(self, run: str) -> Sequence[str]:
        """What one of its runs is saying: all of it, for somebody who has just begun to follow."""
        ...

    def hear(self, line: str) -> None:
        """A run in another process said this."""
        ...


class Channel(Protocol):
    """One process's end of what a store carries. What goes wrong costs live text, and nothing
    else."""

    def send(self, run: str, line: Line, *, in_whole: bool = False) -> None:
        """Carry a line to whoever follows the run in other processes, in order. `in_whole`: it is
        in what `Ears.so_far` says, so whoever has just got that does not get it again."""
        ...

    def follow(self, run: str) -> AbstractAsyncContextManager[None]:
        """While inside, what the run says in other processes is heard here, once, however many
        follow it here: first all that it is saying."""
        ...

    async def forget(self, run: str) -> bool:
        """The run was erased: nothing that it said is kept any more. False: somebody who reads
        holds a part of it."""
        ...

    async def close(self) -> None:
        """Carry nothing more."""
        ...


class MemoryChannel:
    """See `Channel`. All ends of a store in memory are in one process."""

    def __init__(self, ends: "set[MemoryChannel]", ears: Ears) -> None:
        self._ends, self._ears = ends, ears
        self._followed: Counter[str] = Counter()
        ends.add(self)

    def send(self, run: str, line: Line, *, in_whole: bool = False) -> None:
        """See `Channel.send`."""
        for end in self._ends:
            if end is not self and end._followed[run]:
                end._ears.hear(line())

    @asynccontextmanager
    async def follow(self, run: str) -> AsyncGenerator[None]:
        """See `Channel.follow`."""
        self._followed[run] += 1
        if self._followed[run] == 1:
            for end in self._ends - {self}:
                for line in list(end._ears.so_far(run)):
                    self._ears.hear(line)
        try:
            yield
        finally:
            self._followed[run] -= 1
            if not self._followed[run]:
                del self._followed[run]

    async def forget(self, run: str) -> bool:
        """See `Channel.forget`."""
        return True

    async def close(self) -> None:
        """See `Channel.close`."""
        self._ends.discard(self)
