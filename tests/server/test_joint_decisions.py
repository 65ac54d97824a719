"""A result in the place of a call, a question that is dropped, and one decision about several items, over HTTP."""

import asyncio
from typing import Any

from tests.server.world import Client, at

from adjourn.server import Serving, Users

People = tuple[Users, dict[str, str]]


def seen(*items: dict[str, Any]) -> list[dict[str, str]]:
    return [{"ref": item["ref"], "digest": item["digest"]} for item in items]


async def decide(client: Client, decision: str, items: list[dict[str, str]], **headers: str) -> list[dict[str, Any]]:
    body = {"decision": decision, "items": items, "note": "all alike"}
    answer = await client.post("decisions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_a_result_is_given_and_told_as_such(admin: Client) -> None:
    item = await admin.waiting("refunds")
    done = await admin.decide(item, "instead", result={"paid": "by hand"}, note="the bank is down")
    assert done.status_code == 200, done.text
    await admin.until(item["run_id"], "completed")
    shown = (await admin.get(f"interrupts/{at(item['ref'])}")).json()
    assert (shown["closed"]["why"], shown["decision"]["verdict"], shown["outcome"]["state"]) == (
        "instead",
        "instead",
        "not_run",
    )
    audit = (await admin.get("audit", params={"verb": "instead"})).json()["items"]
    assert [line["told"]["did"] for line in audit] == ["gave the result instead of"]
    again = await admin.decide(item, "approve")
    assert (again.status_code, again.json()["how"]) == (409, "instead")


async def test_a_question_is_dropped_and_told_as_such(admin: Client) -> None:
    item = await admin.waiting("desk")
    refused = await admin.decide(item, "instead", result=1)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_answer")
    assert (await admin.decide(item, "dismiss", note="not now")).status_code == 200
    shown = (await admin.get(f"interrupts/{at(item['ref'])}")).json()
    assert (shown["status"], shown["closed"]["why"], shown["decision"]["verdict"]) == (
        "decided",
        "dismiss",
        "dismissed",
    )
    approval = await admin.waiting("refunds")
    assert (await admin.decide(approval, "dismiss")).status_code == 422


async def test_several_are_decided_each_by_itself_in_their_order(admin: Client) -> None:
    one, two, three = [await admin.waiting("refunds") for _ in range(3)]
    question = await admin.waiting("desk")
    assert (await admin.decide(two, "deny")).status_code == 200
    items = seen(one, two, three, question)
    items[2]["digest"] = "0" * 64
    items.append({"ref": "nothing:1.0?0", "digest": "x"})
    done = await decide(admin, "approve", items)
    assert [x["ref"] for x in done] == [item["ref"] for item in items]
    codes = [x["refused"] and x["refused"]["code"] for x in done]
    assert codes[:3] == [None, "already_decided", "stale_decision"]
    assert codes[4] in ("unknown_run", "unknown_interrupt")
    await admin.until(one["run_id"], "completed")
    left = {item["ref"] for item in (await admin.get("inbox")).json()["items"]}
    assert three["ref"] in left and one["ref"] not in left


async def test_sent_twice_and_by_two_each_is_decided_once(server: Serving, people: People, admin: Client) -> None:
    items = [await admin.waiting("refunds") for _ in range(3)]
    twice = await asyncio.gather(*(decide(admin, "deny", seen(*items), **{"Idempotency-Key": "k"}) for _ in range(2)))
    assert [[x["refused"] for x in done] for done in twice] == [[None] * 3] * 2
    async with Client(server, people[1]["approver"]) as other:
        late = await decide(other, "approve", seen(*items))
    assert {x["refused"]["code"] for x in late} == {"already_decided"}
    for item in items:
        records = (await admin.get(f"runs/{item['run_id']}/records")).json()["items"]
        assert sum(r["record"]["t"] == "decided" for r in records) == 1


async def test_what_is_for_one_item_is_refused_for_several(admin: Client) -> None:
    item = await admin.waiting("refunds")
    for decision in ("instead", "value", "edit", ""):
        answer = await admin.post("decisions", json={"decision": decision, "items": seen(item)})
        assert answer.status_code == 422
    assert (await admin.post("decisions", json={"decision": "deny", "items": []})).status_code == 422


async def test_whoever_is_called_like_the_agent_decides_none(server: Serving, people: People, admin: Client) -> None:
    items = [await admin.waiting("refunds") for _ in range(2)]
    async with Client(server, people[0].add("refunds", "admin")) as agent:
        done = await decide(agent, "approve", seen(*items))
    assert [x["refused"]["code"] for x in done] == ["not_allowed", "not_allowed"]
    assert len((await admin.get("inbox")).json()["items"]) == 2
