"""Browsers: a key becomes a session; its cookie cannot be read, its requests must prove that a page of ours made them."""

from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.world import Client, Time, programs

from adjourn.server import Guard, Serving, Users, serving, users_path
from adjourn.server.api.session import shown_store
from adjourn.server.authentication import set_cookie
from adjourn.server.security_headers import transport_security


async def login(client: Client, key: str) -> httpx.Response:
    answer = await client.post("session", json={"key": key})
    assert answer.status_code == 200, answer.text
    client.headers["X-CSRF-Token"] = answer.json()["csrf"]
    return answer


async def test_the_token_of_this_start_becomes_a_session(server: Serving) -> None:
    assert server.link == f"{server.url}/#token={server.token}"
    async with Client(server) as browser:
        answer = await login(browser, server.token)
        assert answer.json()["name"] == "ana"
        assert answer.json()["role"] == "admin"
        cookie = SimpleCookie(answer.headers["set-cookie"])[server.guard.cookie]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Strict", "/", "")
        assert server.token not in answer.headers["set-cookie"]
        me = (await browser.get("me")).json()
        assert (me["name"], me["csrf"]) == ("ana", answer.json()["csrf"])


async def test_a_wrong_key_opens_no_session(server: Serving) -> None:
    async with Client(server) as browser:
        answer = await browser.post("session", json={"key": "wrong"})
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


async def test_without_the_csrf_token_a_session_changes_nothing(server: Serving, admin: Client) -> None:
    item = await admin.waiting("refunds")
    async with Client(server) as browser:
        await login(browser, server.token)
        for wrong in ("", "x", "0" * 40, "caf\u00e9"):
            browser.headers["X-CSRF-Token"] = wrong
            refused = await browser.decide(item, "approve")
            assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
            assert (await browser.post("halts", json={"scope": "*", "reason": "x"})).status_code == 403
        assert (await browser.get("inbox")).status_code == 200
        del browser.headers["X-CSRF-Token"]
        assert (await browser.post("session/end")).json()["code"] == "csrf"
        browser.headers["X-CSRF-Token"] = (await browser.get("me")).json()["csrf"]
        assert (await browser.decide(item, "approve")).status_code == 200


async def test_one_session_s_token_is_no_other_s(server: Serving, people: tuple[Users, dict[str, str]]) -> None:
    async with Client(server) as one, Client(server) as two:
        first, second = await login(one, server.token), await login(two, people[1]["admin"])
        assert first.json()["csrf"] != second.json()["csrf"]
        two.headers["X-CSRF-Token"] = first.json()["csrf"]
        assert (await two.post("halts", json={"scope": "*", "reason": "x"})).json()["code"] == "csrf"


async def test_logging_out_ends_the_session(server: Serving) -> None:
    async with Client(server) as browser:
        await login(browser, server.token)
        cookie = dict(browser.cookies)
        answer = await browser.post("session/end")
        assert "Max-Age=0" in answer.headers["set-cookie"]
        browser.cookies.update(cookie)
        assert (await browser.get("me")).status_code == 401


async def test_a_user_who_is_removed_is_out_at_once(server: Serving, people: tuple[Users, dict[str, str]]) -> None:
    users = people[0]
    key = users.add("gone", "admin")
    async with Client(server) as browser, Client(server, key) as program:
        await login(browser, key)
        users.remove("gone")
        assert (await browser.get("me")).status_code == 401
        assert (await program.get("me")).status_code == 401


async def test_a_person_s_session_survives_a_restart_and_that_of_the_link_ends_with_its_process(address: str) -> None:
    users = Users(users_path(address))
    key = users.add("ben", "admin")
    cookies: dict[str, dict[str, str]] = {}
    async with serving(address, port=0, token=True) as server:
        port, token = int(server.url.rpartition(":")[2]), server.token
        for who, shown in (("link", token), ("ben", key)):
            async with Client(server) as browser:
                await login(browser, shown)
                assert (await browser.get("me")).json()["link"] is (who == "link")
                cookies[who] = dict(browser.cookies)
    async with serving(address, port=port, token=True) as server:
        for who, status in (("link", 401), ("ben", 200)):
            async with Client(server, cookies=cookies[who]) as browser:
                assert (await browser.get("me")).status_code == status
        async with Client(server, token) as program:
            assert (await program.get("me")).status_code == 401
    users.close()


