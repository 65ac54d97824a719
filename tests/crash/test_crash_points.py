"""The public crash points: what users run their own agents through."""

from collections import Counter
from pathlib import Path

import pytest
from tests.crash.scenarios import IDEMPOTENT, SCENARIOS, UNSAFE, World, person

from adjourn import Agent, Completed, Interrupt, Misused, Paused, tool
from adjourn.testing import CrashPoint, ScriptedModel, call, crash_points


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "cancel"])
async def test_an_agent_ends_the_same_whatever_write_its_worker_dies_at(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    operations: Counter[str] = Counter()
    for point in crash_points():
        world = World(tmp_path / f"{point.at}-{point.after}")
        outcome = await point.run(
            scenario.agent(), "go", answer=lambda i, world=world: scenario.person(i, world), resources={"world": world}
        )
        assert isinstance(outcome, Completed), point
        assert outcome.output == "done"
        assert all(n == 1 for (effect, _), n in Counter(line[:2] for line in world.lines()).items() if effect == UNSAFE)
        keys = {(call, key) for effect, call, key in world.lines() if effect == IDEMPOTENT}
        assert len(keys) == len({call for call, _ in keys})  # one for each call, whatever the attempt
        operations[point.operation] += 1
    assert operations[""] == 2  # once before, once after: the runs that came to their end undisturbed
    assert operations["commit"] >= (4 if name == "deny" else 6)  # what is denied does not run
    assert operations["create"] == 2


async def test_a_tool_that_is_wrongly_called_idempotent_is_found_out() -> None:
    """What crash points are for: the declaration says that it may run twice, the world says that it did."""
    sent: list[str] = []

    @tool(effect="idempotent")
    async def send(to: str) -> None:
        """Send a mail."""
        sent.append(to)

    twice: list[CrashPoint] = []
    for point in crash_points():
        sent.clear()
        await point.run(Agent("mailer", model=ScriptedModel([call("send", to="ann")], "sent"), tools=[send]), "go")
        if len(sent) > 1:
            twice.append(point)
    assert [(point.operation, point.after) for point in twice] == [("commit", False)]


async def test_an_async_person_can_answer(tmp_path: Path) -> None:
    async def answer(interrupt: Interrupt) -> object:
        return person(interrupt, world)

    world = World(tmp_path / "world")
    outcome = await CrashPoint(4, True).run(
        SCENARIOS["approve"].agent(), "go", answer=answer, resources={"world": world}
    )
    assert isinstance(outcome, Completed)


async def test_without_a_person_the_outcome_is_the_first_wait() -> None:
    point = CrashPoint(1, False)
    outcome = await point.run(SCENARIOS["approve"].agent(), "go", resources={"world": None})
    assert isinstance(outcome, Paused)
    assert repr(point) == "CrashPoint(before write 1: acquire)"


def test_a_loop_that_runs_nothing_is_told_so() -> None:
    with pytest.raises(Misused, match=r"point\.run"):
        for _ in crash_points():
            pass
