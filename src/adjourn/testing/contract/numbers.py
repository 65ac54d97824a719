"""`run_index().counts` and the numbers that are made of it: they equal a count over the journals."""

import random
from collections import Counter
from typing import Any, NamedTuple

import msgspec
import pytest

from adjourn.core.decision import DISMISSED, INSTEAD, chosen
from adjourn.core.messages import ToolCall
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import (
    AnyRecord,
    Asked,
    CancelAsked,
    Closed,
    Decided,
    Disowned,
    Intended,
    Move,
    Parked,
    Replied,
    Returned,
    RunCancelled,
    RunCompleted,
    Suspended,
)
from adjourn.core.standing_decision import UNDER
from adjourn.core.usage import Usage
from adjourn.runtime.numbers import DAY, HOUR, numbers, with_people
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    answer,
    approval,
    begin,
    claim,
    commit,
    no,
    suspend,
    wait_for,
    yes,
)
from adjourn.testing.contract.standing_decisions import send, stand, use
from adjourn.testing.fake_clock import FakeClock
from adjourn.views.numbers_view import NumbersView, WaitNumbers

ENDS = ("completed", "stopped", "cancelled", "failed", "open", "expired")
VERDICTS: dict[str, Decided] = {
    "approve": yes(groups=("leads",)),
    "edit": yes(edit={"n": 2}, groups=("leads",)),
    "deny": no(),
    "instead": no(value={INSTEAD: "by hand"}, groups=("leads",)),
    "value": answer("blue"),
    "dismiss": no(value={DISMISSED: True}),
}
"""Every kind of answer to an approval, then those to a question."""


TWO_PEOPLE = (ApprovalSlot("two", count=2),)
TWO_RULES = (ApprovalSlot("money", ("leads",)), ApprovalSlot("law", ("law",)))