async def test_a_session_ends_with_its_key(server: Serving, people: tuple[Users, dict[str, str]]) -> None:
    users = people[0]
    keys = [users.add("eva", "admin"), users.new_key("eva")]
    async with Client(server) as one, Client(server) as two:
        await login(one, keys[0])
        await login(two, keys[1])
        users.revoke(keys[0])
        assert (await one.get("me")).status_code == 401
        assert (await one.post("halts", json={"scope": "*", "reason": "x"})).status_code == 401
        assert (await two.get("me")).status_code == 200
        users.logout("eva")
        assert (await two.get("me")).status_code == 401


@pytest.mark.parametrize("by", ["key", "link"])
async def test_a_page_that_nobody_touches_keeps_no_session_alive(by: str) -> None:
    """Also not by its streams, which ask again and again whether they may."""
    clock = Time()
    users = Users(clock=clock)
    key = users.add("ana", "viewer")
    async with (
        serving("memory://", port=0, users=users, token=True, session_idle=600) as server,
        Client(server) as browser,
    ):
        await login(browser, key if by == "key" else server.token)
        for _ in range(9):
            clock.at += 100
            assert (await browser.get("me")).status_code == 200
        for _ in range(5):
            clock.at += 100
            assert (await browser.get("me", headers={"X-Idle": "1"})).status_code == 200
        clock.at += 101
        assert (await browser.get("me")).status_code == 401
    users.close()


@pytest.mark.parametrize("by", ["key", "link"])
async def test_a_session_ends_after_its_life_also_in_use(by: str) -> None:
    clock = Time()
    users = Users(clock=clock)
    key = users.add("ana", "viewer")
    async with (
        serving("memory://", port=0, users=users, token=True, session_life=1000) as server,
        Client(server) as browser,
    ):
        answer = await login(browser, key if by == "key" else server.token)
        assert "Max-Age=1000;" in answer.headers["set-cookie"]
        for _ in range(9):
            clock.at += 100
            assert (await browser.get("me")).status_code == 200
        clock.at += 101
        assert (await browser.get("me")).status_code == 401
    users.close()


# A link


async def test_a_link_opens_a_session_with_the_token_of_this_start_and_with_nobody_s_key(
    server: Serving, people: tuple[Users, dict[str, str]]
) -> None:
    """Else whoever writes a link lets its reader act under the writer's name (login CSRF)."""
    async with Client(server) as browser:
        for key in (people[1]["admin"], people[0].run_key("r1"), "adj_nothing"):
            refused = await browser.post("session", json={"token": key})
            assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        answer = await browser.post("session", json={"token": server.token})
        assert (answer.status_code, answer.json()["link"]) == (200, True)


@pytest.mark.parametrize("body", [{}, {"key": "a", "token": "b"}, {"token": ""}])
async def test_a_session_is_asked_for_with_one_thing(server: Serving, body: dict[str, str]) -> None:
    async with Client(server) as browser:
        assert (await browser.post("session", json=body)).status_code == 422


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, True), ({"origins": ["https://ops.example.com"]}, False), ({"users": 1}, False), ({"token": True, "users": 1}, True),
        ({"token": True, "origins": ["https://ops.example.com"]}, True), ({"token": False}, False),
    ],
)  # fmt: skip
async def test_a_link_that_may_do_everything_is_made_only_for_somebody_alone(given: dict[str, Any], made: bool) -> None:
    users = Users()
    if given.pop("users", 0):
        users.add("ana", "admin")
    async with serving("memory://", port=0, users=users, **given) as server:
        assert bool(server.token) is made
        assert ("#token=" in server.link) is made
        assert not made or server.link.startswith("http://127.0.0.1:"), (
            "the token is for nobody who reads the public name"
        )
    users.close()


async def test_a_cookie_of_another_server_on_this_machine_is_another_cookie(server: Serving) -> None:
    async with serving("memory://", programs(), port=0) as other:
        assert server.guard.cookie != other.guard.cookie


def test_behind_https_the_cookie_goes_nowhere_else(tmp_path: Path) -> None:
    guard = Guard(["https://ops.example.com"])
    header = set_cookie(guard, "x")
    assert header.startswith("__Host-adjourn=x; ")
    assert header.endswith("; HttpOnly; SameSite=Strict; Secure")
    guard.users.close()


def test_behind_a_proxy_a_cookie_is_for_https_and_at_home_it_is_not() -> None:
    guard = Guard(["https://ops.example.com", "http://127.0.0.1:8765"])
    assert set_cookie(guard, "x", "ops.example.com").endswith("; Secure")
    assert set_cookie(guard, "x", "OPS.example.com:443").endswith("; Secure")
    assert "Secure" not in set_cookie(guard, "x", "127.0.0.1:8765")
    guard.users.close()


# Wrong keys


