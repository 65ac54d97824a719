"""Erasing a run: whoever looks at it finds the tombstone, and no file beside the database remembers it either."""

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.test_watch import collect
from tests.runtime.world import LIMIT, Ledger, completed, notes, operator, paused

from adjourn import Agent, Runtime, ToolContext, tool
from adjourn.core.records import Erased
from adjourn.driver.live_feed import Published
from adjourn.driver.watch import Recorded
from adjourn.errors import Invalid, Refused, RunErased, UnknownRun
from adjourn.stores.sqlite import live_channel
from adjourn.testing.scripted import ScriptedModel, call, streamed
from adjourn.views.timeline import Timeline

CANARIES = [f"canary{n:02}-{'abcdefgh'[n % 8] * 9}" for n in range(50)]


def chatty(heard: asyncio.Event) -> Agent:
    """Says and hears a canary at every step, and publishes one of them until somebody in another process has `heard` it."""
    left = iter(CANARIES[4:])

    @tool(effect="idempotent")
    async def look_up(ctx: ToolContext, about: str) -> str:
        """Looks something up."""
        await ctx.step("first", lambda: CANARIES[0])
        while not heard.is_set():
            ctx.publish({"found": CANARIES[1]})
            await asyncio.sleep(0.01)
        return f"found {about} {next(left)}"

    calls: list[Any] = [[call("look_up", about=next(left))] for _ in range(23)]
    return Agent("chatty", model=ScriptedModel(*calls, streamed("so ", CANARIES[2], " it is")), tools=[look_up])


def found_in(folder: Path) -> set[str]:
    data = [file.read_bytes() for file in folder.iterdir() if file.is_file()]
    return {word for word in CANARIES if any(word.encode() in bytes_ for bytes_ in data)}


async def test_of_fifty_canaries_none_is_in_a_file_afterwards(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the run takes, what it published is there to be erased.
    monkeypatch.setattr(live_channel, "KEPT", 3600.0)
    heard = asyncio.Event()
    agent = chatty(heard)
    async with Runtime(address) as watcher, Runtime(address, [agent]) as rt:
        run = await rt.start(agent, CANARIES[3], run_id="r1", labels={"customer": CANARIES[3]}, by="ana")
        async with asyncio.timeout(LIMIT):
            async for event in (await watcher.get("r1")).watch():
                if isinstance(event, Published):
                    heard.set()
        await completed(run)
        assert [found.run_id for found in await watcher.runs(search=CANARIES[9])] == ["r1"]
        assert found_in(folder) == set(CANARIES)
        async with asyncio.timeout(LIMIT):
            while not (await run.erase(by="ann", reason="asked to")).scrubbed:
                pass  # who still read at that moment has come to an end: the next attempt ends it
        assert found_in(folder) == set()
        assert await watcher.runs(search=CANARIES[9]) == []
        assert await rt.store.verify() == []
    assert found_in(folder) == set()


async def test_whoever_looks_finds_the_tombstone(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [agent := notes(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(agent, "secret", by="ana")
        await completed(run)
        done = await run.erase(by="ann", reason="asked to")
        assert (done.run, done.by, done.reason, done.others) == (run.id, "ann", "asked to", ())
        state = await run.state()
        assert (state.status, state.input, state.text, state.effects) == ("completed", None, "", ())
        assert await run.messages() == []
        [row] = await rt.runs()
        assert row.title == "erased by ann: asked to" and row.erased_at == done.at
        [event] = await asyncio.wait_for(collect(run.watch()), LIMIT)
        assert isinstance(event, Recorded) and isinstance(event.record, Erased)
        [step] = Timeline.of(await rt.store.load(run.id)).steps
        assert (step.name, step.text, step.status) == ("erased", "by ann: asked to", "completed")
        assert (await run.audit())[-1].verb == "erase"


async def test_what_needs_its_content_says_that_it_was_erased(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [agent := notes(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(agent, "secret", run_id="r1", by="ana")
        saved = (await completed(run)).checkpoint
        await run.erase(by="ann", reason="asked to")
        for attempt in (
            run.wait, run.checkpoint, run.fork, run.picture, lambda: run.say("more", by="ana"), lambda: run.cancel(by="ana"),
            lambda: rt.start(agent, "secret", run_id="r1"), lambda: rt.start(agent, "next", after=saved),
            lambda: rt.start(agent, "next", after=saved.to_json()), lambda: rt.resume(saved),
        ):  # fmt: skip
            with pytest.raises(RunErased, match="run r1 was erased by ann: asked to"):
                await attempt()
        assert (await run.erase(by="bo", reason="again")).by == "ann"


async def test_an_error_of_an_erased_run_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(RunErased("r1", "erased by ann")))
    assert (error.run_id, error.said, error.status) == ("r1", "erased by ann", 409)


async def test_a_run_that_waits_is_cancelled_first(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [agent := operator(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(agent, "go")
        await paused(run)
        with pytest.raises(Refused, match="cancel it first"):
            await run.erase(by="ann", reason="asked to")
        await run.cancel(by="ann")
        await run.wait()
        await run.erase(by="ann", reason="asked to")
        assert await run.status() == "cancelled"


async def test_who_and_why_are_needed_and_the_run_must_be_there(address: str) -> None:
    async with Runtime(address) as rt:
        for by, reason in (("", "asked to"), ("ann", "")):
            with pytest.raises(Invalid, match="by= and reason="):
                await rt.erase("r1", by=by, reason=reason)
        with pytest.raises(UnknownRun):
            await rt.erase("r1", by="ann", reason="asked to")


async def test_nothing_that_runs_erases_a_run(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [quiet := notes(ledger)], resources={"ledger": ledger}) as rt:
        before = await rt.start(quiet, "go", run_id="r1")
        await completed(before)

        @tool(effect="idempotent")
        async def cover_up(ctx: ToolContext) -> str:
            """Erases another run."""
            await rt.erase("r1", by="ann", reason="nobody will know")
            return "done"

        agent = Agent("sly", model=ScriptedModel([call("cover_up")], "done"), tools=[cover_up])
        outcome = await completed(await rt.start(agent, "go"))
        assert "erase a run" in str(outcome.checkpoint.messages)
        assert not (await rt.store.get("r1")).erased


async def test_later_runs_of_its_session_are_named(address: str) -> None:
    agent = Agent("talks", model=ScriptedModel("one", "two"))
    async with Runtime(address, [agent]) as rt:
        first = await rt.start(agent, "one", run_id="r1", session="s")
        saved = (await completed(first)).checkpoint
        for n in ("2", "3"):
            await completed(await rt.start(agent, "more", run_id=f"r{n}", after=saved))
        assert set((await first.erase(by="ann", reason="asked to")).others) == {"r2", "r3"}
        assert (await rt.erase("r3", by="ann", reason="asked to")).others == ()
        assert (await rt.erase("r1", by="ann", reason="asked to")).others == ("r2",)


async def test_another_process_that_had_looked_at_it_knows_it_no_more(address: str, ledger: Ledger) -> None:
    async with (
        Runtime(address) as other,
        Runtime(address, [agent := notes(ledger)], resources={"ledger": ledger}) as rt,
    ):
        run = await rt.start(agent, "secret", run_id="r1")
        await completed(run)
        seen = await other.get("r1")
        assert (await seen.wait()).status == "completed"
        await run.erase(by="ann", reason="asked to", scrub=False)
        with pytest.raises(RunErased):
            await seen.wait()
        assert await seen.messages() == []
        assert await other.scrub() is True
