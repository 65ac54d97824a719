"""Who wants to know when a run may have changed, inside this process."""

import asyncio
from collections.abc import Callable, Sequence

from adjourn.stores.protocol import Bell


class Subscription:
    """One who listens. There may be thousands, so it is one object; calling it ends it."""

    __slots__ = ("_among", "bell", "loop", "run", "words")

    def __init__(self, among: "Subscriptions", run: str, bell: Bell, words: bool) -> None:
        self._among, self.run, self.bell, self.words = among, run, bell, words
        self.loop = asyncio.get_running_loop()

    def __call__(self) -> None:
        self._among.remove(self)


class Subscriptions:
    """Subscriptions by run id ("" = any). Ringing from another thread or loop is safe."""

    def __init__(self) -> None:
        self._bells: dict[str, dict[Subscription, None]] = {}

    def add(self, run: str, bell: Bell, words: bool = False) -> Callable[[], None]:
        """Ring `bell` in the current loop whenever `run` is rung, until the result is called."""
        one = Subscription(self, run, bell, words)
        self._bells.setdefault(run, {})[one] = None
        return one

    def remove(self, one: Subscription) -> None:
        """Ring it no more."""
        group = self._bells.get(one.run, {})
        group.pop(one, None)
        if not group:
            self._bells.pop(one.run, None)

    def ring(self, run: str, *, own: bool = False) -> None:
        """Ring for one run, and for those who listen to any; an empty run rings everybody.

        `own`: the lease's holder wrote it, so those who listen for the words of others are left
            alone.
        """
        bells = self._bells
        if not run:
            self._ring(list(bells), own)
        elif run in bells or "" in bells:
            self._ring((run, ""), own)

    def ring_any(self) -> None:
        """Ring for those who listen to any run."""
        self._ring([""], False)

    def _ring(self, names: Sequence[str], own: bool) -> None:
        here = _running_loop()
        for name in names:
            group = self._bells.get(name)
            if group is None:
                continue
            for one in tuple(group):
                if own and one.words:
                    continue
                if one.loop is here:
                    one.bell()
                elif not one.loop.is_closed():
                    one.loop.call_soon_threadsafe(one.bell)

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
