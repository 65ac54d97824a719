"""Which program goes on with a run here, and whether it may: asked before the run is taken, so that
its answers stay for a worker that fits."""

import logging
from collections.abc import Mapping
from math import inf
from typing import Any

import msgspec

from adjourn.core.program_changes import changes
from adjourn.core.records import Fact, Move, Released
from adjourn.core.state import State
from adjourn.core.status import CANCELS
from adjourn.driver.cold_start import folded
from adjourn.driver.decider_keys import StoreTrust
from adjourn.driver.program import Program
from adjourn.errors import (
    AdjournError,
    BrokenHistory,
    KeyMissing,
    MissingResource,
    NotTrusted,
    ProgramChanged,
    Refused,
    bare,
)
from adjourn.runtime.upgraders import Upgrade, upgrade_of, upgrader_of
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Lease, Store
from adjourn.stores.run_row import RunRow

log = logging.getLogger("adjourn.worker")

REFUSED = 10_000
"""So many refusals are remembered; what is forgotten is looked at once more."""
DUE = 100
"""Runs that are due beside those that were refused: so many are looked through for them."""
MISFITS = (ProgramChanged, MissingResource, NotTrusted, BrokenHistory, KeyMissing)
"""Why a run that has a program of its name here cannot go on with it."""
AGAIN = 60.0
"""After so many seconds a run whose key was missing is looked at again: the key may come."""


class Refusal(msgspec.Struct):
    """A run that does not fit, as it was at `seq`, with this upgrader; not looked at before `until`, if
    that is given."""

    seq: int
    upgrader: Upgrade | None
    until: float = inf


def check_resources(program: Program, resources: Mapping[str, Any]) -> None:
    """Raise `MissingResource` if the program needs what is not there."""
    if missing := program.missing(resources):
        raise MissingResource(missing, f"{program.kind} {bare(program.name)}")


