"""The kill switch's one question, asked by the plan and by every store about the same records."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from adjourn.core.records import Intended, Move, Parked, Record
from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from adjourn.core.plan import Plan, Step


def scopes(agents: Iterable[str], tool: str = "") -> frozenset[str]:
    """Every halt that would stop this: everything, each agent up the path, the tool."""
    return frozenset({"*", *(f"agent:{a}" for a in agents), *((f"tool:{tool}",) if tool else ())})


def halted(record: Record, program: str, halts: Set[str]) -> frozenset[str]:
    """The halts that forbid this record; only intents can be forbidden."""
    if not halts or not isinstance(record, Intended):
        return frozenset()
    return scopes((program, *record.under), record.tool) & halts


def drop_halted(plan: Plan, program: str, halts: Set[str]) -> None:
    """Take out what a halt names; if that was all there was to do, the run is blocked until it is
    lifted.

    Args:
        plan: what the run would do.
        program: the name of the run's program.
        halts: those that are in force.
    """
    if not halts:
        return
    blocked: set[str] = set()
    kept: list[Move] = []
    stopped: set[str] = set()
    for move in plan.moves:
        found = halted(move, program, halts)
        blocked |= found
        if found and isinstance(move, Intended):
            stopped.add(move.call)
        else:
            kept.append(move)
    starts: list[Step] = []
    dropped: set[str] = set()
    for step in plan.start:
        named = scopes((program, *step.agents), step.call.tool if step.call else "") & halts
        if step.kind == "withdraw":  # it stops something
            named = set[str]()
        blocked |= named
        if step.id in stopped or named:
            dropped.add(step.id)
        else:
            starts.append(step)
    plan.abort |= dropped
    plan.moves, plan.start = kept, starts
    if blocked:
        plan.rest = Parked(wake_at=plan.wake, blocked=tuple(sorted(blocked)))


def scope_parts(scope: str) -> tuple[str, str]:
    """Whether it is of an `agent` or a `tool`, and the name; `("*", "")` for everything."""
    kind, _, name = scope.partition(":")
    return kind, name


def check_scope(scope: str) -> str:
    """A well-formed scope, or `InvalidDefinition`."""
    kind, _, name = scope.partition(":") if isinstance(scope, str) else ("", "", "")  # pyright: ignore[reportUnnecessaryIsInstance]
    if scope == "*" or (kind in ("agent", "tool") and name):
        return scope
    raise InvalidDefinition(
        f"a halt's scope must be '*', 'agent:NAME' or 'tool:NAME', got {scope!r}"
    )
