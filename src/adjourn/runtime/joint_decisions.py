"""The verbs of a runtime for several interrupts at once: to decide them together; which failures are
like one another, and to try all of them again. Each is decided, or refused, by itself."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from adjourn.core.action_digest import digest as digest_of
from adjourn.core.decision import Decision
from adjourn.core.failure_likeness import likeness
from adjourn.core.ids import request_part
from adjourn.core.interrupt import Interrupt
from adjourn.errors import AdjournError, Invalid, InvalidAnswer, StaleDecision
from adjourn.runtime.arguments import check_by, checked_groups
from adjourn.runtime.decision_verbs import DecisionVerbs
from adjourn.stores.protocol import Filter

PAGE = 100
MOST = 1000
"""So many are decided by one call: what is left is listed again, and decided again."""
TOGETHER = ("approve", "deny", "dismiss")
"""What can be decided about several at once: what says the same of each of them."""


class Retried(msgspec.Struct, frozen=True):
    """What came of one of several decisions: `seq` is its record; `refused` is why there is
    none."""

    interrupt: Interrupt
    seq: int = 0
    refused: AdjournError | None = None


class JointDecisionVerbs(DecisionVerbs):
    """What `Runtime` can do with several interrupts at once."""

    async def decide_all(
        self,
        items: Sequence[Interrupt],
        decision: Decision,
        *,
        by: str,
        groups: Iterable[str] = (),
        request_id: str = "",
    ) -> list[Retried]:
        """Approve, deny or dismiss several interrupts. What came of each, in their order.

        Each is a decision of its own, about what was shown of it, and recorded before anything
        runs. One that is refused stops none of the others. The same again, by the same person,
        decides nothing twice. Raises `InvalidAnswer`, and decides nothing, for a decision that
        cannot be the same for several: an edit, a result, an answer, or one that holds for a run.

        Args:
            items: the interrupts as they were seen, at most 1000; each once.
            decision: `Decision.approve`, `Decision.deny` or `Decision.dismiss`.
            by: who decides.
            groups: those for which `by` decides.
            request_id: the same again gets the same answer.
        """
        check_by(by, "a decision needs by=: who decides")
        _check(items, decision)
        request = request_id or digest_of("decide all", by, decision.verdict, decision.note)
        seen = {item.ref: item for item in items}
        return await self._each(seen.values(), decision, by, request, checked_groups(groups))

    async def alike(self, like: str | Interrupt, *, until: float = 0.0) -> list[Interrupt]:
        """The open errors that `retry_all` would have tried again, oldest first, at most 1000;
        `like` first, if it is open.

        They are of the same program, failed at the same step or tool, with the same kind of error.
        For anything else than an error, and for an error about who may let a call run, there are
        none.

        Args:
            like: an interrupt, its ref, or its id if no other run has the same.
            until: only those that were opened by then; 0: whenever.
        """
        one = await self.interrupt(like)
        program = (await self.store.get(one.run_id)).program
        wanted = likeness(program, one)
        if wanted is None:
            return []
        found: list[Interrupt] = []
        page = Filter(program=program, kind="error", until=until, limit=PAGE)
        while items := await self.store.inbox(page):
            found += [i for i in items if likeness(program, i) == wanted]
            if len(items) < PAGE:
                break
            page = replace(page, after=items[-1].ref)
        first = [i for i in found if i.ref == one.ref]
        return [*first, *(i for i in found if i.ref != one.ref)][:MOST]

    async def retry_all(
        self,
        like: str | Interrupt,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        until: float = 0.0,
        groups: Iterable[str] = (),
        request_id: str = "",
    ) -> list[Retried]:
        """Try an error again, and with it all open errors that are like it: see `alike`. What came
        of each, `like` first.

        Each is a decision of its own, recorded before anything runs. One that is refused, because
        another person was first or its tool is halted, stops none of the others. The same again, by
        the same person, decides nothing twice. Raises `InvalidAnswer` for what is never decided
        together: approvals, questions, limits, calls in doubt.

        Args:
            like: an interrupt, its ref, or its id if no other run has the same.
            by: who decides.
            note: a remark; it is recorded with each.
            digest: of `like`, as it was seen; anything else is refused as stale.
            until: only those that were opened by then: what was listed before. 0: whenever.
            groups: those for which `by` decides.
            request_id: the same again, with the same `until`, gets the same answer.
        """
        check_by(by, "a decision needs by=: who decides")
        one = await self.interrupt(like)
        if likeness("", one) is None:
            raise InvalidAnswer(
                (
                    f"interrupt {one.id!r} ({one.kind}) must be decided alone: only failed "
                    "steps can be retried together"
                ),
                consequence="nothing was retried",
            )
        seen = digest or (like.digest if isinstance(like, Interrupt) else "")
        if seen and seen != one.digest:
            raise StaleDecision(one.id, seen, one.digest)
        items = await self.alike(one, until=until)
        if not any(i.ref == one.ref for i in items):  # whoever was first with it is named
            items = [one, *items[: MOST - 1]]
        request = request_id or digest_of("retry all", by, note)
        answer = Decision.value("retry", note)
        return await self._each(items, answer, by, request, checked_groups(groups))

    async def _each(
        self,
        items: Iterable[Interrupt],
        answer: Any,
        by: str,
        request: str,
        groups: tuple[str, ...],
    ) -> list[Retried]:
        """Decide each by itself."""
        done: list[Retried] = []
        for item in items:
            part = request_part(request, item.ref)
            try:
                seq = await self._decide(item, answer, by, item.digest, part, groups)
                done.append(Retried(item, seq))
            except AdjournError as refused:
                done.append(Retried(item, refused=refused))
        return done


def _check(items: Sequence[Any], decision: Any) -> None:
    if not isinstance(decision, Decision) or decision.verdict not in TOGETHER:
        raise InvalidAnswer(
            "several interrupts can be approved, denied or dismissed together; a result or an "
            "answer is for one",
            consequence="nothing was decided",
        )
    lasts = decision.scope != "once" or decision.stands is not None
    if decision.edit is not None or lasts:
        raise InvalidAnswer(
            "an edit, or a decision for later calls, is for one interrupt",
            consequence="nothing was decided",
        )
    if len(items) > MOST:
        raise Invalid(f"at most {MOST} interrupts can be decided together, got {len(items)}")
    if not all(isinstance(item, Interrupt) for item in items):
        raise Invalid(
            "several interrupts are decided as they were seen: pass the Interrupt objects"
        )