class Fitness:
    """Looks whether runs fit the programs of one worker, and upgrades those that do."""

    def __init__(
        self,
        store: Store,
        worker: str,
        *,
        resources: Mapping[str, Any],
        on_change: str,
        trust: StoreTrust | None,
    ) -> None:
        self.programs: dict[str, Program] = {}
        self._store, self._worker, self._trust = store, worker, trust
        self._resources, self._on_change = resources, on_change
        self._refused: dict[str, Refusal] = {}

    def register(self, program: Program) -> None:
        """Know this program from now on; what was refused may fit it."""
        self.programs[program.name] = program
        self._refused.clear()

    def is_refused(self, row: RunRow) -> bool:
        """Whether this run did not fit, and has not moved since."""
        known = self._refused.get(row.id)
        return (
            known is not None
            and known.seq == row.seq
            and known.upgrader is upgrader_of(row.program)
            and self._store.now() < known.until
        )

    async def refused(self) -> list[str]:
        """The runs that do not fit, and have not moved since: not to be taken, nor looked at
        again."""
        if self._refused:
            for row in await self._store.due(list(self.programs), len(self._refused) + DUE):
                if not self.is_refused(row):
                    self._refused.pop(row.id, None)
        return list(self._refused)

    def accept(self, run: str) -> None:
        """The run went on here."""
        self._refused.pop(run, None)

    async def program_for(self, state: State, lease: Lease | None = None) -> Program | None:
        """The program that goes on from this state; None if there is none of its name. Raises one
        of `MISFITS`, of which people are
        told: elsewhere the run looks as if it only waited for a worker. A run that was taken
            already is given back then."""
        try:
            program = await self._program_for(state)
        except MISFITS as e:
            await self.misfits(state.run, e, lease, state)
            raise
        if program is None:
            self._refuse(await self._given_back(lease) if lease else state)
        return program

    async def misfits(
        self, run: str, error: AdjournError, lease: Lease | None, state: State | None = None
    ) -> None:
        """The run cannot go on here. A lease that was taken is given back first: then it is not
        asked for again."""
        if isinstance(error, KeyMissing):
            await self._lacks_key(run, error)
            return
        if lease is not None:
            state = await self._given_back(lease)
        await self.say(state or await folded(self._store, run, self._trust), error)

    async def _lacks_key(self, run: str, error: KeyMissing) -> None:
        """An encrypted run that cannot be read here, and so is not taken; nor given back, which would
        be a record."""
        row, now = await self._store.get(run), self._store.now()
        self._remember(run, Refusal(row.seq, upgrader_of(row.program), now + AGAIN))
        await self._store.misfits(Misfit(run, row.seq, str(error), worker=self._worker, at=now))

    async def _given_back(self, lease: Lease) -> State:
        """Give a lease back that nobody can use here; the run as it is then."""
        await self._store.release(lease, Released(why="no agent or flow here fits it"))
        return await folded(self._store, lease.run, self._trust)

    async def _program_for(self, state: State) -> Program | None:
        if state.belief.untrusted and state.status not in CANCELS:
            raise NotTrusted(state.run, state.belief.untrusted)
        started = state.started
        program = self.programs.get(started.program)
        if program is None or program.kind != started.kind:
            return None
        check_resources(program, self._resources)
        state = await self._fitting(state, program)
        if state.status not in CANCELS and self._trust is not None:
            self._trust.check_nested(state, program, self._store.now())
        return program

    async def _fitting(self, state: State, program: Program) -> State:
        """The state as this program would go on from it; raises `ProgramChanged` if it cannot.
        Nothing is recorded yet."""
        found = changes(program.name, state.fingerprint, program.fingerprint)
        if not found:
            return state
        if upgrader_of(program.name):
            records = await self._store.load(state.run)
            made = upgrade_of(
                [record for _, record in records], state, program.name, program.fingerprint
            )
            return State(self._trust, state.before).fold_all(
                [*records, *enumerate(made, len(records) + 1)]
            )
        if self._on_change != "warn":
            raise ProgramChanged(program.name, found)
        log.warning(
            "run %s continues although %s changed: %s", state.run, program.name, "; ".join(found)
        )
        return state

    async def upgraded(self, lease: Lease, state: State, program: Program) -> State:
        """Before anything else is done with a run that this worker holds: if its program changed
        and has an upgrader, that is recorded. If that fails now, although it did not when it was
        looked at, the run is given back."""
        found = changes(program.name, state.fingerprint, program.fingerprint)
        if not found or not upgrader_of(program.name):
            return state
        try:
            return await self._upgrade(lease, state, program)
        except (ProgramChanged, Refused) as e:
            await self._store.release(lease, Released(why="its upgrade failed"))
            state = await folded(self._store, lease.run, self._trust)
            if isinstance(e, ProgramChanged):
                error = e
            else:
                error = ProgramChanged(program.name, [*found, str(e)])
            await self.say(state, error)
            raise error from e

    async def _upgrade(self, lease: Lease, state: State, program: Program) -> State:
        """Record the upgrade, once nobody says anything in between. What the fold did not believe
        is disowned first: a move would say that it was accepted."""
        facts: list[Fact] = [*state.belief.disowns]
        moves: list[Move] = []
        while True:
            if facts or moves:
                done = await self._store.commit(lease, facts, moves, seen=state.seq)
            else:
                done = None
            loaded = await self._store.load(lease.run)
            state = State(self._trust, state.before).fold_all(loaded)
            if moves and done and done.clean:
                log.warning("run %s was upgraded to the %s that is here", lease.run, program.name)
                return state
            records = [record for _, record in loaded]
            facts, moves = [], [*upgrade_of(records, state, program.name, program.fingerprint)]
            if not moves:
                return state

    async def say(self, state: State, error: AdjournError) -> None:
        """Leave it alone until it moves, and leave a note for people."""
        program = self.programs.get(state.started.program)
        changed = isinstance(error, ProgramChanged) and program is not None
        self._refuse(state)
        if isinstance(error, ProgramChanged):
            why = "; ".join(error.changes)
        else:
            why = str(error)
        if program and changed:
            fingerprint = program.fingerprint
        else:
            fingerprint = {}
        await self._store.misfits(
            Misfit(state.run, state.seq, why, fingerprint, self._worker, self._store.now())
        )

    def _refuse(self, state: State) -> None:
        self._remember(state.run, Refusal(state.seq, upgrader_of(state.started.program)))

    def _remember(self, run: str, refusal: Refusal) -> None:
        if len(self._refused) >= REFUSED:
            del self._refused[next(iter(self._refused))]
        self._refused[run] = refusal
