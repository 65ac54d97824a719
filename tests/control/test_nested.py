"""Nested agents are paths inside the run: three levels, in parallel, waiting, restarted, cancelled."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.control.conftest import Begin
from tests.control.lives import stage
from tests.control.world import LIMIT, TOOLS, Ledger, Play, act, boss, call, does, says, script, tell

from adjourn import Agent, Completed, InvalidDefinition, NotFound, Paused, Policy, Run, Runtime, allow, ask, deny
from adjourn.core.records import Intended, Returned, RunCancelled
from adjourn.testing import ScriptedModel


def family_of(run: str) -> dict[str, Any]:
    """Two leads at once, each with a hand; each hand acts, then asks; four hundred things could go wrong."""

    def lead(name: str) -> list[Any]:
        hand = tell("hand", run, does(act(f"{name}1"), call("pay", name=f"{name}2")), does(act(f"{name}3")), says(name))
        return tell("lead", run, does(hand, act(f"{name}0")), says(f"lead {name}"))

    return script(run, does(lead("x"), lead("y"), act("z")), says("all done"))


DONE = sorted(f"acted {w}" for w in ("x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3", "z"))


async def test_two_children_of_children_wait_at_once_and_are_decided_in_any_order_after_a_restart(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    first = await begin("boss")
    for name in ("r", "s"):
        await first.do("start", agent="boss", run=name, input=family_of(name))
    async with Runtime(address) as desk:
        for name in ("r", "s"):
            async with asyncio.timeout(LIMIT):
                while [i.id for i in await desk.inbox(run=name)] != [f"{name}:1.0/1.0/1.1?0", f"{name}:1.1/1.0/1.1?0"]:
                    await asyncio.sleep(0.02)
        assert [i.path for i in await desk.inbox(run="r")] == ["1.0/1.0", "1.1/1.0"]
        await first.kill()
        await desk.approve("r:1.0/1.0/1.1?0", by="ann")
        await desk.approve("s:1.1/1.0/1.1?0", by="ann")
        await begin("boss", sweep=0.1)
        await ledger.until("r", "acted x2")
        await ledger.until("s", "acted y2")
        assert "acted y2" not in ledger.lines("r") and "acted x2" not in ledger.lines("s")
        await desk.approve("r:1.1/1.0/1.1?0", by="ann")
        await desk.approve("s:1.0/1.0/1.1?0", by="ann")
        for name in ("r", "s"):
            async with asyncio.timeout(LIMIT):
                while await (await desk.get(name)).status() != "completed":
                    await asyncio.sleep(0.02)
            assert sorted(ledger.lines(name, "acted")) == DONE


async def test_a_child_is_looked_at_by_itself(folder: Path) -> None:
    async with stage(folder, boss) as on:
        run = await on.start(family_of("r"))
        await waiting(on, run, 2)
        child = run.child("1.0/1.0")
        assert await child.agent() == "hand"
        assert [i.id for i in await child.interrupts()] == ["r:1.0/1.0/1.1?0"]
        assert await child.output() is None
        assert [i.path for i in await run.child("1.1").interrupts()] == ["1.1/1.0"]
        for item in (await run.state()).interrupts:
            assert on.rt is not None
            await on.rt.approve(item.id, by="ann")
        await on.rest(run, "completed")
        assert await child.output() == "x"
        assert "acted x1" in on.ledger.lines("r")
        texts = [getattr(m, "text", "") for m in await child.messages()]
        assert texts[-1] == "x"
        for path in ("", "9.9", "1.0/9.9"):
            with pytest.raises(NotFound, match=r"1\.0/1\.0"):
                await run.child(path).agent()


async def waiting(on: Any, run: Run[Any], count: int) -> None:
    async with asyncio.timeout(LIMIT):
        while await run.status() != "waiting" or len((await run.state()).interrupts) < count:
            await asyncio.sleep(0.002)
            on.clock.advance(0.1)


BOUNDS = range(24)


async def cancelled_after(folder: Path, lines: int) -> None:
    """Cancel once so many lines are in the ledger: what finished children did is undone, in reverse."""
    async with stage(folder, boss) as on:
        run = await on.start(family_of("r"))
        approved = 0
        while len(on.ledger.lines("r")) < lines and await run.status() not in ("completed", "cancelled"):
            for item in (await run.state()).interrupts[approved:]:
                assert on.rt is not None
                await on.rt.approve(item.id, by="ann")
            await asyncio.sleep(0.001)
            on.clock.advance(0.05)
        try:
            await run.cancel(by="ann")
        except Exception as e:
            assert "completed" in str(e)
            return
        await on.rest(run, "cancelled")
        done = [w.split()[1] for w in on.ledger.lines("r", "acted")]
        undone = [w.split()[1] for w in on.ledger.lines("r", "undone")]
        assert sorted(done) == sorted(undone)
        records = await on.records("r")
        intents = {x.call: x for x in records if isinstance(x, Intended)}
        ended = [x for x in records if isinstance(x, Returned) and x.call in intents and intents[x.call].undo]
        assert undone == [x.value["did"] for x in reversed(ended)]
        [end] = [x for x in records if isinstance(x, RunCancelled)]
        assert end.residue == ()


@pytest.mark.parametrize("lines", BOUNDS[::5])
async def test_a_cancel_undoes_what_finished_children_did(folder: Path, lines: int) -> None:
    await cancelled_after(folder, lines)


@pytest.mark.crash
@pytest.mark.parametrize("lines", BOUNDS)
async def test_a_cancel_at_every_point_undoes_what_finished_children_did(folder: Path, lines: int) -> None:
    await cancelled_after(folder, lines)


def governed(root: Policy | None, lead: Policy | None, hand: Policy | None) -> Any:
    def make(ledger: Ledger) -> Agent:
        low = Agent("hand", model=Play(ledger), tools=TOOLS, policy=hand)
        middle = Agent("lead", model=Play(ledger), tools=[*TOOLS, low.as_tool()], policy=lead)
        return Agent("top", model=Play(ledger), tools=[*TOOLS, middle.as_tool()], policy=root)

    return make


VERDICTS = {
    "allow": Policy([allow("*")]),
    "ask": Policy([ask("act"), allow("*")]),
    "deny": Policy([deny("act"), allow("*")]),
    "none": None,
}


@pytest.mark.parametrize(("root", "lead", "hand"), list(itertools.product(VERDICTS, repeat=3))[::3])
async def test_the_strictest_policy_on_the_way_down_wins(folder: Path, root: str, lead: str, hand: str) -> None:
    async with stage(folder, governed(VERDICTS[root], VERDICTS[lead], VERDICTS[hand]), memory=True) as on:
        deep = tell("lead", "r", does(tell("hand", "r", does(act("a")), says("hand"))), says("lead"))
        run = await on.start(script("r", does(deep), says("done")))
        status = await on.rest(run)
        strictest = "deny" if "deny" in (root, lead, hand) else "ask" if "ask" in (root, lead, hand) else "allow"
        if strictest == "ask":
            assert status == "waiting"
            [item] = (await run.state()).interrupts
            assert item.path == "1.0/1.0"
            assert on.rt is not None
            await on.rt.approve(item.id, by="ann")
            await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ([] if strictest == "deny" else ["acted a"])
        assert (await run.status()) == "completed"


async def test_a_nested_agent_may_be_gated_as_a_whole(folder: Path) -> None:
    policy = Policy([ask("lead"), allow("*")])
    async with stage(folder, governed(policy, None, None)) as on:
        run = await on.start(script("r", does(tell("lead", "r", does(act("a")), says("lead"))), says("done")))
        await on.rest(run, "waiting")
        [item] = (await run.state()).interrupts
        assert item.call is not None and item.call.tool == "lead"
        assert on.ledger.lines("r") == ["model asked 0"]
        assert on.rt is not None
        await on.rt.deny(item.id, by="ann")
        await on.rest(run, "completed")
        assert on.ledger.lines("r") == ["model asked 0", "model asked 1"]


async def test_a_message_to_the_run_reaches_the_root_and_not_its_children(folder: Path) -> None:
    async with stage(folder, boss) as on:
        lead = tell("lead", "r", does(act("a", gate="a")), says("lead"))
        run = await on.start(script("r", does(lead), says("done")))
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        await run.say("hello", by="ann")
        on.ledger.open("r", "a")
        await on.rest(run, "completed")
        heard = ["hello" in str(messages) for messages in on.ledger.requests("r")]
        assert heard == [False, False, False, True]


def agent(name: str, *tools: Any, instructions: str = "") -> Agent:
    return Agent(name, model=ScriptedModel("x"), tools=tools, instructions=instructions)


def test_a_cycle_of_agents_is_refused_with_its_way() -> None:
    low = agent("low")
    top = agent("top", low)
    low.tools["top"] = top.as_tool()
    with pytest.raises(InvalidDefinition, match="top → low → top"):
        top.program
    with pytest.raises(InvalidDefinition, match="its own tool"):
        agent("above", top)


def test_two_different_agents_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidDefinition, match="named 'same'.*rename one"):
        agent("top", agent("same", agent("same", instructions="another").as_tool("inner")))
    with pytest.raises(InvalidDefinition, match="named 'same'"):
        agent("top", agent("same").as_tool("one"), agent("same", instructions="another").as_tool("two"))
    with pytest.raises(InvalidDefinition, match="named 'top'"):
        agent("top", agent("middle", agent("top", instructions="another").as_tool("inner")))


def test_one_agent_may_be_used_in_several_places() -> None:
    low = agent("low")
    assert set(agent("top", low, agent("middle", low)).program.agents) == {"top", "middle", "low"}
    assert set(agent("top", agent("low"), agent("middle", agent("low"))).program.agents) == {"top", "middle", "low"}


async def test_agents_may_be_nested_ten_deep(folder: Path) -> None:
    def make(ledger: Ledger) -> Agent:
        made = Agent("a0", model=Play(ledger), tools=TOOLS)
        for n in range(1, 11):
            made = Agent(f"a{n}", model=Play(ledger), tools=[made.as_tool()])
        return made

    async with stage(folder, make) as on:
        replies: tuple[dict[str, Any], ...] = (does(act("deep"), call("pay", name="p")), says("bottom"))
        for n in range(10):
            replies = (does(tell(f"a{n}", "r", *replies)), says(f"a{n + 1}"))
        run = await on.start(script("r", *replies))
        await on.rest(run, "waiting")
        [item] = (await run.state()).interrupts
        assert item.path == "/".join(["1.0"] * 10)
        assert on.rt is not None
        await on.rt.approve(item.id, by="ann")
        await on.rest(run, "completed")
        outcome = await on.outcome(run)
        assert isinstance(outcome, Completed) and not isinstance(outcome, Paused)
        assert on.ledger.lines("r", "acted") == ["acted deep", "acted p"]
