"""The kill switch's one question, asked by the plan and by every store about the same records."""

from collections.abc import Iterable, Set

from adjourn.core.records import Intended, Record
from adjourn.errors import InvalidDefinition


def scopes(agents: Iterable[str], tool: str = "") -> frozenset[str]:
    """Every halt that would stop this: everything, each agent up the path, the tool."""
    return frozenset({"*", *(f"agent:{a}" for a in agents), *((f"tool:{tool}",) if tool else ())})


def halted(record: Record, program: str, halts: Set[str]) -> frozenset[str]:
    """The halts that forbid this record; only intents can be forbidden."""
    if not halts or not isinstance(record, Intended):
        return frozenset()
    return scopes((program, *record.under), record.tool) & halts


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
