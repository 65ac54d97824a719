"""From where a word comes, for the audit: this process, and the request that it serves."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_SERVED: ContextVar[str] = ContextVar("adjourn_served", default="")


class HasOrigin:
    """What the audit calls this process."""

    _process: str = ""

    def __init__(self) -> None:
        self._process = f"{socket.gethostname()}:{os.getpid()}"

    @property
    def origin(self) -> str:
        """The machine and the process; while a request is served, also where it came from."""
        served = _SERVED.get()
        if served:
            return f"{self._process} {served}"
        return self._process


@contextmanager
def serving(request: str) -> Generator[None]:
    """Whatever is said within, by this task, comes from this request."""
    token = _SERVED.set(request)
    try:
        yield
    finally:
        _SERVED.reset(token)
