"""What happens live inside this process and is not journaled: text as it arrives, items that bodies publish."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec


class Live(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Something live of one run."""

    run_id: str

    @property
    def type(self) -> str:
        """Its word: `"text"` or `"published"`."""
        return str(self.__struct_config__.tag)


class TextArrived(Live, frozen=True, tag="text"):
    """A piece of a reply that is still being written. `path` names the agent ("" is the root)."""

    path: str
    text: str
    thinking: bool = False


class Published(Live, frozen=True, tag="published"):
    """What a body gave to `ctx.publish`."""

    call: str
    item: Any


class Feed:
    """Live items of one process, by run id. Nobody listening costs one dict look-up."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Callable[[Live], None]]] = {}

    def listen(self, run: str, hear: Callable[[Live], None]) -> Callable[[], None]:
        """Call `hear` for each item of the run until the result is called."""
        self._listeners.setdefault(run, []).append(hear)

        def end() -> None:
            group = self._listeners.get(run, [])
            if hear in group:
                group.remove(hear)
            if not group:
                self._listeners.pop(run, None)

        return end

    def send(self, item: Live) -> None:
        """Give an item to whoever listens."""
        for hear in list(self._listeners.get(item.run_id, ())):
            hear(item)

    def send_from_thread(self, loop: asyncio.AbstractEventLoop, item: Live) -> None:
        """The same, from a thread that is not the loop's."""
        loop.call_soon_threadsafe(self.send, item)
