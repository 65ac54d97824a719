"""Two runs beside each other: equal steps, those that differ and how, and those that one alone has."""

import pytest

from adjourn import Agent, Invalid, Policy, RunErased, Runtime, ToolContext, UnknownRun, ask, tool
from adjourn.core.ids import parse_fork
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call
from adjourn.views.timeline import Timeline

LIMIT = 20.0


@tool(effect="read")
def look(order: str) -> str:
    """Look it up."""
    return f"found {order}"


@tool(effect="unsafe")
def refund(cents: int) -> str:
    """Pay back."""
    return f"re_{cents}"


def desk() -> Agent:
    model = ScriptedModel([call("look", order="4417")], [call("refund", cents=500)], "Done.")
    return Agent("desk", model=model, tools=[look, refund], policy=Policy([ask("refund")], default="allow"))


async def test_a_run_beside_itself_has_no_difference() -> None:
    async with Runtime(MemoryStore(), [desk()]) as rt:
        run = await rt.start(rt.programs["desk"], "go", by="ana")
        await run.wait(LIMIT)
        found = await rt.compare(run.id, run.id)
    assert found.steps and all(pair.is_same for pair in found.steps)
    assert (found.same, found.relation, found.cut) == (len(found.steps), "", False)


async def test_an_edited_a_denied_and_a_missing_step_are_told_apart() -> None:
    async with Runtime(MemoryStore(), [desk()]) as rt:
        runs = [await rt.start(rt.programs["desk"], "go", by="ana") for _ in range(3)]
        for run in runs:
            await run.wait(LIMIT)
        first, second, third = runs
        for run, edit in ((first, None), (second, {"cents": 400})):
            [item] = (await run.state()).interrupts
            await rt.approve(item.ref, by="ben", edit=edit)
            await run.wait(LIMIT)
        edited = await rt.compare(first.id, second.id)
        open_still = await rt.compare(first.id, third.id)
    [pair] = [pair for pair in edited.steps if pair.left and pair.left.name == "refund"]
    assert pair.left and pair.right and {"arguments", "result"} <= set(pair.differs)
    assert (pair.left.arguments, pair.right.arguments) == ({"cents": 500}, {"cents": 400})
    assert edited.steps[edited.same].left == pair.left, "they part there"
    assert [call.arguments for call in edited.right.effects if call.tool == "refund"] == [{"cents": 400}]
    alone = [pair.left for pair in open_still.steps if pair.right is None]
    assert alone and alone[-1] and alone[-1].kind == "end", "only the first one has ended"


async def test_a_fork_stands_beside_its_origin_and_a_repetition_beside_what_it_repeats() -> None:
    async with Runtime(MemoryStore(), [desk()]) as rt:
        run = await rt.start(rt.programs["desk"], "go", by="ana")
        await run.wait(LIMIT)
        fork, again = await run.fork(instruction="be brief", by="ben"), await run.again(by="ben")
        for other in (fork, again):
            await other.wait(LIMIT)
        for left, right in ((run, fork), (fork, run)):
            found = await rt.compare(left.id, right.id)
            assert found.relation == "fork" and found.at_seq > 0 and found.same > 0
        assert (await rt.compare(again.id, run.id)).relation == "again"


async def test_what_a_fork_did_itself_is_never_called_inherited_and_the_origin_is_known_on_either_side() -> None:
    looked = 0

    @tool(effect="read")
    def look(order: str) -> str:
        """Look it up."""
        nonlocal looked
        looked += 1
        return f"found {order}"

    model = ScriptedModel([call("look", order="4417")], [call("refund", cents=500)], "Done.")
    agent = Agent("desk", model=model, tools=[look, refund], policy=Policy([ask("refund")], default="allow"))
    clock = FakeClock()
    async with Runtime(MemoryStore(now=clock.now), [agent]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        age, began = 0, (await rt.store.get(run.id)).created_at
        for step in Timeline.of(await rt.store.load(run.id)).steps:
            assert not step.inherited, "a run that is no fork inherits nothing"
        for at in range(1, (await rt.store.get(run.id)).seq + 1):
            try:
                fork = await run.fork(at=at, by="ben")
            except Invalid:
                continue
            before, (kept, cut) = looked, parse_fork(fork_name := (await fork.state()).forked_from)
            assert kept == run.id, fork_name
            await fork.wait(LIMIT)
            steps = Timeline.of(await rt.store.load(fork.id)).steps
            for step in steps:
                if step.inherited:
                    assert step.last_seq <= cut, "nothing of it came after the cut"
            [again] = [step for step in steps if step.name == "look"]
            assert again.inherited is (looked == before), f"cut at {cut}"
            for left, right in ((run, fork), (fork, run)):
                found = await rt.compare(left.id, right.id)
                assert found.origin == run.id
                assert found.inherited == sum(step.inherited for step in steps)
            clock.advance(60)
            assert (await rt.store.get(fork.id)).created_at - began == 60 * age, "it is as old as it is"
            age += 1


async def test_what_was_undone_is_not_the_same_as_what_was_done() -> None:
    def pay_back(ctx: ToolContext, args: dict[str, int], result: str | None) -> None: ...

    @tool(effect="unsafe", undo=pay_back)
    def charge(cents: int) -> str:
        """Charge."""
        return f"ch_{cents}"

    @tool
    def wait() -> str:
        """Wait."""
        return "no"

    model = ScriptedModel([call("charge", cents=500)], [call("wait")], "Done.")
    agent = Agent("desk", model=model, tools=[charge, wait], policy=Policy([ask("wait")], default="allow"))
    async with Runtime(MemoryStore(), [agent]) as rt:
        run = await rt.start(agent, "go", by="ana")
        await run.wait(LIMIT)
        fork = await run.fork(by="ben")
        await fork.wait(LIMIT)
        await run.cancel(by="ana")
        await run.wait(LIMIT)
        found = await rt.compare(run.id, fork.id)
    [mine], [theirs] = found.left.effects, found.right.effects
    assert (mine.undone, mine.inherited) == (True, False)
    assert (theirs.undone, theirs.inherited) == (False, True)


async def test_what_is_not_there_cannot_be_compared() -> None:
    async with Runtime(MemoryStore(), [desk()]) as rt:
        run = await rt.start(rt.programs["desk"], "go", by="ana")
        await run.wait(LIMIT)
        with pytest.raises(UnknownRun):
            await rt.compare(run.id, "gone")
        await run.cancel(by="ana")
        await run.wait(LIMIT)
        await run.erase(by="ana", reason="asked for")
        with pytest.raises(RunErased):
            await rt.compare(run.id, run.id)
