"""No web page can act on it (G30): foreign hosts and origins are refused, each by itself; nobody frames it, nothing inline runs."""

import asyncio

import pytest
from tests.server.world import Client, at

from adjourn.errors import InvalidDefinition
from adjourn.server import Guard, Serving
from adjourn.server.request_checks import is_loopback

FOREIGN_HOSTS = [
    "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "127.0.0.1.nip.io:{port}", "",
    "127.0.0.1:{port}.evil.example", "127.1:{port}", "0.0.0.0:{port}", "2130706433:{port}", "[::ffff:127.0.0.1]:{port}",
    "localhost.:{port}",
    "evil@127.0.0.1:{port}", "127.0.0.1:{port}@evil.example", "127.0.0.1:0{port}", "127.0.0.1:{port}, evil.example", "169.254.169.254",
]  # fmt: skip
FOREIGN_ORIGINS = [
    "null", "http://evil.example", "https://evil.example", "http://127.0.0.1", "http://localhost", "http://127.0.0.1:1", "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.example", "http://evil.example:{port}", "file://", "chrome-extension://abc", "http://127.0.0.1:{port}/x",
    "",
    "http://127.0.0.1:{port} http://evil.example", "http://[::ffff:127.0.0.1]:{port}",
]  # fmt: skip


def port_of(server: Serving) -> str:
    return server.url.rpartition(":")[2]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_a_host_that_is_not_ours_gets_nothing(server: Serving, admin: Client, host: str) -> None:
    """DNS rebinding: a page of another name that resolves to this machine."""
    headers = {"Host": host.format(port=port_of(server))}
    for path in ("me", "runs", "openapi.json", f"{server.url}/", f"{server.url}/inbox"):
        answer = await admin.get(path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "wrong_host")
    assert (await admin.post("halts", json={"scope": "*", "reason": "x"}, headers=headers)).status_code == 403
    assert (await admin.get("halts")).json()["items"] == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
async def test_the_names_of_this_machine_are_ours(server: Serving, admin: Client, name: str) -> None:
    headers = {"Host": f"{name}:{port_of(server)}", "Origin": f"http://{name.lower()}:{port_of(server)}"}
    assert (await admin.get("me", headers=headers)).status_code == 200


async def test_two_host_headers_are_none(server: Serving) -> None:
    host = server.url.removeprefix("http://")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"GET /api/v1/me HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
    assert (await reader.readline()).split()[1] in (b"400", b"403")
    writer.close()


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_an_origin_that_is_not_ours_changes_nothing(server: Serving, admin: Client, origin: str) -> None:
    item = await admin.waiting("refunds")
    headers = {"Origin": origin.format(port=port_of(server))}
    answers = [
        await admin.post(f"interrupts/{at(item['ref'])}/approve", json={"digest": item["digest"]}, headers=headers),
        await admin.post("halts", json={"scope": "*", "reason": "x"}, headers=headers),
        await admin.post(f"runs/{item['run_id']}/cancel", json={}, headers=headers),
        await admin.post("session", json={"key": server.token}, headers=headers),
        await admin.get("inbox", headers=headers),
    ]
    assert [(a.status_code, a.json()["code"]) for a in answers] == [(403, "wrong_origin")] * 5
    assert all("access-control-allow-origin" not in a.headers for a in answers)
    assert (await admin.get(f"interrupts/{at(item['ref'])}")).json()["status"] == "open"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "cross-origin", ""])
async def test_a_browser_that_says_it_comes_from_elsewhere_is_believed(
    server: Serving, admin: Client, site: str
) -> None:
    answer = await admin.get("inbox", headers={"Sec-Fetch-Site": site})
    assert answer.json()["code"] == "wrong_origin"
    assert (await admin.get("inbox", headers={"Sec-Fetch-Site": "same-origin"})).status_code == 200


async def test_a_preflight_is_not_granted(server: Serving) -> None:
    headers = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-csrf-token",
    }
    async with Client(server) as browser:
        answer = await browser.options("halts", headers=headers)
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_form_of_another_site_cannot_be_sent_here(server: Serving) -> None:
    """What a form can send without being asked for permission: these three kinds, and no header of its own."""
    async with Client(server) as browser:
        await browser.post("session", json={"key": server.token})
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = await browser.post("halts", content=b'{"scope":"*","reason":"x"}', headers={"Content-Type": kind})
            assert answer.status_code in (403, 415)
        assert (await browser.get("halts")).json()["items"] == []


async def test_every_answer_forbids_framing_sniffing_and_inline_script(server: Serving, admin: Client) -> None:
    item = await admin.waiting("refunds")
    answers = [
        await admin.get(path)
        for path in (
            "me",
            "runs/nobody",
            f"runs/{item['run_id']}",
            f"{server.url}/",
            f"{server.url}/console.js",
            "inbox/events?follow=false",
        )
    ]
    answers += [await admin.get("me", headers={"Host": "evil.example"}), await admin.delete("runs")]
    for answer in answers:
        parts = [part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")]
        policy = {name: value for name, value in parts}
        assert (policy["default-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'", "'none'", "'none'")
        assert (policy["script-src"], policy["style-src"], policy["form-action"]) == ("'self'", "'self'", "'none'")
        assert (policy["require-trusted-types-for"], policy["trusted-types"]) == (
            "'script'",
            "adjourn-stream adjourn-push",
        )
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert "server" not in answer.headers


async def test_a_link_in_a_mail_opens_the_page_and_nothing_else_does(server: Serving) -> None:
    async with Client(server) as browser:
        window = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        opened = await browser.get(f"{server.url}/inbox/x", headers=window)
        assert opened.status_code in (200, 404)  # 404: nobody has built the console here
        for dest in ("iframe", "frame", "script", "image", "empty", "object"):
            answer = await browser.get(f"{server.url}/inbox/x", headers={**window, "Sec-Fetch-Dest": dest})
            assert answer.json()["code"] == "wrong_origin"


@pytest.mark.parametrize("origin", ["ops.example.com", "ftp://x", "https://", "https://a/b", "https://u@x", ""])
def test_an_origin_is_written_out(origin: str) -> None:
    with pytest.raises(InvalidDefinition):
        Guard([origin])


def test_a_default_port_may_be_written_or_not() -> None:
    guard = Guard(["https://Ops.example.com", "http://[::1]:8765"])
    assert guard.hosts == {"ops.example.com", "ops.example.com:443", "[::1]:8765"}
    assert guard.origins == {"https://ops.example.com", "http://[::1]:8765"}
    guard.users.close()


LOCAL = ("127.0.0.1", "::1", "[::1]", "localhost", "127.9.9.9")


@pytest.mark.parametrize("host", [*LOCAL, "0.0.0.0", "::", "10.0.0.1", "example.com", ""])
def test_what_only_this_machine_reaches(host: str) -> None:
    assert is_loopback(host) is (host in LOCAL)
