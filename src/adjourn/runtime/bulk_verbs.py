"""The verbs of a runtime for many runs at once: pause, resume, cancel, or deny what waits in them, with
one note. Each run answers for itself."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.decision import Decision
from adjourn.core.ids import request_part
from adjourn.core.records import CancelAsked, Decided
from adjourn.core.status import NEXT, RunStatus
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    InterruptClosed,
    Invalid,
    Refused,
    StaleDecision,
)
from adjourn.runtime.arguments import check_by
from adjourn.runtime.decision_verbs import DecisionVerbs
from adjourn.runtime.halt_verbs import HaltVerbs
from adjourn.stores.protocol import Filter

if TYPE_CHECKING:
    from adjourn.runtime.run import Run
    from adjourn.views.cancel_preview import CancelPreview

MOST = 1_000
"""Runs of one call: what is left is listed again, and chosen again."""
AT_ONCE = 20
"""Runs that are commanded at the same time: their records are committed together."""

TRIES = 5
"""How often what waits in a run is read again, if others decide some of it meanwhile."""


class BulkVerb(StrEnum):
    """What may be done to many runs at once."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DENY = "deny"


class BulkOutcome(msgspec.Struct, frozen=True):
    """What came of one run of several. `refused` is why nothing was done to it. `preview`: of a
    cancel that was only looked at, what it would do."""

    run_id: str
    title: str = ""
    status: RunStatus | None = None
    refused: AdjournError | None = None
    preview: "CancelPreview | None" = None


class BulkVerbs(DecisionVerbs, HaltVerbs):
    """What `Runtime` can do with several runs."""

    async def bulk(
        self,
        verb: str,
        runs: Sequence[str],
        *,
        by: str,
        note: str = "",
        request_id: str = "",
        dry_run: bool = False,
    ) -> list[BulkOutcome]:
        """Do the same to several runs; what came of each, in the order in which they were given.

        Each is a command of its own, checked, recorded and audited as if it were given alone. One
        that is refused stops none of the others. `resume` also retries runs that failed. `deny`
        refuses every call of a run that waits for an approval, or, if one cannot be, none of them.

        Args:
            verb: `pause`, `resume`, `cancel` or `deny`.
            runs: their ids, at most 1,000.
            by: who does it.
            note: why; it is recorded with each. A resumed run has no place for one.
            request_id: the same id again has the same answer, and acts on no run twice: it denies
                nothing that was asked since. A run that was refused is tried again, unless there
                was nothing to deny.
            dry_run: do nothing; say which runs are there, and what a cancel would do.
        """
        wanted = _verb(verb)
        check_by(by, "a command to several runs needs by=, the person who gives it")
        ids = list(dict.fromkeys(runs))
        if len(ids) > MOST:
            raise Invalid(f"at most {MOST} runs at once, not {len(ids)}")
        done: list[BulkOutcome] = []
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            done += await asyncio.gather(
                *(self._one(wanted, id, by, note, request_id, dry_run) for id in some)
            )
        return done

    async def _one(
        self, verb: BulkVerb, id: str, by: str, note: str, request_id: str, dry_run: bool
    ) -> BulkOutcome:
        request = request_id and request_part(request_id, id)
        outcome = BulkOutcome(id)
        try:
            row = await self.store.get(id)
            status = row.shown(self.store.now(), await self.halted())
            outcome = BulkOutcome(id, row.title, status)
            run = await self.get(id)
            if not dry_run:
                await self._command(verb, run, by, note, request)
            elif verb == BulkVerb.CANCEL:
                if CancelAsked not in NEXT[row.status]:
                    raise Refused(id, "cancel", row.status.value)
                return msgspec.structs.replace(outcome, preview=await run.cancel_preview())
        except AdjournError as refused:
            return msgspec.structs.replace(outcome, refused=refused)
        return outcome

    async def _command(
        self, verb: BulkVerb, run: "Run[Any]", by: str, note: str, request: str
    ) -> None:
        match verb:
            case BulkVerb.PAUSE:
                await run.pause(by=by, reason=note, request_id=request)
            case BulkVerb.RESUME:
                await run.resume(by=by, request_id=request)
            case BulkVerb.CANCEL:
                await run.cancel(by=by, reason=note, request_id=request)
            case BulkVerb.DENY:
                await self._deny(run.id, by, note, request)

    async def _deny(self, run: str, by: str, note: str, request: str) -> None:
        """Refuse every call that waits, all of them or none. The same request again refuses nothing
        that was asked since: the store finds it before it looks at these commands."""
        denial = Decision.deny(note)
        asked = Decided(i="", verdict="deny", by=by, note=note)
        for left in reversed(range(TRIES)):
            waiting = await self.store.inbox(Filter(run=run, kind="approval", limit=MOST))
            commands = [await self._decision(item, denial, by, item.digest) for item in waiting]
            seq = 0
            try:
                if waiting or request:
                    seq = await self.deliver_together(run, commands, asked, request)
            except (AlreadyDecided, InterruptClosed, StaleDecision):
                if not left:
                    raise
                continue  # one of them does not wait any more
            if not seq:
                raise Invalid(
                    "no call of this run waits for an approval", consequence="nothing was denied"
                )
            for item, command in zip(waiting, commands, strict=True):
                self._count(item, command)
            return


def _verb(verb: str) -> BulkVerb:
    try:
        return BulkVerb(verb)
    except ValueError:
        raise Invalid(
            f"{verb!r:.40} cannot be used on several runs",
            advice=f"use one of {', '.join(BulkVerb)}",
        ) from None
