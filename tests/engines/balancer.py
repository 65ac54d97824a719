"""A balancer for tests: connections go to the first of some ports of this machine that takes them."""

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

SIZE = 65536


class Balancer:
    """Listens on a port of its own, from `with` to the end of it."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        _start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for each in (self._listening, *self._open):
            _end(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = self._connected()
            if server is None:
                _end(client)
                continue
            self._open |= {client, server}
            _start(lambda client=client, server=server: _pass_on(client, server))
            _start(lambda client=client, server=server: _pass_on(server, client))

    def _connected(self) -> socket.socket | None:
        for port in self._ports:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", port), timeout=None)
        return None


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while found := source.recv(SIZE):
            target.sendall(found)
    _end(source)
    _end(target)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
