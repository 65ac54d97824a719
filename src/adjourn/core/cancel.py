"""What a cancel would do, from the fold alone."""

from typing import Any

import msgspec

from adjourn.core.call import Call, Phase
from adjourn.core.plan import doubtful, residue, started
from adjourn.core.state import State


class CancelPreview(msgspec.Struct, frozen=True):
    """In the order it would happen: calls in flight settle, undos run (latest first), and the residue stays."""

    in_flight: list[dict[str, Any]]
    undo: list[dict[str, Any]]
    residue: list[dict[str, Any]]


def cancel_preview(state: State) -> CancelPreview:
    """What would happen if the run were cancelled now. It changes nothing, and may be out of date at once."""
    flying = [c for c in state.live.values() if _settles(c) and c.id not in state.threads]
    waiting = [c for c in started(state) if c not in flying]
    undo = [
        c
        for c in [*reversed(waiting), *reversed(state.effects.values())]
        if c.undo and not c.undone and not c.inherited
    ]
    left = [x for x in residue(state) if x["call"] not in {c.id for c in (*undo, *flying)}]
    return CancelPreview([_shown(c) for c in flying], [_shown(c) for c in undo], left)


def _settles(call: Call) -> bool:
    """Whether what becomes of it is not known yet: it is in flight, or in doubt and somebody will be asked."""
    asks = call.undo or (call.effect == "verifiable" and not call.verified)
    return call.phase == Phase.INTENDED or (doubtful(call) and call.effect != "read" and asks)


def _shown(call: Call) -> dict[str, Any]:
    return {"call": call.id, "tool": call.tool, "arguments": call.args, "result": call.value, "undo": call.undo}
