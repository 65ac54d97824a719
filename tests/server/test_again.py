"""Run again over HTTP: one run for one key, only by who may control, and only of what is here."""

import asyncio

from tests.server.world import Client

from adjourn.server import Serving, Users


async def test_the_same_key_is_the_same_run_which_says_what_it_repeats(admin: Client) -> None:
    old = await admin.start("talker")
    await admin.until(old, "completed")
    key = {"Idempotency-Key": "again-1"}
    answers = await asyncio.gather(*(admin.post(f"runs/{old}/again", json={}, headers=key) for _ in range(5)))
    assert {a.status_code for a in answers} == {200}
    [new] = {a.json()["run_id"] for a in answers}
    await admin.until(new, "completed")
    assert len((await admin.get("runs")).json()["items"]) == 2
    shown = (await admin.get(f"runs/{new}")).json()
    assert (shown["again_of"], shown["input"]) == (old, (await admin.get(f"runs/{old}")).json()["input"])
    other = await admin.post(f"runs/{old}/again", json={"input": "other"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "request_reused")
    edited = (await admin.post(f"runs/{old}/again", json={"input": {"n": 1}, "labels": {"a": "b"}})).json()["run_id"]
    shown = (await admin.get(f"runs/{edited}")).json()
    assert (shown["input"], shown["labels"], shown["again_of"]) == ({"n": 1}, {"a": "b"}, old)


async def test_it_needs_the_right_to_control(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    old = await admin.start("talker")
    async with Client(server, people[1]["approver"]) as approver:
        assert (await approver.post(f"runs/{old}/again", json={})).status_code == 403
    assert (await admin.post("runs/gone/again", json={})).status_code == 404
    assert len((await admin.get("runs")).json()["items"]) == 1
