"""The security log: who came in, who was turned away, and what changed about who may.

It is a chain of the audit (`@security`), so it is sealed with everything else. Refusals are
counted, and written once a minute: whatever is alike in address, name and cause is one line. And
there is a budget of lines: when strangers have used it up, the rest of them are one line an hour
together, so nobody without a key can fill the disk.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from adjourn.errors import AdjournError
from adjourn.stores.protocol import Store

log = logging.getLogger("adjourn.security")

WINDOW = 60.0
"""Seconds in which what is alike is one line."""
CROWD = 3600.0
"""Seconds in which everything that is beyond the budget is one line for each cause."""
KNOWN = 1_000
"""So many different addresses, names and causes are told apart at a time."""
KEPT = 1_000
"""So many lines wait for a store that fails; of more only the number is kept."""
LONGEST = 200
LOOK = 1.0
"""Seconds between two looks at what is due."""


@dataclass(slots=True)
class LineBudget:
    """So many lines at once, and then so many an hour."""

    burst: float
    hourly: float
    left: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.left = self.burst

    def take(self, now: float) -> bool:
        """Whether there is a line left; if so, it is taken."""
        self.left = min(self.burst, self.left + max(0.0, now - self.at) * self.hourly / 3600)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True)
class _Seen:
    """One kind of event: since when its line is out, and how many came after it."""

    since: float
    count: int = 0


@dataclass(slots=True)
class _Crowd:
    """What was beyond the budget, of one kind."""

    since: float
    count: int = 0
    addresses: set[str] = field(default_factory=set[str])


Kind = tuple[str, str, str, str]
"""Verb, cause, name and address: what makes two events alike."""


class Tally:
    """Turns events into lines. What was done is a line at once; what was refused is counted for a
    minute, and then a line."""

    def __init__(self, budget: LineBudget) -> None:
        """`budget`: how many lines there may be; the events beyond it are one line an hour for each
        cause."""
        self._budget = budget
        self._seen: dict[Kind, _Seen] = {}
        self._crowds: dict[tuple[str, str], _Crowd] = {}
        self._looked = 0.0

    def count(
        self, now: float, verb: str, cause: str = "", by: str = "", address: str = ""
    ) -> list[dict[str, Any]]:
        """Count an event; the lines that are due now."""
        kind = (verb, cause, by[:LONGEST], address[:LONGEST])
        if kind in self._seen:
            self._seen[kind].count += 1
        elif len(self._seen) >= KNOWN:
            self._crowd(now, kind, 1)
        elif cause:
            self._seen[kind] = _Seen(now, 1)
        else:
            return [*self._written(now, kind, 1), *self.due(now)]
        return self.due(now)

    def _written(self, now: float, kind: Kind, count: int) -> list[dict[str, Any]]:
        """A line, if the budget has one left; else it is one of the crowd."""
        if not self._budget.take(now):
            self._crowd(now, kind, count)
            return []
        if not kind[1]:  # the next of its kind waits for a minute
            self._seen[kind] = _Seen(now)
        return [_line(kind, count)]

    def _crowd(self, now: float, kind: Kind, count: int) -> None:
        crowd = self._crowds.setdefault(kind[:2], _Crowd(now))
        crowd.count += count
        if len(crowd.addresses) < KNOWN:
            crowd.addresses.add(kind[3])

    def due(self, now: float, *, last: bool = False) -> list[dict[str, Any]]:
        """The lines that are due now; with `last`, whatever is left."""
        lines: list[dict[str, Any]] = []
        # a flood should not cost a look at everything each time
        if not last and self._looked <= now < self._looked + LOOK:
            return lines
        self._looked = now
        for kind, seen in list(self._seen.items()):
            if last or now - seen.since >= WINDOW:
                del self._seen[kind]
                if seen.count:
                    lines += self._written(now, kind, seen.count)
        for (verb, cause), crowd in list(self._crowds.items()):
            if last or now - crowd.since >= CROWD:
                del self._crowds[verb, cause]
                lines.append(
                    _line((verb, cause, "", ""), crowd.count) | {"addresses": len(crowd.addresses)}
                )
        return lines


def _line(kind: Kind, count: int) -> dict[str, Any]:
    verb, cause, by, address = kind
    line: dict[str, Any] = {"verb": verb, "by": by, "from": f"http {address}" if address else ""}
    if cause:
        line["refused"] = cause
    if count > 1:
        line["count"] = count
    return line


class SecurityLog:
    """Writes the security log of a store while it is open:
    `async with SecurityLog(lambda: runtime.store) as log:`.

    Events are counted at once and written a moment later, so no request waits for the disk because
    of them.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        """`store`: gives the store, which may be opened later."""
        self._store = store
        # none crowds the other out
        self._strangers, self._people = (
            Tally(LineBudget(100, 20)),
            Tally(LineBudget(200, 60)),
        )
        self._lines: list[dict[str, Any]] = []
        self._lost = 0
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(
            self._run(), name="adjourn-security-log"
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._put(self._due(last=True))
        await self.flush()

    def happened(self, verb: str, *, by: str = "", address: str = "") -> None:
        """Somebody did something: `verb` is `login` or `logout`."""
        self.refused(verb, "", by=by, address=address)

    def refused(self, verb: str, cause: str, *, by: str = "", address: str = "") -> None:
        """Somebody was refused: `verb` is what they wanted (`login`, `start`, `request`), `cause`
        why, as a code."""
        tally = self._people if by else self._strangers
        self._put(tally.count(self._store().now(), verb, cause, by, address))

    def note(self, line: Mapping[str, Any]) -> None:
        """A line as it is, for what happens seldom: users and keys that are added, changed or
        removed."""
        self._put([dict(line)])

    def noted_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[Mapping[str, Any]], None]:
        """`note` for callers in any thread; `loop` is where this log lives."""

        def note(line: Mapping[str, Any]) -> None:
            try:
                here = asyncio.get_running_loop()
            except RuntimeError:
                here = None
            if here is loop:
                self.note(line)
            else:
                loop.call_soon_threadsafe(self.note, line)

        return note

    def _due(self, *, last: bool = False) -> list[dict[str, Any]]:
        now = self._store().now()
        return [*self._people.due(now, last=last), *self._strangers.due(now, last=last)]

    def _put(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            log.info("%s", line["verb"], extra={"security": line})
            if len(self._lines) < KEPT:
                self._lines.append(line)
            else:
                self._lost += 1
        if self._lines:
            self._bell.set()

    async def flush(self) -> None:
        """Write what is there. A store that fails is tried again with what comes next."""
        lines, self._lines = self._lines, []
        if self._lost:
            lines.append({"verb": "lose lines", "by": "", "from": "", "count": self._lost})
        try:
            if lines:
                await self._store().note(lines)
            self._lost = 0
        except AdjournError as e:
            log.warning("%d lines of the security log are not written yet: %s", len(lines), e)
            self._lines = [line for line in lines if line["verb"] != "lose lines"] + self._lines

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(WINDOW):  # not wait_for: it may swallow a cancellation
                    await self._bell.wait()
            except TimeoutError:
                self._put(self._due())
            self._bell.clear()
            await self.flush()
