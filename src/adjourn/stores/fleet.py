"""What workers say of themselves and of runs that they cannot advance, and what waits for them: for
people to see. Nothing is decided by it."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec


class WorkerCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker says of itself every `every` seconds; `seen_at` is the store's time of the last
    one.

    `programs`: the agents and flows that it advances, each with its version. `slots`: how many runs
    it advances at the same time, and `running` how many it does. `draining`: it takes no more runs.
    """

    id: str
    host: str = ""
    pid: int = 0
    version: str = ""
    programs: dict[str, str] = {}
    slots: int = 0
    running: int = 0
    draining: bool = False
    every: float = 0.0
    began_at: float = 0.0
    seen_at: float = 0.0


class Queue(msgspec.Struct, frozen=True):
    """Runs of one agent or flow: how many are ready and free, since when the oldest of them is, and
    how many a worker has."""

    program: str
    ready: int = 0
    oldest_at: float = 0.0
    working: int = 0


class RunCount(msgspec.Struct, frozen=True):
    """How many runs of one agent or flow have a status."""

    program: str
    status: str
    runs: int


class Census(msgspec.Struct, frozen=True):
    """The runs that have not ended, counted, in the order of their programs and statuses; and how
    many bytes the store has, 0 if that is not known."""

    runs: tuple[RunCount, ...] = ()
    size: int = 0


class Misfit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A worker's note that it cannot advance `run` as of record `seq`. It is over with the run's
    next record.

    `why` is for people. `fingerprint` is the worker's program, if that is what does not fit: what
    may be accepted. `queued`: it only waits for its turn.
    """

    run: str
    seq: int
    why: str
    fingerprint: dict[str, Any] = {}
    worker: str = ""
    at: float = 0.0
    queued: bool = False


class Fleet(Protocol):
    """Who works on the runs of a store, and how much there is to do."""

    async def roster(
        self, put: WorkerCard | None = None, *, drop: Sequence[str] = ()
    ) -> list[WorkerCard]:
        """The cards of workers, in the order of their ids. Who has runs is not asked here: see
        `workers`.

        Args:
            put: keep this first, in the place of the one that the worker had; its `seen_at` is the
                time of the transaction.
            drop: remove the cards of these first.
        """
        ...

    async def queues(self) -> list[Queue]:
        """What is ready or in the hands of a worker, by agent or flow, in the order of their names.

        Ready is what a worker could take now: also a run whose time to wake has come, but not one
        that waits for a halt to be lifted.
        """
        ...

    async def census(self, most: int = 100_000) -> Census:
        """How many runs have each status, of those that have not ended. `failed` is one of them:
        all that such a run waits for is an error.

        Args:
            most: so many runs of one program and status are counted; a number that is as large
                means "or more".
        """
        ...


class Pulse(Protocol):
    """A worker's heartbeat, for one thread that is not an event loop's: whatever user code does
    there, this goes on."""

    def beat(self, worker: str, ttl: float) -> bool:
        """Nobody takes the worker's runs for `ttl` from now. True: the beat came too late, somebody
        may have taken some.

        Raises `StoreError`.
        """
        ...

    def end(self, worker: str, *, left: bool = False) -> None:
        """The worker works no more: whatever still names it can be taken at once. Raises
        `StoreError`.

        `left`: bodies that it began are still at work in its process: whoever can see that process
            waits for them.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
