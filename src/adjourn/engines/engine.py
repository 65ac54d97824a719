"""What an engine must do: keep a wake until the run has come to rest, and ask a worker to advance
it."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from adjourn.engines.run_tasks import RunTasks


class Engine(Protocol):
    """Something outside that keeps wakes and hands them to workers, each at least once.

    Only ids of runs cross. Wakes may be lost, doubled, late and out of order: the store decides who
    has a run, and the sweep of `EngineHost` finds what the engine forgot.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    async def open(self) -> None:
        """Connect. Raises `EngineError` if it cannot be reached."""
        ...

    async def wake(self, run: str) -> None:
        """Give the engine the wake of a `run`; once this returns, the engine keeps it. Raises
        anything if it does not: the wake stays in the store and is handed over again."""
        ...

    async def serve(self, tasks: "RunTasks", slots: int) -> None:
        """Let the engine ask this process to advance runs, until this is cancelled. A wake is done
        only when `tasks.advance` has returned, never because it raised.

        Args:
            tasks: what advances them.
            slots: how many at the same time.
        """
        ...

    async def problems(self) -> list[tuple[str, str]]:
        """What would keep it from working although it answers: what is wrong, and what to do. It is
        open, and nothing is changed."""
        ...

    async def version(self) -> str:
        """The server's version; "" if it does not say. It is open."""
        ...

    async def close(self) -> None:
        """Let go of the engine."""
        ...
