"""Whether a process is fit to work: its store can be written to, the schema is the one it knows, and
its sweep goes on."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from adjourn.errors import AdjournError
from adjourn.stores.address import database_at, file_of, is_postgres

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime

PATIENCE = 5.0
"""Seconds that a store has to answer."""
KEPT = 1.0
"""Seconds for which an answer is given again: whoever asks often does not ask the store."""
PROBE = "@probe"
"""The worker whose card is removed to see whether the store can be written to. There is none."""


class Health(msgspec.Struct, frozen=True):
    """What is wrong, in words for a log; "" where nothing is."""

    store: str = ""
    schema: str = ""
    sweep: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether nothing is."""
        return not (self.store or self.schema or self.sweep)


class HealthCheck:
    """Asks for the health of one runtime."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime
        self._lock = asyncio.Lock()
        self._known, self._until = Health(), 0.0

    async def health(self) -> Health:
        """What is wrong now, or was a moment ago."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if now >= self._until:
                self._known = await self._look()
                self._until = asyncio.get_running_loop().time() + KEPT
            return self._known

    async def _look(self) -> Health:
        sweep = ""
        try:
            if not self._runtime.worker.is_sweeping:
                sweep = "the sweep has not run for too long"
            async with asyncio.timeout(PATIENCE):
                obstacle, schema = await asyncio.to_thread(_flaws, self._runtime.address)
                if obstacle:
                    return Health(store=obstacle, sweep=sweep)
                await self._runtime.store.roster(drop=[PROBE])
        except TimeoutError:
            return Health(store=f"it did not answer within {PATIENCE:g} s", sweep=sweep)
        except (AdjournError, OSError) as e:
            return Health(store=str(e), sweep=sweep)
        return Health(schema=schema, sweep=sweep)


def _flaws(address: str) -> tuple[str, str]:
    """Why a process cannot write to a database, and why it cannot work with its schema; "" if it
    can. In PostgreSQL a newer schema only adds to what it knows: were it out of service then, an
    upgrade would take out all."""
    if file_of(address) is None and not is_postgres(address):
        return "", ""
    found = database_at(address)
    schema, newest = found.schema, found.newest_schema
    if schema == newest or (is_postgres(address) and schema > newest):
        return found.obstacle(), ""
    return found.obstacle(), f"it is {schema}, and this process supports {newest}"
