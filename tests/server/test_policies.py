"""Which rules exist, over HTTP."""

from tests.server.world import Client


async def test_the_rules_of_the_agents_are_listed_with_what_came_of_them(admin: Client) -> None:
    item = await admin.waiting("refunds")
    rule = item["call"]["rule"]
    before = {(use["agent"], use["rule"]): use for use in (await admin.get("policies")).json()["rules"]}
    assert (before["refunds", rule]["open"], before["refunds", rule]["is_defined"]) == (1, True)
    await admin.decide(item, "deny")
    after = (await admin.get("policies")).json()
    [use] = [use for use in after["rules"] if (use["agent"], use["rule"]) == ("refunds", rule)]
    assert (use["asked"], use["denied"], use["open"], after["counted"]) == (1, 1, 0, 1)
    later = (await admin.get("policies", params={"since": 1e11})).json()
    assert (later["counted"], later["complete"]) == (0, True)
    assert (await admin.get("policies", params={"since": "soon"})).status_code == 422
