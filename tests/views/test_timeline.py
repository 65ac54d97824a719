"""What a list of steps says of records that no call made."""

from adjourn import Agent, Policy, Runtime, ask, tool
from adjourn.core.records import Claimed, Forked, Parked, Started
from adjourn.testing import ScriptedModel, call
from adjourn.views.timeline import Timeline

LIMIT = 20.0


@tool(effect="unsafe")
def refund(cents: int) -> str:
    """Pay back."""
    return f"re_{cents}"


async def test_a_fork_says_where_it_came_from_who_forked_it_and_what_they_wanted() -> None:
    model = ScriptedModel([call("refund", cents=48_250)], "Half of it.", "Half of it.")
    agent = Agent("desk", model=model, tools=[refund], policy=Policy([ask("refund")], default="allow"))
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "go", run_id="origin", by="ana")
        await run.wait(LIMIT)
        first, second = [await run.fork(3, by="bob", instruction=text) for text in ("Only half.", "")]
        for fork, text in ((first, "by bob: Only half."), (second, "by bob")):
            await fork.wait(LIMIT)
            timeline = Timeline.of(await rt.store.load(fork.id))
            [forked] = [step for step in timeline.steps if step.name == "forked"]
            assert (forked.text, forked.note) == (text, "from origin@3")
            assert "taken over" not in [step.name for step in timeline.steps], "its origin's worker was not its own"


def test_the_time_of_a_fork_is_its_own() -> None:
    started = Started(run="fork", kind="agent", program="desk", input="go", forked_from="origin@2", at=0.0)
    forked = Forked(of="origin", at_seq=2, at=100.0)
    records = [started, Claimed(epoch=1, at=1.0), forked, Claimed(epoch=2, at=104.0), Parked(at=106.0)]
    timeline = Timeline.of(enumerate(records, 1))
    assert (timeline.worked(107.0), timeline.waited(107.0)) == (2.0, 5.0)
