"""A line of the audit as people and programs read it; the line itself stays as it was written."""

from typing import Any

import msgspec

from adjourn.stores.audit import AuditLine

_NAMES = {"run": "run_id", "from": "origin", "interrupt": "interrupt_id", "of": "forked_from"}
"""Keys of the stored line that have another name here."""
_TEXTS = (
    "verb",
    "by",
    "origin",
    "refused",
    "interrupt_id",
    "verdict",
    "note",
    "digest",
    "reason",
    "scope",
    "endpoint",
    "forked_from",
)


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Who wanted what, when, from where, and what came of it.

    `number` is its place in the chain of its scope, `cursor` its place among all lines. `seq` is
    the record that came of it, `refused` why there is none. `more` has what only some verbs say.
    """

    number: int
    cursor: str
    run_id: str
    verb: str
    by: str
    origin: str
    at: float
    seq: int | None
    refused: str
    interrupt_id: str
    verdict: str
    note: str
    digest: str
    reason: str
    scope: str
    endpoint: str
    forked_from: str
    more: dict[str, Any]

    @classmethod
    def of(cls, line: AuditLine) -> "AuditEntry":
        """Read a stored line."""
        found = {_NAMES.get(name, name): value for name, value in line.entry.items()}
        texts = {name: str(found.pop(name, None) or "") for name in _TEXTS}
        return cls(
            number=line.n,
            cursor=line.place,
            run_id=found.pop("run_id", line.scope),
            at=found.pop("at"),
            seq=found.pop("seq", None),
            **texts,
            more=found,
        )
