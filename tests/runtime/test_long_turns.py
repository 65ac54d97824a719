"""A long run that continues another one: it is written down without what was said in the turns before."""

import random
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.test_turns import chat, look, said, script, talk, talker
from tests.runtime.world import LIMIT

from adjourn import Agent, Runtime, trim
from adjourn.core import chapter, chapter_rule, transcript
from adjourn.core import snapshot as image
from adjourn.core.records import Chapter
from adjourn.core.state import State
from adjourn.driver import snapshot_writer
from adjourn.driver.cold_start import folded
from adjourn.driver.earlier_turns import EarlierTurns
from adjourn.stores.memory import MemoryStore
from adjourn.testing.scripted import ScriptedModel, call

CANARY = "quicksilver-canary"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of two messages, and a snapshot whenever a run rests."""
    monkeypatch.setattr(image, "SEGMENT", 2)
    monkeypatch.setattr(transcript, "SEGMENT", 2)
    monkeypatch.setattr(snapshot_writer, "OFTEN", 2)


def again(state: State) -> State:
    """The state, written down without the turns before it and read again."""
    own = image.own(state)
    parts = {which: image.packed(image.stretch(own, which)) for which in image.stretches(own)}
    return image.read(image.packed(image.rest(own)), parts)


def together(state: State, before: transcript.Transcript | None) -> State:
    if before is not None:
        state.threads[""].transcript = state.threads[""].transcript.behind(before)
        state.before = before
    return state


@pytest.mark.parametrize("seed", range(12))
async def test_at_every_record_it_is_written_down_alone_and_read_together(seed: int, short: None) -> None:
    async with Runtime(MemoryStore()) as rt:
        agent, run, checked = talker(seed), None, 0
        earlier = EarlierTurns(rt.store)
        for turn in range(6):
            run = await rt.start(agent, f"question {turn}", after=run)
            await run.wait(LIMIT)
            records = await rt.store.load(run.id)
            before = await earlier.of(records)
            for count in range(1, len(records) + 1):
                whole = State(before=before).fold_all(records[:count])
                if chapter.copies_earlier_turns(whole):
                    continue
                checked += turn > 0
                found = again(whole)
                assert f"question {turn - 1}" not in repr(found)
                assert found == State().fold_all(records[:count])
                assert together(found, before) == whole
                assert found.threads[""].transcript.replies == whole.threads[""].transcript.replies
        assert checked


@pytest.mark.parametrize("seed", range(6))
async def test_at_every_record_a_chapter_says_what_stands_before_it_in_this_run_alone(seed: int) -> None:
    async with Runtime(MemoryStore()) as rt:
        agent, run, checked = talker(seed), None, 0
        for turn in range(4):
            run = await rt.start(agent, f"question {turn}", after=run)
            await run.wait(LIMIT)
            records = await rt.store.load(run.id)
            for count in range(1, len(records)):
                state = State().fold_all(records[:count])
                if chapter.hindrance(state):
                    continue
                checked += turn > 0
                made = Chapter(state=chapter.content(state), format=chapter.format_of(state), at=state.at)
                assert "(the turns before" not in repr(made) and f"question {turn - 1}" not in repr(made)
                cut = [*(record for _, record in records[:count]), made]
                assert not list(chapter_rule.objections(cut))
                begun = State().fold_all([(count + 1, made)])
                assert begun == State().fold_all(list(enumerate(cut, 1)))
                wrong = Chapter(state=made.state, format=3 - made.format, at=state.at)
                assert "format" in chapter_rule.flaw(cut[:-1], wrong)
        assert checked


def long_script() -> ScriptedModel:
    """The first turn is short; the second looks up forty things, then asks, then answers."""
    return ScriptedModel("first", *([call("look", n=n)] for n in range(40)), [call("pay", n=1)], "second")


@pytest.mark.parametrize("kept", ["snapshot", "chapter"])
async def test_a_cold_start_reads_the_end_of_a_long_turn_and_what_was_said_before_it(
    address: str, kept: str, monkeypatch: pytest.MonkeyPatch, short: None
) -> None:
    if kept == "chapter":
        monkeypatch.setattr(snapshot_writer, "OFTEN", 10_000)
    async with Runtime(address, [agent := chat(model=long_script())]) as rt:
        first = await talk(rt, agent, CANARY)
        run = await rt.start(agent, "b", after=first)
        await run.wait(LIMIT)
        if kept == "chapter":
            await run.continue_as_new(by="ana")
        await rt.worker.rested(run.id)
    model = long_script()
    async with Runtime(address, [chat(model=model)]) as rt:
        load, read = rt.store.load, list[int]()

        async def counted(run: str, after: int = 0) -> Any:
            read.append(after)
            return await load(run, after)

        with monkeypatch.context() as patch:
            patch.setattr(rt.store, "load", counted)
            state = await folded(rt.store, run.id, earlier=rt.worker.earlier)
        assert read and min(read) > 80, "the records before were not read"
        assert said(state.threads[""].request()) == [CANARY, "b"]
        run = await rt.get(run.id)
        [waiting] = await rt.inbox()
        await run.approve(waiting, by="ana")
        outcome = await run.wait(LIMIT)
        assert outcome.status == "completed"
        assert said(model.requests[-1].messages) == [CANARY, "b"]
        assert {one.proof for one in await run.requests()} == {"as sent"}
        assert await rt.store.verify() == []


async def test_what_is_kept_of_a_turn_has_nothing_of_the_turn_before_which_may_be_erased(
    db: str, address: str, short: None
) -> None:
    async with Runtime(address, [agent := chat(model=long_script())]) as rt:
        first = await talk(rt, agent, CANARY)
        run = await rt.start(agent, "b", after=first)
        await run.wait(LIMIT)
        await rt.worker.rested(run.id)
        await run.continue_as_new(by="ana")
        [waiting] = await rt.inbox()
        await run.approve(waiting, by="ana")
        await run.wait(LIMIT)
    async with Runtime(address, [agent]) as rt:
        found = await rt.store.snapshots().last(run.id)
        assert found is not None
        state = image.read(found[0].rest, found[1])
        assert state.seq > 80 and CANARY not in repr(state) and "found 39" in repr(state)
        await rt.erase(first.id, by="ana", reason="asked for")
        assert said(await (await rt.get(run.id)).messages()) == ["[erased]", "b"]
        assert await rt.store.verify() == []
    assert all(CANARY.encode() not in path.read_bytes() for path in Path(db).parent.iterdir())


async def test_while_a_part_of_the_turns_before_is_in_the_state_it_is_not_written_down(address: str) -> None:
    dice = random.Random(3)
    agent = Agent("chat", model=ScriptedModel(*script(dice, 6)), tools=[look], history=[trim(messages=3)])
    async with Runtime(address) as rt:
        third = await talk(rt, agent, "a", "b", "c")
        state = await folded(rt.store, third.id, earlier=rt.worker.earlier)
        state.head = b"known"
        assert state.threads[""].sent is not None and not image.is_fit(state)
