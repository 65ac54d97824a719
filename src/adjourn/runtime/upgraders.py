"""Upgraders: how a run follows a definition that changed."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from adjourn.core.effect import is_function
from adjourn.core.program_changes import changes
from adjourn.core.record_codec import parse_list
from adjourn.core.records import AnyRecord, Closed, Started, Upgraded
from adjourn.core.state import State
from adjourn.core.status import ENDED
from adjourn.errors import InvalidDefinition, ProgramChanged
from adjourn.runtime.checkpoint import Checkpoint

Upgrade = Callable[[list[dict[str, Any]], list[str]], list[dict[str, Any]]]

_upgraders: dict[str, Upgrade] = {}


def register_upgrader(program: str, upgrade: Upgrade | None) -> None:
    """Let runs of an older `program` continue: `upgrade(records, changes)` gets the journal as plain
    JSON and what changed, in words, and returns it as this version would have written it, record by
    record (renamed tools, other arguments).

    It may be asked more than once for a run, so it only computes. None unregisters.
    """
    if upgrade is None:
        _upgraders.pop(program, None)
    elif is_function(upgrade):
        _upgraders[program] = upgrade
    else:
        raise InvalidDefinition(
            f"an upgrader must be a function over (records, changes), got {upgrade!r}"
        )


def upgrader_of(program: str) -> Upgrade | None:
    """The one that is registered now."""
    return _upgraders.get(program)


def upgraded(checkpoint: Checkpoint, name: str, fingerprint: dict[str, Any]) -> Checkpoint:
    """The checkpoint as it is if nothing changed or nobody registered; else with the upgrade behind
    it."""
    made = upgrade_of(checkpoint.records, checkpoint.state, name, fingerprint)
    at = checkpoint.records[-1].at  # nothing happens here: whoever goes on with it says when
    records = [*checkpoint.records, *(msgspec.structs.replace(x, at=at) for x in made)]
    if made:
        return Checkpoint(records, before=checkpoint.before, files=checkpoint.files)
    return checkpoint


def upgrade_of(
    records: Sequence[AnyRecord], state: State, name: str, fingerprint: dict[str, Any]
) -> list[Upgraded | Closed]:
    """What must follow these records, whose fold is `state`, so that this program can go on with
    them; nothing if it can anyway, or nobody registered. Raises `ProgramChanged` with what is wrong
    with the upgrader."""
    found = changes(name, state.fingerprint, fingerprint)
    upgrade = upgrader_of(name)
    if not found or upgrade is None or state.status in ENDED:
        return []
    from adjourn.core.upgrade_rule import upgrade_to

    try:
        wanted = parse_list(
            msgspec.json.encode(upgrade(_whole_journal(records, state), list(found)))
        )
        return upgrade_to(records, _named_again(wanted, state), fingerprint, found)
    except Exception as e:
        raise ProgramChanged(name, [*found, f"its upgrader failed: {type(e).__name__}: {e}"]) from e


def _whole_journal(records: Sequence[AnyRecord], state: State) -> list[dict[str, Any]]:
    """The journal as an upgrader gets it: also with the turns before, where its first record only
    names them."""
    from adjourn.core.upgrade_rule import plain_journal

    plain = plain_journal(records)
    if state.before is not None and not plain[0].get("history"):
        plain[0]["history"] = msgspec.to_builtins(tuple(state.before))
    return plain


def _named_again(wanted: list[AnyRecord], state: State) -> list[AnyRecord]:
    """What the upgrader left of the turns before as it was stays where it is; what it changed is
    read as it says."""
    first = wanted[0] if wanted else None
    if state.before is None or not isinstance(first, Started) or first.after is None:
        return wanted
    if first.history != msgspec.to_builtins(tuple(state.before)) or state.started.history:
        return wanted
    return [msgspec.structs.replace(first, history=[]), *wanted[1:]]
