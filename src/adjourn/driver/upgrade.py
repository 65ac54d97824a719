"""Upgraders: how a paused run follows a definition that changed."""

from collections.abc import Callable
from typing import Any

import msgspec

from adjourn.core.fingerprint import changes
from adjourn.core.records import AnyRecord, Started, dump_list, parse_list
from adjourn.driver.checkpoint import Checkpoint
from adjourn.errors import InvalidDefinition, ProgramChanged

Upgrade = Callable[[list[dict[str, Any]], list[str]], list[dict[str, Any]]]

_upgraders: dict[str, Upgrade] = {}


def register_upgrader(program: str, upgrade: Upgrade | None) -> None:
    """Let checkpoints of an older `program` go on: `upgrade(records, changes)` gets the journal as plain JSON and what
    changed, in words, and returns the journal to go on with (renamed tools, new arguments). None unregisters."""
    if upgrade is None:
        _upgraders.pop(program, None)
    elif callable(upgrade):
        _upgraders[program] = upgrade
    else:
        raise InvalidDefinition(f"an upgrader is a function over (records, changes), not {upgrade!r}")


def upgraded(checkpoint: Checkpoint, name: str, fingerprint: dict[str, Any]) -> Checkpoint:
    """The checkpoint as it is if nothing changed or nobody registered; else what the upgrader made of it."""
    found = changes(name, checkpoint.started.fingerprint, fingerprint)
    upgrade = _upgraders.get(name)
    if not found or upgrade is None:
        return checkpoint
    plain = msgspec.json.decode(dump_list(list(checkpoint.records)))
    try:
        records: list[AnyRecord] = parse_list(msgspec.json.encode(upgrade(plain, found)))
        first, *rest = records
        assert isinstance(first, Started)
        made = Checkpoint([msgspec.structs.replace(first, fingerprint=fingerprint), *rest])
        made.state  # noqa: B018 (it must still make a run)
    except Exception as e:
        raise ProgramChanged(name, [*found, f"its upgrader failed: {type(e).__name__}: {e}"]) from e
    return made
