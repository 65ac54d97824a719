"""A halt is easy to set, and lifted by those who could answer for it."""

import pytest
from tests.server.world import Client

from adjourn.server import Serving, Users

SET_BY = ("admin", "operator", "other operator", "nobody known", "token", "removed operator")
MAY_LIFT = {
    "admin": set(SET_BY),
    "token": set(SET_BY),
    "operator": {"operator", "other operator"},
    "viewer": set[str](),
    "approver": set[str](),
}


@pytest.mark.parametrize("setter", SET_BY)
@pytest.mark.parametrize("lifter", MAY_LIFT)
async def test_who_lifts_whose_halt(
    server: Serving, people: tuple[Users, dict[str, str]], setter: str, lifter: str
) -> None:
    users, keys = people[0], {**people[1], "token": server.token}
    keys["other operator"] = users.add("oscar", "operator")
    keys["removed operator"] = users.add("gone", "operator")
    if setter == "nobody known":  # at the command line, or in a program
        await server.runtime.halt("tool:pay", reason="x", by="somebody")
    else:
        async with Client(server, keys[setter]) as client:
            assert (await client.post("halts", json={"scope": "tool:pay", "reason": "x"})).status_code == 200
    users.remove("gone")
    async with Client(server, keys[lifter]) as client:
        answer = await client.post("halts/lift", json={"scope": "tool:pay", "reason": "y"})
    allowed = setter in MAY_LIFT[lifter]
    assert answer.status_code == (200 if allowed else 403), answer.text
    assert [h.scope for h in await server.runtime.halts()] == ([] if allowed else ["tool:pay"])


async def test_setting_it_once_more_makes_it_nobody_else_s(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    await admin.post("halts", json={"scope": "*", "reason": "incident"})
    async with Client(server, people[1]["operator"]) as operator:
        again = await operator.post("halts", json={"scope": "*", "reason": "mine now"})
        assert [(h["by"], h["reason"]) for h in again.json()["items"]] == [("ana", "incident")]
        refused = await operator.post("halts/lift", json={"scope": "*", "reason": "over"})
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        assert "only an admin can lift it" in refused.json()["detail"]


async def test_whoever_lost_a_role_lifts_what_they_set_themselves(
    server: Serving, people: tuple[Users, dict[str, str]]
) -> None:
    users = people[0]
    async with Client(server, users.add("ada", "admin")) as ada:
        await ada.post("halts", json={"scope": "*", "reason": "x"})
        users.set_role("ada", "operator")
        assert (await ada.post("halts/lift", json={"scope": "*", "reason": "y"})).status_code == 200


async def test_lifting_what_is_not_there_is_no_problem(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    await admin.post("halts", json={"scope": "*", "reason": "x"})
    async with Client(server, people[1]["operator"]) as operator:
        answer = await operator.post("halts/lift", json={"scope": "tool:other", "reason": "y"})
        assert [h["scope"] for h in answer.json()["items"]] == ["*"]
