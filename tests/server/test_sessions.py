"""Browsers: a key becomes a session; its cookie cannot be read, its requests must prove that a page of ours made them."""

from http.cookies import SimpleCookie
from pathlib import Path

import httpx
from tests.server.world import Client, programs

from adjourn.server import Guard, Serving, Users, serving
from adjourn.server.auth import set_cookie


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


async def test_a_session_survives_a_restart_of_the_server_and_its_token_does_not(address: str) -> None:
    async with serving(address, port=0) as server:
        port = int(server.url.rpartition(":")[2])
        async with Client(server) as browser:
            await login(browser, server.token)
            cookie = dict(browser.cookies)
        old = server.token
    async with serving(address, port=port) as server, Client(server) as browser:
        browser.cookies.update(cookie)
        assert (await browser.get("me")).json()["role"] == "admin"
        assert (await browser.get("me", headers={"Authorization": f"Bearer {old}"})).status_code == 401


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


async def test_attempts_to_log_in_are_few(server: Serving) -> None:
    async with Client(server) as browser:
        answers = [(await browser.post("session", json={"key": f"guess{n}"})).status_code for n in range(15)]
        assert answers[:10] == [401] * 10
        assert answers[-1] == 429
        assert (await browser.get("me")).status_code == 401
