"""What happens live inside this process and is not journaled: text as it arrives, items that bodies
publish."""

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
    """A piece of a reply that is still being written.

    Attributes:
        run_id: the run's id.
        path: the nested agent that speaks; empty for the run's own.
        text: the piece.
        thinking: whether it is reasoning.
        whole: whether `text` is everything so far, for a watcher who has just begun.
        upto: the last record that the model had read: another number is another reply, and the
            record of a reply has the same one.
        offset: where in the reply the piece begins, in characters: a client that has read further has it
            already. -1: not known.
    """

    path: str
    text: str
    thinking: bool = False
    whole: bool = False
    upto: int = 0
    offset: int = -1


class Published(Live, frozen=True, tag="published"):
    """What a body gave to `ctx.publish`.

    Attributes:
        run_id: the run's id.
        call_id: the call's id.
        item: the value.
    """

    call_id: str
    item: Any


class Feed:
    """Live items of one process, by run id. Nobody listening costs one dict look-up."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Callable[[Live], None]]] = {}
        self._partial: dict[tuple[str, str], tuple[int, str]] = {}
        self.tap: Callable[[Live], None] | None = None
        """Hears everything that this process's own runs say: what carries it to other processes."""

    def listen(self, run: str, hear: Callable[[Live], None]) -> Callable[[], None]:
        """Call `hear` for each item of the run until the result is called; first with what is being
        written."""
        self._listeners.setdefault(run, []).append(hear)
        for item in self.so_far(run):
            hear(item)

        def end() -> None:
            group = self._listeners.get(run, [])
            if hear in group:
                group.remove(hear)
            if not group:
                self._listeners.pop(run, None)

        return end

    def so_far(self, run: str) -> list[TextArrived]:
        """The replies of a run that are being written."""
        found: list[TextArrived] = []
        for (of, path), (upto, text) in self._partial.items():
            if of == run and text:
                found.append(TextArrived(run, path, text, whole=True, upto=upto, offset=0))
        return found

    def send(self, item: Live) -> None:
        """Give an item of a run of this process to whoever listens."""
        if isinstance(item, TextArrived) and not item.thinking:
            key = (item.run_id, item.path)
            upto, before = self._partial.get(key, (item.upto, ""))
            if upto != item.upto:
                before = ""
            self._partial[key] = item.upto, before + item.text
            item = msgspec.structs.replace(item, offset=len(before))
        if self.tap is not None:
            self.tap(item)
        self.hear(item)

    def hear(self, item: Live) -> None:
        """Give an item to whoever listens here."""
        for hear in list(self._listeners.get(item.run_id, ())):
            hear(item)

    def forget(self, run: str) -> None:
        """The run was erased."""
        for key in list(self._partial):
            if key[0] == run:
                del self._partial[key]

    def written(self, run: str, path: str) -> None:
        """A reply is written, or was cut off: it is in the journal now."""
        self._partial.pop((run, path), None)
