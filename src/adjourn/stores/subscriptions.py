"""Who wants to know when a run may have changed, inside this process."""

import asyncio
from collections.abc import Callable

from adjourn.stores.protocol import Bell


class Subscriptions:
    """Subscriptions by run id ("" = any). Ringing from another thread or loop is safe."""

    def __init__(self) -> None:
        self._bells: dict[str, dict[object, tuple[asyncio.AbstractEventLoop, Bell, bool]]] = {}

    def add(self, run: str, bell: Bell, words: bool = False) -> Callable[[], None]:
        """Ring `bell` in the current loop whenever `run` is rung, until the result is called."""
        key = object()
        self._bells.setdefault(run, {})[key] = (asyncio.get_running_loop(), bell, words)

        def end() -> None:
            group = self._bells.get(run, {})
            group.pop(key, None)
            if not group:
                self._bells.pop(run, None)

        return end

    def ring(self, run: str, *, own: bool = False) -> None:
        """Ring for one run, and for those who listen to any; an empty run rings everybody.

        `own`: the lease's holder wrote it, so those who listen for the words of others are left
            alone.
        """
        self._ring([run, ""] if run else list(self._bells), own)

    def ring_any(self) -> None:
        """Ring for those who listen to any run."""
        self._ring([""], False)

    def _ring(self, names: list[str], own: bool) -> None:
        for name in names:
            group = self._bells.get(name)
            for loop, bell, words in tuple(group.values()) if group else ():
                if own and words:
                    continue
                if loop is _running_loop():
                    bell()
                elif not loop.is_closed():
                    loop.call_soon_threadsafe(bell)

    @property
    def runs(self) -> list[str]:
        """The runs somebody listens to."""
        return [run for run in self._bells if run]

    @property
    def idle(self) -> bool:
        """Whether nobody listens to a run of their own."""
        return len(self._bells) == ("" in self._bells)

    def __bool__(self) -> bool:
        return bool(self._bells)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
