"""The audit: who wanted what, when, from where, why, and what came of it.

Its lines are hash-chained by scope: one chain for each run, one for global commands, one for the
security log. A journal is chained in the same way. What ties the chains together, so that a whole
one cannot vanish, are the seals (`stores.seals`).
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Literal, cast

import msgspec

from adjourn.core.codec import decode
from adjourn.core.interrupt_kind import InterruptState
from adjourn.errors import Invalid

SECURITY = "@security"
"""The scope of the security log: logins, keys, users, refusals at the door. No run can have this
id."""


def chain(head: bytes, body: str) -> bytes:
    """The hash that ties a line to everything before it."""
    return hashlib.sha256(head + body.encode()).digest()


class AuditLine(msgspec.Struct, frozen=True, gc=False):
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


class FoundLine(AuditLine, frozen=True):
    """A line with what else is known of it, as long as its run is there and was not erased.

    `program` and `title` are the run's; `opening` is the record that opened the interrupt it is
    about, `record` the one that came of it, both as they are stored; `state` is the interrupt's by
    now. `is_contested`: a worker did not believe a decision on that interrupt; which one is in the
    journal, see `views.audit_entry.entries`.
    """

    program: str = ""
    title: str = ""
    opening: str = ""
    record: str = ""
    state: InterruptState | Literal[""] = ""
    is_contested: bool = False

    @property
    def is_decided(self) -> bool:
        """Whether people have decided what it is about. What stood and was revoked was decided
        too; one vote of several decides nothing."""
        return self.state in ("decided", "revoked")


class AuditFilter(msgspec.Struct, frozen=True):
    """Which lines are wanted. Empty fields do not filter.

    `text` is a part of anything that a line says, of its run's title, or of the arguments of the
    call that it is about, whatever the case. `verb` is one of the audit, or a verdict. `agent` and
    `tool` are as the line has them: those written before schema 21 have none. `since` and `until`
    are seconds of the epoch. `refused`: only what was refused, or only what was not.
    """

    by: str = ""
    verb: str = ""
    run: str = ""
    agent: str = ""
    tool: str = ""
    text: str = ""
    since: float = 0.0
    until: float = 0.0
    refused: bool | None = None

    def fits(self, found: FoundLine) -> bool:
        """Whether this line is one of them."""
        entry = found.entry
        said = {
            "by": entry.get("by", ""),
            "agent": entry.get("agent", ""),
            "tool": entry.get("tool", ""),
        }
        if any(getattr(self, name) not in ("", value) for name, value in said.items()):
            return False
        if self.verb not in ("", entry["verb"], entry.get("verdict", "")):
            return False
        if self.run not in ("", found.scope):
            return False
        if self.since and entry["at"] < self.since:
            return False
        if self.until and entry["at"] > self.until:
            return False
        if self.refused is not None and self.refused != bool(entry.get("refused")):
            return False
        return not self.text or self._is_in(found)

    def _is_in(self, found: FoundLine) -> bool:
        wanted = self.text.casefold()
        words = list(_words(found.entry))
        words += (found.scope, found.title)
        if found.opening:
            opening = decode(found.opening)
            words += _words([opening.get("args"), opening.get("phrase"), opening.get("tool")])
        return any(wanted in word.casefold() for word in words)


def _words(value: Any) -> Iterator[str]:
    """Every string and number in a value."""
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _words(part)
    elif value is not None:
        yield str(value)


EVERY_LINE = AuditFilter()


async def newest(
    look: Callable[[str, int], Awaitable[Sequence[FoundLine]]],
    wanted: AuditFilter,
    before: str,
    limit: int,
) -> list[FoundLine]:
    """The newest lines that are wanted, found in looks of which each has an end.

    Args:
        look: lines older than a place, newest first, and at most so many: all that are wanted, and
            perhaps others.
        wanted: what the lines must fulfil.
        before: the place of a line: only older ones.
        limit: at most so many.
    """
    found: list[FoundLine] = []
    while True:
        lines = await look(before, LOOK)
        found += [line for line in lines if wanted.fits(line)]
        if len(lines) < LOOK or len(found) >= limit:
            return found[:limit]
        before = lines[-1].place


LONGEST = 8_192
"""Characters of a record that is read with its line; a call may have megabytes of arguments."""
LOOK = 500
"""Lines that one look goes through."""
NARROW = ("tool", "by", "agent", "verb")
"""What lines have an index for, the rarest first."""
ANSWER = "answer"
"""The verb of every decision; its verdict says more, and is what the index has."""


def narrowest(wanted: AuditFilter) -> str:
    """The field whose index is walked; "" if no field has one."""
    for name in NARROW:
        if name == "verb" and wanted.verb == ANSWER:
            continue
        if getattr(wanted, name):
            return name
    return ""


def newest_first(wanted: AuditFilter, lines: Iterable[FoundLine]) -> list[FoundLine]:
    """Newest first: by time, then by scope and number; those of one run by their numbers."""
    if wanted.run:
        return sorted(lines, key=lambda line: line.n, reverse=True)
    return sorted(lines, key=lambda line: placed(line.place), reverse=True)


def placed(place: str) -> tuple[float, str, int]:
    """A line's `place` as (time, scope, number); raises `Invalid` for anything else."""
    try:
        at, number, scope = place.split("/", 2)
        return float(at), scope, int(number)
    except ValueError:
        raise Invalid(
            f"{place!r:.80} is not a position in the audit", advice="take it from the page before"
        ) from None


class Evidenced(StrEnum):
    """What is compared with the chains, as a sentence about it begins."""

    AUDIT = "audit of"
    JOURNAL = "journal of"
    ROWS = "rows of"
    FILES = "files of"
    HALT = "halt"
    HOLD = "hold"
    ENDPOINT = "endpoint"
    SIGNING = "signing"
    SEAL = "seal"
    SEALS = "seals"
    ANCHOR = "anchor"

    @property
    def is_of_run(self) -> bool:
        """Whether it is what a run has beside its audit."""
        return self in (Evidenced.JOURNAL, Evidenced.ROWS, Evidenced.FILES)


NUMBERED = (Evidenced.SEAL, Evidenced.SEALS, Evidenced.ANCHOR)
"""What has a number and no scope."""


class BrokenChain(msgspec.Struct, frozen=True):
    """A place that is not as it was written. `n` is the line, if there is one."""

    what: Evidenced
    scope: str
    n: int
    why: str

    def __str__(self) -> str:
        if self.what in NUMBERED:
            return f"{self.what} {self.n or ''}".rstrip() + f": {self.why}"
        line = f", line {self.n}" if self.n else ""
        return f"{self.what} {self.scope or '(global)'}{line}: {self.why}"


def verify(
    what: Evidenced,
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
            return BrokenChain(what, scope, number, "its content is missing, but it was not erased")
        count, head = number, chain(head, body)
        if head != stored:
            return BrokenChain(what, scope, number, "it was edited, or moved here from elsewhere")
    if (count, head) != last:
        return BrokenChain(
            what,
            scope,
            count + 1,
            f"lines are missing at the end: there were {last[0]}, there are {count}",
        )
    return None
