"""GET never changes state (G22), and neither does what a scanner, a foreign page or a rebound name sends: every row is compared."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.place import DOING, LOOKING, Place, a_place
from tests.server.world import Client, at

from adjourn.server.api.operations import OPERATIONS


@pytest.fixture
async def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with a_place(folder, monkeypatch) as found:
        yield found


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("who", ["admin", "run", "nobody"])
async def test_looking_changes_nothing(place: Place, method: str, who: str) -> None:
    async with place.client(who) as client:
        for operation in LOOKING:
            before = place.rows()
            answer = await client.request(method, place.path(operation))
            assert place.rows() == before, operation.name
            if who == "admin":
                assert answer.status_code == 200, operation.name


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_looking_at_what_is_nowhere_changes_nothing(place: Place, method: str) -> None:
    before = place.rows()
    for operation in LOOKING:
        path = operation.path.replace("{run_id}", "nobody").replace("{ref}", at("nobody:1?0"))[1:]
        assert (await place.admin.request(method, f"{path}?x=1")).status_code in (404, 422)
    assert place.rows() == before


async def test_a_mail_scanner_that_opens_every_link_changes_nothing(place: Place) -> None:
    """It follows the link of a notification, guesses others, and may have somebody's session."""
    before = place.rows()
    link, api = f"{place.serving.url}/inbox/{at(place.item['ref'])}", f"{place.serving.url}/api/v1"
    guesses = [
        link,
        f"{link}/approve",
        f"{link}?decision=approve",
        f"{place.serving.url}/approve",
        f"{api}/openapi.json",
    ]
    guesses += [f"{api}/{place.path(o)}" for o in DOING]
    async with place.client("nobody") as nobody:
        for client in (nobody, place.admin):
            for url in guesses:
                for method in ("GET", "HEAD", "OPTIONS"):
                    answer = await client.request(method, url)
                    assert answer.status_code in (200, 401, 404, 405), (method, url)
    assert place.rows() == before


@pytest.mark.parametrize("header", [
    {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
], ids=lambda h: ", ".join(f"{k}={v}" for k, v in h.items()))  # fmt: skip
async def test_no_operation_is_done_for_a_foreign_page_whatever_it_knows(place: Place, header: dict[str, str]) -> None:
    before = place.rows()
    for operation in OPERATIONS:
        answer = await place.ask(place.admin, operation, headers=header)
        assert (operation.name, answer.status_code) == (operation.name, 403)
        assert answer.json()["code"] in ("wrong_origin", "wrong_host")
    assert place.rows() == before


async def test_a_session_without_its_token_does_nothing_at_all(place: Place) -> None:
    async with Client(place.serving) as browser:
        assert (await browser.post("session", json={"key": place.keys["admin"]})).status_code == 200
        before = place.rows()
        for operation in DOING:
            if operation.right != "none":
                answer = await place.ask(browser, operation)
                assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    assert place.rows() == before


async def test_a_request_that_is_wrong_in_any_way_changes_nothing(place: Place) -> None:
    before = place.rows()
    for operation in DOING:
        if operation.body is not None:
            for content, kind in (
                (b"{", "application/json"),
                (b'{"zzz": 1}', "application/json"),
                (b"{}", "text/plain"),
            ):
                answer = await place.admin.post(place.path(operation), content=content, headers={"Content-Type": kind})
                assert answer.status_code in (400, 415, 422)
    assert place.rows() == before
