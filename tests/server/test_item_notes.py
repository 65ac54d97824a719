"""Assign, snooze and comment over HTTP: what people leave on an item, and who sees it then."""

import asyncio
from typing import Any

from tests.server.world import Client, at

from adjourn.server import Serving, Users

People = tuple[Users, dict[str, str]]
LATER = 1e11


async def leave(client: Client, item: dict[str, Any], verb: str, **body: Any) -> Any:
    return await client.post(f"interrupts/{at(item['ref'])}/{verb}", json=body)


async def listed(client: Client, **query: str) -> list[str]:
    return [item["ref"] for item in (await client.get("inbox", params=query)).json()["items"]]


async def test_an_item_is_given_to_a_person_or_a_group_that_may_decide(server: Serving, people: People) -> None:
    users, keys = people
    async with Client(server, users.add("ana", "admin")) as ana:
        item, other = await ana.waiting("refunds"), await ana.waiting("refunds")
        known = (await ana.get("deciders")).json()
        assert "lena" in known["people"] and "leads" in known["groups"] and "viewer-person" not in known["people"]
        unknown = await leave(ana, item, "assign", to="group:nobody")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
        done = await leave(ana, item, "assign", to="group:leads")
        assert done.json() == {"assigned_to": "group:leads", "snoozed_until": None}
        async with Client(server, keys["lena"]) as lena:
            assert await listed(lena, assigned="me") == [item["ref"]]
            assert set(await listed(lena, mine="true")) == {item["ref"], other["ref"]}
            [shown, _] = (await lena.get("inbox")).json()["items"]
            assert shown["assigned_to"] == "group:leads"
        assert await listed(ana, assigned="me") == []
        assert await listed(ana, mine="true") == [other["ref"]]
        assert (await ana.get(f"interrupts/{at(item['ref'])}")).json()["assigned_to"] == "group:leads"


async def test_a_snoozed_item_is_hidden_from_one_and_can_be_decided_by_all(server: Serving, people: People) -> None:
    users, _ = people
    async with Client(server, users.add("ana", "admin")) as ana, Client(server, users.add("ben", "approver")) as ben:
        item = await ana.waiting("refunds")
        done = await leave(ana, item, "snooze", until=LATER)
        assert done.json()["snoozed_until"] == LATER
        assert (await listed(ana), await listed(ana, snoozed="true")) == ([], [item["ref"]])
        assert await listed(ben) == [item["ref"]]
        [hidden] = (await ana.get("inbox", params={"snoozed": "true"})).json()["items"]
        assert (hidden["snoozed_until"], hidden["digest"]) == (LATER, item["digest"])
        assert (await leave(ana, item, "snooze", until=0)).json()["snoozed_until"] is None
        assert await listed(ana) == [item["ref"]]
        past = await leave(ana, item, "snooze", until=1)
        assert past.status_code == 422
        assert (await ben.decide(item, "deny")).status_code == 200
        assert (await leave(ana, item, "snooze", until=LATER)).status_code == 409


async def test_comments_are_a_thread_with_authors_and_lines_of_the_audit(server: Serving, people: People) -> None:
    users, _ = people
    async with Client(server, users.add("ana", "admin")) as ana, Client(server, users.add("ben", "approver")) as ben:
        item = await ana.waiting("refunds")
        said = [leave(ana, item, "comment", text="are there photos?"), leave(ben, item, "comment", text="I asked")]
        assert [answer.status_code for answer in await asyncio.gather(*said)] == [200, 200]
        shown = (await ana.get(f"interrupts/{at(item['ref'])}")).json()
        assert {(note["by"], note["text"]) for note in shown["notes"]} == {
            ("ana", "are there photos?"),
            ("ben", "I asked"),
        }
        assert (shown["digest"], shown["attempts"]) == (item["digest"], [])
        lines = (await ana.get("audit", params={"verb": "comment", "by": "ben"})).json()["items"]
        assert [line["told"]["did"] for line in lines] == ["commented on"]
        assert [line["note"] for line in lines] == ["I asked"]
        assert (await ana.decide(item, "approve")).status_code == 200
        assert (await leave(ben, item, "comment", text="good")).status_code == 200


async def test_two_who_assign_at_once_are_both_recorded_and_the_last_counts(server: Serving, people: People) -> None:
    users, _ = people
    async with Client(server, users.add("ana", "admin")) as ana, Client(server, users.add("ben", "approver")) as ben:
        item = await ana.waiting("refunds")
        await asyncio.gather(leave(ana, item, "assign", to="ben"), leave(ben, item, "assign", to="ana"))
        shown = (await ana.get(f"interrupts/{at(item['ref'])}")).json()
        assert sorted(note["to"] for note in shown["notes"]) == ["ana", "ben"]
        assert shown["assigned_to"] == shown["notes"][-1]["to"]
        [line] = (await ana.get("inbox")).json()["items"]
        assert line["assigned_to"] == shown["assigned_to"]


async def test_who_watches_is_told_to_look_again(server: Serving, people: People) -> None:
    users, _ = people
    async with Client(server, users.add("ana", "admin")) as ana:
        item = await ana.waiting("refunds")
        async with ana.events("inbox/events") as events:
            await events.until(lambda event: event.kind == "inbox")
            await leave(ana, item, "comment", text="look")
            [*_, change] = await events.until(lambda event: event.kind == "changed")
            assert [run["run_id"] for run in change.data["runs"]] == [item["run_id"]]
