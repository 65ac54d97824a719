"""What a process tells systemd: that it is ready, alive, and stopping."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.logs import ours

from adjourn.runtime.supervisor import Supervisor

LIMIT = 30.0


class Ear:
    """The socket of a supervisor."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self._socket.settimeout(LIMIT)

    def hear(self) -> list[str]:
        """The next message, by lines."""
        return self._socket.recv(4096).decode().splitlines()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    made = Ear(str(tmp_path / "notify"))
    yield made
    made.close()


def test_it_is_told_when_the_process_is_ready_and_when_it_stops(ear: Ear) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": ear.address})
    supervisor.ready("advances\nSTATUS=x " + "y" * 500)
    ready, status = ear.hear()
    assert ready == "READY=1"
    assert status.startswith("STATUS=advances STATUS=x y") and len(status) < 250
    supervisor.stopping()
    assert ear.hear()[0] == "STOPPING=1"


def test_an_address_that_is_no_file_is_reached() -> None:
    ear = Ear(f"@adjourn-test-{os.getpid()}")
    try:
        Supervisor({"NOTIFY_SOCKET": ear.address}).ready("works")
        assert ear.hear() == ["READY=1", "STATUS=works"]
    finally:
        ear.close()


def test_what_tools_start_does_not_know_the_supervisor(ear: Ear) -> None:
    environment = {"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid()), "A": "b"}
    assert Supervisor(environment).every == 3.0
    assert environment == {"A": "b"}


@pytest.mark.parametrize(
    "environment",
    [{}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}],
    ids=["none", "no number", "another process"],
)
def test_who_does_not_ask_is_not_told_that_it_is_alive(environment: dict[str, str]) -> None:
    assert Supervisor(environment).every == 0


@pytest.mark.anyio
async def test_as_long_as_the_loop_turns_it_is_told_so_and_then_no_more(ear: Ear) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": "30000"})
    async with supervisor.watched():
        for _ in range(3):
            assert await asyncio.to_thread(ear.hear) == ["WATCHDOG=1"]
    supervisor.stopping()
    said: list[str] = []
    while "STOPPING=1" not in said:
        said = ear.hear()
        assert said[0] in ("WATCHDOG=1", "STOPPING=1")
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "adjourn-watchdog"]


def test_a_supervisor_that_is_gone_is_no_reason_to_fail(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Supervisor({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready("works")
    assert ["READY=1" in record.getMessage() for record in ours(caplog)] == [True]


@pytest.mark.anyio
async def test_without_a_supervisor_nothing_is_said() -> None:
    supervisor = Supervisor({})
    async with supervisor.watched():
        supervisor.ready("works")
        supervisor.stopping()
