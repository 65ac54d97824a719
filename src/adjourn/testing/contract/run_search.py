"""`run_index`, and `runs` with a search: runs are found by what they did, said and cost."""

from typing import Any

from adjourn.core.messages import Text, ToolCall
from adjourn.core.records import Faulted, Parked, Replied, Returned, RunCompleted
from adjourn.core.usage import Usage
from adjourn.runtime.indexer import bring_up_to_date
from adjourn.runtime.search_query import KEYS, searched
from adjourn.stores.erasure import Pruning
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.run_entry import extended
from adjourn.stores.run_index import RunEntry
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    claim,
    commit,
    no,
    started,
    yes,
)
from adjourn.testing.fake_clock import FakeClock

REFUND = {"order": "Order-4417", "cents": 48250, "why": "it's 100%_broken"}


BY_KEY: dict[str, list[str]] = {
    "tool:refund": ["r1"],
    "tool:refun": [],
    "by:ana": ["r1"],
    "by:ANA": ["r1"],
    "arg.cents:48250": ["r1"],
    "arg.cents:4825": [],
    'arg.why:"it\'s 100%_broken"': ["r1"],
    "label.tenant:acme": ["r1"],
    "label.tenant:ac": [],
    "agent:mail-desk": ["r1"],
    "session:desk-1": ["r1"],
    "session:desk": [],
    "since:5m": ["r3", "r2"],
    "before:5m": ["r1"],
    "status:completed": ["r2", "r1"],
    "status:completed harmless": ["r2"],
}
BY_NUMBER: dict[str, list[str]] = {
    "cost:>0.05": ["r1"],
    "cost:<0.05": ["r3", "r2"],
    "tokens:>100": ["r1"],
    "took:>10m": ["r1"],
    "took:<9m": ["r3", "r2"],
    "waited:>9m": ["r1"],
    "waited:>11m": [],
    "cost:>0.05 harmless": [],
    "took:>1m tool:refund": ["r1"],
}
"""What is searched for, and the runs of `lived` that it finds."""


class RunSearching(ContractFixtures):
    """Runs that are searched for."""

    async def test_words_are_found_in_all_that_a_run_did_and_said(
        self, store: Store, clock: FakeClock
    ) -> None:
        await lived(store, clock)
        for text in (
            "refund",  # a tool
            "order-4417",  # an argument
            "100%_broken",
            "CARD expired",  # an error, in two words
            '"card expired"',
            "sorry",  # what the model said
            "re_88213",  # an output
            "photos",  # a note
            "make it right",  # the input
            "acme",  # a label
            "mail-desk",  # the agent
            "two of them",  # the run's own output
        ):
            assert await found(store, text) == ["r1"], text
        assert await found(store, "harmless") == ["r3", "r2"]
        for text in (
            "nothing like it",
            "a%b",
            "100__broken",
            "refund harmless",
            '"expired card"',
            "tool",
            "out",
        ):
            assert await found(store, text) == [], text

    async def test_keys_ask_for_one_thing_and_must_be_equal(
        self, store: Store, clock: FakeClock
    ) -> None:
        await lived(store, clock)
        assert {text: await found(store, text) for text in BY_KEY} == BY_KEY

    async def test_numbers_are_bounded_from_below_and_above(
        self, store: Store, clock: FakeClock
    ) -> None:
        await lived(store, clock)
        assert {text: await found(store, text) for text in BY_NUMBER} == BY_NUMBER

    async def test_every_key_of_a_search_is_asked_for(self) -> None:
        asked = {text.partition(":")[0].partition(".")[0] for text in (*BY_KEY, *BY_NUMBER)}
        assert asked == {key.partition(".")[0] for key in KEYS}

    async def test_pages_of_a_search_continue_where_the_last_one_ended(self, store: Store) -> None:
        for number in range(7):
            lease = await begin(store, f"r{number}", input=f"odd {number % 2}")
            await commit(store, lease, (), [RunCompleted()])
        pages: list[list[str]] = []
        after = ""
        while page := await found(store, '"odd 1"', after=after, limit=2):
            pages.append(page)
            after = page[-1]
        assert pages == [["r5", "r3"], ["r1"]]
        assert await found(store, "odd", program="clerk", limit=2) == ["r6", "r5"]
        assert await found(store, "odd", program="cook") == []

    async def test_a_run_is_found_by_what_came_since_once_it_rests(self, store: Store) -> None:
        await store.create(RUN_1)
        assert await found(store, "hello") == ["r1"]
        lease = await claim(store)
        await commit(store, lease, [Returned(call="1.0", value="platypus")])
        assert await found(store, "platypus") == []
        await commit(store, lease, (), [approval(), Parked()])
        assert await found(store, "platypus") == ["r1"]
        await store.deliver("r1", no(note="ornithorhynchus"))
        assert await found(store, "ornithorhynchus platypus hello") == ["r1"]

    async def test_making_an_entry_in_parts_gives_the_same_as_at_once(
        self, store: Store, clock: FakeClock
    ) -> None:
        await lived(store, clock, between=True)
        await bring_up_to_date(store)
        for row, entry in await store.run_index().entries(0.0, clock.now()):
            assert entry == extended(row, None, await store.load(row.id)), row.id

    async def test_what_was_erased_is_not_found_and_no_entry_is_kept_of_it(
        self, store: Store, clock: FakeClock
    ) -> None:
        await lived(store, clock)
        assert await found(store, "refund") == ["r1"]
        [kept] = [entry for run, entry in await entries(store) if run == "r1"]
        await store.erase("r1", by="ana", reason="asked to")
        for text in ("refund", "order-4417", "acme", "cost:>0.05"):
            assert await found(store, text) == [], text
        await store.run_index().put([kept])  # by whoever had read the journal before
        assert await found(store, "refund") == []
        assert [run for run, _ in await entries(store)] == ["r3", "r2"]

    async def test_what_was_pruned_is_not_found(self, store: Store, clock: FakeClock) -> None:
        await lived(store, clock)
        assert await found(store, "refund") == ["r1"]
        row = await store.get("r1")
        await store.prune("r1", Pruning(row.seq, clock.now() + 1))
        assert await found(store, "refund") == []
        assert await found(store, "harmless") == ["r3", "r2"]

    async def test_an_entry_that_knows_more_is_kept(self, store: Store) -> None:
        await store.create(RUN_1)
        [(row, _)] = await store.run_index().stale(10)
        await commit(store, await claim(store), (), [RunCompleted(output="wombat")])
        assert await found(store, "wombat") == ["r1"]
        await store.run_index().put([RunEntry("r1", row.seq)])
        assert await found(store, "wombat") == ["r1"]
        assert await store.run_index().stale(10) == []

    async def test_a_run_that_nobody_finished_is_not_looked_at_again_and_again(
        self, store: Store
    ) -> None:
        await begin(store)
        assert await bring_up_to_date(store) == 1
        assert await bring_up_to_date(store) == 0


