"""The sealer: every few seconds, and at the end, it seals what was touched. Any number of processes
may have one."""

import asyncio
import logging
from collections.abc import Sequence

from adjourn.driver.clock import Clock
from adjourn.errors import AdjournError, AuditBroken
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.protocol import AuditLog
from adjourn.stores.seals import MOST, Seal

log = logging.getLogger("adjourn.audit")

EVERY = 10.0
"""Seconds between two seals, at most."""


class Sealer:
    """Seals a store while it runs. It remembers its last seal: on top of a store that has lost it,
    it seals nothing."""

    def __init__(
        self, store: AuditLog, clock: Clock, keys: Sequence[AuditKey] = (), every: float = EVERY
    ) -> None:
        self._store, self._clock, self._every = store, clock, every
        self._key = next((key for key in keys if key.can_sign), None)
        self._last: Seal | None = None
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._warned = ""

    def start(self) -> None:
        """Seal from now on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="adjourn-seal")

    async def once(self) -> Seal | None:
        """Seal everything that was touched; the last seal made, None if there was nothing to seal
        or it is for others."""
        made: Seal | None = None
        while (seal := await self._store.seal(self._key, after=self._last)) is not None:
            made = self._last = seal
            if len(seal.covered) < MOST:
                break
        return made

    async def _run(self) -> None:
        while True:
            self._bell.clear()
            await self._clock.wait(self._bell, self._every)
            await self._try()

    async def _try(self) -> None:
        try:
            await self.once()
            self._warned = ""
        except AdjournError as e:
            if str(e) != self._warned:  # once, not every ten seconds
                log.log(
                    logging.ERROR if isinstance(e, AuditBroken) else logging.WARNING,
                    "not sealed: %s",
                    e,
                )
            self._warned = str(e)

    async def close(self, grace: float) -> None:
        """Seal once more, if that takes no longer than `grace` seconds, and end."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        try:
            async with asyncio.timeout(grace):
                await self._try()
        except TimeoutError:
            log.warning(
                "the last lines were not sealed before this process ended; the next sealer seals them"
            )
