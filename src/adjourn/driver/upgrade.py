"""Upgraders: how a paused run follows a definition that changed."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from adjourn.core.authority import is_as_shown, shown_digest, violations, with_runs
from adjourn.core.digest import action_digest
from adjourn.core.fingerprint import changes
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Closed,
    Decided,
    Intended,
    Parked,
    Returned,
    Started,
    dump_list,
    parse_list,
)
from adjourn.core.state import State
from adjourn.driver.checkpoint import Checkpoint
from adjourn.errors import Invalid, InvalidDefinition, ProgramChanged

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
    if wrong := next(violations(checkpoint.records), ""):  # what people agreed to is judged as they saw it
        raise Invalid(f"run {checkpoint.run_id!r} is not taken over: {wrong}")
    plain = msgspec.json.decode(dump_list(list(checkpoint.records)))
    try:
        records: list[AnyRecord] = parse_list(msgspec.json.encode(upgrade(plain, found)))
        first, *rest = bound_again(records)
        assert isinstance(first, Started)
        made = Checkpoint([msgspec.structs.replace(first, fingerprint=fingerprint), *rest])
        if void := _not_as_asked(made.records, made.state):
            made = Checkpoint([*_due(made.records), *void])
    except Exception as e:
        raise ProgramChanged(name, [*found, f"its upgrader failed: {type(e).__name__}: {e}"]) from e
    if wrong := next(violations(made.records), ""):
        raise ProgramChanged(
            name, [*found, f"its upgrader changes what was agreed to for a call that has not ended: {wrong}"]
        )
    return made


def bound_again(records: list[AnyRecord]) -> list[AnyRecord]:
    """The journal with its digests made anew where an upgrader has changed what was asked, for calls that have ended.

    Those are history, and it stays whole. Nothing else agrees to anything new: what nobody has used, or a call that has not
    ended, keeps its old digest, and an agreement for the whole run was for what has run.
    """
    done = {x.call for x in records if isinstance(x, Returned)}
    ended = {x.grant for x in records if isinstance(x, Intended) and x.grant and x.call in done}
    asked, args = dict[str, Asked](), dict[str, Any]()
    made: list[AnyRecord] = []
    for _, run, record in with_runs(records):
        match record:
            case Asked() if record.i in ended and not is_as_shown(run, record):
                action = action_digest(run, record.call, record.tool, record.definition, record.args)
                record = msgspec.structs.replace(record, action=action)
                record = msgspec.structs.replace(record, digest=shown_digest(run, record))
                asked[record.i], args[record.i] = record, record.args
            case Decided() if record.i in asked:
                record = msgspec.structs.replace(record, digest=asked[record.i].digest, scope="")
                args[record.i] = record.edit if record.edit is not None else args[record.i]
            case Intended() if record.grant in asked:
                of = asked[record.grant]
                digest = action_digest(run, of.call, of.tool, of.definition, args[of.i])
                record = msgspec.structs.replace(record, digest=digest)
            case _:
                pass
        made.append(record)
    return made


def _due(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """The same, but a run that had been parked is due: somebody has to ask again."""
    found = list(records)
    parked = max((place for place, x in enumerate(found) if isinstance(x, Parked)), default=-1)
    if parked >= 0:
        found[parked] = msgspec.structs.replace(found[parked], wake_at=found[parked].at)
    return found


def _not_as_asked(records: Sequence[AnyRecord], state: State) -> list[AnyRecord]:
    """What takes approvals back that no longer say what they show, and were not used: their calls are asked about again."""
    begun = {x.grant for x in records if isinstance(x, Intended)}
    waits = {*state.open, *state.grants} - begun
    asked = [x for x in records if isinstance(x, Asked) and x.i in waits and x.gate]
    return [Closed(i=x.i, why="void") for x in asked if not is_as_shown(state.run, x)]
