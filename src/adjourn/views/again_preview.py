"""What a run did that a second run may do again, from the fold alone."""

import msgspec

from adjourn.core.call import Call, Phase
from adjourn.core.done_calls import latest_first
from adjourn.core.effect import Effect
from adjourn.core.state import State
from adjourn.views.run_view import CallView
from adjourn.views.words import RepeatState


class RepeatedCall(CallView, frozen=True, kw_only=True):
    """A call that has changed the world, or may have, and was not undone. `left`: what is left of
    it."""

    left: RepeatState


class AgainPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a second run may do a second time, in the order in which it was done."""

    calls: tuple[RepeatedCall, ...]


def again_preview(state: State) -> AgainPreview:
    """What a run did, or may have done, and did not undo. It changes nothing, and may be out of
    date at once."""
    return AgainPreview(
        calls=tuple(
            repeated(call)
            for call in reversed(latest_first(state))
            if not call.undone.is_undone and call.effect != Effect.READ
        )
    )


def repeated(call: Call) -> RepeatedCall:
    """A call, and what is left of it."""
    return RepeatedCall(**msgspec.structs.asdict(CallView.of(call)), left=_left(call))


def _left(call: Call) -> RepeatState:
    if call.phase != Phase.RETURNED:
        return RepeatState.MAYBE
    if call.undo:
        return RepeatState.NOT_UNDONE
    return RepeatState.FINAL
