"""Takes connections in: each is counted before a byte of it is read, also before its TLS
handshake."""

import asyncio
import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable

from adjourn.server.connections import ConnectionPlace, Connections

BACKLOG = 2048
"""Connections that the system keeps until they are taken in."""
BATCH = 16
"""So many are taken in before others have their turn."""
PAUSE = 0.1
"""Seconds to wait when there is no file for a new connection."""
NOTED = 60.0
"""Seconds between two lines of the log about that."""
FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_WORDS = b"too many connections are open; try it again\n"
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: text/plain\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_WORDS), _WORDS)
)

log = logging.getLogger("adjourn.server")


class Acceptor:
    """Accepts connections on a socket that is bound, until it is cancelled."""

    def __init__(
        self,
        listener: socket.socket,
        connections: Connections,
        protocol: Callable[[ConnectionPlace], asyncio.Protocol],
        tls: ssl.SSLContext | None,
        handshake_seconds: float,
    ) -> None:
        """`protocol` makes what speaks with a connection; `tls`: it begins with a handshake, which
        takes at most so long."""
        self._listener, self._connections, self._protocol = listener, connections, protocol
        self._tls, self._seconds = tls, handshake_seconds
        self._beginning: set[asyncio.Task[None]] = set()
        self._noted = 0.0

    async def run(self) -> None:
        """Take in whoever comes."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)
        taken = 0
        try:
            while True:
                try:
                    connection, address = await loop.sock_accept(self._listener)
                except OSError as e:
                    await self._not_accepted(e)
                    continue
                self._take(connection, address[0])
                taken += 1
                if taken % BATCH == 0:
                    await asyncio.sleep(0)
        finally:
            for task in self._beginning:
                task.cancel()
            await asyncio.gather(*self._beginning, return_exceptions=True)

    def _take(self, connection: socket.socket, host: str) -> None:
        place = self._connections.enter(host, connection.close)
        if place is None:
            self._turn_away(connection)
            return
        task = asyncio.get_running_loop().create_task(
            self._begin(connection, place), name="adjourn-connection"
        )
        place.end = task.cancel
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _begin(self, connection: socket.socket, place: ConnectionPlace) -> None:
        """Make it a transport. Whoever breaks off or takes too long is gone, without a word in the
        log."""
        loop = asyncio.get_running_loop()
        seconds = self._seconds if self._tls else None
        is_up = False
        try:
            await loop.connect_accepted_socket(
                lambda: self._protocol(place),
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=seconds,
            )
            is_up = True
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            if not is_up:
                self._connections.leave(place)
                loop.call_soon(connection.close)  # a transport that was made of it closes it first

    def _turn_away(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            if self._tls is None:
                connection.send(BUSY)
        except OSError:
            pass
        finally:
            connection.close()

    async def _not_accepted(self, error: OSError) -> None:
        if error.errno not in FULL:
            return  # a client that has gone before it was taken in
        now = time.monotonic()
        if now - self._noted > NOTED:
            self._noted = now
            log.error(
                "no file is left for a new connection: %s; raise the limit of open files", error
            )
        self._connections.give_up_one()
        await asyncio.sleep(PAUSE)
