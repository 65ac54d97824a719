"""What every verb of a runtime stands on: the store, what advances runs here, and what the audit calls
this process."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from adjourn.errors import Misused
from adjourn.stores.protocol import Store

if TYPE_CHECKING:
    from adjourn.runtime.run import Run
    from adjourn.runtime.run_worker import RunWorker

_SERVED: ContextVar[str] = ContextVar("adjourn_served", default="")


@contextmanager
def serving(request: str) -> Generator[None]:
    """Whatever is said within, by this task, comes from this request."""
    token = _SERVED.set(request)
    try:
        yield
    finally:
        _SERVED.reset(token)


class OpenRuntime:
    """A runtime, as far as its verbs go. Raises `Misused` before it is opened."""

    _process = ""
    _store: Store | None = None
    _worker: "RunWorker | None" = None

    def __init__(self) -> None:
        self._process = f"{socket.gethostname()}:{os.getpid()}"

    @property
    def origin(self) -> str:
        """The machine and the process; while a request is served, also where it came from."""
        served = _SERVED.get()
        if served:
            return f"{self._process} {served}"
        return self._process

    @property
    def store(self) -> Store:
        """The store."""
        if self._store is None:
            raise Misused("open the runtime first: `async with Runtime(...) as rt:`")
        return self._store

    @property
    def worker(self) -> "RunWorker":
        """What advances runs in this process."""
        if self._worker is None:
            raise Misused("open the runtime first: `async with Runtime(...) as rt:`")
        return self._worker

    if TYPE_CHECKING:

        async def get(self, run_id: str) -> Run[Any]:
            """See `Runtime.get`."""
            ...
