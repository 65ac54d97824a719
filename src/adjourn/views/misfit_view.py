"""Why no present worker advances a run, for people; and which changed program they may accept for
it."""

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.program_changes import changes
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.stores.fleet import Misfit


class MisfitView(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says about a run that it does not advance.

    `changes` is what differs, if its program is what does not fit, and `digest` then names that
    version; both are empty if there is nothing that could be accepted. `queued`: it only waits for
    its turn.
    """

    why: str
    changes: tuple[str, ...]
    digest: str
    queued: bool


def misfit_view(state: State, note: Misfit | None) -> MisfitView | None:
    """Why a run that waits for a worker finds none; None if no worker has said so."""
    if note is None or state.status != Status.READY:
        return None
    different = changed(state, note)
    return MisfitView(
        why=note.why,
        changes=different,
        digest=version(note) if different else "",
        queued=note.queued,
    )


def changed(state: State, note: Misfit) -> tuple[str, ...]:
    """What differs between the program that a run began with and the one that was refused."""
    if note.fingerprint:
        return tuple(changes(state.started.program, state.fingerprint, note.fingerprint))
    return ()


def version(note: Misfit) -> str:
    """The digest of the program that a worker has refused."""
    return digest("program", note.fingerprint)
