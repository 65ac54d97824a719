"""Many failures at once over HTTP: what is like one, who may, and what comes of each."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.server.world import Client, at

from adjourn import Agent
from adjourn.server import Serving, Users, serving
from adjourn.testing.scripted import ScriptedModel, call


async def failures(admin: Client, count: int) -> list[dict[str, Any]]:
    return [await admin.waiting("failing") for _ in range(count)]


async def alike(client: Client, item: dict[str, Any]) -> dict[str, Any]:
    answer = await client.get(f"interrupts/{at(item['ref'])}/alike")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def retry(client: Client, item: dict[str, Any], until: float, **headers: str) -> Any:
    body = {"digest": item["digest"], "until": until, "note": "it is back"}
    return await client.post(f"interrupts/{at(item['ref'])}/retry-all", json=body, headers=headers)


async def test_all_that_failed_alike_are_tried_again(admin: Client) -> None:
    one, two, three = await failures(admin, 3)
    approval, question = await admin.waiting("refunds"), await admin.waiting("desk")
    seen = await alike(admin, two)
    assert seen["refs"] == [two["ref"], one["ref"], three["ref"]]
    done = await retry(admin, two, seen["until"])
    assert done.status_code == 200, done.text
    assert [(x["ref"], x["refused"]) for x in done.json()["items"]] == [(ref, None) for ref in seen["refs"]]
    for item in (one, two, three):
        await admin.until(item["run_id"], "completed")
        [line] = [x for x in (await admin.get(f"runs/{item['run_id']}/audit")).json()["items"] if x["verb"] == "answer"]
        assert (line["by"], line["note"]) == ("ana", "it is back")
    left = {i["ref"] for i in (await admin.get("inbox")).json()["items"]}
    assert left == {approval["ref"], question["ref"]}


async def test_what_failed_after_the_look_is_not_decided_by_it(admin: Client) -> None:
    [one] = await failures(admin, 1)
    seen = await alike(admin, one)
    [late] = await failures(admin, 1)
    assert late["opened_at"] > seen["until"]
    done = await retry(admin, one, seen["until"])
    assert [x["ref"] for x in done.json()["items"]] == [one["ref"]]
    assert (await admin.get(f"interrupts/{at(late['ref'])}")).json()["status"] == "open"


async def test_approvals_questions_and_calls_in_doubt_are_like_nothing(admin: Client) -> None:
    for program in ("refunds", "desk"):
        item = await admin.waiting(program)
        await admin.waiting(program)
        assert (await alike(admin, item))["refs"] == []
        refused = await retry(admin, item, 1e12)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_answer")
        assert (await admin.get(f"interrupts/{at(item['ref'])}")).json()["status"] == "open"


async def test_two_clicks_and_a_repeated_request_decide_once(admin: Client) -> None:
    one, two = await failures(admin, 2)
    until = (await alike(admin, one))["until"]
    answers = await asyncio.gather(*(retry(admin, one, until, **{"Idempotency-Key": "k"}) for _ in range(2)))
    assert [a.status_code for a in answers] == [200, 200]
    refs = {x["ref"] for x in answers[0].json()["items"]}
    assert refs == {one["ref"], two["ref"]}
    for item in (one, two):
        await admin.until(item["run_id"], "completed")
        records = (await admin.get(f"runs/{item['run_id']}/records")).json()["items"]
        assert sum(r["record"]["t"] == "decided" for r in records) == 1
    again = (await retry(admin, one, until, **{"Idempotency-Key": "k"})).json()["items"]
    assert [(x["ref"], x["refused"]) for x in again] == [(one["ref"], None)]


async def test_of_two_people_one_wins_each_and_the_other_is_told(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    items = await failures(admin, 4)
    until = (await alike(admin, items[0]))["until"]
    async with Client(server, people[1]["approver"]) as other:
        mine, theirs = await asyncio.gather(retry(admin, items[0], until), retry(other, items[-1], until))
    found = [*mine.json()["items"], *theirs.json()["items"]]
    assert sorted(x["ref"] for x in found if x["seq"]) == sorted(i["ref"] for i in items)
    assert {x["refused"]["code"] for x in found if x["refused"]} <= {"already_decided"}
    for item in items:
        await admin.until(item["run_id"], "completed")


async def test_a_stale_look_decides_nothing(admin: Client) -> None:
    one, _ = await failures(admin, 2)
    refused = await retry(admin, {**one, "digest": "0" * 64}, 1e12)
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_decision")
    assert len((await admin.get("inbox")).json()["items"]) == 2


async def test_whoever_is_called_like_the_agent_retries_none(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    one, _ = await failures(admin, 2)
    async with Client(server, people[0].add("failing", "admin")) as agent:
        refused = await retry(agent, one, 1e12)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert len((await admin.get("inbox")).json()["items"]) == 2


async def test_a_halt_refuses_each_and_says_so(admin: Client) -> None:
    one, _ = await failures(admin, 2)
    await admin.post("halts", json={"scope": "agent:failing", "reason": "not now"})
    done = (await retry(admin, one, 1e12)).json()["items"]
    assert [x["refused"]["code"] for x in done] == ["halted", "halted"]


def chief() -> Agent[Any]:
    """It has asked its clerk before its model fails; told to be brief, it fails at once."""

    def reply(messages: Sequence[Any]) -> Any:
        if len(messages) == 1 and messages[0].text != "be brief":
            return [call("clerk", input="please")]
        raise ValueError("no such model")

    clerk = Agent("clerk", model=ScriptedModel("of course"))
    return Agent("chief", model=ScriptedModel(reply, reply), tools=[clerk.as_tool()], retries=1)


async def test_whoever_is_called_like_an_agent_inside_any_of_them_retries_none() -> None:
    users = Users()
    key = users.add("clerk", "admin")
    async with (
        serving("memory://", [chief()], port=0, token=True, users=users) as up,
        Client(up, up.token) as admin,
        Client(up, key) as clerk,
    ):
        alone, with_clerk = await admin.waiting("chief", input="be brief"), await admin.waiting("chief")
        assert (await alike(admin, alone))["refs"] == [alone["ref"], with_clerk["ref"]]
        refused = await retry(clerk, alone, 1e12)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        assert len((await admin.get("inbox")).json()["items"]) == 2
    users.close()
