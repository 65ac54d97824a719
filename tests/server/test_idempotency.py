"""The same request again gives the same answer, and happens once."""

import asyncio

from tests.server.world import Client, at

from adjourn.server import Serving, Users


async def test_a_start_that_is_sent_again_is_the_same_run(admin: Client) -> None:
    body, key = {"program": "refunds", "input": "go"}, {"Idempotency-Key": "start-1"}
    answers = await asyncio.gather(*(admin.post("runs", json=body, headers=key) for _ in range(5)))
    assert len({a.json()["id"] for a in answers}) == 1
    other = await admin.post("runs", json={**body, "input": "other"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "run_exists")
    assert len((await admin.get("runs")).json()["items"]) == 1


async def test_a_decision_that_is_sent_again_gets_the_recorded_answer(admin: Client) -> None:
    item = await admin.waiting("refunds")
    path, key = f"interrupts/{at(item['ref'])}/approve", {"Idempotency-Key": "click-1"}
    first = await admin.post(path, json={"digest": item["digest"]}, headers=key)
    again = await admin.post(path, json={"digest": item["digest"]}, headers=key)
    assert (first.status_code, first.json()) == (200, again.json())
    other = await admin.post(path, json={"digest": item["digest"], "note": "x"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "request_reused")
    without = await admin.post(path, json={"digest": item["digest"]})
    assert (without.status_code, without.json()["code"]) == (409, "already_decided")


async def test_a_message_that_is_sent_again_is_said_once(admin: Client) -> None:
    run = await admin.start("talker")
    for _ in range(3):
        await admin.post(f"runs/{run}/say", json={"text": "Norway"}, headers={"Idempotency-Key": "say-1"})
    await admin.until(run, "completed")
    assert str((await admin.get(f"runs/{run}/messages")).json()).count("Norway") == 1


async def test_a_fork_that_is_sent_again_is_the_same_run(admin: Client) -> None:
    item = await admin.waiting("refunds")
    path, key = f"runs/{item['run_id']}/fork", {"Idempotency-Key": "fork-1"}
    first, again = [(await admin.post(path, json={}, headers=key)).json() for _ in range(2)]
    assert first == again
    assert len((await admin.get("runs")).json()["items"]) == 2


async def test_two_people_may_use_the_same_key(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    item, key = await admin.waiting("careful"), {"Idempotency-Key": "k"}
    async with Client(server, people[1]["lena"]) as lena, Client(server, people[1]["lars"]) as lars:
        path, body = f"interrupts/{at(item['ref'])}/approve", {"digest": item["digest"]}
        answers = [await who.post(path, json=body, headers=key) for who in (lena, lars)]
    assert [a.status_code for a in answers] == [200, 200]
    await admin.until(item["run_id"], "completed")
