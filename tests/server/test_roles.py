"""The full matrix: every operation, every role, and nobody; and that a run's own credentials never decide."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.place import WHO, Place, a_place
from tests.server.world import ROLES, Client, at

from adjourn.server import Serving, Users
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.api_request import Operation
from adjourn.server.identity import Identity
from adjourn.views.words import RIGHTS

MAY = {
    "read": {"viewer", "operator", "approver", "admin"}, "control": {"operator", "admin"}, "decide": {"approver", "admin"},
    "halt": {"operator", "admin"}, "admin": {"admin"}, "none": set(WHO),
}  # fmt: skip


LATE = {
    "drop_letter": 404, "fork_run": 404, "end_session": 404, "revoke_key": 404, "change_own_notifications": 404,
    "remove_own_notifications": 404, "try_own_notifications": 404, "add_mailbox": 403,
}  # fmt: skip
"""What an earlier request may have taken away, what is not one's own, or a host that is not asked for in tests."""


@pytest.fixture
async def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with a_place(folder, monkeypatch) as found:
        yield found


def allowed(who: str, operation: Operation) -> bool:
    """The matrix, said once more in other words than the code's."""
    own = (
        who == "run"
        and operation.right == "read"
        and ("{run_id}" in operation.path or operation.name in ("who_am_i", "log_out"))
    )
    return own or who in MAY[operation.right]


@pytest.mark.parametrize("who", WHO)
async def test_what_somebody_may_not_do_is_refused_and_no_row_changes(place: Place, who: str) -> None:
    refused = [o for o in OPERATIONS if not allowed(who, o)]
    async with place.client(who) as client:
        before = place.rows()
        for operation in refused:
            answer = await place.ask(client, operation)
            expected = (401, "unauthorized") if who in ("nobody", "stranger") else (403, "forbidden")
            assert (operation.name, answer.status_code, answer.json()["code"]) == (operation.name, *expected)
            assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
        assert place.rows() == before


@pytest.mark.parametrize("who", [*ROLES, "run"])
async def test_what_somebody_may_do_is_done(place: Place, who: str) -> None:
    """A request that fits is answered; where an earlier one made it pointless, with a conflict."""
    async with place.client(who) as client:
        for operation in sorted(
            OPERATIONS, key=lambda o: o.name == "erase_run"
        ):  # after it there is nothing to ask about
            if allowed(who, operation) and operation.name != "log_out":
                answer = await place.ask(client, operation)
                late = LATE.get(operation.name, 409)
                assert answer.status_code in (200, 204, 409, 423, late), (operation.name, answer.text)


def test_the_matrix_has_a_cell_for_everybody_and_everything() -> None:
    cells = {(who, o.name): allowed(who, o) for who in WHO for o in OPERATIONS}
    assert len(cells) == len(WHO) * len(OPERATIONS)
    deciders = {who for who in WHO for o in OPERATIONS if o.right == "decide" and cells[who, o.name]}
    assert deciders == {"approver", "admin"}
    assert {o.name for o in OPERATIONS if cells["nobody", o.name]} == {"log_in"}


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
            expected = right == "none" or role in roles or (role, right) == ("run", "read")
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
        assert (await run.post("runs", json={"agent": "refunds", "input": 1})).status_code == 403
    assert (await admin.get(f"interrupts/{at(item['ref'])}")).json()["status"] == "open"


@pytest.mark.parametrize("name", ["refunds", "nested", "REFUNDS", "Nested"])
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


async def test_a_role_that_nobody_knows_has_no_right(server: Serving) -> None:
    async def wrong(request: object) -> Identity:
        return Identity("eve", "boss")

    server.guard.authenticate = wrong
    async with Client(server) as client:
        answer = await client.get("me")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_a_name_of_the_machinery_s_own_does_not_decide(server: Serving, admin: Client) -> None:
    async def machinery(request: object) -> Identity:
        return Identity("@expiry", "admin")

    item = await admin.waiting("refunds")
    server.guard.authenticate = machinery
    async with Client(server) as client:
        assert (await client.decide(item, "deny")).json()["code"] == "not_allowed"
        assert (await client.get("me")).json()["name"] == "@expiry"
