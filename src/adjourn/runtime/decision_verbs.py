"""The verbs of a runtime about one interrupt: find it, decide it, and leave a note on it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from adjourn.core.decision import Decision
from adjourn.core.ids import places_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Decided, Revoked
from adjourn.core.standing_decision import Standing
from adjourn.driver.cold_start import folded
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import Invalid, StaleDecision, UnknownInterrupt
from adjourn.runtime.arguments import check_by, checked_groups
from adjourn.runtime.checked_answers import answered
from adjourn.runtime.command_delivery import CommandDelivery
from adjourn.stores.protocol import Filter

if TYPE_CHECKING:
    from adjourn.stores.item_note import NoteVerb
    from adjourn.views.standing_view import StandingView

SEVERAL = 5
"""Interrupts that an error lists where several could be meant."""


class DecisionVerbs(CommandDelivery):
    """What `Runtime` can do with interrupts."""

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
            raise Invalid(f"an interrupt must be its ref, its id or an Interrupt, got {name!r:.80}")
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
        stands: Standing | None = None,
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
            stands: for which later calls of this run it stands as well; see `Runtime.revoke`.
        """
        decision = Decision.approve(note, edit, scope, stands)
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
        stands: Standing | None = None,
    ) -> int:
        """Refuse a call; the model reads the refusal and continues. Returns the record's number.

        Args:
            note: a comment, which the model reads.
            stands: which later calls of this run it refuses as well.
            interrupt_id, by, digest, request_id: as for `approve`.
        """
        return await self._decide(interrupt_id, Decision.deny(note, stands), by, digest, request_id)

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

    async def standing(self, run_id: str) -> "list[StandingView]":
        """The standing decisions of a run, the latest first, also those that have ended.

        Args:
            run_id: the run.
        """
        from adjourn.views.standing_view import standing_views

        run = await self.get(run_id)
        return standing_views(await folded(self.store, run.id), self.store.now())

    async def revoke(
        self, interrupt_id: str | Interrupt, *, by: str, note: str = "", request_id: str = ""
    ) -> int:
        """Revoke a standing decision: calls at work continue, no other begins on it, and a person is
        asked again, also about one that had begun and waits. Returns the number of the record.

        Raises `Refused` if the decision does not stand.

        Args:
            interrupt_id: the interrupt that it was made about.
            by: who revokes it; everyone who may decide may do so.
            note: a comment for the audit.
            request_id: the same id again returns the recorded result.
        """
        check_outside("revoke a decision")
        check_by(by, "a revocation needs by=, the person who revokes it")
        found = await self.interrupt(interrupt_id)
        command = Revoked(i=found.local, by=by, note=note)
        return await self.deliver(found.run_id, command, request_id)

    async def _decide(
        self,
        given: str | Interrupt,
        answer: Any,
        by: str,
        digest: str,
        request_id: str,
        groups: tuple[str, ...] = (),
    ) -> int:
        check_by(by, "a decision needs by=, the person who decides")
        interrupt = self.worker.asked(given) or await self.interrupt(given)
        if isinstance(given, Interrupt) and not digest:
            digest = given.digest
        command = await self._decision(interrupt, answer, by, digest, groups)
        seq = await self.deliver(interrupt.run_id, command, request_id)
        self._count(interrupt, command)
        return seq

    async def _decision(
        self,
        interrupt: Interrupt,
        answer: Any,
        by: str,
        seen: str,
        groups: tuple[str, ...] = (),
    ) -> Decided:
        """The command that decides an interrupt whose action was `seen` with this digest."""
        command = await answered(interrupt, answer, by=by)
        if not (interrupt.call and interrupt.call.digest):  # the store knows no digest of it
            if seen and seen != interrupt.digest:
                raise StaleDecision(interrupt.id, seen, interrupt.digest)
            seen = ""
        # whether the digest is the right one is for the store to say, and to write down
        if groups or seen:
            command = msgspec.structs.replace(command, groups=groups, digest=seen or command.digest)
        return command

    def _count(self, interrupt: Interrupt, command: Decided) -> None:
        """For the metrics."""
        waited = self.store.now() - interrupt.opened_at
        self.worker.advancer.meter.answered(command.verdict, waited)

    async def assign(
        self, interrupt_id: str | Interrupt, to: str, *, by: str, request_id: str = ""
    ) -> None:
        """Give an item to a person or a group; an earlier assignment ends. Raises
        `InterruptClosed` for what is decided.

        Args:
            interrupt_id: its id if that is unique, its ref, or the `Interrupt` itself.
            to: the person's name, or `group:NAME`; empty: the assignment is removed.
            by: who assigns it.
            request_id: the same again with the same id is left once.
        """
        await self._leave(interrupt_id, "assign", by, request_id, to=to)

    async def snooze(
        self, interrupt_id: str | Interrupt, until: float, *, by: str, request_id: str = ""
    ) -> float:
        """Hide an item from the inbox of one person until a time. Returns when it is shown again:
        at the latest 15 minutes before it expires. Others see it as before, and neither its expiry
        nor its escalation moves.

        Args:
            interrupt_id: its id if that is unique, its ref, or the `Interrupt` itself.
            until: in seconds since 1970; 0: show it again now.
            by: who does not want to see it.
            request_id: the same again with the same id is left once.
        """
        return await self._leave(interrupt_id, "snooze", by, request_id, until=until)

    async def comment(
        self, interrupt_id: str | Interrupt, text: str, *, by: str, request_id: str = ""
    ) -> None:
        """Write a comment about an item, open or decided. It is a line of the audit.

        Args:
            interrupt_id: its id if that is unique, its ref, or the `Interrupt` itself.
            text: the comment.
            by: who writes it.
            request_id: the same again with the same id is left once.
        """
        await self._leave(interrupt_id, "comment", by, request_id, text=text)

    async def _leave(
        self, interrupt_id: str | Interrupt, verb: "NoteVerb", by: str, request: str, **what: Any
    ) -> float:
        from adjourn.stores.item_note import ItemNote

        found = await self.interrupt(interrupt_id)
        note = ItemNote(verb, found.local, by, **what)
        return await self.store.annotate(found.run_id, note, request=request, origin=self.origin)
