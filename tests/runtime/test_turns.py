"""A next turn refers to the turn before: the conversation is whole wherever it is read, and is stored once."""

import asyncio
import json
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import msgspec
import pytest
from tests.runtime.world import LIMIT

from adjourn import (
    Agent,
    AlreadyResumed,
    BrokenHistory,
    Checkpoint,
    CheckpointInvalid,
    Policy,
    Refused,
    Runtime,
    SessionMoved,
    UnknownRun,
    ask,
    drop_tool_results,
    summarise,
    tool,
    trim,
)
from adjourn.core import request_digest as request
from adjourn.core.messages import AssistantMessage, Delta, Message, ModelRequest, Reply, Text, UserMessage
from adjourn.core.record_codec import dump
from adjourn.core.record_parts import Ref
from adjourn.core.records import Started
from adjourn.core.state import State
from adjourn.core.usage import Usage
from adjourn.stores.memory import MemoryStore
from adjourn.testing.oracle import CheckedStore
from adjourn.testing.scripted import ScriptedModel, call

SECRET = "a secret of at least thirty-two bytes"


@tool(effect="read")
async def look(n: int) -> str:
    """Look it up."""
    return f"found {n} " + "x" * 50


@tool(effect="unsafe")
async def pay(n: int) -> str:
    """Pay."""
    return f"paid {n}"


def chat(*replies: Any, model: Any = None, **options: Any) -> Agent:
    return Agent(
        "chat",
        model=model or ScriptedModel(*replies),
        tools=[look, pay],
        policy=Policy([ask("pay")], default="allow"),
        **options,
    )


def said(messages: Any) -> list[str]:
    return [m.text for m in messages if isinstance(m, UserMessage)]


async def talk(rt: Runtime, agent: Agent, *texts: str, after: Any = None) -> Any:
    run = after
    for text in texts:
        run = await rt.start(agent, text, after=run)
        await run.wait(LIMIT)
    return run


