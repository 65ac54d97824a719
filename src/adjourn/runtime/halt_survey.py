"""Reads what halts hold: the open runs, and the agents and tools that exist."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from adjourn.core.halt import scope_parts
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.errors import KeyMissing
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Filter
from adjourn.stores.run_row import RunRow
from adjourn.views.halt_scope import HaltNames, HaltScope, OpenRun, halt_scopes, open_run, row_only

OPEN = (Status.READY, Status.WAITING, Status.CANCELLING, Status.STUCK)
"""A paused run is held already, by a person."""
PAGE = 500
ROWS = 10_000
"""Open runs that are counted; more are said to be more."""
JOURNALS = 300
"""Open runs whose journals are read, the newest of each status: of the others the program is known
and not the tool."""

StateOf = Callable[[str], Awaitable[State]]


@dataclass(frozen=True, slots=True)
class SurveyedHalts:
    """What can be halted. `complete`: every open run was counted, and every journal read."""

    items: list[HaltScope]
    complete: bool

    def of(self, scope: str) -> HaltScope:
        """One of them.

        Args:
            scope: a scope that was asked for.
        """
        return next(item for item in self.items if item.scope == scope)


class HaltSurvey:
    """Looks again only at the runs that have moved."""

    def __init__(self, runtime: Runtime, state_of: StateOf | None = None) -> None:
        self._rt = runtime
        self._state_of = state_of or self._folded
        self._kept: dict[str, tuple[int, str, OpenRun]] = {}
        self._reading = asyncio.Lock()

    async def look(self, asked: str = "") -> SurveyedHalts:
        """What can be halted, the halts that are on, and the scope that was asked for.

        Args:
            asked: a scope, also of a name that nothing has.
        """
        async with self._reading:
            on = [halt.scope for halt in await self._rt.store.halt("")]
            rows, complete = await self._rows()
            runs = [await self._run(row, frozenset(on)) for row in rows[:JOURNALS]]
            runs += [row_only(row) for row in rows[JOURNALS:]]
            self._kept = {run.id: self._kept[run.id] for run in runs if run.id in self._kept}
        names = self._names(rows, runs)
        kind, name = scope_parts(asked)
        if kind == "agent" and asked not in names:
            await self._add_past_agent(names, name)
        also: list[str] = []
        if asked:
            also.append(asked)
        items = halt_scopes(names, runs, on, also)
        return SurveyedHalts(items, complete and len(rows) <= JOURNALS)

    async def _rows(self) -> tuple[list[RunRow], bool]:
        found: dict[str, RunRow] = {}
        for status in OPEN:
            after = ""
            while len(found) < ROWS:
                page = await self._rt.store.runs(
                    Filter(status=status.value, after=after, limit=PAGE)
                )
                found.update((row.id, row) for row in page if row.status == status)
                if len(page) < PAGE:
                    break
                after = page[-1].id
        rows = sorted(found.values(), key=lambda row: row.updated_at, reverse=True)
        return rows, len(rows) < ROWS

    async def _run(self, row: RunRow, on: frozenset[str]) -> OpenRun:
        status = row.shown(self._rt.store.now(), on)
        kept = self._kept.get(row.id)
        if kept is not None and kept[:2] == (row.seq, status):
            return kept[2]
        try:
            state = await self._state_of(row.id)
        except KeyMissing:  # what it does is not known here; it is counted, and named
            state = State()
        made = open_run(row, state, status)
        self._kept[row.id] = (row.seq, status, made)
        return made

    async def _folded(self, run: str) -> State:
        return State().fold_all(await self._rt.store.load(run))

    def _names(self, rows: Iterable[RunRow], runs: Iterable[OpenRun]) -> HaltNames:
        names = HaltNames()
        for program in self._rt.programs.values():
            names.add_program(program.fingerprint)
        for row in rows:
            names.add_agent(row.program)
        for run in runs:
            names.add_program(run.fingerprint)
        return names

    async def _add_past_agent(self, names: HaltNames, name: str) -> None:
        """An agent that has had a run is known, although none of its runs is open."""
        if await self._rt.store.runs(Filter(program=name, limit=1)):
            names.add_agent(name)
