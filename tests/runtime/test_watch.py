"""Watching: every record once and in order, with live text; closing a watch stops nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, completed, notes, refunds, slowly

from adjourn import Event, Recorded, Runtime, TextArrived, ToolCallApprovalRequired
from adjourn.core.messages import Text
from adjourn.core.records import Replied, RunCompleted
from adjourn.driver.live_feed import Feed
from adjourn.driver.watch import watch
from adjourn.stores.memory import MemoryStore
from adjourn.testing.contract.fixtures import begin, commit


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    async with asyncio.timeout(LIMIT):
        return [event async for event in events]


async def test_a_watch_gives_every_record_once_and_in_order_with_live_text(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        events = await collect(run.watch())
        records = await rt.store.load(run.id)
    recorded = [(e.seq, e.record) for e in events if isinstance(e, Recorded)]
    assert recorded == records
    assert [seq for seq, _ in recorded] == list(range(1, len(records) + 1))
    texts = [e.text for e in events if isinstance(e, TextArrived)]
    assert "".join(texts).endswith("all noted")
    assert "all " in texts and "noted" in texts
    last = [e.type for e in events][-2:]
    assert last == ["replied", "completed"]


async def test_text_arrives_before_the_reply_that_it_belongs_to(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        words = [e.type for e in await collect(run.watch())]
    assert words.index("text") < max(k for k, word in enumerate(words) if word == "replied")


async def test_a_watch_can_begin_in_the_middle(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        await run.wait(LIMIT)
        records = await rt.store.load(run.id)
        events = await collect(run.watch(after=4))
        assert [e.seq for e in events if isinstance(e, Recorded)] == [seq for seq, _ in records[4:]]


async def test_a_watch_of_what_has_ended_already_ends(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        await run.wait(LIMIT)
        assert await collect(run.watch(after=(await run.state()).seq)) == []


async def test_closing_a_watch_stops_nothing(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(slowly(ledger), "go")
        watching = asyncio.create_task(collect(run.watch()))
        await ledger.until("began 1.0")
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        async for _ in run.watch():
            break
        ledger.open("tool")
        await completed(run)
    assert ledger.lines() == ["began 1.0", "ended 1.0"]


async def test_a_watcher_is_told_that_an_approval_is_required(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        async with asyncio.timeout(LIMIT):
            async for event in run.watch():
                if isinstance(event, ToolCallApprovalRequired):
                    assert event.call.arguments == {"order": "A1", "cents": 500}
                    await rt.approve(event.interrupt.id, by="ann", digest=event.call.digest)
        await completed(run)


async def test_a_watcher_in_another_process_sees_the_records_as_they_come(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    worker = await begin("slowly")
    await worker.do("start", agent="slowly", run="r1")
    async with Runtime(address) as rt:
        run = await rt.get("r1")
        seen: list[str] = []
        async with asyncio.timeout(LIMIT):
            async for event in run.watch():
                seen.append(event.type)
                if event.type == "intended":
                    ledger.open("tool")
        assert seen == ["started", "claimed", "replied", "intended", "returned", "replied", "completed"]


async def test_two_watchers_see_the_same(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(notes(ledger), "go")
        one, two = await asyncio.gather(collect(run.watch()), collect(run.watch()))
    assert [e for e in one if isinstance(e, Recorded)] == [e for e in two if isinstance(e, Recorded)]


@pytest.mark.parametrize(
    ("heard", "given"),
    [
        ([("hel", 0)], ["hel", "lo there"]),
        ([("hel", 0), ("lo there", 3)], ["hel", "lo there"]),
        ([("lo", 3)], ["lo"]),
        ([("hel", 0), ("there", 6)], ["hel", "there"]),
        ([("other", 0)], ["other"]),
        ([], []),
    ],
    ids=["late", "all", "without its beginning", "with a gap", "of another text", "nothing"],
)
async def test_text_that_was_begun_is_whole_before_its_record(heard: list[tuple[str, int]], given: list[str]) -> None:
    store, feed = MemoryStore(), Feed()
    lease = await begin(store)
    seen: list[str] = []
    events = watch(store, feed, "r1")
    for _ in range(2):
        await anext(events)
    for text, at in heard:
        feed.hear(TextArrived("r1", "", text, upto=2, offset=at))
    await commit(store, lease, [Replied(upto=2, parts=(Text(text="hello there"),))], [RunCompleted()])
    async with asyncio.timeout(LIMIT):
        async for event in events:
            if isinstance(event, TextArrived):
                seen.append(event.text)
            elif isinstance(event, Recorded) and isinstance(event.record, Replied):
                assert seen == given
                feed.hear(TextArrived("r1", "", "lo there", upto=2, offset=3))
    assert seen == given


async def test_text_that_comes_later_than_its_whole_reply_is_not_shown(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        seen: list[Event] = []
        async with asyncio.timeout(LIMIT):
            async for event in run.watch():
                seen.append(event)
                if isinstance(event, Recorded) and isinstance(event.record, Replied):
                    upto = event.record.upto
                    rt.feed.hear(TextArrived(run.id, "", "late", upto=upto))
                    rt.feed.hear(TextArrived(run.id, "", "next", upto=upto + 9))
                if isinstance(event, TextArrived) and event.text == "next":
                    break
        assert "late" not in [e.text for e in seen if isinstance(e, TextArrived)]


async def test_a_wait_that_takes_too_long_says_what_it_waited_for(address: str, ledger: Ledger) -> None:
    async with Runtime(address, work=False) as rt:
        run = await rt.start(refunds(ledger), "go")
        with pytest.raises(TimeoutError, match=f"run {run.id} did not stop within 0.01 seconds; it is still active"):
            await run.wait(0.01)
