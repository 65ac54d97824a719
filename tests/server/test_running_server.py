"""Serving: where it listens, what it refuses to begin with, and that it ends when it is told to."""

import signal
import socket

import pytest
from tests.server.process import Process
from tests.server.test_streams import up
from tests.server.world import Client, programs

from adjourn.errors import InvalidDefinition, Misused
from adjourn.server import Serving, Users, serving
from adjourn.server.running_server import _bound


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
async def test_where_others_can_reach_it_there_must_be_users(host: str) -> None:
    with pytest.raises(InvalidDefinition, match="adjourn user add"):
        async with serving("memory://", host=host, port=0):
            pass


async def test_every_address_is_no_address_that_people_can_type() -> None:
    users = Users()
    users.add("ana", "admin")
    with pytest.raises(InvalidDefinition, match="origins"):
        async with serving("memory://", host="0.0.0.0", port=0, users=users):
            pass
    users.close()


async def test_for_others_there_is_no_token_and_only_its_own_name_is_answered() -> None:
    users = Users()
    key = users.add("ana", "admin")
    origins = ["https://ops.example.com"]
    async with serving("memory://", host="0.0.0.0", port=0, users=users, origins=origins) as server:
        assert (server.token, server.link) == ("", "https://ops.example.com/")
        assert server.guard.cookie.startswith("__Host-")
        assert server.guard.hosts == {"ops.example.com", "ops.example.com:443"}
        assert server.guard.recognise(key).name == "ana"
    users.close()


async def test_a_port_that_is_taken_is_said_to_be(server: Serving) -> None:
    with pytest.raises(Misused, match="another port"):
        async with serving("memory://", port=int(server.url.rpartition(":")[2])):
            pass


def test_answers_are_not_held_back_for_company() -> None:
    users = Users()
    with _bound("127.0.0.1", 0, users) as sock:
        assert sock.proto == socket.IPPROTO_TCP  # asyncio turns Nagle's algorithm off for what it knows to be TCP
    users.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_ends_when_it_is_told_to_also_while_somebody_watches_and_a_run_works(
    address: str, number: int
) -> None:
    server = await Process.begin(address=address)
    async with Client(up(server), server.up["token"]) as admin:
        run = await admin.start("talker")
        async with admin.events(f"runs/{run}/events") as events, admin.events("inbox/events") as inbox:
            await events.until(lambda e: e.kind == "live")
            await inbox.until(lambda e: e.kind == "inbox")
            assert await server.end(number) == 0
    async with serving(address, programs(), port=0) as again, Client(again, again.token) as admin:
        await admin.until(run, "completed")  # it was handed back, and goes on
