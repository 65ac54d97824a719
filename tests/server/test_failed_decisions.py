"""What was approved and failed: to everybody what they may read, page by page."""

from pathlib import Path
from typing import Any

from tests.server.world import Client

from adjourn import Agent, ToolFailed, tool
from adjourn.server import Users, serving
from adjourn.server.users import users_path
from adjourn.testing import ScriptedModel, call


@tool(effect="unsafe", policy="ask")
async def pay() -> str:
    """Pay somebody."""
    raise ToolFailed("the bank is closed")


def payer() -> Agent[str]:
    return Agent("payer", model=ScriptedModel([call("pay")], "sorry"), tools=[pay])


async def all_pages(client: Client, **query: Any) -> list[str]:
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        given = {**query, "after": after} if after else query
        answer = (await client.get("decisions/failed", params=given)).json()
        found += [item["run_id"] for item in answer["items"]]
        after = answer["after"]
    return found


async def test_a_person_sees_the_failures_after_approvals_of_the_runs_that_they_may_read(folder: Path) -> None:
    address = f"sqlite:///{folder / 'runs.db'}"
    users = Users(users_path(address))
    keys = {"": users.add("ana", "admin")}
    for tenant in ("acme", "globex"):
        keys[tenant] = users.add(f"admin of {tenant}", "admin", tenant=tenant)
    made: list[tuple[str, str]] = []
    async with serving(address, [payer()], port=0, users=users, rate=1e6) as up:
        for tenant in ("acme", "globex", "acme", "globex", "globex"):
            async with Client(up, keys[tenant]) as client:
                item = await client.waiting("payer")
                assert (await client.decide(item, "approve")).status_code == 200
                await client.until(item["run_id"], "completed")
                made.insert(0, (tenant, item["run_id"]))
        for tenant, key in keys.items():
            wanted = [run for owner, run in made if tenant in ("", owner)]
            async with Client(up, key) as client:
                for limit in (1, 2, 100):
                    assert await all_pages(client, limit=limit) == wanted
    users.close()
