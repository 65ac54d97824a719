"""What became of an interrupt while somebody was reading it: what they saw, what is there now, and
whose doing it was."""

from typing import Any

from msgspec.structs import replace

from adjourn.core.action_digest import action_digest
from adjourn.core.decision import word_of
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.records import Asked, Closed, Decided, Suspended
from adjourn.errors import AlreadyDecided, Conflict, StaleDecision
from adjourn.server.problem import Problem, error_members
from adjourn.stores.protocol import Store
from adjourn.views.api_answers import ActionView


async def conflict(store: Store, found: Interrupt, digest: str, error: Conflict) -> Problem:
    """A decision's refusal, with the facts that a page needs to show old → new.

    `was` is what had the digest that was sent (null if nothing of this run ever had it), `now` what
    would run or ran, `by`, `how` and `at` the last decision about it, `next` the item to look at
    instead. Where an edit is asked about again, the action changed and is still open: that is a
    stale decision, not one that was taken.
    """
    records = await store.load(found.run_id)
    views = [view(found.run_id, seq, x) for seq, x in records if isinstance(x, Asked | Suspended)]
    local = found.local
    ends = [x for _, x in records if isinstance(x, Decided | Closed) and x.i == local]
    last, later = (ends[-1] if ends else None), _later(views, found)
    asked_again = (
        later is not None
        and isinstance(last, Decided)
        and last.edit is not None
        and not _is_over(records, later)
    )
    if isinstance(error, AlreadyDecided) and asked_again and later is not None:
        error = StaleDecision(found.id, digest, later.digest)
    was = next((v for v in views if v.digest == digest), None)
    edited = isinstance(last, Decided) and last.edit is not None
    more: dict[str, Any] = {
        **error_members(error),
        "was": ActionView.of(was) if was else None,
        "now": _now(records, found, later, last if edited else None),
        "by": last.by if isinstance(last, Decided) else "",
        "how": _how(last, edited),
        "at": last.at if last else None,
        "next": later.ref if asked_again and later else None,
    }
    return Problem(error.status, error.code, str(error), more=more)


def _how(last: Decided | Closed | None, edited: bool) -> str:
    """How it ended: edited, by a verdict, or why it was closed; empty while it is open."""
    if edited:
        return "edit"
    if isinstance(last, Decided):
        return word_of(last)
    if last:
        return last.why
    return ""


def _now(
    records: list[tuple[int, Any]], found: Interrupt, later: Interrupt | None, edit: Any
) -> ActionView:
    """What would run now: what was asked for afterwards, the call as an edit made it, or what was
    asked for."""
    if later:
        return ActionView.of(later)
    if edit:
        return _edited(records, found, edit)
    return ActionView.of(found)


def _later(views: list[Interrupt], found: Interrupt) -> Interrupt | None:
    """The last approval about the same call that was asked for afterwards."""
    call = found.call.call_id if found.call else None
    after = [
        v for v in views if call and v.call and v.call.call_id == call and v.kind == found.kind
    ]
    if after and after[-1].seq > found.seq:
        return after[-1]
    return None


def _is_over(records: list[tuple[int, Any]], i: Interrupt) -> bool:
    local = i.local
    return any(isinstance(x, Decided | Closed) and x.i == local for _, x in records)


def _edited(records: list[tuple[int, Any]], found: Interrupt, last: Any) -> ActionView:
    """The call as somebody's edit made it."""
    asked = next(x for seq, x in records if seq == found.seq)
    digest = action_digest(found.run_id, asked.call, asked.tool, asked.definition, last.edit)
    return replace(ActionView.of(found), digest=digest, arguments=last.edit)
