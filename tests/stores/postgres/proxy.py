"""A way to a PostgreSQL server that breaks at one message, before or after the server has had it."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

QUERY, READY = b"Q", b"Z"
LATER = 0.05
"""Seconds after which the server gets what is late."""


class Cut(StrEnum):
    """What happens to a message."""

    BEFORE = "before"
    """The server never gets it."""
    AFTER = "after"
    """The server has done it, and nobody hears of that."""
    LATE = "late"
    """The client is told that the connection is gone; then the server gets it."""


class Proxy:
    """Counts the messages of all connections, and cuts the one of number `at`."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname and parts.port
        self._server = parts.hostname, parts.port
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.address = (
            parts._replace(netloc=f"adjourn@127.0.0.1:{port}").geturl() + "?sslmode=disable&gssencmode=disable"
        )
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.count = 0
        self._at = -1
        self._how = Cut.BEFORE
        self.cut = False
        self.seen: Callable[[bytes], None] = lambda message: None

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._sockets:
            _end(each)
        for thread in self._threads:
            thread.join()

    def plan(self, at: int, how: Cut) -> None:
        """From now on messages are counted anew, and number `at` (from 0) is cut."""
        with self._lock:
            self.count, self._at, self._how, self.cut = 0, at, how, False

    def lead_to(self, port: int) -> None:
        """From now on new connections go to another server of this machine."""
        self._server = self._server[0], port

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._server)
            except ConnectionRefusedError:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets += [client, server]
            way = _Way(client, server)
            self._start(self._forth, way)
            self._start(self._back, way)

    def _forth(self, way: "_Way") -> None:
        with suppress(OSError):
            way.server.sendall(_startup(way.client))
            while True:
                message = _message(way.client)
                if message[:1] != QUERY or not self._is_cut(message):
                    way.server.sendall(message)
                    continue
                self._break(way, message)
                return
        _end(way.server)

    def _is_cut(self, message: bytes) -> bool:
        with self._lock:
            self.seen(message)
            here = self.count == self._at
            self.count += 1
            self.cut = self.cut or here
            return here

    def _break(self, way: "_Way", message: bytes) -> None:
        if self._how is Cut.AFTER:
            way.silent.set()
            way.server.sendall(message)
            way.answered.wait(10)
        _end(way.client)
        if self._how is Cut.LATE:
            threading.Event().wait(LATER)
            way.silent.set()
            way.server.sendall(message)
            way.answered.wait(10)
        _end(way.server)

    def _back(self, way: "_Way") -> None:
        with suppress(OSError):
            while True:
                message = _message(way.server)
                if not way.silent.is_set():
                    way.client.sendall(message)
                elif message[:1] == READY:
                    way.answered.set()
        way.answered.set()
        _end(way.client)


class _Way:
    """One connection, through."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.silent, self.answered = threading.Event(), threading.Event()


def _startup(client: socket.socket) -> bytes:
    size = _exactly(client, 4)
    return size + _exactly(client, int.from_bytes(size, "big") - 4)


def _message(source: socket.socket) -> bytes:
    head = _exactly(source, 5)
    return head + _exactly(source, int.from_bytes(head[1:], "big") - 4)


def _exactly(source: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = source.recv(count - len(found))
        if not part:
            raise OSError("it is closed")
        found += part
    return found


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
