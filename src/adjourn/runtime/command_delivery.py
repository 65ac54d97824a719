"""A command for a run, on its way to the journal: who gives it and from where, signed if there is a key;
and its run woken."""

from collections.abc import Sequence
from typing import Any

from adjourn.core.record_effects import Together
from adjourn.core.records import CancelAsked, Command, PauseAsked
from adjourn.runtime.arguments import has_words
from adjourn.runtime.decision_signer import Signatures
from adjourn.runtime.definition import Definition
from adjourn.runtime.open_runtime import OpenRuntime


class CommandDelivery(OpenRuntime):
    """How `Runtime` delivers commands to runs."""

    programs: dict[str, Definition[Any]]
    signatures: Signatures

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
        """Append all of several commands, or none of them, and wake their run. Without any, only
        the request is remembered. Returns the number of the first record; 0 if there were none.

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
