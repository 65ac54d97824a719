"""The verbs of a runtime that are the kill switch: halt, unhalt, and what is halted."""

from collections.abc import Sequence

from adjourn.core.halt import check_scope
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import Invalid
from adjourn.runtime.open_runtime import OpenRuntime
from adjourn.stores.protocol import Halt


class HaltVerbs(OpenRuntime):
    """What `Runtime` can do with halts."""

    async def halt(self, scope: str, *, reason: str, by: str) -> list[Halt]:
        """The kill switch: no new call and no new model call starts in what it covers. Returns all
        halts.

        Args:
            scope: everything (`"*"`), one agent (`"agent:NAME"`) or one tool (`"tool:NAME"`).
            reason: why.
            by: who halts.
        """
        if not reason or not by:
            raise Invalid("halt needs reason= and by=")
        return await self.store.halt(check_scope(scope), by=by, reason=reason, origin=self.origin)

    async def unhalt(self, scope: str, *, by: str, reason: str = "") -> list[Halt]:
        """Lift a halt; held runs continue. Returns the halts that remain.

        Args:
            scope: as for `halt`.
            by: who lifts it.
            reason: why.
        """
        if not by:
            raise Invalid("unhalt needs by=, the person who lifts the halt")
        check_outside("lift a halt")
        return await self.store.halt(
            check_scope(scope), by=by, reason=reason, lift=True, origin=self.origin
        )

    async def halts(self) -> Sequence[Halt]:
        """The halts that are on."""
        return await self.store.halt("")

    async def halted(self) -> frozenset[str]:
        """The scopes of the halts that are on."""
        return frozenset(halt.scope for halt in await self.halts())
