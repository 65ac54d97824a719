"""A run that continues as new: a chapter says what stands before it, and nothing else changes."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from tests.core.test_commute import lived, meddlings, scripts
from tests.runtime.world import LIMIT

from adjourn import Agent, Policy, Runtime, ToolContext, allow, ask, tool
from adjourn.core import chapter, chapter_rule
from adjourn.core.belief import FoldAgain
from adjourn.core.record_codec import parse
from adjourn.core.records import AnyRecord, Chapter, Claimed, Decided, Released, Said, Started
from adjourn.core.state import State
from adjourn.driver.cold_start import folded
from adjourn.errors import Refused, StoreError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.rules import chapters
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.faults import Fault, Faulty
from adjourn.testing.scripted import ScriptedModel, call

EVERY: Any = list(HealthCheck)
GOLDEN = Path(__file__).parents[1] / "core" / "golden"


def with_chapter(journal: Sequence[AnyRecord], at: int) -> list[AnyRecord] | None:
    """The journal with a chapter behind its first `at` records, and those after it as they would stand then; None if there can
    be none."""
    state = State().fold_all(list(enumerate(journal[:at], 1)))
    if chapter.hindrance(state):
        return None
    return [*journal[:at], Chapter(state=chapter.content(state), format=chapter.format_of(state), at=state.at)]


def read_from(journal: Sequence[AnyRecord], at: int) -> State:
    return State().fold_all(list(enumerate(journal, 1))[at:])


@settings(max_examples=40, deadline=None, suppress_health_check=EVERY)
@given(scripts, meddlings)
def test_whoever_begins_with_a_chapter_knows_all_that_was_before_it(
    script: list[list[str]], meddling: dict[int, list[str]]
) -> None:
    async def main() -> None:
        _, store = await lived(script, meddling)
        journal = [record for _, record in await store.load("r1")]
        found = 0
        for at in range(1, len(journal)):
            if (cut := with_chapter(journal, at)) is None:
                continue
            found += 1
            assert not list(chapter_rule.objections(cut))
            # From a chapter, and from the very beginning: the same, at once and after every record that follows.
            begun, whole = read_from(cut, at), State().fold_all(list(enumerate(cut, 1)))
            assert begun == whole
            try:
                for seq, record in enumerate(journal[at:], at + 2):
                    begun.fold_all([(seq, record)])
                    whole.fold_all([(seq, record)])
                    assert begun == whole
            except (FoldAgain, ValueError):
                continue
            assert list(begun.effects) == list(whole.effects)
        assert found

    asyncio.run(main())


def test_a_chapter_that_says_anything_else_is_none() -> None:
    records: list[AnyRecord] = [Started(run="r", kind="agent", program="a", input="go", at=1.0)]
    [*_, true] = with_chapter(records, 1) or []
    assert isinstance(true, Chapter) and not chapter_rule.flaw(records, true)
    asked = {"i": "0.0?0", "kind": "approval", "t": "asked"}
    said = msgspec.to_builtins(Decided(i="0.0?0", verdict="approve", by="ana"))
    for name, forged in {
        "grants": {"0.0?0": {"asked": asked, "decisions": [said], "lives": ""}},
        "granted": {"digest": "0.0?0"},
        "requesters": ["somebody"],
        "status": "paused",
        "usage": {"requests": -5},
        "threads": {},
    }.items():
        wrong = msgspec.structs.replace(true, state={**true.state, name: forged})
        assert name in chapter_rule.flaw(records, wrong), name
    less = {name: value for name, value in true.state.items() if name != "threads"}
    assert "threads" in chapter_rule.flaw(records, msgspec.structs.replace(true, state=less))
    assert "format" in chapter_rule.flaw(records, msgspec.structs.replace(true, format=9))


@pytest.mark.parametrize("form", chapter.FORMATS)
def test_a_chapter_that_was_written_once_is_read_for_ever(form: int) -> None:
    lines = (GOLDEN / f"chapter-{form}.jsonl").read_text("utf-8").splitlines()
    journal = [parse(line) for line in lines]
    at = next(place for place, record in enumerate(journal) if isinstance(record, Chapter))
    assert not list(chapter_rule.objections(journal))
    assert read_from(journal, at) == State().fold_all(list(enumerate(journal, 1)))


# In a store


def traveller(undone: list[str]) -> Agent:
    """Books something that can be undone, asks a question, pays with somebody's agreement, and ends."""

    async def unbook(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        undone.append(args["what"])

    @tool(effect="idempotent", undo=unbook)
    async def book(what: str) -> str:
        """Book it."""
        return f"booked {what}"

    @tool(effect="read")
    async def choose(ctx: ToolContext) -> str:
        """Ask somebody."""
        ctx.pause_for("choice", "which?")

    @tool
    async def pay(what: str) -> str:
        """Pay it."""
        return f"paid {what}"

    steps: list[Any] = [
        [call("book", what="a")],
        [call("choose")],
        [call("book", what="b")],
        [call("pay", what="c")],
        "done",
    ]
    policy = Policy([ask("pay"), allow("*")])
    return Agent("traveller", model=ScriptedModel(*steps), tools=[book, choose, pay], policy=policy)


async def travel(address: str, chapters: bool, then: str = "") -> tuple[Any, list[str], list[AnyRecord]]:
    """Its outcome, what was undone, and its journal without chapters; each part of it in a runtime of its own."""
    undone: list[str] = []
    run_id = f"r-{chapters}-{then}"
    for part in ("start", "answer", "approve"):
        async with Runtime(address, [agent := traveller(undone)]) as rt:
            run = await (rt.start(agent, "go", run_id=run_id, by="ana") if part == "start" else rt.get(run_id))
            if part != "start":
                [waiting] = await rt.inbox()
                if then and part == "approve":
                    await run.cancel(by="ann")
                elif part == "answer":
                    await run.answer(waiting, "the red one", by="ann")
                else:
                    await run.approve(waiting, by="ann")
            outcome: Any = await run.wait(LIMIT)
            if chapters and part != "approve":
                await run.continue_as_new(by="ann", why="long enough")
                await run.continue_as_new(by="ann")  # two in a row
                assert await rt.store.verify() == []
    async with Runtime(address) as rt:
        assert await rt.store.verify() == []
        journal = [record for _, record in await rt.store.load(run_id)]
        state = await (await rt.get(run_id)).state()
    assert any(isinstance(x, Chapter) for x in journal) == chapters
    kept: list[Any] = [type(x) for x in journal if not isinstance(x, Chapter | Claimed | Released)]
    told: Any = (
        outcome.undone if then else outcome.output,
        state.effects,
        state.usage,
        state.steps,
        kept,
    )
    return told, undone, journal


@pytest.mark.parametrize("then", ["", "cancel"])
async def test_a_run_with_chapters_ends_as_the_one_without(address: str, then: str) -> None:
    plain, undone, _ = await travel(address, False, then)
    told, taken_back, _ = await travel(address, True, then)
    assert told == plain
    assert taken_back == undone == (["b", "a"] if then else [])


async def test_reading_begins_at_the_last_chapter(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runtime(address, [agent := traveller([])]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        seq = await run.continue_as_new(by="ann")
        load, read = rt.store.load, list[int]()

        async def counted(run: str, after: int = 0) -> Any:
            read.append(after)
            return await load(run, after)

        monkeypatch.setattr(rt.store, "load", counted)
        state = await folded(rt.store, run.id)
        assert read == [seq - 1]
        assert state == State().fold_all(await load(run.id))
        assert (await run.state()).interrupts[0].kind == "question"


async def test_a_chapter_begins_while_a_run_is_paused_and_it_goes_on_from_there(address: str) -> None:
    async with Runtime(address, [agent := traveller([])]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        await run.pause(by="ann")
        await run.continue_as_new(by="ann")
        assert await run.status() == "paused"
        await run.resume(by="ann")
        [waiting] = await rt.inbox()
        await run.answer(waiting, "x", by="ann")
        await run.wait(LIMIT)
        assert (await run.state()).effects[-1].result == "booked b"


async def test_no_chapter_begins_in_a_run_that_has_ended_or_is_at_work(address: str) -> None:
    busy, free = asyncio.Event(), asyncio.Event()

    @tool(effect="idempotent")
    async def work() -> str:
        """Works."""
        busy.set()
        await free.wait()
        return "done"

    agent = Agent("busy", model=ScriptedModel([call("work")], "done"), tools=[work])
    async with Runtime(address, [agent]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await asyncio.wait_for(busy.wait(), LIMIT)
        with pytest.raises(Refused, match="is running it"):
            await run.continue_as_new(by="ann")
        free.set()
        await run.wait(LIMIT)
        with pytest.raises(Refused, match="it is (completed|cancelled)|it has ended"):
            await run.continue_as_new(by="ann")
        told = [row.entry for row in await rt.store.audit(run.id) if row.entry.get("verb") == "chapter"]
        assert len(told) == 2 and all(entry["refused"] for entry in told)


@pytest.mark.parametrize("store", [MemoryStore, SQLiteStore])
async def test_a_long_journal_is_read_before_the_transaction_and_a_word_that_comes_meanwhile_is_in_the_chapter(
    store: Any, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapters, "LONG", 2)
    asked: list[int] = []
    drafted = chapters.beginning

    def counted(*given: Any) -> Any:
        rule = drafted(*given)
        asked.append(rule.ask.tail)
        return rule

    monkeypatch.setattr(chapters, "beginning", counted)
    async with Runtime(store(db) if store is SQLiteStore else store(), [agent := traveller([])]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        await rt.worker.rested(run.id)
        await run.pause(by="ann")
        await run.continue_as_new(by="ann")
        assert asked == [-1], "nothing of the journal was read in the transaction"
        load = rt.store.load

        async def interrupted(id: str, after: int = 0) -> Any:
            found = await load(id, after)
            monkeypatch.setattr(rt.store, "load", load)
            await run.say("one more thing", by="ann")
            return found

        monkeypatch.setattr(rt.store, "load", interrupted)
        seq = await run.continue_as_new(by="ann")
        assert asked == [-1, -1, 0]
        assert await rt.store.verify() == []
        records = await load(run.id)
        assert "one more thing" in repr(records[seq - 1]) and isinstance(records[seq - 2][1], Said)


@pytest.mark.parametrize("where", ["before", "after"])
async def test_a_fork_may_be_cut_before_and_after_a_chapter(address: str, where: str) -> None:
    async with Runtime(address, [agent := traveller([])]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        seq = await run.continue_as_new(by="ann")
        fork = await run.fork(at=seq - 1 if where == "before" else seq, by="ann")
        await fork.wait(LIMIT)
        assert (await fork.state()).interrupts[0].kind == "question"
        assert await rt.store.verify() == []


async def test_a_run_that_has_become_long_continues_as_new_by_itself(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapter, "LONG", 4)
    monkeypatch.setattr(chapter, "MUCH", 0)
    async with Runtime(address, [agent := traveller([])]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        await rt.worker.rested(run.id)
        first = (await rt.store.get(run.id)).chapter
        assert first > 4
        [waiting] = await rt.inbox()
        await run.answer(waiting, "x", by="ann")
        await run.wait(LIMIT)
        await rt.worker.rested(run.id)
        records = [x for _, x in await rt.store.load(run.id) if isinstance(x, Chapter)]
        assert [x.by for x in records] == ["@size"]  # the next one when it is twice as long
        assert await rt.store.verify() == []


async def test_no_chapter_begins_by_itself_that_would_repeat_a_long_conversation(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapter, "LONG", 4)
    async with Runtime(address, [agent := traveller([])]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        await rt.worker.rested(run.id)
        assert (await rt.store.get(run.id)).chapter == 0
        assert await run.continue_as_new(by="ann") == (await rt.store.get(run.id)).chapter, "who asks for one gets one"


async def test_a_run_that_has_become_large_continues_as_new_by_itself(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapter, "LARGE", 500)
    monkeypatch.setattr(chapter, "MUCH", 0)
    async with Runtime(address, [agent := traveller([])]) as rt:
        few = await rt.start(agent, "go", by="ana")
        await few.wait(LIMIT)
        await rt.worker.rested(few.id)
        assert (await rt.store.get(few.id)).chapter == 0, "however large, so few records are read quickly"
        monkeypatch.setattr(chapter, "FEW", 4)
        many = await rt.start(agent, "go", by="ana")
        await many.wait(LIMIT)
        await rt.worker.rested(many.id)
        assert (await rt.store.get(many.id)).chapter > 4


TURNS = 40


def walker(steps: list[int]) -> Agent:
    """Takes one step after another, and never rests."""

    @tool
    async def step(n: int) -> int:
        """Take a step."""
        steps.append(n)
        return n

    script = [*(call("step", n=n) for n in range(TURNS)), "there"]
    return Agent("walker", model=ScriptedModel(*script), tools=[step], policy=Policy([allow("*")]))


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter, "LONG", 20)
    monkeypatch.setattr(chapter, "FEW", 10)
    monkeypatch.setattr(chapter, "MUCH", 0)


async def test_a_run_that_never_rests_continues_as_new_between_two_steps(address: str, often: None) -> None:
    steps: list[int] = []
    async with Runtime(address, [agent := walker(steps)]) as rt:
        run = await rt.start(agent, "go", by="ana")
        outcome = await run.wait(LIMIT)
        assert outcome.status == "completed" and outcome.output == "there"
        assert steps == list(range(TURNS)), "each step once"
        found = [seq for seq, record in await rt.store.load(run.id) if isinstance(record, Chapter)]
        assert len(found) == 3 and found[0] <= 30
        assert all(later >= 2 * sooner for sooner, later in itertools.pairwise(found)), "fewer and fewer"
        assert await rt.store.verify() == []


async def test_where_no_chapter_can_begin_a_run_is_handed_back_seldom_and_goes_on(
    address: str, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    async def fails(run: str, **_: object) -> int:
        raise StoreError("no chapters today")

    async with Runtime(address, [agent := walker(steps)]) as rt:
        monkeypatch.setattr(rt.store, "chapter", fails)
        run = await rt.start(agent, "go", by="ana")
        assert (await run.wait(LIMIT)).status == "completed"
        records = [record for _, record in await rt.store.load(run.id)]
        returned = [record for record in records if isinstance(record, Released)]
        assert steps == list(range(TURNS)) and 0 < len(returned) <= len(records) / 10


async def test_whoever_advances_a_run_themselves_is_told_that_there_is_more(address: str, often: None) -> None:
    steps: list[int] = []
    async with Runtime(address, [agent := walker(steps)], work=False) as rt:
        run = await rt.start(agent, "go", by="ana")
        answers: list[Any] = []
        while not answers or answers[-1].more:
            answers.append(await rt.advance(run))
        assert [answer.status for answer in answers] == ["ready"] * 3 + ["completed"]
        assert steps == list(range(TURNS))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_around_a_chapter_leaves_all_of_it_or_nothing(address: str, when: str) -> None:
    undone: list[str] = []
    async with Runtime(address, [agent := traveller(undone)]) as rt:
        run = await rt.start(agent, "go", by="ana", run_id="r")
        await run.wait(LIMIT)
        with pytest.raises(StoreError):
            await Faulty(rt.store, 0, Fault(when)).chapter("r", by="ann")
        assert ((await rt.store.get("r")).chapter > 0) == (when == "after")
    async with Runtime(address, [traveller(undone)]) as rt:
        run = await rt.get("r")
        await run.cancel(by="ann")
        await run.wait(LIMIT)
        assert undone == ["a"] and await rt.store.verify() == []
