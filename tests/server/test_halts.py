"""What can be halted, what a halt holds, and what is said of a name that nothing has."""

import asyncio
from typing import Any

from tests.server.world import LIMIT, Client

from adjourn.server import Serving


async def started(client: Client, server: Serving, agent: str, *wanted: str) -> str:
    """A run of this agent, once it is in one of these statuses."""
    run: str = (await client.post("runs", json={"agent": agent, "input": "go"})).json()["run_id"]
    async with asyncio.timeout(LIMIT):
        while (await (await server.runtime.get(run)).status()) not in wanted:
            await asyncio.sleep(0.005)
    return run


async def scopes(client: Client, asked: str = "") -> dict[str, dict[str, Any]]:
    """Everything that can be halted, by its scope."""
    query = {"scope": asked} if asked else {}
    answer = await client.get("halts/scopes", params=query)
    assert answer.status_code == 200 and answer.json()["complete"], answer.text
    return {item["scope"]: item for item in answer.json()["items"]}


async def test_the_agents_and_tools_that_exist_are_listed_with_the_runs_that_each_would_hold(
    server: Serving, admin: Client
) -> None:
    for agent in ("refunds", "nested", "desk"):
        await started(admin, server, agent, "waiting")
    found = await scopes(admin)
    holds = {scope: item["holds"] for scope, item in found.items()}
    assert holds["*"] == 3
    assert (holds["agent:refunds"], holds["agent:nested"], holds["agent:desk"]) == (2, 1, 1), "also inside another"
    assert (holds["tool:refund"], holds["tool:ask_desk"], holds["tool:deploy"]) == (2, 1, 0)
    assert found["tool:refund"]["waiting"] == 2 and found["tool:refund"]["finishing"] == 0
    assert found["tool:ask_desk"]["used_by"] == ["deployer", "desk"]
    assert all(item["known"] for item in found.values())


async def test_a_run_that_has_ended_or_is_paused_is_not_held(server: Serving, admin: Client) -> None:
    run = await started(admin, server, "refunds", "waiting")
    assert (await scopes(admin))["*"]["holds"] == 1
    await admin.post(f"runs/{run}/pause", json={})
    assert (await scopes(admin))["*"]["holds"] == 0


async def test_a_halt_says_what_it_holds_as_recorded(server: Serving, admin: Client) -> None:
    await started(admin, server, "refunds", "waiting")
    answer = (await admin.post("halts", json={"scope": "tool:refund", "reason": "odd sums"})).json()
    assert [halt["scope"] for halt in answer["items"]] == ["tool:refund"]
    assert (answer["scope"]["known"], answer["scope"]["holds"], answer["complete"]) == (True, 1, True)
    await started(admin, server, "desk", "waiting")
    found = (await scopes(admin))["*"]
    assert (found["holds"], found["more"]) == (2, 1), "one of them is held already"
    wider = (await admin.post("halts", json={"scope": "*", "reason": "it is wider"})).json()
    assert [halt["scope"] for halt in wider["items"]] == ["tool:refund", "*"] and wider["scope"]["holds"] == 2


async def test_a_name_that_nothing_has_is_halted_and_the_answer_says_that_it_is_not_known(admin: Client) -> None:
    for asked, near in (("tool:refnd", "refund"), ("agent:Nestd", "nested"), ("tool:zzzz", "")):
        before = (await scopes(admin, asked))[asked]
        answer = (await admin.post("halts", json={"scope": asked, "reason": "x"})).json()["scope"]
        assert before == answer, "the halt makes no name known"
        assert (answer["known"], answer["holds"], (*answer["near"], "")[0]) == (False, 0, near)
    assert not (await scopes(admin))["tool:refnd"]["known"], "a halt that is on is listed, and makes no name known"


async def test_an_agent_of_another_program_is_known_by_its_runs(server: Serving, admin: Client) -> None:
    run = await started(admin, server, "refunds", "waiting")
    del server.runtime.programs["refunds"]
    found = await scopes(admin, "agent:refunds")
    assert found["agent:refunds"]["known"] and found["tool:refund"]["holds"] == 1
    await admin.post(f"runs/{run}/cancel", json={})
    async with asyncio.timeout(LIMIT):
        while (await scopes(admin))["*"]["holds"]:
            await asyncio.sleep(0.005)
    assert (await scopes(admin, "agent:refunds"))["agent:refunds"]["known"], "it had a run"
