"""One decision about several interrupts: each is recorded, or refused, by itself."""

from collections.abc import Iterable, Sequence
from typing import Any

from adjourn.core.action_digest import digest as digest_of
from adjourn.core.decision import Decision
from adjourn.core.ids import request_part
from adjourn.core.interrupt import Interrupt
from adjourn.errors import AdjournError, Invalid, InvalidAnswer
from adjourn.runtime.arguments import check_by, checked_groups
from adjourn.runtime.retry_verbs import MOST, Retried, RetryVerbs

TOGETHER = ("approve", "deny", "dismiss")
"""What can be decided about several at once: what says the same of each of them."""


class JointDecisionVerbs(RetryVerbs):
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
        given = checked_groups(groups)
        done: list[Retried] = []
        for item in {item.ref: item for item in items}.values():
            part = request_part(request, item.ref)
            done.append(await self._one_of_several(item, decision, by, part, given))
        return done

    async def _one_of_several(
        self, item: Interrupt, decision: Decision, by: str, request: str, groups: tuple[str, ...]
    ) -> Retried:
        try:
            seq = await self._decide(item, decision, by, item.digest, request, groups)
        except AdjournError as refused:
            return Retried(item, refused=refused)
        return Retried(item, seq)


def _check(items: Sequence[Any], decision: Any) -> None:
    if not isinstance(decision, Decision) or decision.verdict not in TOGETHER:
        raise InvalidAnswer(
            "several are approved, denied or dismissed together; a result or an answer is for one",
            consequence="nothing was decided",
        )
    lasts = decision.scope != "once" or decision.stands is not None
    if decision.edit is not None or lasts:
        raise InvalidAnswer(
            "an edit, and a decision that stands for later calls, are for one interrupt",
            consequence="nothing was decided",
        )
    if len(items) > MOST:
        raise Invalid(f"at most {MOST} are decided together, got {len(items)}")
    if not all(isinstance(item, Interrupt) for item in items):
        raise Invalid("several are decided as they were seen: give the interrupts themselves")
