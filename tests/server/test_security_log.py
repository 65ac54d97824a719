"""The security log: who came in, who was turned away, what changed about who may; and that nobody can fill the disk with it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.world import Client, programs, users_with_roles

from adjourn import Runtime
from adjourn.server import Serving, serving
from adjourn.server.security_log import KNOWN, WINDOW, LineBudget, SecurityLog, Tally
from adjourn.stores.audit import SECURITY
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.testing import FakeClock, Fault, Faulty

# Counting


def test_what_was_done_is_a_line_at_once_and_the_same_again_one_a_minute() -> None:
    tally = Tally(LineBudget(100, 20))
    assert tally.count(0, "login", "", "ana", "10.0.0.1") == [{"verb": "login", "by": "ana", "from": "http 10.0.0.1"}]
    assert tally.count(1, "login", "", "ana", "10.0.0.1") == []
    assert tally.count(2, "login", "", "ana", "10.0.0.1") == []
    assert [x["by"] for x in tally.count(3, "login", "", "bo", "10.0.0.1")] == ["bo"]
    [line] = tally.due(WINDOW)
    assert (line["by"], line["count"]) == ("ana", 2)
    assert tally.due(3 * WINDOW) == []


def test_what_was_refused_is_counted_for_a_minute_by_address_name_and_cause() -> None:
    tally = Tally(LineBudget(100, 20))
    for _ in range(500):
        assert tally.count(0, "login", "unknown_key", "", "10.0.0.1") == []
    assert tally.count(1, "login", "unknown_key", "", "10.0.0.2") == []
    assert tally.count(2, "request", "forbidden", "vic", "10.0.0.2") == []
    lines = tally.due(WINDOW + 2)
    assert [(x["verb"], x["refused"], x["by"], x["from"], x.get("count", 1)) for x in lines] == [
        ("login", "unknown_key", "", "http 10.0.0.1", 500),
        ("login", "unknown_key", "", "http 10.0.0.2", 1),
        ("request", "forbidden", "vic", "http 10.0.0.2", 1),
    ]
    assert tally.due(2 * WINDOW + 4) == []


def test_what_is_left_at_the_end_is_written() -> None:
    tally = Tally(LineBudget(100, 20))
    tally.count(0, "login", "unknown_key", "", "10.0.0.1")
    assert [x["refused"] for x in tally.due(1, last=True)] == ["unknown_key"]


def test_a_flood_from_everywhere_ends_in_few_lines_and_every_event_is_counted() -> None:
    """Half a day of 20 refusals a second, each from another address."""
    tally, lines, sent, day = Tally(LineBudget(100, 20)), list[dict[str, Any]](), 0, 43_200
    for second in range(0, day, 10):
        for n in range(200):
            cause = ("unknown_key", "wrong_host", "csrf")[n % 3]
            lines += tally.count(second, "request", cause, "", f"10.{second % 251}.{n}.{second % 13}")
            sent += 1
    lines += tally.due(day, last=True)
    assert len(lines) <= 100 + 12 * (20 + 3) + 3
    assert sum(x.get("count", 1) for x in lines) == sent
    assert any(x.get("addresses", 0) == KNOWN for x in lines)
    assert all(len(str(x)) < 300 for x in lines)


async def test_people_are_not_crowded_out_by_strangers() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.now)
    log = SecurityLog(lambda: store)
    for n in range(3 * KNOWN):
        log.refused("login", "unknown_key", address=f"10.0.{n // 250}.{n % 250}")
    for name in ("ana", "bo"):
        log.happened("login", by=name, address="10.0.0.1")
    await log.flush()
    assert [x.entry["by"] for x in await store.audit(SECURITY)] == ["ana", "bo"]


# Writing


async def test_a_store_that_fails_gets_the_lines_later_and_too_many_are_a_number() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.now)
    faulty = Faulty(store, 0, Fault.BEFORE)
    log = SecurityLog(lambda: faulty)
    for n in range(1_005):
        log.note({"verb": "add user", "by": f"u{n}"})
    await log.flush()
    assert await store.audit(SECURITY) == []
    log.note({"verb": "add user", "by": "late"})
    await log.flush()
    verbs = [(x.entry["verb"], x.entry.get("count", 0)) for x in await store.audit(SECURITY, limit=2_000)]
    assert (len(verbs), verbs[0], verbs[-1]) == (1_001, ("add user", 0), ("lose lines", 6))


async def test_it_is_written_a_moment_later_by_itself_and_at_the_end() -> None:
    store = MemoryStore()
    async with SecurityLog(lambda: store) as log:
        log.happened("login", by="ana", address="10.0.0.1")
        async with asyncio.timeout(30):
            while not (lines := await store.audit(SECURITY)):
                await asyncio.sleep(0.01)
        [line] = lines
        assert line.entry["by"] == "ana"
        log.refused("login", "unknown_key", address="10.0.0.1")
    assert [x.entry.get("refused", "") for x in await store.audit(SECURITY)] == ["", "unknown_key"]


# At the door


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, folder: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{folder / 'runs.db'}"


async def written(store: Store) -> list[tuple[str, str, str, int]]:
    """What is in the log: verb, who, why it was refused, how often."""
    lines = [row.entry for row in await store.audit(SECURITY, limit=1_000)]
    return [(x["verb"], x["by"], x.get("refused", ""), x.get("count", 1)) for x in lines]


async def visited(place: str, visit: Callable[[Serving, dict[str, str]], Awaitable[None]]) -> list[Any]:
    """What a visit leaves in the log once the server has ended."""
    users, keys = users_with_roles()
    async with Runtime(place, programs()) as runtime:
        async with serving(runtime, port=0, users=users, rate=10_000) as up:
            await visit(up, keys)
        found = await written(runtime.store)
        assert await runtime.verify() == []
    users.close()
    return found


async def test_logins_logouts_and_wrong_keys(place: str) -> None:
    async def visit(up: Serving, keys: dict[str, str]) -> None:
        async with Client(up) as browser:
            for _ in range(3):
                assert (await browser.post("session", json={"key": "adj_wrong"})).status_code == 401
            answer = await browser.post("session", json={"key": keys["admin"]})
            headers = {"X-CSRF-Token": answer.json()["csrf"]}
            assert (await browser.post("session/end", headers=headers)).status_code == 200

    found = await visited(place, visit)
    names = [line[1] for line in found if line[0] == "login" and not line[2]]
    assert [(verb, why, many) for verb, _, why, many in found] == [
        ("login", "", 1), ("logout", "", 1), ("login", "unauthorized", 3),
    ]  # fmt: skip
    assert len(names) == 1 and names[0] == found[1][1] != ""


async def test_everybody_who_is_turned_away_is_counted(place: str) -> None:
    async def visit(up: Serving, keys: dict[str, str]) -> None:
        async with Client(up, "adj_stranger") as stranger, Client(up, keys["viewer"]) as viewer, Client(up) as nobody:
            for _ in range(4):
                assert (await stranger.get("runs")).status_code == 401
            assert (await nobody.get("runs")).status_code == 401
            for _ in range(2):
                assert (await viewer.post("halts", json={"scope": "*", "reason": "x"})).status_code == 403
            assert (await viewer.get("audit", params={"security": "true"})).status_code == 403
            assert (await viewer.get("runs", headers={"Origin": "https://evil.example"})).status_code == 403
            assert (await viewer.get("runs", headers={"Host": "evil.example"})).status_code == 403
            assert (await viewer.get("runs/none")).status_code == 404

    found = await visited(place, visit)
    assert sorted((why, many) for _, _, why, many in found) == [
        ("forbidden", 3), ("unauthorized", 1), ("unknown_key", 4), ("wrong_host", 1), ("wrong_origin", 1),
    ]  # fmt: skip
    assert [bool(by) for _, by, why, _ in found if why == "forbidden"] == [True]
    assert not any(by for _, by, why, _ in found if why != "forbidden")


async def test_a_start_that_is_refused(place: str) -> None:
    async def visit(up: Serving, keys: dict[str, str]) -> None:
        async with Client(up, keys["operator"]) as operator:
            for _ in range(2):
                assert (await operator.post("runs", json={"agent": "absent", "input": 1})).status_code == 404
            for text, status in (("one", 200), ("two", 409)):
                body = {"agent": "refunds", "input": text, "run_id": "same"}
                assert (await operator.post("runs", json=body)).status_code == status

    found = [line for line in await visited(place, visit) if line[0] == "start"]
    assert sorted((why, many) for _, _, why, many in found) == [("not_found", 2), ("run_exists", 1)]


async def test_users_and_keys_and_never_a_key_itself(place: str) -> None:
    secrets: list[str] = []

    async def visit(up: Serving, keys: dict[str, str]) -> None:
        users = up.guard.users
        secrets.append(users.add("zoe", "viewer", ("leads",)))
        secrets.append(users.new_key("zoe"))
        users.set_role("zoe", "approver")
        users.set_groups("zoe", ())
        users.revoke(secrets[0])
        users.logout("zoe")
        users.remove("zoe")
        await up.runtime.store.halt("*", by="ana", reason="x")
        await up.runtime.store.halt("*", by="ana", lift=True)

    users, _ = users_with_roles()
    async with Runtime(place) as runtime:
        async with serving(runtime, port=0, users=users) as up:
            await visit(up, {})
        lines = [row.entry for row in await runtime.store.audit(SECURITY)]
        users.remove(users.all()[-1].name)  # nobody listens any more
    users.close()
    told = [(x["verb"], x.get("role"), x.get("groups")) for x in lines if x.get("about") == "zoe"]
    assert told == [
        ("add user", "viewer", ["leads"]), ("make key", None, None), ("change user", "approver", ["leads"]),
        ("change user", "approver", []), ("revoke key", None, None), ("end sessions", None, None), ("remove user", None, None),
    ]  # fmt: skip
    assert "unhalt" in [x["verb"] for x in lines]
    assert not any(secret in str(lines) for secret in secrets)


async def test_the_log_is_for_admins_and_is_no_part_of_the_audit_that_others_read(
    server: Serving, admin: Client
) -> None:
    await server.runtime.store.note([{"verb": "login", "by": "ana", "from": "http 10.0.0.1"} for _ in range(3)])
    page = (await admin.get("audit", params={"security": "true", "limit": 2})).json()
    assert [x["verb"] for x in page["items"]] == ["login", "login"]
    rest = (await admin.get("audit", params={"security": "true", "limit": 2, "after": page["after"]})).json()
    assert len(rest["items"]) == 1
    assert not [x for x in (await admin.get("audit")).json()["items"] if x["verb"] == "login"]
    assert (await admin.get("runs/%40security/audit")).status_code == 404