async def test_wrong_keys_are_few_and_a_good_one_is_always_let_in(
    server: Serving, people: tuple[Users, dict[str, str]]
) -> None:
    async with Client(server) as browser:
        answers = [(await browser.post("session", json={"key": f"guess{n}"})).status_code for n in range(15)]
        assert answers[:10] == [401] * 10
        assert answers[-1] == 429
        assert (await browser.get("me")).status_code == 401
        other = await browser.post("session", json={"key": "adj_somebody else's typing error"})
        assert other.status_code == 401, "another beginning is another person's"
        for key in people[1].values():
            assert (await browser.post("session", json={"key": key})).status_code == 200


async def test_a_thousand_different_guesses_are_refused_too_and_lock_nobody_out(
    server: Serving, people: tuple[Users, dict[str, str]]
) -> None:
    async with Client(server) as browser:
        guesses = [(await browser.post("session", json={"key": f"{n:04}"})).status_code for n in range(300)]
        assert set(guesses) == {401, 429}
        assert guesses.count(401) < 100
        assert (await browser.post("session", json={"key": people[1]["viewer"]})).status_code == 200


async def test_behind_a_proxy_each_client_has_its_own_limits_and_its_own_line_in_the_audit() -> None:
    users = Users()
    key = users.add("ana", "admin")
    async with (
        serving("memory://", programs(), port=0, users=users, rate=5, proxies=["127.0.0.1"]) as server,
        Client(server, headers={"X-Forwarded-For": "203.0.113.66"}) as eve,
        Client(server, key, headers={"X-Forwarded-For": "6.6.6.6, 203.0.113.7"}) as ana,
    ):
        assert 429 in [(await eve.get("me")).status_code for _ in range(40)]
        assert (await ana.get("me")).status_code == 200
        await ana.start("talker")
        [entry] = (await ana.get("audit")).json()["items"]
        assert entry["origin"].endswith(" http 203.0.113.7")
    users.close()


async def test_without_a_trusted_proxy_nobody_chooses_their_own_address(server: Serving, admin: Client) -> None:
    await admin.post("runs", json={"agent": "talker", "input": "x"}, headers={"X-Forwarded-For": "6.6.6.6"})
    [entry] = (await admin.get("audit")).json()["items"]
    assert entry["origin"].endswith(" http 127.0.0.1")


# Only https


@pytest.mark.parametrize(
    ("host", "sent"),
    [
        ("ops.example.com", True), ("OPS.example.com:443", True), ("127.0.0.1:8765", False), ("localhost:8443", False),
        ("other.example", False),
    ],
)  # fmt: skip
def test_a_public_name_that_is_https_stays_https(host: str, sent: bool) -> None:
    """On a loopback name it would take every other server of this machine along."""
    guard = Guard(["https://ops.example.com", "http://127.0.0.1:8765", "https://localhost:8443"])
    assert bool(transport_security(guard, host)) is sent
    guard.users.close()


async def test_every_answer_of_such_a_name_says_so_also_a_refusal() -> None:
    users = Users()
    users.add("ana", "admin")
    async with (
        serving("memory://", port=0, users=users, origins=["https://ops.example.com"]) as server,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port_of(server)}", trust_env=False) as client,
    ):
        for path in ("/api/v1/me", "/api/v1/nothing", "/", "/a/b"):
            answer = await client.get(path, headers={"Host": "ops.example.com"})
            assert answer.headers["strict-transport-security"] == "max-age=31536000"
            assert "strict-transport-security" not in (await client.get(path)).headers
    users.close()


def port_of(server: Serving) -> int:
    return next(int(host.rpartition(":")[2]) for host in server.guard.hosts if host.startswith("127.0.0.1:"))


async def test_where_the_runs_are_is_told_to_who_may_control_them(tmp_path: Path) -> None:
    users = Users()
    keys = {role: users.add(role, role) for role in ("viewer", "approver", "operator", "admin")}
    path = tmp_path / "it's here.db"
    async with serving(f"sqlite:///{path}", users=users, port=0) as up:
        told: dict[str, str] = {}
        for role, key in keys.items():
            async with Client(up, key) as client:
                told[role] = (await client.get("me")).json()["store"]
    assert told == {"viewer": "", "approver": "", "operator": str(path), "admin": str(path)}
    users.close()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("memory://", ""),
        ("postgresql://ana:hunter2@db.example/runs", "postgresql://ana@db.example/runs"),
        ("sqlite:////var/lib/runs.db", "/var/lib/runs.db"),
    ],
)
def test_the_place_of_the_runs_is_shown_without_a_password(address: str, shown: str) -> None:
    assert shown_store(address) == shown