RUN_1 = started("r1")


async def lived(store: Store, clock: FakeClock, *, between: bool = False) -> None:
    """A refund that failed once, waited ten minutes for a person and was dear; and two runs of which
    nothing is to be said, one of them not ended. `between`: entries are made on the way."""
    lease = await begin(
        store,
        "r1",
        input="Make it right",
        program="mail-desk",
        labels={"tenant": "Acme"},
        by="bo",
        session="desk-1",
    )
    call = ToolCall(id="c0", tool="refund", args=REFUND)
    usage = Usage(1, 900, 100, 0, 0.11)
    reply = Replied(parts=(Text(text="Sorry for that."), call), usage=usage)
    asked = approval(tool="refund", call="1.0", args=REFUND, groups=("finance",))
    await commit(store, lease, [reply], [asked, Parked()])
    if between:
        await bring_up_to_date(store)
    clock.advance(600)
    await store.deliver("r1", yes(by="Ana", note="ask for photos next time", groups=("finance",)))
    if between:
        await bring_up_to_date(store)
    lease = await claim(store, "r1")
    await commit(store, lease, [Faulted(step="1.0", error="402 card expired")])
    await commit(store, lease, [Returned(call="1.0", value={"id": "re_88213"}, took=0.8)])
    await commit(store, lease, (), [RunCompleted(output="two of them")])
    for run in ("r2", "r3"):
        lease = await begin(store, run, input="harmless")
        end = RunCompleted() if run == "r2" else Parked(wake_at=clock.now() + 60)
        await commit(store, lease, (), [end])


async def found(store: Store, text: str, **fields: Any) -> list[str]:
    """The ids of the runs that a search finds, with the index up to date."""
    await bring_up_to_date(store)
    wanted = searched(text, Filter(**fields), store.now())
    return [row.id for row in await store.runs(wanted)]


async def entries(store: Store) -> list[tuple[str, RunEntry]]:
    """Every entry, by run, the newest first."""
    await bring_up_to_date(store)
    return [(row.id, entry) for row, entry in await store.run_index().entries(0.0, store.now())]
