"""What a cancel would do, from the fold alone."""

import msgspec

from adjourn.core.call import Call, Phase
from adjourn.core.done_calls import is_undoable, residue, started
from adjourn.core.doubt import as_read, doubtful
from adjourn.core.state import State
from adjourn.views.run_view import CallView, Residue


class CancelPreview(msgspec.Struct, frozen=True, kw_only=True):
    """In the order it would happen: calls in progress settle, undos run (latest first), and the
    residue stays."""

    in_flight: tuple[CallView, ...]
    undo: tuple[CallView, ...]
    residue: tuple[Residue, ...]


def cancel_preview(state: State) -> CancelPreview:
    """What would happen if the run were cancelled now. It changes nothing, and may be out of date
    at once."""
    flying = [
        call for call in state.live.values() if _settles(call) and call.id not in state.threads
    ]
    waiting = [call for call in started(state) if call not in flying]
    undo = [
        call
        for call in [*reversed(waiting), *reversed(state.effects.values())]
        if is_undoable(call)
    ]
    taken = {call.id for call in (*undo, *flying)}
    return CancelPreview(
        in_flight=tuple(map(CallView.of, flying)),
        undo=tuple(map(CallView.of, undo)),
        residue=tuple(
            Residue.of(as_read(**left)) for left in residue(state) if left["call"] not in taken
        ),
    )


def undo_words(preview: CancelPreview) -> str:
    """How much a cancel undoes, behind the word for it; "" if nothing.

    Args:
        preview: what the cancel would do.
    """
    done, flying = len(preview.undo), sum(call.undo for call in preview.in_flight)
    if not flying:
        return str(done or "")
    more = (
        f"{flying} in flight if it happens" if flying == 1 else f"{flying} in flight if they happen"
    )
    return f"{done}, and {more}" if done else more


def _settles(call: Call) -> bool:
    """Whether what becomes of it is not known yet: it is in progress, or in doubt and a person will
    be asked."""
    asks = call.undo or (call.effect == "verifiable" and not call.verified)
    return call.phase == Phase.INTENDED or (doubtful(call) and call.effect != "read" and asks)
