"""The audit: who wanted what, when, from where, why, and what came of it. Hash-chained per run, and once for global commands.

A journal is chained in the same way. Both are checked here, from the rows alone.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from adjourn.core.codec import decode, encode
from adjourn.errors import Invalid


def chain(head: bytes, body: str) -> bytes:
    """The hash that ties a line to everything before it."""
    return hashlib.sha256(head + body.encode()).digest()


class AuditRow(msgspec.Struct, frozen=True):
    """One line. `scope` is a run id, or "" for commands that concern no single run."""

    scope: str
    n: int
    body: str
    head: bytes

    @property
    def entry(self) -> dict[str, Any]:
        """The line as data: `at`, `verb`, `by`, `from`, and `seq` or `refused`."""
        return decode(self.body)

    @property
    def place(self) -> str:
        """Where it is among all lines: by time, then by scope and number."""
        return f"{self.entry['at']!r}/{self.n}/{self.scope}"


def placed(place: str) -> tuple[float, str, int]:
    """A line's `place` as (time, scope, number); raises `Invalid` for anything else."""
    try:
        at, n, scope = place.split("/", 2)
        return float(at), scope, int(n)
    except ValueError:
        raise Invalid(f"{place!r:.80} is no place in the audit; take it from the page before") from None


class AuditTx(Protocol):
    """What a transaction offers for the audit."""

    def audit(self, entry: AuditRow) -> None:
        """Append a line and remember it as the scope's last."""
        ...

    def audit_head(self, scope: str) -> tuple[int, bytes]:
        """The number and the hash of the scope's last line; (0, b"") if it has none."""
        ...


def audited(tx: AuditTx, now: float, scope: str, entry: dict[str, Any]) -> None:
    """Write a line of the audit; if that fails, so does the action, because both are one transaction."""
    n, head = tx.audit_head(scope)
    body = encode({"at": round(now, 3), "run": scope, **entry}).decode()
    tx.audit(AuditRow(scope, n + 1, body, chain(head, body)))


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a chain is broken: the first line that is not what was written there."""

    what: str
    scope: str
    n: int
    why: str

    def __str__(self) -> str:
        return f"{self.what} {self.scope or '(global)'}, line {self.n}: {self.why}"


def verify(what: str, scope: str, rows: Iterable[tuple[int, str, bytes]], last: tuple[int, bytes]) -> Broken | None:
    """Check a chain of (number, body, hash) against its last known (number, hash); the first broken place, or None."""
    n, head = 0, b""
    for number, body, stored in rows:
        if number != n + 1:
            return Broken(what, scope, n + 1, f"it is missing: line {number} follows line {n}")
        n, head = number, chain(head, body)
        if head != stored:
            return Broken(what, scope, n, "it was edited, or moved here from elsewhere")
    if (n, head) != last:
        return Broken(what, scope, n + 1, f"the end is missing: there were {last[0]} lines, there are {n}")
    return None
