"""The verbs of a runtime that are decisions: find an interrupt, approve, deny, answer."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from adjourn.core.decision import Decision
from adjourn.core.ids import places_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import CancelAsked, Command, PauseAsked
from adjourn.errors import (
    Invalid,
    StaleDecision,
    UnknownInterrupt,
)
from adjourn.runtime.answers import answered
from adjourn.runtime.arguments import checked_groups, has_words
from adjourn.runtime.decision_signer import Signatures
from adjourn.runtime.definition import Definition
from adjourn.runtime.origin import HasOrigin
from adjourn.runtime.run import Run
from adjourn.stores.protocol import Filter, Store

if TYPE_CHECKING:
    from adjourn.runtime.run import Run
    from adjourn.runtime.worker_protocol import RunWorker

SEVERAL = 5
"""Interrupts that an error lists where several could be meant."""


class DecisionVerbs(HasOrigin):
    """What `Runtime` can do with interrupts."""

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

    async def get(self, run_id: str) -> "Run[Any]":
        """See `Runtime.get`."""
        raise NotImplementedError

    async def interrupt(
        self, interrupt_id: str | Interrupt, *, run_id: str | None = None
    ) -> Interrupt:
        """One interrupt; raises `UnknownInterrupt`.

        Args:
            interrupt_id: its id if that is unique, or its ref.
            run_id: the run it belongs to, if that is known.
        """
        if isinstance(interrupt_id, Interrupt):
            name = interrupt_id.ref
        else:
            name = interrupt_id
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"an interrupt is named by its ref or its id, or given itself, not {name!r:.80}"
            )
        places = places_of(name, run_id)
        for run, local in places:
            found = await self.store.inbox(Filter(run=run, interrupt=local, limit=SEVERAL))
            if len(found) == 1:
                return found[0]
            if found:
                refs = ", ".join(repr(i.ref) for i in found)
                raise Invalid(
                    f"several runs have an interrupt {name!r}",
                    advice=f"name one by its ref: {refs}",
                )
        run = places[0][0] if places else ""
        if run or run_id is not None:
            await self.get(run)
        raise UnknownInterrupt(
            name, [i.ref for i in await self.store.inbox(Filter(run=run, limit=20))]
        )

    async def approve(
        self,
        interrupt_id: str | Interrupt,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        edit: dict[str, Any] | None = None,
        scope: Literal["once", "run"] = "once",
        groups: Iterable[str] = (),
        request_id: str = "",
    ) -> int:
        """Let a call run: once, exactly as shown. Returns the number of the record.

        Of several decisions one is recorded; the others raise `AlreadyDecided`, naming who was
        first.

        Args:
            interrupt_id: its id if that is unique, its ref, or the `Interrupt` itself.
            by: who decides.
            note: a comment for the audit.
            digest: of the action that the person saw; if it has changed since, `StaleDecision`.
            request_id: the same id again returns the recorded result instead of deciding twice.
            edit: run it with these arguments instead; they are checked and judged again.
            scope: `"once"`, or `"run"`: also the same call again in this run.
            groups: the groups of the approver.
        """
        decision = Decision.approve(note, edit, scope)
        return await self._decide(
            interrupt_id, decision, by, digest, request_id, checked_groups(groups)
        )

    async def deny(
        self,
        interrupt_id: str | Interrupt,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        request_id: str = "",
    ) -> int:
        """Refuse a call; the model reads the refusal and continues. Returns the record's number.

        Args:
            note: a comment, which the model reads.
            interrupt_id, by, digest, request_id: as for `approve`.
        """
        return await self._decide(interrupt_id, Decision.deny(note), by, digest, request_id)

    async def answer(
        self,
        interrupt_id: str | Interrupt,
        value: Any,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        request_id: str = "",
        groups: Iterable[str] = (),
    ) -> int:
        """Answer a question, or choose for a call in doubt, an error, a limit or an undo. Returns
        the record's number.

        Args:
            value: the answer, or the choice.
            interrupt_id, by, note, digest, request_id, groups: as for `approve`.
        """
        if (
            note
            and not isinstance(value, Decision)
            and (await self.interrupt(interrupt_id)).kind != "approval"
        ):
            value = Decision.value(value, note)
        return await self._decide(
            interrupt_id, value, by, digest, request_id, checked_groups(groups)
        )

    async def _decide(
        self,
        given: str | Interrupt,
        answer: Any,
        by: str,
        digest: str,
        request_id: str,
        groups: tuple[str, ...] = (),
    ) -> int:
        if not isinstance(by, str) or not by:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid("a decision needs by=: who decides")
        interrupt = self.worker.asked(given) or await self.interrupt(given)
        command = await answered(interrupt, answer, by=by)
        if isinstance(given, Interrupt) and not digest:
            seen = given.digest
        else:
            seen = digest
        if not (interrupt.call and interrupt.call.digest):  # the store knows no digest of it
            if seen and seen != interrupt.digest:
                raise StaleDecision(interrupt.id, seen, interrupt.digest)
            seen = ""
        # whether the digest is the right one is for the store to say, and to write down
        if groups or seen:
            command = msgspec.structs.replace(command, groups=groups, digest=seen or command.digest)
        return await self.deliver(interrupt.run_id, command, request_id)

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

    def _check_requester(self, program: str, by: str) -> None:
        """Raise `Invalid` where a rule of the program wants somebody else than who shaped the run,
        and nobody says who."""
        if known := self.programs.get(program):
            known.program.check_requester(by)
