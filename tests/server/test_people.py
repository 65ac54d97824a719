"""People over the API: who may do what, keys that are shown once, sessions that end, and who changed it all."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.server.receiver import HERE, Receiver
from tests.server.world import LIMIT, Client, eventually, users_with_roles

from adjourn.errors import Conflict
from adjourn.server import Serving, Users, add_webhook, serving
from adjourn.server.users import key_id

People = tuple[Users, dict[str, str]]


@pytest.fixture
async def boss(server: Serving, people: People) -> AsyncIterator[Client]:
    """An admin who is a user like the others."""
    async with Client(server, people[1]["admin"]) as client:
        yield client


async def listed(boss: Client) -> dict[str, dict[str, Any]]:
    return {person["name"]: person for person in (await boss.get("people")).json()["items"]}


async def test_a_person_is_added_with_a_key_that_works_and_is_never_shown_again(server: Serving, boss: Client) -> None:
    body = {"name": "cleo", "role": "approver", "groups": ["finance", "leads"], "expires_in": 86_400}
    made = (await boss.post("people", json=body)).json()
    async with Client(server, made["key"]) as cleo:
        me = (await cleo.get("me")).json()
    assert (me["name"], me["role"], me["groups"]) == ("cleo", "approver", ["finance", "leads"])
    again = await boss.get("people")
    assert made["key"] not in again.text
    [key] = (await listed(boss))["cleo"]["keys"]
    assert (key["id"], key["hint"], key["expires_at"]) == (made["id"], made["key"][-4:], made["expires_at"])


@pytest.mark.parametrize(
    "body",
    [
        {"name": "@run:x", "role": "viewer"},
        {"name": "", "role": "viewer"},
        {"name": " ana", "role": "viewer"},
        {"name": "eve", "role": "run"},
        {"name": "eve", "role": "viewer", "groups": ["a\nb"]},
        {"name": "eve", "role": "viewer", "expires_in": -1},
        {"name": "eve\u202e", "role": "viewer"},
    ],
)
async def test_who_could_be_taken_for_another_or_for_more_is_not_added(boss: Client, body: dict[str, Any]) -> None:
    before = await listed(boss)
    answer = await boss.post("people", json=body)
    assert answer.status_code == 422, answer.text
    assert await listed(boss) == before


async def test_a_name_is_given_once_in_whatever_spelling(boss: Client) -> None:
    assert (await boss.post("people", json={"name": "Lena", "role": "viewer"})).status_code == 409


async def test_role_and_groups_count_from_the_next_request_on(server: Serving, boss: Client, people: People) -> None:
    async with Client(server, people[1]["viewer"]) as viewer:
        assert (await viewer.post("halts", json={"scope": "*", "reason": "x"})).status_code == 403
        answer = await boss.post("people/change", json={"name": "viewer-person", "role": "operator", "groups": ["ops"]})
        assert (answer.json()["role"], answer.json()["groups"]) == ("operator", ["ops"])
        assert (await viewer.post("halts", json={"scope": "*", "reason": "x"})).status_code == 200


async def test_a_key_that_is_revoked_ends_and_the_others_stay(server: Serving, boss: Client, people: People) -> None:
    second = (await boss.post("people/keys", json={"name": "lena"})).json()
    assert (await boss.post("keys/revoke", json={"id": key_id(people[1]["lena"])})).status_code == 200
    async with Client(server, people[1]["lena"]) as old, Client(server, second["key"]) as new:
        assert ((await old.get("me")).status_code, (await new.get("me")).status_code) == (401, 200)
    assert (await boss.post("keys/revoke", json={"id": "0" * 12})).status_code == 404


async def test_who_is_removed_is_out_at_once(server: Serving, boss: Client, people: People) -> None:
    async with Client(server, people[1]["lena"]) as lena:
        assert (await boss.post("people/remove", json={"name": "lena"})).status_code == 200
        assert (await lena.get("me")).status_code == 401
    assert (await boss.post("people/remove", json={"name": "lena"})).status_code == 404


# The last admin


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("people/remove", {"name": "admin-person"}),
        ("people/change", {"name": "admin-person", "role": "viewer"}),
        ("people/change", {"name": "ADMIN-person", "role": "approver", "groups": ["x"]}),
    ],
)
async def test_the_last_admin_stays(boss: Client, path: str, body: dict[str, Any]) -> None:
    before = await listed(boss)
    answer = await boss.post(path, json=body)
    assert (answer.status_code, answer.json()["advice"]) == (409, "make another user an admin first")
    assert await listed(boss) == before
    await boss.post("people/change", json={"name": "lena", "role": "admin"})
    assert (await boss.post(path, json=body)).status_code == 200


def test_of_two_admins_who_remove_each_other_one_stays(tmp_path: Path) -> None:
    """Two processes, each with its own view of the file."""
    path = str(tmp_path / "users")
    one, two = Users(path), Users(path)
    one.add("ana", "admin")
    one.add("ben", "admin")
    assert [user.name for user in two.all()] == ["ana", "ben"]
    one.remove("ana")
    with pytest.raises(Conflict, match="the last admin"):
        two.remove("ben")
    with pytest.raises(Conflict, match="the last admin"):
        two.set_role("ben", "viewer")
    assert [(user.name, user.role) for user in one.all()] == [("ben", "admin")]
    one.close()
    two.close()


# Sessions


@asynccontextmanager
async def logged_in(server: Serving, key: str) -> AsyncGenerator[Client]:
    """A browser."""
    async with Client(server) as browser:
        me = (await browser.post("session", json={"key": key})).json()
        browser.headers["X-CSRF-Token"] = me["csrf"]
        yield browser


async def test_everybody_sees_their_own_sessions_and_ends_all_but_the_one_in_use(
    server: Serving, people: People
) -> None:
    lena, lars = people[1]["lena"], people[1]["lars"]
    async with (
        logged_in(server, lena) as first,
        logged_in(server, lena) as second,
        logged_in(server, lars) as other,
    ):
        seen = (await first.get("sessions")).json()["items"]
        assert [session["name"] for session in seen] == ["lena", "lena"]
        assert sum(session["is_this"] for session in seen) == 1
        assert (await first.get("sessions?all=true")).json()["items"] == seen, "only admins see those of others"
        assert (await first.post("sessions/end-others", json={"all": True})).json() == {"count": 1}
        statuses = [(await browser.get("me")).status_code for browser in (first, second, other)]
        assert statuses == [200, 401, 200]


async def test_a_session_of_another_is_ended_by_admins_only(server: Serving, boss: Client, people: People) -> None:
    async with logged_in(server, people[1]["lena"]) as lena, logged_in(server, people[1]["lars"]) as lars:
        [its] = [s for s in (await boss.get("sessions?all=true")).json()["items"] if s["name"] == "lena"]
        assert (await lars.post("sessions/end", json={"id": its["id"]})).status_code == 404
        assert (await lena.get("me")).status_code == 200
        assert (await boss.post("sessions/end", json={"id": its["id"]})).json() == {"count": 1}
        assert (await lena.get("me")).status_code == 401
        assert (await boss.post("sessions/end", json={"id": its["id"]})).status_code == 404
        assert (await listed(boss))["lars"]["sessions"] == 1


async def test_a_session_that_ended_by_itself_is_not_listed() -> None:
    clock = [1_000.0]
    users = Users(clock=lambda: clock[0])
    key = users.add("ana", "admin")
    users.open_session("ana", key)
    clock[0] += 3_000
    users.open_session("ana", key)
    assert [session.seen_at for session in users.sessions()] == [4_000.0, 1_000.0]
    clock[0] += 1_000
    assert [session.seen_at for session in users.sessions()] == [4_000.0]
    users.new_key("ana")
    users.revoke(key)
    assert users.sessions() == []
    users.close()


# Who did it


async def test_the_security_log_says_who_changed_whom_and_from_where(server: Serving, boss: Client) -> None:
    key = (await boss.post("people", json={"name": "cleo", "role": "viewer"})).json()["key"]
    await boss.post("people/change", json={"name": "cleo", "role": "operator"})
    await boss.post("people/remove", json={"name": "cleo"})

    async def noted() -> bool:
        return len(await lines()) == 3

    async def lines() -> list[dict[str, Any]]:
        found = (await boss.get("audit", params={"security": "true"})).json()["items"]
        return [line for line in found if line["more"].get("about") == "cleo"]

    await eventually(noted)
    assert [line["verb"] for line in await lines()] == ["remove user", "change user", "add user"]
    assert {(line["by"], line["origin"]) for line in await lines()} == {("admin-person", "http 127.0.0.1")}
    told = (await lines())[0]["told"]
    assert (told["who"], told["did"], told["what"]) == ("admin-person", "removed the user", "cleo")
    assert key not in str(await lines())


# A test message


async def test_a_test_is_sent_at_once_and_says_what_the_other_side_answered(folder: Path) -> None:
    users, keys = users_with_roles()
    where = f"sqlite:///{folder / 'runs.db'}"
    async with (
        Receiver() as good,
        Receiver(503) as bad,
        serving(where, [], port=0, users=users, allow=HERE) as up,
        Client(up, keys["admin"]) as boss,
    ):
        store = up.runtime.store
        secret = await add_webhook(store, "good", good.url, topics=["halt.set"], allow=HERE)
        await add_webhook(store, "bad", bad.url, allow=HERE)
        answers = [(await boss.post("endpoints/test", json={"name": name})).json() for name in ("good", "bad")]
        assert [(a["arrived"], a["says"]) for a in answers] == [(True, "it answered 204"), (False, "it answered 503")]
        assert all(0 <= a["took"] < LIMIT for a in answers)
        [told] = good.told
        assert told.verified(secret)["type"] == "test"
        assert told.message["data"]["text"] == "Test from Adjourn, by admin-person. Nothing to decide."
        assert len(bad.told) == 1 and await store.letters() == [], "it is not tried again"
        assert (await boss.post("endpoints/test", json={"name": "gone"})).status_code == 404
    users.close()
