"""What watchers see: records as they are appended, and what is live."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Literal

import msgspec

from adjourn.core.interrupt import Interrupt, PendingToolCall, view
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

Load = Callable[[str, int], Awaitable[list[tuple[int, AnyRecord]]]]
Event = Recorded | ToolCallApprovalRequired | TextArrived | Published


def keep(live: list[TextArrived | Published], item: TextArrived | Published) -> None:
    """Keep an item for a watcher who is behind: then text grows together, and what bodies published
    is dropped at last."""
    if len(live) > FEW:
        last = live[-1]
    else:
        last = None
    if isinstance(item, Published):
        if len(live) < MANY:
            live.append(item)
    elif isinstance(last, TextArrived) and _goes_on(last, item):
        live[-1] = msgspec.structs.replace(last, text=last.text + item.text)
    else:
        live.append(item)


def _goes_on(last: TextArrived, item: TextArrived) -> bool:
    same = (item.path, item.thinking, item.upto) == (last.path, last.thinking, last.upto)
    follows = item.at < 0 or item.at == last.at + len(last.text)
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
    # text from another process may come later than the record of the whole reply
    written: dict[str, int] = {}
    ends = [store.subscribe(run, bell.set), feed.listen(run, _listener(live, bell))]
    try:
        row = await store.get(run)
        if row.status in ENDED and row.seq <= after:
            return
        while True:
            bell.clear()
            last = until()
            records = await load(run, after)
            for item in _fresh(live, written):
                yield item
            for seq, record in records:
                after = seq
                if isinstance(record, Replied | Broke):
                    written[record.path] = record.upto
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


def _fresh(live: list[TextArrived | Published], written: dict[str, int]) -> Iterator[Event]:
    """Take out what has come, without text whose whole reply was recorded before it."""
    while live:
        item = live.pop(0)
        if isinstance(item, Published) or item.upto > written.get(item.path, -1):
            yield item


def _events_of(run: str, seq: int, record: AnyRecord) -> Iterator[Event]:
    yield Recorded(run, seq, record)
    if isinstance(record, Asked) and record.kind == "approval":
        yield ToolCallApprovalRequired(run, seq, view(run, seq, record))
