"""`start(…, queue="session")`: the runs of a session go one after the other, whatever the others wait for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Invalid, Policy, Runtime, ask, testing, tool
from adjourn.core.state import State
from adjourn.testing import ScriptedModel, call
from adjourn.views.run_view import run_view


def clerk(began: list[str]) -> Agent[Any]:
    @tool
    async def pay(order: str) -> str:
        """Pay."""
        began.append(order)
        return "paid"

    script = ScriptedModel(lambda m: [call("pay", order=m[-1].text)], "done")  # type: ignore[union-attr]
    return Agent("clerk", model=script, tools=[pay], policy=Policy([ask("pay")]))


async def _until(env: testing.Env, run: Any, status: str) -> None:
    async with asyncio.timeout(LIMIT):
        while await run.status() != status:
            await env.skip(1)
            await asyncio.sleep(0)


async def test_two_runs_of_a_session_go_one_after_the_other_and_others_beside_them() -> None:
    began: list[str] = []
    agent = clerk(began)
    async with testing.env([agent]) as env:
        rt = env.runtime
        first = await rt.start(agent, "1", session="s", queue="session")
        second = await rt.start(agent, "2", session="s", queue="session")
        third = await rt.start(agent, "3", session="s", queue="session")
        other = await rt.start(agent, "4", session="t", queue="session")
        free = await rt.start(agent, "5", session="s", after=None)
        for run in (first, other, free):
            await run.wait(LIMIT)
        await env.skip(5)
        assert await second.status() == "ready"
        row = await rt.store.get(second.id)
        [note] = await rt.store.misfits(runs=(second.id,))
        seen = run_view(row, State().fold_all(await rt.store.load(second.id)), [], env.clock.now(), misfit=note)
        assert (seen.now.verb, seen.now.reason) == ("queued", f"run {first.id} of its session must finish first")
        await first.cancel(by="ana")
        await _until(env, second, "waiting")
        assert await third.status() == "ready"
        [item] = await rt.inbox(run=second.id)
        await rt.approve(item.id, by="ana")
        await _until(env, third, "waiting")
        assert began == ["2"]


async def test_one_that_waits_for_its_turn_can_be_cancelled(tmp_path: Path) -> None:
    agent = clerk([])
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
        first = await rt.start(agent, "1", session="s", queue="session")
        await first.wait(LIMIT)
        second = await rt.start(agent, "2", session="s", queue="session")
        await second.cancel(by="ana")
        assert (await second.wait(LIMIT)).status == "cancelled"
        assert await first.status() == "waiting"


@pytest.mark.parametrize(("queue", "session"), [("run", "s"), (True, "s"), ("session", None), ("session", "")])
async def test_a_queue_without_a_session_or_of_another_kind_is_refused(queue: Any, session: Any) -> None:
    agent = clerk([])
    async with Runtime("memory://", [agent]) as rt:
        with pytest.raises(Invalid, match="queue="):
            await rt.start(agent, "1", session=session, queue=queue)
