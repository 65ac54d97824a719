"""Rights on some runs, over HTTP: who has no right on a run learns nothing of it from any operation."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.place import Place, a_place, told
from tests.server.world import Client, Events, at

from adjourn.server import Users, sse
from adjourn.server.api import failed_decisions
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.api_request import Operation
from adjourn.server.front_ends.endpoints import FRONT_ENDS

LIMIT = float(os.environ.get("ADJOURN_TEST_LIMIT", "60"))
FAKE = "AAAA-BBBB-CCCC-DDDD-EEEE"
SOME = {
    "command_runs", "decide_all", "deny_runs", "get_audit_place", "list_audit", "list_failed", "list_glances", "list_halts", "list_inbox",
    "list_programs", "list_runs", "start_run", "watch_all", "watch_inbox",
}  # fmt: skip
"""What is made for callers who have rights on some runs only. An operation that is added here shows and changes nothing else."""
OWN = {
    "add_own_browser", "change_own_notifications", "end_other_sessions", "end_session", "list_own_notifications",
    "list_sessions", "log_out", "push_key", "remove_own_notifications", "try_own_notifications", "who_am_i",
}  # fmt: skip
OUTSIDERS: dict[str, dict[str, Any]] = {
    "another agent's": {"role": "none", "grants": ["admin of agent:talker"]},
    "another team's": {"role": "none", "grants": ["admin of agent:refunds where team=us", "admin where team=us"]},
    "another tenant's": {"role": "admin", "tenant": "acme"},
    "another session's": {"role": "operator", "session": "chat-9"},
    "of no role": {"role": "none"},
}
ELSEWHERE = ("/healthz", "/readyz", "/api/v1/openapi.json", "/", "/webhooks/openai", "/login", f"/runs/{FAKE}")
"""What stands in no table of operations."""
NEVER_DECIDE = ("another session's", "of no role")
THREAD, NO_THREAD, NO_MESSAGES = "thread-of-others", "thread-of-nobody", '{"messages":[]}'


STORES = ("sqlite", "postgres")


@pytest.fixture
async def place(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    address = ""
    if getattr(request, "param", "sqlite") == "postgres":
        address = request.getfixturevalue("postgres").fresh()
    async with a_place(folder, monkeypatch, address) as found:
        yield found


def person(place: Place, **rights: Any) -> Client:
    """Somebody with these rights; an end user, if a session is named."""
    users = place.serving.guard.users
    name, role = f"person {len(users.all())}", rights.pop("role", "none")
    if session := rights.pop("session", ""):
        return Client(place.serving, users.session_key(session, role))
    return Client(place.serving, users.add(name, role, **rights))


def ids(place: Place) -> list[str]:
    return [place.item["run_id"], place.question["run_id"], place.failure["run_id"]]


def with_fakes(place: Place, text: str) -> str:
    """The same words about a run that is not there."""
    for run in ids(place):
        text = text.replace(run, FAKE)
    return text


def plain(text: str) -> str:
    """Without numbers: times and the ids of events."""
    return re.sub(r"[0-9a-f]+-[0-9]+|[0-9.]+", "", text)


async def asked(client: Client, place: Place, operation: Operation, *, fake: bool) -> tuple[int, str]:
    path, body = place.path(operation), json.dumps(place.body(operation))
    if fake:
        path, body = with_fakes(place, path), with_fakes(place, body)
    answer = await client.request(operation.method, path, json=json.loads(body))
    return answer.status_code, with_fakes(place, answer.text)


def test_what_is_for_some_rights_is_listed() -> None:
    assert {o.name for o in OPERATIONS if o.reach == "some"} == SOME
    assert {o.name for o in OPERATIONS if o.reach == "own"} == OWN


@pytest.mark.parametrize("place", STORES, indirect=True)
async def test_a_run_without_the_right_is_like_one_that_is_not_there(place: Place) -> None:
    await place.admin.until(await place.admin.start("refunds", session=THREAD), "waiting")
    await told(place.admin, 4)
    for who in OUTSIDERS:
        await _every_operation(place, who)
        await _every_list(place, who)
        await _every_thread(place, who)


async def _every_operation(place: Place, who: str) -> None:
    """For every operation: the same answer as for an id that nobody has; what is of everything is refused; and no row
    changes."""
    async with person(place, **OUTSIDERS[who]) as client:
        before = place.rows()
        for operation in OPERATIONS:
            if operation.reach == "own" or operation.name in ("log_in", "start_run"):
                continue
            found = await asked(client, place, operation, fake=False)
            if operation.reach == "run":
                assert found[0] == 404 or (found[0] == 403 and who in NEVER_DECIDE), (operation.name, found)
                assert found == await asked(client, place, operation, fake=True), operation.name
            elif operation.reach == "all":
                assert found[0] == 403, (operation.name, found)
            else:
                assert FAKE not in found[1] or operation.body is not None, (operation.name, found)
        assert place.rows() == before


def spoken(operation: Operation, thread: str) -> tuple[str, dict[str, Any]]:
    """What a front end asks about a thread."""
    path = operation.path.replace("{agent}", "refunds").replace("{chat}", thread)
    said = {"id": "m1", "role": "user", "content": "what did I say?", "parts": [{"type": "text", "text": "what?"}]}
    return path, {"id": thread, "threadId": thread, "runId": "r1", "messages": [said]}


async def _every_thread(place: Place, who: str) -> None:
    """A front end shows and continues none of it."""
    async with person(place, **OUTSIDERS[who]) as client:
        before = place.rows()
        root = str(client.base_url).removesuffix("/api/v1/")
        for operation in FRONT_ENDS:
            answers: list[tuple[int, str]] = []
            for thread in (THREAD, NO_THREAD):
                path, body = spoken(operation, thread)
                if thread == NO_THREAD and path.endswith("/refunds"):
                    continue  # this would begin one
                answer = await client.request(operation.method, f"{root}{path}", json=body)
                answers.append((answer.status_code, answer.text.replace(THREAD, NO_THREAD)))
            assert answers[0][0] in (204, 403, 404) or answers[0][1] == NO_MESSAGES, (operation.path, answers)
            assert len(set(answers)) == 1, (operation.path, answers)
        assert place.rows() == before


async def _every_list(place: Place, who: str) -> None:
    """No list, count, stream or search says anything of it."""
    run = place.item["run_id"]
    async with person(place, **OUTSIDERS[who]) as client:
        for path in (
            "runs", "runs?search=refund", f"runs?text={run}", "runs?status=waiting", "inbox", "inbox?mine=true", f"inbox?run_id={run}",
            f"glances?runs={run}", "audit", f"audit?run_id={run}", "inbox/events?follow=false", f"events?follow=false&runs={run}",
            f"audit/place?run_id={run}&number=1", "audit/place?number=1", "halts", f"runs/{run[:6]}", "workers", "halts/scopes",
        ):  # fmt: skip
            answer, unknown = await client.get(path), await client.get(path.replace(run, FAKE))
            assert answer.status_code == unknown.status_code
            if answer.status_code == 200 and not path.startswith("events"):
                assert run not in answer.text and "refund" not in answer.text, (path, answer.text)
            else:
                assert plain(answer.text.replace(run, FAKE)) == plain(unknown.text), path
        found = await client.post("runs/bulk", json={"verb": "cancel", "where": {"agent": "refunds"}})
        assert found.status_code == 403 or found.json()["items"] == []
        root = str(client.base_url).removesuffix("/api/v1/")
        metrics = await client.get(f"{root}/metrics")
        assert metrics.status_code == 403
        for path in ELSEWHERE:
            answer = await client.get(f"{root}{path}")
            assert run not in answer.text and place.item["ref"] not in answer.text, path


async def test_who_was_granted_an_agent_sees_and_decides_its_runs_and_no_others(place: Place) -> None:
    own, other = place.item, place.question
    async with person(place, role="none", grants=["approver of agent:refunds"]) as client:
        assert [run["run_id"] for run in (await client.get("runs")).json()["items"]] == [own["run_id"]]
        assert [item["ref"] for item in (await client.get("inbox")).json()["items"]] == [own["ref"]]
        assert [one["name"] for one in (await client.get("programs")).json()["items"]] == ["refunds"]
        both = f"glances?runs={own['run_id']},{other['run_id']}"
        assert [run["run_id"] for run in (await client.get(both)).json()["items"]] == [own["run_id"]]
        assert {line["run_id"] for line in (await client.get("audit")).json()["items"]} == {own["run_id"]}
        assert (await client.get(f"runs/{own['run_id']}")).status_code == 200
        refused = await client.post(f"runs/{own['run_id']}/cancel", json={})
        assert refused.status_code == 403
        items = [{"ref": one["ref"], "digest": one["digest"]} for one in (other, own)]
        done = (await client.post("decisions", json={"decision": "approve", "items": items})).json()["items"]
        assert [one["refused"] and one["refused"]["code"] for one in done] == ["unknown_interrupt", None]


async def test_whoever_reads_everything_decides_only_where_it_was_granted(place: Place) -> None:
    own, other = place.item, place.question
    async with person(place, role="viewer", grants=["approver of agent:refunds"]) as client:
        assert (await client.get("me")).json()["rights"] == ["decide", "read"]
        assert len((await client.get("runs")).json()["items"]) == 4
        answer = await client.post(
            f"interrupts/{at(other['ref'])}/answer", json={"digest": other["digest"], "value": {"ok": 1}}
        )
        assert answer.status_code == 403
        assert (
            await client.post(f"interrupts/{at(own['ref'])}/deny", json={"digest": own["digest"]})
        ).status_code == 200
        denied = await client.post("runs/deny-all", json={"runs": [other["run_id"]]})
        assert denied.json()["items"][0]["refused"]["code"] == "not_allowed"


async def test_a_tenant_s_runs_carry_its_label_and_nobody_else_s_can_be_started(place: Place) -> None:
    async with person(place, role="operator", tenant="acme") as client:
        run = await client.start("refunds", labels={"team": "eu"})
        assert (await client.get(f"runs/{run}/status")).json()["labels"] == {"team": "eu", "tenant": "acme"}
        assert [one["run_id"] for one in (await client.get("runs")).json()["items"]] == [run]
        foreign = {"agent": "refunds", "input": "x", "labels": {"tenant": "globex"}}
        assert (await client.post("runs", json=foreign)).status_code == 403
        assert (await client.post(f"runs/{run}/again", json={"labels": {"tenant": "globex"}})).status_code == 403
        for path in ("people", "workers", "holds", "letters", "halts/scopes"):
            assert (await client.get(path)).status_code == 403
        assert (await client.post("halts", json={"scope": "*", "reason": "x"})).status_code == 403
    async with person(place, role="viewer", tenant="globex") as client:
        assert (await client.get(f"runs/{run}")).status_code == 404


async def test_of_an_id_that_is_another_s_it_is_only_said_that_it_is_taken(place: Place) -> None:
    """Whatever the run is about, and whatever became of it."""
    waits, erased = await place.admin.start("refunds"), await place.admin.start("talker", input="secret words")
    await place.admin.until(waits, "waiting")
    await place.admin.until(erased, "completed")
    known = (await place.admin.get(f"runs/{waits}/status")).json()
    assert (await place.admin.post(f"runs/{erased}/erase", json={"reason": "secret"})).status_code == 200
    before = await place.serving.runtime.store.load(waits)
    async with person(place, role="operator", tenant="acme") as client:
        own = await client.start("refunds")
        for run in (waits, erased):
            for input in (known["title"], "another", "secret words"):
                for agent in ("refunds", "talker"):
                    answer = await client.post("runs", json={"agent": agent, "input": input, "run_id": run})
                    assert answer.status_code == 409 and answer.json()["code"] == "run_exists", answer.text
                    assert "is taken" in answer.text and "secret" not in answer.text and "different" not in answer.text
        again = await client.post("runs", json={"agent": "refunds", "input": "another", "run_id": own})
        assert again.status_code == 409 and "different input" in again.text
        key = {"Idempotency-Key": "the same"}
        [one, other] = [
            await who.post("runs", json={"agent": "talker", "input": "x"}, headers=key) for who in (place.admin, client)
        ]
        assert one.json()["run_id"] != other.json()["run_id"]
    assert await place.serving.runtime.store.load(waits) == before


async def test_where_a_page_of_failed_decisions_ends_names_no_run_of_others(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_decisions, "STRETCH", 1)
    monkeypatch.setattr(failed_decisions, "FURTHEST", 2)
    others = [place.item, *[await place.admin.waiting("refunds") for _ in range(3)]]
    async with person(place, role="admin", tenant="acme") as client:
        item = await client.waiting("refunds")
        for one in others[:2]:
            assert (await place.admin.decide(one, "approve")).status_code == 200
        assert (await client.decide(item, "approve")).status_code == 200
        for one in others[2:]:
            assert (await place.admin.decide(one, "approve")).status_code == 200
        answer = await client.get("decisions/failed")
        assert answer.status_code == 200 and not any(one["run_id"] in answer.text for one in others)
        assert answer.json() == {"items": [], "after": None}
    seen, after = 0, ""
    while after is not None:
        answer = (await place.admin.get("decisions/failed", params={"after": after} if after else {})).json()
        seen, after = seen + 1, answer["after"]
    assert seen == 3  # five approvals, two at a time


async def test_a_conversation_of_others_is_not_continued(place: Place) -> None:
    run = await place.admin.start("talker", session="chat-7")
    await place.admin.until(run, "completed")
    async with person(place, role="operator", tenant="acme") as client:
        for more in ({"session": "chat-7"}, {"after": run}):
            answer = await client.post("runs", json={"agent": "talker", "input": "what did I say?", **more})
            assert answer.status_code in (403, 404), answer.text


async def test_an_end_user_s_key_sees_the_runs_of_its_session(place: Place) -> None:
    run = await place.admin.start("refunds", session="chat-7")
    await place.admin.until(run, "waiting")
    users = place.serving.guard.users
    async with Client(place.serving, users.session_key("chat-7")) as reader:
        assert [one["run_id"] for one in (await reader.get("runs")).json()["items"]] == [run]
        [item] = (await reader.get("inbox")).json()["items"]
        assert (await reader.decide(item, "approve")).status_code == 403
        assert (
            await reader.post("runs", json={"agent": "talker", "input": "x", "session": "chat-7"})
        ).status_code == 403
        assert (await reader.get(f"runs/{place.item['run_id']}")).status_code == 404
    async with Client(place.serving, users.session_key("chat-7", "operator")) as writer:
        assert (await writer.post("runs", json={"agent": "talker", "input": "x"})).status_code == 403
        assert (
            await writer.post("runs", json={"agent": "talker", "input": "x", "session": "chat-7"})
        ).status_code == 200
        [item, *_] = (await writer.get("inbox")).json()["items"]
        assert (await writer.decide(item, "approve")).status_code == 403


async def test_a_stream_about_everything_is_about_what_one_may_see(place: Place) -> None:
    async with (
        person(place, role="none", grants=["viewer of agent:refunds"]) as client,
        client.events("events") as events,
    ):
        [first] = await events.until(lambda event: event.kind == "inbox")
        assert first.data["open"] == [place.item["ref"]]
        hidden = await place.admin.start("desk")
        await place.admin.until(hidden, "waiting")
        shown = await place.admin.start("refunds")
        seen = await events.until(lambda event: any(ref.startswith(shown) for ref in event.data.get("opened", ())))
        assert hidden not in json.dumps([event.data for event in seen])
        assert seen[-1].data["open_interrupts"] == 2


@pytest.mark.parametrize("path", ["events", "inbox/events", "runs/RUN/events"])
async def test_a_stream_ends_when_rights_change(place: Place, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "PING", 0.02)
    users: Users = place.serving.guard.users
    key = users.add("ana", "none", grants=["viewer of agent:refunds", "viewer of agent:desk"])
    place_of_it = path.replace("RUN", place.item["run_id"])
    async with Client(place.serving, key) as client, client.events(place_of_it) as events:
        await events.until(lambda event: True)
        users.set_grants("ana", ["viewer of agent:desk"])
        await _end(events)
    async with Client(place.serving, key) as client:
        assert (await client.get(f"runs/{place.item['run_id']}")).status_code == 404


async def _end(events: Events) -> None:
    async with asyncio.timeout(LIMIT):
        async for _ in events:
            pass
