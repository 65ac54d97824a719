"""Lists: pages that neither repeat nor lose anything, and every filter."""

from typing import Any

import pytest
from tests.server.world import Client

from adjourn.server import Serving, Users
from adjourn.server.api.audit import AUDITED, wanted_lines
from adjourn.stores.audit import AuditFilter


async def pages(client: Client, path: str, **params: Any) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []
    after: dict[str, str] = {}
    while True:
        page = (await client.get(path, params={**params, **after})).json()
        found.append(page["items"])
        if page["after"] is None:
            return found
        after = {"after": page["after"]}


async def ids(client: Client, path: str, **params: Any) -> list[str]:
    return [x.get("ref") or x["run_id"] for page in await pages(client, path, **params) for x in page]


async def test_pages_of_runs_are_whole_and_in_order(admin: Client) -> None:
    made = [await admin.start("desk", run_id=f"r{n:02}") for n in range(23)]
    found = await pages(admin, "runs", limit=5)
    assert [len(p) for p in found] == [5, 5, 5, 5, 3]
    assert [r["run_id"] for p in found for r in p] == made[::-1]
    assert [len(p) for p in await pages(admin, "runs", limit=23)] == [23, 0]


async def test_pages_of_the_inbox_are_whole_although_given_ids_are_equal(admin: Client) -> None:
    made = [(await admin.waiting("desk"))["ref"] for _ in range(7)]
    assert await ids(admin, "inbox", limit=2) == made


async def test_pages_of_a_journal(admin: Client) -> None:
    run = await admin.start("chatty")
    last = (await admin.until(run, "completed"))["seq"]
    found = await pages(admin, f"runs/{run}/records", limit=50)
    assert [x["seq"] for p in found for x in p] == list(range(1, last + 1))


async def test_runs_by_status_agent_session_label_text_and_time(admin: Client) -> None:
    one = await admin.start("desk", run_id="one", session="s1", labels={"team": "eu"}, input="Find Suppliers in Norway")
    await admin.until(one, "waiting")
    two = await admin.start("talker", run_id="two", labels={"team": "us=1"}, input="other")
    await admin.until(two, "completed")
    born = (
        (await admin.get("runs/one/status")).json()["created_at"],
        (await admin.get("runs/two/status")).json()["created_at"],
    )
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({"status": "waiting"}, ["one"]), ({"status": "completed"}, ["two"]), ({"status": "failed"}, []), ({"agent": "talker"}, ["two"]),
        ({"session": "s1"}, ["one"]), ({"label": "team=eu"}, ["one"]), ({"label": "team=us=1"}, ["two"]), ({"text": "norway"}, ["one"]),
        ({"text": "tw"}, ["two"]), ({"since": born[1]}, ["two"]), ({"until": born[0]}, ["one"]),
        ({"status": "waiting", "agent": "talker"}, []),
    ]  # fmt: skip
    for params, found in wanted:
        assert (params, await ids(admin, "runs", **params)) == (params, found)


async def test_the_inbox_by_kind_agent_run_group_text_and_time(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    desk = await admin.waiting("desk", input="about Norway", session="s1", labels={"team": "eu"})
    refund = await admin.waiting("refunds")
    careful = await admin.waiting("careful")
    d, r, c = desk["ref"], refund["ref"], careful["ref"]
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [d, r, c]), ({"kind": "question"}, [d]), ({"kind": "approval"}, [r, c]), ({"kind": "limit"}, []), ({"agent": "refunds"}, [r]),
        ({"run_id": careful["run_id"]}, [c]), ({"session": "s1"}, [d]), ({"label": "team=eu"}, [d]), ({"group": "leads"}, [c]),
        ({"group": "nobody"}, []), ({"mine": "true"}, [d, r]), ({"mine": "false"}, [d, r, c]), ({"text": "NORWAY"}, [d]),
        ({"text": "deploy"}, [c]),
        ({"since": careful["opened_at"]}, [c]), ({"until": desk["opened_at"]}, [d]), ({"text": "refund", "kind": "question"}, []),
    ]  # fmt: skip
    for params, found in wanted:
        assert (params, await ids(admin, "inbox", **params)) == (params, found)
        assert (params, await ids(admin, "inbox", limit=1, **params)) == (params, found)
    async with Client(server, people[1]["lena"]) as lena:
        assert await ids(lena, "inbox", mine="true") == [d, r, c]


async def test_runs_are_searched_page_by_page_and_a_wrong_key_is_named(admin: Client) -> None:
    for n in range(5):
        await admin.until(await admin.start("talker", run_id=f"r{n}", input=f"walnut {n % 2}"), "completed")
    assert await ids(admin, "runs", search="walnut", limit=2) == ["r4", "r3", "r2", "r1", "r0"]
    assert await ids(admin, "runs", search='"walnut 1" agent:talker', status="completed") == ["r3", "r1"]
    assert (
        await ids(admin, "runs", search="walnut hazel") == await ids(admin, "runs", search="walnut", agent="desk") == []
    )
    refused = await admin.get("runs", params={"search": "costt:>1"})
    assert refused.status_code == 422 and "did you mean 'cost'" in refused.text


async def test_whoever_may_not_read_finds_nothing(server: Serving, admin: Client) -> None:
    await admin.until(await admin.start("talker", input="walnut"), "completed")
    async with Client(server, "no-such-key") as stranger:
        refused = await stranger.get("runs", params={"search": "walnut"})
        assert refused.status_code == 401 and "walnut" not in refused.text


@pytest.mark.parametrize("name", sorted({*AUDITED} - {"after", "limit", "security"}))
def test_whatever_the_audit_may_be_filtered_by_does_filter_it(name: str) -> None:
    value: Any = {"boolean": True, "number": 5.0}.get(str(AUDITED[name].get("type")), "x")
    assert wanted_lines({name: value}) != AuditFilter()
