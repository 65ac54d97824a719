"""The audit: who wanted what, when, from where, why, and what came of it.

Its lines are hash-chained by scope: one chain for each run, one for global commands, one for the
security log. A journal is chained in the same way. What ties the chains together, so that a whole
one cannot vanish, are the seals (`stores.seals`).
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from adjourn.core.codec import decode
from adjourn.errors import Invalid

SECURITY = "@security"
"""The scope of the security log: logins, keys, users, refusals at the door. No run can have this
id."""


def chain(head: bytes, body: str) -> bytes:
    """The hash that ties a line to everything before it."""
    return hashlib.sha256(head + body.encode()).digest()


class AuditLine(msgspec.Struct, frozen=True):
    """One line. `scope` is a run id, "" for commands that concern no single run, or `SECURITY`."""

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
        at, number, scope = place.split("/", 2)
        return float(at), scope, int(number)
    except ValueError:
        raise Invalid(
            f"{place!r:.80} is not a position in the audit", advice="take it from the page before"
        ) from None


NUMBERED = ("seal", "seals", "anchor")
"""What has a number and no scope."""


class BrokenChain(msgspec.Struct, frozen=True):
    """A place that is not as it was written. `what` is a chain, a row, a seal or an anchor; `n` is
    the line, if there is one."""

    what: str
    scope: str
    n: int
    why: str

    def __str__(self) -> str:
        if self.what in NUMBERED:
            return f"{self.what} {self.n or ''}".rstrip() + f": {self.why}"
        if self.n:
            line = f", line {self.n}"
        else:
            line = ""
        return f"{self.what} {self.scope or '(global)'}{line}: {self.why}"


def verify(
    what: str,
    scope: str,
    rows: Iterable[tuple[int, str | None, bytes]],
    last: tuple[int, bytes],
    salt: bytes = b"",
) -> BrokenChain | None:
    """Check a chain of (number, body, hash) against its last known (number, hash); the first broken
    place, or None.

    It begins with `salt`.
    """
    count, head = 0, salt
    for number, body, stored in rows:
        if number != count + 1:
            return BrokenChain(
                what, scope, count + 1, f"it is missing: line {number} follows line {count}"
            )
        if body is None:
            return BrokenChain(what, scope, number, "its content is gone, and nobody erased it")
        count, head = number, chain(head, body)
        if head != stored:
            return BrokenChain(what, scope, number, "it was edited, or moved here from elsewhere")
    if (count, head) != last:
        return BrokenChain(
            what,
            scope,
            count + 1,
            f"the end is missing: there were {last[0]} lines, there are {count}",
        )
    return None
