"""A command for a run, on its way to the journal: who gives it and from where, signed if there is a key;
and its run woken."""

import os
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from adjourn.core.command_effects import Together
from adjourn.core.records import CancelAsked, Command, PauseAsked
from adjourn.runtime.arguments import has_words
from adjourn.runtime.decision_signer import Signatures
from adjourn.runtime.definition import Definition
from adjourn.stores.protocol import Store

if TYPE_CHECKING:
    from adjourn.runtime.worker_protocol import RunWorker


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


class CommandDelivery(HasOrigin):
    """How `Runtime` delivers commands to runs."""

    programs: dict[str, Definition[Any]]
    signatures: Signatures

    @property
    def store(self) -> Store:
        """The store."""
        raise NotImplementedError

    @property
    def worker(self) -> "RunWorker":
        """What advances runs in this process."""
        raise NotImplementedError

    async def deliver(self, run_id: str, command: Command, request_id: str = "") -> int:
        """Append a command and wake its run."""
        if not command.by and has_words(command):
            self._check_requester((await self.store.get(run_id)).program, "")
        command = await self.signatures.sealed(run_id, command)
        with self.worker.expecting(run_id):
            seq = await self.store.deliver(run_id, command, request=request_id, origin=self.origin)
            if isinstance(command, CancelAsked) or (
                isinstance(command, PauseAsked) and command.now
            ):
                self.worker.cut(run_id, seq)
            self.worker.wake(run_id, stops=isinstance(command, CancelAsked | PauseAsked))
        return seq

    async def deliver_together(
        self, run_id: str, commands: Sequence[Command], asked: Command, request_id: str = ""
    ) -> int:
        """Append several commands, or none, and wake their run.

        Args:
            run_id: the run.
            commands: none of them stops the run.
            asked: what the person said, which they follow from: by this the same request is
                recognised.
            request_id: the same again is not done again.
        """
        if not asked.by and any(map(has_words, commands)):
            self._check_requester((await self.store.get(run_id)).program, "")
        sealed = [await self.signatures.sealed(run_id, command) for command in commands]
        with self.worker.expecting(run_id):
            given = Together(tuple(sealed), asked)
            seq = await self.store.deliver(run_id, given, request=request_id, origin=self.origin)
            self.worker.wake(run_id)
        return seq

    def _check_requester(self, program: str, by: str) -> None:
        """Raise `Invalid` where a rule of the program wants somebody else than who shaped the run,
        and nobody says who."""
        if known := self.programs.get(program):
            known.program.check_requester(by)