class Counting(ContractFixtures):
    """Runs that are counted."""

    async def test_numbers_equal_a_count_over_the_journals(
        self, store: Store, clock: FakeClock
    ) -> None:
        since = clock.now()
        await many_lived(store, clock)
        until = clock.now() + 1
        for begins, ends in ((since, until), (since + 2 * HOUR, until - 3 * HOUR)):
            found = await numbers(store, begins, ends)
            assert found.complete
            assert summary(found) == await by_journals(store, begins, ends)
        assert sum(one.runs for one in found.times) == found.total.runs
        assert found.step == HOUR and len(found.times) == 12

    async def test_a_standing_decision_is_asked_once_however_often_it_answers(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await stand(store, {"where": ["*"]})
        for number in (1, 2, 3):
            asked = send(number)
            await commit(store, lease, (), [asked, use(asked)])
        await commit(store, lease, (), [Parked()])
        since, until = clock.now() - 1, clock.now() + 1
        found = await numbers(store, since, until)
        assert summary(found) == await by_journals(store, since, until)
        waits = found.total.waits
        assert (waits.asked, waits.approved, waits.stood) == (1, 1, 3)

    @pytest.mark.parametrize("gate", [TWO_PEOPLE, TWO_RULES])
    async def test_a_question_to_several_is_open_until_the_last_has_agreed(
        self, store: Store, clock: FakeClock, gate: tuple[ApprovalSlot, ...]
    ) -> None:
        groups = ("leads", "law")
        await wait_for(store, approval(tool="refund", groups=groups, gate=gate, approvers=2))
        since, until = clock.now() - 1, clock.now() + 100
        for person, group, expected in (("ana", "leads", (1, 0)), ("ben", "law", (0, 1))):
            clock.advance(10)
            await store.deliver("r1", yes(by=person, groups=(group,)))
            waits = (await numbers(store, since, until)).total.waits
            assert (waits.open, waits.approved, waits.asked) == (*expected, 1), person
        assert waits.half == 20

    @pytest.mark.parametrize("several", [False, True])
    async def test_a_decision_that_does_not_count_is_no_answer(
        self, store: Store, clock: FakeClock, several: bool
    ) -> None:
        if several:
            await wait_for(store, approval(tool="refund", gate=TWO_PEOPLE, approvers=2))
            await store.deliver("r1", yes(by="ana"))
        else:
            await wait_for(store, approval(tool="refund"))
        since, until = clock.now() - 1, clock.now() + 100
        forged = await store.deliver("r1", yes(by="eve"))
        waits = (await numbers(store, since, until)).total.waits
        assert (waits.open, waits.approved) == (0, 1)
        lease = await claim(store)
        await commit(store, lease, [Disowned(seq=forged, i="1.0?0", by="eve")], [Parked()])
        waits = (await numbers(store, since, until)).total.waits
        assert (waits.asked, waits.open, waits.approved) == (1, 1, 0)
        await store.deliver("r1", yes(by="bo"))
        waits = (await numbers(store, since, until)).total.waits
        assert (waits.asked, waits.open, waits.approved) == (1, 0, 1)

    async def test_a_day_begins_where_its_reader_is(self, store: Store, clock: FakeClock) -> None:
        day = (clock.now() // DAY + 1) * DAY
        clock.advance(day - clock.now() - 60)
        await commit(store, await begin(store, "r1"), (), [RunCompleted()])
        clock.advance(120)
        await commit(store, await begin(store, "r2"), (), [RunCompleted()])
        ends = day + 5 * DAY
        for offset, days in ((0, 2), (60, 1), (-60, 1)):
            found = await numbers(store, day - 5 * DAY, ends, offset)
            assert len([one for one in found.times if one.runs]) == days, offset

    async def test_pages_of_counts_continue_where_the_last_one_ended(
        self, store: Store, clock: FakeClock
    ) -> None:
        for number in range(5):
            await commit(store, await begin(store, f"r{number}"), (), [RunCompleted()])
            clock.advance(1)
        index, after, seen = store.run_index(), 0, list[float]()
        while page := await index.counts(0.0, clock.now(), after=after, limit=2):
            seen += [run.created_at for run in page]
            after = page[-1].number
        assert seen == sorted(seen, reverse=True) and len(seen) == 5

    async def test_what_was_erased_is_not_counted(self, store: Store, clock: FakeClock) -> None:
        for run in ("r1", "r2"):
            await commit(store, await begin(store, run), (), [RunCompleted()])
        await store.erase("r1", by="ana", reason="asked to")
        assert (await numbers(store, clock.now() - DAY, clock.now() + 1)).total.runs == 1

    async def test_times_of_people_are_given_of_those_who_are_named(
        self, store: Store, clock: FakeClock
    ) -> None:
        await many_lived(store, clock)
        found = await numbers(store, clock.now() - DAY, clock.now() + 1)
        assert found.people is not None
        assert {one.name for one in found.people} == {"ana", "ben"}
        shown = with_people(found, ["ana"]).people
        assert shown is not None and [one.name for one in shown] == ["ana"]
        assert with_people(found, None).people is None


async def many_lived(store: Store, clock: FakeClock) -> None:
    """Runs of three agents with every end and every verdict, over some hours."""
    chance = random.Random(7)
    number = 0
    for end in ENDS:
        for verdict in VERDICTS:
            number += 1
            await _live(store, clock, f"r{number}", end, verdict, chance)
            clock.advance(chance.uniform(600, 1_800))


async def _live(
    store: Store, clock: FakeClock, run: str, end: str, verdict: str, chance: random.Random
) -> None:
    agent = chance.choice(("clerk", "cook", "maid"))
    lease = await begin(store, run, program=agent)
    used = Usage(
        requests=1,
        input_tokens=chance.randrange(1, 900),
        output_tokens=chance.randrange(90),
        cost=chance.randrange(100) / 64,
        estimated=chance.random() < 0.3,
    )
    tool = chance.choice(("refund", "mail"))
    is_question = verdict in ("value", "dismiss")
    if is_question:
        tool = "ask"
    calls = (ToolCall(id="c0", tool=tool), ToolCall(id="c1", tool="look"))
    looked = Returned(call="1.1", value=1, took=0.5, error=chance.choice(("", "gone")))
    await commit(store, lease, [Replied(parts=calls, usage=used), looked])
    asks: list[Move] = []
    if is_question:
        await suspend(store, lease)
    else:
        asks = [approval(tool=tool, call="1.0", args={"n": 1}, groups=("leads",))]
    parked = Parked()
    if end == "expired":
        parked = Parked(wake_at=clock.now() + 1)
    await commit(store, lease, (), [*asks, parked])
    if end == "open":
        return
    clock.advance(chance.uniform(1, 900))
    if end == "expired":
        lease = await claim(store, run)
        await commit(store, lease, (), [Closed(i="1.0?0", why="expired"), RunCompleted()])
        return
    person = chance.choice(("ana", "ben"))
    await store.deliver(run, msgspec.structs.replace(VERDICTS[verdict], by=person))
    lease = await claim(store, run)
    if verdict in ("approve", "edit"):
        await commit(store, lease, (), [Intended(call="1.0", tool=tool)])
        await commit(store, lease, [Returned(call="1.0", value="ok", took=2.0)])
    if end == "cancelled":
        await store.deliver(run, CancelAsked(by="ana"))
        await commit(store, lease, (), [RunCancelled()])
    elif end == "failed":
        await commit(store, lease, (), [approval("2?0", kind="error", step="model"), Parked()])
    else:
        stopped = "MaxSteps" if end == "stopped" else ""
        await commit(store, lease, (), [RunCompleted(stopped=stopped)])


def summary(found: NumbersView) -> dict[str, Any]:
    """The numbers as `by_journals` counts them."""
    total = found.total
    return {
        "runs": total.runs,
        "ends": [total.completed, total.stopped, total.failed, total.cancelled, total.open],
        "tokens": (total.input_tokens, total.output_tokens),
        "cost": total.cost,
        "estimated": total.estimated,
        "agents": {one.name: (one.runs, one.cost) for one in found.agents},
        "calls": {one.name: (one.calls, one.failed) for one in found.tools if one.calls},
        "waits": waits_told(total.waits),
        "groups": {one.name: waits_told(one.waits) for one in found.groups},
        "people": {one.name: waits_told(one.waits) for one in found.people or ()},
    }


def waits_told(waits: WaitNumbers) -> tuple[Any, ...]:
    """The numbers of waits in the order of `_counted`."""
    verdicts = (waits.approved, waits.edited, waits.denied, waits.instead, waits.dismissed)
    assert waits.answered == sum(verdicts) + waits.told
    ends = (waits.asked, waits.expired, waits.open, waits.stood)
    return (*ends, *verdicts, waits.told, waits.half, waits.slow)


class JournalCount:
    """The same numbers, counted over the records of every run, without the index."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.runs: Counter[str] = Counter()
        self.costs: Counter[str] = Counter()
        self.tokens = [0, 0]
        self.estimated = 0
        self.waits: list[CountedWait] = []

    def add(self, agent: str, records: list[AnyRecord]) -> None:
        """One run."""
        self.runs[agent] += 1
        tools: dict[str, str] = {}
        asked: dict[str, Asked | Suspended] = {}
        for record in records:
            if isinstance(record, Replied):
                self.costs[agent] += record.usage.cost  # pyright: ignore[reportArgumentType]
                self.tokens[0] += record.usage.input_tokens
                self.tokens[1] += record.usage.output_tokens
                self.estimated += record.usage.estimated
                for place, part in enumerate(record.parts):
                    if isinstance(part, ToolCall):
                        tools[f"1.{place}"] = part.tool
            elif isinstance(record, Returned):
                self.calls[tools[record.call]] += 1
                self.failed[tools[record.call]] += bool(record.error)
            elif isinstance(record, Asked | Suspended):
                asked[record.i] = record
            elif isinstance(record, Decided):
                ask = asked.pop(record.i)
                said = _said(record)
                self.waits.append(CountedWait(record.by, said, record.at - ask.at, _groups(ask)))
            elif isinstance(record, Closed):
                ask = asked.pop(record.i)
                self.waits.append(CountedWait("", record.why, 0.0, _groups(ask)))
        for ask in asked.values():
            self.waits.append(CountedWait("", "open", 0.0, _groups(ask)))

    def told(self) -> dict[str, Any]:
        """What `summary` says."""
        ends = [self.ends[name] for name in ("completed", "stopped", "failed", "cancelled")]
        runs, waits = sum(self.runs.values()), self.waits
        people = {wait.by for wait in waits if wait.by}
        groups = {group for wait in waits for group in wait.groups}
        return {
            "runs": runs,
            "ends": [*ends, runs - sum(ends)],
            "tokens": tuple(self.tokens),
            "cost": sum(self.costs.values()),
            "estimated": self.estimated,
            "agents": {name: (self.runs[name], self.costs[name]) for name in self.runs},
            "calls": {name: (self.calls[name], self.failed[name]) for name in self.calls},
            "waits": _counted(waits),
            "groups": {name: _counted([w for w in waits if name in w.groups]) for name in groups},
            "people": {name: _counted([w for w in waits if w.by == name]) for name in people},
        }


class CountedWait(NamedTuple):
    """A question: who answered, how it ended, after how many seconds, and whom it was put to."""

    by: str
    how: str
    after: float
    groups: tuple[str, ...]


def _said(record: Decided) -> str:
    """What a decision is, read off its record."""
    if record.edit is not None:
        return "edit"
    for key, word in ((INSTEAD, "instead"), (DISMISSED, "dismiss"), (UNDER, "stood")):
        if key in chosen(record):
            return word
    return record.verdict


def _groups(ask: Asked | Suspended) -> tuple[str, ...]:
    if isinstance(ask, Asked):
        return ask.groups
    return ()


def _counted(waits: list[CountedWait]) -> tuple[Any, ...]:
    how = Counter(wait.how for wait in waits)
    times = sorted(wait.after for wait in waits if wait.by and wait.how != "stood")
    asked = len(waits) - how["stood"]
    ends = (asked, how["expired"], how["open"], how["stood"])
    verdicts = [how[word] for word in ("approve", "edit", "deny", "instead", "dismiss", "value")]
    return (*ends, *verdicts, _at(times, 0.5), _at(times, 0.95))


def _at(times: list[float], share: float) -> float | None:
    """Of sorted numbers the first with at least this share of them at or below it."""
    for place, seconds in enumerate(times, 1):
        if place >= len(times) * share:
            return round(seconds, 3)
    return None


async def by_journals(store: Store, since: float, until: float) -> dict[str, Any]:
    """The numbers of a time, by looking at every journal."""
    counted = JournalCount()
    for row in await store.runs(Filter(limit=500)):
        if since <= row.created_at < until:
            counted.add(row.program, [record for _, record in await store.load(row.id)])
            counted.ends[row.shown(store.now(), ()).value] += 1
    return counted.told()
