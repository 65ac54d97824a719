"""Two servers on one PostgreSQL: one login, and whatever is revoked at one is dead at the other with the next request."""

from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest
from tests.server.world import Client
from tests.stores.postgres.server import PostgresServer

from adjourn.server import Serving, Users, serving

ORIGIN = "http://ops.test"


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.fresh()


@pytest.fixture
async def pair(address: str) -> AsyncIterator[tuple[Serving, Serving]]:
    """Behind one name, as a balancer would have them."""
    options: dict[str, Any] = {"port": 0, "origins": [ORIGIN], "work": False}
    async with serving(address, **options) as one, serving(address, **options) as two:
        yield one, two


def client(server: Serving, key: str = "") -> Client:
    found = Client(server, key, headers={"Host": "ops.test"})
    local = next(origin for origin in server.guard.origins if "127.0.0.1" in origin)
    found.base_url = f"{local}/api/v1/"
    return found


async def test_one_login_is_good_at_both_and_ends_at_both(address: str, pair: tuple[Serving, Serving]) -> None:
    with closing(Users(address)) as users:
        key = users.add("ana", "admin")
    async with client(pair[0]) as one, client(pair[1]) as two:
        answer = await one.post("session", json={"key": key})
        cookie = f"{pair[0].guard.cookie}={one.cookies[pair[0].guard.cookie]}"
        two.headers.update({"Cookie": cookie, "X-CSRF-Token": answer.json()["csrf"]})
        assert (await two.get("me")).json()["name"] == "ana"
        assert (await two.post("session/end")).status_code == 200
        assert (await one.get("me")).status_code == 401
        assert (await two.get("me")).status_code == 401


async def test_what_is_changed_at_one_holds_at_the_other_at_once(address: str, pair: tuple[Serving, Serving]) -> None:
    with closing(Users(address)) as users:
        key = users.add("ana", "admin")
    async with client(pair[0], key) as one, client(pair[1]) as two:
        made = (await one.post("people", json={"name": "ben", "role": "viewer"})).json()
        two.headers["Authorization"] = f"Bearer {made['key']}"
        assert (await two.get("me")).json()["role"] == "viewer"
        assert (await two.get("people")).status_code == 403
        await one.post("people/change", json={"name": "ben", "role": "admin", "groups": ["leads"]})
        assert [person["name"] for person in (await two.get("people")).json()["items"]] == ["ana", "ben"]
        assert (await one.post("keys/revoke", json={"id": made["id"]})).status_code == 200
        assert (await two.get("me")).status_code == 401
        log = (await one.get("audit", params={"security": True})).json()["items"]
        assert {"add user", "change user", "revoke key"} <= {line["verb"] for line in log}


async def test_nobody_comes_in_while_users_cannot_be_read(
    address: str, pair: tuple[Serving, Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjourn.errors import StoreError

    with closing(Users(address)) as users:
        key = users.add("ana", "admin")
    async with client(pair[0], key) as one:
        assert (await one.get("me")).status_code == 200

        def gone(_: Users) -> Any:
            raise StoreError("the database is away")

        monkeypatch.setattr(Users, "_look", gone)
        assert (await one.get("me")).status_code >= 500
