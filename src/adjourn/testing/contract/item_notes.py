"""`annotate` and `marks`: what people leave on an item, beside its decision."""

import pytest

from adjourn.core.records import Decided, Parked, Said
from adjourn.errors import (
    InterruptClosed,
    Invalid,
    RequestReused,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.stores.item_note import BEFORE_EXPIRY, ItemMark, ItemNote
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    commit,
    replied,
    started,
)
from adjourn.testing.fake_clock import FakeClock

RUN, ITEM = "r1", "1.0?0"


def assigned(to: str, by: str = "ana") -> ItemNote:
    """That somebody gives the item to `to`."""
    return ItemNote("assign", ITEM, by, to=to)


def snoozed(until: float, by: str = "ana") -> ItemNote:
    """That somebody does not want to see the item until then."""
    return ItemNote("snooze", ITEM, by, until=until)


class Annotating(ContractFixtures):
    """An item can be given to somebody, put off and commented on, and asks for the same as
    before."""

    async def _open(self, store: Store, expires: float = 0.0) -> None:
        lease = await begin(store)
        asked = approval(call="1.0", tool="refund", digest="d" * 64, expires=expires)
        await commit(store, lease, [replied("refund")], [asked, Parked()])

    async def test_an_item_is_given_to_one_at_a_time_and_found_by_that(self, store: Store) -> None:
        await self._open(store)
        assert await store.marks([(RUN, ITEM)]) == {}
        await store.annotate(RUN, assigned("erik"))
        await store.annotate(RUN, assigned("group:leads", by="ben"))
        assert await store.marks([(RUN, ITEM), ("no", ITEM)]) == {
            (RUN, ITEM): ItemMark("group:leads")
        }
        mine = ("ana", "group:leads")
        assert [item.local for item in await store.inbox(Filter(assigned=mine))] == [ITEM]
        assert await store.inbox(Filter(assigned=("erik",))) == []
        assert await store.inbox(Filter(assigned=("", "erik"))) == []
        await store.annotate(RUN, assigned(""))
        assert await store.marks([(RUN, ITEM)]) == {}
        assert await store.inbox(Filter(assigned=mine)) == []
        assert len(await store.inbox(Filter(assigned=("", *mine)))) == 1

    @pytest.mark.parametrize(
        ("note", "other"),
        [
            (assigned("erik"), assigned("ben")),
            (
                ItemNote("comment", ITEM, "ana", text="hi"),
                ItemNote("comment", ITEM, "ana", text="ho"),
            ),
            (snoozed(1e12), snoozed(1e11)),
        ],
        ids=["assign", "comment", "snooze"],
    )
    async def test_a_note_of_one_request_is_left_once_and_another_of_it_is_refused(
        self, store: Store, note: ItemNote, other: ItemNote
    ) -> None:
        await self._open(store)
        first = await store.annotate(RUN, note, request="k")
        await store.annotate(RUN, assigned("zoe", by="ben"))
        assert await store.annotate(RUN, note, request="k") == first
        with pytest.raises(RequestReused):
            await store.annotate(RUN, other, request="k")
        lines = [line.entry for line in await store.audit(RUN)]
        left = [line for line in lines if line["verb"] == note.verb and line["by"] == "ana"]
        assert len([line for line in left if "refused" not in line]) == 1
        assert (await store.marks([(RUN, ITEM)]))[RUN, ITEM].assigned == "zoe"

    async def test_a_chapter_of_one_request_is_begun_once(self, store: Store) -> None:
        await store.create(started(RUN))
        seq = await store.chapter(RUN, by="ana", why="long", request="k")
        await store.deliver(RUN, Said(text="hi", by="ana"))
        assert await store.chapter(RUN, by="ana", why="long", request="k") == seq
        with pytest.raises(RequestReused):
            await store.chapter(RUN, by="ana", why="other", request="k")
        assert len(await store.load(RUN, seq)) == 1

    async def test_a_snoozed_item_is_hidden_from_one_person_until_its_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        await self._open(store)
        then = clock.now() + 3600
        assert await store.annotate(RUN, snoozed(then)) == then
        assert await store.inbox(Filter(awake_for="ana")) == []
        for other in ("erik", 'a"na', "$.ana", ""):
            assert len(await store.inbox(Filter(awake_for=other))) == 1
        clock.advance(3600)
        assert [item.local for item in await store.inbox(Filter(awake_for="ana"))] == [ITEM]

    async def test_two_people_snooze_and_each_takes_back_their_own(
        self, store: Store, clock: FakeClock
    ) -> None:
        await self._open(store)
        one, other = clock.now() + 60, clock.now() + 90
        await store.annotate(RUN, snoozed(one))
        await store.annotate(RUN, snoozed(other, by='e"rik'))
        await store.annotate(RUN, assigned("ben"))
        both = ItemMark("ben", {"ana": one, 'e"rik': other})
        assert await store.marks([(RUN, ITEM)]) == {(RUN, ITEM): both}
        assert await store.inbox(Filter(awake_for='e"rik')) == []
        assert await store.annotate(RUN, snoozed(0.0)) == 0.0
        assert await store.marks([(RUN, ITEM)]) == {(RUN, ITEM): ItemMark("ben", {'e"rik': other})}
        assert len(await store.inbox(Filter(awake_for="ana"))) == 1

    async def test_a_snooze_ends_before_the_item_expires_and_delays_nothing(
        self, store: Store, clock: FakeClock
    ) -> None:
        ends = clock.now() + 7200
        await self._open(store, expires=ends)
        before = (await store.get(RUN)).wake_at
        assert await store.annotate(RUN, snoozed(ends + 99)) == ends - BEFORE_EXPIRY
        [item] = await store.inbox(Filter())
        assert (item.expires_at, (await store.get(RUN)).wake_at) == (ends, before)
        clock.advance(7200 - BEFORE_EXPIRY)
        assert len(await store.inbox(Filter(awake_for="ana"))) == 1
        with pytest.raises(Invalid):
            await store.annotate(RUN, snoozed(ends + 99))
        with pytest.raises(Invalid):
            await store.annotate(RUN, snoozed(clock.now() - 1))

    async def test_notes_change_neither_the_digest_nor_the_journal(
        self, store: Store, clock: FakeClock
    ) -> None:
        await self._open(store)
        row, [item] = await store.get(RUN), await store.inbox(Filter())
        for note in (
            assigned("erik"),
            snoozed(clock.now() + 60),
            ItemNote("comment", ITEM, "ana", text="waiting for the photos"),
        ):
            await store.annotate(RUN, note)
        after, [same] = await store.get(RUN), await store.inbox(Filter())
        assert (after.seq, after.head, after.status) == (row.seq, row.head, row.status)
        assert same == item
        await store.deliver(RUN, Decided(i=ITEM, verdict="approve", by="ana", digest=item.digest))
        assert await store.verify() == []

    async def test_every_note_is_a_line_of_the_audit_with_its_author_and_its_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        await self._open(store)
        await store.annotate(
            RUN, ItemNote("comment", ITEM, "ana", text="photos?"), origin="console"
        )
        clock.advance(5)
        await store.annotate(RUN, ItemNote("comment", ITEM, "erik", text="they came"))
        await store.annotate(RUN, assigned("erik"))
        await store.annotate(RUN, assigned(""))
        lines = [line.entry for line in await store.audit(RUN)][1:]
        assert [(line["verb"], line["by"]) for line in lines] == [
            ("comment", "ana"),
            ("comment", "erik"),
            ("assign", "ana"),
            ("unassign", "ana"),
        ]
        assert [line.get("note") for line in lines[:2]] == ["photos?", "they came"]
        assert (lines[0]["from"], lines[0]["interrupt"]) == ("console", ITEM)
        assert lines[1]["at"] - lines[0]["at"] == 5
        assert lines[2]["to"] == "erik"

    async def test_what_is_decided_is_not_given_away_or_put_off_but_commented_on(
        self, store: Store, clock: FakeClock
    ) -> None:
        await self._open(store)
        [item] = await store.inbox(Filter())
        await store.deliver(RUN, Decided(i=ITEM, verdict="deny", by="ana", digest=item.digest))
        for note in (assigned("erik"), snoozed(clock.now() + 60)):
            with pytest.raises(InterruptClosed):
                await store.annotate(RUN, note)
        await store.annotate(RUN, ItemNote("comment", ITEM, "erik", text="right so"))
        refused = [line.entry.get("refused", "") for line in await store.audit(RUN)]
        assert [bool(why) for why in refused[-3:]] == [True, True, False]

    async def test_a_note_needs_an_item_and_something_to_say(self, store: Store) -> None:
        await self._open(store)
        with pytest.raises(UnknownRun):
            await store.annotate("no", assigned("erik"))
        with pytest.raises(UnknownInterrupt):
            await store.annotate(RUN, ItemNote("comment", "9.9?0", "ana", text="x"))
        for text in ("", "  ", "x" * 10_001, "a\0b"):
            with pytest.raises(Invalid):
                await store.annotate(RUN, ItemNote("comment", ITEM, "ana", text=text))
        with pytest.raises(Invalid):
            await store.annotate(RUN, snoozed(float("inf")))
