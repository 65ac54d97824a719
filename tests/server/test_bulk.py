"""Commands to many runs over HTTP: named or found, who may, and what came of each."""

from typing import Any

from tests.server.world import Client

from adjourn.server import Serving, Users


async def bulk(client: Client, verb: str, **body: Any) -> Any:
    if verb == "deny":
        return await client.post("runs/deny-all", json=body)
    return await client.post("runs/bulk", json={"verb": verb, **body})


async def test_runs_that_are_named_answer_one_by_one(admin: Client) -> None:
    one, two = (await admin.waiting("refunds"))["run_id"], (await admin.waiting("desk"))["run_id"]
    over = await admin.start("talker")
    await admin.until(over, "completed")
    done = await bulk(admin, "cancel", runs=[one, over, two, "gone"], note="spilled")
    assert done.status_code == 200, done.text
    found = [(item["run_id"], item["refused"] and item["refused"]["code"]) for item in done.json()["items"]]
    assert found == [(one, None), (over, "refused"), (two, None), ("gone", "unknown_run")]
    for run in (one, two):
        await admin.until(run, "cancelled")
        lines = (await admin.get(f"runs/{run}/audit")).json()["items"]
        assert [(x["by"], x["reason"]) for x in lines if x["verb"] == "cancel"] == [("ana", "spilled")]


async def test_runs_that_a_filter_finds_are_looked_at_before_they_are_denied(admin: Client) -> None:
    items = [await admin.waiting("refunds") for _ in range(2)]
    other = await admin.waiting("desk")
    runs = [item["run_id"] for item in items][::-1]
    where = {"status": "waiting", "search": "tool:refund"}
    seen = (await bulk(admin, "cancel", where=where, dry_run=True)).json()
    assert [item["run_id"] for item in seen["items"]] == runs and not seen["more"]
    assert all(item["preview"]["undone"] == 0 and item["status"] == "waiting" for item in seen["items"])
    done = (await bulk(admin, "deny", where=where, note="not this week")).json()["items"]
    assert [(item["run_id"], item["refused"]) for item in done] == [(run, None) for run in runs]
    for run in runs:
        await admin.until(run, "completed")
    assert [i["ref"] for i in (await admin.get("inbox")).json()["items"]] == [other["ref"]]


async def test_a_key_goes_with_runs_that_are_named_because_a_filter_may_find_others_later(admin: Client) -> None:
    first = (await admin.waiting("refunds"))["run_id"]
    key = {"Idempotency-Key": "k1"}
    for path, body in (("bulk", {"verb": "cancel"}), ("bulk", {"verb": "pause"}), ("deny-all", {})):
        refused = await admin.post(f"runs/{path}", json={**body, "where": {"agent": "refunds"}}, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid"), refused.text
        assert "dry_run" in refused.json()["advice"] and "runs" in refused.json()["advice"]
    where = {"verb": "cancel", "where": {"agent": "refunds"}, "dry_run": True}
    seen = (await admin.post("runs/bulk", json=where, headers=key)).json()["items"]
    assert [item["run_id"] for item in seen] == [first]
    later = (await admin.waiting("refunds"))["run_id"]
    for _ in range(2):
        done = await admin.post("runs/bulk", json={"verb": "cancel", "runs": [first]}, headers=key)
        assert [(item["run_id"], item["refused"]) for item in done.json()["items"]] == [(first, None)]
    await admin.until(first, "cancelled")
    assert (await admin.get(f"runs/{later}/status")).json()["status"] == "waiting"


async def test_it_is_said_which_runs_and_neither_nothing_nor_both(admin: Client) -> None:
    bodies: list[dict[str, Any]] = [{}, {"where": {}}, {"runs": []}, {"runs": ["a"], "where": {"agent": "desk"}}]
    for body in bodies:
        refused = await bulk(admin, "cancel", **body)
        assert refused.status_code in (400, 422), (body, refused.text)
    assert (await bulk(admin, "erase", runs=["a"])).status_code in (400, 422)


async def test_an_agent_denies_none_of_its_own_calls(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    item = await admin.waiting("refunds")
    async with Client(server, people[0].add("refunds", "admin")) as agent:
        refused = await bulk(agent, "deny", runs=[item["run_id"]])
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    async with Client(server, people[1]["operator"]) as operator:
        assert (await bulk(operator, "deny", runs=[item["run_id"]])).status_code == 403
        assert (await bulk(operator, "pause", runs=[item["run_id"]])).status_code == 200
    assert (await admin.get("inbox")).json()["items"][0]["ref"] == item["ref"]
    async with Client(server, people[1]["approver"]) as approver:
        assert (await bulk(approver, "cancel", runs=[item["run_id"]])).status_code == 403
        assert (await bulk(approver, "deny", runs=[item["run_id"]])).json()["items"][0]["refused"] is None
