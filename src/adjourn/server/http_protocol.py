"""HTTP/1.1 as uvicorn speaks it, with deadlines: nobody holds a connection by doing nothing."""

import asyncio
import logging
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adjourn.server.connections import ConnectionPlace, Connections

HEAD_SECONDS = 10.0
"""For the head of a request, from the connection or from the last answer on."""
STALL_SECONDS = 30.0
"""For a client to take any of what is sent to it."""
_SLOW = b"the head of the request did not arrive in time\n"

log = logging.getLogger("adjourn.server.http")
# uvicorn warns of every request that is none; whoever sends those would fill the disk
log.setLevel(logging.ERROR)


class DeadlineProtocol(H11Protocol):
    """One connection. It is closed if the head of a request takes too long, or if the client reads
    nothing of its answer.

    It keeps `place` up to date: whether the connection waits for its client, or works for it.
    """

    def __init__(
        self,
        *,
        connections: Connections,
        place: ConnectionPlace,
        head_seconds: float,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.logger = log
        self._connections, self._place, self._head_seconds = connections, place, head_seconds
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._unsent = 0

    # What happens to a connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._place.end = transport.abort
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        self._await_request()
        super().on_response_complete()  # it may find the next request in what was sent ahead
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        self._connections.leave(self._place)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    # Whose turn it is

    def _look(self) -> None:
        if not self._has_request() or self.transport.is_closing():
            return
        if self._deadline is not None:  # a body has a deadline of its own, where it is read
            self._deadline.cancel()
            self._deadline = None
        if not self.cycle.more_body:
            self._connections.work(self._place)

    def _has_request(self) -> bool:
        """Whether the head of a request is there that is not answered yet."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _await_request(self) -> None:
        self._connections.wait(self._place)
        self._unsent = self.transport.get_write_buffer_size()
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(self._head_seconds, self._too_late)

    def _too_late(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:  # a slow line: it is still taking the last answer
            self._unsent = unsent
            self._deadline = self.loop.call_later(self._head_seconds, self._too_late)
        elif (
            self.transport.is_closing()
            or unsent
            or self.conn.our_state is not h11.IDLE
            or not self._has_begun()
        ):
            self.transport.abort()
        else:
            self._say_why()

    def _has_begun(self) -> bool:
        return bool(self.conn.trailing_data[0])

    def _say_why(self) -> None:
        headers = [
            ("Connection", "close"),
            ("Content-Type", "text/plain"),
            ("Content-Length", str(len(_SLOW))),
        ]
        for event in (
            h11.Response(status_code=408, headers=headers),
            h11.Data(data=_SLOW),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
