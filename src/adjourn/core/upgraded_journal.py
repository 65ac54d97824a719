"""How a journal is read once an upgrade stands in it: earlier records as the program of today would
have written them.

Nothing is written again. An upgrade says of some fields of some records what they are read as;
nothing else of a record can be said differently, whatever the upgrade names. What people were asked
and what they said is never among it, so whether somebody stands behind a call is asked of the
records as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.records import (
    AnyRecord,
    Decided,
    Intended,
    Replied,
    Returned,
    Started,
    Stepped,
    Suspended,
    Upgraded,
    Verified,
)
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.state import State

Numbered = tuple[int, AnyRecord]

READ_ANEW: Mapping[type[Any], frozenset[str]] = {
    Started: frozenset({"fingerprint", "graph", "history"}),
    Replied: frozenset({"parts", "drawn", "output"}),
    Intended: frozenset({"tool", "agent"}),
    Returned: frozenset({"value", "changes", "emits"}),
    Suspended: frozenset({"changes", "emits"}),
    Stepped: frozenset({"value"}),
    Verified: frozenset({"value"}),
    Decided: frozenset({"edit"}),
}
"""What an upgrade may say differently, by the type of the record: names, shapes and results, never
what happened."""


def as_upgraded(records: Sequence[Numbered]) -> Sequence[Numbered]:
    """A whole journal as its upgrades read it; of several, the last word counts."""
    upgrades = [record for _, record in records if type(record) is Upgraded]
    if not upgrades:
        return records
    now: dict[int, dict[str, Any]] = {}
    for upgrade in upgrades:
        now.setdefault(1, {})["fingerprint"] = upgrade.fingerprint
        for seq, fields in upgrade.now.items():
            now.setdefault(int(seq), {}).update(fields)
    return [(seq, read_as(record, now[seq]) if seq in now else record) for seq, record in records]


def read_as(record: AnyRecord, fields: Mapping[str, Any]) -> AnyRecord:
    """The record with these fields instead; raises `msgspec.ValidationError` if they are none of
    its kind."""
    allowed = may_change(record)
    plain = msgspec.to_builtins(record)
    for name, value in fields.items():
        if name in allowed:
            plain[name] = value
    return msgspec.convert(plain, type(record))


def may_change(record: AnyRecord) -> frozenset[str]:
    """The fields of this record that an upgrade may read differently.

    The intent of a call that somebody agreed to stays what they agreed to. So does what they put in
    the place of its arguments, if that is signed, or was for the whole run.
    """
    allowed = READ_ANEW.get(type(record), frozenset[str]())
    if isinstance(record, Intended) and (record.gate or record.grant):
        return allowed - {"tool"}
    if isinstance(record, Decided) and (
        record.edit is None or record.seal is not None or record.scope == "run"
    ):
        return frozenset()
    return allowed


def upgraded(state: State, _seq: int, record: Upgraded) -> None:
    """From here on the run is of another version. What had begun keeps the key that it began with;
    who waits looks again."""
    state.accepted = None
    for id, began in record.began.items():
        if call := state.live.get(id) or state.effects.get(id):
            call.began = began
    if state.parked is not None and state.status in (Status.WAITING, Status.STUCK):
        state.parked = msgspec.structs.replace(state.parked, wake_at=record.at)
