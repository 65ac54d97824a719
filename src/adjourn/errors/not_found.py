"""It is not in the store."""

from collections.abc import Sequence

from adjourn.errors.error import AdjournError, bare


class NotFound(AdjournError, LookupError):
    """It is not in the store."""

    status = 404


class UnknownRun(NotFound):
    """No run with exactly that id. `near` are similar ids; `pruned` is by whom a run with this id
    was pruned, if one was.

    Args:
        run_id: the id.
        near: similar ids.
        pruned: who pruned it.
    """

    run_id: str
    near: tuple[str, ...]
    pruned: str

    def __init__(self, run_id: str, near: Sequence[str] = (), pruned: str = "") -> None:
        what, advice = f"run {bare(run_id)} not found", ""
        if pruned:
            what, advice = (
                f"{what}: it was pruned {pruned}",
                "its audit says when, and where its archive is",
            )
        elif near:
            advice = f"did you mean {', '.join(map(bare, near))}?"
        super().__init__(what, advice=advice, run_id=run_id, near=tuple(near), pruned=pruned)


class UnknownInterrupt(NotFound):
    """No interrupt with that id; the open ones are listed.

    Args:
        interrupt_id: the id.
        pending: the ids of the open ones.
    """

    interrupt_id: str
    pending: tuple[str, ...]

    def __init__(self, interrupt_id: str, pending: Sequence[str]) -> None:
        listed = ", ".join(map(bare, pending)) or "none"
        what, advice = f"interrupt {bare(interrupt_id)} not found", f"open interrupts: {listed}"
        super().__init__(what, advice=advice, interrupt_id=interrupt_id, pending=tuple(pending))
