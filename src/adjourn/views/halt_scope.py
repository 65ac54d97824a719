"""What a halt holds: everything, an agent or a tool, each with the runs that it touches now."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import IntEnum
from typing import Any

import msgspec

from adjourn.core.call import OWING, Call, Phase
from adjourn.core.halt import scope_parts, scopes
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.stores.run_row import RunRow

NEAR = 3
"""Names that are offered in the place of one that is not known."""
SHOWN = 20
"""Calls in flight that are named; the others are counted."""


class CallInFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A call that a halt lets finish."""

    run_id: str
    tool: str
    since: float


class HaltScope(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be halted. `known`: a program here, or a run, has an agent or a tool of
    that name; if not, `near` has names that are like it. `used_by`: the agents that have the tool.

    `holds`: the open runs that it touches now, of which `finishing` have a call in flight, `waiting`
    wait for a person, and the rest would begin something next. `more` of them are held by no halt
    that is on. `in_flight` names some of the calls in flight.
    """

    scope: str
    known: bool
    near: tuple[str, ...]
    used_by: tuple[str, ...]
    holds: int
    more: int
    finishing: int
    waiting: int
    in_flight: tuple[CallInFlight, ...]


class HeldStage(IntEnum):
    """How far a run is with what a halt touches; the least counts."""

    IN_FLIGHT = 0
    WAITING = 1
    NEXT = 2


@dataclass(frozen=True, slots=True)
class HeldWork:
    """Something that an open run does, waits for or does next, and every halt that would stop it."""

    touched_by: frozenset[str]
    stage: HeldStage
    in_flight: CallInFlight | None = None


@dataclass(slots=True)
class OpenRun:
    """An open run: what it has to do, and the names of its program."""

    id: str
    works: Sequence[HeldWork]
    fingerprint: Mapping[str, Any] = field(default_factory=dict[str, Any])


def row_only(row: RunRow) -> OpenRun:
    """An open run of which only the row was read: its program is known, and what it is blocked by.

    Args:
        row: the run's row.
    """
    named = scopes((row.program,)) | frozenset(row.blocked)
    return OpenRun(row.id, [HeldWork(named, HeldStage.NEXT)])


def open_run(row: RunRow, state: State, status: RunStatus) -> OpenRun:
    """An open run whose journal was read.

    Args:
        row: the run's row.
        state: its folded journal.
        status: the status that people see.
    """
    works: list[HeldWork] = []
    for call in state.live.values():
        if call.id in state.threads:
            named = scopes((row.program, *state.agents_under(call.id)), call.tool)
            works.append(HeldWork(named, _stage_between_calls(row)))
        else:
            works.append(_work(row, state, call, status))
    named = scopes((row.program,)) | frozenset(row.blocked)
    works.append(HeldWork(named, _stage_between_calls(row)))
    return OpenRun(row.id, works, state.fingerprint)


def _stage_between_calls(row: RunRow) -> HeldStage:
    """A model call is no call in flight: a halt cuts it, and it is made again afterwards."""
    if row.opens:
        return HeldStage.WAITING
    return HeldStage.NEXT


def _work(row: RunRow, state: State, call: Call, status: RunStatus) -> HeldWork:
    named = scopes((row.program, *state.agents_under(call.path)), call.tool)
    if call.phase in (Phase.ASKED, Phase.SUSPENDED):
        return HeldWork(named, HeldStage.WAITING)
    # a read is not announced before it starts
    is_started = status == RunStatus.RUNNING and call.phase in OWING
    if call.phase == Phase.INTENDED or is_started:
        since = call.at or row.updated_at
        in_flight = CallInFlight(run_id=row.id, tool=call.tool, since=since)
        return HeldWork(named, HeldStage.IN_FLIGHT, in_flight)
    return HeldWork(named, HeldStage.NEXT)


class HaltNames:
    """The agents and tools that exist here, and which agents have which tool."""

    def __init__(self) -> None:
        self._users: dict[str, set[str]] = {"*": set()}

    def add_agent(self, name: str) -> None:
        """An agent or a flow of this name exists.

        Args:
            name: its name.
        """
        self._users.setdefault(f"agent:{name}", set())

    def add_tool(self, tool: str, agent: str) -> None:
        """An agent has a tool of this name.

        Args:
            tool: the tool's name.
            agent: the agent's name.
        """
        self._users.setdefault(f"tool:{tool}", set()).add(agent)

    def add_program(self, fingerprint: Mapping[str, Any]) -> None:
        """A program exists, with its tools and the agents inside it.

        Args:
            fingerprint: what the program is, by its names.
        """
        name = str(fingerprint.get("name", ""))
        if name:
            self.add_agent(name)
        for tool in fingerprint.get("tools", {}):
            self.add_tool(str(tool), name)
        for nested in fingerprint.get("agents", {}).values():
            self.add_program(nested)

    def __contains__(self, scope: object) -> bool:
        return scope in self._users

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def users(self, scope: str) -> tuple[str, ...]:
        """The agents that have a tool.

        Args:
            scope: the tool's scope.
        """
        return tuple(sorted(self._users.get(scope, ())))

    def near(self, scope: str) -> tuple[str, ...]:
        """Known names of the same kind that are like this one, the likest first.

        Args:
            scope: an agent's or a tool's scope.
        """
        kind, name = scope_parts(scope)
        names: dict[str, str] = {}
        for known in self._users:
            its_kind, its_name = scope_parts(known)
            if its_kind == kind and its_name:
                names.setdefault(its_name.casefold(), its_name)
        found = get_close_matches(name.casefold()[:200], names, n=NEAR, cutoff=0.6)
        return tuple(names[text] for text in found)


def halt_scopes(
    names: HaltNames, runs: Sequence[OpenRun], on: Collection[str], also: Iterable[str] = ()
) -> list[HaltScope]:
    """Everything that can be halted, and what each would hold.

    Args:
        names: the agents and tools that exist.
        runs: the open runs.
        on: the scopes of the halts that are on.
        also: scopes that are wanted whether or not anything has that name.
    """
    stages: dict[str, dict[str, HeldStage]] = {}
    calls: dict[str, dict[CallInFlight, None]] = {}
    for run in runs:
        for work in run.works:
            for scope in work.touched_by:
                of_scope = stages.setdefault(scope, {})
                of_scope[run.id] = min(work.stage, of_scope.get(run.id, HeldStage.NEXT))
                if work.in_flight is not None:
                    calls.setdefault(scope, {})[work.in_flight] = None
    held: set[str] = set()
    for scope in on:
        held.update(stages.get(scope, ()))
    made: list[HaltScope] = []
    for scope in dict.fromkeys([*names, *on, *also]):
        found = stages.get(scope, {})
        more = len(found.keys() - held)
        made.append(_scope(scope, names, found, more, tuple(calls.get(scope, ()))))
    return made


def _scope(
    scope: str,
    names: HaltNames,
    stages: Mapping[str, HeldStage],
    more: int,
    calls: tuple[CallInFlight, ...],
) -> HaltScope:
    found = list(stages.values())
    known = scope in names
    near: tuple[str, ...] = ()
    if not known:
        near = names.near(scope)
    return HaltScope(
        scope=scope,
        known=known,
        near=near,
        used_by=names.users(scope),
        holds=len(found),
        more=more,
        finishing=found.count(HeldStage.IN_FLIGHT),
        waiting=found.count(HeldStage.WAITING),
        in_flight=calls[:SHOWN],
    )
