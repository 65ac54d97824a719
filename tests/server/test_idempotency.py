"""The same request again gives the same answer, and happens once."""

import asyncio
from typing import Any

import pytest
from tests.server.world import Client, at, programs

from adjourn.server import Serving, Users, serving


async def test_a_start_that_is_sent_again_is_the_same_run(admin: Client) -> None:
    body, key = {"agent": "refunds", "input": "go"}, {"Idempotency-Key": "start-1"}
    answers = await asyncio.gather(*(admin.post("runs", json=body, headers=key) for _ in range(5)))
    assert len({a.json()["run_id"] for a in answers}) == 1
    other = await admin.post("runs", json={**body, "input": "other"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "request_reused")
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


STARTS: list[tuple[str, dict[str, Any]]] = [
    ("runs", {"agent": "desk", "input": "go"}), ("runs", {"agent": "desk", "input": "go", "labels": {"team": "eu"}}),
    ("runs", {"agent": "desk", "input": "go", "session": "s"}), ("runs", {"agent": "desk", "input": "go", "priority": 3}),
    ("runs", {"agent": "desk", "input": "go", "session": "s", "queue": "session"}), ("runs", {"agent": "desk", "input": "no"}),
    ("runs", {"agent": "desk", "input": "go", "after": "{run}"}), ("runs", {"agent": "refunds", "input": "go"}),
    ("runs/{run}/fork", {}), ("runs/{run}/fork", {"at": 1}), ("runs/{run}/fork", {"instruction": "be brief"}),
    ("runs/{run}/fork", {"answers": "keep"}), ("runs/{run}/fork", {"input": "no"}), ("runs/{other}/fork", {}),
    ("runs/{run}/again", {}), ("runs/{run}/again", {"labels": {"team": "eu"}}), ("runs/{run}/again", {"same_session": True}),
    ("runs/{run}/again", {"input": "no"}), ("runs/{other}/again", {}),
]  # fmt: skip


@pytest.mark.parametrize("first", [0, 8, 14])
async def test_whatever_else_is_asked_with_the_key_of_a_run_that_began_is_refused(admin: Client, first: int) -> None:
    """Somebody who takes the run that began for the one that they asked for would act on the wrong one."""
    places = {name: await admin.start("talker") for name in ("run", "other")}
    for run in places.values():
        await admin.until(run, "completed")

    async def send(path: str, body: dict[str, Any]) -> Any:
        filled = {name: places["run"] if said == "{run}" else said for name, said in body.items()}
        if filled.get("after"):
            filled["agent"] = "talker"
        return await admin.post(path.format(**places), json=filled, headers={"Idempotency-Key": "k"})

    began = await send(*STARTS[first])
    assert began.status_code == 200, began.text
    count = len((await admin.get("runs")).json()["items"])
    for place, other in enumerate(STARTS):
        answer = await send(*other)
        if place == first:
            assert answer.json() == began.json()
        else:
            assert (answer.status_code, answer.json()["code"]) == (409, "request_reused"), other
    assert len((await admin.get("runs")).json()["items"]) == count


async def test_two_people_may_use_the_same_key(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    item, key = await admin.waiting("careful"), {"Idempotency-Key": "k"}
    async with Client(server, people[1]["lena"]) as lena, Client(server, people[1]["lars"]) as lars:
        path, body = f"interrupts/{at(item['ref'])}/approve", {"digest": item["digest"]}
        answers = [await who.post(path, json=body, headers=key) for who in (lena, lars)]
    assert [a.status_code for a in answers] == [200, 200]
    await admin.until(item["run_id"], "completed")


@pytest.mark.parametrize(("program", "verb", "body", "other"), [
    ("desk", "pause", {"reason": "x"}, {"reason": "y"}), ("desk", "cancel", {"reason": "x"}, {"reason": "y"}),
    ("desk", "say", {"text": "x"}, {"text": "y"}), ("approval", "emit", {"event": "x", "value": 1}, {"event": "x", "value": 2}),
])  # fmt: skip
async def test_what_is_done_to_a_run_happens_once(
    admin: Client, program: str, verb: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    run = (await admin.waiting(program))["run_id"]
    key = {"Idempotency-Key": "once"}
    answers = await asyncio.gather(*(admin.post(f"runs/{run}/{verb}", json=body, headers=key) for _ in range(5)))
    assert [a.status_code for a in answers] == [200] * 5
    assert len({a.text for a in answers}) == 1
    tags = {"pause": "pause_asked", "cancel": "cancel_asked", "say": "said", "emit": "emitted"}
    records = (await admin.get(f"runs/{run}/records")).json()["items"]
    assert [x["record"]["t"] for x in records].count(tags[verb]) == 1
    reused = await admin.post(f"runs/{run}/{verb}", json=other, headers=key)
    assert (reused.status_code, reused.json()["code"]) == (409, "request_reused")


@pytest.mark.parametrize(("program", "verb", "body"), [
    ("refunds", "approve", {"edit": {"order": "A1", "cents": 1}}), ("refunds", "deny", {"note": "no"}),
    ("desk", "answer", {"value": {"ok": 1}}),
])  # fmt: skip
async def test_every_decision_may_be_sent_again(admin: Client, program: str, verb: str, body: dict[str, Any]) -> None:
    item = await admin.waiting(program)
    path, key = f"interrupts/{at(item['ref'])}/{verb}", {"Idempotency-Key": "k"}
    first = await admin.post(path, json={"digest": item["digest"], **body}, headers=key)
    await admin.until(item["run_id"], "completed")
    again = await admin.post(path, json={"digest": item["digest"], **body}, headers=key)
    assert (first.status_code, first.json()) == (again.status_code, again.json()) == (200, {"seq": first.json()["seq"]})


@pytest.mark.parametrize(("verb", "body", "other"), [
    ("comment", {"text": "is it paid?"}, {"text": "it is"}), ("assign", {"to": "lena"}, {"to": "lars"}),
    ("snooze", {"until": 1e11}, {"until": 0}),
])  # fmt: skip
async def test_what_is_left_on_an_item_is_left_once(
    admin: Client, verb: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    item = await admin.waiting("refunds")
    path, key = f"interrupts/{at(item['ref'])}/{verb}", {"Idempotency-Key": "once"}
    answers = await asyncio.gather(*(admin.post(path, json=body, headers=key) for _ in range(5)))
    assert [a.status_code for a in answers] == [200] * 5
    lines = (await admin.get(f"runs/{item['run_id']}/audit")).json()["items"]
    assert [line["verb"] for line in lines].count(verb) == 1
    reused = await admin.post(path, json=other, headers=key)
    assert (reused.status_code, reused.json()["code"]) == (409, "request_reused")


async def test_a_chapter_is_begun_once(admin: Client) -> None:
    run = (await admin.waiting("refunds"))["run_id"]
    key = {"Idempotency-Key": "once"}
    answers = [await admin.post(f"runs/{run}/chapter", json={"reason": "long"}, headers=key) for _ in range(2)]
    assert [(a.status_code, a.json()) for a in answers] == [(200, answers[0].json())] * 2


async def test_a_request_is_remembered_by_another_server(address: str) -> None:
    key = {"Idempotency-Key": "k"}
    async with serving(address, programs(), port=0, name="ana") as one, Client(one, one.token) as client:
        item = await client.waiting("refunds")
        path, body = f"interrupts/{at(item['ref'])}/approve", {"digest": item["digest"]}
        first = await client.post(path, json=body, headers=key)
    async with serving(address, programs(), port=0, name="ana") as two, Client(two, two.token) as client:
        assert (await client.post(path, json=body, headers=key)).json() == first.json()


@pytest.mark.parametrize("key", ["x" * 201, "caf\u00e9", "a\tb"])
async def test_a_key_that_is_no_key_is_refused_and_nothing_is_done(admin: Client, key: str) -> None:
    item = await admin.waiting("refunds")
    headers = [(b"Idempotency-Key", key.encode("latin-1"))]
    answer = await admin.post(f"runs/{item['run_id']}/cancel", json={}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert (await admin.get(f"runs/{item['run_id']}/status")).json()["status"] == "waiting"
