"""How often a client may ask: so many a second, and a burst; whoever asks too often hurts nobody else."""

import asyncio

import pytest
from tests.server.world import Client, Time, programs

from adjourn.server import serving
from adjourn.server.problem import Problem
from adjourn.server.rate_limit import KNOWN, RateLimit, client_of


def allowed(limit: RateLimit, client: str, times: int) -> int:
    count = 0
    for _ in range(times):
        try:
            limit.take(client)
            count += 1
        except Problem as e:
            assert (e.status, e.code) == (429, "too_many_requests")
            assert int(e.headers["Retry-After"]) >= 1
    return count


def test_a_burst_and_then_so_many_a_second() -> None:
    clock = Time()
    limit = RateLimit(10, 20, now=clock)
    assert allowed(limit, "a", 100) == 20
    assert allowed(limit, "b", 5) == 5  # somebody else
    clock.at += 1.0
    assert allowed(limit, "a", 100) == 9  # the last refusal counts as well: who does not stop does not get more
    clock.at += 60
    assert allowed(limit, "a", 100) == 20


def test_it_remembers_only_so_many() -> None:
    limit = RateLimit(1, 1, now=Time())
    for n in range(KNOWN + 100):
        limit.take(f"client {n}")
    assert len(limit._buckets) == KNOWN


@pytest.mark.parametrize(("host", "client"), [
    ("1.2.3.4", "1.2.3.4"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"), ("::1", "::1"),
    ("", ""), ("unix", "unix"),
])  # fmt: skip
def test_who_a_limit_is_for(host: str, client: str) -> None:
    assert client_of(host) == client


async def test_a_server_refuses_a_flood_says_when_to_come_back_and_goes_on() -> None:
    async with serving("memory://", programs(), port=0, rate=5) as server, Client(server, server.token) as client:
        answers = [await client.get("me") for _ in range(40)]
        refused = [a for a in answers if a.status_code == 429]
        assert len(refused) >= 20
        assert all(a.json()["code"] == "too_many_requests" and a.headers["retry-after"] for a in refused)
        assert all(a.headers["content-security-policy"] for a in refused)
        async with asyncio.timeout(60):
            while (await client.get("me")).status_code != 200:
                await asyncio.sleep(0.5)
