"""What watchers see: records as they are appended, and what is live."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Literal

import msgspec

from adjourn.core.interrupt import Interrupt, PendingToolCall, view
from adjourn.core.messages import text_of
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Broke,
    Erased,
    Replied,
    RunCancelled,
    RunCompleted,
)
from adjourn.core.status import ENDED
from adjourn.driver.live_feed import Feed, Published, TextArrived
from adjourn.stores.protocol import Store


class Recorded(msgspec.Struct, frozen=True):
    """A record was appended.

    Attributes:
        run_id: the run's id.
        seq: the record's number.
        record: the record.
    """

    run_id: str
    seq: int
    record: AnyRecord

    @property
    def type(self) -> str:
        """The record's word, for example `"returned"`."""
        return str(self.record.__struct_config__.tag)


class ToolCallApprovalRequired(msgspec.Struct, frozen=True):
    """A policy stopped a call before it ran; a person must decide. Follows the record that asked.

    Attributes:
        run_id: the run's id.
        seq: the record that asked.
        interrupt: what is to be decided.
        type: always `"approval_required"`.
    """

    run_id: str
    seq: int
    interrupt: Interrupt
    type: Literal["approval_required"] = "approval_required"

    @property
    def call(self) -> PendingToolCall:
        """The call, exactly as it would run."""
        assert self.interrupt.call is not None
        return self.interrupt.call


FEW, MANY, TOGETHER = 64, 10_000, 4096
"""How many items a watcher may be behind: until text grows together (to so many characters), until
items are dropped."""
LOST = -2
"""The size of a text of which a piece is missing."""

Load = Callable[[str, int], Awaitable[list[tuple[int, AnyRecord]]]]
Event = Recorded | ToolCallApprovalRequired | TextArrived | Published


def keep(live: list[TextArrived | Published], item: TextArrived | Published) -> None:
    """Keep an item for a watcher who is behind: then text grows together, and what bodies published
    is dropped at last."""
    last = live[-1] if len(live) > FEW else None
    if isinstance(item, Published):
        if len(live) < MANY:
            live.append(item)
    elif isinstance(last, TextArrived) and _goes_on(last, item):
        live[-1] = msgspec.structs.replace(last, text=last.text + item.text)
    else:
        live.append(item)


def _goes_on(last: TextArrived, item: TextArrived) -> bool:
    same = (item.path, item.thinking, item.upto) == (last.path, last.thinking, last.upto)
    follows = item.offset < 0 or item.offset == last.offset + len(last.text)
    return same and follows and not item.whole and len(last.text) < TOGETHER


async def watch(
    store: Store,
    feed: Feed,
    run: str,
    after: int = 0,
    *,
    until: Callable[[], bool] = lambda: False,
    load: Load | None = None,
) -> AsyncIterator[Event]:
    """Every record after `after`, once and in order, and live items as they come; ends with the
    run, or when `until()`.

    `load` reads records instead of `store.load`.
    """
    load = load or store.load
    bell = asyncio.Event()
    live: list[TextArrived | Published] = []
    heard = _HeardText(run)
    ends = [store.subscribe(run, bell.set), feed.listen(run, _listener(live, bell))]
    try:
        row = await store.get(run)
        if row.status in ENDED and row.seq <= after:
            return
        while True:
            bell.clear()
            last = until()
            records = await load(run, after)
            while live:
                if heard.takes(item := live.pop(0)):
                    yield item
            for seq, record in records:
                after = seq
                if isinstance(record, Replied | Broke) and (rest := heard.rest(record)):
                    yield rest
                for event in _events_of(run, seq, record):
                    yield event
                if isinstance(record, RunCompleted | RunCancelled | Erased):
                    return
            if last:
                return
            if not live:
                await bell.wait()
    finally:
        for end in ends:
            end()


def _listener(live: list[TextArrived | Published], bell: asyncio.Event) -> Callable[[object], None]:
    def hear(item: object) -> None:
        if isinstance(item, TextArrived | Published):
            keep(live, item)
            bell.set()

    return hear


class _HeardText:
    """What a watcher was given of the replies of a run. Text from another process may come later
    than the record of its reply: so what is missing is given before the record, from the record,
    and what comes later is dropped."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._written: dict[str, int] = {}
        self._texts: dict[str, tuple[int, list[str], int]] = {}

    def takes(self, item: TextArrived | Published) -> bool:
        """Whether the watcher is to have it: not if its whole reply was recorded before it."""
        if isinstance(item, Published):
            return True
        if item.upto <= self._written.get(item.path, -1):
            return False
        if not item.thinking:
            upto, pieces, size = self._texts.get(item.path, (item.upto, [], 0))
            if item.whole or upto != item.upto:
                pieces, size = [], 0
            if item.offset == size or (item.offset < 0 <= size):
                pieces.append(item.text)
                self._texts[item.path] = item.upto, pieces, size + len(item.text)
            else:  # a piece is missing: what the record has more is not known
                self._texts[item.path] = item.upto, [], LOST
        return True

    def rest(self, record: Replied | Broke) -> TextArrived | None:
        """What a watcher who has read the beginning of a reply has not got yet; None if that is
        nothing, or if another text was recorded than was heard."""
        path, upto = record.path, record.upto
        self._written[path] = upto
        of, pieces, size = self._texts.pop(path, (upto, [], 0))
        whole = text_of(record.parts) if isinstance(record, Replied) else record.text
        if of != upto or not pieces or not whole.startswith("".join(pieces)) or len(whole) == size:
            return None
        return TextArrived(self._run, path, whole[size:], upto=upto, offset=size)


def _events_of(run: str, seq: int, record: AnyRecord) -> Iterator[Event]:
    yield Recorded(run, seq, record)
    if isinstance(record, Asked) and record.kind == "approval":
        yield ToolCallApprovalRequired(run, seq, view(run, seq, record))