async def test_a_turn_has_the_whole_conversation_and_none_of_it_in_its_records(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("one", "two", "three")
        third = await talk(rt, agent, "a", "b", "c")
        saved = await third.checkpoint()
        assert said(await third.messages()) == said(saved.messages) == ["a", "b", "c"]
        assert not saved.started.history and '"b"' not in json.loads(saved.to_json())["records"]
        assert [m.text for m in await third.messages() if isinstance(m, AssistantMessage)] == ["one", "two", "three"]
        [request] = await third.requests()
        assert request.proof == "as sent" and said(request.messages) == ["a", "b", "c"]
    async with Runtime(address) as rt:  # a process that has read nothing of it yet
        again = await rt.get(third.id)
        assert said(await again.messages()) == ["a", "b", "c"]
        assert [one.proof for one in await again.requests()] == ["as sent"]


def script(dice: random.Random, turns: int) -> list[Any]:
    """What a model says in so many turns: it may look something up before it answers, with one call or with two."""
    found: list[Any] = []
    for turn in range(turns):
        for _ in range(dice.randrange(3)):
            found.append([call("look", n=n) for n in range(dice.randrange(1, 3))])
        if dice.random() < 0.3:
            found.append([call("helper", input=f"help {turn}")])
        found.append(f"answer {turn}")
    return found


def talker(seed: int) -> Agent:
    dice = random.Random(seed)
    helper = Agent("helper", model=ScriptedModel(*(f"helped {n}" for n in range(50))))
    history: list[Any] = dice.choice(
        [
            [],
            [trim(messages=6)],
            [drop_tool_results(keep=1)],
            [summarise(after=8, keep=3, model=ScriptedModel(*(f"summary {n}" for n in range(50))))],
        ]
    )
    return Agent("chat", model=ScriptedModel(*script(dice, 8)), tools=[look, helper.as_tool()], history=history)


@pytest.mark.parametrize("seed", range(12))
async def test_to_refer_is_to_copy(seed: int) -> None:
    """The same conversation, once with a store and once with a checkpoint from turn to turn."""
    texts = [f"question {n}" for n in range(8)]
    copies: list[Checkpoint] = []
    agent, last = talker(seed), None
    for text in texts:
        last = (await agent.run(text, after=last)).checkpoint
        copies.append(last)
    async with Runtime(CheckedStore(MemoryStore())) as rt:
        agent, run = talker(seed), None
        for text, copy in zip(texts, copies, strict=True):
            run = await rt.start(agent, text, after=run)
            outcome = await run.wait(LIMIT)
            assert await run.messages() == outcome.checkpoint.messages == copy.messages
            mine, theirs = await run.requests(), copy.requests
            assert [(r.what, list(r.messages), r.digest, r.proof) for r in mine] == [
                (r.what, list(r.messages), r.digest, r.proof) for r in theirs
            ]
            assert {r.proof for r in mine} == {"as sent"}
            thread, other = outcome.checkpoint.state.threads[""], copy.state.threads[""]
            assert (thread.summary, thread.requests, thread.told) == (other.summary, other.requests, other.told)
            whole = Checkpoint.from_json(outcome.checkpoint.to_json())
            assert whole.messages == copy.messages and whole.by_itself().messages == copy.messages


async def test_two_turns_after_the_same_turn_know_nothing_of_each_other(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("one", "left", "right", "after left", "after right")
        first = await talk(rt, agent, "a")
        left, right = await talk(rt, agent, "l", after=first), await talk(rt, agent, "r", after=first)
        assert said(await (await talk(rt, agent, "l2", after=left)).messages()) == ["a", "l", "l2"]
        assert said(await (await talk(rt, agent, "r2", after=right)).messages()) == ["a", "r", "r2"]
        assert said(await first.messages()) == ["a"]


async def test_a_fork_has_the_turns_before_its_original_and_is_gone_on_with(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("one", "two", "two again", "three")
        second = await talk(rt, agent, "a", "b")
        fork = await second.fork(1, input="B", by="ana")
        await fork.wait(LIMIT)
        assert said(await fork.messages()) == ["a", "B"]
        third = await talk(rt, agent, "c", after=fork)
        assert said(await third.messages()) == ["a", "B", "c"] and said(await second.messages()) == ["a", "b"]


async def test_a_run_that_has_not_ended_is_not_gone_on_with(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat([call("pay", n=1)], "done", "next")
        first = await rt.start(agent, "a")
        await first.wait(LIMIT)
        with pytest.raises(Refused, match="finish or resume it first"):
            await rt.start(agent, "b", after=first)
        assert len(await rt.runs()) == 1
        await first.cancel(by="ana")
        await first.wait(LIMIT)
        second = await talk(rt, agent, "b", after=first)
        assert said(await second.messages()) == ["a", "b"]


async def test_the_turn_before_is_the_one_that_is_meant_or_none(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("one", "two")
        first = await talk(rt, agent, "a")
        row = await rt.store.get(first.id)
        begun = Started(run="next", kind="agent", program="chat", fingerprint=agent.fingerprint, input="b")
        right = Ref(first.id, row.seq, row.head.hex(), 2, 1)
        for ref, error in [
            (Ref(first.id, row.seq, "00" * 32, 2, 1), BrokenHistory),
            (Ref(first.id, row.seq - 1, row.head.hex(), 2, 1), BrokenHistory),
            (Ref(first.id, row.seq + 1, row.head.hex(), 2, 1), BrokenHistory),
            (Ref("nobody", row.seq, row.head.hex(), 2, 1), UnknownRun),
        ]:
            with pytest.raises(error):
                await rt.store.create(_after(begun, ref))
        assert [x.id for x in await rt.runs()] == [first.id]
        assert await rt.store.create(_after(begun, right))


def _after(started: Started, ref: Ref) -> Started:
    return msgspec.structs.replace(started, after=ref)


async def test_a_turn_whose_history_was_changed_is_refused_and_nothing_is_sent(address: str, db: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("one", "two")
        first = await talk(rt, agent, "a")
        third = await talk(rt, chat("-", "two", [call("pay", n=1)]), "b", "c", after=first)
    with closing(sqlite3.connect(db)) as file, file:
        sql = "update journal set body = replace(body, '\"one\"', '\"ONE\"'), head = zeroblob(32) where run = ? and seq = ?"
        n, seq = file.execute("select n, seq from run where id = ?", (first.id,)).fetchone()
        file.execute(sql, (n, seq))
    model = ScriptedModel("done")
    async with Runtime(address) as rt:
        agent = Agent("chat", model=model, tools=[look, pay], policy=Policy([ask("pay")], default="allow"))
        rt._register(agent)  # pyright: ignore[reportPrivateUsage]
        [interrupt] = await rt.inbox()
        await rt.approve(interrupt, by="ana")
        with pytest.raises(BrokenHistory, match="are different"):
            await (await rt.get(third.id)).wait(LIMIT)
        with pytest.raises(BrokenHistory):
            await (await rt.get(third.id)).messages()
    assert model.requests == []


async def test_a_checkpoint_goes_on_in_another_store_twice(address: str) -> None:
    async with Runtime(address, secret=SECRET) as rt:
        agent = chat("one", "two", [call("pay", n=1)])
        third = await talk(rt, agent, "a", "b", "c")
        text = (await third.checkpoint()).to_json()
    for place in (MemoryStore(), MemoryStore()):
        async with Runtime(CheckedStore(place), [chat("-", "-", "-", "paid", "four")], secret=SECRET) as rt:
            run = await rt.resume(text, approved=True, by="ana")
            await run.wait(LIMIT)
            assert said(await run.messages()) == ["a", "b", "c"]
            fourth = await talk(rt, chat("-", "-", "-", "paid", "four"), "d", after=run)
            assert said(await fourth.messages()) == ["a", "b", "c", "d"]
            assert {one.proof for one in await fourth.requests()} == {"as sent"}
            text_of_fourth = (await fourth.checkpoint()).to_json()
        async with Runtime(MemoryStore(), secret=SECRET) as rt:
            fifth = await talk(rt, chat(*"-----", "five"), "e", after=text_of_fourth)
            assert said(await fifth.messages()) == ["a", "b", "c", "d", "e"]


async def test_a_checkpoint_that_is_imported_again_is_recognised_in_whatever_form_it_stands_there(address: str) -> None:
    async with Runtime(address) as rt:
        third = await talk(rt, chat("one", "two", [call("pay", n=1)]), "a", "b", "c")
        text = (await third.checkpoint()).to_json()
        at_home = await rt.resume(text, approved=True, by="ana")  # the store has it: nothing is imported
        assert at_home.id == third.id
    async with Runtime(MemoryStore(), work=False) as rt:
        first = await rt.resume(text, approved=True, by="ana")
        assert (await first.checkpoint()).started.history
        with pytest.raises(AlreadyResumed):
            await rt.resume(text, approved=True, by="ben")


async def test_without_a_store_a_checkpoint_of_a_turn_goes_on_too(address: str) -> None:
    async with Runtime(address) as rt:
        second = await talk(rt, chat("one", [call("pay", n=1)]), "a", "b")
        text = (await second.checkpoint()).to_json()
    done = await chat("-", "-", "paid").resume(text, approved=True, by="ana")
    assert said(done.checkpoint.messages) == ["a", "b"]
    after = await chat("-", "-", "-", "three").run("c", after=done.checkpoint)
    assert said(after.checkpoint.messages) == ["a", "b", "c"]


@pytest.mark.parametrize("secret", [None, SECRET], ids=["unsigned", "signed"])
async def test_what_was_said_before_is_covered_by_digest_and_signature(address: str, secret: str | None) -> None:
    async with Runtime(address, secret=secret) as rt:
        second = await talk(rt, chat("one", "two"), "a", "b")
        sealed = json.loads((await second.checkpoint()).to_json())
    assert Checkpoint.from_json(sealed, secret=secret).to_json()
    for change in (
        {"before": sealed["before"].replace('"one"', '"ONE"')},
        {"before": ""},
        {"before": "[]"},
        {"version": 2},
    ):
        with pytest.raises(CheckpointInvalid):
            Checkpoint.from_json({**sealed, **change}, secret=secret)


async def test_a_worker_that_has_read_nothing_of_it_goes_on_after_a_crash(address: str) -> None:
    hangs = asyncio.Event()

    class Hanging(ScriptedModel):
        async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            if len(said(request.messages)) == 3 and not hangs.is_set():
                hangs.set()
                await asyncio.Event().wait()
            async for item in super().request(request):
                yield item

    agent = Agent("chat", model=Hanging("one", "two", "three"))
    async with Runtime(address) as rt:
        second = await talk(rt, agent, "a", "b")
        third = await rt.start(agent, "c", after=second)
        await hangs.wait()
    model = ScriptedModel("-", "-", "three")
    async with Runtime(address, [Agent("chat", model=model)]) as rt:
        run = await rt.get(third.id)
        await run.wait(LIMIT)
        assert said(await run.messages()) == ["a", "b", "c"]
    assert [said(request.messages) for request in model.requests] == [["a", "b", "c"]]


async def test_what_was_erased_is_a_note_in_the_turns_that_come_after(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("secret one", "two", "three")
        first = await talk(rt, agent, "secret a")
        second = await talk(rt, agent, "b", after=first)
        await rt.erase(first.id, by="ana", reason="asked for")
        assert said(await second.messages()) == ["[erased]", "b"]
        fork = await second.fork(1, input="B", by="ana")
        await fork.wait(LIMIT)
        assert said(await fork.messages()) == ["[erased]", "B"]
        third = await talk(rt, agent, "c", after=second)
        messages: list[Message] = await third.messages()
        assert said(messages) == ["[erased]", "b", "c"] and len(messages) == 6 and "secret" not in repr(messages)
        assert [one.proof for one in await third.requests()] == ["as sent"]
        assert "secret" not in (await third.checkpoint()).to_json()
        assert Checkpoint.from_json((await third.checkpoint()).to_json()).messages == messages


async def test_a_session_goes_on_with_its_last_run(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat("one", "two", "three", "other")
        for n, text in enumerate("abc", 1):
            run = await rt.start(agent, text, session="s")
            await run.wait(LIMIT)
            assert said(await run.messages()) == list("abc"[:n])
        other = Agent("other", model=ScriptedModel("-"))
        beside = await rt.start(other, "x", session="s")  # another agent's conversation is not gone on with
        await beside.wait(LIMIT)
        assert said(await beside.messages()) == ["x"]
        apart = await rt.start(agent, "y", session="s", after=None)
        await apart.wait(LIMIT)
        assert said(await apart.messages()) == ["y"]
        assert len(await rt.runs(session="s")) == 5


async def test_a_session_whose_last_run_has_not_ended_is_not_gone_on_with(address: str) -> None:
    async with Runtime(address) as rt:
        agent = chat([call("pay", n=1)], "done", "next")
        first = await rt.start(agent, "a", session="s", run_id="first")
        await first.wait(LIMIT)
        with pytest.raises(Refused, match="cannot continue run first: it is waiting; .*wait for it"):
            await rt.start(agent, "b", session="s")
        assert (await rt.start(agent, "a", session="s", run_id="first")).id == "first"  # the same start again
        assert len(await rt.runs()) == 1


async def test_of_two_that_begin_at_once_in_a_session_one_goes_on_with_its_last_run(address: str) -> None:
    async with Runtime(address) as rt, Runtime(address, work=False) as elsewhere:
        agent = chat("one", "two", "three")
        await (await rt.start(agent, "a", session="s")).wait(LIMIT)
        both = await asyncio.gather(
            rt.start(agent, "b", session="s"), elsewhere.start(agent, "c", session="s"), return_exceptions=True
        )
        begun = [run for run in both if not isinstance(run, BaseException)]
        lost = [error for error in both if isinstance(error, BaseException)]
        assert all(isinstance(error, SessionMoved | Refused) for error in lost)
        befores = [(await run.checkpoint()).started.before for run in begun]
        assert len(befores) == len({ref.run for ref in befores if ref}) >= 1


async def test_the_same_start_elsewhere_at_this_very_moment_is_this_run(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(address) as rt:
        agent = chat([call("pay", n=1)], "done")
        await (await rt.start(agent, "a", session="s", run_id="first")).wait(LIMIT)

        async def not_yet(run: str) -> None:
            """As if it had begun only after we had looked."""

        monkeypatch.setattr(rt, "row", not_yet)
        assert (await rt.start(agent, "a", session="s", run_id="first")).id == "first"
        monkeypatch.undo()
        assert len(await rt.runs()) == 1


SIZES = (50, 200, 1000)


async def test_a_turn_costs_the_same_whether_fifty_or_a_thousand_came_before_it(address: str) -> None:
    """Bytes of records, records that are folded and messages that are hashed, counted, not timed; then a cold start."""
    counts = {"fold": 0, "line": 0}
    fold, line = State.fold, request.line

    def folding(self: State, seq: int, record: Any, *, counts: bool = True) -> None:
        counted("fold")
        fold(self, seq, record, counts=counts)

    def counted(what: str) -> None:
        counts[what] += 1

    def hashing(message: Message) -> bytes:
        counted("line")
        return line(message)

    agent = Agent("chat", model=Echo())
    spent: dict[int, tuple[float, float, float]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(State, "fold", folding)
        patch.setattr(request, "line", hashing)
        run, began, written = None, (0, 0, 0), 0
        async with Runtime(address) as rt:
            for n in range(1, SIZES[-1] + 1):
                if n + 20 in SIZES:
                    began = (written, counts["fold"], counts["line"])
                run = await rt.start(agent, f"question {n} " + "x" * 200, after=run)
                await run.wait(LIMIT)
                if any(0 <= size - n < 20 for size in SIZES):
                    written += sum(len(dump(record)) for _, record in await rt.store.load(run.id))
                if n in SIZES:
                    now = (written, counts["fold"], counts["line"])
                    spent[n] = ((now[0] - began[0]) / 20, (now[1] - began[1]) / 20, (now[2] - began[2]) / 20)
        assert run is not None
        for n in SIZES[1:]:
            for what, first, then in zip(("bytes", "folded", "hashed"), spent[SIZES[0]], spent[n], strict=True):
                assert then <= 1.1 * first, f"{what} of a turn: {first} at {SIZES[0]}, {then} at {n}"
        counts["fold"] = 0
        async with Runtime(address) as rt:
            last = await rt.start(agent, "one more", after=run.id)
            await last.wait(LIMIT)
            assert len(await last.messages()) == 2 * SIZES[-1] + 2
        records = 5 * SIZES[-1]
        assert counts["fold"] <= 1.1 * records, "each record of the turns before is folded once, not once for each turn"


class Echo:
    """A model that does not look at what it is sent: what a turn costs is the runtime's."""

    name = "echo"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield Reply((Text(text="answer " + "y" * 200),), Usage(1, 10, 10))
