"""The full matrix: every operation, every role, and nobody; and that a run's own credentials never decide."""

import pytest
from tests.server.world import ROLES, Client, at

from adjourn.server import Serving, Users
from adjourn.server.auth import RIGHTS, Identity
from adjourn.server.operation import Operation
from adjourn.server.operations import OPERATIONS

MAY = {
    "read": {"viewer", "operator", "approver", "admin"}, "control": {"operator", "admin"}, "decide": {"approver", "admin"},
    "halt": {"operator", "admin"}, "admin": {"admin"},
}  # fmt: skip

GUARDED = [o for o in OPERATIONS if o.right != "none"]


def path_of(operation: Operation) -> str:
    path = operation.path.replace("{run}", "nobody").replace("{interrupt}", at("nobody:1.0?0"))[1:]
    return f"{path}?follow=false" if operation.stream else path


@pytest.mark.parametrize("operation", GUARDED, ids=lambda o: o.name)
async def test_a_role_may_do_what_its_rights_say_and_nothing_else(
    server: Serving, people: tuple[Users, dict[str, str]], operation: Operation
) -> None:
    for role in ROLES:
        async with Client(server, people[1][role]) as client:
            answer = await client.request(operation.method, path_of(operation), json={} if operation.body else None)
            assert (answer.status_code != 403) == (role in MAY[operation.right]), (role, answer.text)
            assert answer.status_code not in (401, 405)
            if answer.status_code == 403:
                assert answer.json()["code"] == "forbidden"


@pytest.mark.parametrize("operation", GUARDED, ids=lambda o: o.name)
async def test_nobody_may_do_anything(server: Serving, operation: Operation) -> None:
    async with Client(server) as client:
        for key in ("", "wrong", "adj_" + "x" * 43):
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            answer = await client.request(operation.method, path_of(operation), json={}, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
            assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["Basic YTpi", "bearer", "Bearer", "Token x", "Bearer \u00e9", "Bearer a b"])
async def test_what_is_no_key_opens_nothing(server: Serving, header: str) -> None:
    async with Client(server) as client:
        answer = await client.get("me", headers=[(b"Authorization", header.encode("latin-1"))])
        assert answer.status_code == 401


async def test_everybody_learns_who_they_are(server: Serving, people: tuple[Users, dict[str, str]]) -> None:
    for role in ROLES:
        async with Client(server, people[1][role]) as client:
            me = (await client.get("me")).json()
            assert (me["name"], me["role"], me["csrf"]) == (f"{role}-person", role, "")


def test_no_role_has_a_right_that_is_not_listed() -> None:
    for role, rights in RIGHTS.items():
        for right, roles in MAY.items():
            expected = role in roles or (role, right) == ("run", "read")
            assert (role, right, right in rights) == (role, right, expected)


# G23: a run cannot decide its own interrupts


async def test_a_run_s_own_key_reads_that_run_and_nothing_else(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    item, other = await admin.waiting("refunds"), await admin.waiting("desk")
    async with Client(server, people[0].run_key(item["run_id"])) as run:
        assert (await run.get("me")).json()["role"] == "run"
        assert (await run.get(f"runs/{item['run_id']}")).status_code == 200
        assert (await run.get(f"runs/{other['run_id']}")).status_code == 403
        assert (await run.get("inbox")).status_code == 403
        for verb in ("approve", "deny"):
            assert (await run.decide(item, verb)).status_code == 403
        assert (await run.decide(other, "answer", value={"ok": 1})).status_code == 403
        for verb in ("pause", "resume", "cancel", "say", "emit", "fork"):
            assert (await run.post(f"runs/{item['run_id']}/{verb}", json={})).status_code == 403
        assert (await run.post("runs", json={"program": "refunds", "input": 1})).status_code == 403
    assert (await admin.get(f"interrupts/{at(item['ref'])}")).json()["open"] is True


@pytest.mark.parametrize("name", ["refunds", "nested"])
async def test_whoever_is_called_like_the_agent_does_not_decide_for_it(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client, name: str
) -> None:
    """Also not for an agent inside it, nor for the one around it."""
    async with Client(server, people[0].add(name, "admin")) as agent:
        item = await admin.waiting("nested")
        refused = await agent.decide(item, "approve")
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        elsewhere = await admin.waiting("desk")
        assert (await agent.decide(elsewhere, "answer", value={"ok": 1})).status_code == 200


async def test_a_name_of_the_machinery_s_own_does_not_decide(server: Serving, admin: Client) -> None:
    async def machinery(request: object) -> Identity:
        return Identity("@expiry", "admin")

    item = await admin.waiting("refunds")
    server.guard.authenticate = machinery
    async with Client(server) as client:
        assert (await client.decide(item, "deny")).json()["code"] == "not_allowed"
        assert (await client.get("me")).json()["name"] == "@expiry"
