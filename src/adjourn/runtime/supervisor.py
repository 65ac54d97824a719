"""Tells systemd how this process is: ready, stopping, and alive (`Type=notify`, `WatchdogSec=`).
Without systemd nothing is told, and nothing costs anything."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager

log = logging.getLogger("adjourn.supervisor")

PATIENCE = 1.0
"""Seconds that a supervisor has to take a message."""
SOCKET, INTERVAL, WHO = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"


class Supervisor:
    """Who started this process, and wants to hear from it.

    It takes its variables out of the environment: what tools start must not speak in its name.

    Args:
        environment: where the supervisor left its address; without one, that of this process.
    """

    def __init__(self, environment: MutableMapping[str, str] | None = None) -> None:
        found = os.environ if environment is None else environment
        self._address = found.pop(SOCKET, "")
        every, who = found.pop(INTERVAL, ""), found.pop(WHO, "")
        self.every = 0.0
        """Seconds within which it must hear that this process is alive; 0: it does not ask."""
        if every.isdigit() and who in ("", str(os.getpid())):
            self.every = int(every) / 1e6

    def ready(self, status: str) -> None:
        """The process does its work.

        Args:
            status: what it does, for `systemctl status`.
        """
        self._say("READY=1", f"STATUS={_line(status)}")

    def stopping(self) -> None:
        """The process takes nothing new, and ends."""
        self._say("STOPPING=1", "STATUS=stopping: finishing what is in flight")

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[None]:
        """Say again and again that the event loop turns, as long as it does. A store that is away
        is no reason to be restarted: nothing is asked of it."""
        if not self._address or not self.every:
            yield
            return
        telling = asyncio.get_running_loop().create_task(self._tell(), name="adjourn-watchdog")
        try:
            yield
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self) -> None:
        while True:
            self._say("WATCHDOG=1")
            await asyncio.sleep(self.every / 3)

    def _say(self, *lines: str) -> None:
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):  # a name that is in no file system
            address = "\0" + address[1:]
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
                to.settimeout(PATIENCE)  # the event loop waits for nobody for long
                to.connect(address)
                to.sendall("\n".join(lines).encode())
        except OSError as e:
            log.warning("the supervisor could not be told %s: %s", lines[0], e)


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
